"""What a watchlist is compared with: the optimum, other shares of the budget, and Nutch's rule."""

import numpy as np
from numpy.typing import NDArray

from gossamer.frontier.revisit.allocation import (
    FLOOR_SHARE,
    Demand,
    find_level,
    spreads,
    visit_rates,
)
from revisits.worlds import DAY_S

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

NEWTON_STEPS, HALVINGS = 6, 60
FIRST_DAYS, SHORTEST_DAYS, LONGEST_DAYS = 30.0, 1 / 1440, 365.0
CHANGED, UNCHANGED = 0.8, 1.4
LOOK_AHEAD_S = 2 * DAY_S


class Fixed:
    """Each page at its own even interval; those with no visits never."""

    def __init__(self, visits_per_s: Floats) -> None:
        with np.errstate(divide="ignore"):
            self._gap_s = 1.0 / visits_per_s
        rng = np.random.default_rng(3)
        self._due_at = self._gap_s * (1.0 - rng.random(len(visits_per_s)))
        self._near: Rows = np.empty(0, np.int64)
        self._horizon = 0.0

    def replan(self, now: float) -> None:
        """Look at what is due in the next days; the plan itself never changes."""
        self._horizon = now + LOOK_AHEAD_S
        self._near = np.flatnonzero(self._due_at <= self._horizon)

    def take(self, now: float, until: float, at_most: int) -> Rows:
        """Return the pages that are due, those longest due first."""
        assert now < until <= self._horizon
        due = self._near[self._due_at[self._near] <= until]
        return due[np.argsort(self._due_at[due])][:at_most]

    def visited(self, rows: Rows, at: Floats, changed: NDArray[np.bool_]) -> None:
        """Go on from the visit: a late one delays the next."""
        assert len(rows) == len(changed)
        self._due_at[rows] = at + self._gap_s[rows]


class Nutch:
    """Intervals that shrink when a page has changed and grow when it has not, as Nutch's default.

    More pages are due than the budget allows, and the most important are taken, as its generator
    does by score.
    """

    def __init__(self, importance: Floats) -> None:
        self._importance = importance
        self._gap_s = np.full(len(importance), FIRST_DAYS * DAY_S)
        self._due_at = self._gap_s * (1.0 - np.random.default_rng(3).random(len(importance)))

    def replan(self, now: float) -> None:
        """Nothing is planned: each page goes by its own history."""

    def take(self, now: float, until: float, at_most: int) -> Rows:
        """Return the most important of the pages that are due."""
        assert now < until
        due = np.flatnonzero(self._due_at <= until)
        if len(due) > at_most:
            due = due[np.argpartition(-self._importance[due], at_most)[:at_most]]
        return due

    def visited(self, rows: Rows, at: Floats, changed: NDArray[np.bool_]) -> None:
        """Shrink or stretch the interval."""
        gap_s = self._gap_s[rows] * np.where(changed, CHANGED, UNCHANGED)
        self._gap_s[rows] = np.clip(gap_s, SHORTEST_DAYS * DAY_S, LONGEST_DAYS * DAY_S)
        self._due_at[rows] = at + self._gap_s[rows]


def best_visits(importance: Floats, rates_per_s: Floats, requests_per_s: float) -> Floats:
    """Return the visits per second that are best of all even intervals, the rates known.

    A visit after z expected changes gains importance / rate * (1 - (1 + z) e^-z). At the optimum
    the last visit to every page gains the same, and pages that cannot gain as much get none; the
    common gain that spends the budget is found by halving.
    """
    low, high = 1e-30, float((importance / rates_per_s).max())
    visits = np.zeros(len(importance))
    for _ in range(HALVINGS):
        gain = (low * high) ** 0.5
        visits = _visits_at(gain * rates_per_s / importance, rates_per_s)
        spent = float(visits.sum())
        if abs(spent - requests_per_s) < 1e-5 * requests_per_s:
            break
        low, high = (gain, high) if spent > requests_per_s else (low, gain)
    return visits


def _visits_at(share: Floats, rates_per_s: Floats) -> Floats:
    """Return the visits per second where a visit gains this share of all that it could."""
    worth = np.flatnonzero(share < 1.0)
    p = share[worth]
    root, tail = np.sqrt(2.0 * p), -np.log1p(-p)
    z = np.where(p < 0.7, root + root * root / 3.0, tail + np.log1p(tail + np.log1p(tail)))
    for _ in range(NEWTON_STEPS):
        z = np.maximum(z - (-np.expm1(-z) - z * np.exp(-z) - p) / (z * np.exp(-z)), 1e-9)
    visits = np.zeros(len(share))
    visits[worth] = rates_per_s[worth] / z
    return visits


def plan_visits(
    keys: NDArray[np.uint64], importance: Floats, rates_per_s: Floats, requests_per_s: float
) -> Floats:
    """Return the visits per second by the shipped plan, where rates of change are known."""
    floor = FLOOR_SHARE * requests_per_s / len(keys) / (0.5 + spreads(keys))
    demand = Demand(np.sqrt(importance * rates_per_s), rates_per_s, floor)
    return np.asarray(visit_rates(demand, find_level(demand, requests_per_s)), np.float64)
