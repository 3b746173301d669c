"""Runs become shards: range by range of the terms' hashes, so that little is in memory at once."""

import mmap
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.errors import Bug, CannotGoOn
from gossamer.search.terms.compiled import term_hash
from gossamer.search.terms.read_kernels import BLOCK_BYTES, FIELDS, PER_BLOCK
from gossamer.search.terms.runs import Runs, natives
from gossamer.search.terms.write_kernels import PIECE_WORDS, SPARE

RANGE_PIECES = 1 << 19
"""Pieces that are merged at once, about; some 50 MB."""
RANGE_BYTES = 1 << 26
"""Bytes of pieces that are merged at once, about."""
LONGEST_LIST = (1 << 32) - 1
_HEADING_BYTES = 10 * (FIELDS + 2)


class Range(NamedTuple):
    """The pieces of some terms, in the order of shards, hashes and runs."""

    shards: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    about: NDArray[np.int64]
    spans: NDArray[np.int64]
    """Where the text of each piece's term lies."""


class Lists(NamedTuple):
    """Some lists of one shard, in the order of the hashes."""

    hashes: NDArray[np.uint64]
    texts: list[bytes]
    having: NDArray[np.int64]
    starts: NDArray[np.int64]
    postings: NDArray[np.uint8]


class Placing:
    """Which shard has a term: by its hash, unless it was placed elsewhere."""

    def __init__(self, shards: int, placed: Mapping[str, int]) -> None:
        self._shards = np.uint64(shards)
        rows = sorted((term_hash(term), shard) for term, shard in placed.items())
        self._hashes = np.array([row[0] for row in rows], np.uint64)
        self._chosen = np.array([row[1] for row in rows], np.int64)

    def shards(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the shards of terms."""
        half = np.uint64(32)
        found = ((hashes >> half) * self._shards >> half).astype(np.int64)
        if len(self._hashes):
            places = np.searchsorted(self._hashes, hashes).clip(max=len(self._hashes) - 1)
            is_placed = self._hashes[places] == hashes
            found[is_placed] = self._chosen[places[is_placed]]
        return found


class Merger:
    """Merges runs; gives each shard's lists in the order of the hashes."""

    def __init__(self, runs: Runs, numbers: NDArray[np.int64], placing: Placing) -> None:
        self._made = runs.made
        self._facts, self._texts, self._pieces = (
            _mapped(runs.folder / name) for name in ("facts", "texts", "pieces")
        )
        self._numbers = numbers
        self._placing = placing
        self._tables = [self._table(number) for number in range(len(runs.made))]

    def lists(self) -> Iterator[tuple[int, Lists]]:
        """Yield lists of shards: of each shard in the order of the hashes."""
        for low, high in self._cuts():
            found = self._range(low, high)
            if not len(found.hashes):
                continue
            heads = np.flatnonzero(np.diff(found.hashes, prepend=~found.hashes[:1]))
            ends, out = self._merged(found, heads)
            begins = np.append(0, ends[:-1, 0])
            alive = np.flatnonzero(ends[:, 0] > begins)
            shards = found.shards[heads[alive]]
            for shard in np.unique(shards).tolist():
                chosen = alive[shards == shard]
                start = int(begins[chosen[0]])
                spans = found.spans[heads[chosen]].tolist()
                yield (
                    shard,
                    Lists(
                        found.hashes[heads[chosen]],
                        [self._texts[one:other].tobytes() for one, other in spans],
                        ends[chosen, 1],
                        begins[chosen] - start,
                        out[start : int(ends[chosen[-1], 0])],
                    ),
                )

    def _merged(
        self, found: Range, heads: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return where each term's list ends and its pages; the lists."""
        sizes = found.about[:, 2] - found.about[:, 0]
        lists = np.append(heads, len(sizes))
        largest = int(np.add.reduceat(sizes, heads).max())
        most = int(np.add.reduceat(found.about[:, 3], heads).max())
        if largest > LONGEST_LIST:
            raise CannotGoOn("a term has more than 4 GB of postings; make it a stop word")
        blocks = np.empty(3 * (most // PER_BLOCK + 1), np.uint32)
        parts = np.empty(2 * largest + 16, np.uint8)
        heading = len(heads) * (_HEADING_BYTES + BLOCK_BYTES)
        counted = int(found.about[:, 3].sum()) // PER_BLOCK * BLOCK_BYTES
        out = np.empty(int(sizes.sum()) + heading + counted, np.uint8)
        ends = np.empty((len(heads), 2), np.int64)
        tally = np.empty(SPARE, np.int64)
        about = np.ascontiguousarray(found.about)
        arrays = (self._pieces, about, lists)
        size = natives()["merge"](
            *(array.ctypes.data for array in arrays),
            len(heads),
            *(array.ctypes.data for array in (self._numbers, tally, parts)),
            largest + 8,
            *(array.ctypes.data for array in (blocks, out, ends)),
        )
        if size < 0:
            raise Bug("a run is not as it was written")
        return ends, out

    def _cuts(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of hashes of which each is small enough; none if there are no runs."""
        pieces = sum(run.terms for run in self._made)
        many = max(1, pieces // RANGE_PIECES, len(self._pieces) // RANGE_BYTES)
        edges = [number * (1 << 64) // many for number in range(many + 1)]
        yield from pairwise(edges if pieces else ())

    def _range(self, low: int, high: int) -> Range:
        """Return the pieces of a range of hashes."""
        slices = []
        for hashes, about, spans in self._tables:
            start = int(np.searchsorted(hashes, np.uint64(low)))
            end = len(hashes) if high >> 64 else int(np.searchsorted(hashes, np.uint64(high)))
            slices.append((hashes[start:end], about[start:end], spans[start:end]))
        hashes, about, spans = (np.concatenate(column) for column in zip(*slices, strict=True))
        shards = self._placing.shards(hashes)
        order = np.lexsort((hashes, shards))
        return Range(shards[order], hashes[order], about[order], spans[order])

    def _table(self, number: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return what a run says of its pieces: hashes, `about`, spans of the texts."""
        terms, at = self._made[number].terms, self._made[number].facts_at
        about_at, spans_at = at + 8 * terms, at + 8 * terms * (1 + PIECE_WORDS)
        words = self._facts
        return (
            words[at:about_at].view(np.uint64),
            words[about_at:spans_at].view(np.int64).reshape(terms, PIECE_WORDS),
            words[spans_at : spans_at + 16 * terms].view(np.int64).reshape(terms, 2),
        )


def _mapped(path: Path) -> NDArray[np.uint8]:
    with path.open("rb") as file:
        if not path.stat().st_size:
            return np.empty(0, np.uint8)
        return np.frombuffer(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ), np.uint8)
