"""Watches of small webs, each written for one promise."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.testing import (
    CannedResponse,
    FakeServer,
    Request,
    ScriptedWeb,
    html_response,
    not_found,
    serve_in_thread,
)
from tests.e2e.archive import Archive, read_archive
from tests.e2e.crawler import Crawler, finish, flags_for, say, wait_until, write_knobs
from tests.e2e.nursery import Child

QUICK = {"rate_per_s": 100.0, "prior_s": 0.5, "replan_s": 0.2, "lost_s": 0.2}
QUICKER = {**QUICK, "confirm_s": 0.1, "confirm_gone_s": 0.1}


@pytest.fixture
def web() -> Iterator[FakeServer[ScriptedWeb]]:
    with serve_in_thread(ScriptedWeb()) as server:
        yield server


def crawled(server: FakeServer[ScriptedWeb], folder: Path, seed: str, *flags: str) -> Crawler:
    """Crawl to the end, with knobs for a watch that is in a hurry."""
    knobs = write_knobs(folder / "knobs.toml", {"watch": QUICKER})
    words = flags_for(
        server.resolve, "--delay", "0", "--shards", "1", "--config", str(knobs), *flags
    )
    crawler = Crawler(folder / "crawl", (seed,), words)
    crawler.run().expect(0)
    return crawler


def watch_until(crawler: Crawler, is_so: Callable[[], object], *flags: str) -> dict[str, Any]:
    """Watch until something is so, then stop; return the last status."""
    process = Child(["watch", str(crawler.folder), "--json", *flags])
    try:
        assert wait_until(is_so, process), process.communicate()
        process.send_signal(signal.SIGINT)
        return finish(process).expect(3).last_json
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def count(server: FakeServer[ScriptedWeb], target: str) -> int:
    """Return how often a target was asked for."""
    return sum(visit.target == target for visit in server.requests)


def more(server: FakeServer[ScriptedWeb], target: str, times: int) -> Callable[[], bool]:
    """Return a test of whether a target was asked for so many times from now on."""
    before = count(server, target)
    return lambda: count(server, target) >= before + times


def pages_of(archive: Archive, url: str) -> list[bytes]:
    return [record.payload for record in archive.pages if record.url == url]


def test_a_page_with_a_mark_is_asked_for_conditionally(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = web.web.host("a.test")
    host.on("/", html_response("<p>still", headers=(("ETag", '"one"'),)))
    crawler = crawled(web, tmp_path, host.url("/"))
    status = watch_until(crawler, more(web, "/", 3))
    assert {visit.status for visit in web.requests if visit.target == "/"} == {200, 304}
    archive = read_archive(crawler.folder)
    assert len(pages_of(archive, host.url("/"))) == 1
    assert len(archive.revisits) >= 3
    assert {r.headers["warc-profile"].rpartition("/")[2] for r in archive.revisits} == {
        "server-not-modified"
    }
    assert status["pages"] == 1
    assert status["watch"]["changed"] == 0
    assert status["watch"]["unchanged"] == len(archive.revisits)
    assert say("show", str(crawler.folder), host.url("/")).out == "<p>still"


def test_a_page_that_stays_without_a_mark_is_stored_once(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = web.web.host("a.test")
    host.page("/", text="still")
    crawler = crawled(web, tmp_path, host.url("/"))
    watch_until(crawler, more(web, "/", 3))
    archive = read_archive(crawler.folder)
    assert len(pages_of(archive, host.url("/"))) == 1
    assert {r.headers["warc-profile"].rpartition("/")[2] for r in archive.revisits} == {
        "identical-payload-digest"
    }


def test_markup_that_is_new_at_each_serving_is_no_change_and_is_not_stored(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = web.web.host("a.test")

    def noisy(_request: Request) -> CannedResponse:
        return html_response(
            f"<title>t</title><p nonce={len(web.requests)}>still<script>9</script>"
        )

    host.on("/", noisy)
    crawler = crawled(web, tmp_path, host.url("/"))
    status = watch_until(crawler, more(web, "/", 4))
    archive = read_archive(crawler.folder)
    assert len(pages_of(archive, host.url("/"))) == 1
    assert not archive.revisits
    assert status["watch"]["changed"] == 0
    assert status["watch"]["unchanged"] >= 3


def test_a_change_is_stored_and_its_new_links_are_crawled(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = web.web.host("a.test")
    host.page("/", text="old", links=["/b"]).page("/b", text="b")
    crawler = crawled(web, tmp_path, host.url("/"))
    host.page("/", text="new", links=["/b", "/c"]).page("/c", text="c", links=["/d"])
    host.page("/d", text="d")
    status = watch_until(crawler, more(web, "/d", 2))
    archive = read_archive(crawler.folder)
    old, new = pages_of(archive, host.url("/"))
    assert b"old" in old
    assert b"new" in new
    assert status["pages"] == 4
    facts = crawler.why(host.url("/"))
    assert facts["watch"]["changes"] == 1
    assert "about every" in facts["explanation"]
    assert b"new" in say("show", str(crawler.folder), host.url("/")).out.encode()
    deep = crawler.why(host.url("/d"))
    assert (deep["depth"], deep["via"], deep["kind"]) == (2, host.url("/c"), "a")


def test_new_pages_stop_at_the_limit_and_looks_go_on(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = web.web.host("a.test")
    host.page("/", links=[f"/{n}" for n in range(20)])
    for n in range(20):
        host.page(f"/{n}", text=f"page {n}")
    crawler = crawled(web, tmp_path, host.url("/"), "--max-pages", "5")
    status = watch_until(crawler, more(web, "/", 3))
    assert status["pages"] == 5
    status = watch_until(crawler, lambda: crawler.status()["pages"] >= 8, "--max-pages", "8")
    assert status["pages"] == 8


@pytest.mark.parametrize("status", [404, 410])
def test_a_page_that_goes_is_gone_at_the_second_look_and_may_come_back(
    web: FakeServer[ScriptedWeb], tmp_path: Path, status: int
) -> None:
    host = web.web.host("a.test")
    host.page("/", links=["/b"]).page("/b", text="here")
    crawler = crawled(web, tmp_path, host.url("/"))
    host.on("/b", html_response("no", status=status))
    told = watch_until(crawler, lambda: crawler.status()["watch"]["gone"] == 1)
    assert told["pages"] == 2
    facts = crawler.why(host.url("/b"))
    assert facts["state"] == "gone"
    assert facts["reason"] == {404: "not_found", 410: "gone"}[status]
    assert "no longer exists" in facts["explanation"]
    assert b"here" in say("show", str(crawler.folder), host.url("/b")).out.encode()
    outcomes = [r["outcome"] for r in read_archive(crawler.folder).metadata()]
    assert outcomes.count("gone") == 1
    host.page("/b", text="here again")
    watch_until(crawler, lambda: crawler.status()["watch"]["gone"] == 0)
    assert crawler.why(host.url("/b"))["state"] == "archived"
    assert b"again" in say("show", str(crawler.folder), host.url("/b")).out.encode()


def test_a_page_that_is_missed_once_is_not_gone(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = web.web.host("a.test")
    host.page("/", text="here")
    crawler = crawled(web, tmp_path, host.url("/"))
    host.on(
        "/",
        CannedResponse(**vars_of(html_response("<title>Page /</title>")), before=(not_found(),)),
    )
    before = count(web, "/")
    watch_until(crawler, lambda: count(web, "/") >= before + 3)
    facts = crawler.why(host.url("/"))
    assert facts["state"] == "archived"
    assert "missing" in {visit["state"] for visit in facts["visits"]}
    assert crawler.status()["watch"]["gone"] == 0


def vars_of(answer: CannedResponse) -> dict[str, Any]:
    return {"status": answer.status, "headers": answer.headers, "body": answer.body}


def test_a_page_that_cannot_be_asked_for_is_kept(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = web.web.host("a.test")
    host.page("/", links=["/b"]).page("/b", text="kept")
    crawler = crawled(web, tmp_path, host.url("/"))
    host.on("/b", html_response("oh", status=403))
    watch_until(crawler, more(web, "/b", 2))
    facts = crawler.why(host.url("/b"))
    assert facts["state"] == "archived"
    assert facts["watch"]["misses"] >= 1
    assert b"kept" in say("show", str(crawler.folder), host.url("/b")).out.encode()
    assert crawler.status()["failed"] == {}


def test_the_content_that_a_page_had_no_longer_makes_others_its_copies(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    one, two = web.web.host("a.test"), web.web.host("b.test")
    one.page("/", text="same", title="t", links=[]).page("/go", links=[two.url("/")])
    two.page("/", text="other")
    crawler = crawled(web, tmp_path, one.url("/"))
    one.page("/", text="changed", links=[two.url("/late")])
    two.page("/late", text="same", title="t")
    watch_until(crawler, more(web, "/late", 1))
    watch_until(crawler, more(web, "/late", 1))
    late = crawler.why(two.url("/late"))
    assert late["copy_of"] == ""
    assert b"same" in pages_of(read_archive(crawler.folder), two.url("/late"))[0]


def test_a_watch_needs_a_crawl(tmp_path: Path) -> None:
    ended = say("watch", str(tmp_path))
    assert ended.code == 2
    assert "not a crawl folder" in ended.err
    assert ended.err.count("\n") == 1


def test_a_watch_ends_when_its_time_is_up(web: FakeServer[ScriptedWeb], tmp_path: Path) -> None:
    host = web.web.host("a.test")
    host.page("/", text="x")
    crawler = crawled(web, tmp_path, host.url("/"))
    before = (crawler.folder / "crawl.toml").read_text()
    ended = finish(Child(["watch", str(crawler.folder), "--max-time", "0.5", "--json"])).expect(0)
    assert ended.last_json["reason"] == "max_time"
    assert (crawler.folder / "crawl.toml").read_text() == before


def test_two_shards_watch_all_pages(web: FakeServer[ScriptedWeb], tmp_path: Path) -> None:
    hosts = [web.web.host(f"h{n}.test") for n in range(6)]
    for host in hosts:
        host.page("/", text=host.name, links=[other.url("/") for other in hosts])
    crawler = crawled(web, tmp_path, hosts[0].url("/"))
    seen = {host.name: 0 for host in hosts}
    already = len(web.requests)

    def all_seen() -> bool:
        for host in hosts:
            seen[host.name] = sum(
                v.host == host.name and v.target == "/" for v in web.requests[already:]
            )
        return min(seen.values()) >= 2

    status = watch_until(crawler, all_seen, "--shards", "2")
    assert status["shards"] == 2
    assert status["watch"]["watched"] == 6
    assert status["pages"] == 6


def test_the_archive_of_a_watch_gives_the_state_back(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = web.web.host("a.test")
    host.page("/", text="old", links=["/b", "/c"]).page("/b", text="b").page("/c", text="c")
    crawler = crawled(web, tmp_path, host.url("/"))
    host.page("/", text="new", links=["/b", "/c"]).on("/b", html_response("", status=410))
    watch_until(crawler, lambda: crawler.status()["watch"]["gone"] == 1)
    was = {name: crawler.why(host.url(name)) for name in ("/", "/b", "/c")}
    before = crawler.status()
    (crawler.folder / "state").rename(tmp_path / "lost")
    crawler.ask("build", "state").expect(0)
    after = crawler.status()
    for name in ("pages", "html_pages", "known_urls", "failed", "finished"):
        assert after[name] == before[name], name
    assert after["watch"]["changed"] == before["watch"]["changed"]
    assert after["watch"]["gone"] == 1
    for name, facts in was.items():
        now = crawler.why(host.url(name))
        for fact in ("state", "reason", "depth", "via", "kind", "copy_of"):
            assert now[fact] == facts[fact], (name, fact)
        assert now["watch"]["changes"] == facts["watch"]["changes"]
        assert now["page"] == facts["page"], name


def test_a_page_that_is_blocked_by_now_is_not_revisited_and_stays_stored(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = web.web.host("a.test")
    host.page("/", links=["/bad", "/good"]).page("/bad", text="bad").page("/good", text="good")
    crawler = crawled(web, tmp_path, host.url("/"))
    before = count(web, "/bad")
    status = watch_until(crawler, more(web, "/good", 3), "--block", "http://*/bad")
    assert count(web, "/bad") == before
    assert status["pages"] == 3
    assert crawler.why(host.url("/bad"))["state"] == "archived"
    crawler.say("set", "filter.block=").expect(0)
    watch_until(crawler, more(web, "/bad", 1))
