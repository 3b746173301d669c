import json
import time
from pathlib import Path
from typing import Any

import pytest
import tantivy

from gossamer.errors import CannotGoOn
from gossamer.search.fields import TEXT_FIELDS, Weights
from gossamer.search.messages import Bonus, QueryFilters, ShardQuery
from gossamer.search.page import Prepared
from gossamer.search.shard import BadShard, LocalShard, ShardWriter, quantised
from gossamer.search.shard.lengths import LENGTHS
from gossamer.search.shard.schema import open_index
from tests.unit.search.made import bonuses, prepared, shard_of, write_shard

A, B, C = (f"http://{name}.test/x" for name in "abc")
ALL = ShardQuery(groups=(("red",),), needed=1)


def pages() -> list[Prepared]:
    return [
        prepared(A, title="red fox", main="a red fox runs", path="a test x", at=10),
        prepared(B, title="hen", main="the hen sees a red fox red", at=20, language="fr"),
        prepared(C, main="nothing here", anchors="red", at=0),
    ]


def keys(*urls: str) -> list[int]:
    return [prepared(url).key for url in urls]


@pytest.fixture
def shard(tmp_path: Path) -> LocalShard:
    return shard_of(tmp_path, pages())


def test_candidates_come_with_their_facts_and_the_best_first(shard: LocalShard) -> None:
    found = shard.top(ALL)
    assert found.total == 3
    assert [one.key for one in found.candidates] == keys(A, B, C)
    assert [one.at for one in found.candidates] == [10, 20, 0]
    assert sorted((one.score for one in found.candidates), reverse=True) == [
        one.score for one in found.candidates
    ]


@pytest.mark.parametrize("top", [0, 1, 3, 10**12])
def test_any_number_of_candidates_may_be_asked_for(shard: LocalShard, top: int) -> None:
    found = shard.top(ShardQuery(groups=(("red",),), needed=1, top=top))
    assert len(found.candidates) == min(top, 3)
    assert found.total == 3


@pytest.mark.parametrize(("needed", "expected"), [(1, 3), (2, 0)])
def test_a_word_that_no_page_has_ends_a_question_only_if_all_words_are_needed(
    shard: LocalShard, needed: int, expected: int
) -> None:
    groups = (("red",), ("unheard", "unseen"))
    assert shard.top(ShardQuery(groups=groups, needed=needed)).total == expected
    forms = (("red",), ("unheard", "hen"))
    assert shard.top(ShardQuery(groups=forms, needed=2)).total == 1


def test_a_row_counts_where_one_version_of_it_stands(shard: LocalShard) -> None:
    there, nowhere = Bonus((("red", "unheard"), ("red", "fox")), 2.0), Bonus((("unheard",),), 9.0)
    assert shard.near(keys(A, B, C), [there, nowhere]) == [2.0, 2.0, 0.0]
    assert shard.near(keys(A), [nowhere]) == [0.0]


def test_counts_are_those_of_the_words_written(shard: LocalShard) -> None:
    counts = shard.counts(["red", "unheard"])
    assert counts.pages == 3
    assert dict(zip(TEXT_FIELDS, counts.tokens, strict=True)) == {
        "title": 3,
        "heads": 0,
        "main": 13,
        "rest": 0,
        "code": 0,
        "anchors": 1,
        "path": 3,
    }
    assert counts.having == {"red": (1, 0, 2, 0, 0, 1, 0), "unheard": (0,) * len(TEXT_FIELDS)}


def test_an_empty_shard_answers_everything_with_nothing(tmp_path: Path) -> None:
    shard = shard_of(tmp_path, [])
    assert shard.top(ALL).candidates == []
    assert shard.top(ShardQuery()).total == 0
    assert shard.counts(["red"]).having == {"red": (0,) * len(TEXT_FIELDS)}
    assert shard.counts([]).tokens == (0,) * len(TEXT_FIELDS)
    assert shard.evidence([1], ALL) == [[]]
    assert shard.near([1], bonuses(("red", "fox"))) == [0.0]
    assert shard.stored([1]) == []
    assert shard.vocabulary("", 10) == []
    assert list(shard.urls()) == []
    assert shard.facts().pages == 0


def test_evidence_says_how_often_and_in_how_long_a_field(shard: LocalShard) -> None:
    (b,) = shard.evidence(keys(B), ShardQuery(groups=(("fox", "hen"), ("red",)), needed=2))
    assert sorted((one.group, one.field, one.often, one.length) for one in b) == [
        (0, 0, 1, 1),  # hen, title
        (0, 2, 1, 7),  # fox, main
        (0, 2, 1, 7),  # hen, main
        (1, 2, 2, 7),
    ]


def test_fields_that_count_nothing_give_no_evidence(shard: LocalShard) -> None:
    ask = ShardQuery(groups=(("red",),), needed=1, weights=Weights(title=0, main=0))
    assert shard.evidence(keys(A), ask) == [[]]


