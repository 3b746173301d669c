"""Questions about a crawl's graph: what is no web address has no rank, and files stay together."""

from pathlib import Path

import pytest

from gossamer.errors import ConfigError
from gossamer.graph import (
    GraphOptions,
    HostWeight,
    LinkOptions,
    RankOptions,
    base_of,
    build_graph,
    has_graph,
    host,
    hosts,
    info,
    like,
    links,
    manifest_of,
    opened,
    rank_of_hosts,
)
from tests.unit.graph.links_archive import LinksArchive, page

A, B, C = "http://a.test/", "http://b.test:8080/", "https://b.test/"
MAIL = "mailto:x@a.test"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    pages = [page(A, B, C, MAIL), page(B, A, C, MAIL), page(C, A, MAIL)]
    LinksArchive(tmp_path).write(pages)
    build_graph(tmp_path)
    return tmp_path


def test_a_folder_may_be_named_by_a_text(root: Path, tmp_path: Path) -> None:
    assert has_graph(str(root))
    assert manifest_of(str(root)) == manifest_of(root) is not None
    assert not has_graph(str(tmp_path / "nowhere"))
    assert hosts(opened(str(root))) == hosts(opened(root))
    base = root / "graph" / "web"
    assert base_of(str(base.with_suffix(".graph"))) == base
    assert info(opened(str(base))).nodes == info(opened(base)).nodes


def test_what_is_no_web_address_is_no_host(root: Path) -> None:
    graph = opened(root)
    told = hosts(graph)
    assert [one.host for one in told.hosts] == [A[:-1], C[:-1], B[:-1]]
    assert sum(one.rank for one in told.hosts) == pytest.approx(1)
    assert told.total == info(graph).hosts == 3
    ranked = rank_of_hosts(graph, RankOptions()).hosts
    assert [one.host for one in ranked] == [A[:-1], C[:-1], B[:-1]]
    with pytest.raises(ConfigError, match="harmonic"):
        rank_of_hosts(graph, RankOptions(by="harmonic"))


@pytest.mark.parametrize(
    ("name", "urls"), [("b.test", 2), ("B.test:8080", 1), ("https://b.test", 1), (B + "x/y", 1)]
)
def test_a_host_is_found_by_any_of_its_names(root: Path, name: str, urls: int) -> None:
    found = host(opened(root), name)
    assert found is not None
    assert found.urls == urls
    assert HostWeight(host=A[:-1], links=urls) in found.incoming
    assert host(opened(root), "test") is None


def test_a_mail_address_is_like_no_page(root: Path) -> None:
    found = like(opened(root), C)
    assert found is not None
    assert {one.url for one in found.pages} == {A, B}


def test_an_opened_graph_is_that_of_one_moment_whatever_is_built(root: Path) -> None:
    graph = opened(root)
    LinksArchive(root).write([page("http://0.test/", A), page(B)], number=1)
    build_graph(root, GraphOptions(is_full=True))
    assert not graph.is_current()
    told, newer = links(graph, A, LinkOptions()), links(opened(root), A, LinkOptions())
    assert told is not None
    assert newer is not None
    assert told.incoming is not None
    assert newer.incoming is not None
    assert told.incoming.urls == [C, B]
    assert newer.incoming.urls == ["http://0.test/", C]
