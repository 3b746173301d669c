"""Components, hosts, paths, and pages like a page."""

from random import Random

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from scipy.sparse import csgraph

from gossamer.errors import Bug
from gossamer.graph.answers import (
    AlikePlan,
    Likeness,
    bow_tie,
    host_graph,
    hosts_of,
    rank_hosts,
    shortest_path,
    strong_components,
    weak_components,
)
from tests.unit.graph.answers.graphs import (
    InBlocks,
    backwards,
    graph_of,
    networkx_of,
    power_iteration,
    random_arcs,
)

NODES = 400
ARCS = random_arcs(NODES, 700, seed=11)
OUT, IN = graph_of(NODES, ARCS), graph_of(NODES, backwards(ARCS))


@pytest.mark.parametrize("connection", ["strong", "weak"])
def test_components_are_those_that_scipy_finds(connection: str) -> None:
    matrix = scipy.sparse.csr_matrix(
        (np.ones(OUT.arcs), OUT.targets, OUT.offsets), shape=(NODES, NODES)
    )
    count, labels = csgraph.connected_components(matrix, connection=connection)
    find = strong_components if connection == "strong" else weak_components
    found = find(InBlocks(OUT))
    assert len(found.sizes) == count
    assert len(set(zip(labels.tolist(), found.labels.tolist(), strict=True))) == count
    assert found.sizes.tolist() == sorted(np.bincount(labels).tolist(), reverse=True)
    assert found.sizes.tolist() == np.bincount(found.labels).tolist()


def test_a_chain_of_a_hundred_thousand_pages_is_no_recursion() -> None:
    count = 100_000
    ring = graph_of(count, [(n, (n + 1) % count) for n in range(count)])
    assert strong_components(ring).sizes.tolist() == [count]


def test_the_bow_tie_has_a_core_and_what_hangs_on_it() -> None:
    #  0 → 1 ⇄ 2 → 3;  0 → 4 (tendril);  5 → 3 (tendril);  6 → 7 apart
    graph = graph_of(9, [(0, 1), (1, 2), (2, 1), (2, 3), (0, 4), (5, 3), (6, 7)])
    found = bow_tie(graph)
    assert found.parts.tolist() == [1, 0, 0, 2, 3, 3, 4, 4, 4]
    assert found[1:] == (2, 1, 1, 2, 3)
    inside = np.arange(9) < 8
    assert bow_tie(graph, universe=inside).apart == 2
    assert bow_tie(graph_of(0, [])).core == 0


def test_a_graph_of_hosts_counts_the_links_between_them() -> None:
    names = ["com.a", "org.b", "org.b.www", "org.empty"]
    first = np.array([0, 2, 4, 6], np.int64)
    arcs = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 4), (4, 2), (5, 5), (3, 0)]
    for graph in (graph_of(6, arcs), InBlocks(graph_of(6, arcs), block_arcs=1)):
        found = host_graph(graph, names, first)
        assert found.sizes.tolist() == [2, 2, 2, 0]
        assert [found.out.successors(n).tolist() for n in range(4)] == [[1, 2], [0, 2], [1], []]
        assert found.weights.tolist() == [2, 1, 1, 1, 1]
        assert found.inside.tolist() == [1, 0, 1, 0]
    ranks = rank_hosts(found).scores
    assert ranks[3] == 0.0
    smaller = graph_of(3, [(0, 1), (0, 2), (1, 0), (1, 2), (2, 1)])
    assert np.abs(ranks[:3] - power_iteration(smaller)).sum() < 1e-11
    assert hosts_of(np.array([0, 3, 5], np.uint32), first[:3]).tolist() == [0, 1, 2]


def test_hosts_that_leave_nodes_out_are_a_bug() -> None:
    with pytest.raises(Bug, match="hosts of 1 nodes"):
        host_graph(graph_of(2, []), ["a.test"], np.array([1]))


def test_a_path_is_a_shortest_one() -> None:
    theirs = networkx_of(NODES, ARCS)
    random = Random(3)
    for _ in range(300):
        start, end = random.randrange(NODES), random.randrange(NODES)
        found = shortest_path(OUT, IN, start, end)
        if nx.has_path(theirs, start, end):
            assert found.hops == nx.shortest_path_length(theirs, start, end)
            assert (found.nodes[0], found.nodes[-1]) == (start, end)
            assert nx.is_path(theirs, found.nodes)
        else:
            assert (found.nodes, found.hops) == ((), None)
        assert not found.gave_up


def test_a_search_that_would_visit_too_many_says_so() -> None:
    wide = graph_of(202, [(0, n) for n in range(1, 101)] + [(n, 101 + n) for n in range(1, 101)])
    back = graph_of(202, backwards([(n, 101 + n) for n in range(1, 101)]))
    found = shortest_path(wide, back, 0, 201, most_visited=1)
    assert (found.nodes, found.gave_up) == ((), True)


def sites() -> tuple[list[tuple[int, int]], list[int]]:
    """Return ten hosts of 20 pages that all link to 0; pages 1 and 2 are linked together thrice."""
    arcs = [(source, 0) for source in range(20, 220)]
    arcs += [(source, 3) for source in range(20, 40)]  # one host links to 3 from all its pages
    arcs += [(source, target) for source in (21, 41, 61) for target in (1, 2)]
    arcs += [(21, 3)]
    return arcs, [0, *range(20, 220, 20)]


def test_pages_like_a_page_are_linked_together_with_it_and_home_pages_do_not_win() -> None:
    arcs, first = sites()
    out, back = graph_of(220, arcs), graph_of(220, backwards(arcs))
    found = Likeness(out, back, np.array(first, np.int64)).cocited(1, Random(0))
    assert {alike.node for alike in found} == {0, 2, 3}
    assert found[0].node == 2
    assert found[0].shared == 3
    assert found[0].score > 2 * found[1].score


def test_links_from_the_pages_own_host_count_less() -> None:
    # 0 and 1 are linked together on the own host, 0 and 2 on another
    arcs = [(3, 0), (3, 1), (10, 0), (10, 2)]
    out, back = graph_of(11, arcs), graph_of(11, backwards(arcs))
    found = Likeness(out, back, np.array([0, 10], np.int64)).cocited(0, Random(0))
    assert [alike.node for alike in found] == [2, 1]


def test_pages_that_link_to_the_same_are_coupled() -> None:
    arcs = [(0, 5), (0, 6), (1, 5), (1, 6), (2, 6), (3, 6), (3, 7)]
    out, back = graph_of(8, arcs), graph_of(8, backwards(arcs))
    found = Likeness(out, back).coupled(0, Random(0))
    assert [alike.node for alike in found] == [1, 2, 3]
    assert Likeness(out, back).coupled(4, Random(0)) == []


def test_what_everybody_links_to_costs_no_more_than_a_sample() -> None:
    count = 20_000
    arcs = [(n, 0) for n in range(10, count)] + [(n, 1) for n in range(10, count, 2)]
    out, back = graph_of(count, arcs), graph_of(count, backwards(arcs))
    plan = AlikePlan(most_between=500, most_links=100)
    first = Likeness(out, back, plan=plan).cocited(0, Random(1))
    assert [alike.node for alike in first] == [1]
    assert 200 < first[0].shared < 300
    whole = Likeness(out, back, plan=AlikePlan(most_between=count)).cocited(0, Random(1))
    assert first[0].score == pytest.approx(whole[0].score, rel=0.15)
    many = Likeness(out, back, plan=plan).coupled(11, Random(1))
    assert len(many) == 20
