"""A mirror opens by file:// in a browser: its pages lead to each other, with styles and images."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser, Page

from gossamer.testing import ScriptedWeb, serve_in_thread
from tests.e2e.crawler import Crawler, flags_for, say

PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d494844520000000100000001080600000"
    "01f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)
FRONT = """<!doctype html><title>front</title>
<link rel="stylesheet" href="{cdn}/style" integrity="sha384-xyz" crossorigin="anonymous">
<h1>front</h1><img id=one src="{cdn}/one?size=2"><img id=two srcset="{cdn}/two.png 1x">
<a id=query href="/list?page=2#end">2</a><a id=moved href="/old">moved</a>
<a id=folder href="/a">a</a><a href="/a/">a/</a><a id=based href="/based/x">base</a>
<a id=letters href="/letters">letters</a><a id=away href="/not/stored">away</a>
<a id=case href="/A">A</a><iframe id=local src="file:///etc/passwd"></iframe>
<a id=up href="../..//up%2F..%2Fx">up</a>"""


@pytest.fixture(scope="module")
def mirror(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    del browser  # where there is none, nothing has to be crawled
    folder = tmp_path_factory.mktemp("mirrored")
    with serve_in_thread(ScriptedWeb()) as server:
        site, cdn = server.web.host("site.test"), server.web.host("cdn.test")
        site.on("/", FRONT.format(cdn=cdn.url("/").rstrip("/"))).redirect("/old", to="/new#x")
        site.page("/list?page=2", links=["/"]).page("/new").page("/a").page("/a/").page("/A")
        site.page("//up%2F..%2Fx")
        base = '<base href="/a/"><a id=there href="">there</a><a id=here href="/based/x#h">here</a>'
        site.on("/based/x", base)
        letters = (
            "<title>\u0431\u0443\u043a\u0432\u044b</title><p>\u0431\u0443\u043a\u0432\u044b</p>"
        )
        site.file("/letters", letters.encode("koi8-r"), "text/html; charset=koi8-r")
        style = "h1 { color: rgb(1, 2, 3); background: url('two.png') }"
        cdn.file("/style", style.encode(), "text/css")
        cdn.file("/one?size=2", PICTURE, "image/png").file("/two.png", PICTURE, "image/png")
        site.robots("User-agent: *\nDisallow: /not/\n")
        words = flags_for(server.resolve, "--delay", "0", "--requisites", "--shards", "1")
        Crawler(folder / "crawl", (site.url(),), (*words, "--scope", "host")).run().expect(0)
    for _ in range(2):  # the second takes the place of the first
        say(
            "export", str(folder / "crawl"), "--format", "mirror", "--to", str(folder / "m")
        ).expect(0)
    return folder / "m"


def opened(browser: Browser, path: Path) -> Page:
    page = browser.new_page()
    page.goto(path.as_uri(), wait_until="load")
    return page


def front_of(mirror: Path) -> Path:
    [found] = mirror.glob("site.test_*/index.html")
    return found


def test_styles_and_images_of_other_hosts_are_in_place(browser: Browser, mirror: Path) -> None:
    page = opened(browser, front_of(mirror))
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(1, 2, 3)"
    assert page.evaluate("document.getElementById('local').src") == "about:blank"
    for name in ("one", "two"):
        assert page.evaluate(f"document.getElementById('{name}').naturalWidth") == 1


def test_every_link_to_a_stored_page_leads_to_its_file(browser: Browser, mirror: Path) -> None:
    page = opened(browser, front_of(mirror))
    hrefs = page.evaluate("[...document.querySelectorAll('a')].map(a => [a.id, a.href])")
    away = dict(hrefs).pop("away")
    assert away.startswith("http://site.test:")
    assert away.endswith("/not/stored")
    for name, href in hrefs:
        if name != "away":
            path = Path(unquote(urlsplit(href).path))
            assert path.is_file(), href
            assert path.is_relative_to(mirror)
    assert dict(hrefs)["query"].endswith("#end")
    page.click("#moved")
    assert page.title() == "Page /new"


def test_a_base_no_longer_decides(browser: Browser, mirror: Path) -> None:
    [path] = mirror.glob("site.test_*/based/x.html")
    page = opened(browser, path)
    hrefs = dict(page.evaluate("[...document.querySelectorAll('a')].map(a => [a.id, a.href])"))
    assert hrefs["here"] == f"{path.as_uri()}#h"
    assert not page.evaluate("document.querySelector('base').hasAttribute('href')")


def test_an_encoding_that_only_the_server_said_is_kept(browser: Browser, mirror: Path) -> None:
    [path] = mirror.glob("site.test_*/letters.html")
    page = opened(browser, path)
    assert page.title() == page.inner_text("p") == "\u0431\u0443\u043a\u0432\u044b"


def test_its_front_page_leads_to_the_seed(browser: Browser, mirror: Path) -> None:
    page = opened(browser, mirror / "index.html")
    page.wait_for_url(front_of(mirror).as_uri())
    assert page.title() == "front"


def test_a_folder_that_is_no_mirror_is_not_replaced(mirror: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    told = say("export", str(mirror.parent / "crawl"), "--format", "mirror", "--to", str(tmp_path))
    assert "is no mirror" in told.expect(2).err
    assert (tmp_path / "mine").read_text() == "mine"
