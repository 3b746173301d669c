"""Graphs to test with: random ones that look a little like the web, and how to compare them."""

import numpy as np
from hypothesis import strategies as st

from gossamer.graph.rows import Adjacency, Csr

ROW = st.sets(st.integers(0, 59), max_size=25)


@st.composite
def graphs(draw: st.DrawFn) -> Csr:
    """Return a graph of up to 60 nodes; rows are often nearly those of a node before."""
    rows: list[set[int]] = []
    nodes = draw(st.integers(1, 60))
    for _ in range(nodes):
        fresh = draw(ROW)
        if rows and draw(st.booleans()):
            fresh = set(rows[-draw(st.integers(1, min(9, len(rows))))]) ^ set(list(fresh)[:3])
        if draw(st.integers(0, 4)) == 0:
            left = draw(st.integers(0, 40))
            fresh |= set(range(left, left + draw(st.integers(2, 20))))
        rows.append({target % nodes for target in fresh})
    return csr_of([sorted(row) for row in rows])


def csr_of(rows: list[list[int]]) -> Csr:
    """Return a graph with these rows."""
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return Csr(offsets, np.array([target for row in rows for target in row], np.uint32))


def random_web(nodes: int, seed: int) -> Csr:
    """Return a larger graph with neighbours that are alike, dangling nodes and long rows."""
    rng = np.random.default_rng(seed)
    rows: list[list[int]] = []
    for node in range(nodes):
        if rows and rng.random() < 0.6:
            kept = [t for t in rows[-int(rng.integers(1, min(8, node) + 1))] if rng.random() < 0.9]
        else:
            kept = []
        size = 0 if rng.random() < 0.2 else int(rng.pareto(1.5) * 4) % nodes
        near = np.clip(node + rng.normal(0, 30, size), 0, nodes - 1).astype(int)
        rows.append(sorted({*kept, *near.tolist(), *rng.integers(0, nodes, 2).tolist()}))
    return csr_of(rows)


def same(one: Adjacency, other: Adjacency) -> bool:
    """Tell whether two graphs have the same links."""
    a, b = Csr.of(one), Csr.of(other)
    return np.array_equal(a.offsets, b.offsets) and np.array_equal(a.targets, b.targets)
