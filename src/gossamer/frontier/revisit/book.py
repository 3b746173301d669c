"""What is known of all pages and hosts, and what follows from it: the sums behind a watchlist.

Each rule is here twice: for one row after a visit, in plain floats, and for all rows when the plan
is made, over columns. A property test holds the two together.
"""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from gossamer.frontier.revisit.agenda import OUT
from gossamer.frontier.revisit.hosts import Hosts
from gossamer.frontier.revisit.pages import Mark, Pages
from gossamer.frontier.revisit.plan import (
    FLOOR_SHARE,
    LimitOfHost,
    Numbers,
    Wants,
    find_level,
    freshness,
    phase,
    phases,
    share_out,
    spread,
    spreads,
    visit_rates,
)
from gossamer.frontier.revisit.rate import STRENGTH, Belief

_LEAST = 1e-12
_HINT_ROUNDS = 4


class Book:
    """Pages, their hosts and the plan that holds for them."""

    __slots__ = ("_floor_per_s", "_level", "_prior_per_s", "hosts", "pages")

    def __init__(self, prior_per_s: float) -> None:
        self._prior_per_s = prior_per_s
        self.pages = Pages()
        self.hosts = Hosts()
        self._level = 0.0
        self._floor_per_s = 0.0
        """Visits at the floor, before they are spread; 0 before the first plan."""

    def enter(self, row: int, host: int, importance: float, belief: Belief | None) -> None:
        """Write down what a page comes with."""
        pages = self.pages
        pages.host[row] = self.hosts.number(host, STRENGTH / self._prior_per_s, self._level)
        pages.weight[row] = max(importance, _LEAST)
        if belief is None:
            return
        if belief.prior_s > 0.0:  # learned here or in an earlier run: only the prior is replaced
            self.keep(row, belief)
            pages.state[row] &= ~np.uint8(Mark.NEW)
        else:
            pages.changes[row], pages.seconds[row] = belief.a, belief.b

    def belief(self, row: int) -> Belief:
        """Return what is believed of a page, its host's prior included."""
        prior_s = float(self.hosts.prior_s[self.pages.host[row]])
        return Belief(
            STRENGTH + float(self.pages.changes[row]),
            prior_s + float(self.pages.seconds[row]),
            prior_s,
        )

    def keep(self, row: int, belief: Belief) -> None:
        """Write down what is believed of a page, without its host's prior."""
        self.pages.changes[row] = max(belief.a - STRENGTH, 0.0)
        self.pages.seconds[row] = max(belief.b - belief.prior_s, 0.0)

    def visits_per_s(self, row: int, rate: float) -> float:
        """Return how often the plan has a page visited that changes at a rate."""
        host = self.pages.host[row]
        wanted = sqrt(float(self.pages.weight[row]) * rate) * float(self.hosts.level[host]) - rate
        return max(wanted, self._floor(row) * float(self.hosts.floor[host]))

    def due_at(self, row: int) -> float:
        """Return when a page is worth the next visit."""
        if not self._floor_per_s:
            return OUT
        belief = self.belief(row)
        rate = belief.a / belief.b
        wait_s = 1.0 / self.visits_per_s(row, rate)
        host = self.pages.host[row]
        jump = float(self.hosts.jump[host])
        if jump:
            told = float(self.pages.hints[row]) * jump / rate
            wait_s = (wait_s - told) / (1.0 - float(self.hosts.recall[host]))
            wait_s = min(max(wait_s, 0.0), 1.0 / self._floor(row))
        if self.pages.state[row] & Mark.NEW:
            wait_s *= phase(int(self.pages.key[row]))
        return float(self.pages.last_at[row]) + wait_s

    def plan(self, requests_per_s: float, limit_of_host: LimitOfHost | None) -> None:
        """Share the budget out anew, and set the moments of all pages that are not out."""
        self._learn_priors()
        self.hosts.weigh_words()
        self._floor_per_s = FLOOR_SHARE * requests_per_s / max(len(self.pages), 1)
        wants = self._wants()
        budget = requests_per_s
        for _ in range(_HINT_ROUNDS if self.hosts.has_hints else 1):
            rates = self._share(wants, budget, limit_of_host)
            budget *= requests_per_s / max(self._load(wants, rates), _LEAST)
        self._set_moments(wants, self._rates(wants))

    def freshness(self) -> float:
        """Return the share of importance that the plan keeps current, if the beliefs are true."""
        if not len(self.pages) or not self._floor_per_s:
            return 0.0
        wants = self._wants()
        weight = self.pages.weight[: self.pages.rows].astype(np.float64)
        fresh = freshness(wants.rate.astype(np.float64), self._rates(wants))
        return float((weight * fresh).sum() / weight.sum())

    def _floor(self, row: int) -> float:
        return self._floor_per_s / (0.5 + spread(int(self.pages.key[row])))

    def _wants(self) -> Wants:
        pages, rows = self.pages, self.pages.rows
        prior_s = self.hosts.prior_s.astype(np.float32)[pages.host[:rows]]
        rate = (pages.changes[:rows] + np.float32(STRENGTH)) / (pages.seconds[:rows] + prior_s)
        floor = np.float32(self._floor_per_s) / (spreads(pages.key[:rows]) + np.float32(0.5))
        return Wants(np.sqrt(pages.weight[:rows] * rate), rate, floor)

    def _rates(self, wants: Wants) -> Numbers:
        host = self.pages.host[: self.pages.rows]
        return visit_rates(wants, self.hosts.level[host], self.hosts.floor[host])

    def _learn_priors(self) -> None:
        """Let the pages that were visited again speak for those that were not."""
        rows = self.pages.rows
        again = np.flatnonzero(~(self.pages.state[:rows] & Mark.NEW).astype(np.bool_))
        host = self.pages.host[again]
        seconds = self.pages.seconds[again] + self.hosts.prior_s[host].astype(np.float32)
        rates = (self.pages.changes[again] + np.float32(STRENGTH)) / seconds
        self.hosts.learn_priors(host, rates, self._prior_per_s)

    def _share(self, wants: Wants, budget: float, limit_of_host: LimitOfHost | None) -> Numbers:
        """Set the levels of all hosts for a budget; return the visits per second of each page."""
        if limit_of_host is None:
            self._level = find_level(wants, budget, self._level)
            self.hosts.share(self._level, 1.0)
        else:
            most = np.array([limit_of_host(key) for key in self.hosts.keys], np.float64)
            host = self.pages.host[: self.pages.rows]
            self._level, shares = share_out(wants, host, most, budget, self._level)
            self.hosts.share(shares.level, shares.floor)
        return self._rates(wants)

    def _load(self, wants: Wants, rates: Numbers) -> float:
        """Return the visits per second that rates lead to: hints bring some on, and delay others.

        Between hints a page waits 1 / (1 - recall) times as long, and a hint counts for as much
        of a visit as it is worth, at most one.
        """
        if not self.hosts.has_hints:
            return float(rates.sum())
        host = self.pages.host[: self.pages.rows]
        recall, jump = self.hosts.recall[host], self.hosts.jump[host]
        hints_per_s = wants.rate * recall / np.maximum(-np.expm1(-jump), _LEAST)
        share = np.minimum(rates * jump / wants.rate, 1.0)
        return float((rates * (1.0 - recall) + hints_per_s * share).sum())

    def _set_moments(self, wants: Wants, rates: Numbers) -> None:
        """Set the moment of every page that is not out."""
        pages, rows = self.pages, self.pages.rows
        wait_s: NDArray[np.float64] = 1.0 / rates.astype(np.float64)
        if self.hosts.has_hints:
            host = pages.host[:rows]
            told = pages.hints[:rows] * self.hosts.jump[host] / wants.rate
            wait_s = (wait_s - told) / (1.0 - self.hosts.recall[host])
            wait_s = np.where(
                self.hosts.jump[host] > 0.0, np.clip(wait_s, 0.0, 1.0 / wants.floor), 1.0 / rates
            )
        state = pages.state[:rows]
        new = np.flatnonzero(state & Mark.NEW)
        wait_s[new] *= phases(pages.key[new])
        wait_s += pages.last_at[:rows]
        wait_s[(state & (Mark.TAKEN | Mark.GONE)).astype(np.bool_)] = OUT
        pages.due_at[:rows] = wait_s
