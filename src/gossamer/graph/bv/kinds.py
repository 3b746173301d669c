"""The kinds of a graph's links: BASE.kinds, in step with the rows of BASE.graph."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from gossamer.errors import Bug, CorruptFile
from gossamer.graph.bv.graph import beside
from gossamer.graph.bv.kernels.natives import at, readers, writers
from gossamer.graph.bv.starts import build_starts, load_starts, padded, save_starts
from gossamer.graph.bv.writer import BitFile
from gossamer.graph.rows import Kinds, Rows

_BITS_PER_ARC, _BITS_PER_ROW = 64, 64


class KindsWriter:
    """Writes BASE.kinds and, when it is closed, BASE.kindstarts."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._file = BitFile(beside(base, ".kinds"))
        self._places = [np.zeros(0, np.int64)]

    def add(self, rows: Rows) -> None:
        """Write the kinds of the next rows."""
        if rows.kinds is None:
            raise Bug("expected rows with kinds")
        kinds = np.ascontiguousarray(rows.kinds, np.uint8)
        offsets = np.ascontiguousarray(rows.offsets, np.int64)
        words = self._file.room(len(kinds) * _BITS_PER_ARC + rows.nodes * _BITS_PER_ROW)
        places = np.empty(rows.nodes, np.int64)
        base = self._file.bits - self._file.start
        end = writers()["write_kinds"](
            *(at(offsets), at(kinds), rows.nodes, at(words), self._file.start, at(places)),
        )
        self._file.append(words, end)
        self._places.append(places + base)

    def close(self) -> None:
        """End the files."""
        count = sum(map(len, self._places))
        starts = build_starts(self._places, count, self._file.bits)
        self._file.close()
        save_starts(beside(self._base, ".kindstarts"), starts)


class KindsFile:
    """The kinds of links, of one row or of all in order."""

    def __init__(self, base: Path, nodes: int) -> None:
        self._path = beside(base, ".kinds")
        self._stream = padded(self._path)
        size = self._path.stat().st_size
        self._end = size * 8
        self._starts = load_starts(beside(base, ".kindstarts"), nodes, size)

    def of(self, node: int, degree: int) -> Kinds:
        """Return the kinds of a node's links, of which there are so many."""
        kinds = np.empty(degree, np.uint8)
        found = readers()["read_kinds"](
            at(self._stream), at(self._starts), self._end, node, degree, at(kinds)
        )
        if found < 0:
            raise CorruptFile(self._path, 0, f"the kinds of the links of node {node} are missing")
        return kinds

    def beside(self, blocks: Iterable[Rows]) -> Iterator[Rows]:
        """Yield all rows of the graph again, with their kinds."""
        pos = 0
        for rows in blocks:
            offsets = np.ascontiguousarray(rows.offsets)
            kinds = np.empty(len(rows.targets), np.uint8)
            pos = readers()["read_all_kinds"](
                at(self._stream), pos, at(offsets), rows.nodes, self._end, at(kinds)
            )
            if pos < 0:
                raise CorruptFile(
                    self._path, 0, f"the kinds of the links after node {rows.first} are missing"
                )
            yield rows._replace(kinds=kinds)