def test_long_fields_are_as_long_as_the_engine_thinks(tmp_path: Path) -> None:
    lengths = [1, 39, 40, 41, 57, 100, 1000, 5000, 70_001]
    shard = shard_of(
        tmp_path,
        [
            prepared(f"http://a.test/{n}", main="red " + "w " * (n - 2) + "w")
            for n in lengths
            if n > 1
        ]
        + [prepared("http://a.test/1", main="red")],
    )
    ask = ShardQuery(groups=(("red",),), needed=1)
    found = shard.evidence([prepared(f"http://a.test/{n}").key for n in lengths], ask)
    index = open_index(tmp_path)
    searcher = index.searcher()
    query = tantivy.Query.term_query(index.schema, "main", "red")
    explained = {}
    for _, place in searcher.search(query, 100).hits:
        told = json.loads(query.explain(searcher, place).to_json())
        explained[searcher.fast_field_values("main_words", [place])[0]] = _dl(told)
    assert [one.length for (one,) in found] == [explained[n] for n in lengths]
    assert all(one.often == 1 for (one,) in found)


@pytest.mark.slow
def test_commits_are_taken_up_only_when_somebody_says_so(tmp_path: Path) -> None:
    shard_of(tmp_path, pages())
    index = open_index(tmp_path)
    write_shard(tmp_path, [prepared("http://d.test/", main="red")])
    time.sleep(0.8)  # the engine would look twice a second
    assert index.searcher().num_docs == 3
    index.reload()
    assert index.searcher().num_docs == 4


def _dl(node: dict[str, Any]) -> float | None:
    if node["description"].startswith("dl,"):
        return float(node["value"])
    found = [_dl(part) for part in node.get("details", [])]
    return next((one for one in found if one is not None), None)


def test_every_byte_of_a_length_stands_for_itself() -> None:
    assert len(set(LENGTHS)) == 256
    assert list(LENGTHS) == sorted(LENGTHS)
    assert [quantised(length) for length in LENGTHS] == list(LENGTHS)
    assert quantised(10**12) == LENGTHS[-1]


def test_rows_of_terms_count_once_in_main_text_or_title(shard: LocalShard) -> None:
    rows = bonuses(("red", "fox"), ("fox", "runs"), ("hen",), ())
    assert shard.near(keys(A, B, C), rows) == [2.0, 2.0, 0.0]


def test_pages_are_shown_in_the_order_asked_for_without_those_that_are_gone(
    shard: LocalShard,
) -> None:
    found = shard.stored([*keys(B), 77, *keys(A)])
    assert [page.url for page in found] == [B, A]
    assert found[0].language == "fr"
    assert found[1].text == "a red fox runs"


def test_a_vocabulary_is_of_titles_and_main_texts(shard: LocalShard) -> None:
    assert shard.vocabulary("r", 10) == [("red", 2), ("runs", 1)]
    assert shard.vocabulary("r", 1) == [("red", 2)]
    assert shard.vocabulary("r", 0) == []


def test_a_snapshot_stays_until_it_is_renewed(tmp_path: Path) -> None:
    shard = shard_of(tmp_path, pages())
    assert not shard.renew()
    writer = ShardWriter(tmp_path, heap_bytes=15_000_000)
    writer.delete(A)
    writer.add(prepared("http://d.test/", title="red"))
    writer.add(prepared(B, title="grey"))
    writer.close()
    assert sorted(shard.urls()) == [A, B, C]
    assert shard.renew()
    assert sorted(shard.urls()) == [B, C, "http://d.test/"]
    assert shard.facts().pages == 3
    assert shard.facts().languages == {"en": 3}
    assert [page.title for page in shard.stored(keys(B))] == ["grey"]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (QueryFilters(sites=("a.test", "b.test")), {A, B}),
        (QueryFilters(not_sites=("test",)), set()),
        (QueryFilters(languages=("fr",)), {B}),
        (QueryFilters(not_languages=("fr",)), {A, C}),
        (QueryFilters(in_url=("x",)), {A}),
        (QueryFilters(not_in_url=("x",)), {B, C}),
        (QueryFilters(types=("pdf",)), set()),
        (QueryFilters(after=10, before=20), {A}),
        (QueryFilters(after=-5, before=2**70), {A, B}),
        (QueryFilters(before=0), set()),
    ],
)
def test_filters_hold(shard: LocalShard, filters: QueryFilters, expected: set[str]) -> None:
    found = shard.top(ShardQuery(groups=(("red",),), needed=1, filters=filters))
    assert {page.url for page in shard.stored([one.key for one in found.candidates])} == expected


def test_phrases_are_needed_or_unwanted(shard: LocalShard) -> None:
    ask = ShardQuery(phrases=((("red", "fox"), ("sees",)),), without=((("hen",),),))
    assert [one.key for one in shard.top(ask).candidates] == keys(A)
    assert shard.top(ShardQuery(phrases=(((),),))).total == 0


@pytest.mark.parametrize("damage", ["gone", "empty", "no json", "half", "no file"])
def test_a_damaged_shard_says_what_to_do(tmp_path: Path, damage: str) -> None:
    path = write_shard(tmp_path / "00", pages())
    meta = path / "meta.json"
    if damage == "gone":
        path.rename(tmp_path / "away")
    elif damage == "empty":
        meta.write_bytes(b"")
    elif damage == "no json":
        meta.write_bytes(b"\xff{")
    else:
        for file in path.glob("*.idx"):
            file.write_bytes(file.read_bytes()[:20]) if damage == "half" else file.unlink()
    with pytest.raises(BadShard, match="gossamer build DIR index --full") as told:
        LocalShard(path).top(ALL)
    assert isinstance(told.value, CannotGoOn)


def test_two_writers_of_one_folder_are_told(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path, heap_bytes=15_000_000)
    with pytest.raises(BadShard, match="cannot be written"):
        ShardWriter(tmp_path, heap_bytes=15_000_000)
    writer.close()
