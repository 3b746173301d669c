"""Popular content: kept up to a bound, given while nothing has changed, never after a removal."""

from pathlib import Path

import pytest

import gossamer
from gossamer import ContentStamp
from gossamer.clock import Clock
from gossamer.testing import ManualClock
from gossamer.web.popular import ENTRY_BYTES, FRESH_S, PopularContent
from tests.browser.site import crawl
from tests.unit.search.pages_archive import PagesArchive, page
from tests.unit.web.served import Served, serving


class Asked:
    """Content that is asked for, and how often it had to be found."""

    def __init__(self, most_bytes: int, clock: Clock) -> None:
        self.kept: PopularContent[str] = PopularContent(most_bytes, clock)
        self.found: list[str] = []

    def __call__(self, key: str, stamp: ContentStamp | None, size: int | None = 100) -> str:
        def find() -> str:
            self.found.append(key)
            return f"{key} {len(self.found)}"

        return self.kept.of(key, stamp, find, lambda _: size)


def stamp(commits: int = 0, removals: int = 0) -> ContentStamp:
    return ContentStamp((removals,), (commits,))


def test_what_was_found_is_given_again_while_nothing_was_committed() -> None:
    clock = ManualClock()
    asked = Asked(10_000, clock)
    assert asked("a", stamp()) == "a 1"
    clock.advance(1_000_000)
    assert asked("a", stamp()) == "a 1"
    assert asked.kept.facts()[:2] == (1, 1)


def test_after_a_commit_it_is_given_for_some_seconds() -> None:
    clock = ManualClock()
    asked = Asked(10_000, clock)
    asked("a", stamp())
    clock.advance(FRESH_S / 2)
    assert asked("a", stamp(commits=1)) == "a 1"
    clock.advance(FRESH_S)
    assert asked("a", stamp(commits=1)) == "a 2"


def test_after_a_removal_it_is_not_given_at_all() -> None:
    asked = Asked(10_000, ManualClock())
    asked("a", stamp())
    assert asked("a", stamp(removals=1)) == "a 2"


def test_where_nothing_tells_of_changes_nothing_is_kept() -> None:
    asked = Asked(10_000, ManualClock())
    assert [asked("a", None) for _ in range(2)] == ["a 1", "a 2"]
    assert asked("a", stamp()) == "a 3"
    assert asked("a", None) == "a 4"
    assert asked.kept.facts().entries == 1


def test_the_least_recently_used_makes_room() -> None:
    asked = Asked(10 * (100 + ENTRY_BYTES), ManualClock())
    for key in "abcdefghij":
        asked(key, stamp())
    asked("a", stamp())
    asked("k", stamp())
    assert asked.kept.facts().entries == 10
    assert asked.kept.facts().bytes == 10 * (100 + ENTRY_BYTES)
    asked.found.clear()
    asked("a", stamp())
    assert asked.found == []
    asked("b", stamp())
    assert asked.found == ["b"]


def test_what_is_too_large_or_not_to_be_kept_pushes_nothing_out() -> None:
    asked = Asked(10_000, ManualClock())
    asked("a", stamp())
    asked("large", stamp(), 5_000)
    asked("lacking", stamp(), None)
    assert asked.kept.facts().entries == 1
    nothing = Asked(0, ManualClock())
    assert [nothing("a", stamp()) for _ in range(2)] == ["a 1", "a 2"]


def memory(server: Served) -> dict[str, int]:
    lines = server.get("/metrics").text.splitlines()
    rows = (line.rsplit(" ", 1) for line in lines if line.startswith("gossamer_cache"))
    return {name: int(value) for name, value in rows}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> PagesArchive:
    made = PagesArchive(tmp_path_factory.mktemp("popular") / "crawl")
    made.write([page("http://a.test/", "one marmoset")])
    gossamer.open(made.root).build_index()
    return made


def test_searches_come_from_memory_until_there_is_another_index(archive: PagesArchive) -> None:
    with serving(archive.root, "--no-build") as server:
        first = server.get("/search?q=marmoset")
        assert server.get("/search?q=marmoset").status == first.status == 200
        assert server.get("/api/search?q=marmoset").json["total"] == 1
        assert server.get("/api/search?q=marmoset").json["total"] == 1
        found = memory(server)
        assert found['gossamer_cache_hits_total{kind="search"}'] == 2
        assert found['gossamer_cache_misses_total{kind="search"}'] == 2
        assert found['gossamer_cache_bytes{kind="search"}'] > 0
        archive.write([page("http://a.test/b", "two marmosets and a marmoset")])
        gossamer.open(archive.root).build_index()
        assert server.get("/api/search?q=marmoset").json["total"] == 2


def test_without_memory_nothing_is_kept(archive: PagesArchive) -> None:
    with serving(archive.root, "--no-build", "--memory-mb", "0") as server:
        for _ in range(2):
            assert server.get("/api/search?q=marmoset").status == 200
        assert memory(server)['gossamer_cache_hits_total{kind="search"}'] == 0


@pytest.mark.slow
def test_a_stored_copy_comes_from_memory_until_it_is_purged(tmp_path: Path) -> None:
    folder = crawl(tmp_path / "spiders")
    urls = [one.url for one in gossamer.open(folder).pages() if "/spiders/" in one.url]
    with serving(folder) as server:
        for form in ("text", "page", "view", "source", "markdown", "header"):
            first = server.ask("/copy", url=urls[0], form=form)
            again = server.ask("/copy", url=urls[0], form=form)
            assert (again.status, again.body) == (200, first.body)
            assert again.headers == first.headers
        found = memory(server)
        assert found['gossamer_cache_hits_total{kind="stored"}'] == 6
        assert found['gossamer_cache_misses_total{kind="stored"}'] == 6
        gossamer.purge(folder, [urls[0]])
        assert server.ask("/copy", url=urls[0]).status == 404
        assert server.ask("/copy", url=urls[1]).status == 200
