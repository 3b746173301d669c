"""The pages that are watched: a column per property, 46 bytes per page.

Most rows are sorted by key and found by bisection; the newest lie behind them and are found through
a dictionary, until they are many enough to be sorted in.
"""

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gossamer.frontier.revisit.agenda import OUT
from gossamer.frontier.revisit.rate import STRENGTH

_SMALLEST = 1_024
_TAIL_SHARE = 16


NEW, TAKEN, GONE = 1, 2, 4
"""Bits of a page's state: not visited since it is watched; being visited; removed."""

COLUMNS: dict[str, DTypeLike] = {
    "key": np.uint64,
    "host": np.int32,
    "weight": np.float32,
    "changes": np.float32,
    "seconds": np.float32,
    "prior": np.float32,
    "last_at": np.float64,
    "due_at": np.float64,
    "hints": np.uint8,
    "state": np.uint8,
}


class Pages:
    """Rows of pages. Row numbers hold until the next `tidy`."""

    __slots__ = ("_body", "_count", "_gone", "_tail", *COLUMNS)

    key: NDArray[np.uint64]
    host: NDArray[np.int32]
    weight: NDArray[np.float32]
    changes: NDArray[np.float32]
    """What was learned of the page itself: the a of a belief, less the prior's."""
    seconds: NDArray[np.float32]
    """The same of b."""
    prior: NDArray[np.float32]
    """What the host's prior still weighs."""
    last_at: NDArray[np.float64]
    due_at: NDArray[np.float64]
    hints: NDArray[np.uint8]
    state: NDArray[np.uint8]

    def __init__(self) -> None:
        self._count = self._gone = 0
        self._tail: dict[int, int] = {}
        self._make_room(np.empty(0, np.int64), _SMALLEST)

    def __len__(self) -> int:
        return self._count - self._gone

    @property
    def rows(self) -> int:
        """Return how many rows there are, those of removed pages included."""
        return self._count

    @property
    def is_full(self) -> bool:
        """Return True if the next page needs `tidy` first."""
        return self._count == len(self.key) or (
            len(self._tail) > _SMALLEST + len(self._body) // _TAIL_SHARE
        )

    def find(self, key: int) -> int:
        """Return the row of a page, or -1."""
        row = self._place(key)
        return -1 if row >= 0 and self.state.item(row) & GONE else row

    def append(self, key: int) -> int:
        """Return an empty row for a page that is not there."""
        row = self._place(key)
        if row < 0:
            row = self._count
            self._count += 1
            self._tail[key] = row
            self.key[row] = key
        else:
            self._gone -= 1
        self.changes[row] = self.seconds[row] = 0.0
        self.prior[row] = STRENGTH
        self.hints[row] = 0
        self.state[row] = NEW
        self.due_at[row] = OUT
        return row

    def drop(self, row: int) -> None:
        """Forget a page; its row goes with the next `tidy`."""
        self.state[row] = GONE
        self.due_at[row] = OUT
        self._gone += 1

    def tidy(self) -> bool:
        """Sort new rows in, let removed ones go, make room; return True if rows have moved."""
        if not self._tail and not self._gone and self._count < len(self.key):
            return False
        kept = np.flatnonzero(~(self.state[: self._count] & GONE).astype(np.bool_))
        kept = kept[np.argsort(self.key[kept], kind="stable")]
        self._make_room(kept, len(kept) + len(kept) // 8 + _SMALLEST)
        self._count = len(kept)
        self._gone = 0
        self._tail.clear()
        return True

    def _make_room(self, kept: NDArray[np.int64], size: int) -> None:
        """Move rows to new columns of a size, one column at a time to spare memory."""
        for name, kind in COLUMNS.items():
            column = np.zeros(size, kind)
            if len(kept):
                column[: len(kept)] = getattr(self, name)[kept]
            setattr(self, name, column)
        self.due_at[len(kept) :] = OUT
        self._body = self.key[: len(kept)]

    def _place(self, key: int) -> int:
        row = int(self._body.searchsorted(np.uint64(key)))
        if row < len(self._body) and self._body.item(row) == key:
            return row
        return self._tail.get(key, -1)
