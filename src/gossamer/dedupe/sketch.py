"""Sketch: what a text is compared by, in 112 bytes, and the comparison of two of them.

64 bins of a one-permutation MinHash over three words in a row (a byte each), a SimHash of the
words, a hash of the whole, one of the title, and the number of words; beside them 12 band keys, of
which two pages that are alike share at least one. Sketches are only comparable if they were made
with the same seed: it is private to a crawl, or anybody could make pages that collide.
"""

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
import xxhash
from msgspec import Struct

from gossamer.dedupe.kernels import natives
from gossamer.dedupe.kernels.sketching import BANDS, RECORD, SCRATCH, Bytes, Ints, Words

SKETCH_VERSION = 1
"""Of the rules: words, hashes, bins, bands, record. Sketches of another are not comparable."""
_LINE_WORDS = 8
_NOT_ASCII = 0x80
_CAPITALS = range(ord("A"), ord("Z") + 1)


class Level(IntEnum):
    """What a page is to an older one."""

    DIFFERENT = 0
    SIMILAR = 1
    """Nearly the same text under another title: kept, and its cluster is known."""
    DUPLICATE = 2
    """Nearly the same text and the same title: not for the index."""
    EXACT = 3
    """The same words in the same order: not for the index."""


class PageText(Struct, frozen=True, gc=False):
    """What is sketched: the text and title of a page, and whose they are."""

    key: int
    host: str
    title: str
    text: bytes
    """As UTF-8."""
    at: float
    """When it was fetched: the older one of two copies is the original."""
    is_again: bool = False
    """An earlier version of it was judged before."""


class Sketches(Struct, frozen=True):
    """The sketches of some pages: a record and the band keys of each."""

    records: Words
    bands: Words

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.records)

    def packed(self) -> bytes:
        """Return all of them as bytes."""
        return self.records.tobytes() + self.bands.tobytes()

    @staticmethod
    def unpacked(data: bytes) -> "Sketches":
        """Return the sketches that `packed` made these bytes of."""
        words = np.frombuffer(data, np.uint64)
        cut = len(words) // (RECORD + BANDS) * RECORD
        return Sketches(words[:cut].reshape(-1, RECORD), words[cut:].reshape(-1, BANDS))

    def only(self, which: slice | Ints) -> "Sketches":
        """Return some of them."""
        return Sketches(self.records[which], self.bands[which])


class Sketcher:
    """Makes sketches with one seed. Not for two threads at once: it has one scratch area."""

    def __init__(self, seed: int) -> None:
        self._kernel = natives()["sketch_many"]
        self._table = _table(seed)
        self._words = _aligned(0)
        self._shingles = _aligned(0)
        self._scratch = _aligned(SCRATCH)
        self._simhash = natives()["simhash_of"]
        self._one = np.zeros(1, np.uint64)
        self._one_at = self._one
        self._find_room()

    def sketches(self, pages: Sequence[PageText]) -> Sketches:
        """Return the sketches of pages, in order."""
        made = self.of_texts([(page.text, page.title.encode("utf-8", "replace")) for page in pages])
        records = made.records
        records[:, 11] |= np.array([_host_hash(page.host) for page in pages], np.uint64)
        records[:, 12] = np.array([page.key for page in pages], np.uint64)
        records[:, 13] = np.array([moment_of(page.at) for page in pages], np.uint64)
        return made

    def of_texts(self, texts: Sequence[tuple[bytes, bytes]]) -> Sketches:
        """Return the sketches of texts and titles in UTF-8, of nobody's pages."""
        parts = [part for pair in texts for part in pair]
        spans = np.zeros(len(parts) + 1, np.int64)
        np.cumsum([len(part) for part in parts], out=spans[1:])
        self._make_room(max(map(len, parts), default=0))
        text = np.frombuffer(b"".join(parts) or b" ", np.uint8)
        records = np.zeros((len(texts), RECORD), np.uint64)
        bands = np.zeros((len(texts), BANDS), np.uint64)
        self._kernel(
            text,
            spans,
            len(texts),
            *self._room_at,
            records,
            bands,
        )
        return Sketches(records, bands)

    def simhash(self, text: Bytes) -> tuple[int, int]:
        """Return how many words a text in UTF-8 has, and the SimHash of its pairs of words."""
        self._make_room(len(text))
        table, words, _, scratch = self._room_at
        count = self._simhash(text, len(text), table, words, scratch, self._one_at)
        return count, int(self._one[0])

    def _make_room(self, longest: int) -> None:
        """Have room for the words of a text of so many bytes."""
        if longest // 2 + 4 > len(self._words):
            self._words, self._shingles = _aligned(longest + 8), _aligned(longest + 8)
            self._find_room()

    def _find_room(self) -> None:
        """Remember where the table and the scratch areas are."""
        arrays = (self._table, self._words, self._shingles, self._scratch)
        self._room_at = tuple(array for array in arrays)


def compare(
    records: Words, pairs: Sequence[tuple[int, int]] | np.ndarray
) -> list[tuple[Level, int]]:
    """Return for each pair of records what they are to each other, and how many bins are equal."""
    packed = compare_pairs(records, np.array(pairs, np.int64).reshape(-1, 2))
    return [(Level(one & 255), one >> 8) for one in packed.tolist()]


def compare_pairs(records: Words, pairs: Ints) -> Ints:
    """Return level | equal bins << 8 of each pair of records."""
    out = np.zeros(len(pairs), np.int64)
    records, pairs = np.ascontiguousarray(records), np.ascontiguousarray(pairs)
    natives()["judge_many"](records, pairs, len(pairs), out)
    return out


def moment_of(at: float) -> int:
    """Return a moment as records have it: whole microseconds."""
    return int(at * 1e6)


def _aligned(words: int) -> Words:
    """Return an array that begins where a cache line does: its loops always take the same time."""
    room = np.zeros(words + _LINE_WORDS, np.uint64)
    skip = -room.ctypes.data // 8 % _LINE_WORDS
    return room[skip : skip + words]


def _table(seed: int) -> Words:
    """Return 256 numbers by byte (a capital's is the small letter's), then 256 masks of words."""
    numbers = [
        xxhash.xxh3_64_intdigest(bytes((byte,)), seed=seed & 0xFFFFFFFFFFFFFFFF)
        for byte in range(256)
    ]
    table = np.zeros(512, np.uint64)
    for byte in range(256):
        if byte >= _NOT_ASCII or chr(byte).isalnum():
            table[byte] = numbers[byte + 32 if byte in _CAPITALS else byte]
            table[256 + byte] = 0xFFFFFFFFFFFFFFFF
    return table


def _host_hash(host: str) -> int:
    """Return 32 bits of a host's hash, where a record has them."""
    return xxhash.xxh3_64_intdigest(host.encode()) >> 32 << 32
