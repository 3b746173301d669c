"""What every index does that is built and asked, however it is split: by documents or by terms.

Pages go in through a `PageSink` and are asked for through a `Finder`; each sort of index has both.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from gossamer.search.broker import Broker, Tiers
from gossamer.search.build.sink import DocumentSink, PageSink
from gossamer.search.finder import Finder
from gossamer.search.manifest import Manifest, shard_folders
from gossamer.search.messages import Ask, Filters
from gossamer.search.page import Prepared
from gossamer.search.shard import VERSION, LocalShard
from gossamer.search.terms import TermFinder, TermsWriter
from tests.unit.search.made import prepared

MEMORY_BYTES = 16_000_000
SORTS = ("documents in one shard", "documents in three shards", "two tiers", "terms")
RED = Ask(groups=(("red",),), needed=1)


def page(number: int, word: str = "red", **more: str) -> Prepared:
    url = f"http://h{number % 4}.test/{number}"
    main = f"{word} " * (number % 5 + 1) + f"own{number} tail"
    language = "de" if number % 3 == 0 else "en"
    return prepared(url, title=f"page {number}", main=main, at=number, language=language, **more)


PAGES = [page(number) for number in range(1, 41)]


class Index(NamedTuple):
    sink: Callable[[int], PageSink]
    """Opened for the commit after that of some number; 0 is the first."""
    finder: Callable[[], Finder]


def documents(folder: Path, manifest: Manifest) -> Index:
    def finder() -> Finder:
        tiers = [shard_folders(folder, manifest, "high")]
        tiers += [shard_folders(folder, manifest, "low")] if manifest.high_share else [[]]
        high, low = ([LocalShard(path) for path in tier] for tier in tiers)
        return Broker(Tiers(high, low))

    def sink(generation: int) -> PageSink:
        return DocumentSink(folder, replace(manifest, generation=generation), MEMORY_BYTES)

    return Index(sink, finder)


def index_of(sort: str, folder: Path) -> Index:
    match sort:
        case "terms":
            return Index(lambda _: TermsWriter(folder, 3), lambda: TermFinder(folder))
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
def finder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Finder]:
    """An index with all pages that is only asked."""
    made = filled(index_of(request.param, tmp_path_factory.mktemp("index")))
    yield made
    made.close()


def filled(index: Index, pages: Sequence[Prepared] = PAGES) -> Finder:
    sink = index.sink(0)
    for one in pages:
        sink.add(one)
    sink.commit()
    assert sink.pages() == len(pages)
    sink.close()
    return index.finder()


def urls_of(finder: Finder, ask: Ask) -> list[str]:
    return [one.url for one in finder.stored(finder.find(ask).candidates)]


def test_every_page_that_went_in_is_found_once(finder: Finder) -> None:
    found = finder.find(RED)
    assert (found.total, found.missing) == (40, 0)
    assert sorted(urls_of(finder, RED)) == sorted(page.url for page in PAGES)


def test_statistics_are_those_of_the_whole_index(finder: Finder) -> None:
    counts = finder.counts(["red", "own7", "nobody"])
    assert counts.pages == 40
    assert (sum(counts.having["red"]), sum(counts.having["own7"])) == (40, 1)
    assert not any(counts.having.get("nobody", ()))


@pytest.mark.parametrize("is_exact", [False, True])
def test_the_best_come_first_and_no_more_than_were_asked_for(
    finder: Finder, *, is_exact: bool
) -> None:
    found = finder.find(Ask(groups=(("red",),), needed=1, top=7), is_exact=is_exact)
    scores = [one.score for one in found.candidates]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) >= 7


def test_words_phrases_exclusions_and_filters_hold(finder: Finder) -> None:
    (own,) = {page.url for page in PAGES if page.at == 7}
    assert urls_of(finder, Ask(groups=(("own7",),), needed=1)) == [own]
    assert urls_of(finder, Ask(phrases=((("own7", "tail"),),))) == [own]
    assert urls_of(finder, Ask(phrases=((("tail", "own7"),),))) == []
    assert finder.find(Ask(groups=(("nobody",),), needed=1)).total == 0
    without = Ask(groups=(("red",),), needed=1, without=((("own7",),),))
    assert own not in urls_of(finder, without)
    german = Ask(groups=(("red",),), needed=1, filters=Filters(languages=("de",)))
    assert finder.find(german).total == sum(page.language == "de" for page in PAGES)
    early = Ask(groups=(("red",),), needed=1, filters=Filters(before=4))
    assert {one.at for one in finder.find(early).candidates} == {1, 2, 3}


def test_nearness_comes_for_each_candidate(finder: Finder) -> None:
    candidates = finder.find(RED).candidates
    near = finder.near(candidates, [("own7", "tail"), ("tail", "own7")])
    assert [one.at for one, score in zip(candidates, near, strict=True) if score] == [7]


def test_languages_come_most_frequent_first(finder: Finder) -> None:
    assert list(finder.languages()) == ["en", "de"]


def test_the_vocabulary_is_what_begins_so_with_the_number_of_pages(finder: Finder) -> None:
    assert finder.vocabulary("re", 10) == [("red", 40)]
    assert finder.vocabulary("zz", 10) == []
    assert {word for word, _ in finder.vocabulary("own", 100)} == {f"own{n}" for n in range(1, 41)}


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
    finder = index.finder()
    blue = Ask(groups=(("blue",),), needed=1)
    assert urls_of(finder, blue) == [page(7).url]
    assert finder.find(RED).total == 38
    finder.close()


def test_an_empty_index_answers_with_nothing(index: Index) -> None:
    finder = filled(index, [])
    assert (finder.find(RED).total, finder.find(RED).candidates) == (0, [])
    assert finder.counts(["red"]).pages == 0
    assert list(finder.languages()) == []
    assert finder.vocabulary("r", 5) == []
    assert finder.stored([]) == []
    finder.close()


def test_there_is_nothing_new_unless_something_was_committed(finder: Finder) -> None:
    assert finder.renew() is False
    assert finder.find(RED).total == 40
