"""The first index of a crawl comes with ranks, or says that it has none, or how old they are."""

from pathlib import Path

import pytest

import gossamer
from gossamer import BuildStep, IndexOptions
from tests.e2e.crawler import say
from tests.unit.search.pages_archive import PagesArchive, page

A, B, C, D = (f"http://{name}.test/" for name in "abcd")
SAME = " ".join(f"zebra {n} grazes on a meadow, and so on for a while" for n in range(9))


@pytest.fixture
def archive(tmp_path: Path) -> PagesArchive:
    found = PagesArchive(tmp_path / "crawl")
    links = [(C, "a page"), (B, "another")]
    found.write([page(A, "lions hunt", *links), page(B, "lions sleep", (C, "there"))])
    found.write([page(C, "lions rest"), page(D, SAME)])
    return found


def test_the_first_search_builds_graph_and_ranks(archive: PagesArchive) -> None:
    with gossamer.open(archive.root) as crawl:
        answer = crawl.search("lions")
        assert crawl.has_graph()
        assert answer.ranks is not None
        assert answer.ranks.is_current
        assert answer.ranks.urls == 4
        assert answer.hits[0].url == C
        told: list[BuildStep] = []
        crawl.build_index(None, told.append)
        assert told == []


def test_ranks_can_be_left_out_and_an_answer_says_that_they_are_missing(
    archive: PagesArchive,
) -> None:
    with gossamer.open(archive.root) as crawl:
        crawl.build_index(IndexOptions(ranks=False))
        assert not crawl.has_graph()
        assert crawl.search("lions").ranks is None
    said = say("search", str(archive.root), "lions", "--no-ranks").expect(0)
    assert "Ordered by words alone" in said.out
    assert "gossamer rank" in said.out
    assert not (archive.root / "graph").exists()


def test_ranks_that_are_older_than_the_index_are_told_and_computed_anew_when_much_is_new(
    archive: PagesArchive,
) -> None:
    archive.write([page(f"http://e.test/{n}", SAME, (C, "there")) for n in range(40)])
    with gossamer.open(archive.root) as crawl:
        assert crawl.search("lions").ranks is not None
        archive.write([page("http://e.test/new", "tigers swim", (A, "there"))])
        crawl.build_index()
        answer = crawl.search("tigers")
        assert answer.hits
        assert answer.ranks is not None
        assert not answer.ranks.is_current
        said = say("search", str(archive.root), "tigers").expect(0)
        assert "gossamer rank" in said.out
        archive.write([page(f"http://f.test/{n}", SAME, (A, "there")) for n in range(40)])
        crawl.build_index()
        renewed = crawl.search("tigers").ranks
        assert renewed is not None
        assert renewed.is_current
        assert renewed.at > answer.ranks.at


def test_tiers_need_no_ranks_to_be_built_before(archive: PagesArchive) -> None:
    say("build", str(archive.root), "index", "--tiers", ".5").expect(0)
    assert say("search", str(archive.root), "lions", "--json").expect(0).last_json["ranks"]


def test_an_index_of_files_that_were_not_crawled_has_no_ranks_and_does_not_miss_them(
    tmp_path: Path,
) -> None:
    lines = tmp_path / "pages.jsonl"
    lines.write_text('{"url": "http://a.test/", "text": "lions hunt"}\n')
    say("index", str(lines), "--into", str(tmp_path / "made")).expect(0)
    assert "ranks" not in say("search", str(tmp_path / "made"), "lions").expect(0).out
