"""BVGraph files: what is written is read again, in any way, whatever the coding."""

import random
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.errors import Bug, ConfigError, CorruptFile
from gossamer.graph.bv import SMALLEST, UNBOUNDED, BVGraph, Coding, GraphWriter, beside
from gossamer.graph.rows import Csr, Rows
from tests.examples import examples
from tests.unit.graph.webs import csr_of, graphs, random_web, same

PUBLISHED = Path(__file__).parents[4] / "shared" / "graphs"
needs_published = pytest.mark.skipif(not PUBLISHED.exists(), reason="../shared/graphs is not here")
IN_TMP = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=examples(60),
    deadline=None,
)

codings = st.builds(
    Coding,
    window=st.integers(0, 9),
    max_ref=st.sampled_from([0, 1, 3, 12, UNBOUNDED]),
    min_interval=st.integers(0, 5),
    zeta_k=st.integers(1, 7),
    is_optimal=st.booleans(),
)


def written(base: Path, graph: Csr, coding: Coding | None = None, arcs: int = 1 << 22) -> BVGraph:
    writer = GraphWriter(base, coding)
    for rows in graph.blocks(arcs):
        writer.add(rows)
    found = writer.close()
    assert (found.nodes, found.arcs) == (graph.nodes, graph.arcs)
    return BVGraph.open(base)


@pytest.mark.slow
@IN_TMP
@given(graph=graphs(), coding=codings, arcs=st.integers(1, 200))
def test_what_is_written_is_read_again(
    tmp_path: Path, graph: Csr, coding: Coding, arcs: int
) -> None:
    found = written(tmp_path / "g", graph, coding, arcs)
    assert same(found.csr(), graph)
    assert same(Csr.of(found), graph)
    assert np.array_equal(np.concatenate([r.targets for r in found.blocks(arcs)]), graph.targets)
    for node in range(graph.nodes):
        assert np.array_equal(found.successors(node), graph.successors(node))
        assert found.outdegree(node) == len(graph.successors(node))


@pytest.mark.slow
@IN_TMP
@given(graph=graphs(), coding=codings, data=st.data())
def test_rows_of_many_nodes_come_one_behind_the_other(
    tmp_path: Path, graph: Csr, coding: Coding, data: st.DataObject
) -> None:
    found = written(tmp_path / "g", graph, coding)
    nodes = data.draw(st.lists(st.integers(0, graph.nodes - 1)))
    offsets, targets = found.rows_of(np.array(nodes, np.int64))
    rows = [targets[a:b].tolist() for a, b in pairwise(offsets.tolist())]
    assert rows == [graph.successors(node).tolist() for node in nodes]


@pytest.mark.parametrize("coding", [Coding(), Coding(is_optimal=True), SMALLEST])
def test_a_larger_graph_survives_whatever_the_size_of_its_blocks(
    tmp_path: Path, coding: Coding
) -> None:
    graph = random_web(5000, seed=1)
    one = written(tmp_path / "one", graph, coding)
    other = written(tmp_path / "other", graph, coding, arcs=977)
    assert same(one.csr(), graph)
    assert same(other, graph)
    nodes = np.random.default_rng(1).integers(0, graph.nodes, 300)
    for node in nodes.tolist():
        assert np.array_equal(other.successors(node), graph.successors(node))
    if not coding.is_optimal:
        assert beside(one.base, ".graph").read_bytes() == beside(other.base, ".graph").read_bytes()


def test_looking_ahead_takes_fewer_bits(tmp_path: Path) -> None:
    graph = random_web(5000, seed=2)
    sizes = []
    for name, coding in (("a", Coding()), ("b", Coding(is_optimal=True)), ("c", SMALLEST)):
        written(tmp_path / name, graph, coding)
        sizes.append(beside(tmp_path / name, ".graph").stat().st_size)
    assert sizes[0] > sizes[1] > sizes[2]


