"""PhraseIndex: given texts as words, and the blocks of words that another text shares with them.

Words are compared by their letters alone: without case, accents, punctuation and whitespace, with
compatibility forms (ligatures, full-width letters) taken for what they stand for (NFKD). In scripts
that put no spaces between words each character is a word.
"""

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import xxhash
from msgspec import Struct
from numpy.typing import NDArray

from gossamer.dedupe.kernels import reuse_natives
from gossamer.dedupe.kernels.reuse import (
    ALONE,
    BLOCK,
    DIGIT,
    LETTER,
    MORE_SHIFT,
    PHRASE,
    SKIPPED,
)
from gossamer.dedupe.kernels.sketching import Ints, Words

Flags: TypeAlias = NDArray[np.bool_]

_CODES = 0x110000
_PAGE_BITS = 8
_ROTATED_BITS = 7
_MOST_LETTERS = 8
"""Of those that one character stands for."""
_SPACELESS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # radicals
    (0x3005, 0x3007),
    (0x3040, 0x30FF),  # kana
    (0x3100, 0x312F),  # bopomofo
    (0x31A0, 0x31FF),
    (0x3400, 0x9FFF),  # Chinese characters
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9D),  # half-width kana
    (0x1B000, 0x1B2FF),
    (0x20000, 0x3FFFF),
)
_HOST_SLOTS = 1 << 22
_WORD = (1 << 64) - 1


class SplitText(Struct, frozen=True):
    """A text as words."""

    words: Words
    """The hash of each: odd, or even if it has digits only or one letter; never 0."""
    spans: Ints
    """Where each begins and ends: a row for each word."""


class WordSplitter:
    """Splits texts into words. Not for two threads at once: it has one table, made as needed."""

    def __init__(self) -> None:
        self._kernel = reuse_natives()["split_words"]
        self._kinds = np.zeros(_CODES, np.uint8)
        self._numbers = np.zeros(_CODES, np.uint64)
        self._is_known = np.zeros(_CODES >> _PAGE_BITS, np.bool_)

    def split(self, text: str) -> SplitText:
        """Return the words of a text."""
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass") or bytes(4), np.uint32)
        pages = codes >> _PAGE_BITS
        if not self._is_known[pages].all():
            self._learn(np.unique(pages).tolist())
        words = np.empty(len(codes) + 1, np.uint64)
        spans = np.empty((len(codes) + 1, 2), np.int64)
        found = self._kernel(
            codes,
            len(text),
            self._kinds,
            self._numbers,
            words,
            spans,
        )
        return SplitText(words[:found], spans[:found])

    def _learn(self, pages: Sequence[int]) -> None:
        for page in pages:
            if not self._is_known[page]:
                first = page << _PAGE_BITS
                for code in range(first, first + (1 << _PAGE_BITS)):
                    self._kinds[code], self._numbers[code] = _values_of(code)
                self._is_known[page] = True


def _values_of(code: int) -> tuple[int, int]:
    """Return what a character is, and what it is worth in the hash of its word."""
    char = chr(code)
    if _is_mark(char) or unicodedata.category(char) == "Cf":
        return SKIPPED, 0
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", char).casefold())
    letters = [one for one in folded if unicodedata.category(one)[0] in "LNM"]
    letters = [one for one in letters if not _is_mark(one)][:_MOST_LETTERS]
    if not letters or unicodedata.category(char) == "Zs":
        return 0, 0
    number = 0
    for letter in letters:
        number = (number << _ROTATED_BITS | number >> (64 - _ROTATED_BITS)) & _WORD
        number ^= xxhash.xxh3_64_intdigest(letter.encode("utf-8", "surrogatepass"))
    if any(first <= code <= last for first, last in _SPACELESS):
        return ALONE, number
    kind = DIGIT if all(one.isdecimal() for one in letters) else LETTER
    return kind | (len(letters) - 1) << MORE_SHIFT, number


def _is_mark(char: str) -> bool:
    """Return True for accents and other marks that combine with the letter before."""
    return unicodedata.category(char) == "Mn" and unicodedata.combining(char) != 0


