"""What every `Adjacency` does: a graph in memory, compressed, and with the kinds of its links."""

from pathlib import Path

import numpy as np
import pytest

from gossamer.graph.answers.chosen import degree_of, rows_of
from gossamer.graph.asking.kinded import Kinded
from gossamer.graph.bv import BVGraph, GraphWriter, KindsFile, KindsWriter
from gossamer.graph.rows import Adjacency, Csr
from tests.unit.graph.webs import random_web

WEB = random_web(300, seed=4)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graph") / "web"
    writer, kinds = GraphWriter(path), KindsWriter(path)
    for rows in WEB.blocks():
        writer.add(rows)
        kinds.add(rows._replace(kinds=np.ones(len(rows.targets), np.uint8)))
    writer.close()
    kinds.close()
    return path


@pytest.fixture(params=["memory", "compressed", "with kinds"])
def graph(request: pytest.FixtureRequest, base: Path) -> Adjacency:
    if request.param == "memory":
        return WEB
    opened = BVGraph.open(base)
    return opened if request.param == "compressed" else Kinded(opened, KindsFile(base, WEB.nodes))


def row(node: int) -> list[int]:
    return WEB.targets[WEB.offsets[node] : WEB.offsets[node + 1]].tolist()


def test_it_knows_how_large_it_is(graph: Adjacency) -> None:
    assert (graph.nodes, graph.arcs) == (300, len(WEB.targets))


def test_a_row_is_read_alone_and_ascends(graph: Adjacency) -> None:
    for node in (0, 299, 7, 7, 150):
        found = graph.successors(node).tolist()
        assert found == row(node) == sorted(set(found))


@pytest.mark.parametrize("arcs", [1, 50, 1 << 22])
def test_blocks_are_all_rows_in_order_whatever_their_size(graph: Adjacency, arcs: int) -> None:
    seen = 0
    for rows in graph.blocks(arcs):
        assert rows.first == seen
        for at in range(rows.nodes):
            targets = rows.targets[rows.offsets[at] : rows.offsets[at + 1]]
            assert targets.tolist() == row(rows.first + at)
        seen += rows.nodes
    assert seen == graph.nodes


def test_two_readers_of_blocks_do_not_disturb_each_other(graph: Adjacency) -> None:
    one, other = graph.blocks(40), graph.blocks(40)
    for left, right in zip(one, other, strict=True):
        assert left.targets.tolist() == right.targets.tolist()


def test_chosen_rows_come_in_the_order_that_was_asked_for(graph: Adjacency) -> None:
    nodes = np.array([5, 299, 0, 5], np.uint32)
    offsets, targets = rows_of(graph, nodes)
    found = [targets[offsets[at] : offsets[at + 1]].tolist() for at in range(len(nodes))]
    assert found == [row(node) for node in nodes.tolist()]
    none, nothing = rows_of(graph, np.empty(0, np.uint32))
    assert (none.tolist(), nothing.tolist()) == ([0], [])


def test_a_degree_is_the_length_of_a_row(graph: Adjacency) -> None:
    assert [degree_of(graph, node) for node in range(300)] == np.diff(WEB.offsets).tolist()


def test_a_node_that_is_not_there_is_refused(graph: Adjacency) -> None:
    with pytest.raises(IndexError):
        graph.successors(300)
    with pytest.raises(IndexError):
        rows_of(graph, np.array([300], np.uint32))


def test_it_is_copied_into_memory_whole(graph: Adjacency) -> None:
    copy = Csr.of(graph)
    assert copy.offsets.tolist() == WEB.offsets.tolist()
    assert copy.targets.tolist() == WEB.targets.tolist()
