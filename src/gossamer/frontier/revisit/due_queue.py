"""What is due next? The moments of all pages in one array, and the nearest of them sorted.

No heap: re-planning moves every moment, which would mean a new heap of a million entries, while a
pass over the array takes a millisecond. The passes are rare, because each sorts some time ahead.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Moments: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = NDArray[np.int64]

AHEAD = 16_384
"""Pages that one pass brings into order, at least, if they are due within `look_ahead_s`."""

OUT = np.inf
"""The moment of a page that is not to be taken."""

_LATEST = float(np.finfo(np.float64).max)


class DueQueue:
    """Rows by the moment at which they are due.

    Invariant: a row that is due by the horizon is in `_rows` from `_next` on, or in `_late`, with
    its moment; entries whose moment is no longer the row's are stale and skipped.
    """

    __slots__ = ("_due_at", "_horizon", "_late", "_moments", "_next", "_rows", "look_ahead_s")

    def __init__(self, due_at: Moments, look_ahead_s: float = 0.0) -> None:
        self._due_at = due_at
        """Shared with its owner, who may put rows out, and anything else through `set`."""
        self.look_ahead_s = look_ahead_s
        self._horizon = -np.inf
        self._rows: Rows = np.empty(0, np.int64)
        self._moments: Moments = np.empty(0)
        self._next = 0
        self._late: list[int] = []

    def set(self, row: int, due_at: float) -> None:
        """Give a row another moment."""
        if self._due_at.item(row) == due_at:
            return
        self._due_at[row] = due_at
        if due_at <= self._horizon:
            self._late.append(row)

    def take(self, until: float, at_most: int) -> Rows:
        """Take the rows that are due by a moment, earliest first; they are out from now on."""
        until = min(until, _LATEST)
        if self._late:
            self._merge()
        taken = self._take_ordered(until, at_most)
        if until > self._horizon and len(taken) < at_most:
            self._sort_ahead(until, at_most)
            taken = np.concatenate((taken, self._take_ordered(until, at_most - len(taken))))
        return taken

    def _take_ordered(self, until: float, at_most: int) -> Rows:
        """Take rows from those in order, stepping over stale entries."""
        end = int(np.searchsorted(self._moments, until, side="right"))
        taken: Rows = np.empty(0, np.int64)
        while len(taken) < at_most and self._next < end:
            upto = min(end, self._next + at_most - len(taken))
            rows = self._rows[self._next : upto]
            rows = self._only_once(rows[self._due_at[rows] == self._moments[self._next : upto]])
            self._next = upto
            self._due_at[rows] = OUT
            taken = np.concatenate((taken, rows)) if len(taken) else rows
        return taken

    def next_at(self) -> float | None:
        """Return the moment at which the next row is due; None if no row is."""
        if self._late:
            self._merge()
        while self._next < len(self._rows):
            if self._due_at[self._rows[self._next]] == self._moments[self._next]:
                return float(self._moments[self._next])
            self._next += 1
        first = float(self._due_at.min(initial=OUT))
        if first == OUT:
            return None
        self._sort_ahead(first, 1)
        return first

    def _sort_ahead(self, until: float, at_most: int) -> None:
        """Bring into order what is due by a moment and some time after it, or the first of it."""
        self._horizon = min(until + self.look_ahead_s, _LATEST)
        rows = np.flatnonzero(self._due_at <= self._horizon)
        most = max(AHEAD, 2 * at_most)
        if len(rows) > most:
            self._horizon = float(np.partition(self._due_at[rows], most)[most])
            rows = rows[self._due_at[rows] <= self._horizon]
        self._late.clear()
        self._arrange(rows)

    def _only_once(self, rows: Rows) -> Rows:
        """Return the rows without repeats, which come of a moment that was changed to and fro.

        Each row is numbered where its moment stands, from the last to the first.
        """
        numbers = np.arange(len(rows), dtype=np.float64)
        self._due_at[rows[::-1]] = numbers[::-1]
        is_first: NDArray[np.bool_] = self._due_at[rows] == numbers
        return rows[is_first]

    def _merge(self) -> None:
        """Put the late rows in their places among those in order."""
        late = np.array(self._late, np.int64)
        self._late.clear()
        late = late[self._due_at[late] <= self._horizon]
        late = late[np.argsort(self._due_at[late], kind="stable")]
        moments = self._due_at[late]
        places = self._next + np.searchsorted(self._moments[self._next :], moments)
        self._rows = np.insert(self._rows, places, late)
        self._moments = np.insert(self._moments, places, moments)

    def _arrange(self, rows: Rows) -> None:
        order = np.argsort(self._due_at[rows], kind="stable")
        self._rows, self._next = rows[order], 0
        self._moments = self._due_at[self._rows]