class PhraseIndex:
    """The phrases of a text, or of several, and the blocks that another text shares with them."""

    def __init__(self, texts: Sequence[SplitText]) -> None:
        self._natives = reuse_natives()
        sizes = [len(text.words) + 1 for text in texts]
        self.starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        """Where each text begins among all words; a 0 stands behind each."""
        total = int(self.starts[-1])
        self.words = np.zeros(total + PHRASE, np.uint64)
        for start, text in zip(self.starts.tolist(), texts, strict=False):
            self.words[start : start + len(text.words)] = text.words
        slots = 1 << max(4 * total, 16).bit_length()
        self.mask = slots - 1
        self.slots = np.zeros(slots, np.int64)
        self.firsts = np.zeros(total + 1, np.int64)
        """The place by which the phrase at each place is known."""
        self.following = np.zeros(total + 1, np.int64)
        self._natives["index_phrases"](
            self.words,
            total,
            self.slots,
            self.mask,
            self.firsts,
            self.following,
        )

    def blocks(self, page: SplitText) -> Ints:
        """Return the blocks that a text shares with the given ones, in its order."""
        blocks = np.empty((len(page.words) + 1, BLOCK), np.int64)
        found = self._natives["find_blocks"](
            page.words,
            len(page.words),
            self.words,
            self.slots,
            self.mask,
            self.following,
            blocks,
        )
        return blocks[:found]

    def most_within(self, blocks: Ints, window: int) -> int:
        """Return how many words lie in blocks in the richest stretch of so many words."""
        return self._natives["most_within"](blocks, len(blocks), window)


class Commonness(NamedTuple):
    """From how many pages on a phrase is common, of all and of those of one host."""

    most: int
    most_of_host: int


class PhraseCounts:
    """How many pages have each phrase of an index: all of them, and those of each host."""

    def __init__(self, index: PhraseIndex) -> None:
        self._natives = reuse_natives()
        self._index = index
        total = len(index.firsts)
        self._pages = 0
        self._last = np.full(total, -1, np.int64)
        self._by_page = np.zeros(total, np.int64)
        self._by_host = np.zeros(_HOST_SLOTS, np.uint32)
        self._texts = np.repeat(
            np.arange(len(index.starts) - 1, dtype=np.int64), np.diff(index.starts)
        )

    def add(self, blocks: Ints, host: int) -> None:
        """Count the phrases in a page's blocks. `host` is a hash of 32 bits."""
        self._natives["count_phrases"](
            blocks,
            len(blocks),
            self._index.firsts,
            self._pages,
            host,
            self._last,
            self._by_page,
            self._by_host,
            _HOST_SLOTS - 1,
        )
        self._pages += 1

    def by_text(self, page: SplitText, host: int, limits: Commonness) -> Ints:
        """Return, for each text, how many phrases of a page it has, and how many of these are rare.

        A phrase that very many places have is counted for some of them only.
        """
        index = self._index
        hits = np.zeros((len(index.starts) - 1, 2), np.int64)
        self._natives["count_by_text"](
            page.words,
            len(page.words),
            index.words,
            index.slots,
            index.mask,
            index.following,
            self._texts,
            host,
            limits.most,
            limits.most_of_host,
            self._by_page,
            self._by_host,
            _HOST_SLOTS - 1,
            hits,
        )
        return hits

    def are_rare(self, start: int, words: int, host: int, limits: Commonness) -> Flags:
        """Return, for each of some words in a row, whether a phrase has it that is not common.

        Numbers and single letters never count: many pages count to 40, or have the alphabet.
        """
        phrases = max(words - PHRASE + 1, 0)
        firsts = self._index.firsts[start : start + phrases]
        keys = _mix(np.uint64(host) + firsts.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
        of_host = self._by_host[keys & np.uint64(_HOST_SLOTS - 1)]
        is_rare = (self._by_page[firsts] <= limits.most) & (of_host <= limits.most_of_host)
        has_rare = np.zeros(words, np.bool_)
        for n in range(PHRASE):
            has_rare[n : n + phrases] |= is_rare
        return has_rare & (self._index.words[start : start + words] & np.uint64(1)).astype(np.bool_)


def _mix(x: Words) -> Words:
    """Return the finaliser of the kernels, of many words at once."""
    shift = np.uint64(33)
    x = (x ^ (x >> shift)) * np.uint64(0xFF51AFD7ED558CCD)
    x = (x ^ (x >> shift)) * np.uint64(0xC4CEB9FE1A85EC53)
    return x ^ (x >> shift)
