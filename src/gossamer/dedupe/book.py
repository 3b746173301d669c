"""The book of labels of a shard's own pages: rows in, rows out. It also knows worn-out titles.

    Nt + host (4 bytes) + title hash (8 bytes)   keys of the pages that have it, 21 at most
    Nv + URL key                                 the moment since which a page says something else
    Nr + original's key + copy's key             nothing: who is labelled with a page

A title that more than 20 pages of a host have says nothing of a page ("Home", the site's name): two
such pages count as having different titles, those included that were judged before it was known.
A page that has changed, or is gone, is no longer anybody's original: labels that name it go.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
from msgspec.structs import replace

from gossamer.dedupe.kernels.sketching import Words
from gossamer.dedupe.labels import Label, decode_label, encode_label, label_key
from gossamer.dedupe.sketch import Level
from gossamer.model import Row

TITLE_ROW, RENEWED_ROW, NAMED_ROW = b"Nt", b"Nv", b"Nr"
MOST_PAGES_PER_TITLE = 20
_KEY_BYTES = 8
_HALF = 32


class Rows(Protocol):
    """What is needed of the state."""

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of rows, None for those that do not exist."""
        ...

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows whose keys begin with a prefix."""
        ...


class Book:
    """Labels, titles and renewals since the last commit, over those in the state."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._titles: dict[bytes, bytes] = {}
        self._labels: dict[int, Label | None] = {}
        self._named: dict[bytes, bytes | None] = {}
        self.renewed: dict[int, int] = {}
        """Pages that have changed or gone, and the moment of that."""
        self.counts: dict[str, int] = {}
        """How the number of labels of each level has changed."""
        self.changed: dict[int, Level] = {}

    def renew(self, key: int, at: int) -> None:
        """Let go of what is known of a page's earlier versions, and of labels that name them."""
        self.renewed[key] = max(at, self.renewed.get(key, 0))
        old = self.label(key)
        if old is not None and old.at < at:
            self._set(key, None)
        named = NAMED_ROW + key.to_bytes(_KEY_BYTES, "big")
        for row, _ in list(self._rows.scan(named)):
            copy = int.from_bytes(row[len(named) :], "big")
            label = self.label(copy)
            if label is not None and label.original == key and label.original_at < at:
                self._set(copy, None)

    def outdated(self, keys: Sequence[int], moments: Sequence[int]) -> list[bool]:
        """Tell of pages as they were at some moment whether they have changed since."""
        names = [RENEWED_ROW + key.to_bytes(_KEY_BYTES, "big") for key in keys]
        since = [int.from_bytes(value or b"", "big") for value in self._rows.get_many(names)]
        return [
            at < max(known, self.renewed.get(key, 0))
            for key, at, known in zip(keys, moments, since, strict=True)
        ]

    def note_titles(self, records: Words) -> None:
        """Take the titles of pages in; what a title that is now worn out has decided is undone."""
        rows = records[records[:, 10] != 0]
        names = [_title_name(host, title) for host, title in _hosts_and_titles(rows)]
        self._fetch_titles(names)
        for name, key in zip(names, rows[:, 12].tolist(), strict=True):
            value = self._titles[name]
            packed = key.to_bytes(_KEY_BYTES, "big")
            if _is_worn(value) or packed in _split(value):
                continue
            value += packed
            self._titles[name] = value
            if _is_worn(value):
                self._weaken(int.from_bytes(one, "big") for one in _split(value))

    def _fetch_titles(self, names: Iterable[bytes]) -> None:
        missing = [name for name in dict.fromkeys(names) if name not in self._titles]
        for name, value in zip(missing, self._rows.get_many(missing), strict=True):
            self._titles[name] = value or b""

    def _weaken(self, keys: Iterable[int]) -> None:
        for key in keys:
            label = self.label(key)
            if label is not None and label.level is Level.DUPLICATE:
                self._set(key, replace(label, level=Level.SIMILAR))

    def take(self, found: Words) -> None:
        """Take labels in, as `NearSet.meet` gives them; the better one of two counts."""
        labels = [(row[0], _label(row)) for row in found.tolist()]
        self._fetch_titles(
            _title_name(label.host, label.title) for _, label in labels if label.title
        )
        for key, label in labels:
            name = _title_name(label.host, label.title)
            if label.level is Level.DUPLICATE and _is_worn(self._titles.get(name, b"")):
                label = replace(label, level=Level.SIMILAR)  # noqa: PLW2901 -- what it is worth here
            self.put(key, label)

    def put(self, key: int, label: Label) -> None:
        """Give a page a label, unless it has a better one."""
        old = self.label(key)
        if old is None or label.is_better_than(old):
            self._set(key, label)

    def label(self, key: int) -> Label | None:
        """Return a page's label."""
        if key not in self._labels:
            value = self._rows.get_many([label_key(key)])[0]
            self._labels[key] = None if value is None else decode_label(value)
        return self._labels[key]

    def _set(self, key: int, label: Label | None) -> None:
        old = self.label(key)
        for one, change in ((old, -1), (label, 1)):
            if one is not None:
                name = one.level.name.lower()
                self.counts[name] = self.counts.get(name, 0) + change
                self._named[named_key(one.original, key)] = b"" if change > 0 else None
        self._labels[key] = label
        self.changed[key] = Level.DIFFERENT if label is None else label.level

    def rows(self) -> list[Row]:
        """Return what changed; the book is spent then."""
        rows: list[Row] = []
        for key in self.changed:
            label = self._labels[key]
            rows.append((label_key(key), None if label is None else encode_label(label)))
        rows += [(name, value) for name, value in self._titles.items() if value]
        rows += self._named.items()
        rows += [
            (RENEWED_ROW + key.to_bytes(_KEY_BYTES, "big"), at.to_bytes(_KEY_BYTES, "big"))
            for key, at in self.renewed.items()
        ]
        return rows


def named_key(original: int, copy: int) -> bytes:
    """Return the key of the row that finds a copy by its original."""
    return NAMED_ROW + original.to_bytes(_KEY_BYTES, "big") + copy.to_bytes(_KEY_BYTES, "big")


def _label(row: Sequence[int]) -> Label:
    """Return the label that six words hold."""
    _, original, at, told, title, original_at = row
    return Label(
        level=Level(told & 255),
        original=original,
        bins=told >> 8 & 255,
        at=at,
        original_at=original_at,
        host=told >> _HALF,
        title=title,
    )


def _hosts_and_titles(records: Words) -> Iterable[tuple[int, int]]:
    hosts = (records[:, 11] >> np.uint64(_HALF)).tolist()
    return zip(hosts, records[:, 10].tolist(), strict=True)


def _title_name(host: int, title: int) -> bytes:
    return TITLE_ROW + host.to_bytes(4, "big") + title.to_bytes(8, "big")


def _split(value: bytes) -> list[bytes]:
    return [value[at : at + _KEY_BYTES] for at in range(0, len(value), _KEY_BYTES)]


def _is_worn(value: bytes) -> bool:
    return len(value) > MOST_PAGES_PER_TITLE * _KEY_BYTES
