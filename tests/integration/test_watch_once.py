"""One round of revisits: what is due, each page once, what is new besides, then the end."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.testing import FakeServer, ScriptedWeb, html_response, serve_in_thread
from tests.e2e.crawler import Crawler, finish, flags_for, write_knobs
from tests.e2e.nursery import Child

ALL_DUE = {"rate_per_s": 100_000.0, "confirm_s": 0.0, "confirm_gone_s": 0.0, "lost_s": 0.0}
"""So many requests a second that every page is due again at once."""


@pytest.fixture
def web() -> Iterator[FakeServer[ScriptedWeb]]:
    with serve_in_thread(ScriptedWeb()) as server:
        yield server


def crawled(
    server: FakeServer[ScriptedWeb], folder: Path, seed: str, *flags: str, **knobs: float
) -> Crawler:
    path = write_knobs(folder / "knobs.toml", {"watch": ALL_DUE | knobs})
    words = flags_for(server.resolve, "--delay", "0", "--config", str(path), *flags)
    crawler = Crawler(folder / "crawl", (seed,), words)
    crawler.run().expect(0)
    return crawler


def once(crawler: Crawler, *flags: str) -> dict[str, Any]:
    words = ["watch", str(crawler.folder), "--once", "--json", *flags]
    return finish(Child(words)).expect(0).last_json


def asked(server: FakeServer[ScriptedWeb], since: int) -> list[str]:
    found = [visit.target for visit in server.requests[since:]]
    return sorted(target for target in found if target != "/robots.txt")


@pytest.mark.parametrize("shards", ["1", "2"])
def test_a_round_revisits_each_page_once_and_ends(
    web: FakeServer[ScriptedWeb], tmp_path: Path, shards: str
) -> None:
    hosts = [web.web.host(f"h{n}.test") for n in range(4)]
    for host in hosts:
        host.page("/", links=[f"/{n}" for n in range(8)] + [other.url("/") for other in hosts])
        for n in range(8):
            host.page(f"/{n}", text=f"{host.name} page {n}")
    crawler = crawled(web, tmp_path, hosts[0].url("/"), "--scope", "any", "--shards", shards)
    before = len(web.requests)
    hosts[1].page("/3", text="other words", links=["/new"]).page("/new", text="a new page")
    told = once(crawler)
    assert told["reason"] == "finished"
    assert told["round"] == {
        "visits": 36,
        "changed": 1,
        "unchanged": 35,
        "gone": 0,
        "new_pages": 1,
    }
    wanted = sorted(["/", *(f"/{n}" for n in range(8))] * 4 + ["/new"])
    assert asked(web, before) == wanted


def test_pages_that_are_not_due_are_left_alone(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = web.web.host("a.test")
    host.page("/", links=["/b"]).page("/b", text="b")
    crawler = crawled(web, tmp_path, host.url("/"), "--shards", "1", rate_per_s=0.001)
    before = len(web.requests)
    told = once(crawler)
    assert (told["reason"], told["round"]["visits"]) == ("finished", 0)
    assert asked(web, before) == []


def test_a_round_of_a_full_crawl_stores_no_new_pages_and_ends(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = web.web.host("a.test")
    host.page("/", links=[f"/{n}" for n in range(9)])
    for n in range(9):
        host.page(f"/{n}", text=f"page {n}")
    told = once(crawled(web, tmp_path, host.url("/"), "--max-pages", "4", "--shards", "2"))
    assert (told["reason"], told["pages"]) == ("max_pages", 4)
    assert told["round"]["visits"] == 4


def test_a_round_does_not_wait_for_a_host_that_is_down_and_the_next_one_asks_it_again(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    here, down = web.web.host("here.test"), web.web.host("down.test")
    here.page("/", text="here", links=[down.url("/")])
    pages = [f"/{n}" for n in range(9)]

    def serve() -> None:
        down.page("/", links=pages)
        for page in pages:
            down.page(page, text=f"page {page}")

    serve()
    crawler = crawled(web, tmp_path, here.url("/"), "--scope", "any", "--shards", "1")
    for page in ("/", *pages):
        down.on(page, html_response("oh", status=503))
    told = once(crawler)
    assert told["reason"] == "finished"
    assert told["round"]["unchanged"] == 1
    assert crawler.status()["finished"]
    serve()
    assert once(crawler)["round"]["unchanged"] >= len(pages) - 1


def test_a_round_of_a_site_with_a_sitemap_ends_and_is_told_on_the_screen(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = web.web.host("a.test")
    host.page("/", text="home").page("/b", text="b").page("/c", text="c")

    def sitemap(*pages: str) -> None:
        urls = (f"<url><loc>{host.url(one)}</loc></url>" for one in pages)
        host.file("/sitemap.xml", f"<urlset>{''.join(urls)}</urlset>".encode(), "application/xml")

    sitemap("/b")
    host.robots(f"Sitemap: {host.url('/sitemap.xml')}")
    crawler = crawled(web, tmp_path, host.url("/"), "--shards", "1")
    sitemap("/b", "/c")
    told = finish(Child(["watch", str(crawler.folder), "--once"])).expect(0).out
    assert "Every page that was due was revisited" in told
    assert "this round: 3 revisits, 1 changed, 2 unchanged, 0 gone · 1 new page" in told
