"""Mirrors are closed, sites that share a front page and an imprint are not. The server judges."""

from collections import Counter
from pathlib import Path

import pytest

from gossamer.testing import FakeServer, ScriptedWeb, serve_in_thread
from tests.e2e.crawler import Crawler, flags_for

SITES = 20
OWN = 8
MIRRORS = 8
MIRRORED = 40


def franchises(web: ScriptedWeb) -> list[str]:
    """Make sites that share a front page and an imprint; four say where only in their sitemap."""
    front = [f"/{n}" for n in range(OWN)]
    for number in range(SITES):
        site = web.host(f"shop{number}.test")
        site.page("/", title="The shops", links=["/imprint", *(front if number >= 4 else [])])
        site.page("/imprint", text="The Shops Ltd, 1 High Street")
        for n in range(OWN):
            site.page(f"/{n}", title=f"Offer {n}", text=f"offer {n} of shop {number}")
        listed = "".join(f"<url><loc>{site.url(path)}</loc></url>" for path in front)
        site.file("/map.xml", f"<urlset>{listed}</urlset>".encode(), "text/xml")
        site.robots(f"Sitemap: {site.url('/map.xml')}\n")
    return [web.host(f"shop{number}.test").url() for number in range(SITES)]


def mirrors(web: ScriptedWeb) -> list[str]:
    """Make hosts that all have the pages of the first."""
    for number in range(MIRRORS):
        host = web.host(f"mirror{number}.test")
        host.page("/", title="Manual", links=[f"/c{n}" for n in range(1, MIRRORED)])
        for n in range(1, MIRRORED):
            host.page(f"/c{n}", title=f"Chapter {n}", text=f"what chapter {n} says", links=["/"])
    return [web.host(f"mirror{number}.test").url() for number in range(MIRRORS)]


def crawled(
    server: FakeServer[ScriptedWeb], folder: Path, *seeds: str
) -> tuple[Crawler, Counter[str]]:
    """Crawl to the end; return how many pages of each host were asked for, each once."""
    flags = flags_for(server.resolve, "--delay", "0", "--shards", "1")
    crawler = Crawler(folder, seeds, flags)
    assert crawler.run().expect(0).last_json["finished"]
    ignored = {"/robots.txt", "/sitemap.xml", "/map.xml"}
    asked = [(v.host, v.target) for v in server.requests if v.target not in ignored]
    assert len(asked) == len(set(asked))
    return crawler, Counter(host for host, _ in asked)


@pytest.mark.parametrize("begin", ["at a hub", "at each of them"])
def test_sites_that_share_a_front_page_and_an_imprint_are_fetched_whole(
    tmp_path: Path, begin: str
) -> None:
    web = ScriptedWeb()
    sites = franchises(web)
    hub = web.host("hub.test").page("/", links=sites).url()
    with serve_in_thread(web) as server:
        starts = [hub] if begin == "at a hub" else sites
        seeds = [one.replace("$PORT", str(web.port)) for one in starts]
        crawler, asked = crawled(server, tmp_path / "crawl", *seeds)
        assert [asked[f"shop{n}.test"] for n in range(SITES)] == [2 + OWN] * SITES
        assert "mirror_host" not in crawler.status()["refused"]


def test_mirrors_are_closed_after_some_probes_and_one_site_is_fetched_whole(
    tmp_path: Path,
) -> None:
    web = ScriptedWeb()
    hub = web.host("hub.test").page("/", links=mirrors(web)).url()
    with serve_in_thread(web) as server:
        seed = hub.replace("$PORT", str(web.port))
        crawler, asked = crawled(server, tmp_path / "crawl", seed)
        hits = sorted(asked[f"mirror{n}.test"] for n in range(MIRRORS))
        assert hits[-1] == MIRRORED
        assert sum(hits) <= 0.6 * MIRRORS * MIRRORED, hits
        closed = [note for note in crawler.status()["traps"] if note["reason"] == "mirror_host"]
        assert len(closed) >= MIRRORS // 2
        refused = f"http://{closed[0]['unit']}c{MIRRORED - 1}"
        assert crawler.why(refused)["reason"] == "mirror_host"


def test_mirrors_that_are_seeds_are_fetched_whole(tmp_path: Path) -> None:
    web = ScriptedWeb()
    sites = mirrors(web)
    with serve_in_thread(web) as server:
        seeds = [one.replace("$PORT", str(web.port)) for one in sites]
        _, asked = crawled(server, tmp_path / "crawl", *seeds)
        assert [asked[f"mirror{n}.test"] for n in range(MIRRORS)] == [MIRRORED] * MIRRORS
