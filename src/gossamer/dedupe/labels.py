"""Labels: which page says what an older one says, and how surely. What index and people read.

    n + URL key                                  CopyLabel
    Nt + host (4 bytes) + title hash (8 bytes)   keys of the pages that have the title, 21 at most
    Nv + URL key                                 the moment at which a page changed or went
    Nr + original's key + copy's key             nothing: who is labelled with a page

A label lies in the state of the shard that owns the page's host, beside its URL record.

A title that more than 20 pages of a host have says nothing of a page ("Home", the site's name): two
such pages count as having different titles, those included that were judged before it was known.
A page that has changed, or is gone, is no longer anybody's original: labels that name it go.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct, msgpack
from msgspec.structs import replace

from gossamer.dedupe.kernels.sketching import BINS, Words
from gossamer.dedupe.sketch import Level
from gossamer.model import Row

LABEL_ROW = b"n"
TITLE_ROW, CHANGED_ROW, COPY_ROW = b"Nt", b"Nv", b"Nr"
MOST_PAGES_PER_TITLE = 20
MOST_HOPS = 16
"""Steps from copy to original that are followed: a later find may have made that a copy too."""
_KEY_BYTES = 8
_HALF = 32


class CopyLabel(Struct, frozen=True, gc=False, array_like=True):
    """What a page is to an older one."""

    level: Level
    original: int
    """URL key of the original: for a similar page, the oldest one that it is near to."""
    bins: int = BINS
    """Bins of 64 that are equal."""
    at: int = 0
    """Microsecond at which the page was fetched: a later version has another label."""
    original_at: int = 0
    host: int = 0
    """32 bits of the host's hash."""
    title: int = 0
    """Hash of the title; 0 if there is none."""

    def is_better_than(self, other: "CopyLabel") -> bool:
        """Return True if this label counts, not the other: of a later version, or stronger."""
        mine = (self.at, self.level, -self.original_at, -self.original)
        return mine > (other.at, other.level, -other.original_at, -other.original)


_encode = msgpack.Encoder().encode
_decode = msgpack.Decoder(CopyLabel).decode


def label_key(key: int) -> bytes:
    """Return the key of a page's label."""
    return LABEL_ROW + key.to_bytes(8, "big")


def encode_label(label: CopyLabel) -> bytes:
    """Return the value of a label's row."""
    return _encode(label)


def decode_label(value: bytes) -> CopyLabel:
    """Return the label that a value holds."""
    return _decode(value)


def read_labels(rows: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[int, CopyLabel]]:
    """Yield URL key and label of the rows with prefix `n`."""
    for key, value in rows:
        yield int.from_bytes(key[len(LABEL_ROW) :], "big"), _decode(value)


def copy_row_key(original: int, copy: int) -> bytes:
    """Return the key of the row that finds a copy by its original."""
    return COPY_ROW + original.to_bytes(_KEY_BYTES, "big") + copy.to_bytes(_KEY_BYTES, "big")


def root_of(key: int, find: Callable[[int], CopyLabel | None]) -> int:
    """Return the original of a page, followed until one is nobody's copy itself."""
    for _ in range(MOST_HOPS):
        label = find(key)
        if label is None or label.level < Level.DUPLICATE:
            return key
        key = label.original
    return key


class LabelRows(Protocol):
    """What is needed of the state."""

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of rows, None for those that do not exist."""

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows whose keys begin with a prefix."""


