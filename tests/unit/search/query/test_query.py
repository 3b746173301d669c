from datetime import UTC, datetime

import pytest

from gossamer.search.query import Query, parse_query


def seconds(*date: int) -> int:
    return int(datetime(*date, tzinfo=UTC).timestamp())  # type: ignore[arg-type,misc]  # a date


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("red wool", Query(words=(("red",), ("wool",)))),
        ("red OR blue OR green wool", Query(words=(("red", "blue", "green"), ("wool",)))),
        ('"red wool" -blue -"old coat"',
         Query(rows=("red wool",), without=("blue",), without_rows=("old coat",))),
        ("“red wool” «old coat»", Query(rows=("red wool", "old coat"))),
        ("site:Example.ORG -site:https://bad.example.org/x",
         Query(sites=("example.org",), not_sites=("bad.example.org",))),
        ("site:münchen.de", Query(sites=("xn--mnchen-3ya.de",))),
        ("site:example.org:8080", Query(sites=("example.org",))),
        ("lang:de-AT -lang:FR", Query(languages=("de",), not_languages=("fr",))),
        ("type:.PDF filetype:text/html -type:htm",
         Query(types=("pdf", "text/html"), not_types=("html",))),
        ("inurl:manual -inurl:old", Query(in_url=("manual",), not_in_url=("old",))),
        ("after:2026-05 before:2026-07-01",
         Query(after=seconds(2026, 5, 1), before=seconds(2026, 7, 1))),
        ("-after:2026", Query(before=seconds(2026, 1, 1))),
        ("after:2024 after:2025", Query(after=seconds(2025, 1, 1))),
        ("ＲＥＤ　site：example.org", Query(words=(("RED",),), sites=("example.org",))),
        ('5" disk', Query(words=(("5",), ("disk",)))),
        ("wool - coat", Query(words=(("wool",), ("coat",)))),
        ("OR wool OR", Query(words=(("wool",),))),
        ("RED OR BLUE WOOL", Query(words=(("RED", "BLUE"), ("WOOL",)))),
        ("WHERE IS RED OR BLUE WOOL SOLD?", Query(words=(
            ("WHERE",), ("IS",), ("RED",), ("or",), ("BLUE",), ("WOOL",), ("SOLD?",)))),
        ("red red", Query(words=(("red",), ("red",)))),
        ("git commit --amend", Query(words=(("git",), ("commit",), ("amend",)))),
        ("git clean -f", Query(words=(("git",), ("clean",), ("f",)))),
        ("rm -rf tar -xvf gcc -O2", Query(
            words=(("rm",), ("rf",), ("tar",), ("xvf",), ("gcc",), ("O2",)))),
        ("gcc -O2 -Wall", Query(words=(("gcc",), ("O2",), ("Wall",)))),
        ("gcc -wall", Query(words=(("gcc",),), without=("wall",))),
        ("gcc -Wall", Query(words=(("gcc",), ("Wall",)))),
        ("ghc -Wincomplete-patterns", Query(words=(("ghc",), ("Wincomplete-patterns",)))),
        ('red -"blue-green"', Query(words=(("red",),), without_rows=("blue-green",))),
        ("cmake -DCMAKE_BUILD_TYPE=Debug x", Query(words=(
            ("cmake",), ("DCMAKE_BUILD_TYPE", "CMAKE_BUILD_TYPE"), ("=Debug",), ("x",)))),
        ("--amend -blue", Query(words=(("amend",),), without=("blue",))),
        ("-blue", Query(words=(("blue",),))),
        ('-"old coat"', Query(rows=("old coat",))),
        ("-site:a.test coat", Query(words=(("coat",),), not_sites=("a.test",))),
        ("red -語", Query(words=(("red",),), without=("語",))),
        ("red -co -cot -c4o -crw -2023", Query(
            words=(("red",), ("co",), ("crw",), ("2023",)), without=("cot", "c4o"))),
        ("red -blue=1 --blue", Query(words=(("red",), ("blue=1",), ("blue",)))),
        ("What type: a red-and-blue one (or both)?", Query(words=(
            ("What",), ("type",), ("a",), ("red-and-blue",), ("one",), ("(or",), ("both)?",)))),
        ("note: it's red; why?", Query(words=(("note:",), ("it's",), ("red;",), ("why?",)))),
        ("", Query()),
    ],
)  # fmt: skip
def test_a_question_is_read(text: str, expected: Query) -> None:
    reading = parse_query(text)
    assert reading.query == expected
    assert reading.hints == ()


def test_a_filter_that_cannot_be_read_becomes_words_and_a_hint() -> None:
    reading = parse_query("wool before:yesterday site:")
    assert reading.query == Query(words=(("wool",), ("yesterday",)))
    assert reading.hints == (
        "before: takes a day such as before:2026-07-01, a month or a year",
        "site: takes a host such as site:example.org",
    )


def test_a_quote_that_is_not_closed_is_told() -> None:
    reading = parse_query('wool "red coat')
    assert reading.query == Query(words=(("wool",), ("red",), ("coat",)))
    assert reading.hints == ("a quote is not closed: its words may stand anywhere",)


def test_only_the_first_words_of_many_count() -> None:
    reading = parse_query(" ".join(f"w{n}" for n in range(600)))
    assert len(reading.query.words) == 500
    assert reading.hints == ("only the first 500 words count",)


def test_a_very_long_text_is_cut() -> None:
    reading = parse_query("wool " * 3000)
    assert "the query is too long: its end was left out" in reading.hints
