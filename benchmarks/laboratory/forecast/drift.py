"""Pages that change by themselves, and for how long our copies of them are current."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Rows: TypeAlias = NDArray[np.int64]


class Drift:
    """Pages, all fetched at moment 0, that change at random (Poisson) or with a fixed period.

    A Poisson page has no memory, so it is enough to draw at each visit whether it has changed;
    the time for which the copy was current is not drawn but expected, which has the same mean and
    less noise.
    """

    def __init__(
        self,
        importance: Floats,
        rates_per_s: Floats,
        rng: np.random.Generator,
        *,
        is_periodic: Flags | None = None,
        measured_from: float = 0.0,
    ) -> None:
        count = len(importance)
        self.importance = importance / importance.sum()
        self.rates_per_s = rates_per_s
        self.visits = 0
        self.changes_found = 0
        self._rng = rng
        self._periodic = np.zeros(count, np.bool_) if is_periodic is None else is_periodic
        self._has_periodic = bool(self._periodic.any())
        self._first_change = rng.random(count) / rates_per_s
        self._last_at = np.zeros(count)
        self._measured_from = measured_from
        self._fresh_s = 0.0

    def __len__(self) -> int:
        return len(self.importance)

    def visit(self, rows: Rows, at: Floats) -> Flags:
        """Fetch pages, each at its moment; return which of them had changed."""
        since = self._last_at[rows]
        self._fresh_s += float((self.importance[rows] * self._current_s(rows, at)).sum())
        chance = -np.expm1(-self.rates_per_s[rows] * (at - since))
        changed: Flags = self._rng.random(len(rows)) < chance
        if self._has_periodic:
            changed = np.where(self._periodic[rows], self._next_change(rows) <= at, changed)
        self._last_at[rows] = at
        self.visits += len(rows)
        self.changes_found += int(changed.sum())
        return changed

    def freshness(self, now: float) -> float:
        """Return the share of importance and time for which our copies were current so far."""
        rows = np.arange(len(self))
        open_s = self._current_s(rows, np.full(len(self), now))
        return (self._fresh_s + float((self.importance * open_s).sum())) / (
            now - self._measured_from
        )

    def _current_s(self, rows: Rows, until: Floats) -> Floats:
        """Return how long each copy is current from its fetch to a moment, where it is measured."""
        since, rate = self._last_at[rows], self.rates_per_s[rows]
        begin = np.clip(since, self._measured_from, until)
        current_s: Floats = np.exp(-rate * (begin - since)) * -np.expm1(-rate * (until - begin))
        current_s /= rate
        if self._has_periodic:
            end = np.clip(self._next_change(rows), begin, until)
            current_s = np.where(self._periodic[rows], end - begin, current_s)
        return current_s

    def _next_change(self, rows: Rows) -> Floats:
        """Return when a periodic page changes first after its last fetch."""
        rate, first = self.rates_per_s[rows], self._first_change[rows]
        periods = np.floor((self._last_at[rows] - first) * rate) + 1.0
        moment: Floats = first + np.maximum(periods, 0.0) / rate
        return moment
