"""A crawl that is given ranks asks for important pages first, from the start or when it goes on."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gossamer.ranks import write_ranks
from gossamer.testing import FakeServer, ScriptedHost, ScriptedWeb, serve_in_thread
from gossamer.urls import fingerprint_of
from tests.e2e.crawler import Crawler, flags_for

PAGES = 80


@pytest.fixture
def web() -> Iterator[FakeServer[ScriptedWeb]]:
    with serve_in_thread(ScriptedWeb()) as server:
        yield server


def site(web: FakeServer[ScriptedWeb]) -> ScriptedHost:
    """Return a host whose home page links to all others."""
    host = web.web.host("a.test").page("/", links=[f"/{n}" for n in range(PAGES)])
    for n in range(PAGES):
        host.page(f"/{n}", text=f"page {n}")
    return host


def ranks_of(folder: Path, ranks: dict[str, float]) -> str:
    keys = np.array([fingerprint_of(url) for url in ranks], np.uint64)
    write_ranks(folder / "ranks", keys, np.array(list(ranks.values())))
    return str(folder / "ranks")


def asked(web: FakeServer[ScriptedWeb]) -> list[str]:
    left_out = {"/robots.txt", "/sitemap.xml", "/"}
    return [visit.target for visit in web.requests if visit.target not in left_out]


@pytest.mark.parametrize("order", ["best", "opic"])
def test_pages_that_the_ranks_favour_come_first(
    web: FakeServer[ScriptedWeb], tmp_path: Path, order: str
) -> None:
    host = site(web)
    ranks = ranks_of(tmp_path, {host.url("/71"): 400.0, host.url("/66"): 90.0})
    words = flags_for(web.resolve, "--delay", "0", "--order", order, "--ranks", ranks)
    crawler = Crawler(tmp_path / "crawl", (host.url(),), words)
    crawler.run().expect(0)
    assert asked(web)[:2] == ["/71", "/66"]
    assert len(asked(web)) == PAGES
    assert crawler.why(host.url("/71"))["rank"] == 400.0
    assert crawler.why(host.url("/1"))["rank"] is None


def test_a_crawl_that_goes_on_with_ranks_asks_for_the_best_of_its_queue(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = site(web)
    words = flags_for(web.resolve, "--delay", "0", "--order", "best")
    crawler = Crawler(tmp_path / "crawl", (host.url(),), (*words, "--max-pages", "10"))
    crawler.run().expect(0)
    before = asked(web)
    late = [f"/{n}" for n in range(PAGES) if f"/{n}" not in before]
    ranks = ranks_of(tmp_path, {host.url(late[-1]): 400.0, host.url(late[-2]): 300.0})
    Crawler(crawler.folder, (), (*words, "--max-pages", "1000", "--ranks", ranks)).run().expect(0)
    after = asked(web)[len(before) :]
    leased = 16  # what was in hand when the first run ended goes first
    assert set(late[-2:]) <= set(after[: leased + 2])
    assert len(set(before + after)) == PAGES


def test_ranks_without_credit_are_refused_before_anything_is_asked(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = site(web)
    for flags, words in (
        (("--ranks", "x"), "frontier.ranks needs frontier.order best or opic"),
        (("--ranks", str(tmp_path / "none"), "--order", "best"), "cannot read"),
    ):
        crawler = Crawler(tmp_path / "crawl", (host.url(),), (*flags_for(web.resolve), *flags))
        found = crawler.run().expect(2)
        assert words in found.err
        assert not (crawler.folder / "crawl.toml").exists()
    assert web.requests == []
