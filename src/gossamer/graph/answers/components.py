"""Components: which nodes reach each other, which hang together at all, and the bow tie."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.graph.answers.kernels import components
from gossamer.graph.answers.picked import Mask, loaded, rows_in
from gossamer.graph.answers.rank import addresses
from gossamer.graph.kinds import ALL
from gossamer.graph.rows import Adjacency, Csr, Ids, Kinds, Places

CORE, INTO, OUT_OF, TENDRIL, APART = 0, 1, 2, 3, 4


class Components(NamedTuple):
    """Which component each node is in; 0 is the largest, then the next, equals by lowest node."""

    labels: Ids
    sizes: Places
    """How many nodes each component has, descending."""


class BowTie(NamedTuple):
    """The shape of a web around its largest strongly connected component (Broder et al. 2000)."""

    parts: Kinds
    """Of each node: 0 core, 1 leads into it, 2 is led to, 3 hangs on those, 4 is apart."""
    core: int
    into: int
    out_of: int
    tendrils: int
    """Connected with the core, but neither leading there nor led to: tendrils and tubes."""
    apart: int


def strong_components(out: Adjacency, kinds: int = ALL) -> Components:
    """Return the strongly connected components: in each, every node reaches every other."""
    component, _, count = _tarjan(loaded(out, kinds))
    return _by_size(component - np.uint32(1), count)


def weak_components(out: Adjacency, kinds: int = ALL) -> Components:
    """Return the weakly connected components. Links are read once, and 4 bytes held per node."""
    parent = np.arange(out.nodes, dtype=np.uint32)
    run = components()["unite"]
    for rows in rows_in(out, kinds):
        run(*addresses(rows), parent.ctypes.data)
    components()["flatten"](out.nodes, parent.ctypes.data)
    return _by_size(parent, out.nodes)


def bow_tie(out: Adjacency, kinds: int = ALL, universe: Mask | None = None) -> BowTie:
    """Return how the nodes of a universe (None: all) lie around the core."""
    graph = loaded(out, kinds)
    component, order, count = _tarjan(graph)
    flags = np.zeros(count + 1, np.uint8)
    if count:
        flags[1 + np.argmax(np.bincount(component, minlength=count + 1)[1:])] = 1
    names = ("reach_down", "reach_up")
    arrays = component, order, flags
    for name in names:
        components()[name](
            graph.offsets.ctypes.data,
            graph.targets.ctypes.data,
            graph.nodes,
            *(array.ctypes.data for array in arrays),
        )
    parts = _parts(flags[component], weak_components(graph))
    counted = parts if universe is None else parts[universe]
    return BowTie(parts, *np.bincount(counted, minlength=5)[:5].tolist())


def _parts(flags: Kinds, weak: Components) -> Kinds:
    parts = np.full(len(flags), APART, np.uint8)
    core = np.flatnonzero(flags & 1)
    if len(core):
        parts[weak.labels == weak.labels[core[0]]] = TENDRIL
    parts[flags & 2 != 0] = OUT_OF
    parts[flags & 4 != 0] = INTO
    parts[core] = CORE
    return parts


def _tarjan(graph: Csr) -> tuple[Ids, Ids, int]:
    """Return each node's component, from 1, all nodes by component, and how many there are."""
    nodes = graph.nodes
    component, number = np.zeros(nodes, np.uint32), np.zeros(nodes, np.uint32)
    low, stack, calls, order = (np.empty(nodes, np.uint32) for _ in range(4))
    places: NDArray[np.int64] = np.empty(nodes, np.int64)
    arrays = number, low, stack, calls, places, component, order, np.zeros(4, np.int64)
    count = components()["strong"](
        graph.offsets.ctypes.data,
        graph.targets.ctypes.data,
        nodes,
        *(array.ctypes.data for array in arrays),
    )
    return component, order, count


def _by_size(labels: Ids, most: int) -> Components:
    """Return components by size: labels are any numbers below `most`."""
    sizes = np.bincount(labels, minlength=most)
    lowest = np.full(most, len(labels), np.int64)
    lowest[labels[::-1]] = np.arange(len(labels) - 1, -1, -1)
    order = np.lexsort((lowest, -sizes))
    order = order[sizes[order] > 0]
    rank = np.zeros(most, np.uint32)
    rank[order] = np.arange(len(order), dtype=np.uint32)
    return Components(rank[labels], sizes[order].astype(np.int64))
