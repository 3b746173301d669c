"""The graph of real crawls: running, killed, stopped and resumed, of several shards."""

import signal
import time
from pathlib import Path

import pytest

from gossamer.clock import SystemClock
from gossamer.graph.build import GraphOptions, build_graph, follow
from gossamer.graph.connectivity import Connectivity
from gossamer.testing import FakeWeb, serve_in_process
from tests.e2e.crawler import Crawler, finish, flags_for, wait_until
from tests.unit.graph.links_archive import assert_says, links_of

DELTA = GraphOptions(small_arcs=0, delta_share=1e9)
FOLD = GraphOptions(delta_share=0)


@pytest.mark.parametrize("shards", ["1", "3"])
def test_the_graph_of_a_crawl_says_what_its_links_archive_says(shards: str, tmp_path: Path) -> None:
    web = FakeWeb(seed=301, hosts=6, pages_per_host=12)
    with serve_in_process(web, tmp_path / "log.tsv") as server:
        flags = flags_for(server.resolve, "--delay", "0", "--shards", shards)
        crawler = Crawler(tmp_path / "crawl", server.web.seeds, flags)
        crawler.run("--max-pages", "30").expect(0)
        build_graph(crawler.folder, DELTA)
        assert_says(crawler.folder, links_of(crawler.folder), ["http://nowhere.test/"])
        crawler.run("--max-pages", "1000").expect(0)
    facts = build_graph(crawler.folder, DELTA)
    assert facts.did == "delta"
    assert_says(crawler.folder, links_of(crawler.folder), ["http://nowhere.test/"])
    assert build_graph(crawler.folder, FOLD).did == "fold"
    assert_says(crawler.folder, links_of(crawler.folder), ["http://nowhere.test/"])


def test_a_graph_built_while_a_crawl_is_killed_and_resumed_has_just_what_is_kept(
    tmp_path: Path,
) -> None:
    web = FakeWeb(seed=302, hosts=8, pages_per_host=20)
    with serve_in_process(web, tmp_path / "log.tsv") as server:
        flags = flags_for(server.resolve, "--delay", "0", "--concurrency", "8", "--shards", "1")
        crawler = Crawler(tmp_path / "crawl", server.web.seeds, flags)
        for kill_after in (40, 90, 140):
            with crawler.running() as process:
                wait_until(lambda n=kill_after: len(server.requests()) >= n, process)
                build_graph(crawler.folder, DELTA)
                process.send_signal(signal.SIGKILL)
                finish(process)
            build_graph(crawler.folder, DELTA)
        crawler.run().expect(0)
    facts = build_graph(crawler.folder, DELTA)
    assert facts.did != "full", "nothing that was read may have vanished"
    assert_says(crawler.folder, links_of(crawler.folder))


def test_following_a_crawl_has_its_newest_pages_and_ends_with_it(tmp_path: Path) -> None:
    web = FakeWeb(seed=303, hosts=6, pages_per_host=20)
    stale = 0
    with serve_in_process(web, tmp_path / "log.tsv") as server:
        flags = flags_for(server.resolve, "--delay", "0.02", "--shards", "2")
        crawler = Crawler(tmp_path / "crawl", server.web.seeds, flags)
        with crawler.running() as process:
            wait_until(lambda: len(server.requests()) >= 20, process)
            rounds = 0
            for _ in follow(crawler.folder, DELTA, SystemClock(), lambda _: time.sleep(0.05)):
                rounds += 1
                stale = max(stale, Connectivity.open(crawler.folder).stale)
            finish(process).expect(0)
    assert rounds > 1
    assert stale > 0
    assert_says(crawler.folder, links_of(crawler.folder))
