"""What sitemaps say of pages: which goes first, how often each changes, and who may say so."""

import time
from pathlib import Path

import pytest

import gossamer
from gossamer.model import as_json
from gossamer.testing import CannedResponse, Request, ScriptedHost, ScriptedWeb, html_response
from gossamer.testing.scripted import ResponseHandler
from tests.integration.threats import Knobs, crawl, serving

XML = "application/xml"
SITEMAPS: Knobs = {"process": {"sitemaps": True}}


def entry(url: str, **said: str) -> str:
    hints = "".join(f"<{name}>{value}</{name}>" for name, value in said.items())
    return f"<url><loc>{url}</loc>{hints}</url>"


def sitemap(*entries: str) -> bytes:
    return f"<urlset>{''.join(entries)}</urlset>".encode()


def with_sitemap(host: ScriptedHost, *entries: str) -> None:
    """Let a host name a sitemap in its robots.txt."""
    host.robots(f"Sitemap: {host.url('/map.xml')}\n").file("/map.xml", sitemap(*entries), XML)


def claims(folder: Path, url: str) -> tuple[str, float | None]:
    watch = gossamer.why(folder, url).watch
    assert watch is not None
    return watch.changefreq, watch.lastmod_at


def test_a_priority_moves_a_page_in_the_default_order(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("a.test").page("/", text="home")
    for n in range(60):
        host.page(f"/{n}", text=f"page {n}")
    with serving(web) as server:
        said = ("0.0", "1.0", "0.5")
        with_sitemap(host, *(entry(host.url(f"/{n}"), priority=said[n % 3]) for n in range(60)))
        crawl(server, tmp_path / "c", host.url(), knobs=SITEMAPS)
    asked = [visit.target[1:] for visit in server.requests if visit.target[1:].isdigit()]
    classes = [said[int(number) % 3] for number in asked]
    assert classes == ["1.0"] * 20 + ["0.5"] * 20 + ["0.0"] * 20


def test_what_a_sitemap_says_is_kept_with_the_page_whichever_came_first(tmp_path: Path) -> None:
    """One page is linked and stored before the sitemap is read; another is only in the sitemap."""
    web = ScriptedWeb()
    host = web.host("a.test").page("/", text="home", links=["/linked", "/map.xml"])
    host.page("/linked", text="linked").page("/listed", text="listed").page("/other", text="other")
    with serving(web) as server:
        host.file(
            "/map.xml",
            sitemap(
                entry(host.url("/"), changefreq="always"),
                entry(host.url("/linked"), changefreq="hourly", lastmod="1970-01-02"),
                entry(host.url("/listed"), lastmod="1970-01-01T00:01:00Z", priority="0.9"),
                entry(host.url("/other"), changefreq="now and then"),
            ),
            XML,
        )
        done = crawl(server, tmp_path / "c", host.url(), knobs={"process": {"sitemaps": False}})
    expected = {
        "/": ("always", None),
        "/linked": ("hourly", 2 * 86_400.0),
        "/listed": ("", 60.0),
        "/other": ("", None),
    }
    assert {path: claims(done.folder, host.url(path)) for path in expected} == expected
    gossamer.build_state(done.folder)
    assert {path: claims(done.folder, host.url(path)) for path in expected} == expected


def test_a_sitemap_says_nothing_of_pages_of_other_hosts(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("a.test").page("/", text="home")
    other = web.host("b.test").page("/", text="other")
    with serving(web) as server:
        with_sitemap(host, entry(other.url(), changefreq="never"))
        done = crawl(server, tmp_path / "c", host.url(), other.url(), knobs=SITEMAPS)
    assert claims(done.folder, other.url()) == ("", None)


@pytest.mark.slow
def test_looks_follow_the_claims_first_and_the_pages_in_the_end(tmp_path: Path) -> None:
    """Nine pages: claimed hourly, weekly or never; changing at each serving, every 3 s, never."""
    web = ScriptedWeb()
    host = web.host("a.test").page("/", text="home")
    words = ("hourly", "weekly", "never")
    served: list[str] = []

    def page(name: str, gap_s: float) -> ResponseHandler:
        def answer(_request: Request) -> CannedResponse:
            served.append(name)
            edition = len(served) if not gap_s else int(time.time() / gap_s)
            return html_response(f"<title>{name}</title><p>edition {edition}</p>")

        return answer

    gaps = {"fast": 0.0, "medium": 3.0, "slow": 1e12}
    names = [f"/{word}-{true}" for word in words for true in gaps]
    for name in names:
        host.on(name, page(name, gaps[name.partition("-")[2]]))
    with serving(web) as server:
        said = [
            entry(host.url(name), changefreq=name[1:].partition("-")[0], priority="0.5")
            for name in names
        ]
        with_sitemap(host, *said)
        knobs: Knobs = {**SITEMAPS, "watch": {"rate_per_s": 20.0}}
        crawl(server, tmp_path / "c", host.url(), knobs=knobs)
        before = len(served)
        running = gossamer.Crawl(tmp_path / "c")
        running.watch(60.0, lambda _status: running.stop() if len(served) > before + 150 else None)
    told = {name: as_json(gossamer.why(tmp_path / "c", host.url(name)))["watch"] for name in names}
    every = {name: found["changes_every_s"] for name, found in told.items()}
    for word in words:
        assert told[f"/{word}-fast"]["changes"] >= 3
        assert every[f"/{word}-fast"] < every[f"/{word}-slow"] / 5
        assert every[f"/{word}-fast"] < 60.0
    for true in gaps:  # what was claimed of them no longer matters
        found = [every[f"/{word}-{true}"] for word in words]
        assert max(found) < 20 * min(found)


@pytest.mark.slow
def test_a_page_that_changes_every_two_seconds_is_believed_to_do_so(tmp_path: Path) -> None:
    """It is one of five, and nothing is known before: a change in 150 days is the prior."""
    web = ScriptedWeb()
    host = web.host("a.test")
    asked: list[float] = []

    def clock(_request: Request) -> CannedResponse:
        asked.append(time.time())
        return html_response(f"<title>clock</title><p>{int(time.time() / 2)}</p>")

    with serving(web) as server:
        host.page("/", text="home", links=["/1", "/2", "/3", "/clock"])
        for n in range(1, 4):
            host.page(f"/{n}", text=f"page {n}")
        host.on("/clock", clock)
        crawl(server, tmp_path / "c", host.url(), knobs={"watch": {"rate_per_s": 4.0}})
        running = gossamer.Crawl(tmp_path / "c")
        promised: list[float | None] = []

        def look(status: gossamer.Status) -> None:
            promised.append(status.watch.expected_freshness)
            if len(asked) >= 16 and asked[-1] - asked[0] > 12.0:
                running.stop()

        ending = running.watch(90.0, look)
    found = as_json(gossamer.why(tmp_path / "c", host.url("/clock")))["watch"]
    assert found["changes"] >= 3
    assert 0.2 < found["changes_every_s"] < 30.0
    assert promised[0] is None
    assert ending.status.watch.expected_freshness != 1.0
