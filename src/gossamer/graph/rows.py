"""Rows: lists of links in memory. Whoever has a graph gives them out block by block."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ids: TypeAlias = NDArray[np.uint32]
Places: TypeAlias = NDArray[np.int64]
Kinds: TypeAlias = NDArray[np.uint8]

BLOCK_ARCS = 1 << 22
"""Arcs of a block: 16 MiB of targets, whatever the size of the graph."""


class Rows(NamedTuple):
    """The links of consecutive nodes: those of `first + i` are `targets[offsets[i]:offsets[i+1]]`.

    Targets of a row ascend and none comes twice.
    """

    first: int
    offsets: Places
    targets: Ids
    kinds: Kinds | None = None
    """In which ways each link was met (see `Kind`); None if that is not known."""

    @property
    def nodes(self) -> int:
        """Return the number of nodes."""
        return len(self.offsets) - 1

    def sources(self) -> Ids:
        """Return the node at which each link starts."""
        nodes = np.arange(self.first, self.first + self.nodes, dtype=np.uint32)
        return np.repeat(nodes, np.diff(self.offsets))


class Adjacency(Protocol):
    """A graph whose lists of links can be read, in order or one by one."""

    @property
    def nodes(self) -> int:
        """Return the number of nodes."""

    @property
    def arcs(self) -> int:
        """Return the number of links."""

    def blocks(self, arcs: int = BLOCK_ARCS) -> Iterator[Rows]:
        """Yield all rows in order, about so many arcs at a time."""

    def successors(self, node: int) -> Ids:
        """Return where the links of a node lead, ascending."""


class Csr:
    """A whole graph in memory."""

    def __init__(self, offsets: Places, targets: Ids) -> None:
        self.offsets = offsets
        self.targets = targets

    @classmethod
    def of(cls, graph: Adjacency) -> "Csr":
        """Return all rows of a graph: its own, if it has them in memory."""
        if isinstance(graph, Csr):
            return graph
        offsets = np.zeros(graph.nodes + 1, np.int64)
        targets = np.empty(graph.arcs, np.uint32)
        for rows in graph.blocks():
            start = offsets[rows.first]
            offsets[rows.first : rows.first + rows.nodes + 1] = rows.offsets + start
            targets[start : start + len(rows.targets)] = rows.targets
        return cls(offsets, targets)

    @property
    def nodes(self) -> int:
        """Return the number of nodes."""
        return len(self.offsets) - 1

    @property
    def arcs(self) -> int:
        """Return the number of links."""
        return len(self.targets)

    def blocks(self, arcs: int = BLOCK_ARCS) -> Iterator[Rows]:
        """Yield all rows in order, about so many arcs at a time; at least one row."""
        first = 0
        while first < self.nodes:
            start = self.offsets[first]
            end = int(np.searchsorted(self.offsets, start + arcs, side="right")) - 1
            end = min(max(end, first + 1), self.nodes)
            offsets = self.offsets[first : end + 1]
            yield Rows(first, offsets - start, self.targets[start : offsets[-1]])
            first = end

    def successors(self, node: int) -> Ids:
        """Return where the links of a node lead, ascending."""
        return self.targets[self.offsets[node] : self.offsets[node + 1]]
