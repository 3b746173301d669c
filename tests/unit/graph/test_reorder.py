"""An order in which neighbours stand together."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from gossamer.cli.main import exit_code
from gossamer.errors import ConfigError, CorruptFile
from gossamer.graph.bv import Coding
from gossamer.graph.reordering import find_order, read_order, reorder
from gossamer.graph.rows import Csr
from tests.examples import examples
from tests.unit.graph.webs import csr_of, graphs, random_web


def turned(graph: Csr) -> Csr:
    rows: list[list[int]] = [[] for _ in range(graph.nodes)]
    for node in range(graph.nodes):
        for target in graph.successors(node).tolist():
            rows[target].append(node)
    return csr_of(rows)


@settings(max_examples=examples(40))
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


@pytest.mark.slow
def test_a_reordered_graph_has_the_same_links_in_fewer_bits(tmp_path: Path) -> None:
    web = random_web(3000, seed=6)
    scrambled = np.random.default_rng(6).permutation(3000)
    sources = scrambled[np.repeat(np.arange(3000), np.diff(web.offsets))]
    lines = [f"{a} {scrambled[b]}\n" for a, b in zip(sources, web.targets, strict=True)]
    (tmp_path / "edges.txt").write_text("".join(lines))
    run("from-edges", tmp_path / "edges.txt", tmp_path / "plain")
    run("reorder", tmp_path / "plain", tmp_path / "better")
    plain, better = (tmp_path / f"{name}.graph" for name in ("plain", "better"))
    assert better.stat().st_size < 0.8 * plain.stat().st_size
    assert edges(tmp_path / "better") == edges(tmp_path / "plain")
    assert edges(tmp_path / "better", "--numbers") != edges(tmp_path / "plain")
    turned = {(b, a) for a, b in edges(tmp_path / "better", "--numbers")}
    assert edges(tmp_path / "better-t") == turned


def test_a_graph_with_names_keeps_their_order(tmp_path: Path) -> None:
    (tmp_path / "edges.txt").write_text("https://a.test/ https://b.test/\n")
    run("from-edges", tmp_path / "edges.txt", tmp_path / "named")
    with pytest.raises(ConfigError, match="has names"):
        reorder(tmp_path / "named", tmp_path / "new", Coding())


def test_old_numbers_that_cannot_be_are_named(tmp_path: Path) -> None:
    (tmp_path / "g.order").write_bytes(np.array([7, 0], np.uint32).tobytes())
    with pytest.raises(CorruptFile, match="old numbers of 2"):
        read_order(tmp_path / "g", 2)


def run(verb: str, *words: object) -> None:
    assert exit_code(["graph", verb, *map(str, words)]) == 0


def edges(base: Path, *words: str) -> set[tuple[int, int]]:
    run("to-edges", base, "-o", base.with_suffix(".txt"), *words)
    pairs = (line.split() for line in base.with_suffix(".txt").read_text().splitlines())
    return {(int(a), int(b)) for a, b in pairs}
