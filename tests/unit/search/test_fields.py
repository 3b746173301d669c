"""A field that was added in one place and forgotten in another fails here."""

from pathlib import Path

import msgspec
import pytest

from gossamer.search.analysis import Analyser
from gossamer.search.answer import Switches
from gossamer.search.broker import Broker, Tiers
from gossamer.search.fields import FAST_FIELDS, POSITIONED, TEXT_FIELDS, Weights
from gossamer.search.messages import Candidate, ShardQuery, TopCandidates
from gossamer.search.page import IndexPage, Prepared
from gossamer.search.ranking import RankingParameters
from gossamer.search.remote.protocol import answer_shard, decoded
from gossamer.search.remote.validation import is_ask, is_top
from gossamer.search.shard import LocalShard, ShardWriter
from gossamer.search.terms import TermIndexReader, TermsWriter
from gossamer.search.terms.read_kernels import FIELDS, MOST_FIELDS
from tests.unit.search.made import prepared, write_shard

PROSE = "This is a sentence, and it has some more words than others have."
WHOLE = IndexPage(
    url="http://a.test/pathword",
    title="titleword",
    headings=("headsword",),
    text=f"Restword\n\nMainword, this is a sentence. {PROSE}\n",
    code="codeword = call(argument)",
    anchors=("anchorsword",),
    link_texts=frozenset({"Restword"}),
    language="xx",
)
"""A page that says something in every field."""


@pytest.fixture
def shard(tmp_path: Path) -> LocalShard:
    writer = ShardWriter(tmp_path / "00")
    writer.add(Analyser().prepare(WHOLE))
    writer.close()
    return LocalShard(tmp_path / "00")


@pytest.fixture
def reader(tmp_path: Path) -> TermIndexReader:
    writer = TermsWriter(tmp_path / "terms", 2)
    writer.add(Analyser().prepare(WHOLE))
    writer.close()
    return TermIndexReader(tmp_path / "terms")


def only(field: str) -> ShardQuery:
    none = dict.fromkeys(TEXT_FIELDS, 0.0)
    groups = ((f"{field}word",),)
    return ShardQuery(groups=groups, needed=1, weights=Weights(**{**none, field: 1.0}))


def test_every_text_field_has_a_weight() -> None:
    assert set(Weights.__struct_fields__) == set(TEXT_FIELDS)
    assert all(Weights().of(name) > 0 for name in TEXT_FIELDS)
    assert set(TEXT_FIELDS) >= POSITIONED


@pytest.mark.parametrize("field", TEXT_FIELDS)
def test_a_page_is_found_by_a_word_of_each_field(
    field: str, shard: LocalShard, reader: TermIndexReader
) -> None:
    query = only(field)
    assert is_ask(query)
    by_documents = shard.top(query)
    assert by_documents.total == 1
    assert by_documents.candidates[0].score > 0
    by_terms = reader.find(query)
    assert by_terms.total == 1
    assert by_terms.candidates[0].score == pytest.approx(by_documents.candidates[0].score, rel=1e-5)


@pytest.mark.parametrize("field", TEXT_FIELDS)
def test_a_word_of_each_field_is_counted_and_is_evidence(
    field: str, shard: LocalShard, reader: TermIndexReader
) -> None:
    place, term = TEXT_FIELDS.index(field), f"{field}word"
    for counts in (shard.counts([term]), reader.counts([term])):
        assert counts.tokens[place] > 0
        assert counts.having[term][place] == 1
    key = shard.top(only(field)).candidates[0].key
    assert [one.field for one in shard.evidence([key], only(field))[0]] == [place]


@pytest.mark.parametrize("field", sorted(POSITIONED))
def test_a_phrase_is_found_in_each_field_that_knows_positions(field: str, tmp_path: Path) -> None:
    page = prepared("http://a.test/1", **{field: "one two three"})
    writer = ShardWriter(tmp_path / "00")
    terms = TermsWriter(tmp_path / "terms", 2)
    for sink in (writer, terms):
        sink.add(page)
        sink.close()
    there = ShardQuery(phrases=((("two", "three"),),))
    turned = ShardQuery(phrases=((("three", "two"),),))
    shard, reader = LocalShard(tmp_path / "00"), TermIndexReader(tmp_path / "terms")
    assert [shard.top(there).total, shard.top(turned).total] == [1, 0]
    assert [reader.find(there).total, reader.find(turned).total] == [1, 0]


def test_every_field_counts_the_same_where_fields_are_switched_off() -> None:
    weights = RankingParameters().weights_of(2, Switches(fields=False))
    assert {weights.of(name) for name in TEXT_FIELDS} == {1.0}


def test_a_candidate_has_the_fast_fields_in_their_order() -> None:
    assert Candidate.__struct_fields__ == ("score", *FAST_FIELDS, "shard", "rank")
    assert set(Prepared.__struct_fields__) >= set(FAST_FIELDS)


def test_each_number_of_a_page_comes_with_its_candidate(tmp_path: Path) -> None:
    page = prepared("http://a.test/1", main="word")
    numbers = {name: 10 + place for place, name in enumerate(FAST_FIELDS)}
    page = Prepared(**{name: getattr(page, name) for name in page.__struct_fields__} | numbers)
    writer = ShardWriter(tmp_path / "00")
    terms = TermsWriter(tmp_path / "terms", 2)
    for sink in (writer, terms):
        sink.add(page)
        sink.close()
    query = ShardQuery(groups=(("word",),), needed=1)
    shard = LocalShard(tmp_path / "00")
    told = decoded(answer_shard(shard, "top", msgspec.msgpack.encode(query)), TopCandidates)
    assert is_top(told, query)
    broker = Broker(Tiers([shard, LocalShard(write_shard(tmp_path / "01", []))]))
    by_terms = TermIndexReader(tmp_path / "terms").find(query)
    found = [shard.top(query), told, broker.find(query, is_exact=True), by_terms]
    for top in found:
        (one,) = top.candidates
        assert {name: getattr(one, name) for name in FAST_FIELDS} == numbers
    assert shard.unchanged([page]) == {numbers["key"]}


def test_there_is_room_for_the_fields_in_a_place_of_a_term_index() -> None:
    assert FIELDS <= MOST_FIELDS
