"""BVGraph: a compressed graph on disk, read in order or row by row."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gossamer.errors import CorruptFile
from gossamer.graph.bv.coding import Properties, read_properties
from gossamer.graph.bv.kernels.natives import at, readers
from gossamer.graph.bv.kernels.read_kernels import BAD, FULL
from gossamer.graph.bv.starts import Words, build_starts, load_starts, padded, read_offsets
from gossamer.graph.rows import BLOCK_ARCS, Csr, Ids, Places, Rows

MOST_CHAIN = 1 << 16
SUFFIXES = (
    ".graph",
    ".offsets",
    ".properties",
    ".starts",
    ".kinds",
    ".kindstarts",
    ".urls",
    ".pages",
    ".order",
    ".ef",
)
"""All that a graph may consist of."""
_ROOM = 1 << 12
_ROWS = 1 << 18


def beside(base: Path, suffix: str) -> Path:
    """Return the path of one of a graph's files."""
    return base.with_name(base.name + suffix)


def discard(base: Path) -> None:
    """Delete the files of a graph and of its transpose, so that no new one is taken for theirs."""
    for suffix in (".properties", *SUFFIXES):  # without its properties, the rest is no graph
        for one in (base, beside(base, "-t")):
            beside(one, suffix).unlink(missing_ok=True)