def test_no_chain_of_references_is_longer_than_asked(tmp_path: Path) -> None:
    graph = random_web(3000, seed=3)
    for coding in (Coding(max_ref=2), Coding(max_ref=2, is_optimal=True, window=20)):
        found = written(tmp_path / "g", graph, coding)
        # A reader makes room for as many rows as the properties promise, and refuses more.
        assert found.properties.max_ref == 2
        offsets, targets = found.rows_of(np.arange(graph.nodes))
        assert np.array_equal(targets, graph.targets)
        assert np.array_equal(offsets, graph.offsets)


def test_a_graph_without_nodes_or_links_is_a_graph(tmp_path: Path) -> None:
    writer = GraphWriter(tmp_path / "none")
    assert writer.close().nodes == 0
    none = BVGraph.open(tmp_path / "none")
    assert (none.nodes, none.arcs, list(none.blocks())) == (0, 0, [])
    bare = written(tmp_path / "bare", csr_of([[], [], []]))
    assert [bare.successors(node).tolist() for node in range(3)] == [[], [], []]


def test_a_row_longer_than_a_block_is_read(tmp_path: Path) -> None:
    graph = csr_of([list(range(0, 20000, 2)), [], list(range(20000)), [3]] + [[]] * 19996)
    found = written(tmp_path / "g", graph, arcs=10)
    assert same(Csr.of(found), graph)
    assert sum(len(rows.targets) for rows in found.blocks(10)) == graph.arcs
    assert found.successors(2).tolist() == list(range(20000))
    assert found.rows_of(np.array([2, 0, 2]))[0].tolist() == [0, 20000, 30000, 50000]


def test_rows_are_taken_in_order_only(tmp_path: Path) -> None:
    writer = GraphWriter(tmp_path / "g")
    with pytest.raises(Bug, match="from node 0 on"):
        writer.add(Rows(5, np.zeros(2, np.int64), np.empty(0, np.uint32)))
    writer.close()


def test_a_node_that_is_not_there_is_an_index_error(tmp_path: Path) -> None:
    found = written(tmp_path / "g", csr_of([[1], [0]]))
    for node in (-1, 2):
        with pytest.raises(IndexError, match="below 2"):
            found.successors(node)
        with pytest.raises(IndexError, match="below 2"):
            found.rows_of(np.array([0, node]))


@pytest.mark.parametrize("missing", [(".starts",), (".starts", ".offsets")])
def test_rows_are_found_without_our_own_files(tmp_path: Path, missing: tuple[str, ...]) -> None:
    graph = random_web(800, seed=4)
    written(tmp_path / "g", graph)
    for suffix in missing:
        beside(tmp_path / "g", suffix).unlink()
    found = BVGraph.open(tmp_path / "g")
    assert found.successors(799).tolist() == graph.successors(799).tolist()
    assert same(found, graph)


def test_codings_that_cannot_be_are_refused() -> None:
    for wrong in ({"window": -1}, {"zeta_k": 0}, {"zeta_k": 9}, {"min_interval": -2}):
        with pytest.raises(ConfigError):
            Coding(**wrong)


@needs_published
@pytest.mark.parametrize(("name", "bits"), [("cnr-2000", 2.897), ("cnr-2000-t", 2.343)])
def test_the_published_graph_is_read_and_written_bit_by_bit(
    tmp_path: Path, name: str, bits: float
) -> None:
    published = PUBLISHED / name
    graph = BVGraph.open(published).csr()
    assert (graph.nodes, graph.arcs) == (325_557, 3_216_152)
    written(tmp_path / "g", graph)
    for suffix in (".graph", ".offsets"):
        ours = beside(tmp_path / "g", suffix).read_bytes()
        theirs = beside(published, suffix).read_bytes()
        assert theirs[: len(ours)] == ours
        assert not any(theirs[len(ours) :])
    assert round(len(beside(tmp_path / "g", ".graph").read_bytes()) * 8 / graph.arcs, 3) == bits


@needs_published
def test_the_published_transpose_has_the_same_links_the_other_way_round() -> None:
    out = BVGraph.open(PUBLISHED / "cnr-2000").csr()
    inn = BVGraph.open(PUBLISHED / "cnr-2000-t").csr()
    sources = np.repeat(np.arange(out.nodes), np.diff(out.offsets))
    order = np.lexsort((sources, out.targets))
    assert np.array_equal(sources[order], inn.targets)


