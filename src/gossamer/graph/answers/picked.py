"""Reading a graph for an answer: only links of the kinds that count, in memory or block by block.

Kernels trust what they are given: a link that leads nowhere ends here.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gossamer.errors import Bug, CannotGoOn
from gossamer.graph.answers.kernels import picking
from gossamer.graph.kinds import ALL
from gossamer.graph.rows import Adjacency, Csr, Rows

Mask: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Passes: TypeAlias = Callable[[], Iterable[Rows]]
"""Gives all rows of a graph in order; it can be asked again and again."""

MEMORY_BYTES = 1 << 30
ARC_BYTES, NODE_BYTES = 4, 8


def rows_in(graph: Adjacency, kinds: int = ALL) -> Iterator[Rows]:
    """Yield the rows of a graph with the links of some kinds; if kinds are unknown, with all."""
    for rows in graph.blocks():
        highest = int(rows.targets.max(initial=0))
        if highest >= max(graph.nodes, 1):
            raise CannotGoOn(
                f"the graph is damaged: a link leads to node {highest} of {graph.nodes}; "
                "run `gossamer build DIR graph --full`"
            )
        links = len(rows.targets) if rows.kinds is None else len(rows.kinds)
        if rows.first + rows.nodes > graph.nodes or not links == rows.offsets[-1] == len(
            rows.targets
        ):
            raise Bug(f"rows from {rows.first} on are not whole")
        yield _only(rows, kinds)


def loaded(graph: Adjacency, kinds: int = ALL) -> Csr:
    """Return a whole graph in memory, with the links of some kinds."""
    offsets = np.zeros(graph.nodes + 1, np.int64)
    targets = np.empty(graph.arcs, np.uint32)
    end = 0
    for rows in rows_in(graph, kinds):
        if isinstance(graph, Csr) and len(rows.targets) == graph.arcs:
            return graph  # it is there already
        start, end = end, end + len(rows.targets)
        if end > graph.arcs:
            raise CannotGoOn(
                f"the graph is damaged: it has more than {graph.arcs} links; "
                "run `gossamer build DIR graph --full`"
            )
        offsets[rows.first : rows.first + rows.nodes + 1] = rows.offsets + start
        targets[start:end] = rows.targets
    return Csr(offsets, targets[:end])


def passes_over(
    graph: Adjacency, kinds: int = ALL, memory_bytes: int = MEMORY_BYTES
) -> tuple[Passes, bool]:
    """Return how to read a graph many times, and whether that is from memory: if it fits there."""
    if ARC_BYTES * graph.arcs + NODE_BYTES * graph.nodes > memory_bytes:
        return lambda: rows_in(graph, kinds), False
    whole = loaded(graph, kinds)
    rows = Rows(0, whole.offsets, whole.targets)
    return lambda: (rows,), True


def inside(graph: Adjacency, universe: Mask | None) -> Mask:
    """Return which nodes take part, as kernels want it: a place for each node."""
    if universe is None:
        return np.ones(graph.nodes, np.bool_)
    if len(universe) != graph.nodes:
        raise Bug(f"a universe of {len(universe)} nodes for a graph of {graph.nodes}")
    return np.ascontiguousarray(universe, np.bool_)


def universe_of(graph: Adjacency, pages: Mask | None = None, kinds: int = ALL) -> Mask:
    """Return which nodes take part: pages, and whatever a link of some kinds starts or ends at."""
    found = np.zeros(graph.nodes, np.bool_) if pages is None else pages.copy()
    for rows in rows_in(graph, kinds):
        found[rows.first : rows.first + rows.nodes] |= np.diff(rows.offsets) > 0
        found[rows.targets] = True
    return found


def transposed(graph: Csr) -> Csr:
    """Return the same links, read backwards."""
    order = np.argsort(graph.targets, kind="stable")
    sources = np.repeat(np.arange(graph.nodes, dtype=np.uint32), np.diff(graph.offsets))[order]
    offsets = np.zeros(graph.nodes + 1, np.int64)
    np.cumsum(np.bincount(graph.targets, minlength=graph.nodes), out=offsets[1:])
    return Csr(offsets, sources)


def _only(rows: Rows, kinds: int) -> Rows:
    offsets = np.ascontiguousarray(rows.offsets, np.int64)
    targets = np.ascontiguousarray(rows.targets, np.uint32)
    if rows.kinds is None or kinds & ALL == ALL:
        return Rows(rows.first, offsets, targets)
    ends, into = np.empty_like(offsets), np.empty_like(targets)
    had = np.ascontiguousarray(rows.kinds, np.uint8)
    count = picking()["pick"](
        offsets.ctypes.data,
        targets.ctypes.data,
        had.ctypes.data,
        rows.nodes,
        kinds,
        ends.ctypes.data,
        into.ctypes.data,
    )
    return Rows(rows.first, ends, into[:count])