class BVGraph:
    """A graph in WebGraph's format, opened by the common part of its files' names.

    Fits `Adjacency`. Rows are read into memory of its own: one thread at a time may ask.
    """

    def __init__(self, base: Path, properties: Properties, starts: Words | None = None) -> None:
        self.base = base
        self.properties = properties
        path = beside(base, ".graph")
        self._path = path
        self._stream = padded(path)
        end = path.stat().st_size * 8
        one = properties
        self._shape = np.array(
            [one.nodes, one.window, one.min_interval, one.zeta_k, end, *one.codes], np.int64
        )
        self._starts = starts
        self._fixed: tuple[int, ...] = ()
        self._read_row = readers()["read_row"]
        levels = min(one.max_ref + 2, MOST_CHAIN)
        self._chain = np.zeros(2 + 3 * levels, np.int64)
        self._chain[0] = levels
        self._row = np.zeros(8, np.int64)
        self._widen(_ROOM)

    @classmethod
    def open(cls, base: Path) -> "BVGraph":
        """Return the graph whose files are BASE.properties, BASE.graph and maybe others."""
        properties = read_properties(beside(base, ".properties"))
        size = beside(base, ".graph").stat().st_size
        if properties.nodes > 8 * size:  # each row takes a bit at least
            told = f"{properties.nodes} nodes do not fit into the {size} bytes of the graph"
            raise CorruptFile(beside(base, ".properties"), 0, told)
        kept = beside(base, ".starts")
        starts = load_starts(kept, properties.nodes + 1, size) if kept.exists() else None
        return cls(base, properties, starts)

    @property
    def nodes(self) -> int:
        """Return the number of nodes."""
        return self.properties.nodes

    @property
    def arcs(self) -> int:
        """Return the number of links."""
        return self.properties.arcs

    def outdegree(self, node: int) -> int:
        """Return how many links a node has."""
        degree = readers()["degree_of"](
            at(self._stream), at(self._shape), at(self._random()), self._checked(node)
        )
        if degree < 0:
            raise self._damaged(node)
        return degree

    def successors(self, node: int) -> Ids:
        """Return where the links of a node lead, ascending."""
        if not (self._fixed and 0 <= node < self.properties.nodes):
            self._checked(node)
            self._random()
        degree = self._read_row(*self._fixed, node, *self._work)
        if degree < 0:
            return self._successors_slowly(node, degree)
        start = self._row.item(2)
        return self._targets[start : start + degree].copy()

    def rows_of(self, nodes: NDArray[np.integer]) -> tuple[Places, Ids]:
        """Return the rows of many nodes, one behind the other: where each starts, and targets."""
        asked = np.ascontiguousarray(nodes, np.int64)
        if len(asked) and (asked.min() < 0 or asked.max() >= self.nodes):
            self._checked(int(asked.min() if asked.min() < 0 else asked.max()))
        offsets = np.zeros(len(asked) + 1, np.int64)
        out = np.empty(max(16 * len(asked), _ROOM), np.uint32)
        done = 0
        self._random()
        while done < len(asked):
            self._row[5] = len(out)
            count = self._read_many(asked[done:], out, offsets[done:])
            if count == BAD:
                raise self._damaged(int(asked[done]))
            done += count
            if done < len(asked) and self._row[6]:
                out = np.concatenate((out, np.empty(max(len(out), int(self._row[6])), np.uint32)))
            elif done < len(asked):
                self._widen(int(self._chain[1]))
        return offsets, out[: offsets[-1]]

    def blocks(self, arcs: int = BLOCK_ARCS) -> Iterator[Rows]:
        """Yield all rows in order, about so many arcs at a time; together, as many as claimed."""
        found = 0
        for rows, _ in self._walk(arcs):
            found += len(rows.targets)
            if found > self.arcs:
                break
            yield rows
        if found != self.arcs:
            raise CorruptFile(self._path, 0, f"expected {self.arcs} links, found another number")

    def csr(self) -> Csr:
        """Return all rows in memory, decoded at once: the fastest way to have them."""
        offsets, places = np.zeros(self.nodes + 1, np.int64), np.empty(self.nodes, np.int64)
        targets, spare = np.empty(self.arcs, np.uint32), np.empty(self.arcs, np.uint32)
        state = np.array([0, 0, 0, self.nodes, self.arcs, self.arcs, 0, 0], np.int64)
        count = self._read_rows(places, offsets, targets, spare, state)
        if count < self.nodes or offsets[-1] != self.arcs:
            raise CorruptFile(self._path, 0, f"expected {self.arcs} links, found another number")
        return Csr(offsets, targets)

    def _walk(self, arcs: int) -> Iterator[tuple[Rows, Places]]:
        """Yield all rows in order, with the bit positions of each.

        The rows that may be copied from are carried over from one block to the next.
        """
        window = self.properties.window
        room = arcs
        state = np.zeros(8, np.int64)
        held_offsets, held = np.zeros(1, np.int64), np.empty(0, np.uint32)
        first = 0
        while first < self.nodes:
            context = len(held_offsets) - 1
            most = context + min(_ROWS, self.nodes - first)
            offsets, places = np.zeros(most + 1, np.int64), np.zeros(most, np.int64)
            targets = np.empty(len(held) + room, np.uint32)
            offsets[: context + 1], targets[: len(held)] = held_offsets, held
            spare = np.empty(room, np.uint32)
            state[1:6] = [first, context, most, len(targets), room]
            count = self._read_rows(places, offsets, targets, spare, state)
            if count == 0:
                room = max(int(state[6]), room * 2)
                continue
            rows = context + count
            start = offsets[context]
            yield (
                Rows(first, offsets[context : rows + 1] - start, targets[start : offsets[rows]]),
                places[context:rows],
            )
            first += count
            carried = max(0, rows - window)
            held_offsets = offsets[carried : rows + 1] - offsets[carried]
            held = targets[offsets[carried] : offsets[rows]].copy()

    def _read_rows(
        self, places: Places, offsets: Places, targets: Ids, spare: Ids, state: Places
    ) -> int:
        count = readers()["read_rows"](
            *(at(self._stream), at(self._shape), at(places), at(offsets)),
            *(at(targets), at(spare), at(self._row), at(state)),
        )
        if count < 0:
            raise self._damaged(int(state[1]))
        return count

    def _read_many(self, asked: Places, out: Ids, offsets: Places) -> int:
        chain, targets, spare, row = self._work
        return readers()["read_many"](
            *(*self._fixed, at(asked), len(asked)),
            *(chain, targets, spare, row, at(out), at(offsets)),
        )

    def _successors_slowly(self, node: int, found: int) -> Ids:
        if found != FULL:
            raise self._damaged(node)
        self._widen(int(self._chain[1]))
        return self.successors(node)

    def _widen(self, room: int) -> None:
        """Make room for rows of so many targets in all, if there are so many at all."""
        self._targets = np.empty(room, np.uint32)
        self._spare = np.empty(room, np.uint32)
        self._row[4] = room
        self._work = (at(self._chain), at(self._targets), at(self._spare), at(self._row))

    def _random(self) -> Words:
        """Return where rows start: as kept, or from the offsets file, or by reading all rows."""
        if self._starts is None:
            self._starts = self._starts_found()
        self._fixed = (at(self._stream), at(self._shape), at(self._starts))
        return self._starts

    def _starts_found(self) -> Words:
        last = int(self._shape[4])
        path = beside(self.base, ".offsets")
        if path.exists():
            blocks = read_offsets(path, self.nodes + 1, self.properties.codes[-1])
            return build_starts(blocks, self.nodes + 1, last)
        return build_starts((places for _, places in self._walk(BLOCK_ARCS)), self.nodes, last)

    def _checked(self, node: int) -> int:
        if not 0 <= node < self.nodes:
            raise IndexError(f"expected a node below {self.nodes}, found {node}")
        return node

    def _damaged(self, node: int) -> CorruptFile:
        return CorruptFile(self._path, 0, f"the links at or after node {node} cannot be decoded")