def bits_of(codes: list[tuple[str, int]]) -> bytes:
    """Return numbers in gamma and delta codes, as a plain writer of strings would."""

    def gamma(n: int) -> str:
        return "0" * ((n + 1).bit_length() - 1) + f"{n + 1:b}"

    def delta(n: int) -> str:
        return gamma((n + 1).bit_length() - 1) + f"{n + 1:b}"[1:]

    text = "".join({"gamma": gamma, "delta": delta}[code](n) for code, n in codes)
    return int(text.ljust(-(-len(text) // 8) * 8, "0"), 2).to_bytes(-(-len(text) // 8), "big")


def test_files_in_other_codes_are_read(tmp_path: Path) -> None:
    rows = [[0, 3, 900], [], [1, 2, 3, 70_000]]
    codes: list[tuple[str, int]] = []
    for node, row in enumerate(rows):
        codes.append(("delta", len(row)))
        for i, target in enumerate(row):
            step = target - (row[i - 1] + 1 if i else node)
            codes.append(("gamma", step if i else 2 * step if step >= 0 else -2 * step - 1))
    codes += [("delta", 0)] * (80_000 - 3)
    (tmp_path / "g.graph").write_bytes(bits_of(codes))
    (tmp_path / "g.properties").write_text(
        "graphclass=it.unimi.dsi.webgraph.BVGraph\nnodes=80000\narcs=7\nwindowsize=0\n"
        "maxrefcount=0\nminintervallength=0\nversion=0\n"
        "compressionflags=OUTDEGREES_DELTA | RESIDUALS_GAMMA\n"
    )
    found = BVGraph.open(tmp_path / "g")
    assert [found.successors(node).tolist() for node in range(3)] == rows
    assert found.csr().arcs == 7


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("graphclass=it.unimi.dsi.webgraph.EFGraph", "expected a BVGraph"),
        ("endianness=little", "big-endian"),
        ("compressionflags=RESIDUALS_GOLOMB", "GOLOMB"),
        ("nodes=many", "many"),
        ("nodes=-1", "out of range"),
        ("zetak=99", "out of range"),
    ],
)
def test_properties_that_cannot_be_read_are_named(tmp_path: Path, line: str, words: str) -> None:
    written(tmp_path / "g", csr_of([[1], [0]]))
    path = beside(tmp_path / "g", ".properties")
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(CorruptFile, match=words):
        BVGraph.open(tmp_path / "g")


DAMAGED = """
import sys
from pathlib import Path
import numpy as np
from gossamer.errors import CannotGoOn
from gossamer.graph.bv import BVGraph
for name in sys.argv[1:]:
    for ask in (
        lambda graph: graph.csr(),
        lambda graph: list(graph.blocks(64)),
        lambda graph: [graph.successors(node) for node in range(graph.nodes)],
        lambda graph: graph.rows_of(np.arange(graph.nodes)),
        lambda graph: [graph.outdegree(node) for node in range(graph.nodes)],
    ):
        try:
            ask(BVGraph.open(Path(name)))
        except CannotGoOn:
            pass
"""


@pytest.mark.slow
def test_damaged_files_are_named_or_read_otherwise_but_never_bring_the_process_down(
    tmp_path: Path,
) -> None:
    rng = random.Random(5)
    names = []
    for trial in range(60):
        base = tmp_path / f"g{trial}"
        written(base, random_web(200, seed=trial % 7), Coding(window=rng.choice([0, 3, 7])))
        for suffix in rng.sample([".graph", ".offsets", ".starts"], rng.randint(1, 2)):
            path = beside(base, suffix)
            data = bytearray(path.read_bytes())
            for _ in range(rng.randint(1, 30)):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            path.write_bytes(data[: rng.choice([len(data), rng.randrange(len(data))])])
        if rng.random() < 0.3:
            beside(base, ".starts").unlink()
        names.append(str(base))
    ended = subprocess.run(
        [sys.executable, "-c", DAMAGED, *names], check=False, capture_output=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr.decode()
