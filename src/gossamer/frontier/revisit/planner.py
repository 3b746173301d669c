"""The revisit plan: from what is known of pages and hosts to the moment of each next visit.

Each rule is here twice: for one row after a visit, in plain floats, and for all rows when the plan
is made, over columns. A property test holds the two together.
"""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from gossamer.frontier.revisit.allocation import (
    FLOOR_SHARE,
    Demand,
    LimitOfHost,
    Numbers,
    find_level,
    freshness,
    phase,
    phases,
    pieces,
    share_out,
    spread,
    spreads,
    visit_rates,
)
from gossamer.frontier.revisit.change_rate import STRENGTH, Belief
from gossamer.frontier.revisit.columns import GONE, NEW, TAKEN, HostColumns, PageColumns
from gossamer.frontier.revisit.due_queue import OUT

_LEAST = 1e-25
_ROUNDS = 4
_MOST_STRETCH = 8.0
_LEAST_PER_S = 1e-9
_PRIOR_ROUNDS, _HARDLY = 10, 1.2
_OWN_INTERVALS = 3.0
"""A page that was watched for so many of its intervals has a history of its own."""
_UNSEEN, _LEAST_SPAN_S = 0.5, 1e-3
"""Changes that a page may have had beyond those seen: "none so far" does not mean "never"."""


