"""`gossamer retry`, `add` of what failed, and failed seeds at the next start."""

import re
import signal
from pathlib import Path
from typing import Any

import pytest

import gossamer
from gossamer.testing import CannedResponse, ScriptedHost, ScriptedWeb, serve_in_thread
from tests.e2e.archive import read_archive
from tests.e2e.crawler import Crawler, finish, flags_for, only_json, wait_until
from tests.e2e.judge import settled

ABSENT = CannedResponse(status=404, body=b"no")
HOSTS = ("a.test", "b.test", "c.test")


def crawl_of(folder: Path, server: Any, host: ScriptedHost, *flags: str) -> Crawler:
    words = flags_for(server.resolve, "--delay", "0", "--no-sitemaps", *flags)
    return Crawler(folder, (host.url(),), words)


def is_balanced(status: dict[str, Any]) -> bool:
    return settled(status) + status["queued"] == status["known_urls"]


@pytest.mark.slow
@pytest.mark.parametrize("shards", ["1", "2"])
def test_failures_of_a_stopped_crawl_are_queued_again_and_fetched(
    shards: str, tmp_path: Path
) -> None:
    web = ScriptedWeb()
    hosts = [web.host(name).page("/").on("/lost", ABSENT) for name in HOSTS]
    with serve_in_thread(web) as server:
        links = [host.url(path) for host in hosts for path in ("/", "/lost")]
        hosts[0].page("/", links=links)
        crawler = crawl_of(tmp_path / "crawl", server, hosts[0], "--shards", shards)
        ended = crawler.run().expect(0)
        assert ended.last_json["failed"] == {"not_found": 3}
        told = re.search(r"3 URLs failed; `gossamer retry (\S+)` queues them again", ended.err)
        assert told is not None
        assert told[1] == str(crawler.folder)
        for host in hosts:
            host.page("/lost")

        first = only_json(crawler.ask("retry", "--host", "b.test", "--json").expect(0))
        assert first == {"queued": 1, "reasons": {"not_found": 1}}
        status = crawler.status()
        assert (status["queued"], status["failed"], status["finished"]) == (
            *(1, {"not_found": 2}, False),
        )
        assert is_balanced(status)
        found = crawler.why(hosts[1].url("/lost"))
        assert found["state"] in {"queued", "leased"}
        assert found["explanation"].startswith("Known and ")
        assert [visit["reason"] for visit in found["visits"]] == ["not_found"]
        assert crawler.ask("retry", "--reason", "not_found").expect(0).out == (
            "queued again: 2 URLs\n  2 not_found\n"
        )
        assert crawler.ask("retry").expect(0).out == "nothing to retry\n"

        ended = crawler.run().expect(0)
        assert (ended.last_json["failed"], ended.last_json["pages"]) == ({}, 6)
        assert " failed; `gossamer retry" not in ended.err
        assert is_balanced(crawler.status())
    assert read_archive(crawler.folder).page_urls == dict.fromkeys(links, 1)
    visits = crawler.why(links[1])["visits"]
    assert [visit["state"] for visit in visits] == ["failed", "archived"]

    before = crawler.status()
    gossamer.open(crawler.folder).build_state()
    after = crawler.status()
    for name in ("pages", "failed", "queued", "known_urls", "html_pages"):
        assert after[name] == before[name], name
    assert crawler.why(links[1])["state"] == "archived"


@pytest.mark.slow
@pytest.mark.parametrize("shards", ["1", "2"])
def test_a_running_crawl_queues_failures_again_and_fetches_them(
    shards: str, tmp_path: Path
) -> None:
    web = ScriptedWeb()
    hosts = [web.host(name).page("/").on("/lost", ABSENT) for name in HOSTS]
    slow = web.host("slow.test").on("/", CannedResponse(body=b"late", wait_s=100.0))
    with serve_in_thread(web) as server:
        links = [host.url(path) for host in hosts for path in ("/", "/lost")]
        hosts[0].page("/", links=[*links, slow.url()])
        crawler = crawl_of(tmp_path / "crawl", server, hosts[0], "--shards", shards)
        crawler = crawler.with_flags("--max-time", "100")
        with crawler.running() as process:
            wait_until(
                lambda: (
                    (crawler.folder / "control.sock").exists()
                    and crawler.status()["failed"] == {"not_found": 3}
                ),
                process,
            )
            for host in hosts:
                host.page("/lost")
            again = gossamer.open(crawler.folder).retry()
            assert (again.queued, again.reasons) == (3, {"not_found": 3})
            wait_until(lambda: crawler.status()["pages"] == 6, process)
            assert gossamer.open(crawler.folder).retry().queued == 0
            status = crawler.status()
            assert status["failed"] == {}
            process.send_signal(signal.SIGTERM)
            finish(process)
    assert read_archive(crawler.folder).page_urls == dict.fromkeys(links, 1)


def test_a_reason_that_there_is_not_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("a.test").page("/")
    with serve_in_thread(web) as server:
        crawler = crawl_of(tmp_path / "crawl", server, host)
        crawler.run().expect(0)
    ended = crawler.say("retry", "--reason", "bad_luck").expect(2)
    assert "'bad_luck'" in ended.err
    assert "connect_failed" in ended.err
    assert "robots_disallowed" in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.slow
def test_adding_what_failed_or_is_stored_says_so(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("a.test").page("/", links=["/lost"]).on("/lost", ABSENT)
    with serve_in_thread(web) as server:
        crawler = crawl_of(tmp_path / "crawl", server, host)
        crawler.run().expect(0)
        host.page("/lost")
        lost = host.url("/lost")
        assert crawler.say("add", lost).expect(0).out == (
            "added: 1\nqueued again: 1 (had failed: not_found)\n"
        )
        told = only_json(crawler.say("add", lost, host.url(), "--json").expect(0))
        assert told == {
            "added": 0,
            "refused": {},
            "queued_again": {},
            "already_stored": [host.url()],
            "already_queued": [lost],
        }
        assert crawler.say("add", host.url()).expect(0).out == (
            f"added: 0\nalready stored: {host.url()}\n"
        )
        assert crawler.run().expect(0).last_json["pages"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("shards", ["1", "2"])
def test_seeds_that_failed_or_were_refused_are_asked_for_again_at_the_next_start(
    shards: str, tmp_path: Path
) -> None:
    web = ScriptedWeb()
    one = web.host("a.test").on("/", ABSENT)
    two = web.host("b.test").page("/").robots("User-agent: *\nDisallow: /\n")
    three = web.host("c.test").page("/")
    with serve_in_thread(web) as server:
        seeds = (one.url(), two.url(), three.url())
        words = flags_for(server.resolve, "--delay", "0", "--no-sitemaps", "--shards", shards)
        crawler = Crawler(tmp_path / "crawl", seeds, words)
        first = crawler.run().expect(0).last_json
        assert (first["pages"], first["failed"]) == (1, {"not_found": 1})
        one.page("/")
        two.robots("User-agent: *\nDisallow:\n")
        later = Crawler(crawler.folder, (), crawler.flags).run().expect(0).last_json
        assert (later["pages"], later["failed"], later["refused"]) == (3, {}, {})
        assert is_balanced(crawler.status())
        paths = [(visit.host, visit.target) for visit in server.requests]
    assert paths.count(("c.test", "/")) == 1
