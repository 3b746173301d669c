"""Whatever the pages and the question: 1, 3 and 8 term shards answer as one index does."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.unit.search.terms.small import by_terms, in_one_index, page

from gossamer.search.fields import TEXT_FIELDS, Weights
from gossamer.search.messages import QueryFilters, ShardQuery
from gossamer.search.page import Prepared
from gossamer.search.shard import LocalShard
from gossamer.search.terms import TermIndexReader

WORDS = st.sampled_from(["a", "b", "c", "dd", "é", "日本", "rare"])
TEXTS = st.lists(WORDS, max_size=60).map(" ".join)
PAGES = st.lists(
    st.builds(
        page,
        st.integers(0, 40),
        st.lists(TEXTS, min_size=len(TEXT_FIELDS), max_size=len(TEXT_FIELDS)),
        language=st.sampled_from(["en", "de", ""]),
        at=st.integers(0, 5),
    ),
    max_size=40,
    unique_by=lambda made: made.url,
)
GROUPS = st.lists(st.lists(WORDS, min_size=1, max_size=2, unique=True).map(tuple), max_size=4)
ROWS = st.lists(WORDS, min_size=1, max_size=3).map(tuple)
PHRASES = st.lists(st.lists(ROWS, min_size=1, max_size=2).map(tuple), max_size=1).map(tuple)
FILTERS = st.builds(
    QueryFilters,
    sites=st.sampled_from([(), ("h1.test",), ("h1.test", "h2.test")]),
    languages=st.sampled_from([(), ("en",), ("",)]),
    in_url=st.sampled_from([(), ("a",)]),
    after=st.sampled_from([None, 2]),
    before=st.sampled_from([None, 4]),
)
ASKS = st.builds(
    ShardQuery,
    groups=GROUPS.map(tuple),
    needed=st.integers(0, 4),
    phrases=PHRASES,
    without=PHRASES,
    filters=FILTERS,
    weights=st.sampled_from([Weights(), Weights(title=0.0, rest=0.0), Weights(main=0.1, path=4.0)]),
    top=st.sampled_from([1, 5, 100]),
)


@pytest.mark.slow
@settings(max_examples=examples(24), deadline=None, suppress_health_check=list(HealthCheck))
@given(PAGES, st.lists(ASKS, min_size=1, max_size=16), st.sampled_from([1, 3, 8]))
def test_term_shards_answer_as_one_index(
    pages: list[Prepared], asks: list[ShardQuery], shards: int
) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:  # see `schema`
        folder = Path(name)
        one = in_one_index(folder / "one", pages)
        terms = by_terms(folder / "terms", pages, shards)
        for ask in asks:
            same(one, terms, ask)


def same(one: LocalShard, terms: TermIndexReader, ask: ShardQuery) -> None:
    expected, found = one.top(ask), terms.find(ask)
    assert found.total == expected.total
    scores = [it.score for it in found.candidates]
    assert scores == pytest.approx([it.score for it in expected.candidates], rel=1e-4, abs=1e-4)
    last = scores[-1] + 1e-3 if len(scores) == ask.top else -1.0
    assert {it.key for it in found.candidates if it.score > last} == {
        it.key for it in expected.candidates if it.score > last
    }
