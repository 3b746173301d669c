"""Whatever the graph: ranks solve their equation, components are components, paths are shortest."""

from pathlib import Path
from tempfile import TemporaryDirectory

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.graph.answers.graphs import (
    InBlocks,
    backwards,
    graph_of,
    hops_from,
    networkx_of,
    power_iteration,
)

from gossamer.graph.answers import (
    RankPlan,
    bow_tie,
    harmonic,
    host_graph,
    pagerank,
    shortest_path,
    strong_components,
    transposed,
    weak_components,
)
from gossamer.ranks import RankFile, write_ranks

NODES = 12
arcs = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=40)
masks = st.lists(st.booleans(), min_size=NODES, max_size=NODES)


@settings(deadline=None)
@given(arcs, st.sampled_from([0.0, 0.5, 0.85, 0.99]), masks)
def test_ranks_are_those_of_a_random_reader(
    links: list[tuple[int, int]], damping: float, seeds: list[bool]
) -> None:
    out, inward = graph_of(NODES, links), graph_of(NODES, backwards(links))
    found = pagerank(inward, RankPlan(damping=damping, most_sweeps=100_000))
    stream = pagerank(InBlocks(inward), RankPlan(damping=damping, memory_bytes=0, most_sweeps=9999))
    moves = np.zeros((NODES, NODES))
    for node in range(NODES):
        row = out.successors(node)
        moves[:, node] = 1.0 / NODES if not len(row) else 0.0
        moves[row, node] = 1.0 / max(len(row), 1)
    base = np.full(NODES, 1.0 / NODES)
    true = np.linalg.solve(np.eye(NODES) - damping * moves, (1.0 - damping) * base)
    assert np.abs(found.scores - true).sum() < 1e-10
    assert np.array_equal(found.scores, stream.scores)
    if any(seeds) and damping < 0.9:
        chosen = np.flatnonzero(seeds).astype(np.uint32)
        base = np.array(seeds) / sum(seeds)
        mine = pagerank(inward, RankPlan(damping=damping), seeds=chosen).scores
        assert np.abs(mine - power_iteration(out, damping, base)).sum() < 1e-10


@settings(deadline=None)
@given(arcs)
def test_components_and_the_bow_tie_are_what_reaching_says(links: list[tuple[int, int]]) -> None:
    graph, theirs = graph_of(NODES, links), networkx_of(NODES, links)
    strong, weak = strong_components(graph), weak_components(InBlocks(graph))
    for found, sets in (
        (strong, nx.strongly_connected_components(theirs)),
        (weak, nx.weakly_connected_components(theirs)),
    ):
        groups = {frozenset(np.flatnonzero(found.labels == n).tolist()) for n in range(NODES)}
        assert groups - {frozenset()} == {frozenset(one) for one in sets}
    tie = bow_tie(graph)
    core = set(np.flatnonzero(tie.parts == 0).tolist())
    assert len(core) == strong.sizes[0]
    one = next(iter(core))
    after, before = nx.descendants(theirs, one), nx.ancestors(theirs, one)
    assert set(np.flatnonzero(tie.parts == 2).tolist()) == after - core
    assert set(np.flatnonzero(tie.parts == 1).tolist()) == before - core
    near = set(np.flatnonzero(weak.labels == weak.labels[one]).tolist())
    assert set(np.flatnonzero(tie.parts == 3).tolist()) == near - core - after - before


@settings(deadline=None)
@given(arcs, st.integers(0, NODES - 1), st.integers(0, NODES - 1))
def test_no_path_is_shorter(links: list[tuple[int, int]], start: int, end: int) -> None:
    out, inward = graph_of(NODES, links), graph_of(NODES, backwards(links))
    found = shortest_path(out, inward, start, end)
    assert (found.hops if found.nodes else -1) == hops_from(out, start)[end]
    pairs = set(zip(found.nodes, found.nodes[1:], strict=False))
    assert pairs <= set(links)


@settings(deadline=None)
@given(arcs)
def test_harmonic_centrality_sums_up_distances(links: list[tuple[int, int]]) -> None:
    out, inward = graph_of(NODES, links), graph_of(NODES, backwards(links))
    assert np.array_equal(transposed(out).targets, inward.targets)
    away = np.array([hops_from(out, node) for node in range(NODES)], float)
    worth = np.where(away > 0, 1.0 / np.maximum(away, 1.0), 0.0).sum(axis=0)
    assert np.allclose(harmonic(inward).scores, worth)


@settings(deadline=None)
@given(arcs, st.lists(st.integers(1, NODES - 1), unique=True, max_size=5), st.integers(1, 5))
def test_links_of_hosts_add_up(
    links: list[tuple[int, int]], bounds: list[int], block_arcs: int
) -> None:
    first = np.array([0, *sorted(bounds)], np.int64)
    graph = graph_of(NODES, links)
    names = [f"{n}.test" for n in range(len(first))]
    found = host_graph(InBlocks(graph, block_arcs=block_arcs), names, first)
    counts: dict[tuple[int, int], int] = {}
    for a, b in set(links):
        pair = tuple(int(np.searchsorted(first, n, side="right")) - 1 for n in (a, b))
        counts[pair[0], pair[1]] = counts.get((pair[0], pair[1]), 0) + 1
    weights = iter(found.weights.tolist())
    mine = {
        (host, int(other)): next(weights)
        for host in range(len(first))
        for other in found.out.successors(host)
    }
    mine |= {(host, host): int(n) for host, n in enumerate(found.inside) if n}
    assert mine == counts


@settings(deadline=None)
@given(st.dictionaries(st.integers(0, 2**64 - 1), st.floats(0.0, 1e6, width=32), max_size=50))
def test_a_file_of_ranks_is_a_dictionary(ranks: dict[int, float]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ranks"
        keys = np.array(list(ranks), np.uint64)
        assert write_ranks(path, keys, np.array(list(ranks.values()))) == len(ranks)
        found = RankFile.open(path)
        assert {key: found.of(key) for key in ranks} == ranks
        assert found.of_all(list(ranks)).tolist() == list(ranks.values())
        others = [key ^ 1 for key in ranks if key ^ 1 not in ranks]
        assert not found.of_all(others).any()
        assert all(found.of(key) is None for key in others)
