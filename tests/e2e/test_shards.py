"""Several shards are one crawl: complete, counted together, asked and stopped as one.

The judges are the server's log and the archive, read by warcio and FastWARC.
"""

import json
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer.cluster import Ring
from gossamer.testing import (
    CannedResponse,
    FakeServer,
    FakeWeb,
    ScriptedWeb,
    ServerProcess,
    most_connections,
    serve_in_process,
    serve_in_thread,
)
from gossamer.urls import ring_of
from tests.e2e.archive import Archive, read_archive
from tests.e2e.crawler import Crawler, finish, flags_for, say, spawn, wait_until
from tests.e2e.judge import page_hits, settled
from tests.e2e.shards import BLOCKED, judge_of, shards_of

WEB = FakeWeb(seed=401, hosts=16, pages_per_host=4)
"""Four registrable domains: of two shards, and of three, each owns one at least."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with serve_in_process(WEB, tmp_path / "log.tsv") as serving:
        yield serving


def crawler_of(server: ServerProcess, folder: Path, *flags: str) -> Crawler:
    words = flags_for(server.resolve, "--delay", "0", "--concurrency", "6", *BLOCKED, *flags)
    return Crawler(folder, server.web.seeds, words)


def owner(host: str, shards: int) -> int:
    return Ring.even(shards).owner(ring_of(host))


def stored_by(archive: Archive) -> dict[str, set[int]]:
    """Return which shards stored pages of each host."""
    found: dict[str, set[int]] = {}
    for record in [*archive.pages, *archive.revisits]:
        host = record.url.split("/")[2].partition(":")[0]
        found.setdefault(host, set()).add(int(record.file.split("-")[1]))
    return found


@pytest.mark.parametrize("shards", [2, 3])
def test_shards_store_every_page_once_each_its_own_hosts(
    shards: int, server: ServerProcess, tmp_path: Path
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl", "--shards", str(shards))
    ended = crawler.run().expect(0)
    assert ended.last_json["finished"] is True
    archive = read_archive(crawler.folder)
    judge_of(server.web).assert_complete(archive)
    visits = server.requests()
    judge_of(server.web).assert_obedient(visits)
    assert max(page_hits(visits).values()) == 1
    assert most_connections(visits) == 1
    hosts = stored_by(archive)
    assert all(who == {owner(host, shards)} for host, who in hosts.items())
    assert {shard for who in hosts.values() for shard in who} == set(range(shards))
    status = crawler.status()
    assert status["pages"] + status["sitemaps"] == archive.page_urls.total()
    assert settled(status) == status["known_urls"]
    assert (status["finished"], status["running"], status["shards"]) == (True, False, shards)


@contextmanager
def held_open(tmp_path: Path) -> Iterator[tuple[FakeServer[ScriptedWeb], Crawler]]:
    """Serve two hosts of different shards; a third one keeps their crawl from ending."""
    web = ScriptedWeb()
    one, two, gate = web.host("b.test"), web.host("a.test"), web.host("c.test")
    one.page("/", links=["/one", two.url(), gate.url()], text="first").page("/one")
    two.page("/", links=["/two", one.url("/back")], text="second").page("/two")
    one.page("/back", text="and back")
    gate.answers(503, retry_after_s=3600)
    two.page("/more", text="added").page("/later")
    one.page("/more", text="added").page("/later")
    with serve_in_thread(web) as server:
        words = flags_for(server.resolve, "--delay", "0", "--no-sitemaps", "--shards", "2")
        yield server, Crawler(tmp_path / "crawl", (one.url(),), words)


def assert_answers(crawler: Crawler, hosts: list[str]) -> None:
    """What is stored can be asked for, whichever shard has it."""
    for url in (f"{host}/{path}" for host, path in zip(hosts, ("one", "two"), strict=True)):
        found = crawler.why(url)
        assert found["state"] == "archived", found
        shown = crawler.say("show", url).expect(0)
        assert "Page /" in shown.out
        unknown = crawler.why(url + "-unheard-of")
        assert unknown["state"] not in {"archived", "queued"}, unknown


def test_a_running_crawl_and_a_stopped_one_answer_for_every_shard(tmp_path: Path) -> None:
    with held_open(tmp_path) as (server, crawler):
        hosts = [server.web.host(name).url("").rstrip("/") for name in ("b.test", "a.test")]
        with crawler.running() as process:
            wait_until(lambda: len(server.requests) >= 5, process)
            wait_until(lambda: crawler.status()["pages"] == 5, process)
            status = crawler.status()
            assert (status["running"], status["finished"]) == (True, False)
            assert status["known_urls"] == 6
            assert_answers(crawler, hosts)
            seeds = [f"{host}/more" for host in hosts]
            assert '"added":2' in crawler.say("add", *seeds, "--json").expect(0).out.replace(
                " ", ""
            )
            wait_until(lambda: sum(v.target == "/more" for v in server.requests) == 2, process)
            wait_until(lambda: crawler.status()["pages"] == 7, process)
            assert process.poll() is None
            process.send_signal(signal.SIGTERM)
            finish(process).expect(3)
        assert crawler.status()["pages"] == 7
        assert_answers(crawler, hosts)
        assert crawler.why(server.web.host("c.test").url())["state"] == "waiting"
        later = [f"{host}/later" for host in hosts]
        assert crawler.say("add", *later).expect(0)
        assert all(crawler.why(url)["state"] == "queued" for url in later)
        assert crawler.run("--max-pages", "9").expect(0).last_json["pages"] == 9
    urls = read_archive(crawler.folder).page_urls
    paths = [
        *((0, path) for path in ("/", "/one", "/back", "/more", "/later")),
        *((1, path) for path in ("/", "/two", "/more", "/later")),
    ]
    assert urls == {hosts[number] + path: 1 for number, path in paths}


@pytest.mark.slow
def test_a_page_limit_is_met_exactly_by_all_shards_together(
    server: ServerProcess, tmp_path: Path
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl", "--shards", "3")
    for pages in (2, 31):
        ended = crawler.run("--max-pages", str(pages)).expect(0)
        assert (ended.last_json["pages"], ended.last_json["finished"]) == (pages, False)
        assert read_archive(crawler.folder).page_count == pages
    assert crawler.run("--max-pages", "100000").expect(0).last_json["finished"] is True
    judge_of(server.web).assert_complete(read_archive(crawler.folder))
    assert max(page_hits(server.requests()).values()) == 1


@pytest.mark.slow
def test_pages_granted_to_a_shard_that_cannot_use_them_are_used_by_others(tmp_path: Path) -> None:
    web = ScriptedWeb()
    rich, poor = web.host("b.test"), web.host("a.test")
    names = [f"/{number}" for number in range(12)]
    rich.page("/", links=names)
    for name in names:
        rich.page(name)
    gone = [f"/gone{number}" for number in range(6)]
    poor.page("/", links=gone)
    for name in gone:
        poor.on(name, CannedResponse(status=404, wait_s=0.3))
    with serve_in_thread(web) as server:
        words = flags_for(server.resolve, "--delay", "0", "--no-sitemaps", "--shards", "2")
        crawler = Crawler(tmp_path / "crawl", (rich.url(), poor.url()), words)
        for pages in (5, 13):
            ended = crawler.run("--max-pages", str(pages)).expect(0)
            assert ended.last_json["pages"] == pages
            assert read_archive(crawler.folder).page_count == pages


def test_a_limit_on_time_or_bytes_ends_all_shards_and_they_can_go_on(
    server: ServerProcess, tmp_path: Path
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl", "--shards", "2")
    ended = crawler.run("--max-time", "1", "--delay", "0.3").expect(0)
    assert ended.last_json["finished"] is False
    ended = crawler.run("--max-time", "500", "--max-bytes", "300000", "--delay", "0").expect(0)
    assert ended.last_json["finished"] is False
    size = sum(f.stat().st_size for f in (crawler.folder / "archive").glob("*.gz"))
    assert size >= 300_000
    ended = crawler.run("--max-bytes", "1000000000").expect(0)
    assert ended.last_json["finished"] is True
    judge_of(server.web).assert_complete(read_archive(crawler.folder))
    assert max(page_hits(server.requests()).values()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("wish", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_on_request_ends_all_shards_and_repeats_nothing(
    wish: signal.Signals, server: ServerProcess, tmp_path: Path
) -> None:
    """A terminal, `timeout` and service managers signal every process of a group at once."""
    crawler = crawler_of(server, tmp_path / "crawl", "--shards", "2", "--delay", "0.02")
    for goal, is_group in ((20, True), (60, False)):
        process = spawn(crawler.command(), start_new_session=True)
        wait_until(lambda goal=goal: len(server.requests()) >= goal, process)
        children = shards_of(process.pid)
        os.killpg(process.pid, wish) if is_group else process.send_signal(wish)
        ended = finish(process).expect(3)
        assert ended.last_json["finished"] is False
        assert not any(Path(f"/proc/{child}").exists() for child in children)
    crawler.run("--delay", "0").expect(0)
    assert max(page_hits(server.requests()).values()) == 1
    judge_of(server.web).assert_complete(read_archive(crawler.folder))


def test_the_number_of_shards_is_kept_and_used_again(server: ServerProcess, tmp_path: Path) -> None:
    crawler = crawler_of(server, tmp_path / "crawl")
    first = crawler.run("--shards", "3", "--max-pages", "10").expect(0)
    assert first.last_json["shards"] == 3
    kept = tomllib.loads((crawler.folder / "crawl.toml").read_text())
    assert kept["shards"] == 3
    second = crawler.run("--max-pages", "20").expect(0)
    assert second.last_json["shards"] == 3
    assert crawler.status()["shards"] == 3


def test_a_second_supervisor_is_turned_away_and_the_first_is_unharmed(
    server: ServerProcess, tmp_path: Path
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl", "--shards", "2", "--delay", "0.2")
    with crawler.running() as first:
        wait_until(lambda: len(server.requests()) >= 8, first)
        for shards in ("2", "3", "1"):
            second = crawler.run("--shards", shards).expect(4)
            assert second.err.strip().count("\n") == 0
            assert str(first.pid) in second.err
        assert crawler.status()["running"] is True
        first.send_signal(signal.SIGTERM)
        finish(first).expect(3)
    assert crawler.run("--delay", "0").expect(0).last_json["shards"] == 2
    judge_of(server.web).assert_complete(read_archive(crawler.folder))


@pytest.mark.parametrize("number", ["-1", "abc", "1000", "1.5", ""])
def test_a_number_of_shards_that_makes_no_sense_is_one_line_and_exit_2(
    number: str, tmp_path: Path
) -> None:
    folder = tmp_path / "crawl"
    ended = say("crawl", "http://a.test/", "--into", str(folder), "--shards", number).expect(2)
    assert ended.err.strip().count("\n") == 0
    assert "shards" in ended.err
    assert not folder.exists()


def test_no_number_of_shards_means_one_per_core(server: ServerProcess, tmp_path: Path) -> None:
    crawler = crawler_of(server, tmp_path / "crawl", "--max-pages", "5")
    ended = crawler.run("--shards", "0").expect(0)
    assert ended.last_json["shards"] == len(os.sched_getaffinity(0))


SHOUTING = """
import json, sys, gossamer

def shout(status):
    raise LookupError("my own bug")

folder, seeds, resolve = sys.argv[1], *map(json.loads, sys.argv[2:])
try:
    gossamer.run(seeds, folder, on_progress=shout, shards=2, delay=1.0, max_time=60.0,
                 scope="any", resolve=resolve, allow_net=["127.0.0.0/8"])
except LookupError as error:
    print("raised", error)
"""


def test_a_progress_function_that_raises_ends_the_crawl_with_what_it_raised(
    server: ServerProcess, tmp_path: Path
) -> None:
    """As with one shard. Before, nobody was told, and a limit of time was no longer kept."""
    words = [str(tmp_path / "crawl"), json.dumps(server.web.seeds), json.dumps(server.resolve)]
    done = subprocess.run(
        [sys.executable, "-c", SHOUTING, *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=50,
    )
    assert done.stdout == "raised my own bug\n"
    assert done.stderr == ""
