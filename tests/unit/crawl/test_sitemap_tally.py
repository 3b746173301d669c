"""How many sitemaps a host may have, by the pages that they name."""

import pytest
from tests.unit.crawl.harness import RevisitResult, failed, fetched, task_of

from gossamer.crawl import sitemaps as module
from gossamer.crawl.pipeline import FIRST_SITEMAPS, with_late_sitemaps
from gossamer.crawl.sitemaps import FREE_SITEMAPS, SitemapTally
from gossamer.model import Counters, Extraction, LinkKind, Task, Turn

SITEMAP = Extraction(media_type="application/sitemap+xml")


def read(tally: SitemapTally, count: int, *new: Task, host: str = "a.test") -> None:
    for n in range(count):
        tally.note(fetched(f"http://{host}/map{n}", found=SITEMAP, new_tasks=list(new)))


def pages(count: int) -> list[Task]:
    return [task_of(f"http://a.test/{n}", kind=LinkKind.SITEMAP) for n in range(count)]


def test_a_hundred_sitemaps_are_free_whatever_they_name() -> None:
    tally = SitemapTally()
    read(tally, 99)
    assert tally.excess("a.test") == ""
    read(tally, 1)
    assert tally.excess("a.test") == "100 sitemaps of a.test have named 0 new pages"
    assert tally.excess("b.test") == ""


def test_four_new_pages_earn_one_sitemap_more() -> None:
    tally = SitemapTally()
    read(tally, FREE_SITEMAPS - 1)
    read(tally, 1, *pages(3))
    assert tally.excess("a.test")
    read(tally, 1, *pages(5))
    assert tally.excess("a.test") == ""
    read(tally, 1)
    assert tally.excess("a.test") == "102 sitemaps of a.test have named 8 new pages"


def test_further_sitemaps_that_an_index_names_earn_nothing() -> None:
    tally = SitemapTally()
    more = [task_of(f"http://a.test/m{n}", nesting=1) for n in range(1000)]
    read(tally, FREE_SITEMAPS, *more)
    assert tally.excess("a.test")


@pytest.mark.parametrize(
    "turn",
    [
        fetched("http://a.test/p"),
        fetched("http://a.test/m", found=SITEMAP, revisit=RevisitResult.CHANGED),
        fetched("http://a.test/m", found=None),
        failed("http://a.test/m"),
    ],
)
def test_pages_failures_and_revisits_are_not_counted(turn: Turn) -> None:
    tally = SitemapTally()
    read(tally, FREE_SITEMAPS - 1)
    tally.note(turn)
    assert tally.excess("a.test") == ""


def test_the_host_that_was_met_longest_ago_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HOSTS_KEPT", 2)
    tally = SitemapTally()
    for host in ("a.test", "b.test"):
        read(tally, FREE_SITEMAPS, host=host)
    read(tally, 1, host="a.test")
    read(tally, 1, host="c.test")
    assert tally.excess("a.test")
    assert not tally.excess("b.test")


def test_only_the_first_sitemaps_of_an_index_come_before_pages() -> None:
    sitemaps = [task_of(f"http://a.test/m{n}", nesting=1) for n in range(FIRST_SITEMAPS + 2)]
    tasks = with_late_sitemaps([*sitemaps[:3], *pages(20), *sitemaps[3:]])
    assert [task.grade for task in tasks if not task.nesting] == [0] * 20
    assert [task.grade for task in tasks if task.nesting] == [0] * FIRST_SITEMAPS + [1, 1]


def test_a_sitemap_is_counted_apart_and_taken_back_from_where_it_was_counted() -> None:
    totals = Counters(pages=2)
    totals.count_sitemap(is_copy=True, is_seed=True)
    assert (totals.pages, totals.sitemaps) == (2, 1)
    assert (totals.revisits, totals.seeds_fetched) == (1, 1)
    totals.take_back_sitemap(is_copy=True, is_seed=True)
    assert (totals.pages, totals.sitemaps) == (2, 0)
    assert (totals.revisits, totals.seeds_fetched) == (0, 0)
    totals.take_back_sitemap(is_copy=False, is_seed=False)
    assert (totals.pages, totals.sitemaps) == (1, 0), "an older version has counted it as a page"
