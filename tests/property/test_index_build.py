"""Whatever happened to pages, and however often the index was brought up to date: it has them."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laboratory.archived import archive_urls
from msgspec.structs import replace
from tests.examples import examples
from tests.unit.search.pages_archive import PagesArchive, Turn, having, index_urls, page

from gossamer.search.build import IndexOptions, build_index

URLS = [f"http://host{n % 3}.test/{n}" for n in range(6)]
WORDS = ["alpha", "bravo", "delta"]


@st.composite
def turns(draw: st.DrawFn) -> list[Turn]:
    """Return what a crawl may write in one group. Moments ascend, as they do in a shard."""
    found = []
    for _ in range(draw(st.integers(0, 6))):
        url, word = draw(st.sampled_from(URLS)), draw(st.sampled_from(WORDS))
        kind = draw(st.sampled_from(["page", "page", "copy", "gone", "unchanged", "noindex"]))
        match kind:
            case "page":
                found.append(page(url, f"{word} stays {word}", content=word))
            case "copy":
                found.append(page(url, None, content=word, copy_of=URLS[0]))
            case "noindex":
                found.append(page(url, word, content=word, robots=("noindex",)))
            case _:
                found.append(page(url, None, outcome=kind))
    return found


@pytest.mark.slow
@given(st.lists(turns(), min_size=1, max_size=5), st.integers(1, 3), st.data())
@settings(max_examples=examples(15), deadline=None)
def test_an_index_kept_up_to_date_has_what_a_plain_reading_of_the_archive_has(
    groups: Sequence[list[Turn]], shards: int, data: st.DataObject
) -> None:
    folder = Path(mkdtemp())
    try:
        archive = PagesArchive(folder / "crawl")
        options = IndexOptions(news_share=1e9, shards=shards)
        archive.write([])
        for number, group in enumerate(groups):
            moved = [Turn(replace(turn.record, at=float(number)), turn.text) for turn in group]
            archive.write(moved, shard=number % 2, epoch=1 + number // 2)
            if data.draw(st.booleans()):
                build_index(archive.root, options)
        build_index(archive.root, options)
        assert index_urls(archive.root) == sorted(archive_urls(archive.root))
        said = {word: having(archive.root, "rest", word) for word in WORDS}
        said |= {f"main {word}": having(archive.root, "main", word) for word in WORDS}
        build_index(archive.root, IndexOptions(is_full=True))
        assert index_urls(archive.root) == sorted(archive_urls(archive.root))
        again = {word: having(archive.root, "rest", word) for word in WORDS}
        again |= {f"main {word}": having(archive.root, "main", word) for word in WORDS}
        assert said == again
    finally:
        shutil.rmtree(folder, ignore_errors=True)
