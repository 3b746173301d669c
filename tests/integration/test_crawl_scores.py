"""A crawl that is given scores from outside asks for what they favour first."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.testing import FakeServer, ScriptedHost, ScriptedWeb, serve_in_thread
from tests.e2e.crawler import Crawler, flags_for

PAGES = 80


@pytest.fixture
def web() -> Iterator[FakeServer[ScriptedWeb]]:
    with serve_in_thread(ScriptedWeb()) as server:
        yield server


def site(web: FakeServer[ScriptedWeb], name: str = "a.test") -> ScriptedHost:
    """Return a host whose home page links to all others."""
    host = web.web.host(name).page("/", text=name, links=[f"/{n}" for n in range(PAGES)])
    for n in range(PAGES):
        host.page(f"/{n}", text=f"page {n} of {name}")
    return host


def asked(web: FakeServer[ScriptedWeb]) -> list[str]:
    left_out = {"/robots.txt", "/sitemap.xml", "/"}
    return [visit.target for visit in web.requests if visit.target not in left_out]


@pytest.mark.parametrize("order", ["bfs", "best", "opic"])
@pytest.mark.parametrize("shards", ["1", "2"])
def test_pages_that_the_scores_favour_come_first(
    web: FakeServer[ScriptedWeb], tmp_path: Path, order: str, shards: str
) -> None:
    host = site(web)
    scores = tmp_path / "scores.txt"
    scores.write_text(f"{host.url('/51')} 900\n{host.url('/46')}, 800\nelsewhere.test 100\n")
    words = flags_for(
        web.resolve, "--delay", "0", "--order", order, "--shards", shards, "--scores", str(scores)
    )
    crawler = Crawler(tmp_path / "crawl", (host.url(),), words)
    crawler.run().expect(0)
    assert set(asked(web)[:2]) == {"/51", "/46"}
    assert len(asked(web)) == PAGES
    told = crawler.why(host.url("/51"))["score"]
    assert told == {"value": 900.0, "by": host.url("/51"), "of_mean": pytest.approx(1.5)}
    assert crawler.why(host.url("/1"))["score"] is None
    assert "900" in crawler.say("why", host.url("/51")).out


def test_a_crawl_goes_on_with_its_scores_though_their_file_is_gone(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host, other = site(web), site(web, "b.test")
    scores = tmp_path / "scores.txt"
    scores.write_text("b.test 30\nc.test 10\n")
    words = flags_for(web.resolve, "--delay", "0", "--order", "best", "--shards", "1")
    first = Crawler(tmp_path / "crawl", (host.url(), other.url()), (*words, "--max-pages", "2"))
    first.run("--scores", str(scores)).expect(0)
    scores.unlink()
    Crawler(first.folder, (), (*words, "--max-pages", "1000")).run().expect(0)
    after = [visit.host for visit in web.requests if visit.target[1:].isdigit()]
    assert len(after) == 2 * PAGES
    middle = sum(at for at, name in enumerate(after) if name == "b.test") / PAGES
    assert middle < PAGES  # as a whole it came before the other
    assert first.why(other.url("/7"))["score"]["by"] == "b.test"


def test_queued_urls_move_up_when_scores_are_given_later(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = site(web)
    words = flags_for(web.resolve, "--delay", "0", "--order", "best", "--shards", "1")
    crawler = Crawler(tmp_path / "crawl", (host.url(),), (*words, "--max-pages", "10"))
    crawler.run().expect(0)
    before = asked(web)
    late = [f"/{n}" for n in range(PAGES) if f"/{n}" not in before][-1]
    scores = tmp_path / "scores.txt"
    scores.write_text(f"{host.url(late)} 5000\nelsewhere.test 0\nother.test 0\n")
    more = (*words, "--max-pages", "1000", "--scores", str(scores))
    Crawler(crawler.folder, (), more).run().expect(0)
    after = asked(web)[len(before) :]
    leased = 16  # what was in hand when the first run ended goes first
    assert late in after[: leased + 1]
    assert len(set(before + after)) == PAGES


def test_scores_that_cannot_be_used_are_told_in_one_line_before_anything_is_asked(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    host = site(web)
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text("a.test 1\n")
    bad.write_text("a.test 1\nb.test\n")
    for flags, words in (
        (("--scores", str(bad)), f"{bad}, line 2: expected a URL or a host and a number"),
        (("--scores", str(tmp_path / "none")), "cannot read"),
        (("--scores", str(tmp_path)), "cannot read"),
        (("--scores", str(good), "--order", "dfs"), "frontier.scores needs frontier.order"),
    ):
        crawler = Crawler(tmp_path / "crawl", (host.url(),), (*flags_for(web.resolve), *flags))
        found = crawler.run().expect(2)
        assert words in found.err
        assert len(found.err.strip().splitlines()) == 1
        assert not (crawler.folder / "crawl.toml").exists()
    assert web.requests == []
