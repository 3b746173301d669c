"""How often does this page change? A Gamma belief per page, learned from visits. Pure.

Changes are taken to be a Poisson process. A visit only shows whether there was a change since the
last one, not how many: the posterior after "changed" is no Gamma, so it is replaced by the Gamma
of the same mean and variance. This is unbiased however long the gaps are, and works from the
second visit on; changes divided by time is not and does not.
"""

from collections.abc import Mapping
from math import expm1, log1p

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

CHANGES_PER_S: Mapping[str, float] = {
    "always": 1 / 3_600.0,
    "hourly": 1 / 3_600.0,
    "daily": 1 / DAY_S,
    "weekly": 1 / (7 * DAY_S),
    "monthly": 1 / (30 * DAY_S),
    "yearly": 1 / (365 * DAY_S),
    "never": 1 / (3_650 * DAY_S),
}


class Belief(Struct, frozen=True, gc=False):
    """Gamma(a, b) over the changes per second of a page: mean a / b, weight a."""

    a: float
    b: float
    prior_a: float = 0.0
    prior_b: float = 0.0
    """The parts of a and b that are the prior of the page's host at that time, not its own."""


def first_belief(prior_per_s: float) -> Belief:
    """Return a belief in so many changes per second that a few visits can overturn."""
    return Belief(STRENGTH, STRENGTH / prior_per_s)


def prior_of(changefreq: str) -> float | None:
    """Return the changes per second that a `changefreq` claims; None if it says nothing."""
    return CHANGES_PER_S.get(changefreq.strip().lower())


def learn(
    belief: Belief, elapsed_s: float, *, changed: bool, modified_ago_s: float | None = None
) -> Belief:
    """Return the belief after a visit that came so long after the last one.

    `modified_ago_s` is the age of the newest change, as the server or a sitemap dates it. It tells
    more than "changed" alone if it falls between the two visits, and is ignored otherwise.
    """
    a, b = belief.a, belief.b
    if not changed:
        b += max(elapsed_s, 0.0)
    elif modified_ago_s is not None and 0.0 < modified_ago_s <= elapsed_s:
        a, b = a + 1.0, b + modified_ago_s
    else:
        a, b = _after_change(a, b, elapsed_s)
    return _forget(Belief(a, b, belief.prior_a, belief.prior_b))


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
    return Belief(MOST_CHANGES, belief.b * share, belief.prior_a * share, belief.prior_b * share)
