"""How often does this page change? A Gamma belief per page, learned from visits. Pure.

Changes are taken to be a Poisson process. A visit only shows whether there was a change since the
last one, not how many: the posterior after "changed" is no Gamma, so it is replaced by the Gamma
of the same mean and variance. This is unbiased however long the gaps are, and works from the
second visit on; changes divided by time is not and does not.

A Gamma knows one scale: a page that is believed to change once in months would have to be seen
changing hundreds of times before it is believed to change every second. So the prior is a mixture
(ADR 50): nearly always a page is as believed, and once in a thousand times of any scale between a
second and a century, each as likely as the other. The last few changes decide between the two.
"""

from math import expm1, lgamma, log, log1p

import numpy as np
from msgspec import Struct

DAY_S = 86_400.0

DEFAULT_PRIOR = 1 / (150 * DAY_S)
"""Changes per second of a page of which nothing is known. Slow on purpose: a slow prior makes a
page worth a visit and corrects itself, a fast one gives the page up as hopeless."""

STRENGTH = 2.0
"""How many changes a prior weighs."""

MOST_CHANGES = 20.0
"""A belief never weighs more, so that a page which changes its habits is noticed."""

_NO_TIME = 1e-12
"""A chance of a change so small that the formula for it would divide zero by zero."""

_UNLIKE_SHARE = 1e-3
"""How many pages are of any scale, whatever was believed of them."""
_LOG_SCALES = log(100 * 365 * DAY_S)
"""From a second to a century."""
_RECENT_CHANGES = 5.0
"""Changes that decide whether a page is as believed."""

CLAIMED_GAPS_S = np.array(
    [1.0, 3_600.0, 3_600.0, DAY_S, 7 * DAY_S, 30 * DAY_S, 365 * DAY_S, 3_650 * DAY_S]
)
"""Seconds between two changes that a `ChangeFrequency` claims, by its number; the first is none."""


class Belief(Struct, frozen=True, gc=False):
    """Gamma(a, b) over the changes per second of a page: mean a / b, weight a."""

    a: float
    b: float
    prior_a: float = 0.0
    prior_b: float = 0.0
    """The parts of a and b that are the prior of the page's host at that time, not its own."""
    seen: float = 0.0
    """Changes that were seen: the last few."""
    span_s: float = 0.0
    """The time in which they were seen, all of it if there were none."""


def first_belief(prior_per_s: float) -> Belief:
    """Return a belief in so many changes per second that a few visits can overturn."""
    return Belief(STRENGTH, STRENGTH / prior_per_s)


def dated_belief(age_s: float) -> Belief | None:
    """Return what the age of a page's last change tells: one change in that time.

    None if it is too young to tell anything: many sitemaps date every page to the day on which
    they were written.
    """
    return Belief(1.0, age_s) if age_s >= DAY_S else None


def learn(
    belief: Belief, elapsed_s: float, *, changed: bool, modified_ago_s: float | None = None
) -> Belief:
    """Return the belief after a visit that came so long after the last one.

    `modified_ago_s` is the age of the newest change, as the server or a sitemap dates it. It tells
    more than "changed" alone if it falls between the two visits, and is ignored otherwise.
    """
    a, b = belief.a, belief.b
    seen, span_s = _recent(belief, max(elapsed_s, 0.0), changed=changed)
    if not changed:
        b += max(elapsed_s, 0.0)
    elif span_s > 0.0 and _is_unlike(belief, seen, span_s):
        return Belief(seen, span_s, 0.0, 0.0, seen, span_s)
    elif modified_ago_s is not None and 0.0 < modified_ago_s <= elapsed_s:
        a, b = a + 1.0, b + modified_ago_s
    else:
        a, b = _after_change(a, b, elapsed_s)
    return _forget(Belief(a, b, belief.prior_a, belief.prior_b, seen, span_s))


def _recent(belief: Belief, elapsed_s: float, *, changed: bool) -> tuple[float, float]:
    """Return the last changes that were seen, this visit included, and in which time."""
    seen, span_s = belief.seen + changed, belief.span_s + elapsed_s
    share = min(1.0, _RECENT_CHANGES / seen) if seen else 1.0
    return seen * share, span_s * share


def _is_unlike(belief: Belief, seen: float, span_s: float) -> bool:
    """Return True if changes are more likely of a page of any scale than of one as believed.

    Both are the likelihood of so many changes in that time, averaged over rates: over the Gamma, as
    it was before these changes, and over a uniform distribution of the rate's logarithm. Changes
    that were missed between two visits are not counted, so nothing but a page that is too fast for
    the belief is unlike it.
    """
    a, b = max(belief.a - belief.seen, belief.prior_a, 1.0), belief.b
    if seen * b <= belief.a * span_s:
        return False
    believed = lgamma(a + seen) - lgamma(a) - seen * log(b) - (a + seen) * log1p(span_s / b)
    of_any_scale = lgamma(seen) - seen * log(span_s) - log(_LOG_SCALES)
    return believed - of_any_scale < log(_UNLIKE_SHARE)


def _after_change(a: float, b: float, elapsed_s: float) -> tuple[float, float]:
    """Return the Gamma with mean and variance of the posterior after one change or more."""
    log_q = -log1p(max(elapsed_s, 0.0) / b)
    chance = -expm1(a * log_q)
    if chance < _NO_TIME:
        return a + 1.0, b
    mean = a / b * -expm1((a + 1.0) * log_q) / chance
    square = a / b * ((a + 1.0) / b) * -expm1((a + 2.0) * log_q) / chance
    variance = square - mean * mean
    return (mean * mean / variance, mean / variance) if variance > 0.0 else (a + 1.0, b)


def _forget(belief: Belief) -> Belief:
    """Bound the weight of a belief; the prior fades with the rest, or it would never be beaten."""
    if belief.a <= MOST_CHANGES:
        return belief
    share = MOST_CHANGES / belief.a
    return Belief(
        MOST_CHANGES,
        belief.b * share,
        belief.prior_a * share,
        belief.prior_b * share,
        belief.seen,
        belief.span_s,
    )
