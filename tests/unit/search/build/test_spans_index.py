"""What is hidden is not found, what is code is found as code, and --keep turns either off."""

from pathlib import Path

import numpy as np
import pytest

from gossamer.errors import ConfigError
from gossamer.ranks import write_ranks
from gossamer.search import open_searcher
from gossamer.search.answer import SearchOptions, Switches
from gossamer.search.build import IndexOptions, build_index
from gossamer.search.manifest import index_folder, read_manifest, shard_folders
from gossamer.search.shard import LocalShard
from gossamer.urls import fingerprint_of
from tests.unit.search.pages_archive import PagesArchive, page

PROSE = "This page tells all that there is to know about lions.\n"
HIDDEN, CODE = "casino\n", "roar = lion.open()\n"
SPANS = {"hidden": [len(PROSE), len(HIDDEN)], "code": [len(PROSE) + len(HIDDEN), len(CODE)]}


@pytest.fixture
def archive(tmp_path: Path) -> PagesArchive:
    made = PagesArchive(tmp_path)
    made.write([page("http://a.test/", PROSE + HIDDEN + CODE, spans=SPANS)])
    return made


def total(root: Path, query: str) -> int:
    return open_searcher(root).search(query).total


def test_hidden_text_is_not_found_and_code_is(archive: PagesArchive) -> None:
    build_index(archive.root)
    assert [total(archive.root, word) for word in ("lions", "casino", "roar")] == [1, 0, 1]
    assert total(archive.root, '"lion open"') == 1


def test_what_is_kept_is_found_and_another_wish_builds_anew(archive: PagesArchive) -> None:
    assert build_index(archive.root, IndexOptions(keep=("hidden",))).did == "full"
    assert total(archive.root, "casino") == 1
    assert build_index(archive.root).did == "nothing"
    assert build_index(archive.root, IndexOptions(keep=())).did == "full"
    assert total(archive.root, "casino") == 0


def test_news_are_taken_in_as_the_index_was_built(archive: PagesArchive) -> None:
    build_index(archive.root, IndexOptions(keep=("hidden",), news_share=9.0))
    text = PROSE + "roulette\n" + CODE
    spans = {"hidden": [len(PROSE), len("roulette\n")]}
    archive.write([page("http://a.test/2", text, spans=spans)])
    assert build_index(archive.root, IndexOptions(news_share=9.0)).did == "news"
    assert total(archive.root, "roulette") == 1


def test_an_unknown_kind_is_refused(archive: PagesArchive) -> None:
    with pytest.raises(ConfigError, match="expected any of hidden, ads, code"):
        build_index(archive.root, IndexOptions(keep=("everything",)))


def test_a_link_farm_comes_behind_other_pages_unless_that_is_switched_off(
    archive: PagesArchive,
) -> None:
    farm = "\n".join(f"* Lions casino {number}" for number in range(300))
    archive.write([page("http://farm.test/", farm, title="Lions lions")])
    build_index(archive.root)
    searcher = open_searcher(archive.root)
    without = SearchOptions(switches=Switches.without(["spam"]))
    assert searcher.search("lions").hits[-1].url == "http://farm.test/"
    assert searcher.search("lions", without).hits[0].url == "http://farm.test/"


def test_a_link_farm_is_in_the_low_tier_whatever_its_rank(archive: PagesArchive) -> None:
    farm = "\n".join(f"* Casino {number}" for number in range(300))
    urls = ["http://a.test/", "http://b.test/", "http://farm.test/"]
    archive.write([page(urls[1], PROSE), page(urls[2], farm)])
    (archive.root / "graph").mkdir()
    keys = np.array([fingerprint_of(url) for url in urls], np.uint64)
    write_ranks(archive.root / "graph" / "ranks", keys, np.array([1.0, 5.0, 9.0]))
    build_index(archive.root, IndexOptions(high_share=0.6))
    manifest = read_manifest(index_folder(archive.root))
    assert manifest is not None
    low = shard_folders(index_folder(archive.root), manifest, "low")
    assert [url for path in low for url in LocalShard(path).urls()] == [urls[0], urls[2]]
