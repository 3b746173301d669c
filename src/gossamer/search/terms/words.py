"""Words: the dictionary of a term shard, and the lists of its terms."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.errors import CorruptFile
from gossamer.search.terms.compiled import natives, term_hash
from gossamer.search.terms.layout import Opened
from gossamer.search.terms.read_kernels import FIELDS, HAVING, HEAD_WORDS, MANY

Pages = NDArray[np.int64]
Scores = NDArray[np.float64]
_REMEMBERED = 4096
_FIRST_ROOM = 1 << 12
_LAST = b"\xff"


class Scale(NamedTuple):
    """What words count: lengths of all pages' fields, what these take off, weights of fields."""

    norms: NDArray[np.uint8]
    discounts: NDArray[np.float64]
    weights: NDArray[np.float64]


class Words:
    """The terms of a shard. A list that is not as it was written raises `CorruptFile`."""

    def __init__(self, files: Opened, shard: str, pages: int) -> None:
        self._hashes = files.array(f"{shard}/hashes", np.uint64)
        many = len(self._hashes)
        self._starts = files.array(f"{shard}/starts", np.int64, many)
        self._texts = files.array(f"{shard}/texts", np.uint8)
        self._text_ends = files.array(f"{shard}/text_ends", np.int64, many)
        self._having = files.array(f"{shard}/having", np.uint32, many)
        self._by_text = files.array(f"{shard}/by_text", np.uint32, many)
        self._postings = files.array(f"{shard}/postings", np.uint8)
        self._path = files.path(f"{shard}/postings")
        self._pages = pages
        self.head = lru_cache(_REMEMBERED)(self._head)

    def having(self, term: str) -> tuple[int, ...]:
        """Return how many pages have a term in each field, tags included."""
        head = self.head(term)
        return (0,) * FIELDS if head is None else tuple(head[HAVING : HAVING + FIELDS].tolist())

    def hits(
        self, term: str, fields: int, wanted: Pages | None, scale: Scale
    ) -> tuple[Pages, Scores]:
        """Return the wanted pages that have a term in some fields, and its worth there."""
        head = self.head(term)
        if head is None:
            return np.empty(0, np.int64), np.empty(0, np.float64)
        room = int(head[MANY]) if wanted is None else min(len(wanted), int(head[MANY]))
        pages, scores = np.empty(room, np.int64), np.empty(room, np.float64)
        found = natives()["hits"](
            self._postings.ctypes.data,
            head.ctypes.data,
            *_wanted(wanted),
            fields,
            *(array.ctypes.data for array in (*scale, pages, scores)),
        )
        return pages[: self._sound(found)], scores[:found]

    def starts(self, term: str, wanted: Pages | None, shift: int) -> Pages:
        """Return where rows may begin that have a term at a place, in pages that are wanted."""
        head = self.head(term)
        if head is None:
            return np.empty(0, np.int64)
        room = _FIRST_ROOM
        while True:
            out = np.empty(room, np.int64)
            found = natives()["starts"](
                self._postings.ctypes.data,
                head.ctypes.data,
                *_wanted(wanted),
                shift,
                out.ctypes.data,
                room,
            )
            if self._sound(found) <= room:
                return out[:found]
            room = found

    def beginning(self, prefix: str, most: int) -> list[tuple[str, int]]:
        """Return terms that begin so and are words of texts, those of most pages first."""
        text = prefix.encode("utf-8", "surrogatepass")
        low, high = self._before(text), self._before(text + _LAST)
        places = self._by_text[low:high].astype(np.int64)
        if len(places) and int(places.max()) >= len(self._having):
            raise CorruptFile(self._path, 0, "it refers to a term that is not there")
        having = self._having[places].astype(np.int64)
        chosen = np.lexsort((np.arange(len(having)), -having))[:most]
        return [
            (self._text(place).decode("utf-8", "replace"), many)
            for place, many in zip(places[chosen].tolist(), having[chosen].tolist(), strict=True)
            if many
        ]

    def _before(self, text: bytes) -> int:
        """Return how many terms come before a text."""
        low, high = 0, len(self._by_text)
        while low < high:
            middle = (low + high) // 2
            if self._text(int(self._by_text[middle])) < text:
                low = middle + 1
            else:
                high = middle
        return low

    def _text(self, place: int) -> bytes:
        start = int(self._text_ends[place - 1]) if place else 0
        return self._texts[start : int(self._text_ends[place])].tobytes()

    def _head(self, term: str) -> NDArray[np.int64] | None:
        """Return what the heading of a term's list says; None if no page has it."""
        hash_ = np.uint64(term_hash(term))
        place = int(np.searchsorted(self._hashes, hash_))
        is_last = place + 1 == len(self._hashes)
        if place == len(self._hashes) or self._hashes[place] != hash_:
            return None
        if self._text(place) != term.encode("utf-8", "surrogatepass"):
            return None
        start = int(self._starts[place])
        end = len(self._postings) if is_last else int(self._starts[place + 1])
        if not 0 <= start < end <= len(self._postings):
            raise CorruptFile(self._path, start, "a postings list lies outside the file")
        head = np.zeros(HEAD_WORDS, np.int64)
        where = (self._postings.ctypes.data, start, end, self._pages, head.ctypes.data)
        self._sound(natives()["heading"](*where))
        return head

    def _sound(self, found: int) -> int:
        if found < 0:
            raise CorruptFile(self._path, 0, "a postings list cannot be decoded")
        return found


def _wanted(wanted: Pages | None) -> tuple[int, int]:
    return (0, -1) if wanted is None else (wanted.ctypes.data, len(wanted))
