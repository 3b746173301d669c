"""Totals without what is dropped: `status` counts what readers see.

A URL that is dropped is counted no longer, and one that is dropped no longer is counted again. The
rows of URLs are gone through from the first to the last, some at a time; how far that is stands in
a row that is committed with the totals. So a kill loses and repeats nothing: below that row the new
patterns hold, above it the old ones (ADR 79).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from gossamer.model import Row, UrlState
from gossamer.report import URL, decode_record, near_copy
from gossamer.urls import Patterns

if TYPE_CHECKING:
    from gossamer.crawl.assembly import Shard

UNCOUNTED = b"mu"
"""The row that says which patterns name what is not counted."""
ROWS_AT_ONCE = 1_000
"""Of URLs, between two commits: some milliseconds."""


class _UncountedRow(Struct, frozen=True, array_like=True):
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    up_to: bytes = b""
    """Rows of URLs below this key are counted by `after`, the others by `before`; b"": all of them
    by `after`."""


class UncountedUrls:
    """The URLs that a shard's totals leave out."""

    def __init__(self, value: bytes | None = None) -> None:
        """Read the row; None is that of a folder in which everything is counted."""
        row = (
            _UncountedRow() if value is None else msgspec.msgpack.decode(value, type=_UncountedRow)
        )
        self._adopt(row)

    def _adopt(self, row: _UncountedRow) -> None:
        self._row = row
        self._before, self._after = Patterns(row.before), Patterns(row.after)
        self._is_any = bool(row.before or row.after)

    def has(self, key: bytes, url: str) -> bool:
        """Return True if a URL, by its text and the key of its row, is not counted."""
        if not self._is_any:
            return False
        is_done = not self._row.up_to or key < self._row.up_to
        return bool((self._after if is_done else self._before).match(url))

    def next_row(self, dropped: Sequence[str]) -> bytes | None:
        """Return the key from which rows are to be counted anew; None if that has been done."""
        if not self._row.up_to and set(self._row.after) != set(dropped):
            self._adopt(_UncountedRow(self._row.after, tuple(dropped), URL))
        return self._row.up_to or None

    def change(self, url: str) -> int:
        """Return by how much the count of a URL changes: -1, 0 or 1."""
        return bool(self._before.match(url)) - bool(self._after.match(url))

    def moved(self, up_to: bytes) -> Row:
        """Note how far rows are counted anew, b"" for all, and return the row that says so."""
        before = self._row.before if up_to else ()
        self._adopt(_UncountedRow(before, self._row.after, up_to))
        is_plain = not (before or self._row.after)
        return UNCOUNTED, None if is_plain else msgspec.msgpack.encode(self._row)


async def settle_totals(shard: "Shard", dropped: Sequence[str]) -> None:
    """Let the totals of a shard follow what is dropped; others have their turn in between."""
    ledger, state = shard.ledger, shard.core.state
    while (start := ledger.uncounted.next_row(dropped)) is not None:
        ledger.commit()  # what is read below is what is so
        rows = [*state.scan(URL, start, ROWS_AT_ONCE)]
        for key, value in rows:
            record = decode_record(value)
            if change := ledger.uncounted.change(record.url):
                is_page = record.state is UrlState.ARCHIVED
                near = near_copy(state.get, int.from_bytes(key[-8:], "big")) if is_page else None
                ledger.counters.recount(record, change, near.level if near is not None else "")
        is_last = len(rows) < ROWS_AT_ONCE
        ledger.add_rows([ledger.uncounted.moved(b"" if is_last else rows[-1][0] + b"\0")])
        ledger.commit()
        await shard.engine.time.clock.sleep(0.0)
