"""Paths: over which links does one get from a page to another?"""

from typing import NamedTuple

import numpy as np

from gossamer.graph.answers.chosen import rows_of
from gossamer.graph.rows import Adjacency, Ids

MOST_VISITED = 1_000_000


class Path(NamedTuple):
    """The shortest way between two nodes, if one was found."""

    nodes: tuple[int, ...]
    """From the first to the last; empty if there is none, or none was found."""
    visited: int
    """How many nodes were looked at, from both ends."""
    gave_up: bool
    """There may be a path, but so many nodes were looked at that the search was ended."""

    @property
    def hops(self) -> int | None:
        """Return the number of links on the way; None without a path."""
        return len(self.nodes) - 1 if self.nodes else None


def shortest_path(
    out: Adjacency, inward: Adjacency, start: int, end: int, most_visited: int = MOST_VISITED
) -> Path:
    """Return a shortest path, searched from both ends at once, always where less is in hand."""
    ahead, back = _Search(out, start), _Search(inward, end)
    if start == end:
        return Path((start,), 1, gave_up=False)
    while len(ahead.edge) and len(back.edge):
        visited = ahead.visited + back.visited
        if visited > most_visited:
            return Path((), visited, gave_up=True)
        one, other = (ahead, back) if len(ahead.edge) <= len(back.edge) else (back, ahead)
        one.step()
        met = one.edge[other.seen[one.edge]]
        if len(met):
            middle = int(met[0])
            way = ahead.way_to(middle)[::-1] + back.way_to(middle)[1:]
            return Path(tuple(way), ahead.visited + back.visited, gave_up=False)
    return Path((), ahead.visited + back.visited, gave_up=False)


class _Search:
    """Breadth-first search, a level at a time; it remembers how it came to each node."""

    def __init__(self, graph: Adjacency, start: int) -> None:
        self._graph = graph
        self.edge: Ids = np.array([start], np.uint32)
        """The nodes of the last level, ascending."""
        self.seen = np.zeros(graph.nodes, np.bool_)
        self.seen[start] = True
        self.visited = 1
        self._levels: list[tuple[Ids, Ids]] = [(self.edge, self.edge)]

    def step(self) -> None:
        """Go one level further."""
        offsets, targets = rows_of(self._graph, self.edge)
        fresh = np.flatnonzero(~self.seen[targets])
        nodes, place = np.unique(targets[fresh], return_index=True)
        row = np.searchsorted(offsets, fresh[place], side="right") - 1
        self._levels.append((nodes, self.edge[row]))
        self.seen[nodes] = True
        self.visited += len(nodes)
        self.edge = nodes

    def way_to(self, node: int) -> list[int]:
        """Return the nodes from one of any level back to the start."""
        way: list[int] = []
        for nodes, parents in reversed(self._levels):
            place = int(np.searchsorted(nodes, node))
            if place < len(nodes) and nodes[place] == node:
                way.append(node)
                node = int(parents[place])
        return way
