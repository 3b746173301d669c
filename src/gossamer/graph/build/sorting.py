"""Arcs in any order -> rows in order, with bounded memory: an external sort without a merge.

An arc is one 64-bit word, its source first, so that the order of words is the order of arcs. Words
are sorted run by run and written to files without a name. For the rows, every run gives the slice
that falls into a range of sources, and the few slices are sorted once more.
"""

from collections.abc import Iterator, Sequence
from io import FileIO
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gossamer.errors import CannotGoOn
from gossamer.graph.rows import BLOCK_ARCS, Ids, Kinds, Places, Rows

Words: TypeAlias = NDArray[np.uint64]

WORD_BYTES = 8
KIND_BITS = 8
NODE_BITS = 32
"""Of a node number in a word that holds two of them."""
KIND_NODE_BITS = 28
"""Of a node number in a word that holds the kinds of the arc, too."""
MIN_RUN_WORDS = 1 << 12
SAMPLE_WORDS = 1 << 12
"""Every so many words of a run its source is remembered: so ranges are found without reading."""
MERGED_SLICES = 4
"""Up to so many sorted slices are merged; the sort of more is faster from scratch."""


class ArcSorter:
    """Takes arcs in any order and gives rows in order. Its files vanish with the process."""

    def __init__(self, folder: Path, memory_bytes: int = 512 << 20) -> None:
        self._folder = folder
        words = max(memory_bytes // (2 * WORD_BYTES), MIN_RUN_WORDS)
        self._gathered: Words = np.empty(words, np.uint64)
        self._count = 0
        self._runs: list[_Run] = []
        self._packing: _Packing | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def add(self, sources: Ids, targets: Ids, kinds: Kinds | None = None) -> None:
        """Take some arcs. All calls give kinds, or none does."""
        if self._packing is None:
            self._packing = _Packing(has_kinds=kinds is not None)
        start = 0
        while start < len(sources):
            room = min(len(self._gathered) - self._count, len(sources) - start)
            part = slice(start, start + room)
            words = self._gathered[self._count : self._count + room]
            self._packing.pack(
                sources[part], targets[part], None if kinds is None else kinds[part], words
            )
            self._count += room
            start += room
            if self._count == len(self._gathered):
                self._spill()

    def rows(self, nodes: int, arcs: int = BLOCK_ARCS) -> Iterator[Rows]:
        """Yield the rows of the nodes 0 to `nodes - 1`, about so many arcs at a time; once.

        Targets ascend; of arcs that were given several times one is left, with all their kinds.
        """
        packing = self._packing or _Packing(has_kinds=False)
        if self._runs:
            self._spill()
        else:
            self._runs.append(_Run(_sorted(self._gathered[: self._count])))
        self._gathered, self._count = np.empty(0, np.uint64), 0
        beyond = packing.least_word(nodes)
        if any(run.count and run.last >= beyond for run in self._runs):
            msg = f"links of nodes beyond the {nodes} of the graph"
            raise ValueError(msg)
        first = 0
        for end in _ends(self._runs, packing, nodes, arcs):
            below = packing.least_word(end)
            slices = [part for run in self._runs if len(part := run.take(below))]
            yield packing.rows(_merged(slices), first, end)
            first = end

    def close(self) -> None:
        """Give the memory and the files back."""
        for run in self._runs:
            run.close()
        self._runs = []
        self._gathered = np.empty(0, np.uint64)

    def _spill(self) -> None:
        """Sort what was gathered and write it down: behind the last run if it continues that."""
        words = _sorted(self._gathered[: self._count])
        self._count = 0
        if not len(words):
            return
        if not self._runs or self._runs[-1].last > words[0]:
            self._runs.append(_Run(np.empty(0, np.uint64), self._folder))
        self._runs[-1].append(words)


class _Packing:
    """How an arc lies in a word."""

    def __init__(self, *, has_kinds: bool) -> None:
        self._has_kinds = has_kinds
        self._node_bits = KIND_NODE_BITS if has_kinds else NODE_BITS
        kind_bits = KIND_BITS if has_kinds else 0
        self._source_shift = np.uint64(self._node_bits + kind_bits)
        self._target_shift = np.uint64(kind_bits)

    def pack(self, sources: Ids, targets: Ids, kinds: Kinds | None, into: Words) -> None:
        """Write the words of some arcs."""
        if self._has_kinds != (kinds is not None):
            msg = "some arcs have kinds and others have none"
            raise ValueError(msg)
        into[:] = sources
        into <<= np.uint64(self._node_bits)
        into |= targets
        if kinds is not None:
            top = max(int(sources.max(initial=0)), int(targets.max(initial=0)))
            if top >> KIND_NODE_BITS:
                raise CannotGoOn(
                    f"the graph has more than {1 << KIND_NODE_BITS} URLs (found node {top}), "
                    "the maximum for which the kinds of links can be stored"
                )
            into <<= np.uint64(KIND_BITS)
            into |= kinds

    def least_word(self, source: int) -> int:
        """Return a number that no arc of a source, or of a later one, is below."""
        return source << int(self._source_shift)

    def source(self, words: Words) -> NDArray[np.int64]:
        """Return where the arcs start."""
        return (words >> self._source_shift).view(np.int64)

    def rows(self, words: Words, first: int, end: int) -> Rows:
        """Return the rows of the nodes from `first` to `end - 1` from their sorted arcs."""
        kinds = (words & np.uint64(0xFF)).astype(np.uint8) if self._has_kinds else None
        pairs = words >> self._target_shift if self._has_kinds else words
        is_new = np.ones(len(pairs), bool)
        np.not_equal(pairs[1:], pairs[:-1], out=is_new[1:])
        if not is_new.all():
            kinds = _united(kinds, is_new) if kinds is not None else None
            pairs = pairs[is_new]
        targets = pairs.astype(np.uint32)
        if self._has_kinds:
            targets &= np.uint32((1 << KIND_NODE_BITS) - 1)
        sources = (pairs >> np.uint64(self._node_bits)).view(np.int64)
        return Rows(first, _offsets(sources, first, end), targets, kinds)


class _Run:
    """Sorted words, in memory or in a file, which are taken from its front."""

    def __init__(self, words: Words, folder: Path | None = None) -> None:
        self._words = words
        self._file: FileIO | None = None
        self._taken = 0
        self.count = len(words)
        self.last = int(words[-1]) if len(words) else 0
        self.samples: list[Words] = [words[::SAMPLE_WORDS]]
        if folder is not None:
            try:
                self._file = TemporaryFile(dir=folder, prefix="arcs-", buffering=0)  # noqa: SIM115 -- `close` does
            except OSError as error:
                raise _cannot("write", error) from error

    def append(self, words: Words) -> None:
        """Write words that are not below the last one."""
        file = self._open_file()
        behind = -self.count % SAMPLE_WORDS
        self.samples.append(words[behind::SAMPLE_WORDS].copy())
        self.count += len(words)
        self.last = int(words[-1])
        data = words.data.cast("B")
        try:
            while data:
                data = data[file.write(data) :]
        except OSError as error:
            raise _cannot("write", error) from error

    def take(self, below: int) -> Words:
        """Return the words that were not taken yet and are below a number."""
        end = self._place_of(below)
        words = self._read(self._taken, end)
        self._taken = end
        return words

    def close(self) -> None:
        """Give the file back."""
        if self._file is not None:
            self._file.close()

    def _place_of(self, below: int) -> int:
        """Return how many words are below a number."""
        if below > self.last:
            return self.count
        samples = self.samples[0] if len(self.samples) == 1 else np.concatenate(self.samples)
        self.samples = [samples]
        place = int(np.searchsorted(samples, np.uint64(below)))
        start = max(place - 1, 0) * SAMPLE_WORDS
        near = self._read(start, min(start + SAMPLE_WORDS, self.count))
        return start + int(np.searchsorted(near, np.uint64(below)))

    def _read(self, start: int, end: int) -> Words:
        if self._file is None:
            return self._words[start:end]
        words = np.empty(end - start, np.uint64)
        room = words.data.cast("B")
        try:
            self._file.seek(start * WORD_BYTES)
            while room:
                count = self._file.readinto(room)
                if not count:
                    raise CannotGoOn("a file of sorted links was truncated; build again")
                room = room[count:]
        except OSError as error:
            raise _cannot("read", error) from error
        return words

    def _open_file(self) -> FileIO:
        if self._file is None:
            msg = "a run in memory does not grow"
            raise ValueError(msg)
        return self._file


def _sorted(words: Words) -> Words:
    """Sort words in place, unless they are in order."""
    if not (words[1:] >= words[:-1]).all():
        words.sort()
    return words


def _merged(slices: Sequence[Words]) -> Words:
    """Return all words of some sorted slices in order."""
    if len(slices) == 1:
        return slices[0]
    words: Words = np.concatenate([np.empty(0, np.uint64), *slices])
    words.sort(kind="stable" if len(slices) <= MERGED_SLICES else "quicksort")
    return words


def _ends(runs: Sequence[_Run], packing: _Packing, nodes: int, arcs: int) -> Iterator[int]:
    """Yield where ranges of sources end, so that each has about so many arcs, or fewer nodes."""
    samples = np.concatenate([np.empty(0, np.uint64), *(s for run in runs for s in run.samples)])
    samples.sort()
    marks = packing.source(samples[:: max(arcs // SAMPLE_WORDS, 1)])
    last = 0
    for end in (*np.unique(marks).tolist(), nodes):
        while last < min(end, nodes):
            last = min(last + arcs, end, nodes)
            yield last


def _united(kinds: Kinds, is_new: NDArray[np.bool_]) -> Kinds:
    """Return all kinds of each arc, of which some came several times in a row."""
    again = np.flatnonzero(~is_new)
    united = kinds[is_new]
    np.bitwise_or.at(united, again - np.arange(1, len(again) + 1), kinds[again])
    return united


def _offsets(sources: NDArray[np.int64], first: int, end: int) -> Places:
    """Return where the row of each node starts, and where the last one ends."""
    counts = np.zeros(end - first + 1, np.int64)
    if len(sources):
        begins = np.flatnonzero(sources[1:] != sources[:-1]) + 1
        begins = np.concatenate([np.zeros(1, np.int64), begins])
        lengths = np.diff(begins, append=len(sources))
        counts[sources[begins] - first + 1] = lengths
    return np.cumsum(counts)


def _cannot(doing: str, error: OSError) -> CannotGoOn:
    return CannotGoOn(
        f"cannot {doing} sorted links: {error.strerror or error}; "
        "free some disk space, then build again"
    )
