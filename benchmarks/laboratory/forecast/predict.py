"""A run of visits under a budget, in simulated time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from laboratory.forecast.drift import Drift, Flags, Floats, Rows


class Watchlist(Protocol):
    """What decides which page is visited when; pages are numbered by their keys."""

    def replan(self, now: float, requests_per_s: float) -> object:
        """Share the budget out anew."""

    def take_due(self, now: float, until: float, at_most: int) -> Sequence[int]:
        """Return the pages to visit next."""

    def visited(self, key: int, now: float, *, changed: bool) -> object:
        """Hear what a visit found."""


class Policy(Protocol):
    """The same over arrays."""

    def replan(self, now: float) -> None:
        """Share the budget out anew."""

    def take(self, now: float, until: float, at_most: int) -> Rows:
        """Return the pages to visit next."""

    def visited(self, rows: Rows, at: Floats, changed: Flags) -> None:
        """Hear what the visits found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What may be spent, and in which steps."""

    requests_per_s: float
    span_s: float
    window_s: float
    """Pages are taken for so long at a time: short against the shortest interval in use."""
    replan_s: float


@dataclass(frozen=True, slots=True)
class Watched:
    """A watchlist as a policy: one page after the other."""

    watchlist: Watchlist
    requests_per_s: float

    def replan(self, now: float) -> None:
        """Share the budget out anew."""
        self.watchlist.replan(now, self.requests_per_s)

    def take(self, now: float, until: float, at_most: int) -> Rows:
        """Return the pages to visit next."""
        return np.array(self.watchlist.take_due(now, until, at_most), np.int64)

    def visited(self, rows: Rows, at: Floats, changed: Flags) -> None:
        """Hear what the visits found."""
        visited = self.watchlist.visited
        found = zip(rows.tolist(), at.tolist(), changed.tolist(), strict=True)
        for key, moment, is_changed in found:
            visited(key, moment, changed=is_changed)


@dataclass(frozen=True, slots=True)
class Run:
    """What came of a run."""

    freshness: float
    visits: int
    changes_found: int


def predict(pages: Drift, watchlist: Watchlist, budget: Budget) -> float:
    """Return the importance-weighted freshness that a watchlist of these pages comes to.

    The watchlist holds page n of the pages under the key n, fetched at moment 0.
    """
    return run(pages, Watched(watchlist, budget.requests_per_s), budget).freshness


def run(pages: Drift, policy: Policy, budget: Budget) -> Run:
    """Visit pages as a policy says, never faster than the budget."""
    now, allowance, plan_at = 0.0, 0.0, 0.0
    per_window = budget.requests_per_s * budget.window_s
    while now < budget.span_s:
        if now >= plan_at:
            policy.replan(now)
            plan_at = now + budget.replan_s
        window_s = min(budget.window_s, budget.span_s - now)
        allowance = min(allowance + budget.requests_per_s * window_s, max(2 * per_window, 1.0))
        rows = policy.take(now, now + window_s, int(allowance))
        at = now + window_s * (np.arange(len(rows)) + 0.5) / max(len(rows), 1)
        policy.visited(rows, at, pages.visit(rows, at))
        allowance -= len(rows)
        now += window_s
    return Run(pages.freshness(now), pages.visits, pages.changes_found)
