"""`gossamer report`: what it says of a site whose every fault is known."""

import json
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

import gossamer
from gossamer.cli.app import parse_and_run
from gossamer.testing import ScriptedWeb
from tests.integration.threats import serving, settings
from tests.unit.dedupe.prose import prose

GOLDEN = Path(__file__).parents[1] / "golden" / "v0.1" / "crawl"
NASTY = "<script>alert(1)</script>"


def titled(title: str, seed: int, *links: str) -> str:
    body = " ".join(prose(seed, 150)) + "".join(f'<a href="{link}">x</a>' for link in links)
    return f"<html><title>{title}</title><p>{body}</p></html>"


def scripted() -> ScriptedWeb:
    web = ScriptedWeb()
    host, other = web.host("a.test"), web.host("b.test")
    links = ("/one", "/two", "/none", "/hop1", "/loop1", "/gone", "/secret/x", "/copy")
    host.on("/", titled("Home", 1, *links, "/file.txt", other.url()))
    host.on("/one", titled("Same title", 2, "/deep"))
    host.on("/two", titled("Same  title", 3))
    host.on("/none", titled("", 4, "/none"))
    host.on("/deep", titled("&lt;script&gt;alert(1)&lt;/script&gt;", 5))
    host.on("/copy", titled("Same title", 2, "/deep"))
    host.on("/lonely", titled("Lonely", 6, "/lonely"))
    host.redirect("/hop1", to="/hop2").redirect("/hop2", to="/hop3").redirect("/hop3", to="/one")
    host.redirect("/loop1", to="/loop2").redirect("/loop2", to="/loop1")
    host.file("/file.txt", b"plain words " * 30, "text/plain")
    host.robots(f"User-agent: *\nDisallow: /secret/\nSitemap: {host.url('/map.xml')}\n")
    named = "".join(f"<url><loc>{host.url(path)}</loc></url>" for path in ("/lonely", "/one"))
    host.file("/map.xml", f"<urlset>{named}</urlset>".encode(), "application/xml")
    other.on("/", titled(f"Other {NASTY}", 7))
    return web


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("report") / "crawl"
    with serving(scripted()) as server:
        config = settings(server, {"process": {"sitemaps": True}})
        gossamer.Crawl(place, [server.web.host("a.test").url()], config).run()
        yield place


@pytest.fixture(scope="module")
def found(folder: Path) -> gossamer.SiteReport:
    return gossamer.open(folder).report()


def path_of(url: str) -> str:
    return "/" + url.split("/", 3)[3]


def test_totals_are_those_of_status_and_of_the_table_of_urls(
    folder: Path, found: gossamer.SiteReport
) -> None:
    crawl = gossamer.open(folder)
    states = crawl.url_counts().states
    assert found.pages == crawl.status().pages == 9
    assert found.redirected == states["redirected"] == 4
    assert found.failed == states["failed"]
    assert found.hosts == 2
    assert sum(found.depths) == found.pages
    assert sum(one.pages for one in found.media_types) == found.pages
    assert found.sizes.pages == found.pages == sum(one.pages for one in found.sizes.ranges)
    assert [one.host.partition(":")[0] for one in found.top_hosts] == ["a.test", "b.test"]


def test_answers_are_counted_by_status_and_failures_by_reason(found: gossamer.SiteReport) -> None:
    statuses = {one.status: one.urls for one in found.statuses}
    assert statuses[200] == 9
    assert statuses[302] == 5
    assert statuses[404] == 1
    reasons = {one.reason: one for one in found.failures}
    assert reasons["not_found"].urls == 1
    assert path_of(reasons["not_found"].examples[0]) == "/gone"


def test_chains_and_loops_of_redirects_are_told_from_end_to_end(
    found: gossamer.SiteReport,
) -> None:
    told = [([path_of(url) for url in one.urls], one.is_loop) for one in found.redirects.longest]
    assert told == [
        (["/loop1", "/loop2", "/loop1"], True),
        (["/hop1", "/hop2", "/hop3", "/one"], False),
    ]
    assert (found.redirects.chains, found.redirects.loops) == (1, 1)


def test_titles_that_are_missing_or_repeated_are_told(found: gossamer.SiteReport) -> None:
    assert found.titles.missing == 1
    assert [path_of(url) for url in found.titles.missing_urls] == ["/none"]
    (title,) = found.titles.most_repeated
    assert title.title == "Same title"
    assert title.pages == found.titles.repeated == 2, "a copy of a page is not counted"


def test_a_page_that_only_a_sitemap_names_is_an_orphan(found: gossamer.SiteReport) -> None:
    assert found.orphans.in_sitemaps == 2
    assert found.orphans.orphans == 1
    assert [path_of(url) for url in found.orphans.urls] == ["/lonely"]


def test_robots_copies_and_times_are_told(found: gossamer.SiteReport) -> None:
    assert found.robots_txt.forbidden == 1
    assert "Disallow: /secret/" in found.robots_txt.lines[0].line
    assert found.copies.same_content == 1
    assert found.times is not None
    assert found.times.pages == found.pages
    assert found.slowest[0].value == found.times.most


class Tags(HTMLParser):
    """Which elements and attributes a page has."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name == "href"]


def test_the_page_loads_nothing_runs_nothing_and_is_escaped(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "report.html"
    parse_and_run(["report", str(folder), "--html", str(page)])
    assert "9 pages" in capsys.readouterr().out
    tags = Tags()
    tags.feed(page.read_text())
    assert tags.names.isdisjoint({"script", "link", "img", "iframe", "object", "base", "form"})
    assert not {name for name in tags.attributes if name.startswith("on")} | (
        tags.attributes & {"src", "srcset", "action"}
    )
    assert all(link.startswith(("http://", "#")) for link in tags.links)
    assert "svg" in tags.names


def test_the_terminal_and_json_say_the_same(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parse_and_run(["report", str(folder)])
    told = capsys.readouterr().out
    assert "9 pages of 2 hosts, 4 redirected" in told
    assert "Orphans: 1" in told
    parse_and_run(["report", str(folder), "--json"])
    assert json.loads(capsys.readouterr().out)["titles"]["missing"] == 1


def test_records_of_older_versions_lack_the_time_and_are_reported_without(
    tmp_path: Path,
) -> None:
    shutil.copytree(GOLDEN, tmp_path / "crawl")
    found = gossamer.open(tmp_path / "crawl").report()
    assert found.pages > 0
    assert found.times is None
    assert "Not recorded" in gossamer.html_of(found)