class RevisitPlanner:
    """The plan that holds for the pages and hosts of a watchlist."""

    __slots__ = (
        "_floor_per_s",
        "_hosts",
        "_level",
        "_pages",
        "_prior_per_s",
        "_stretch",
    )

    def __init__(self, pages: PageColumns, hosts: HostColumns, prior_per_s: float) -> None:
        self._pages, self._hosts = pages, hosts
        self._prior_per_s = prior_per_s
        self._level = 0.0
        self._stretch = 1.0
        """Planned visits to real ones, where hints put visits off or bring them on."""
        self._floor_per_s = 0.0
        """Visits at the floor, before they are spread; 0 before the first plan."""

    def enter(
        self, row: int, host: int, importance: float, belief: Belief | None, claim: int = 0
    ) -> None:
        """Write down what a page comes with."""
        pages, gap_s = self._pages, 1.0 / self._prior_per_s
        if belief is not None and (belief.prior_a > 0.0 or belief.span_s > 0.0):
            if belief.prior_a > 0.0 and not claim:  # learned here, or in an earlier run
                gap_s = belief.prior_b / belief.prior_a
            self.keep(row, belief)
            pages.state[row] &= ~np.uint8(NEW)
        elif belief is not None:
            pages.changes[row], pages.seconds[row] = belief.a, belief.b
        pages.host[row] = self._hosts.number(host, gap_s, self._level)
        pages.weight[row] = max(importance, _LEAST)
        pages.claim[row] = claim

    def belief(self, row: int) -> Belief:
        """Return what is believed of a page, its host's prior included."""
        pages = self._pages
        prior_a = pages.prior.item(row)
        gap_s = self._hosts.prior_gap_s(pages.host.item(row), pages.claim.item(row))
        prior_b = prior_a * gap_s
        a, b = prior_a + pages.changes.item(row), prior_b + pages.seconds.item(row)
        return Belief(a, b, prior_a, prior_b, pages.seen.item(row), pages.span_s.item(row))

    def keep(self, row: int, belief: Belief) -> None:
        """Write down what is believed of a page, without its host's prior."""
        self._pages.prior[row] = belief.prior_a
        self._pages.changes[row] = max(belief.a - belief.prior_a, 0.0)
        self._pages.seconds[row] = max(belief.b - belief.prior_b, 0.0)
        self._pages.seen[row], self._pages.span_s[row] = belief.seen, belief.span_s

    def visits_per_s(self, row: int, rate: float) -> float:
        """Return how often the plan has a page visited that changes at a rate."""
        host = self._pages.host.item(row)
        wanted = sqrt(self._pages.weight.item(row) * rate) * self._hosts.level.item(host) - rate
        floor = self._floor_per_s / (0.5 + spread(self._pages.key.item(row)))
        return max(wanted, floor * self._hosts.floor.item(host))

    def due_at(self, row: int, belief: Belief) -> float:
        """Return when a page of which something is believed is worth the next visit."""
        if not self._floor_per_s:
            return OUT
        pages, host = self._pages, self._pages.host.item(row)
        rate = belief.a / belief.b
        wait_s = 1.0 / self.visits_per_s(row, rate)
        if jump := self._hosts.jump.item(host):
            told = pages.hints.item(row) * jump / rate
            longest_s = (0.5 + spread(pages.key.item(row))) / self._floor_per_s
            wait_s = (wait_s - told) / self._hosts.drift.item(host)
            wait_s = min(max(wait_s, 0.0), longest_s)
        if pages.state.item(row) & NEW:
            wait_s *= phase(pages.key.item(row))
        return pages.last_at.item(row) + wait_s

    def plan(self, now: float, requests_per_s: float, limit_of_host: LimitOfHost | None) -> None:
        """Share the budget out anew, and set the moments of all pages that are not out."""
        self._learn_priors()
        self._hosts.weigh_hints()
        self._floor_per_s = FLOOR_SHARE * requests_per_s / max(len(self._pages), 1)
        demand = self._demand()
        rates = self._share(demand, requests_per_s * self._stretch, limit_of_host)
        for _ in range(_ROUNDS if self._hosts.has_hints else 0):
            wider = self._stretch * requests_per_s / self._load(demand, rates)
            self._stretch = min(max(wider, 1.0 / _MOST_STRETCH), _MOST_STRETCH)
            rates = self._share(demand, requests_per_s * self._stretch, limit_of_host)
        self._set_moments(demand, rates, now)

    def freshness(self) -> float | None:
        """Return the share of importance that the plan keeps current, if the beliefs are true.

        None while pages that are known by their own history have less than half of all importance.
        A page is known when it was watched for a few of its intervals, or when its own changes
        weigh more than the prior. No page is promised to change less often than it has shown.
        """
        if not len(self._pages) or not self._floor_per_s:
            return None
        demand, pages, rows = self._demand(), self._pages, self._pages.rows
        visits = self._rates(demand)
        span_s, weight = pages.span_s[:rows], pages.weight[:rows].astype(np.float64)
        is_known = (span_s * visits >= _OWN_INTERVALS) | (
            pages.changes[:rows] > np.maximum(pages.prior[:rows], STRENGTH)
        )
        if 2.0 * weight[is_known].sum() < weight.sum():
            return None
        shown = (pages.seen[:rows] + np.float32(_UNSEEN)) / np.maximum(span_s, _LEAST_SPAN_S)
        rate = np.where(span_s > 0.0, np.maximum(demand.rate, shown), demand.rate)
        fresh = freshness(rate.astype(np.float64), visits.astype(np.float64))
        return float((weight * fresh).sum() / weight.sum())

    def _demand(self) -> Demand:
        pages, rows = self._pages, self._pages.rows
        gain, rate, floor = np.empty((3, rows), np.float32)
        for part in pieces(rows):
            rate[part] = self._change_rates(part)
            np.sqrt(pages.weight[part] * rate[part], out=gain[part])
            floor[part] = self._floor_per_s / (spreads(pages.key[part]) + np.float32(0.5))
        return Demand(gain, rate, floor)

    def _rates(self, demand: Demand) -> Numbers:
        host = self._pages.host[: self._pages.rows]
        level, floor = (
            column.astype(np.float32) for column in (self._hosts.level, self._hosts.floor)
        )
        return visit_rates(demand, level[host], floor[host])

    def _change_rates(self, rows: slice | NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the changes per second that are believed of some pages."""
        pages, prior = self._pages, self._pages.prior[rows]
        changes: NDArray[np.float32] = pages.changes[rows] + prior
        gaps = self._hosts.prior_gaps_s(pages.host[rows], pages.claim[rows])
        seconds: NDArray[np.float32] = pages.seconds[rows] + prior * gaps
        return np.divide(changes, seconds, dtype=np.float32)

    def _learn_priors(self) -> None:
        """Let the pages that were visited again speak for those that were not.

        Repeated until it hardly matters, so that it is the same however often plans are made.
        """
        again = np.flatnonzero(~(self._pages.state[: self._pages.rows] & NEW).astype(np.bool_))
        for _ in range(_PRIOR_ROUNDS if len(again) else 0):
            host, rates = self._pages.host[again], self._change_rates(again)
            if self._hosts.learn_priors(host, rates, 1.0 / self._prior_per_s) < _HARDLY:
                break
        if self._pages.claim[again].any():
            self._learn_trust(again)

    def _learn_trust(self, again: NDArray[np.int64]) -> None:
        """Compare what is claimed of pages with what their own visits have shown."""
        pages = self._pages
        told = again[pages.claim[again] > 0]
        by_prior = pages.prior[told] * self._hosts.prior_gaps_s(pages.host[told], pages.claim[told])
        has_history = (pages.seen[told] > 0.0) | (pages.span_s[told] > by_prior)
        rows = told[has_history]
        self._hosts.learn_trust(pages.host[rows], pages.claim[rows], self._change_rates(rows))

    def _share(
        self, demand: Demand, requests_per_s: float, limit_of_host: LimitOfHost | None
    ) -> Numbers:
        """Set the levels of all hosts for a budget; return the visits per second of each page."""
        if limit_of_host is None:
            self._level = find_level(demand, requests_per_s, self._level)
            self._hosts.share(self._level, 1.0)
            return visit_rates(demand, self._level)
        limits = (max(limit_of_host(key), _LEAST_PER_S) for key in self._hosts.keys)
        most = np.fromiter(limits, np.float64, len(self._hosts.keys))
        host = self._pages.host[: self._pages.rows]
        self._level, shares = share_out(demand, host, most, requests_per_s, self._level)
        self._hosts.share(shares.level, shares.floor)
        return self._rates(demand)

    def _load(self, demand: Demand, rates: Numbers) -> float:
        """Return the visits per second that rates lead to: hints bring some on, and delay others.

        Between hints a page waits longer, for what is left to time; and a hint counts for as much
        of a visit as it is worth, at most one.
        """
        host, hosts = self._pages.host[: self._pages.rows], self._hosts
        by_hints = np.minimum(rates * hosts.jump[host], demand.rate) * hosts.hints_per_change[host]
        return float((rates * hosts.drift[host] + by_hints).sum())

    def _set_moments(self, demand: Demand, rates: Numbers, now: float) -> None:
        """Set the moment of every page that is not out.

        Pages that are late get a moment just past, in the order of their lateness in relation to
        their intervals: if there is more to do than can be done, all wait longer in proportion.
        In the order of lateness alone each would wait as much longer as the others, which is
        nothing to most, and ruins those that are worth a visit every hour.
        """
        pages, hosts = self._pages, self._hosts
        for part in pieces(self._pages.rows):
            wait_s = np.reciprocal(rates[part], dtype=np.float64)
            if hosts.has_hints:
                jump, drift = hosts.jump[pages.host[part]], hosts.drift[pages.host[part]]
                told = pages.hints[part] * jump / demand.rate[part]
                moved_s = np.clip((wait_s - told) / drift, 0.0, 1.0 / demand.floor[part])
                wait_s = np.where(jump > 0.0, moved_s, wait_s)
            state = pages.state[part]
            if (state & NEW).any():
                wait_s *= np.where(state & NEW, phases(pages.key[part]), np.float32(1.0))
            wait_s += pages.last_at[part]
            late = np.flatnonzero(wait_s < now)
            wait_s[late] = now - (now - wait_s[late]) * rates[part][late]
            wait_s[np.flatnonzero(state & (TAKEN | GONE))] = OUT
            pages.due_at[part] = wait_s
