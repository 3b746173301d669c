"""UrlMapWriter: sorted keys to a file that can be asked in both directions, in one pass.

Keys are gathered into chapters of a million; each has a table of strings of its own, chosen from a
sample of it. So memory is bounded, and a table knows the words of the sites that it is for.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.errors import Bug, CannotGoOn
from gossamer.graph.names.layout import HEADER_BYTES, LONGEST_KEY, PADDING, Header
from gossamer.graph.names.read_kernels import PARTS, PER_GROUP, PER_PART, SMALL_GROUP
from gossamer.graph.names.table import Table, natives

PAGE_KEYS = 16 * PER_GROUP
CHAPTER_KEYS = 1 << 20
CHAPTER_BYTES = 1 << 26
SAMPLE_BYTES = 1 << 20
MOST_TABLES = 1 << 16


class _Page(NamedTuple):
    """The texts of the parts of some groups."""

    text: NDArray[np.uint8]
    ends: NDArray[np.int64]
    """Where the text of each part ends."""


class UrlMapWriter:
    """A new URL map. Until `close` returns, the file is not one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO = path.open("wb")
        self._file.write(bytes(HEADER_BYTES))
        self._at = HEADER_BYTES
        self._waiting: list[bytes] = []
        self._newest = b""
        self._pages: list[_Page] = []
        self._keys = self._longest = self._chapter_keys = self._chapter_bytes = 0
        self._tables: list[list[bytes]] = []
        self._groups: list[int] = []
        self._heads: list[bytes] = []
        self._checksums: list[int] = []

    def add(self, keys: Sequence[bytes]) -> None:
        """Add keys that sort behind all that were added before."""
        self._waiting += keys
        whole = len(self._waiting) // PAGE_KEYS * PAGE_KEYS
        for start in range(0, whole, PAGE_KEYS):
            self._turn_page(self._waiting[start : start + PAGE_KEYS])
        del self._waiting[:whole]

    def close(self) -> None:
        """Write what is left, then index and header."""
        if self._waiting:
            self._turn_page(self._waiting)
        self._end_chapter()
        self._write_rest()
        self._file.close()

    def _turn_page(self, keys: Sequence[bytes]) -> None:
        """Bring keys, which start a group, into the form of parts' texts."""
        if keys[0] <= self._newest and self._keys:
            raise self._refusal(f"{keys[0]!r} came after {self._newest!r}")
        self._newest = keys[-1]
        blob = b"".join((*keys, PADDING))
        lengths = np.fromiter(map(len, keys), np.int64, len(keys))
        starts = np.concatenate(([0], np.cumsum(lengths)))
        text = np.empty(len(blob) + 4 * len(keys), np.uint8)
        ends = np.empty(-(-len(keys) // PER_PART), np.int64)
        size = -1
        if blob.count(0) == len(PADDING) and 0 < lengths.min() <= lengths.max() <= LONGEST_KEY:
            places = (array.ctypes.data for array in (starts, text, ends))
            start_place, text_place, end_place = places
            size = natives()["front"](blob, start_place, len(keys), text_place, end_place)
        if size < 0:
            raise self._refusal(f"found some that do not behind {keys[0]!r}")
        self._heads += keys[::PER_GROUP]
        self._pages.append(_Page(text[:size].copy(), ends))
        self._keys += len(keys)
        self._longest = max(self._longest, int(lengths.max()))
        self._chapter_keys += len(keys)
        self._chapter_bytes += size
        if self._chapter_keys >= CHAPTER_KEYS or self._chapter_bytes >= CHAPTER_BYTES:
            self._end_chapter()

    def _end_chapter(self) -> None:
        """Choose a table for the pages that wait, and write them."""
        if not self._pages:
            return
        if len(self._tables) == MOST_TABLES:
            raise CannotGoOn(f"cannot write {self._path}: too many keys for a URL map")
        table = Table.trained(_sample(self._pages), _used(self._pages))
        for page in self._pages:
            self._write_page(page, table)
        self._tables.append(table.strings)
        self._pages.clear()
        self._chapter_keys = self._chapter_bytes = 0

    def _write_page(self, page: _Page, table: Table) -> None:
        longest = int(np.diff(page.ends, prepend=0).max())
        costs, codes = np.empty((2, longest + 1), np.uint32)
        out = np.empty(2 * len(page.text), np.uint8)
        places = np.empty(len(page.ends), np.int64)
        size = natives()["pack"](
            page.text.ctypes.data,
            page.ends.ctypes.data,
            len(page.ends),
            table.trie.ctypes.data,
            table.mask,
            table.lengths.ctypes.data,
            costs.ctypes.data,
            codes.ctypes.data,
            out.ctypes.data,
            places.ctypes.data,
        )
        if size < 0:
            raise Bug("a page holds a byte that its table does not know")
        start = 0
        for first in range(0, len(places), PARTS):
            ends = places[first : first + PARTS]
            self._write_group(ends[:-1] - start, out[start : ends[-1]].tobytes())
            start = int(ends[-1])

    def _write_group(self, parts: NDArray[np.int64], codes: bytes) -> None:
        """Write a group: where its parts but the first begin, and their codes."""
        width = 2 if 2 * len(parts) + len(codes) <= SMALL_GROUP else 4
        group = (parts + width * len(parts)).astype(f"<u{width}").tobytes() + codes
        self._groups.append(self._at << 16 | len(self._tables))
        self._checksums.append(natives()["checksum_of"](group, 0, len(group)))
        self._write(group)
        self._at += len(group)

    def _write(self, content: bytes) -> None:
        try:
            self._file.write(content)
        except OSError as problem:
            raise CannotGoOn(
                f"cannot write {self._path}: {problem.strerror}; free some disk space"
            ) from problem

    def _refusal(self, found: str) -> Bug:
        """Return what to raise when keys are no keys."""
        self._file.close()
        return Bug(f"keys must ascend, hold no zero and have 1 to {LONGEST_KEY} bytes: {found}")

    def _write_rest(self) -> None:
        padding = bytes(-self._at % 8)  # words are read in place
        self._write(padding)
        heads = b"".join(self._heads)
        rest = b"".join(
            (
                np.array([*self._groups, self._at << 16], np.uint64).tobytes(),
                np.cumsum([len(head) for head in self._heads], dtype=np.uint64).tobytes(),
                np.array(self._checksums, np.uint64).tobytes(),
                heads,
                np.array([len(strings) for strings in self._tables], "<u2").tobytes(),
                *(bytes(map(len, strings)) for strings in self._tables),
                *(string for strings in self._tables for string in strings),
                PADDING,
            )
        )
        self._write(rest)
        header = Header(
            self._keys, self._longest, self._at + len(padding), len(heads), len(self._tables)
        )
        self._file.seek(0)
        self._write(header.pack(header.checksum(rest)))


def _sample(pages: Sequence[_Page]) -> NDArray[np.uint8]:
    """Return about so many bytes of all pages alike: whole parts, since texts lean on others."""
    share = max(1, sum(len(page.text) for page in pages) // SAMPLE_BYTES)
    parts = []
    for page in pages:
        starts = np.concatenate(([0], page.ends[:-1]))
        chosen = zip(starts[::share].tolist(), page.ends[::share].tolist(), strict=True)
        parts += [page.text[start:end] for start, end in chosen]
    return np.concatenate(parts)[: 2 * SAMPLE_BYTES]


def _used(pages: Sequence[_Page]) -> NDArray[np.int64]:
    """Return which bytes occur."""
    counts = sum(np.bincount(page.text, minlength=256) for page in pages)
    return np.flatnonzero(counts)
