"""--requisites: what stored pages are made of is fetched from any host; pages there are not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.testing import FakeServer, ScriptedWeb, serve_in_thread
from tests.e2e.crawler import Crawler, flags_for

PICTURE = b"\x89PNG\r\n\x1a\n"
PAGE = (
    '<link rel="stylesheet" href="{cdn}/s.css"><link rel=icon href="{cdn}/i.ico">'
    '<a href="{cdn}/shown.png"><img src="{cdn}/shown.png"></a>'
    '<img srcset="{cdn}/one.png 1x, {cdn}/two.png 2x"><video poster="{cdn}/poster.png"></video>'
    '<picture><source srcset="{cdn}/source.png"></picture><img src="{cdn}/moved.png">'
    '<script src="{cdn}/s.js"></script><img src="{cdn}/error.png"><img src="{cdn}/secret/x.png">'
    '<svg><use href="#here"/><use xlink:href="{cdn}/sprite.svg#icon"/></svg>'
    "<style>/* url(/no.png) */ b {{ content: 'url(/no.png)' }}</style>"
    '<img src="{ads}/pixel.png"><a href="{cdn}/page.html">there</a><a href="/below/">below</a>'
)
OF_CDN = {
    *("/s.css", "/i.ico", "/shown.png", "/one.png", "/two.png", "/poster.png", "/source.png"),
    *("/moved.png", "/s.js", "/error.png", "/imported.css", "/background.png"),
    "/sprite.svg",
}


@pytest.fixture
def web() -> Iterator[FakeServer[ScriptedWeb]]:
    with serve_in_thread(ScriptedWeb()) as server:
        site, cdn, far = (server.web.host(f"{name}.test") for name in ("site", "cdn", "far"))
        ads = server.web.host("ads.test").file("/pixel.png", PICTURE, "image/png")
        places = {"cdn": cdn.url("/").rstrip("/"), "ads": ads.url("/").rstrip("/")}
        site.on("/", PAGE.format(**places))
        nofollow = '<meta name="robots" content="nofollow"><img src="/in.png"><a href="/no">no</a>'
        site.on("/below/", nofollow).file("/in.png", PICTURE + b"in", "image/png").page("/no")
        style = '@import "imported.css"; b { background: url(background.png) }'
        cdn.file("/s.css", style.encode(), "text/css")
        font = far.url("/font.woff2")
        cdn.file("/imported.css", f"@font-face {{ src: url({font}) }}".encode(), "text/css")
        far.file("/font.woff2", b"wOF2", "font/woff2").file("/moved", PICTURE + b"m", "image/png")
        cdn.redirect("/moved.png", to=far.url("/moved"))
        links = [cdn.url("/page.html"), site.url("/from-there")]
        cdn.page("/error.png", links=links, text="no picture").page("/page.html")
        site.page("/from-there")
        cdn.robots("User-agent: *\nDisallow: /secret/\n")
        for target in OF_CDN - {"/s.css", "/imported.css", "/error.png", "/moved.png", "/s.js"}:
            cdn.file(target, PICTURE + target.encode(), "image/png")
        cdn.file("/s.js", b"1;", "text/javascript")
        yield server


def crawler(web: FakeServer[ScriptedWeb], folder: Path, *flags: str) -> Crawler:
    words = flags_for(web.resolve, "--delay", "0", "--no-sitemaps", "--scope", "host")
    words = tuple(word for word in words if word not in {"--allow", "*.test"})
    blocked = ("--block", "ads.test")
    return Crawler(folder / "crawl", (web.web.host("site.test").url(),), (*words, *blocked, *flags))


def asked(web: FakeServer[ScriptedWeb], host: str) -> set[str]:
    return {visit.target for visit in web.requests_to(host)}


def expect_all(web: FakeServer[ScriptedWeb]) -> None:
    assert asked(web, "cdn.test") == OF_CDN
    assert asked(web, "far.test") == {"/font.woff2", "/moved"}
    assert asked(web, "site.test") == {"/", "/below/", "/in.png"}
    assert not web.requests_to("ads.test", with_robots=True)


@pytest.mark.parametrize("shards", ["1", "2"])
def test_requisites_come_from_any_host_and_nothing_else_does(
    web: FakeServer[ScriptedWeb], tmp_path: Path, shards: str
) -> None:
    crawl = crawler(web, tmp_path, "--requisites", "--shards", shards, "--max-depth", "1")
    crawl.run().expect(0)
    expect_all(web)
    crawl.run().expect(0)
    expect_all(web)


def test_why_names_the_page_that_needs_a_requisite(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    crawl = crawler(web, tmp_path, "--requisites", "--shards", "1")
    crawl.run().expect(0)
    cdn, far, site = (web.web.host(f"{name}.test") for name in ("cdn", "far", "site"))
    style = crawl.why(cdn.url("/s.css"))
    assert (style["state"], style["kind"], style["depth"]) == ("archived", "style", 0)
    assert f"It is a requisite of {site.url()}." in style["explanation"]
    font = crawl.why(far.url("/font.woff2"))
    assert (font["kind"], font["via"]) == ("css", cdn.url("/imported.css"))
    assert crawl.why(far.url("/moved"))["kind"] == "embed_redirect"
    assert crawl.why(cdn.url("/secret/x.png"))["reason"] == "robots_disallowed"
    assert crawl.why(web.web.host("ads.test").url("/pixel.png"))["reason"] == "blocked"
    assert crawl.why(cdn.url("/page.html"))["reason"] == "off_scope"
    assert crawl.why(cdn.url("/error.png"))["state"] == "archived"


def test_pages_that_were_stored_before_get_their_requisites(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    crawl = crawler(web, tmp_path, "--shards", "2")
    crawl.run().expect(0)
    assert not web.requests_to("cdn.test", with_robots=True)
    crawl.run("--requisites", "--shards", "1").expect(0)
    expect_all(web)


def test_a_state_that_is_built_again_knows_which_tasks_are_requisites(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    crawl = crawler(web, tmp_path, "--requisites", "--shards", "1")
    crawl.run("--max-pages", "2").expect(0)
    crawl.say("build", "state").expect(0)
    crawl.run("--max-pages", "1000").expect(0)
    expect_all(web)


def test_styles_that_import_each_other_without_an_end_are_left(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = web.web.host("maze.test").on("/", '<link rel="stylesheet" href="/0.css">')
    for number in range(20):
        body = f'@import "{number + 1}.css";'.encode()
        host.file(f"/{number}.css", body, "text/css")
    words = crawler(web, tmp_path, "--requisites", "--shards", "1")
    Crawler(tmp_path / "maze", (host.url(),), words.flags).run().expect(0)
    assert len(asked(web, "maze.test")) == 1 + 8
