"""Sitemaps: they end, they are no pages, and one that nobody has named may be missing."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

import gossamer
from gossamer.crawl.sitemaps import FREE_SITEMAPS
from gossamer.testing import (
    CannedResponse,
    ScriptedHost,
    ScriptedWeb,
    html_response,
)
from gossamer.testing.scripted import ResponseHandler
from tests.integration.threats import Done, Knobs, crawl, serving

XML = "application/xml"
SITEMAPS: Knobs = {"process": {"sitemaps": True}}
HONEST = 600
WIDTH = 30


def index(*urls: str) -> bytes:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f"<sitemapindex>{entries}</sitemapindex>".encode()


def pages(*urls: str) -> bytes:
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return f"<urlset>{entries}</urlset>".encode()


def xml(body: bytes) -> CannedResponse:
    return CannedResponse(headers=(("Content-Type", XML),), body=body)


# Endless ones


def indexes(host: ScriptedHost, numbers: Iterator[int]) -> ResponseHandler:
    """Answer every URL with an index of fresh indexes."""
    return lambda _: xml(index(*(host.url(f"/map?{next(numbers)}") for _ in range(WIDTH))))


def lone_pages(host: ScriptedHost, numbers: Iterator[int]) -> ResponseHandler:
    """Answer with an index of fresh sitemaps, and these with one fresh page each."""
    urls = indexes(host, numbers)
    return lambda request: (
        xml(pages(host.url(f"/lone?{next(numbers)}"))) if "?" in request.target else urls(request)
    )


def wide(host: ScriptedHost, _numbers: Iterator[int]) -> ResponseHandler:
    """Answer with an index of 1,000 sitemaps that name nothing."""
    urls = [host.url(f"/map?{n}") for n in range(1_000)]
    return lambda request: xml(pages() if "?" in request.target else index(*urls))


def disguised(host: ScriptedHost, numbers: Iterator[int]) -> ResponseHandler:
    """Answer with a sitemap that names fresh sitemaps as if they were pages."""
    return lambda _: xml(pages(*(host.url(f"/map?{next(numbers)}") for _ in range(5))))


ENDLESS: list[Callable[[ScriptedHost, Iterator[int]], ResponseHandler]] = [
    indexes,
    lone_pages,
    wide,
    disguised,
]


@pytest.mark.parametrize("place", ["beside the pages", "on another host"])
@pytest.mark.parametrize("endless", ENDLESS, ids=lambda made: made.__name__)
def test_endless_sitemaps_cost_a_small_share_of_the_requests(
    endless: Callable[[ScriptedHost, Iterator[int]], ResponseHandler], place: str, tmp_path: Path
) -> None:
    web = ScriptedWeb()
    honest = web.host("honest.test")
    trap = honest if place == "beside the pages" else web.host("trap.test").page("/", text="trap")
    trap.on("/map", endless(trap, count(1))).on("/lone", html_response("<p>A page.</p>"))
    trap.robots(f"Sitemap: {trap.url('/map')}\n")
    with serving(web) as server:
        elsewhere = [] if trap is honest else [trap.url()]
        honest.page("/", text="home", links=["/0", *elsewhere])
        for n in range(HONEST):
            honest.page(f"/{n}", text=f"page {n}", links=[f"/{2 * n + 1}", f"/{2 * n + 2}"])
        done = crawl(server, tmp_path / "c", honest.url(), knobs=SITEMAPS)
    assert done.ending.reason == "finished"
    asked = [visit.target for visit in server.requests]
    last = max(at for at, target in enumerate(asked) if target[1:].isdigit())
    assert sum(target[1:].isdigit() and int(target[1:]) < HONEST for target in asked) == HONEST
    before = sum(target.startswith("/map") for target in asked[:last])
    assert before <= 0.2 * last
    everything = sum(target.startswith("/map") for target in asked)
    assert everything <= 1.5 * FREE_SITEMAPS
    assert done.ending.status.sitemaps == everything


def test_why_tells_that_a_host_has_had_enough_sitemaps(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("trap.test").page("/", text="trap")
    host.on("/map", wide(host, count(1))).robots(f"Sitemap: {host.url('/map')}\n")
    with serving(web) as server:
        host.on("/map", wide(host, count(1)))
        done = crawl(server, tmp_path / "c", host.url(), knobs=SITEMAPS)
    refused = done.ending.status.refused["sitemap_limit"]
    assert refused == 1_001 - FREE_SITEMAPS
    told = done.why(host.url("/map?999"))
    assert (told["state"], told["reason"]) == ("refused", "sitemap_limit")
    assert f"{FREE_SITEMAPS} sitemaps of trap.test have named 0 new pages" in told["detail"]


def test_an_honest_index_of_many_sitemaps_is_read_to_its_end(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("honest.test").page("/", text="home").page("/p", text="page")
    names = [f"/map?{n}" for n in range(FREE_SITEMAPS + 20)]
    with serving(web) as server:
        host.robots(f"Sitemap: {host.url('/index.xml')}\n")
        host.file("/index.xml", index(*map(host.url, names)), XML)
        for number, name in enumerate(names):
            urls = [host.url(f"/p?{number}-{n}") for n in range(5)]
            host.on(name, xml(pages(*urls)))
        done = crawl(server, tmp_path / "c", host.url(), knobs=SITEMAPS)
    assert done.ending.status.sitemaps == len(names) + 1
    assert done.ending.status.pages == 1 + 5 * len(names)


# No pages


def site_with_index(web: ScriptedWeb) -> ScriptedHost:
    """Return a host of twelve pages; seven of them are only in its two sitemaps."""
    host = web.host("site.test").page("/", text="home", links=[f"/{n}" for n in range(4)])
    for n in range(11):
        host.page(f"/{n}", text=f"page {n}")
    host.robots(f"Sitemap: {host.url('/index.xml')}\n")
    host.file("/index.xml", index(host.url("/one.xml"), host.url("/two.xml")), XML)
    host.file("/one.xml", pages(*(host.url(f"/{n}") for n in range(4, 8))), XML)
    return host.file("/two.xml", pages(*(host.url(f"/{n}") for n in range(8, 11))), XML)


@pytest.mark.parametrize("most", [1, 5, 11])
def test_sitemaps_use_up_none_of_the_pages_of_a_limit(most: int, tmp_path: Path) -> None:
    web = ScriptedWeb()
    with serving(web) as server:
        host = site_with_index(web)
        knobs = {**SITEMAPS, "limits": {"max_pages": most}}
        done = crawl(server, tmp_path / "c", host.url(), knobs=knobs)
    status = done.ending.status
    assert done.ending.reason == "max_pages"
    assert status.pages == most
    stored = [record for record in done.archive.of_kind("response") if ".xml" in record.url]
    assert status.sitemaps == len(stored)


def test_sitemaps_are_stored_and_counted_apart_also_in_a_rebuilt_state(tmp_path: Path) -> None:
    web = ScriptedWeb()
    with serving(web) as server:
        host = site_with_index(web)
        done = crawl(server, tmp_path / "c", host.url(), knobs=SITEMAPS)
    before = done.ending.status
    assert (before.pages, before.html_pages, before.sitemaps) == (12, 12, 3)
    assert {record.url for record in done.archive.of_kind("response")} >= {
        host.url(f"/{name}.xml") for name in ("index", "one", "two")
    }
    rebuilt = gossamer.build_state(tmp_path / "c")
    after = gossamer.open(tmp_path / "c").status()
    assert rebuilt.pages == 12
    assert (after.pages, after.html_pages, after.sitemaps) == (12, 12, 3)
    assert (after.refused, after.failed) == (before.refused, before.failed)


# One that nobody has named


def probed(web: ScriptedWeb, tmp_path: Path, host: ScriptedHost) -> Done:
    with serving(web) as server:
        return crawl(server, tmp_path / "c", host.url(), knobs=SITEMAPS)


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (html_response("<p>No such page.</p>", status=404), "not_found"),
        (html_response("<p>Go away.</p>", status=403), "403"),
        (html_response("<p>We are broken.</p>", status=500), "500"),
        (html_response("<title>Welcome</title><p>Home again.</p><a href=/lost>x</a>"), "text/html"),
        (CannedResponse(headers=(("Content-Type", "text/plain"),), body=b"none"), "text/plain"),
    ],
    ids=["404", "403", "500", "page", "text"],
)
def test_a_sitemap_that_nobody_has_named_may_be_missing(
    answer: CannedResponse, detail: str, tmp_path: Path
) -> None:
    web = ScriptedWeb()
    host = web.host("bare.test").page("/", text="home").on("/sitemap.xml", answer)
    done = probed(web, tmp_path, host)
    status = done.ending.status
    assert (status.pages, status.sitemaps, status.failed) == (1, 0, {})
    assert status.refused == {"no_sitemap": 1}
    told = done.why(host.url("/sitemap.xml"))
    assert (told["state"], told["reason"]) == ("refused", "no_sitemap")
    assert detail in told["detail"]
    assert [record.url for record in done.archive.of_kind("response")] == [host.url()]
    gossamer.build_state(tmp_path / "c")
    after = gossamer.open(tmp_path / "c").status()
    assert (after.pages, after.refused, after.failed) == (1, {"no_sitemap": 1}, {})


def test_a_probe_that_is_redirected_to_nothing_is_no_failure_and_to_a_page_finds_it(
    tmp_path: Path,
) -> None:
    web = ScriptedWeb()
    host = web.host("bare.test").page("/", text="home").redirect("/sitemap.xml", to="/error")
    other = web.host("other.test").page("/", text="home").redirect("/sitemap.xml", to="/start")
    other.page("/start", text="start here")
    with serving(web) as server:
        done = crawl(server, tmp_path / "c", host.url(), other.url(), knobs=SITEMAPS)
    assert done.ending.status.failed == {}
    assert done.fate(host.url("/error")) == ("refused", "no_sitemap")
    assert done.fate(other.url("/start"))[0] == "archived"


def test_a_sitemap_that_robots_txt_names_and_that_is_missing_is_a_failure(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("bare.test").page("/", text="home").robots("Sitemap: /sitemap.xml\n")
    done = probed(web, tmp_path, host)
    assert done.ending.status.failed == {"not_found": 1}
    assert done.fate(host.url("/sitemap.xml")) == ("failed", "not_found")


def test_a_sitemap_that_nobody_has_named_is_read_if_it_is_there(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("a.test").page("/", text="home").page("/listed", text="listed")
    feed = web.host("b.test").page("/", text="home b").page("/listed", text="listed b")
    with serving(web) as server:
        host.file("/sitemap.xml", pages(host.url("/listed")), XML)
        body = f"<rss><channel><item><link>{feed.url('/listed')}</link></item></channel></rss>"
        feed.file("/sitemap.xml", body.encode(), "application/rss+xml")
        done = crawl(server, tmp_path / "c", host.url(), feed.url(), knobs=SITEMAPS)
    assert [done.fate(one.url("/listed"))[0] for one in (host, feed)] == ["archived"] * 2
    assert done.ending.status.sitemaps == 1
