"""Small graphs for tests, and the answers that others give."""

from collections import deque
from collections.abc import Iterable, Iterator

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from gossamer.graph.rows import Adjacency, Csr, Ids, Kinds, Rows

Arcs = Iterable[tuple[int, int]]


def graph_of(nodes: int, arcs: Arcs) -> Csr:
    """Return the graph with these arcs."""
    pairs = sorted(set(arcs))
    degrees = np.bincount([source for source, _ in pairs], minlength=nodes)
    offsets = np.zeros(nodes + 1, np.int64)
    np.cumsum(degrees[:nodes], out=offsets[1:])
    return Csr(offsets, np.array([target for _, target in pairs], np.uint32))


def backwards(arcs: Arcs) -> list[tuple[int, int]]:
    return [(target, source) for source, target in arcs]


def random_arcs(nodes: int, count: int, seed: int) -> list[tuple[int, int]]:
    """Return arcs of which a few nodes get most, and some have none."""
    rng = np.random.default_rng(seed)
    sources = rng.integers(0, max(nodes * 3 // 4, 1), count)
    targets = (nodes * rng.random(count) ** 3).astype(int)
    return [(int(a), int(b)) for a, b in zip(sources, targets, strict=True)]


def networkx_of(nodes: int, arcs: Arcs) -> nx.DiGraph:
    made = nx.DiGraph()
    made.add_nodes_from(range(nodes))
    made.add_edges_from(arcs)
    return made


class InBlocks:
    """A graph that comes in small blocks, with kinds if there are any."""

    def __init__(self, graph: Csr, kinds: Kinds | None = None, block_arcs: int = 3) -> None:
        self._graph, self._kinds, self._block_arcs = graph, kinds, block_arcs
        self.nodes, self.arcs = graph.nodes, graph.arcs
        self.passes = 0

    def blocks(self, arcs: int = 0) -> Iterator[Rows]:
        del arcs
        self.passes += 1
        done = 0
        for rows in self._graph.blocks(self._block_arcs):
            end = done + len(rows.targets)
            kinds = None if self._kinds is None else self._kinds[done:end]
            yield Rows(rows.first, rows.offsets, rows.targets, kinds)
            done = end

    def successors(self, node: int) -> Ids:
        return self._graph.successors(node)


def power_iteration(
    graph: Adjacency, damping: float = 0.85, base: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return PageRank as the textbook has it, from rows of links out of nodes."""
    nodes = graph.nodes
    base = np.full(nodes, 1.0 / max(nodes, 1)) if base is None else base
    moves = np.zeros((nodes, nodes))
    for node in range(nodes):
        row = graph.successors(node)
        moves[row, node] = 1.0 / len(row) if len(row) else 0.0
    is_dangling = moves.sum(axis=0) == 0.0
    rank = base.copy()
    for _ in range(400):
        free = damping * float(rank[is_dangling].sum()) + 1.0 - damping
        rank = damping * (moves @ rank) + free * base
    return rank


def hops_from(graph: Csr, start: int) -> list[int]:
    """Return how many links each node is away from one; -1: it is not reached."""
    hops = [-1] * graph.nodes
    hops[start] = 0
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for target in graph.successors(node).tolist():
            if hops[target] < 0:
                hops[target] = hops[node] + 1
                waiting.append(target)
    return hops
