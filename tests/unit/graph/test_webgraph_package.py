"""WebGraph's own code as a witness: the package `webgraph` opens our files and finds our links."""

from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.errors import CannotGoOn
from gossamer.graph.bv import (
    SMALLEST,
    UNBOUNDED,
    BVGraph,
    Coding,
    GraphWriter,
    Properties,
    beside,
    write_ef,
)
from gossamer.graph.bv.ef import wide_chunk
from gossamer.graph.rows import Csr
from tests.examples import examples
from tests.unit.graph.webs import csr_of, graphs, random_web

webgraph = pytest.importorskip("webgraph", reason="WebGraph's own package reads our files")
if version("webgraph") != "0.2.0":
    pytest.skip("BASE.ef is written as webgraph 0.2.0 has it", allow_module_level=True)

PUBLISHED = Path(__file__).parents[4] / "shared" / "graphs"
FAR = 1 << 33

codings = st.builds(
    Coding,
    window=st.integers(0, 9),
    max_ref=st.sampled_from([0, 1, 3, 12, UNBOUNDED]),
    min_interval=st.integers(0, 5),
    zeta_k=st.integers(1, 7),
    is_optimal=st.booleans(),
)


def written(base: Path, graph: Csr, coding: Coding | None = None) -> Properties:
    """Write a graph as WebGraph wants it."""
    writer = GraphWriter(base, coding)
    for rows in graph.blocks():
        writer.add(rows)
    properties = writer.close()
    write_ef(base)
    return properties


def check_against_the_package(base: Path, graph: Csr) -> None:
    """Compare all rows, as WebGraph reads them, with those of a graph in memory."""
    theirs = webgraph.BvGraph(str(base))
    assert (theirs.num_nodes(), theirs.num_arcs()) == (graph.nodes, graph.arcs)
    assert np.array_equal(theirs.outdegrees(), np.diff(graph.offsets))
    targets = graph.targets.tolist()
    for node, (start, end) in enumerate(pairwise(graph.offsets.tolist())):
        assert theirs.outdegree(node) == end - start
        assert list(theirs.successors(node)) == targets[start:end], f"the row of node {node}"


@pytest.mark.slow
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=examples(100),
    deadline=None,
)
@given(graph=graphs(), coding=codings)
def test_the_package_finds_the_links_that_we_wrote(
    tmp_path: Path, graph: Csr, coding: Coding
) -> None:
    written(tmp_path / "g", graph, coding)
    check_against_the_package(tmp_path / "g", graph)


@pytest.mark.parametrize("rows", [[], [[]], [[0]], [[], [], []], [[1, 2], [], [0]]])
def test_the_package_opens_the_smallest_graphs(tmp_path: Path, rows: list[list[int]]) -> None:
    written(tmp_path / "g", csr_of(rows))
    check_against_the_package(tmp_path / "g", csr_of(rows))


@pytest.mark.parametrize("coding", [Coding(), Coding(is_optimal=True), SMALLEST])
def test_the_package_reads_a_larger_graph(tmp_path: Path, coding: Coding) -> None:
    graph = random_web(9000, seed=11)
    written(tmp_path / "g", graph, coding)
    check_against_the_package(tmp_path / "g", graph)


@pytest.mark.slow
@pytest.mark.parametrize("long_rows", [4, 40])
def test_the_package_finds_rows_beside_very_long_ones(tmp_path: Path, long_rows: int) -> None:
    nodes = 200_000
    rng = np.random.default_rng(7)
    rows: list[list[int]] = [[] for _ in range(nodes)]
    for node in (*range(50_000, 50_000 + long_rows), *range(150_000, 150_000 + long_rows)):
        rows[node] = np.flatnonzero(rng.random(nodes) < 1 / long_rows).tolist()
    graph = csr_of(rows)
    written(tmp_path / "g", graph, Coding(window=0))
    spilled = int(np.fromfile(beside(tmp_path / "g", ".ef"), np.uint64)[-1])
    assert spilled, "the rows are too short to need wide chunks"
    check_against_the_package(tmp_path / "g", graph)


def test_chunks_over_more_than_four_gigabits_keep_all_places_whole() -> None:
    places = np.array([5, 9, FAR, FAR + 1, FAR + 64])
    mark, words = wide_chunk(places, FAR)
    assert (mark >> 62, words.tolist()) == (3, [9, FAR, FAR + 1, FAR + 64])


def test_offsets_that_do_not_fit_the_graph_are_refused(tmp_path: Path) -> None:
    written(tmp_path / "g", random_web(300, seed=3))
    beside(tmp_path / "g", ".graph").write_bytes(b"\x80")
    with pytest.raises(CannotGoOn, match="301 row offsets"):
        write_ef(tmp_path / "g")


@pytest.mark.slow
@pytest.mark.skipif(not PUBLISHED.exists(), reason="../shared/graphs is not here")
@pytest.mark.parametrize("name", ["cnr-2000", "cnr-2000-t"])
def test_the_package_reads_the_published_graph_as_we_write_it(tmp_path: Path, name: str) -> None:
    graph = BVGraph.open(PUBLISHED / name).csr()
    properties = written(tmp_path / "g", graph)
    assert (properties.nodes, properties.arcs) == (325_557, 3_216_152)
    check_against_the_package(tmp_path / "g", graph)
