"""An order in which neighbours stand together."""

import numpy as np
from hypothesis import given, settings

from gossamer.graph.reorder import find_order
from gossamer.graph.rows import Csr
from tests.unit.graph.webs import csr_of, graphs


def turned(graph: Csr) -> Csr:
    rows: list[list[int]] = [[] for _ in range(graph.nodes)]
    for node in range(graph.nodes):
        for target in graph.successors(node).tolist():
            rows[target].append(node)
    return csr_of(rows)


@settings(max_examples=40)
@given(graph=graphs())
def test_an_order_holds_every_node_once_and_is_the_same_for_the_same_seed(graph: Csr) -> None:
    order = find_order(graph, turned(graph), seed=3)
    assert sorted(order.tolist()) == list(range(graph.nodes))
    assert np.array_equal(order, find_order(graph, turned(graph), seed=3))


def test_groups_that_link_among_themselves_stand_together() -> None:
    rng = np.random.default_rng(4)
    group = rng.integers(0, 12, 600)
    rows = [
        sorted(rng.choice(np.flatnonzero(group == group[node]), 8, replace=False).tolist())
        for node in range(600)
    ]
    graph = csr_of(rows)
    order = find_order(graph, turned(graph), seed=1)
    changes = int((np.diff(group[order]) != 0).sum())
    assert changes < 30  # 12 groups, and 550 changes if their members stood anywhere
