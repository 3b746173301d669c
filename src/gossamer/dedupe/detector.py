"""CopyDetector: one shard's part in near-duplicate detection. Pages in, rows and parcels out.

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

from gossamer.dedupe.kernels.bands import COPY, LABEL
from gossamer.dedupe.kernels.sketching import BINS, Words
from gossamer.dedupe.labels import CHANGED_ROW, LabelRows, LabelUpdates
from gossamer.dedupe.near import NearSet
from gossamer.dedupe.sketch import Level, PageText, Sketcher, Sketches, moment_of
from gossamer.model import Row

NEAR_ROWS = b"N"
"""Prefix of all rows of this room but the labels."""
SKETCHES, LABELS, CHANGES = b"S", b"L", b"R"
"""First byte of a parcel: what it holds."""
_POINT_SHIFT = 40
_POINT_BITS = 24


class ExactCopy(Struct, frozen=True, gc=False):
    """A page that repeats another byte for byte: nothing is to be sketched."""

    key: int
    at: float
    original: int
    is_again: bool = False


class GonePage(Struct, frozen=True, gc=False):
    """A page that no longer exists."""

    key: int
    at: float


Parcel: TypeAlias = tuple[int, bytes]
"""The number of another shard, and what to send there."""

CopyItem: TypeAlias = PageText | ExactCopy | GonePage


class CopyChanges(Struct):
    """What follows from some pages and parcels: to be committed together."""

    rows: list[Row] = field(default_factory=list)
    parcels: list[Parcel] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    """How the number of labels of each level has changed."""
    changed: dict[int, Level] = field(default_factory=dict)
    """Pages of ours, by key, whose label has changed."""


class CopyDetector:
    """Labels pages that repeat older ones. One thread at a time may use it."""

    def __init__(self, rows: LabelRows, near: NearSet, seed: int, shard: int, shards: int) -> None:
        self._rows = rows
        self._near = near
        self._sketcher = Sketcher(seed)
        self._shard = shard
        self._shards = shards
        self._has_changes = any(True for _ in rows.scan(CHANGED_ROW))

    @property
    def pages(self) -> int:
        """Return how many sketches are held here."""
        return self._near.pages

    def judge(self, items: Sequence[CopyItem], parcels: Sequence[bytes] = ()) -> CopyChanges:
        """Compare pages of ours, and what other shards have sent, with all that came before."""
        labels = LabelUpdates(self._rows)
        out = self._mark_changed(items, parcels, labels)
        sketches = self._sketched([item for item in items if isinstance(item, PageText)], labels)
        found = [
            _exact_labels([item for item in items if isinstance(item, ExactCopy)]),
            self._label_and_add(sketches, labels),
        ]
        for kind, content in ((one[:1], one[1:]) for one in parcels):
            if kind == SKETCHES:
                found.append(self._label_and_add(Sketches.unpacked(content), labels))
            elif kind == LABELS:
                found.append(np.frombuffer(content, np.uint64).reshape(-1, LABEL))
        out += self._keep_ours(np.concatenate(found), labels)
        out += self._for_others(sketches)
        rows = [*self._near.rows_to_commit(), *labels.rows()]
        return CopyChanges(rows, out, labels.counts, labels.changed_labels)

    def _mark_changed(
        self, items: Sequence[CopyItem], parcels: Sequence[bytes], labels: LabelUpdates
    ) -> list[Parcel]:
        """Drop the labels of pages that changed or went, here and on all shards."""
        ours = [
            (item.key, moment_of(item.at))
            for item in items
            if isinstance(item, GonePage) or item.is_again
        ]
        out: list[Parcel] = []
        if ours:
            parcel = CHANGES + np.array(ours, np.uint64).tobytes()
            out = [(shard, parcel) for shard in range(self._shards) if shard != self._shard]
        for one in parcels:
            if one[:1] == CHANGES:
                pairs = np.frombuffer(one[1:], np.uint64).reshape(-1, 2).tolist()
                ours += [(key, at) for key, at in pairs]
        self._has_changes |= bool(ours)
        for key, at in ours:
            labels.mark_changed(key, at)
        return out

    def _label_and_add(self, sketches: Sketches, labels: LabelUpdates) -> Words:
        def outdated(records: Words) -> NDArray[np.bool_]:
            moments = (records[:, 13] & ~COPY).tolist()
            return np.array(labels.outdated(records[:, 12].tolist(), moments), np.bool_)

        return self._near.label_and_add(
            self._ours(sketches), outdated if self._has_changes else None
        )

    def _sketched(self, pages: Sequence[PageText], labels: LabelUpdates) -> Sketches:
        """Return the sketches of the pages that have words, and note their titles."""
        sketches = self._sketcher.sketches(pages)
        has_words = (sketches.records[:, 11] & np.uint64(0xFFFFFFFF)) != 0
        sketches = sketches.only(np.flatnonzero(has_words))
        labels.add_titles(sketches.records)
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

    def _keep_ours(self, found: Words, labels: LabelUpdates) -> list[Parcel]:
        """Keep the labels of our own pages; return the others, for their owners."""
        owners = self._owners(found[:, 0])
        labels.add_labels(found[owners == self._shard])
        return [
            (shard, LABELS + found[owners == shard].tobytes())
            for shard in set(owners.tolist()) - {self._shard}
        ]

    def _for_others(self, sketches: Sketches) -> list[Parcel]:
        """Return the sketches of our pages for every other shard that owns one of their bands."""
        if self._shards == 1 or not len(sketches):
            return []
        owners = self._owners(sketches.bands)
        out: list[Parcel] = []
        for shard in range(self._shards):
            theirs = np.flatnonzero((owners == shard).any(axis=1))
            if shard != self._shard and len(theirs):
                out.append((shard, SKETCHES + sketches.only(theirs).packed()))
        return out


def _exact_labels(copies: Sequence[ExactCopy]) -> Words:
    """Return the labels of pages that are known to repeat others."""
    packed = Level.EXACT | BINS << 8
    rows = [(copy.key, copy.original, moment_of(copy.at), packed, 0, 0) for copy in copies]
    return np.array(rows, np.uint64).reshape(-1, LABEL)


def open_copy_detector(
    rows: LabelRows, folder: Path, seed: int, share: tuple[int, int], *, is_synced: bool = True
) -> CopyDetector:
    """Return the detector of a shard (number, of how many) as of its committed rows."""
    near = NearSet.open(folder, rows.scan(NEAR_ROWS), is_synced=is_synced)
    return CopyDetector(rows, near, seed, *share)
