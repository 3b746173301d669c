"""Vocabulary: the terms of whole texts, by kernel; it remembers the stem of every word it has met.

Its memory is bounded: when it is full it starts anew. What it says does not depend on that.
"""

import secrets
from collections.abc import Sequence
from functools import cache

import numpy as np

from gossamer.native import Native
from gossamer.search.analysis import word_kernels
from gossamer.search.analysis.letters import fate_of
from gossamer.search.analysis.stems import STEMMED, stems
from gossamer.search.analysis.word_kernels import (
    FULL,
    KNOWN,
    LANGUAGE,
    MASK,
    MISSED,
    MOST,
    ROOM,
    SEED,
    USED,
    WANTED,
    Bytes,
)
from gossamer.search.analysis.words import MOST as MOST_WORDS

PADDING = bytes(4)
"""Behind every text, so that a kernel that looks ahead reads what is ours."""
MOST_FIELDS = 16
_SIGNATURES = {"scan": "BInUUWWIIWWI", "spell": "WInWBBn"}
_SLOTS = 1 << 19
_ARENA_WORDS = 1 << 21
_PAGES = 0x1100
_WANTED_PAGE, _EMPTY_PAGE, _FIRST_PAGE = 1, 2, 3
_LETTERS = 256
_FIRST_ROOM = 1 << 16
_SPARE_WORDS = 8
_NUMBER_OF = {code: number for number, code in enumerate(STEMMED)}


@cache
def natives() -> Native:
    """Return the compiled kernels; the first call loads them, or has them compiled."""
    return Native((word_kernels,), _SIGNATURES)


class Vocabulary:
    """Words and their terms. For one thread at a time."""

    def __init__(self, slots: int = _SLOTS, arena_words: int = _ARENA_WORDS) -> None:
        self._scan, self._spell = natives()["scan"], natives()["spell"]
        self._index = np.zeros(_PAGES, np.uint32)
        self._fates = np.zeros((_FIRST_PAGE, _LETTERS), np.uint32)
        self._slots = np.zeros(slots, np.uint64)
        self._arena = np.zeros(arena_words + _SPARE_WORDS, np.uint64)
        self._letters = self._arena.view(np.uint8).data
        self._missed = np.zeros(slots, np.int64)
        self._state = np.zeros(16, np.int64)
        self._key = np.zeros(10, np.uint64)
        self._spans = np.zeros(2 * MOST_FIELDS, np.int64)
        self._ends = np.zeros(MOST_FIELDS, np.int64)
        self._tokens = np.zeros(_FIRST_ROOM, np.uint64)
        self._out = np.zeros(_FIRST_ROOM, np.uint8)
        fixed = (self._spans, self._slots, self._arena, self._missed, self._state, self._key)
        self._places = tuple(array.ctypes.data for array in (*fixed, self._ends))
        self._state[[MASK, ROOM, MOST]] = slots - 1, arena_words, MOST_WORDS
        self._letters_at = (self._index.ctypes.data, self._fates.ctypes.data)
        self._tokens_at, self._out_at = self._tokens.ctypes.data, self._out.ctypes.data
        self._start_anew()
        self._learn_letters([0])

    def terms(self, text: bytes | Bytes, spans: Sequence[int], code: str) -> list[str] | None:
        """Return the terms of parts of a text in UTF-8, each with a space between two.

        `spans` are where each part begins and ends; PADDING is behind all. `code` is a language
        with a stemmer or "". None if these words alone are more than it can remember.
        """
        fields = len(spans) // 2
        self._spans[: len(spans)] = spans
        if len(text) > len(self._tokens):
            self._tokens = np.zeros(2 * len(text), np.uint64)
            self._tokens_at = self._tokens.ctypes.data
        self._state[LANGUAGE] = _NUMBER_OF[code]
        place = text if isinstance(text, bytes) else text.ctypes.data
        if not self._read(place, fields):
            self._start_anew()
            if not self._read(place, fields):
                self._start_anew()
                return None
        return self._spelled(fields)

    def _read(self, text: bytes | int, fields: int) -> bool:
        """Have the tokens of a text, all with a term; tell whether there was room for its words."""
        while True:
            self._state[WANTED] = 0
            count = self._scan(
                text,
                self._places[0],
                fields,
                *self._letters_at,
                *self._places[1:6],
                self._tokens_at,
                self._places[6],
            )
            if count == FULL or not self._learn_words():
                return False
            if not self._state[WANTED]:
                return True
            self._learn_letters(np.flatnonzero(self._index == _WANTED_PAGE).tolist())

    def _spelled(self, fields: int) -> list[str]:
        """Return the terms of the tokens of each field."""
        counts = self._ends[:fields].tolist()
        arena, tokens = self._places[2], self._tokens_at
        while True:
            out = self._out
            room = (self._out_at, len(out))
            size = self._spell(tokens, self._places[6], fields, arena, arena, *room)
            if size != FULL:
                break
            self._ends[:fields] = counts
            self._out = np.zeros(2 * len(out), np.uint8)
            self._out_at = self._out.ctypes.data
        ends = self._ends[:fields].tolist()
        bounds = zip([0, *ends], ends, strict=False)
        return [str(out.data[start : max(start, end - 1)], "utf-8") for start, end in bounds]

    def _learn_words(self) -> bool:
        """Find the terms of the words that are new; tell whether there was room for them."""
        many = int(self._state[MISSED])
        if not many:
            return True
        places = self._missed[:many]
        heads = self._arena[places].tolist()
        used, room = int(self._state[USED]), int(self._state[ROOM])
        letters, found = self._letters, []
        starts = [8 * (place + 2) for place in places.tolist()]
        words = [
            bytes(letters[start : start + (head & 255)])
            for start, head in zip(starts, heads, strict=True)
        ]
        code = STEMMED[heads[0] >> 8]  # they are all of one text
        terms = stems([word.decode() for word in words], code)
        for start, word, text in zip(starts, words, terms, strict=True):
            term = text.encode()
            if term == word:
                found.append(start << 5 | len(word))
                continue
            size = (len(term) + 7) >> 3
            if used + size > room:
                return False
            letters[8 * used : 8 * used + len(term)] = term
            found.append(used << 8 | len(term))
            used += size
        self._arena[places + 1] = np.array(found, np.uint64)
        self._state[[USED, MISSED]] = used, 0
        return True

    def _learn_letters(self, pages: Sequence[int]) -> None:
        """Find out what the characters of some pages of 256 are."""
        for page in pages:
            points = range(page * _LETTERS, (page + 1) * _LETTERS)
            fates = [kind << 24 | plain for kind, plain in map(fate_of, points)]
            self._index[page] = len(self._fates) if any(fates) else _EMPTY_PAGE
            if any(fates):
                row = np.array([fates], np.uint32)
                self._fates = np.concatenate((self._fates, row))
        self._letters_at = (self._index.ctypes.data, self._fates.ctypes.data)

    def _start_anew(self) -> None:
        self._slots[:] = 0
        self._state[[USED, KNOWN, MISSED]] = 1, 0, 0
        self._state[SEED] = secrets.randbits(63)
