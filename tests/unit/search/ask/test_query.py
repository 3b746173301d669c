from datetime import UTC, datetime

import pytest

from gossamer.search.ask import Question, read_question


def seconds(*date: int) -> int:
    return int(datetime(*date, tzinfo=UTC).timestamp())  # type: ignore[arg-type,misc]  # a date


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("red wool", Question(words=(("red",), ("wool",)))),
        ("red OR blue OR green wool", Question(words=(("red", "blue", "green"), ("wool",)))),
        ('"red wool" -blue -"old coat"',
         Question(rows=("red wool",), without=("blue",), without_rows=("old coat",))),
        ("“red wool” «old coat»", Question(rows=("red wool", "old coat"))),
        ("site:Example.ORG -site:https://bad.example.org/x",
         Question(sites=("example.org",), not_sites=("bad.example.org",))),
        ("site:münchen.de", Question(sites=("xn--mnchen-3ya.de",))),
        ("site:example.org:8080", Question(sites=("example.org",))),
        ("lang:de-AT -lang:FR", Question(languages=("de",), not_languages=("fr",))),
        ("type:.PDF filetype:text/html -type:htm",
         Question(types=("pdf", "text/html"), not_types=("html",))),
        ("inurl:manual -inurl:old", Question(in_url=("manual",), not_in_url=("old",))),
        ("after:2026-05 before:2026-07-01",
         Question(after=seconds(2026, 5, 1), before=seconds(2026, 7, 1))),
        ("-after:2026", Question(before=seconds(2026, 1, 1))),
        ("after:2024 after:2025", Question(after=seconds(2025, 1, 1))),
        ("ＲＥＤ　site：example.org", Question(words=(("RED",),), sites=("example.org",))),
        ('5" disk', Question(words=(("5",), ("disk",)))),
        ("wool - coat", Question(words=(("wool",), ("coat",)))),
        ("OR wool OR", Question(words=(("wool",),))),
        ("red red", Question(words=(("red",),))),
        ("", Question()),
    ],
)  # fmt: skip
def test_a_question_is_read(text: str, expected: Question) -> None:
    reading = read_question(text)
    assert reading.question == expected
    assert reading.hints == ()


def test_a_filter_that_cannot_be_read_becomes_words_and_a_hint() -> None:
    reading = read_question("wool before:yesterday site:")
    assert reading.question == Question(words=(("wool",), ("yesterday",)))
    assert reading.hints == (
        "before: takes a day such as before:2026-07-01, a month or a year",
        "site: takes a host such as site:example.org",
    )


def test_a_quote_that_is_not_closed_is_told() -> None:
    reading = read_question('wool "red coat')
    assert reading.question == Question(words=(("wool",), ("red",), ("coat",)))
    assert reading.hints == ("a quote is not closed: its words may stand anywhere",)


def test_only_the_first_words_of_many_count() -> None:
    reading = read_question(" ".join(f"w{n}" for n in range(40)))
    assert len(reading.question.words) == 32
    assert reading.hints == ("only the first 32 words count",)


def test_a_very_long_text_is_cut() -> None:
    reading = read_question("wool " * 1000)
    assert "the question is too long: its end was left out" in reading.hints
