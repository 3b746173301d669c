"""Runs: as many words as fit into memory, put in order and written out, one run after the other.

All pieces lie in one file, so that they can be merged from one map. What a run says of its pieces
lies in another: hashes, `about` (see `write_kernels`) and ends of the texts; the texts in a third.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.native import Native
from gossamer.search import fields
from gossamer.search.terms import hash_kernels, read_kernels, write_kernels
from gossamer.search.terms.write_kernels import (
    BASE,
    MASK,
    PIECE_WORDS,
    SEPARATOR,
    STATE_WORDS,
    TERMS,
    TEXT_BYTES,
    TOKENS,
)

RUN_TOKENS = 1 << 22
"""Some 150 MB of memory."""
PER_TERM = 8
"""Tokens per term, at least: with fewer a run ends earlier. The table of terms stays small."""
TEXT_ROOM = 16
"""Bytes of text per term; with more a run ends earlier."""
PIECE_BYTES = 16
"""At most, for each token."""
SPACE, ZERO = 0x20, 0
_SIGNATURES = {
    "take": "BnIUWWUWBI",
    "scatter": "UWnIW",
    "pieces": "WInBI",
    "merge": "BIInIIBnUBI",
}


@cache
def natives() -> Native:
    """Return the compiled kernels of the writer; the first call loads or compiles them."""
    return Native((fields, write_kernels, hash_kernels, read_kernels), _SIGNATURES)


class RunFacts(NamedTuple):
    """Where a run lies in the files."""

    terms: int
    facts_at: int
    texts_at: int
    pieces_at: int


class Runs:
    """Takes the words of pages, in order, and writes runs into a folder."""

    def __init__(self, folder: Path, run_tokens: int = RUN_TOKENS) -> None:
        self.folder = folder
        self.made: list[RunFacts] = []
        self._files = [(folder / name).open("wb") for name in ("facts", "texts", "pieces")]
        self._state = np.zeros(STATE_WORDS, np.int64)
        self._make_room(run_tokens, max(run_tokens // PER_TERM, 1))

    def take(self, texts: Sequence[bytes], page: int) -> list[int]:
        """Take a page: the words of each field. Return how many there are in each."""
        separators = [SPACE] * (len(texts) - 1) + [ZERO]  # the last ones are tags
        bounds = [text.count(part) + 1 for text, part in zip(texts, separators, strict=True)]
        self._expect(sum(bounds), sum(map(len, texts)))
        taken = []
        for field, (text, separator) in enumerate(zip(texts, separators, strict=True)):
            self._state[BASE] = page << read_kernels.PAGE_SHIFT | field << read_kernels.FIELD_SHIFT
            self._state[SEPARATOR] = separator
            taken.append(natives()["take"](text, len(text), *self._places))
        return taken

    def _expect(self, most: int, size: int) -> None:
        """Make room for a page of so many words and bytes: it is never in two runs."""
        tokens, terms, text_bytes = self._state[[TOKENS, TERMS, TEXT_BYTES]].tolist()
        if (
            tokens + most > self._room
            or terms + most > len(self._hashes)
            or text_bytes + size > len(self._texts)
        ):
            self.spill()
        if most > len(self._hashes) or size > len(self._texts):
            self._make_room(max(self._room, most), max(most, size // TEXT_ROOM + 1))

    def spill(self) -> None:
        """Write what there is as a run, and begin the next."""
        terms, tokens = int(self._state[TERMS]), int(self._state[TOKENS])
        if not tokens:
            return
        order = np.argsort(self._hashes[:terms])
        counts = np.bincount(self._terms[:tokens], minlength=terms)
        starts = np.zeros(terms + 1, np.int64)
        np.cumsum(counts[order], out=starts[1:])
        next_of = np.empty(terms, np.int64)
        next_of[order] = starts[:-1]
        native = natives()
        sorted_places = np.empty(tokens, np.uint64)
        arrays = (self._terms, self._spots)
        native["scatter"](*_addresses(*arrays), tokens, *_addresses(next_of, sorted_places))
        out = np.empty(tokens * PIECE_BYTES, np.uint8)
        about = np.empty((terms, PIECE_WORDS), np.int64)
        where = _addresses(sorted_places, starts)
        size = native["pieces"](*where, terms, *_addresses(out, about))
        self._write(order, about, out[:size])
        self._state[:] = 0
        self._state[MASK] = len(self._table) - 1
        self._table[:] = 0

    def close(self) -> None:
        """Write the last run."""
        self.spill()
        for file in self._files:
            file.close()

    def _write(
        self, order: NDArray[np.int64], about: NDArray[np.int64], out: NDArray[np.uint8]
    ) -> None:
        facts, texts, pieces = self._files
        terms = len(order)
        self.made.append(RunFacts(terms, facts.tell(), texts.tell(), pieces.tell()))
        about[:, :3] += pieces.tell()
        ends = self._ends[:terms]
        begins = np.concatenate(([0], ends[:-1]))
        spans = np.stack((begins[order], ends[order]), axis=1) + texts.tell()
        for array in (self._hashes[:terms][order], about, spans):
            facts.write(array.tobytes())
        texts.write(self._texts[: self._state[TEXT_BYTES]].tobytes())
        pieces.write(out.tobytes())

    def _make_room(self, tokens: int, terms: int) -> None:
        """Allocate what a run of so many words may need; nothing may be in it yet."""
        self._room = tokens
        slots = 1 << (2 * terms).bit_length()
        self._terms = np.empty(tokens, np.uint32)
        self._spots = np.empty(tokens, np.uint64)
        self._table = np.zeros(slots, np.uint64)
        self._numbers = np.empty(slots, np.uint32)
        self._hashes = np.empty(terms, np.uint64)
        self._texts = np.empty(TEXT_ROOM * terms, np.uint8)
        self._ends = np.empty(terms, np.int64)
        self._state[MASK] = slots - 1
        arrays = (
            self._state,
            self._terms,
            self._spots,
            self._table,
            self._numbers,
            self._hashes,
            self._texts,
            self._ends,
        )
        self._places = _addresses(*arrays)


def _addresses(*arrays: NDArray[np.generic]) -> tuple[int, ...]:
    return tuple(array.ctypes.data for array in arrays)
