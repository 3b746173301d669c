"""GraphWriter: rows in, a compressed graph out, block by block and in bounded memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from gossamer.errors import Bug
from gossamer.graph.bv.coding import Coding, Properties, write_properties
from gossamer.graph.bv.graph import beside
from gossamer.graph.bv.kernels.bit_kernels import GAMMA
from gossamer.graph.bv.kernels.natives import at, writers
from gossamer.graph.bv.starts import Words, build_starts, read_offsets, save_starts
from gossamer.graph.rows import Ids, Places, Rows

_ARCS = 1 << 20
"""Arcs that are written at once."""
_ROWS = 1 << 18
_OPTIMAL_ROWS = 1 << 15
_LOOKED_AHEAD = 64
"""With longer chains nothing is gained by looking ahead."""
_BITS_PER_ARC, _BITS_PER_ROW = 64, 192
"""More than any arc or row costs."""


class BitFile:
    """A file that bits are appended to, in any number."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("wb")
        self.bits = 0
        self._carried = np.uint64(0)

    def room(self, bits: int) -> Words:
        """Return zeroed words for so many more bits; the first word has what was left over."""
        words = np.zeros(bits // 64 + 3, np.uint64)
        words[0] = self._carried
        return words

    @property
    def start(self) -> int:
        """Return the position in `room` of the next bit."""
        return self.bits % 64

    def append(self, words: Words, end: int) -> None:
        """Keep the bits of `room` up to a position."""
        whole = end // 64
        self.bits += end - self.start
        words[:whole].byteswap().tofile(self._file)
        self._carried = words[whole]

    def close(self) -> None:
        """Write the last bits, and end."""
        tail = int(self._carried).to_bytes(8, "big")
        self._file.write(tail[: (self.start + 7) // 8])
        self._file.close()


class GraphWriter:
    """Writes BASE.graph, BASE.offsets, BASE.starts and, when it is closed, BASE.properties."""

    def __init__(self, base: Path, coding: Coding | None = None) -> None:
        self._base = base
        self._coding = coding or Coding()
        self._is_optimal = self._coding.is_optimal and self._coding.max_ref <= _LOOKED_AHEAD
        self._graph = BitFile(beside(base, ".graph"))
        self._offsets = BitFile(beside(base, ".offsets"))
        self._nodes = 0
        self._arcs = 0
        self._end = 0
        """Where the last row ended that the offsets tell of."""
        self._held = Rows(0, np.zeros(1, np.int64), np.empty(0, np.uint32))
        self._depths = np.zeros(0, np.int64)

    def add(self, rows: Rows) -> None:
        """Write the rows of the next nodes."""
        if rows.first != self._nodes:
            raise Bug(f"expected the rows from node {self._nodes} on, found {rows.first}")
        for part in _parts(rows, _OPTIMAL_ROWS if self._is_optimal else _ROWS):
            self._add(part)

    def close(self) -> Properties:
        """End the files; return what they hold."""
        self._put_offsets(np.array([self._graph.bits], np.int64))
        bits = self._graph.bits
        self._graph.close()
        self._offsets.close()
        path, count = beside(self._base, ".offsets"), self._nodes + 1
        starts = build_starts(read_offsets(path, count, GAMMA), count, bits)
        save_starts(beside(self._base, ".starts"), starts)
        coding = self._coding
        found = Properties(
            nodes=self._nodes,
            arcs=self._arcs,
            window=coding.window,
            max_ref=coding.max_ref,
            min_interval=coding.min_interval,
            zeta_k=coding.zeta_k,
        )
        write_properties(beside(self._base, ".properties"), found, bits)
        return found

    def _add(self, rows: Rows) -> None:
        """Write some rows behind those that they may copy from."""
        context = self._held.nodes
        offsets = np.concatenate((self._held.offsets, rows.offsets[1:] + self._held.offsets[-1]))
        targets = np.concatenate((self._held.targets, rows.targets))
        depths = np.concatenate((self._depths, np.zeros(rows.nodes, np.int64)))
        chosen = self._chosen(offsets, targets, depths, context)
        self._write(offsets, targets, chosen, context)
        carried = max(0, len(offsets) - 1 - self._coding.window)
        start = offsets[carried]
        self._held = Rows(0, offsets[carried:] - start, targets[start:].copy())
        self._depths = depths[carried:].copy()
        self._nodes += rows.nodes
        self._arcs += len(rows.targets)

    def _shape(self, context: int) -> Places:
        one = self._coding
        first = self._nodes - context
        return np.array([one.window, one.max_ref, one.min_interval, one.zeta_k, first], np.int64)

    def _chosen(self, offsets: Places, targets: Ids, depths: Places, context: int) -> Places:
        """Return how many rows back each row shall copy from; write how deep it lies then."""
        rows = len(offsets) - 1
        chosen = np.zeros(rows, np.int64)
        spare, blocks = _scratch(offsets)
        shape = self._shape(context)
        if not self._is_optimal:
            writers()["choose"](
                *(at(offsets), at(targets), context, rows, at(shape)),
                *(at(chosen), at(depths), at(spare), at(blocks)),
            )
            return chosen
        costs = np.empty(rows * (self._coding.window + 1), np.uint32)
        writers()["cost_table"](
            *(at(offsets), at(targets), context, rows, at(shape)),
            *(at(costs), at(spare), at(blocks)),
        )
        gains = np.empty(rows * (self._coding.max_ref + 1))
        writers()["prune"](context, rows, at(shape), at(costs), at(chosen), at(depths), at(gains))
        return chosen

    def _write(self, offsets: Places, targets: Ids, chosen: Places, context: int) -> None:
        rows = len(offsets) - 1
        spare, blocks = _scratch(offsets)
        arcs = int(offsets[-1] - offsets[context])
        words = self._graph.room(arcs * _BITS_PER_ARC + (rows - context) * _BITS_PER_ROW)
        places = np.empty(rows - context, np.int64)
        base = self._graph.bits - self._graph.start
        end = writers()["write_rows"](
            *(at(offsets), at(targets), context, rows, at(self._shape(context)), at(chosen)),
            *(at(spare), at(blocks), at(words), self._graph.start, at(places)),
        )
        self._graph.append(words, end)
        self._put_offsets(places + base)

    def _put_offsets(self, places: Places) -> None:
        words = self._offsets.room(len(places) * _BITS_PER_ROW)
        end = writers()["write_gaps"](
            at(words), self._offsets.start, at(places), len(places), self._end
        )
        self._offsets.append(words, end)
        self._end = int(places[-1]) if len(places) else self._end


def _scratch(offsets: Places) -> tuple[Ids, Places]:
    longest = int(np.diff(offsets).max(initial=0))
    return np.empty(longest + 1, np.uint32), np.empty(2 * longest + 4, np.int64)


def _parts(rows: Rows, most: int) -> Iterator[Rows]:
    """Yield the rows a part at a time: each has a bounded number of rows, and of arcs if it can."""
    first = 0
    offsets = np.ascontiguousarray(rows.offsets, np.int64)
    targets = np.ascontiguousarray(rows.targets, np.uint32)
    while first < rows.nodes:
        start = offsets[first]
        end = int(np.searchsorted(offsets, start + _ARCS, side="right")) - 1
        end = min(max(end, first + 1), first + most, rows.nodes)
        part = offsets[first : end + 1]
        yield Rows(rows.first + first, part - start, targets[start : part[-1]])
        first = end
