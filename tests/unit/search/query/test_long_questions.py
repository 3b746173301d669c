"""Queries in whole sentences: the best page lacks some of their words, and is found."""

import random
from math import log2
from pathlib import Path

import pytest

from gossamer.search.analysis import Analyser
from gossamer.search.answer import Answer, SearchOptions, Switches
from gossamer.search.broker import Broker, Tiers
from gossamer.search.index_reader import IndexReader
from gossamer.search.page import IndexPage, Prepared
from gossamer.search.searcher import Searcher
from gossamer.search.shard import LocalShard
from gossamer.search.terms import TermIndexReader, TermsWriter
from tests.unit.search.made import split, write_shard

TOPICS, WORDS, SAID, RELEVANT, TOP = 30, 24, 12, 4, 10
WISH = SearchOptions(per_page=TOP, switches=Switches(copies=False, hosts=False))
LEAST_NDCG = 0.95
"""Of a made collection, which is easier than Cranfield."""


def word_of(number: int) -> str:
    """Return a made-up word that no stemmer shortens to another one's stem."""
    letters = "bdfgklmprtvz"
    return (
        "".join(letters[number // 12**n % 12] + "aeiou"[(number + n) % 5] for n in range(4)) + "k"
    )


class Collection:
    """Pages of topics, and one long query for each topic, whose right pages are known.

    A query says half of the words of its topic; a right page has a random third of them, among
    words of every topic.
    """

    def __init__(self, seed: int) -> None:
        dice = random.Random(seed)
        topics = [[word_of(n * WORDS + m) for m in range(WORDS)] for n in range(TOPICS)]
        common = [word_of(90_000 + n) for n in range(200)]
        self.queries: dict[str, set[str]] = {}
        self.pages: list[IndexPage] = []
        for n, topic in enumerate(topics):
            right = {f"http://t{n}.test/{page}" for page in range(RELEVANT)}
            for url in sorted(right):
                self._add(url, [*dice.sample(topic, WORDS // 3), *dice.choices(common, k=40)])
            said = [*dice.sample(topic, SAID), *dice.sample(common, 3)]
            self.queries[f"what is known of {' '.join(said)}"] = right
        for n in range(120):
            strays = [word for topic in dice.sample(topics, 3) for word in dice.sample(topic, 1)]
            self._add(f"http://other.test/{n}", [*strays, *dice.choices(common, k=45)])
        dice.shuffle(self.pages)

    def _add(self, url: str, words: list[str]) -> None:
        text = f"The {' '.join(words)} and so on, in one line that is the main text of a page."
        self.pages.append(IndexPage(url=url, text=text, language="en"))


MADE = Collection(7)


def single(folder: Path) -> IndexReader:
    return Broker(Tiers([LocalShard(write_shard(folder, prepared()))]))


def sharded(folder: Path) -> IndexReader:
    parts = split(prepared(), 3)
    paths = [write_shard(folder / str(n), part) for n, part in enumerate(parts)]
    return Broker(Tiers([LocalShard(path) for path in paths]))


def by_terms(folder: Path) -> IndexReader:
    writer = TermsWriter(folder, 3, run_tokens=1 << 12)
    for page in prepared():
        writer.add(page)
    writer.close()
    return TermIndexReader(folder)


def prepared() -> list[Prepared]:
    analyser = Analyser()
    return [analyser.prepare(page) for page in MADE.pages]


def ndcg(urls: list[str], right: set[str]) -> float:
    """Return the normalised discounted gain of the best ten (every right page is worth one)."""
    gain = sum(1 / log2(place + 2) for place, url in enumerate(urls[:TOP]) if url in right)
    return gain / sum(1 / log2(place + 2) for place in range(min(TOP, len(right))))


ORGANISED = {make.__name__: make for make in (single, sharded, by_terms)}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Answer]]:
    """Return what each organisation of the index answers to each query."""
    folder = tmp_path_factory.mktemp("organised")
    searchers = {name: Searcher(make(folder / name)) for name, make in ORGANISED.items()}
    return {
        name: [searcher.search(query, WISH) for query in MADE.queries]
        for name, searcher in searchers.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("organised", ORGANISED)
def test_a_long_question_finds_the_pages_that_have_some_of_its_words(
    organised: str, answers: dict[str, list[Answer]]
) -> None:
    gains = []
    for answer, right in zip(answers[organised], MADE.queries.values(), strict=True):
        assert answer.hits
        gains.append(ndcg([hit.url for hit in answer.hits], right))
    assert sum(gains) / len(gains) >= LEAST_NDCG


@pytest.mark.slow
def test_every_organisation_gives_the_same_answer_to_a_long_question(
    answers: dict[str, list[Answer]],
) -> None:
    for one, *others in zip(*answers.values(), strict=True):
        for other in others:
            assert [hit.url for hit in other.hits] == [hit.url for hit in one.hits]
            assert (other.total, other.hints) == (one.total, one.hints)


def test_pages_with_all_the_words_come_before_those_that_say_one_often(tmp_path: Path) -> None:
    pages = [
        IndexPage(url=f"http://both.test/{n}", text=f"the zebra and the giraffe, number {n}")
        for n in range(8)
    ]
    pages += [IndexPage(url=f"http://one.test/{n}", text="zebra " * 9) for n in range(8)]
    analyser = Analyser()
    path = write_shard(tmp_path / "index", map(analyser.prepare, pages))
    answer = Searcher(Broker(Tiers([LocalShard(path)]))).search("zebra giraffe", WISH)
    assert {hit.url for hit in answer.hits[:8]} == {f"http://both.test/{n}" for n in range(8)}
    assert answer.total == 16
    assert answer.hints == []


def test_pages_with_all_the_words_come_before_better_ones_with_some(tmp_path: Path) -> None:
    pages = [
        IndexPage(url="http://all.test/", text="zebra giraffe okapi " + "grass " * 60),
        IndexPage(url="http://some.test/", text="zebra giraffe " * 9),
        IndexPage(url="http://one.test/", text="an okapi in the wood, and more of it"),
        IndexPage(url="http://none.test/", text="nothing at all"),
    ]
    analyser = Analyser()
    path = write_shard(tmp_path / "index", map(analyser.prepare, pages))
    answer = Searcher(Broker(Tiers([LocalShard(path)]))).search("zebra giraffe okapi", WISH)
    assert answer.hits[0].url == "http://all.test/"
    assert {hit.url for hit in answer.hits[1:]} == {"http://some.test/", "http://one.test/"}