class LabelUpdates:
    """What changes with the next commit: labels, titles, and pages that changed or went."""

    def __init__(self, rows: LabelRows) -> None:
        self._rows = rows
        self._titles: dict[bytes, bytes] = {}
        self._labels: dict[int, CopyLabel | None] = {}
        self._copies: dict[bytes, bytes | None] = {}
        self.changed_at: dict[int, int] = {}
        """Pages that have changed or gone, and when."""
        self.counts: dict[str, int] = {}
        """How the number of labels of each level has changed."""
        self.changed_labels: dict[int, Level] = {}

    def mark_changed(self, key: int, at: int) -> None:
        """Drop the label of a page's earlier version, and the labels that name that as original."""
        self.changed_at[key] = max(at, self.changed_at.get(key, 0))
        old = self.label(key)
        if old is not None and old.at < at:
            self._set(key, None)
        named = COPY_ROW + key.to_bytes(_KEY_BYTES, "big")
        for row, _ in list(self._rows.scan(named)):
            copy = int.from_bytes(row[len(named) :], "big")
            label = self.label(copy)
            if label is not None and label.original == key and label.original_at < at:
                self._set(copy, None)

    def outdated(self, keys: Sequence[int], moments: Sequence[int]) -> list[bool]:
        """Return for each page, as it was at some moment, True if it has changed since."""
        names = [CHANGED_ROW + key.to_bytes(_KEY_BYTES, "big") for key in keys]
        since = [int.from_bytes(value or b"", "big") for value in self._rows.get_many(names)]
        return [
            at < max(changed_at, self.changed_at.get(key, 0))
            for key, at, changed_at in zip(keys, moments, since, strict=True)
        ]

    def add_titles(self, records: Words) -> None:
        """Add the titles of pages; a title that is common by now downgrades the labels it made."""
        rows = records[records[:, 10] != 0]
        names = [_title_key(host, title) for host, title in _hosts_and_titles(rows)]
        self._read_titles(names)
        for name, key in zip(names, rows[:, 12].tolist(), strict=True):
            value = self._titles[name]
            packed = key.to_bytes(_KEY_BYTES, "big")
            if _is_common(value) or packed in _split(value):
                continue
            value += packed
            self._titles[name] = value
            if _is_common(value):
                self._downgrade(int.from_bytes(one, "big") for one in _split(value))

    def _read_titles(self, names: Iterable[bytes]) -> None:
        missing = [name for name in dict.fromkeys(names) if name not in self._titles]
        for name, value in zip(missing, self._rows.get_many(missing), strict=True):
            self._titles[name] = value or b""

    def _downgrade(self, keys: Iterable[int]) -> None:
        for key in keys:
            label = self.label(key)
            if label is not None and label.level is Level.DUPLICATE:
                self._set(key, replace(label, level=Level.SIMILAR))

    def add_labels(self, found: Words) -> None:
        """Add labels, as `NearSet.label_and_add` returns them; the better one of two counts."""
        labels = [(row[0], _label(row)) for row in found.tolist()]
        self._read_titles(_title_key(label.host, label.title) for _, label in labels if label.title)
        for key, label in labels:
            name = _title_key(label.host, label.title)
            if label.level is Level.DUPLICATE and _is_common(self._titles.get(name, b"")):
                label = replace(label, level=Level.SIMILAR)  # noqa: PLW2901 -- what it is worth here
            self.put(key, label)

    def put(self, key: int, label: CopyLabel) -> None:
        """Give a page a label, unless it has a better one."""
        old = self.label(key)
        if old is None or label.is_better_than(old):
            self._set(key, label)

    def label(self, key: int) -> CopyLabel | None:
        """Return a page's label."""
        if key not in self._labels:
            value = self._rows.get_many([label_key(key)])[0]
            self._labels[key] = None if value is None else decode_label(value)
        return self._labels[key]

    def _set(self, key: int, label: CopyLabel | None) -> None:
        old = self.label(key)
        for one, change in ((old, -1), (label, 1)):
            if one is not None:
                name = one.level.name.lower()
                self.counts[name] = self.counts.get(name, 0) + change
                self._copies[copy_row_key(one.original, key)] = b"" if change > 0 else None
        self._labels[key] = label
        self.changed_labels[key] = Level.DIFFERENT if label is None else label.level

    def rows(self) -> list[Row]:
        """Return the rows to commit; this object is of no use afterwards."""
        rows: list[Row] = []
        for key in self.changed_labels:
            label = self._labels[key]
            rows.append((label_key(key), None if label is None else encode_label(label)))
        rows += [(name, value) for name, value in self._titles.items() if value]
        rows += self._copies.items()
        rows += [
            (CHANGED_ROW + key.to_bytes(_KEY_BYTES, "big"), at.to_bytes(_KEY_BYTES, "big"))
            for key, at in self.changed_at.items()
        ]
        return rows


def _label(row: Sequence[int]) -> CopyLabel:
    """Return the label that six words hold."""
    _, original, at, packed, title, original_at = row
    return CopyLabel(
        level=Level(packed & 255),
        original=original,
        bins=packed >> 8 & 255,
        at=at,
        original_at=original_at,
        host=packed >> _HALF,
        title=title,
    )


def _hosts_and_titles(records: Words) -> Iterable[tuple[int, int]]:
    hosts = (records[:, 11] >> np.uint64(_HALF)).tolist()
    return zip(hosts, records[:, 10].tolist(), strict=True)


def _title_key(host: int, title: int) -> bytes:
    return TITLE_ROW + host.to_bytes(4, "big") + title.to_bytes(8, "big")


def _split(value: bytes) -> list[bytes]:
    return [value[at : at + _KEY_BYTES] for at in range(0, len(value), _KEY_BYTES)]


def _is_common(value: bytes) -> bool:
    return len(value) > MOST_PAGES_PER_TITLE * _KEY_BYTES
