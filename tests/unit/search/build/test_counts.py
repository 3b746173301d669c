"""What an index says of itself is what is in it: pages by language, and what a run has added."""

import json
from pathlib import Path

import pytest

from gossamer.search.build import IndexOptions, build_foreign, build_index
from gossamer.search.build.foreign import COMPARED_PAGES
from gossamer.search.manifest import index_folder, read_manifest
from tests.unit.search.pages_archive import PagesArchive, page

KEPT = IndexOptions(news_share=1e9)
"""News are added in place, however much it is."""
A, B, C, D = (f"http://{name}.test/" for name in "abcd")


@pytest.fixture
def archive(tmp_path: Path) -> PagesArchive:
    return PagesArchive(tmp_path / "crawl")


def counted(root: Path) -> tuple[int, dict[str, int]]:
    """Return pages and pages by language, as the manifest has them."""
    manifest = read_manifest(index_folder(root))
    assert manifest is not None
    assert sum(manifest.languages.values()) == manifest.pages
    return manifest.pages, manifest.languages


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("partition", ["url", "turn"])
def test_a_page_that_changes_again_and_again_counts_once(
    archive: PagesArchive, shards: int, partition: str
) -> None:
    options = IndexOptions(news_share=1e9, shards=shards, partition=partition)  # type: ignore[arg-type]
    archive.write([page(f"{A}{n}", f"page {n}", language="en") for n in range(20)])
    archive.write([page(B, "eins", language="de")])
    build_index(archive.root, options)
    assert counted(archive.root) == (21, {"en": 20, "de": 1})
    for at in (2, 3, 4):
        archive.write([page(B, f"Fassung {at}", at=at, language="de")])
        build_index(archive.root, options)
        assert counted(archive.root) == (21, {"en": 20, "de": 1})
    archive.write([page(B, None, at=5, outcome="gone")])
    build_index(archive.root, options)
    assert counted(archive.root) == (20, {"en": 20})


def test_a_page_that_is_written_in_another_language_moves(archive: PagesArchive) -> None:
    archive.write([page(A, "one", language="en"), page(B, "two", language="en")])
    build_index(archive.root, KEPT)
    archive.write([page(B, "zwei", at=2, language="de"), page(C, "drei", at=2, language="de")])
    build_index(archive.root, KEPT)
    assert counted(archive.root) == (3, {"de": 2, "en": 1})


@pytest.mark.parametrize("organisation", ["documents", "terms"])
def test_a_full_build_counts_as_news_do(archive: PagesArchive, organisation: str) -> None:
    archive.write([page(A, "one", language="en"), page(B, "zwei", language="de")])
    archive.write([page(A, "eins", at=2, language="de"), page(D, "quoi", language="")])
    archive.write([page(C, "three", language="en"), page(C, None, at=3, outcome="gone")])
    options = IndexOptions(organisation=organisation, is_full=True)  # type: ignore[arg-type]
    build_index(archive.root, options)
    assert counted(archive.root) == (3, {"de": 2, "": 1})


def jsonl(path: Path, pages: list[tuple[str, str, str]]) -> str:
    """Write a file of pages: URL, language and text."""
    rows = [{"url": url, "language": language, "text": text} for url, language, text in pages]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.mark.parametrize("shards", [1, 3])
def test_a_file_that_is_indexed_again_adds_nothing(tmp_path: Path, shards: int) -> None:
    into, options = tmp_path / "into", IndexOptions(shards=shards)
    many = COMPARED_PAGES + 50
    file = jsonl(tmp_path / "a.jsonl", [(f"{A}{n}", "en", f"text {n}") for n in range(many)])
    first = build_foreign([file], into, options)
    assert (first.did, first.added, first.unchanged, first.pages) == ("news", many, 0, many)
    for _ in range(2):
        again = build_foreign([file], into, options)
        assert (again.did, again.added, again.unchanged) == ("nothing", 0, many)
        assert counted(into) == (many, {"en": many})


def test_only_pages_that_differ_are_counted_as_added(tmp_path: Path) -> None:
    into, long = tmp_path / "into", "word " * 20_000
    pages = [(A, "en", "one"), (B, "en", f"{long} end"), (C, "de", "drei")]
    build_foreign([jsonl(tmp_path / "a.jsonl", pages)], into)
    pages = [(A, "de", "one"), (B, "en", f"{long} other end"), (C, "de", "drei"), (D, "en", "four")]
    facts = build_foreign([jsonl(tmp_path / "b.jsonl", pages)], into)
    assert (facts.did, facts.added, facts.unchanged, facts.pages) == ("news", 3, 1, 4)
    assert counted(into) == (4, {"de": 2, "en": 2})


def test_of_a_url_that_comes_twice_the_last_page_counts(tmp_path: Path) -> None:
    into = tmp_path / "into"
    file = jsonl(tmp_path / "a.jsonl", [(A, "en", "first"), (B, "en", "b"), (A, "de", "zweite")])
    facts = build_foreign([file], into)
    assert (facts.added, facts.pages) == (2, 2)
    assert counted(into) == (2, {"de": 1, "en": 1})
    assert build_foreign([file], into).added == 0
