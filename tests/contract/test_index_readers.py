"""What every index does that is built and asked, however it is split: by documents or by terms.

Pages go in through a `PageSink` and are asked for through an `IndexReader`; each sort has both.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from gossamer.search.broker import Broker, Tiers
from gossamer.search.build.sink import DocumentSink, PageSink
from gossamer.search.index_reader import IndexReader
from gossamer.search.manifest import Manifest, shard_folders
from gossamer.search.messages import QueryFilters, ShardQuery
from gossamer.search.page import Prepared
from gossamer.search.shard import VERSION, LocalShard
from gossamer.search.terms import TermIndexReader, TermsWriter
from tests.unit.search.made import bonuses, prepared

MEMORY_BYTES = 16_000_000
SORTS = ("documents in one shard", "documents in three shards", "two tiers", "terms")
RED = ShardQuery(groups=(("red",),), needed=1)


def page(number: int, word: str = "red", **more: str) -> Prepared:
    url = f"http://h{number % 4}.test/{number}"
    main = f"{word} " * (number % 5 + 1) + f"own{number} tail"
    language = "de" if number % 3 == 0 else "en"
    return prepared(url, title=f"page {number}", main=main, at=number, language=language, **more)


PAGES = [page(number) for number in range(1, 41)]


class Index(NamedTuple):
    sink: Callable[[int], PageSink]
    """Opened for the commit after that of some number; 0 is the first."""
    reader: Callable[[], IndexReader]


def documents(folder: Path, manifest: Manifest) -> Index:
    def reader() -> IndexReader:
        tiers = [shard_folders(folder, manifest, "high")]
        tiers += [shard_folders(folder, manifest, "low")] if manifest.high_share else [[]]
        high, low = ([LocalShard(path) for path in tier] for tier in tiers)
        return Broker(Tiers(high, low))

    def sink(generation: int) -> PageSink:
        return DocumentSink(folder, replace(manifest, generation=generation), MEMORY_BYTES)

    return Index(sink, reader)


def index_of(sort: str, folder: Path) -> Index:
    match sort:
        case "terms":
            return Index(lambda _: TermsWriter(folder, 3), lambda: TermIndexReader(folder))
        case "two tiers":
            manifest = Manifest(version=VERSION, shards=2, high_share=0.5)
        case "documents in three shards":
            manifest = Manifest(version=VERSION, shards=3)
        case _:
            manifest = Manifest(version=VERSION, shards=1)
    return documents(folder, manifest)


@pytest.fixture(params=SORTS)
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Index:
    return index_of(request.param, tmp_path)


@pytest.fixture(scope="module", params=SORTS)
def reader(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[IndexReader]:
    """An index with all pages that is only asked."""
    made = filled(index_of(request.param, tmp_path_factory.mktemp("index")))
    yield made
    made.close()


def filled(index: Index, pages: Sequence[Prepared] = PAGES) -> IndexReader:
    sink = index.sink(0)
    for one in pages:
        sink.add(one)
    sink.commit()
    assert sink.pages() == len(pages)
    sink.close()
    return index.reader()


def urls_of(reader: IndexReader, ask: ShardQuery) -> list[str]:
    return [one.url for one in reader.stored(reader.find(ask).candidates)]


def test_every_page_that_went_in_is_found_once(reader: IndexReader) -> None:
    found = reader.find(RED)
    assert (found.total, found.missing) == (40, 0)
    assert sorted(urls_of(reader, RED)) == sorted(page.url for page in PAGES)


def test_statistics_are_those_of_the_whole_index(reader: IndexReader) -> None:
    counts = reader.counts(["red", "own7", "nobody"])
    assert counts.pages == 40
    assert (sum(counts.having["red"]), sum(counts.having["own7"])) == (40, 1)
    assert not any(counts.having.get("nobody", ()))


@pytest.mark.parametrize("is_exact", [False, True])
def test_the_best_come_first_and_no_more_than_were_asked_for(
    reader: IndexReader, *, is_exact: bool
) -> None:
    found = reader.find(ShardQuery(groups=(("red",),), needed=1, top=7), is_exact=is_exact)
    scores = [one.score for one in found.candidates]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) >= 7


def test_words_phrases_exclusions_and_filters_hold(reader: IndexReader) -> None:
    (own,) = {page.url for page in PAGES if page.at == 7}
    assert urls_of(reader, ShardQuery(groups=(("own7",),), needed=1)) == [own]
    assert urls_of(reader, ShardQuery(phrases=((("own7", "tail"),),))) == [own]
    assert urls_of(reader, ShardQuery(phrases=((("tail", "own7"),),))) == []
    assert reader.find(ShardQuery(groups=(("nobody",),), needed=1)).total == 0
    without = ShardQuery(groups=(("red",),), needed=1, without=((("own7",),),))
    assert own not in urls_of(reader, without)
    german = ShardQuery(groups=(("red",),), needed=1, filters=QueryFilters(languages=("de",)))
    assert reader.find(german).total == sum(page.language == "de" for page in PAGES)
    early = ShardQuery(groups=(("red",),), needed=1, filters=QueryFilters(before=4))
    assert {one.at for one in reader.find(early).candidates} == {1, 2, 3}


def test_nearness_comes_for_each_candidate(reader: IndexReader) -> None:
    candidates = reader.find(RED).candidates
    near = reader.near(candidates, bonuses(("own7", "tail"), ("tail", "own7")))
    assert [one.at for one, score in zip(candidates, near, strict=True) if score] == [7]


def test_languages_come_most_frequent_first(reader: IndexReader) -> None:
    assert list(reader.languages()) == ["en", "de"]


def test_the_vocabulary_is_what_begins_so_with_the_number_of_pages(reader: IndexReader) -> None:
    assert reader.vocabulary("re", 10) == [("red", 40)]
    assert reader.vocabulary("zz", 10) == []
    assert {word for word, _ in reader.vocabulary("own", 100)} == {f"own{n}" for n in range(1, 41)}


def test_a_page_replaces_the_one_with_its_url_and_one_that_is_deleted_is_gone(
    index: Index,
) -> None:
    filled(index).close()
    sink = index.sink(1)
    if sink.pages() == 0:  # sets of terms are written whole: all goes in again
        for one in PAGES:
            sink.add(one)
    sink.add(page(7, "blue"))
    sink.delete(PAGES[0].url)
    sink.delete("http://nowhere.test/")
    sink.close()
    reader = index.reader()
    blue = ShardQuery(groups=(("blue",),), needed=1)
    assert urls_of(reader, blue) == [page(7).url]
    assert reader.find(RED).total == 38
    reader.close()


def test_an_empty_index_answers_with_nothing(index: Index) -> None:
    reader = filled(index, [])
    assert (reader.find(RED).total, reader.find(RED).candidates) == (0, [])
    assert reader.counts(["red"]).pages == 0
    assert list(reader.languages()) == []
    assert reader.vocabulary("r", 5) == []
    assert reader.stored([]) == []
    reader.close()


def test_there_is_nothing_new_unless_something_was_committed(reader: IndexReader) -> None:
    assert reader.renew() is False
    assert reader.find(RED).total == 40
