"""PageRank as others compute it, in memory or from the stream; and other centralities."""

import networkx as nx
import numpy as np
import pytest

from gossamer.errors import Bug, CannotGoOn, ConfigError
from gossamer.graph.answers import (
    HitsPlan,
    NearnessPlan,
    RankPlan,
    harmonic,
    hits,
    indegrees,
    pagerank,
    universe_of,
)
from gossamer.graph.kinds import Kind
from tests.unit.graph.answers.graphs import (
    InBlocks,
    backwards,
    graph_of,
    networkx_of,
    power_iteration,
    random_arcs,
)

NODES = 300
ARCS = random_arcs(NODES, 2000, seed=5)
OUT, IN = graph_of(NODES, ARCS), graph_of(NODES, backwards(ARCS))


def test_pagerank_agrees_with_a_power_iteration_and_with_networkx() -> None:
    found = pagerank(IN)
    theirs = nx.pagerank(networkx_of(NODES, ARCS), alpha=0.85, tol=1e-14, max_iter=1000)
    assert found.is_converged
    assert found.error < 1e-11
    assert np.abs(found.scores - power_iteration(OUT)).sum() < 1e-11
    assert np.abs(found.scores - np.array([theirs[n] for n in range(NODES)])).sum() < 1e-9


def test_a_graph_that_does_not_fit_is_read_anew_in_each_sweep_and_has_the_same_ranks() -> None:
    stream = InBlocks(IN)
    found = pagerank(stream, RankPlan(memory_bytes=0))
    whole = pagerank(IN)
    assert not found.is_in_memory
    assert whole.is_in_memory
    assert np.array_equal(found.scores, whole.scores)
    assert stream.passes == found.sweeps + 2  # degrees before, pages without links after


def test_the_error_that_is_told_is_one() -> None:
    true = power_iteration(OUT)
    told: list[tuple[int, float]] = []
    pagerank(IN, tell=lambda sweep, error: told.append((sweep, error)))
    assert [sweep for sweep, _ in told] == list(range(1, len(told) + 1))
    for sweeps, error in told:
        found = pagerank(IN, RankPlan(most_sweeps=sweeps))
        assert np.abs(found.scores - true).sum() <= error + 1e-14


def test_a_limit_of_sweeps_is_kept_and_told() -> None:
    found = pagerank(IN, RankPlan(most_sweeps=3))
    assert (found.sweeps, found.is_converged) == (3, False)


def test_with_seeds_the_bored_reader_goes_there() -> None:
    seeds = np.array([7, 9, 200], np.uint32)
    found = pagerank(IN, seeds=seeds)
    wanted = {7: 1.0, 9: 1.0, 200: 1.0}
    theirs = nx.pagerank(networkx_of(NODES, ARCS), personalization=wanted, tol=1e-14, max_iter=1000)
    assert np.abs(found.scores - np.array([theirs[n] for n in range(NODES)])).sum() < 1e-9


def test_only_links_of_the_chosen_kinds_count() -> None:
    kinds = np.where(np.arange(IN.arcs) % 3 == 0, Kind.EMBED, Kind.LINK).astype(np.uint8)
    sources = np.repeat(np.arange(NODES), np.diff(IN.offsets))
    kept = [
        (int(source), int(target))
        for target, source, kind in zip(sources, IN.targets, kinds, strict=True)
        if kind == Kind.LINK
    ]
    graph = InBlocks(IN, kinds)
    for memory in (0, 1 << 30):
        found = pagerank(graph, RankPlan(kinds=Kind.LINK, memory_bytes=memory))
        assert np.abs(found.scores - power_iteration(graph_of(NODES, kept))).sum() < 1e-11
    assert indegrees(graph, Kind.LINK).sum() == len(kept)
    touched = universe_of(graph, None, Kind.LINK)
    assert set(np.flatnonzero(touched).tolist()) == {node for arc in kept for node in arc}


def test_nodes_outside_the_universe_have_no_rank_and_their_links_do_not_count() -> None:
    inside = np.arange(NODES) % 4 != 0
    numbers = {int(node): place for place, node in enumerate(np.flatnonzero(inside))}
    arcs = [(numbers[a], numbers[b]) for a, b in ARCS if a in numbers and b in numbers]
    found = pagerank(IN, universe=inside)
    assert not found.scores[~inside].any()
    alone = power_iteration(graph_of(len(numbers), arcs))
    assert np.abs(found.scores[inside] - alone).sum() < 1e-11


