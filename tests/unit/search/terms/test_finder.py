"""A term-partitioned index answers as one index of the engine does."""

from pathlib import Path

import pytest

from gossamer.errors import CannotGoOn, ConfigError
from gossamer.search.messages import Candidate, QueryFilters, ShardQuery
from gossamer.search.shard import LocalShard
from gossamer.search.terms import TermIndexReader, Transport
from tests.unit.search.made import bonuses

from .small import by_terms, in_one_index, page, some_pages

PAGES = some_pages(400)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[LocalShard, TermIndexReader]:
    folder = tmp_path_factory.mktemp("both")
    return in_one_index(folder / "one", PAGES), by_terms(folder / "terms", PAGES)


QUESTIONS = {
    "a word": ShardQuery(groups=(("w1",),), needed=1),
    "a rare and a frequent word": ShardQuery(groups=(("w1",), ("w33",)), needed=2),
    "any of three words": ShardQuery(groups=(("w1",), ("w33",), ("w20",)), needed=1),
    "two of three words": ShardQuery(groups=(("w12",), ("w33",), ("w20",)), needed=2),
    "a word in three forms": ShardQuery(groups=(("w30", "w31", "w32"), ("w5",)), needed=2),
    "a word that nobody has": ShardQuery(groups=(("w1",), ("nobody",)), needed=2),
    "a word that nobody has, not needed": ShardQuery(groups=(("w1",), ("nobody",)), needed=1),
    "a phrase": ShardQuery(phrases=((("w1", "w2"),),)),
    "a phrase that repeats a word": ShardQuery(
        groups=(("w1",),), needed=1, phrases=((("w1", "w1"),),)
    ),
    "a phrase in two versions": ShardQuery(phrases=((("w0", "w1", "w2"), ("w2", "w9")),)),
    "a phrase of one word": ShardQuery(groups=(("w1",),), needed=1, phrases=((("w33",),),)),
    "a phrase that nobody has": ShardQuery(phrases=((("w1", "nobody"),),)),
    "without a word": ShardQuery(groups=(("w1",),), needed=1, without=((("w2",),),)),
    "without a phrase": ShardQuery(groups=(("w1",),), needed=1, without=((("w1", "w2"),),)),
    "everything": ShardQuery(),
    "all but": ShardQuery(without=((("w1",),),)),
    "a site": ShardQuery(groups=(("w1",),), needed=1, filters=QueryFilters(sites=("h1.test",))),
    "two sites": ShardQuery(filters=QueryFilters(sites=("h1.test", "h2.test", "nowhere"))),
    "a language": ShardQuery(groups=(("w1",),), needed=1, filters=QueryFilters(languages=("de",))),
    "not a language": ShardQuery(
        groups=(("w1",),), needed=1, filters=QueryFilters(not_languages=("de",))
    ),
    "a type": ShardQuery(groups=(("w1",),), needed=1, filters=QueryFilters(types=("html",))),
    "not a type": ShardQuery(
        groups=(("w1",),), needed=1, filters=QueryFilters(not_types=("html",))
    ),
    "in the URL": ShardQuery(
        groups=(("w1",),), needed=1, filters=QueryFilters(in_url=("w3", "w2"))
    ),
    "not in the URL": ShardQuery(
        groups=(("w1",),), needed=1, filters=QueryFilters(not_in_url=("w3",))
    ),
    "after": ShardQuery(groups=(("w1",),), needed=1, filters=QueryFilters(after=1000)),
    "before": ShardQuery(groups=(("w1",),), needed=1, filters=QueryFilters(before=1000)),
    "between": ShardQuery(filters=QueryFilters(after=1000, before=1020)),
}


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS.keys())
def test_the_same_pages_with_the_same_scores(
    both: tuple[LocalShard, TermIndexReader], ask: ShardQuery
) -> None:
    one, terms = both
    expected = one.top(ask)
    found = terms.find(ask)
    assert found.total == expected.total
    scores = [candidate.score for candidate in found.candidates]
    assert scores == pytest.approx([it.score for it in expected.candidates], rel=1e-4, abs=1e-4)
    worst = scores[-1] + 1e-3 if scores else 0.0
    assert _facts(found.candidates, worst) == _facts(expected.candidates, worst)


def _facts(candidates: list[Candidate], above: float) -> set[tuple[int, int, int, int]]:
    return {(it.key, it.host, it.sketch, it.at) for it in candidates if it.score > above}


def test_rows_are_counted_as_the_engine_counts_them(
    both: tuple[LocalShard, TermIndexReader],
) -> None:
    one, terms = both
    found = terms.find(ShardQuery(groups=(("w1",),), needed=1, top=60)).candidates
    rows = bonuses(("w1", "w2"), ("w0", "w1", "w0"), ("w33",), ("w1", "nobody"), ())
    near = terms.near(found, rows)
    assert near == one.near([it.key for it in found], rows)
    assert len(set(near)) > 2
    strange = Candidate(0.0, 12345, 0, 0, 0)
    assert terms.near([strange, found[0]], rows) == [0.0, near[0]]
    assert terms.near(found, []) == [0.0] * len(found)


def test_pages_are_stored(both: tuple[LocalShard, TermIndexReader]) -> None:
    one, terms = both
    found = terms.find(ShardQuery(groups=(("w1",),), needed=1, top=5)).candidates
    assert terms.stored(found) == one.stored([it.key for it in found])
    assert terms.stored([Candidate(0.0, 12345, 0, 0, 0)]) == []


def test_statistics_and_vocabulary_are_those_of_one_index(
    both: tuple[LocalShard, TermIndexReader],
) -> None:
    one, terms = both
    assert terms.counts(["w1", "w33", "nobody"]) == one.counts(["w1", "w33", "nobody"])
    assert terms.vocabulary("w3", 5) == one.vocabulary("w3", 5)
    assert terms.vocabulary("", 1000) == one.vocabulary("", 1000)
    assert terms.vocabulary("x", 5) == []
    assert terms.languages() == ["de", "en"]


def test_few_are_asked_and_few_travel_when_a_word_is_rare(tmp_path: Path) -> None:
    texts = ["often", "often and rare"]
    pages = [page(number, ["often", "", texts[number == 5]]) for number in range(200)]
    by_terms(tmp_path, pages, shards=8)
    counting = Counting()
    terms = TermIndexReader(tmp_path, counting.around)
    assert terms.find(ShardQuery(groups=(("often",), ("rare",)), needed=2)).total == 1
    assert [shard for shard, _ in counting.seen] == [
        terms.shard_of("rare"),
        terms.shard_of("often"),
    ]
    assert max(size for _, size in counting.seen) < 200
    counting.seen.clear()
    assert terms.find(ShardQuery(groups=(("often",), ("nobody",)), needed=2)).total == 0
    assert counting.seen == []


class Counting:
    """A courier that writes down what it carries."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int]] = []

    def around(self, inner: Transport) -> Transport:
        self._inner = inner
        self.counts = inner.counts
        self.words = inner.words
        return self

    def carry(self, shard: int, message: bytes) -> tuple[int, bytes]:
        self.seen.append((shard, len(message)))
        return self._inner.carry(shard, message)


def test_no_set_and_too_many_words_are_told(tmp_path: Path) -> None:
    with pytest.raises(CannotGoOn, match="no index split by terms"):
        TermIndexReader(tmp_path)
    terms = by_terms(tmp_path / "set", PAGES[:3])
    with pytest.raises(ConfigError, match="at most"):
        terms.find(ShardQuery(groups=(("w1",),) * 300, needed=1))
