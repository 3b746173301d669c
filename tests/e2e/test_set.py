"""`gossamer set` of live settings and of others, of the crawl and of one host; over kills."""

import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from gossamer.store import Record, readable_records
from gossamer.testing import ScriptedWeb, serve_in_thread
from tests.e2e.crawler import Crawler, finish, flags_for, kill, only_json, wait_until

PAGES = 30


def web() -> ScriptedWeb:
    made = ScriptedWeb()
    for name in ("a.test", "b.test"):
        site = made.host(name).page("/", links=[f"/{n}" for n in range(PAGES)])
        for number in range(PAGES):
            site.page(f"/{number}", text=f"{name} {number}")
    return made


def settings(crawler: Crawler) -> dict[str, Any]:
    return tomllib.loads((crawler.folder / "crawl.toml").read_text())


def on_record(crawler: Crawler) -> list[str]:
    """Return what the archive says was set: the lines of its records, in their order."""
    found: list[str] = []
    for path in sorted((crawler.folder / "archive").glob("links-*.warc.gz")):
        for record in readable_records(path):
            if isinstance(record, Record) and record.headers["warc-type"] == "warcinfo":
                lines = record.block.decode().splitlines()
                said = [one.removeprefix("changed: ") for one in lines if "changed: " in one]
                assert not said or lines[0].startswith("software: gossamer/")
                found += said
    return found


@pytest.mark.parametrize("shards", ["1", "2"])
def test_the_archive_says_what_was_set_in_a_crawl_that_runs_or_not(
    shards: str, tmp_path: Path
) -> None:
    with serve_in_thread(web()) as server:
        seed = server.web.host("a.test").url()
        flags = flags_for(server.resolve, "--no-sitemaps", "--shards", shards)
        crawler = Crawler(tmp_path / "crawl", (seed,), flags)
        with crawler.running("--delay", "600") as process:
            wait_until(lambda: len(server.requests) >= 1, process)
            crawler.say("set", "limits.max_pages=9", "fetch.total_s=9").expect(0)
            crawler.say("set", "delay_s=700", "--host", "b.test").expect(0)
            crawler.say("trust", "https://a.test/x/*").expect(0)
            running = [
                "fetch.total_s: 60.0 -> 9.0",
                "limits.max_pages: not set -> 9",
                'host."b.test".delay_s: not set -> 700.0',
                'traps.trust: [] -> ["https://a.test/x/*"]',
            ]
            assert on_record(crawler) == running
            assert kill(process)
        crawler.say("set", "filter.max_depth=3").expect(0)
        crawler.say("drop", "https://a.test/y/*").expect(0)
        assert on_record(crawler) == running
        secret = "X-Key: hunter2"
        crawler.run("--max-time", "1", "--header", secret)
        stopped = on_record(crawler)
        assert stopped[:4] == running
        assert 'filter.drop: [] -> ["https://a.test/y/*"]' in stopped
        assert any(one.startswith("filter.max_depth: ") and " -> 3" in one for one in stopped)
        assert "hunter2" not in "".join(stopped)
        crawler.say("check").expect(0)


@pytest.mark.slow
@pytest.mark.parametrize("shards", ["1", "2"])
def test_a_running_crawl_obeys_a_delay_and_a_limit_at_once_and_after_a_kill(
    shards: str, tmp_path: Path
) -> None:
    with serve_in_thread(web()) as server:
        seeds = tuple(server.web.host(name).url() for name in ("a.test", "b.test"))
        flags = flags_for(server.resolve, "--no-sitemaps", "--shards", shards)
        crawler = Crawler(tmp_path / "crawl", seeds, flags)
        with crawler.running("--delay", "2") as process:
            wait_until((crawler.folder / "control.sock").exists, process)
            wait_until(lambda: len(server.requests) >= 2, process)
            told = only_json(
                crawler.say("set", "politeness.delay_s=0.01", "limits.max_pages=1k", "--json")
            )
            assert told["running"] is True
            assert told["changes"] == [
                "politeness.delay_s: 2.0 -> 0.01",
                "limits.max_pages: not set -> 1_000",
            ]
            told = only_json(crawler.say("set", "delay_s=500", "--host", "b.test", "--json"))
            assert told["at_next_start"] == []
            assert kill(process)
        assert settings(crawler)["politeness"]["delay_s"] == 0.01
        assert settings(crawler)["host"]["b.test"]["delay_s"] == 500.0
        with crawler.running() as process:
            hosts = [one.host for one in server.requests]
            wait_until(
                lambda: crawler.status()["pages"] >= PAGES + 1,
                process,
            )
            assert hosts.count("b.test") < PAGES
            told = only_json(crawler.say("set", "limits.max_pages=1", "--json"))
            ended = finish(process).expect(0).last_json
        assert ended["reason"] == "max_pages"


@pytest.mark.slow
def test_a_new_delay_holds_from_the_next_answer_of_a_host(tmp_path: Path) -> None:
    with serve_in_thread(web()) as server:
        seed = server.web.host("a.test").url()
        flags = flags_for(server.resolve, "--no-sitemaps", "--shards", "1", "--delay", "0.3")
        crawler = Crawler(tmp_path / "crawl", (seed,), flags)
        with crawler.running() as process:
            wait_until(lambda: len(server.requests) >= 4, process)
            crawler.say("set", "delay_s=600", "--host", "a.test").expect(0)
            time.sleep(0.7)  # one may have been under way
            before = len(server.requests)
            time.sleep(1.0)
            assert len(server.requests) <= before + 1
            crawler.say("stop").expect(0)
            finish(process).expect(3)


@pytest.mark.slow
def test_what_is_not_live_is_kept_for_the_next_start_and_said_so(tmp_path: Path) -> None:
    with serve_in_thread(web()) as server:
        seed = server.web.host("a.test").url()
        flags = flags_for(server.resolve, "--no-sitemaps", "--shards", "1")
        crawler = Crawler(tmp_path / "crawl", (seed,), flags)
        with crawler.running("--delay", "600") as process:
            wait_until((crawler.folder / "control.sock").exists, process)
            told = crawler.say("set", "concurrency=7", "fetch.total_s=9").expect(0).out
            assert "From its next start on: concurrency, fetch.total_s." in told
            crawler.say("add", server.web.host("b.test").url()).expect(0)
            assert settings(crawler)["concurrency"] == 7
            crawler.say("stop").expect(0)
            finish(process).expect(3)
        assert settings(crawler)["fetch"]["total_s"] == 9.0
        assert len(settings(crawler)["seeds"]) == 2


def test_what_cannot_be_set_is_refused_and_nothing_is_changed(tmp_path: Path) -> None:
    with serve_in_thread(web()) as server:
        seed = server.web.host("a.test").url()
        flags = flags_for(server.resolve, "--no-sitemaps", "--shards", "1", "--max-pages", "1")
        crawler = Crawler(tmp_path / "crawl", (seed,), (*flags, "--delay", "0"))
        crawler.run().expect(0)
    before = (crawler.folder / "crawl.toml").read_text()
    for words, told in {
        ("fetch.auth=x",): "`set` cannot change it",
        ("seeds=http://b.test/",): "`gossamer add`",
        ("politenes.delay_s=2",): "did you mean politeness.delay_s?",
        ("politeness.delay_s=-2",): "politeness.delay_s: expected",
        ("headers=x", "--host", "b.test"): "secrets.toml",
        ("delay_s=5", "--host", "b.test/path"): "without a path",
        ("filter.block=[a-z]+",): "filter.block: expected",
    }.items():
        assert told in crawler.say("set", *words).expect(2).err, words
    assert (crawler.folder / "crawl.toml").read_text() == before
