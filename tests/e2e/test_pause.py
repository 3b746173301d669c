"""`pause`, `resume` and `stop` from another terminal: of one shard and of two, across kills."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import gossamer
from gossamer.testing import FakeWeb, ServerProcess, serve_in_process
from tests.e2e.archive import read_archive
from tests.e2e.crawler import Crawler, finish, flags_for, kill, only_json, wait_until
from tests.e2e.judge import Judge, page_hits

WEB = FakeWeb(seed=311, hosts=6, pages_per_host=20)
LOOK_S = 1.5
"""Longer than a crawl takes to see a file, and than a gap between two requests."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with serve_in_process(WEB, tmp_path / "log.tsv") as serving:
        yield serving


def crawler_of(server: ServerProcess, folder: Path, *flags: str) -> Crawler:
    words = flags_for(server.resolve, "--delay", "0.1", "--concurrency", "4", *flags)
    return Crawler(folder, server.web.seeds, words)


def assert_quiet(server: ServerProcess, crawler: Crawler) -> None:
    """Nothing is under way, and nothing is begun."""
    wait_until(lambda: not crawler.status()["in_flight"])
    before = len(server.requests())
    time.sleep(LOOK_S)
    assert len(server.requests()) == before


@pytest.mark.slow
@pytest.mark.parametrize("shards", ["1", "2"])
def test_a_pause_lasts_until_it_is_ended_whatever_happens_to_the_crawl(
    shards: str, server: ServerProcess, tmp_path: Path
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl", "--shards", shards)
    with crawler.running() as process:
        wait_until(lambda: len(server.requests()) >= 15, process)
        told = only_json(crawler.say("pause", "--json").expect(0))
        assert told == {"paused": True, "was_paused": False, "running": True}
        wait_until(lambda: crawler.status()["paused"] == "on_request", process)
        assert_quiet(server, crawler)
        assert "was paused already" in crawler.say("pause").expect(0).out
        assert kill(process)
    wait_until(lambda: not gossamer.open(crawler.folder).is_running())
    assert crawler.status()["paused"] == "on_request"
    before = len(server.requests())
    process = crawler.start()
    wait_until(gossamer.open(crawler.folder).is_running, process)
    assert_quiet(server, crawler)
    assert len(server.requests()) == before
    told = only_json(crawler.say("resume", "--json").expect(0))
    assert told == {"paused": False, "was_paused": True, "running": True}
    finish(process).expect(0)
    assert max(page_hits(server.requests()).values()) <= 2  # what was under way at the kill
    Judge(server.web).assert_complete(read_archive(crawler.folder))


@pytest.mark.slow
@pytest.mark.parametrize("shards", ["1", "2"])
def test_stop_ends_a_crawl_as_a_signal_does_and_waits_for_it(
    shards: str, server: ServerProcess, tmp_path: Path
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl", "--shards", shards)
    process = crawler.start()
    wait_until(lambda: len(server.requests()) >= 10, process)
    told = only_json(crawler.say("stop", "--json").expect(0))
    assert told == {"was_running": True, "has_ended": True, "unshipped_to": ""}
    assert not gossamer.open(crawler.folder).is_running()
    ended = finish(process).expect(3)
    assert ended.last_json["reason"] == "stopped"
    assert "no crawl is running" in crawler.say("stop").expect(0).out
    crawler.run().expect(0)
    assert max(page_hits(server.requests()).values()) == 1


def test_a_crawl_that_does_not_run_can_be_paused_and_says_what_goes_on_with_it(
    server: ServerProcess, tmp_path: Path
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl", "--shards", "1")
    crawler.run("--max-pages", "3").expect(0)
    assert "the next start is paused" in crawler.say("pause").expect(0).out
    assert crawler.status()["paused"] == "on_request"
    assert "paused: on request" in crawler.say("status").expect(0).out
    before = len(server.requests())
    ended = crawler.run("--max-pages", "100", "--max-time", "2.5").expect(0)
    assert len(server.requests()) == before
    assert "paused: on request; `gossamer resume DIR` ends it" in ended.err
    told = crawler.say("resume").expect(0).out
    assert f"`gossamer crawl --into {crawler.folder}` goes on with it" in told
    assert "was not paused" in crawler.say("resume").expect(0).out


def test_what_is_no_crawl_is_neither_paused_nor_stopped(tmp_path: Path) -> None:
    crawler = Crawler(tmp_path / "none", (), ())
    for verb in ("pause", "resume", "stop"):
        assert "is not a crawl folder" in crawler.say(verb).expect(2).err
    assert not crawler.folder.exists()
