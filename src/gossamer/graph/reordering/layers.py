"""An order of nodes in which neighbours stand together, for graphs whose numbers say nothing.

URLs in order are better, so graphs of crawls need none of this. A list of links whose numbers were
drawn by chance takes five times the bits of one in this order (cnr-2000: 18.0 and 3.3 per link).
"""

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from gossamer.graph.reordering import label_kernels
from gossamer.graph.rows import Adjacency, Csr, Ids
from gossamer.native import Native

Tell = Callable[[str], None]

RESOLUTIONS = (*(2.0**-i for i in range(11)), 0.0)
"""From small clusters to large ones. Half of them give 5 % more bits in half the time."""
ROUNDS = 8
SETTLED = 0.01
"""A round in which a smaller share of the nodes changes its label is the last one."""


@cache
def _native() -> Native:
    return Native((label_kernels,), {"shuffle": "UnW", "spread_labels": "IUUnUIIUd"})


def find_order(out: Adjacency, inward: Adjacency, seed: int, tell: Tell = lambda _: None) -> Ids:
    """Return the nodes in an order that keeps neighbours together: first, second, ...

    All is held in memory, some 50 bytes per link. The same seed gives the same order.
    """
    graph = _both_ways(Csr.of(out), Csr.of(inward))
    state = np.array([(seed * 2 + 1) * 0x9E3779B97F4A7C15 % 2**64], np.uint64)
    place = np.arange(graph.nodes, dtype=np.int64)
    for resolution in RESOLUTIONS:
        labels = _clusters(graph, resolution, state)
        # Clusters stand where the node stands that gave its number; inside, all is as before.
        order = np.lexsort((place, place[labels]))
        place[order] = np.arange(graph.nodes)
        tell(f"{len(np.unique(labels)):,} clusters of {graph.nodes:,} nodes")
    return np.argsort(place).astype(np.uint32)


def _clusters(graph: Csr, resolution: float, state: NDArray[np.uint64]) -> Ids:
    """Return the label of each node: the number of a node of its cluster."""
    nodes = graph.nodes
    labels, turns = np.arange(nodes, dtype=np.uint32), np.arange(nodes, dtype=np.uint32)
    sizes, counts = np.ones(nodes, np.int64), np.zeros(nodes, np.int64)
    met = np.empty(nodes + 1, np.uint32)
    for _ in range(ROUNDS):
        _native()["shuffle"](turns.ctypes.data, nodes, state.ctypes.data)
        changed = _native()["spread_labels"](
            *(graph.offsets.ctypes.data, graph.targets.ctypes.data, turns.ctypes.data, nodes),
            *(labels.ctypes.data, sizes.ctypes.data, counts.ctypes.data, met.ctypes.data),
            resolution,
        )
        if changed < nodes * SETTLED:
            break
    return labels


def _both_ways(out: Csr, inward: Csr) -> Csr:
    """Return the graph of who is a neighbour of whom."""
    nodes = np.uint64(out.nodes)
    pairs = [_sources(graph) * nodes + graph.targets for graph in (out, inward)]
    unique = np.unique(np.concatenate(pairs))
    sources, targets = np.divmod(unique, nodes)
    degrees = np.bincount(sources.astype(np.int64), minlength=out.nodes)
    return Csr(np.concatenate(([0], np.cumsum(degrees))), targets.astype(np.uint32))


def _sources(graph: Csr) -> NDArray[np.uint64]:
    return np.repeat(np.arange(graph.nodes, dtype=np.uint64), np.diff(graph.offsets))