def test_pages_take_part_even_if_nothing_links_to_or_from_them() -> None:
    graph = graph_of(4, [(0, 1)])
    pages = np.array([False, False, True, False])
    assert universe_of(graph, pages).tolist() == [True, True, True, False]


def test_a_link_that_leads_nowhere_is_told_and_not_followed() -> None:
    damaged = graph_of(3, [(0, 1), (1, 2)])
    damaged.targets[1] = 77
    for memory in (0, 1 << 30):
        with pytest.raises(CannotGoOn, match="node 77 of 3"):
            pagerank(damaged, RankPlan(memory_bytes=memory))


def test_a_universe_of_another_graph_and_rows_that_are_not_whole_are_bugs() -> None:
    with pytest.raises(Bug, match="universe of 3"):
        pagerank(IN, universe=np.ones(3, np.bool_))
    with pytest.raises(Bug, match="universe of 3"):
        hits(OUT, universe=np.ones(3, np.bool_))
    with pytest.raises(Bug, match="not whole"):
        pagerank(InBlocks(IN, np.zeros(IN.arcs - 1, np.uint8)), RankPlan(kinds=Kind.LINK))


def test_a_damping_of_one_has_no_answer() -> None:
    with pytest.raises(ConfigError):
        pagerank(IN, RankPlan(damping=1.0))


def test_nothing_has_no_rank_and_a_lone_page_has_all_of_it() -> None:
    assert len(pagerank(graph_of(0, [])).scores) == 0
    assert pagerank(graph_of(1, [])).scores.tolist() == [1.0]
    assert pagerank(graph_of(1, [(0, 0)])).scores.tolist() == [1.0]


def test_hubs_and_authorities_are_the_singular_vectors_of_the_links() -> None:
    found = hits(OUT, HitsPlan(error=1e-12))
    matrix = np.zeros((NODES, NODES))
    for source, target in ARCS:
        matrix[source, target] = 1.0
    left, _, right = np.linalg.svd(matrix)
    hub, authority = np.abs(left[:, 0]), np.abs(right[0])
    assert found.is_converged
    assert np.abs(found.hubs - hub / hub.sum()).sum() < 1e-6
    assert np.abs(found.authorities - authority / authority.sum()).sum() < 1e-6
    assert not hits(graph_of(3, [])).hubs.any()


def test_indegrees_are_counted() -> None:
    theirs = networkx_of(NODES, ARCS).in_degree()
    assert indegrees(InBlocks(IN)).tolist() == [theirs[node] for node in range(NODES)]


def test_harmonic_centrality_is_exact_on_small_graphs() -> None:
    found = harmonic(IN)
    theirs = nx.harmonic_centrality(networkx_of(NODES, ARCS))
    assert found.error == 0.0
    assert np.allclose(found.scores, [theirs[node] for node in range(NODES)], atol=1e-9)


def test_harmonic_centrality_is_estimated_within_its_error_on_large_ones() -> None:
    exact = harmonic(IN).scores
    errors: list[float] = []
    for seed in range(8):
        plan = NearnessPlan(exact_steps=0, register_bits=6, seed=seed)
        found = harmonic(InBlocks(IN), plan)
        assert np.array_equal(found.scores, harmonic(InBlocks(IN), plan).scores)
        assert found.error == pytest.approx(0.13)
        met = exact > 0.0
        errors += ((found.scores[met] - exact[met]) / exact[met]).tolist()
        assert not found.scores[~met].any()
    assert abs(float(np.mean(errors))) < 0.05
    assert float(np.std(errors)) < 0.15


def test_counters_have_a_sensible_size_and_keep_to_their_memory() -> None:
    small = harmonic(IN, NearnessPlan(exact_steps=0, memory_bytes=2 * NODES * 32))
    assert small.error == pytest.approx(1.04 / 32**0.5)
    with pytest.raises(ConfigError):
        harmonic(IN, NearnessPlan(register_bits=1))
