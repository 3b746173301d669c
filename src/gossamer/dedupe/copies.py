"""Copies: one shard's part in finding near-duplicates. Pages and parcels in; rows and parcels out.

The set of sketches is shared out by band, not by host: a sketch goes to every shard that owns one
of its 12 band keys. Whoever finds two alike sends the label to the shard that owns the copy's host,
which keeps it. A shard alone is all of them at once, and sends nothing.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from gossamer.dedupe.book import RENEWED_ROW, Book, Rows
from gossamer.dedupe.kernels.bands import COPY, LABEL
from gossamer.dedupe.kernels.sketching import BINS, Words
from gossamer.dedupe.near import NearSet
from gossamer.dedupe.sketch import Level, Page, Sketcher, Sketches, moment_of
from gossamer.model import Row

NEAR_ROWS = b"N"
"""Prefix of all rows of this room but the labels."""
SKETCHES, LABELS, RENEWALS = b"S", b"L", b"R"
"""First byte of a parcel: what it holds."""
_POINT_SHIFT = 40
_POINT_BITS = 24


class Known(Struct, frozen=True, gc=False):
    """A page that repeats another byte for byte: nothing is to be sketched."""

    key: int
    at: float
    original: int
    is_again: bool = False


class Gone(Struct, frozen=True, gc=False):
    """A page that is there no more."""

    key: int
    at: float


Item: TypeAlias = Page | Known | Gone


class Finding(Struct):
    """What came of some pages and parcels: to be committed together."""

    rows: list[Row] = field(default_factory=list)
    parcels: list[tuple[int, bytes]] = field(default_factory=list)
    """For other shards, by number."""
    counts: dict[str, int] = field(default_factory=dict)
    """How the number of labels of each level has changed."""
    changed: dict[int, Level] = field(default_factory=dict)
    """Pages of ours, by key, whose label has changed."""


class Copies:
    """The station. One thread at a time may use it."""

    def __init__(self, rows: Rows, near: NearSet, seed: int, shard: int, shards: int) -> None:
        self._rows = rows
        self._near = near
        self._sketcher = Sketcher(seed)
        self._shard = shard
        self._shards = shards
        self._has_renewed = any(True for _ in rows.scan(RENEWED_ROW))

    @property
    def pages(self) -> int:
        """Return how many sketches are held here."""
        return self._near.pages

    def judge(self, items: Sequence[Item], parcels: Sequence[bytes] = ()) -> Finding:
        """Judge pages of ours, and what other shards have sent."""
        finding = Finding()
        book = Book(self._rows)
        self._renew(items, parcels, book, finding)
        sketches = self._sketched([item for item in items if isinstance(item, Page)], book)
        found = [
            _exact_labels([item for item in items if isinstance(item, Known)]),
            self._meet(sketches, book),
        ]
        for kind, content in ((one[:1], one[1:]) for one in parcels):
            if kind == SKETCHES:
                found.append(self._meet(Sketches.unpacked(content), book))
            elif kind == LABELS:
                found.append(np.frombuffer(content, np.uint64).reshape(-1, LABEL))
        self._deliver(np.concatenate(found), book, finding)
        self._send(sketches, finding)
        finding.rows = [*self._near.rows_to_commit(), *book.rows()]
        finding.counts, finding.changed = book.counts, book.changed
        return finding

    def _renew(
        self, items: Sequence[Item], parcels: Sequence[bytes], book: Book, finding: Finding
    ) -> None:
        """Let go of what pages said before they changed or went, and let all shards do so."""
        ours = [
            (item.key, moment_of(item.at))
            for item in items
            if isinstance(item, Gone) or item.is_again
        ]
        if ours:
            parcel = RENEWALS + np.array(ours, np.uint64).tobytes()
            others = (shard for shard in range(self._shards) if shard != self._shard)
            finding.parcels += [(shard, parcel) for shard in others]
        for one in parcels:
            if one[:1] == RENEWALS:
                pairs = np.frombuffer(one[1:], np.uint64).reshape(-1, 2).tolist()
                ours += [(key, at) for key, at in pairs]
        self._has_renewed |= bool(ours)
        for key, at in ours:
            book.renew(key, at)

    def _meet(self, sketches: Sketches, book: Book) -> Words:
        def outdated(records: Words) -> NDArray[np.bool_]:
            moments = (records[:, 13] & ~COPY).tolist()
            return np.array(book.outdated(records[:, 12].tolist(), moments), np.bool_)

        return self._near.meet(self._ours(sketches), outdated if self._has_renewed else None)

    def _sketched(self, pages: Sequence[Page], book: Book) -> Sketches:
        """Return the sketches of the pages that have words, and note their titles."""
        sketches = self._sketcher.sketches(pages)
        has_words = (sketches.records[:, 11] & np.uint64(0xFFFFFFFF)) != 0
        sketches = sketches.only(np.flatnonzero(has_words))
        book.note_titles(sketches.records)
        return sketches

    def _ours(self, sketches: Sketches) -> Sketches:
        """Return sketches with the bands only that this shard owns."""
        if self._shards == 1:
            return sketches
        bands = np.where(self._owners(sketches.bands) == self._shard, sketches.bands, np.uint64(0))
        has_any = np.flatnonzero(bands.any(axis=1))
        return Sketches(sketches.records[has_any], np.ascontiguousarray(bands[has_any]))

    def _owners(self, keys: Words) -> Words:
        """Return the shard that owns each band key, or each URL key: its first bits are a point."""
        return (keys >> np.uint64(_POINT_SHIFT)) * np.uint64(self._shards) >> np.uint64(_POINT_BITS)

    def _deliver(self, found: Words, book: Book, finding: Finding) -> None:
        """Keep the labels of our own pages, and send the others home."""
        owners = self._owners(found[:, 0])
        book.take(found[owners == self._shard])
        for shard in set(owners.tolist()) - {self._shard}:
            finding.parcels.append((shard, LABELS + found[owners == shard].tobytes()))

    def _send(self, sketches: Sketches, finding: Finding) -> None:
        if self._shards == 1 or not len(sketches):
            return
        owners = self._owners(sketches.bands)
        for shard in range(self._shards):
            theirs = np.flatnonzero((owners == shard).any(axis=1))
            if shard != self._shard and len(theirs):
                finding.parcels.append((shard, SKETCHES + sketches.only(theirs).packed()))


def _exact_labels(known: Sequence[Known]) -> Words:
    """Return the labels of pages that are known to repeat others."""
    told = Level.EXACT | BINS << 8
    rows = [(copy.key, copy.original, moment_of(copy.at), told, 0, 0) for copy in known]
    return np.array(rows, np.uint64).reshape(-1, LABEL)


def open_copies(
    rows: Rows, folder: Path, seed: int, share: tuple[int, int], *, is_synced: bool = True
) -> Copies:
    """Return the station of a shard (number, of how many) as of its committed rows."""
    near = NearSet.open(folder, rows.scan(NEAR_ROWS), is_synced=is_synced)
    return Copies(rows, near, seed, *share)
