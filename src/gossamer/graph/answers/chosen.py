"""Reading the rows of a few chosen nodes: many at once where a graph can do that."""

from typing import Protocol, runtime_checkable

import numpy as np

from gossamer.graph.rows import Adjacency, Csr, Ids, Places


@runtime_checkable
class ManyRows(Protocol):
    """A graph that reads the rows of many nodes in one go."""

    def rows_of(self, nodes: Ids) -> tuple[Places, Ids]:
        """Return the rows of some nodes one after the other, and where each begins."""


@runtime_checkable
class HasDegrees(Protocol):
    """A graph that knows how long a row is without reading it."""

    def outdegree(self, node: int) -> int:
        """Return the number of links of a node."""


def rows_of(graph: Adjacency, nodes: Ids) -> tuple[Places, Ids]:
    """Return the rows of some nodes one after the other, and where each begins and the last ends.

    Links that lead nowhere (a damaged file) are an IndexError for whoever follows them.
    """
    if isinstance(graph, ManyRows):
        return graph.rows_of(nodes)
    if isinstance(graph, Csr):
        return _of_memory(graph, nodes)
    rows = [graph.successors(node) for node in nodes.tolist()]
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    return offsets, np.concatenate(rows) if rows else np.empty(0, np.uint32)


def _of_memory(graph: Csr, nodes: Ids) -> tuple[Places, Ids]:
    starts = graph.offsets[nodes]
    offsets = np.zeros(len(nodes) + 1, np.int64)
    np.cumsum(graph.offsets[nodes.astype(np.int64) + 1] - starts, out=offsets[1:])
    places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], np.diff(offsets))
    return offsets, graph.targets[places]


def degree_of(graph: Adjacency, node: int) -> int:
    """Return the number of links of a node."""
    return graph.outdegree(node) if isinstance(graph, HasDegrees) else len(graph.successors(node))


def degrees_of(graph: Adjacency, nodes: Ids) -> Places:
    """Return the numbers of links of some nodes."""
    return np.array([degree_of(graph, node) for node in nodes.tolist()], np.int64)
