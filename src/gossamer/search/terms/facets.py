"""Facets of a term-partitioned index: of each page its sites, language and types, as numbers.

The broker has them for all pages, as it has the rows of facts, so that matches are counted there.
"""

from array import array
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gossamer.errors import CorruptFile
from gossamer.search.facets import FIRST_YEAR, LAST_YEAR, year_begins
from gossamer.search.page import Prepared
from gossamer.search.terms.layout import Opened, TermSet

COLUMNS, NAMES = "facets", "facet_names"
"""Of each page three numbers; what they stand for."""
_KINDS = 3
_Names = tuple[str, ...]


class FacetNames(Struct, frozen=True):
    """What the numbers of pages stand for."""

    sites: list[_Names]
    languages: list[_Names]
    types: list[_Names]


_decode = msgspec.msgpack.Decoder(FacetNames).decode


class FacetNumbers:
    """Numbers what pages have in common."""

    def __init__(self) -> None:
        self._numbers: list[dict[_Names, int]] = [{}, {}, {}]

    def row(self, page: Prepared) -> bytes:
        """Return the numbers of a page, as they are written."""
        names = (page.sites, (page.language,), page.types)
        row = [
            known.setdefault(one, len(known))
            for known, one in zip(self._numbers, names, strict=True)
        ]
        return array("I", row).tobytes()

    def write(self, rows: Path, place: Path, is_alive: NDArray[np.bool]) -> None:
        """Write the files of a set: of the rows of all pages those of pages that count."""
        np.fromfile(rows, np.uint32).reshape(-1, _KINDS)[is_alive].tofile(place / COLUMNS)
        names = FacetNames(*(list(known) for known in self._numbers))
        (place / NAMES).write_bytes(msgspec.msgpack.encode(names))


class FacetColumns:
    """The numbers of all pages of a set."""

    def __init__(self, files: Opened, known: TermSet) -> None:
        columns = files.array(COLUMNS, np.uint32, _KINDS * known.pages).reshape(-1, _KINDS)
        self._sites, self._languages, self._types = columns.T
        try:
            self._names = _decode(files.array(NAMES, np.uint8).tobytes())
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            raise CorruptFile(files.path(NAMES), 0, f"it cannot be read ({problem})") from problem
        lists = (self._names.sites, self._names.languages, self._names.types)
        for column, names in zip(columns.T, lists, strict=True):
            if len(column) and int(column.max()) >= len(names):
                raise CorruptFile(files.path(COLUMNS), 0, "it refers to a name that is not there")

    def sites(self, pages: NDArray[np.int64]) -> dict[str, int]:
        """Return how many of some pages each site has."""
        return _counted(self._sites[pages], self._names.sites)

    def languages(self, pages: NDArray[np.int64]) -> dict[str, int]:
        """Return how many of some pages are in each language."""
        return _counted(self._languages[pages], self._names.languages)

    def types(self, pages: NDArray[np.int64]) -> dict[str, int]:
        """Return how many of some pages have each type."""
        return _counted(self._types[pages], self._names.types)


def count_years(moments: NDArray[np.uint64]) -> dict[int, int]:
    """Return how many pages were fetched in each year."""
    begins = np.array([year_begins(year) for year in range(FIRST_YEAR, LAST_YEAR + 2)], np.uint64)
    known = moments[(moments > 0) & (moments < begins[-1])]
    counts = np.bincount(np.searchsorted(begins, known, side="right") - 1, minlength=1)
    return {FIRST_YEAR + int(n): int(counts[n]) for n in np.flatnonzero(counts)}


def _counted(numbers: NDArray[np.uint32], names: Sequence[_Names]) -> dict[str, int]:
    counts = np.bincount(numbers, minlength=1)
    found: dict[str, int] = {}
    for number in np.flatnonzero(counts).tolist():
        for name in names[number]:
            found[name] = found.get(name, 0) + int(counts[number])
    return found
