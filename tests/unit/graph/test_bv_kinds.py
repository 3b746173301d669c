"""Kinds of links: kept beside the rows, read again for one row or for all."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.errors import Bug, ConfigError, CorruptFile
from gossamer.graph.bv import KindsFile, KindsWriter, beside
from gossamer.graph.kinds import ALL, Kind, kind_names, kind_of, read_kinds
from gossamer.graph.rows import Csr, Rows
from tests.examples import examples
from tests.unit.graph.webs import csr_of, graphs


def write(base: Path, graph: Csr, kinds: list[int], arcs: int) -> KindsFile:
    writer = KindsWriter(base)
    start = 0
    for rows in graph.blocks(arcs):
        end = start + len(rows.targets)
        writer.add(rows._replace(kinds=np.array(kinds[start:end], np.uint8)))
        start = end
    writer.close()
    return KindsFile(base, graph.nodes)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))
@given(graph=graphs(), arcs=st.integers(1, 200), data=st.data())
def test_kinds_are_read_as_they_were_written(
    tmp_path: Path, graph: Csr, arcs: int, data: st.DataObject
) -> None:
    some = st.sampled_from([1, 1, 1, 16, 2, 127, 255, 0, 17])
    kinds = data.draw(st.lists(some, min_size=graph.arcs, max_size=graph.arcs))
    found = write(tmp_path / "g", graph, kinds, arcs)
    for node in range(graph.nodes):
        start, end = graph.offsets[node], graph.offsets[node + 1]
        assert found.of(node, int(end - start)).tolist() == kinds[start:end]
    again = [rows.kinds for rows in found.beside(graph.blocks(arcs))]
    assert [kind for block in again if block is not None for kind in block] == kinds


def test_a_row_of_one_kind_takes_two_bits(tmp_path: Path) -> None:
    graph = csr_of([list(range(50))] * 800)
    write(tmp_path / "g", graph, [1] * graph.arcs, 1 << 20)
    assert beside(tmp_path / "g", ".kinds").stat().st_size == 800 * 2 / 8


def test_damaged_kinds_are_named(tmp_path: Path) -> None:
    graph = csr_of([[0, 1, 2]] * 100)
    write(tmp_path / "g", graph, [1, 16, 2] * 100, 1 << 20)
    size = beside(tmp_path / "g", ".kinds").stat().st_size
    beside(tmp_path / "g", ".kinds").write_bytes(bytes(size))
    damaged = KindsFile(tmp_path / "g", graph.nodes)
    with pytest.raises(CorruptFile):
        damaged.of(50, 3)
    with pytest.raises(CorruptFile):
        list(damaged.beside(graph.blocks()))


def test_rows_without_kinds_are_refused(tmp_path: Path) -> None:
    writer = KindsWriter(tmp_path / "g")
    with pytest.raises(Bug):
        writer.add(Rows(0, np.zeros(2, np.int64), np.empty(0, np.uint32)))
    writer.close()


def test_links_of_the_archive_have_a_kind() -> None:
    assert kind_of("a", is_nofollow=False) is Kind.LINK
    assert kind_of("a", is_nofollow=True) is Kind.NOFOLLOW
    assert kind_of("image", is_nofollow=True) is Kind.EMBED
    assert kind_of("redirect", is_nofollow=False) is Kind.REDIRECT
    assert kind_of("something-new", is_nofollow=False) is Kind.LINK


def test_kinds_are_asked_for_by_name() -> None:
    assert read_kinds([]) == ALL
    assert read_kinds(["link", "Redirect"]) == Kind.LINK | Kind.REDIRECT
    assert read_kinds(["all", "link"]) == ALL
    assert kind_names(Kind.EMBED | Kind.LINK) == ["link", "embed"]
    with pytest.raises(ConfigError, match="'href'"):
        read_kinds(["href"])
