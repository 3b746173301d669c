"""Kinded: a graph whose rows come with the kinds of their links."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gossamer.graph.bv import BVGraph, KindsFile
from gossamer.graph.rows import BLOCK_ARCS, Ids, Kinds, Places, Rows


class Kinded:
    """A graph and its kinds, read in step. Fits `Adjacency`."""

    def __init__(self, graph: BVGraph, kinds: KindsFile) -> None:
        self._graph = graph
        self._kinds = kinds

    @property
    def nodes(self) -> int:
        """Return the number of nodes."""
        return self._graph.nodes

    @property
    def arcs(self) -> int:
        """Return the number of links."""
        return self._graph.arcs

    def blocks(self, arcs: int = BLOCK_ARCS) -> Iterator[Rows]:
        """Yield all rows in order, with their kinds, about so many arcs at a time."""
        return self._kinds.beside(self._graph.blocks(arcs))

    def successors(self, node: int) -> Ids:
        """Return where the links of a node lead, ascending."""
        return self._graph.successors(node)

    def outdegree(self, node: int) -> int:
        """Return how many links a node has."""
        return self._graph.outdegree(node)

    def rows_of(self, nodes: NDArray[np.integer]) -> tuple[Places, Ids]:
        """Return the rows of many nodes, one behind the other."""
        return self._graph.rows_of(nodes)

    def kinds_of(self, node: int, degree: int) -> Kinds:
        """Return the kinds of a node's links, of which there are so many."""
        return self._kinds.of(node, degree)
