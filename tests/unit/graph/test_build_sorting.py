"""Arcs in any order come back as rows in order, whatever the memory."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import CannotGoOn
from gossamer.graph.build import ArcSorter
from gossamer.graph.rows import Rows

Arc = tuple[int, int, int]
NODES = 50
ARCS = st.lists(
    st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1), st.integers(1, 127)),
    max_size=200,
)
TINY = 1


def columns(arcs: list[Arc]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = np.array(arcs, np.int64).reshape(-1, 3)
    return (
        table[:, 0].astype(np.uint32),
        table[:, 1].astype(np.uint32),
        table[:, 2].astype(np.uint8),
    )


def merged(arcs: list[Arc]) -> dict[tuple[int, int], int]:
    found: dict[tuple[int, int], int] = {}
    for source, target, kinds in arcs:
        found[source, target] = found.get((source, target), 0) | kinds
    return dict(sorted(found.items()))


def told(blocks: list[Rows], nodes: int) -> dict[tuple[int, int], int]:
    """Give all arcs of some rows, which must cover all nodes in order."""
    found: dict[tuple[int, int], int] = {}
    first = 0
    for rows in blocks:
        assert rows.first == first
        first += rows.nodes
        assert rows.offsets[0] == 0
        assert rows.offsets[-1] == len(rows.targets)
        kinds = rows.kinds if rows.kinds is not None else np.zeros(len(rows.targets), np.uint8)
        arcs = zip(rows.sources().tolist(), rows.targets.tolist(), kinds.tolist(), strict=True)
        for source, target, kind in arcs:
            assert (source, target) not in found
            found[source, target] = kind
    assert first == nodes
    assert list(found) == sorted(found)
    return found


@given(ARCS, st.integers(1, 40))
def test_rows_are_the_arcs_in_order_with_all_kinds_of_each(arcs: list[Arc], block: int) -> None:
    with ArcSorter(Path(), TINY) as sorter:
        sorter.add(*columns(arcs))
        assert told(list(sorter.rows(NODES, block)), NODES) == merged(arcs)


def random_arcs(count: int, nodes: int) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [
        rng.integers(0, nodes, count).astype(np.uint32),
        rng.integers(0, nodes, count).astype(np.uint32),
        rng.integers(1, 128, count).astype(np.uint8),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("has_kinds", [True, False])
def test_runs_on_disk_give_the_same_rows_as_memory(tmp_path: Path, *, has_kinds: bool) -> None:
    nodes = 3000
    sources, targets, kinds = random_arcs(50_000, nodes)
    given_kinds = kinds if has_kinds else None
    with ArcSorter(tmp_path, TINY) as small, ArcSorter(tmp_path, 64 << 20) as large:
        for start in range(0, len(sources), 777):
            part = slice(start, start + 777)
            small.add(sources[part], targets[part], None if given_kinds is None else kinds[part])
        large.add(sources, targets, given_kinds)
        expected = told(list(large.rows(nodes)), nodes)
        assert told(list(small.rows(nodes, 5000)), nodes) == expected
    arcs = list(zip(sources.tolist(), targets.tolist(), kinds.tolist(), strict=True))
    assert list(expected) == list(merged(arcs))


def test_blocks_have_about_the_size_that_was_asked_for(tmp_path: Path) -> None:
    nodes = 20_000
    sources, targets, _ = random_arcs(400_000, nodes)
    with ArcSorter(tmp_path, TINY) as sorter:
        sorter.add(sources, targets)
        blocks = list(sorter.rows(nodes, 100_000))
    assert max(len(rows.targets) for rows in blocks) < 600_000
    assert len(blocks) > 1


def test_arcs_in_order_are_one_run(tmp_path: Path) -> None:
    sources = np.repeat(np.arange(10_000, dtype=np.uint32), 3)
    targets = np.tile(np.array([1, 2, 3], np.uint32), 10_000)
    with ArcSorter(tmp_path, TINY) as sorter:
        sorter.add(sources, targets)
        assert len(sorter._runs) == 1
        blocks = list(sorter.rows(10_000))
    assert sum(len(rows.targets) for rows in blocks) == 30_000


def test_nodes_without_links_have_empty_rows_in_blocks_of_bounded_size(tmp_path: Path) -> None:
    with ArcSorter(tmp_path) as sorter:
        sorter.add(np.array([70], np.uint32), np.array([3], np.uint32))
        blocks = list(sorter.rows(100, 10))
    assert told(blocks, 100) == {(70, 3): 0}
    assert max(rows.nodes for rows in blocks) <= 10


def test_the_largest_node_numbers_are_kept(tmp_path: Path) -> None:
    top = 2**32 - 1
    with ArcSorter(tmp_path) as sorter:
        sorter.add(np.array([0, 5], np.uint32), np.array([top, top], np.uint32))
        rows = next(sorter.rows(6))
    assert rows.targets.tolist() == [top, top]


def test_more_nodes_than_fit_beside_kinds_are_refused_with_the_limit(tmp_path: Path) -> None:
    with ArcSorter(tmp_path) as sorter, pytest.raises(CannotGoOn, match="268435456"):
        sorter.add(*columns([(0, 2**28, 1)]))


def test_a_link_beyond_the_last_node_is_refused(tmp_path: Path) -> None:
    with ArcSorter(tmp_path) as sorter:
        sorter.add(np.array([5], np.uint32), np.array([0], np.uint32))
        with pytest.raises(ValueError, match="beyond"):
            list(sorter.rows(5))


def test_no_arcs_give_empty_rows(tmp_path: Path) -> None:
    with ArcSorter(tmp_path) as sorter:
        assert told(list(sorter.rows(4)), 4) == {}


def test_files_are_gone_when_the_sorter_is_closed(tmp_path: Path) -> None:
    sources, targets, _ = random_arcs(20_000, 100)
    with ArcSorter(tmp_path, TINY) as sorter:
        sorter.add(sources, targets)
    assert list(tmp_path.iterdir()) == []
