"""The console as a person has it: in a browser, on a phone, in the dark, beside a running crawl."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

import gossamer
from gossamer.testing import ScriptedWeb, serve_in_thread
from tests.browser.chromium import Look, Window, window
from tests.browser.site import HARM_PATH, LIVE_PATH
from tests.e2e.crawler import Crawler, flags_for, wait_until
from tests.unit.web.served import Served, serving

PAGES = (
    "crawl",
    "crawl/hosts",
    "crawl/host?host=127.0.0.1",
    "crawl/problems",
    "crawl/urls?state=archived",
    "crawl/changes?since=2020-01-01",
    "crawl/copies",
    "crawl/queries",
    "crawl/seeds",
    "crawl/rules",
)
SERIOUS = {"serious", "critical"}
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d494844520000000100000001080600000"
    "01f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)


@pytest.fixture
def seen(browser: Browser, server: Served) -> Iterator[Window]:
    with window(browser, server.address) as found:
        yield found
        assert found.noises == []


def settle(seen: Window, path: str) -> None:
    seen.go(path)
    seen.page.wait_for_selector("[data-again]", state="detached")


def url_of(server: Served, path: str) -> str:
    pages = gossamer.open(server.folder).pages()
    return next(page.url for page in pages if page.url.endswith(path))


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("is_dark", [False, True])
def test_every_page_fits_its_window_and_has_no_serious_finding_of_axe(
    browser: Browser, server: Served, width: int, *, is_dark: bool
) -> None:
    found: list[str] = []
    url = quote(url_of(server, "/spiders/3.html"), safe="")
    pages = (*PAGES, f"page?url={url}", f"copy?form=view&url={url}")
    with window(browser, server.address, Look(width, 900, is_dark=is_dark)) as seen:
        for path in pages:
            settle(seen, path)
            assert seen.too_wide_by() <= 0, path
            results = Axe().run(seen.page)
            found += [
                f"{path}: {one['id']}: {one['nodes'][0]['html'][:160]}"
                for one in results.response["violations"]
                if one["impact"] in SERIOUS
            ]
        assert seen.noises == []
    assert sorted(set(found)) == []


def test_a_stored_page_that_would_act_is_shown_and_cannot(browser: Browser, server: Served) -> None:
    with window(browser, server.address) as seen:
        for path in (LIVE_PATH, HARM_PATH):
            seen.go(f"copy?form=view&url={quote(url_of(server, path), safe='')}")
            assert seen.page.frame_locator("iframe.stored").locator("h1").count() == 1
            seen.page.wait_for_load_state("networkidle")
            assert seen.page.frames[1].title() != "ran"
            assert urlsplit(seen.page.url).path == "/copy"
        kinds = {noise.partition(":")[0] for noise in seen.noises}
    assert not kinds & {"dialog", "popup", "request"}


def test_styles_and_pictures_of_a_stored_page_come_from_the_archive(
    browser: Browser, tmp_path: Path
) -> None:
    with serve_in_thread(ScriptedWeb()) as web:
        site, cdn = web.web.host("site.test"), web.web.host("cdn.test")
        style, picture = cdn.url("/s.css"), cdn.url("/p.png")
        html = (
            f'<title>t</title><link rel=stylesheet href="{style}"><h1>Styled</h1>'
            f'<img src="{picture}"><a href="/other">other</a>'
        )
        site.on("/", html).page("/other", text="the other page")
        cdn.file("/s.css", b"h1 { color: rgb(1, 2, 3) }", "text/css")
        cdn.file("/p.png", PIXEL, "image/png")
        words = flags_for(web.resolve, "--delay", "0", "--requisites", "--shards", "1")
        crawler = Crawler(tmp_path / "crawl", (site.url(),), (*words, "--scope", "host"))
        crawler.run().expect(0)
        seed = site.url()
    with (
        serving(crawler.folder, "--no-build") as server,
        window(browser, server.address) as seen,
    ):
        seen.go(f"copy?form=view&url={quote(seed, safe='')}")
        inner = seen.page.frames[1]
        inner.wait_for_load_state()
        color = inner.evaluate("getComputedStyle(document.querySelector('h1')).color")
        assert color == "rgb(1, 2, 3)"
        assert inner.evaluate("document.querySelector('img').naturalWidth") == 1
        inner.click("a")
        inner.wait_for_selector("text=the other page")
        assert seen.noises == []


def test_figures_of_a_running_crawl_move_and_buttons_stop_it(
    browser: Browser, tmp_path: Path
) -> None:
    with serve_in_thread(ScriptedWeb()) as web:
        site = web.web.host("site.test").page("/", links=[f"/{n}" for n in range(200)])
        for number in range(200):
            site.page(f"/{number}", text=f"number {number}")
        words = flags_for(web.resolve, "--delay", "0.2", "--no-sitemaps", "--shards", "1")
        crawler = Crawler(tmp_path / "crawl", (site.url(),), words)
        with crawler.running() as process:
            wait_until(lambda: len(web.requests) > 3, process)
            with (
                serving(crawler.folder, "--no-build") as server,
                window(browser, server.address) as seen,
            ):
                seen.go("crawl")
                pages = seen.page.locator("[data-live=pages]")
                before = int(pages.inner_text())
                wait_until(lambda: int(pages.inner_text()) > before, process)
                seen.page.get_by_role("button", name="Pause").click()
                seen.page.get_by_role("button", name="Resume").wait_for()
                assert "Paused" in seen.texts(".state")[0]
                wait_until(lambda: not crawler.status()["in_flight"], process)
                asked = len(web.requests)
                time.sleep(1.0)
                assert len(web.requests) == asked
                status = crawler.status()
                seen.go("crawl")
                assert int(pages.inner_text()) == status["pages"]
                seen.page.get_by_role("button", name="Resume").click()
                wait_until(lambda: len(web.requests) > asked, process)
                seen.page.get_by_role("button", name="Stop").click()
                seen.page.wait_for_selector(".meant")
                assert re.search("Stopped|is stopping", seen.texts(".meant")[0])
                assert seen.noises == []
            wait_until(lambda: process.poll() is not None)
            assert process.returncode == 3


def told(seen: Window) -> str:
    seen.page.wait_for_selector(".meant")
    return seen.texts(".meant")[0]


def test_what_the_command_line_steers_the_pages_steer_as_well(
    browser: Browser, tmp_path: Path
) -> None:
    with serve_in_thread(ScriptedWeb()) as web:
        site, other = web.web.host("site.test"), web.web.host("other.test")
        site.page("/", links=[f"/{kind}/{n}" for kind in ("a", "private") for n in range(3)])
        for n in range(3):
            site.page(f"/a/{n}", text=f"number {n}").page(f"/private/{n}", text=f"private {n}")
        other.page("/", text="another")
        words = flags_for(web.resolve, "--delay", "0", "--no-sitemaps", "--shards", "1")
        crawler = Crawler(tmp_path / "crawl", (site.url(), site.url("/none")), words)
        crawler.run("--max-pages", "2").expect(0)
        crawl = gossamer.open(crawler.folder)
        with (
            serving(crawler.folder, "--no-build") as server,
            window(browser, server.address) as seen,
        ):
            seen.go("crawl/rules")
            seen.page.get_by_label("Setting").select_option("limits.max_pages")
            seen.page.get_by_label("Value").fill("50")
            seen.page.get_by_role("button", name="Set").click()
            assert "limits.max_pages: 2 -> 50" in told(seen)
            assert crawl.config().limits.max_pages == 50
            seen.go("crawl/rules")
            seen.page.get_by_label("Host or URL pattern").fill("*/private/*")
            seen.page.get_by_role("button", name="Drop").click()
            assert "Dropped: */private/*" in told(seen)
            assert crawl.config().filter.drop == ("*/private/*",)
            assert not [row for row in crawl.urls(states=["queued"]) if "/private/" in row.url]
            seen.page.get_by_role("button", name="Undo").click()
            seen.page.wait_for_selector("text=dropped no longer")
            assert crawl.config().filter.drop == ()
            seen.go("crawl/seeds")
            seen.page.get_by_label("URLs, with blanks").fill(other.url())
            seen.page.get_by_label("Label").fill("news")
            seen.page.get_by_label("Scope").select_option("host")
            seen.page.get_by_role("button", name="Add").click()
            assert told(seen) == "Added: 1 seed."
            assert crawl.config().seed_labels == {other.url(): "news"}
            assert "host" in {table.scope for table in crawl.config().host.values()}
            failed = site.url("/none")
            seen.go(f"page?url={quote(failed, safe='')}")
            if crawl.why(failed).state == "failed":
                seen.page.get_by_role("button", name="Retry").click()
                assert told(seen) == "Queued again: 1 URL."
            seen.go(f"page?url={quote(site.url('/a/1'), safe='')}")
            seen.page.get_by_role("button", name="Drop").click()
            assert "Dropped:" in told(seen)
            assert crawl.why(site.url("/a/1")).filter is not None
            assert seen.noises == []
        crawler.run().expect(0)
        assert other.url() in {page.url for page in crawl.pages()}
        assert site.url("/a/1") not in {row.url for row in crawl.table("pages").rows()}


def test_a_form_of_another_site_changes_nothing(browser: Browser, server: Served) -> None:
    with window(browser, server.address) as seen:
        seen.go("crawl")
        secret = seen.page.locator("input[name=secret]").first.get_attribute("value")
        before = (server.folder / "crawl.toml").read_bytes()
        for action in ("pause", "stop", "set", "trust", "retry", "add", "drop", "block"):
            fields = {"action": action, "secret": secret, "pattern": "x.test", "seeds": "http://x/"}
            fields |= {"name": "limits.max_pages", "value": "1", "host": "x.test"}
            inputs = "".join(f'<input name="{n}" value="{v}">' for n, v in fields.items())
            seen.page.goto("about:blank")
            seen.page.set_content(
                f'<form method="post" action="{server.address}crawl/do">{inputs}'
                '<button id="go">go</button></form>'
            )
            with seen.page.expect_navigation():
                seen.page.click("#go")
            assert "changes are made from pages of this server only" in seen.page.content(), action
    assert gossamer.open(server.folder).status().paused == ""
    assert (server.folder / "crawl.toml").read_bytes() == before


def test_from_problems_a_url_is_reached_and_from_a_result_its_details(seen: Window) -> None:
    settle(seen, "crawl/urls?state=archived")
    seen.page.locator("td a").first.click()
    seen.page.wait_for_selector(".known")
    seen.page.get_by_role("link", name="stored copy").click()
    seen.page.wait_for_selector("iframe.stored")
    seen.go("search?q=spider")
    seen.page.locator(".facts a", has_text="details").first.click()
    seen.page.wait_for_selector(".known")
