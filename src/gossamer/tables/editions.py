"""Editions: which record of a URL holds, which seed led to it, and labels that came later.

A record that is replaced by a newer one of its URL is not deleted from a part: it is left out when
the part is read, as deleted documents are in Lucene. It takes 25 bytes of memory per record.
"""

from array import array
from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.model import SITEMAP_TYPES, add_labels
from gossamer.tables.archive import RecordFacts, TableRecord

NONE, PAGE, LIST, REDIRECT, GONE = range(5)
"""What a record makes of its URL. A list is a sitemap: it has links and is no page."""
DTYPE = np.dtype([("key", "<u8"), ("at", "<f8"), ("via", "<u8"), ("code", "u1")])
_SETTLED = {"fetched": PAGE, "redirected": REDIRECT, "gone": GONE}
_GIVES_LABELS = frozenset({"labelled", "seed"})
_MOST_JUMPS = 40
"""Each doubles the distance to the seed that is looked at."""


def key_of(url: str) -> int:
    """Return 64 bits that stand for a URL; nobody can easily make two URLs that share them."""
    return int.from_bytes(blake2b(url.encode("utf-8", "replace"), digest_size=8).digest(), "little")


class Living(NamedTuple):
    """Of each record, by its number, what holds."""

    pages: NDArray[np.bool_]
    """It is the newest page of its URL."""
    links: NDArray[np.bool_]
    """Its links are those of its URL now: as the graph has it."""
    seeds: NDArray[np.int64]
    """Number of the record of the seed that led to it; -1: not known."""


class Editions:
    """Takes all records in the order of their numbers."""

    def __init__(
        self,
        rows: NDArray[np.void] | None = None,
        roots: dict[int, str] | None = None,
        labels: dict[str, str] | None = None,
    ) -> None:
        self._before = rows if rows is not None else np.empty(0, DTYPE)
        self._keys, self._via, self._at = array("Q"), array("Q"), array("d")
        self._codes = array("B")
        self.roots = dict(roots or {})
        """URLs of records that nobody linked to: seeds, by number."""
        self.labels = dict(labels or {})
        """Labels that pages got after they were stored, by URL."""

    def __len__(self) -> int:
        return len(self._before) + len(self._codes)

    def note(self, said: RecordFacts | TableRecord) -> None:
        """Take the next record."""
        code = _SETTLED.get(said.outcome, NONE)
        if code == PAGE and said.media_type in SITEMAP_TYPES:
            code = LIST
        if said.outcome in _GIVES_LABELS and said.label:
            self.labels[said.url] = add_labels(self.labels.get(said.url, ""), said.label)
        if code and not said.via:
            self.roots[len(self)] = said.url
        self._keys.append(key_of(said.url) if code else 0)
        self._via.append(key_of(said.via) if code and said.via else 0)
        self._at.append(said.at)
        self._codes.append(code)

    def repeat(self, number: int) -> int:
        """Take a record again, because more is known of it now; return its new number."""
        row = self.rows()[number]
        for column, name in (
            (self._keys, "key"),
            (self._via, "via"),
            (self._at, "at"),
            (self._codes, "code"),
        ):
            column.append(row[name].item())
        if number in self.roots:
            self.roots[len(self) - 1] = self.roots[number]
        return len(self) - 1

    def rows(self, first: int = 0) -> NDArray[np.void]:
        """Return what is kept of all records, or of those from a number on."""
        if self._codes:
            rows = np.empty(len(self._codes), DTYPE)
            rows["key"], rows["via"] = self._keys, self._via
            rows["at"], rows["code"] = self._at, self._codes
            self._before = np.concatenate([self._before, rows])
            self._keys, self._via, self._at = array("Q"), array("Q"), array("d")
            self._codes = array("B")
        return self._before[first:]

    def settle(self) -> Living:
        """Return what holds: of each URL the newest record, of two as new the later one."""
        rows = self.rows()
        keys, codes = np.ascontiguousarray(rows["key"]), np.ascontiguousarray(rows["code"])
        said = np.flatnonzero(codes)
        order = said[np.lexsort((said, rows["at"][said], keys[said]))]
        links = np.zeros(len(rows), np.bool_)
        last = order[_is_last(keys[order])]
        links[last[codes[last] != GONE]] = True
        pages = np.zeros(len(rows), np.bool_)
        of_pages = order[codes[order] == PAGE]
        pages[of_pages[_is_last(keys[of_pages])]] = True
        return Living(pages, links, _seeds(rows, last, np.fromiter(self.roots, np.int64)))


def _is_last(keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return which of sorted keys are the last of their kind."""
    found = np.ones(len(keys), np.bool_)
    found[:-1] = keys[1:] != keys[:-1]
    return found


def _seeds(
    rows: NDArray[np.void], last: NDArray[np.int64], roots: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Follow each record to the page that it was found on, and so on up to a seed."""
    known = np.ascontiguousarray(rows["key"][last])  # in order
    via = np.ascontiguousarray(rows["via"])
    places = np.minimum(np.searchsorted(known, via), max(len(known) - 1, 0))
    parents = np.full(len(rows) + 1, -1, np.int64)  # the last one is nobody, and its own parent
    if len(known):
        has_parent = (via != 0) & (known[places] == via)
        parents[:-1][has_parent] = last[places[has_parent]]
    parents[roots] = roots
    for _ in range(_MOST_JUMPS):
        further = parents[parents]
        if np.array_equal(further, parents):
            break
        parents = further
    found = parents[:-1]
    is_root = np.zeros(len(rows) + 1, np.bool_)
    is_root[roots] = True
    found[~is_root[found]] = -1
    return found


def noted(facts: Iterable[RecordFacts]) -> Editions:
    """Return the editions of all records of an archive."""
    editions = Editions()
    for one in facts:
        editions.note(one)
    return editions
