"""--order dfs over sockets: the depths that a server sees, with kills between."""

from pathlib import Path

import pytest

from gossamer.testing import FakeServer, ScriptedHost, ScriptedWeb, serve_in_thread
from tests.e2e.archive import read_archive
from tests.e2e.crawler import Crawler, flags_for, kill, wait_until

DEEPEST, WIDTH = 4, 4
PAGES = sum(WIDTH**depth for depth in range(DEEPEST + 1))


def plant_tree(host: ScriptedHost, path: str = "/", depth: int = 0) -> None:
    """Give a host a tree of pages, each of which links to its children."""
    below = [f"{path}{name}{depth}/" for name in "abcd"] if depth < DEEPEST else []
    host.page(path, links=below, text=f"{host.name} {path}")
    for child in below:
        plant_tree(host, child, depth + 1)


def preorder(path: str = "/", depth: int = 0) -> list[str]:
    below = [f"{path}{name}{depth}/" for name in "abcd"] if depth < DEEPEST else []
    return [path, *(page for child in below for page in preorder(child, depth + 1))]


def asked(server: FakeServer[ScriptedWeb], host: str) -> list[str]:
    return [visit.target for visit in server.requests_to(host) if visit.target.endswith("/")]


@pytest.mark.parametrize("shards", ["1", "2"])
def test_a_server_is_asked_depth_first_over_one_connection(tmp_path: Path, shards: str) -> None:
    web = ScriptedWeb()
    hosts = ("a.test", "b.test")
    for name in hosts:
        plant_tree(web.host(name))
    with serve_in_thread(web) as server:
        seeds = tuple(server.web.host(name).url("/") for name in hosts)
        words = flags_for(server.resolve, "--delay", "0", "--order", "dfs", "--shards", shards)
        Crawler(tmp_path / "crawl", seeds, words).run().expect(0)
        for name in hosts:
            assert asked(server, name) == preorder()
            visits = server.requests_to(name, with_robots=True)
            assert max(visit.open_connections_of_host for visit in visits) == 1
            assert len({visit.connection_id for visit in visits}) <= 2


def test_the_order_goes_on_where_it_was_after_kills(tmp_path: Path) -> None:
    web = ScriptedWeb()
    plant_tree(web.host("a.test"))
    with serve_in_thread(web) as server:
        words = flags_for(server.resolve, "--delay", "0.002", "--order", "dfs", "--shards", "1")
        crawl = Crawler(tmp_path / "crawl", (server.web.host("a.test").url("/"),), words)
        for reached in (20, 90, 200):
            with crawl.running() as process:
                assert wait_until(lambda n=reached: len(asked(server, "a.test")) >= n, process)
                kill(process)
        crawl.run().expect(0)
        found = read_archive(crawl.folder).page_urls
        assert len(found) == PAGES
        assert set(found.values()) == {1}
        met = asked(server, "a.test")
        assert len(met) - PAGES <= 6  # a kill repeats what was not committed
        # A page that was being read at a kill is a suspect: it is postponed, and what it links to.
        again = tuple({path for path in met if met.count(path) > 1}) or ("none",)
        order = [path for path in met if not path.startswith(again)]
        assert order == [path for path in preorder() if not path.startswith(again)]
        assert len(order) > PAGES // 2
