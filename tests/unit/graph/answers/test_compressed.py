"""The same answers from a compressed graph on disk."""

from pathlib import Path
from random import Random

import numpy as np
import pytest

from gossamer.graph.answers import (
    Likeness,
    RankPlan,
    bow_tie,
    harmonic,
    hits,
    pagerank,
    shortest_path,
    strong_components,
    weak_components,
)
from gossamer.graph.bv import BVGraph, Coding, GraphWriter
from gossamer.graph.rows import Csr
from tests.unit.graph.answers.graphs import backwards, graph_of, random_arcs

NODES = 500
ARCS = random_arcs(NODES, 3000, seed=8)
OUT, IN = graph_of(NODES, ARCS), graph_of(NODES, backwards(ARCS))


def written(graph: Csr, base: Path) -> BVGraph:
    writer = GraphWriter(base, Coding())
    for rows in graph.blocks():
        writer.add(rows)
    writer.close()
    return BVGraph.open(base)


@pytest.fixture
def files(tmp_path: Path) -> tuple[BVGraph, BVGraph]:
    return written(OUT, tmp_path / "web"), written(IN, tmp_path / "web-t")


def test_ranks_are_the_same_from_memory_and_from_the_stream(
    files: tuple[BVGraph, BVGraph],
) -> None:
    _, inward = files
    plain = pagerank(IN).scores
    assert np.array_equal(pagerank(inward).scores, plain)
    assert np.array_equal(pagerank(inward, RankPlan(memory_bytes=0)).scores, plain)


def test_other_answers_are_the_same_too(files: tuple[BVGraph, BVGraph]) -> None:
    out, inward = files
    assert np.array_equal(hits(out).hubs, hits(OUT).hubs)
    assert np.array_equal(harmonic(inward).scores, harmonic(IN).scores)
    assert np.array_equal(strong_components(out).labels, strong_components(OUT).labels)
    assert np.array_equal(weak_components(out).labels, weak_components(OUT).labels)
    assert np.array_equal(bow_tie(out).parts, bow_tie(OUT).parts)


def test_paths_and_similar_pages_read_rows_where_they_lie(files: tuple[BVGraph, BVGraph]) -> None:
    out, inward = files
    random = Random(4)
    for _ in range(50):
        start, end = random.randrange(NODES), random.randrange(NODES)
        assert shortest_path(out, inward, start, end) == shortest_path(OUT, IN, start, end)
        found = Likeness(out, inward).cocited(start, Random(0))
        assert found == Likeness(OUT, IN).cocited(start, Random(0))
        found = Likeness(out, inward).coupled(end, Random(0))
        assert found == Likeness(OUT, IN).coupled(end, Random(0))
