"""Which language a text is in: a short look where it is clear, a longer one where it is not."""

import pytest

from gossamer.process.detect import language_of

ENGLISH = "The library lends books to everyone who lives in the town and likes to read them. "
GERMAN = "Die Bibliothek leiht allen, die in der Stadt wohnen und gerne lesen, viele Romane aus. "
CHINESE = "图书馆把书借给住在城里而且喜欢读书的每一个人，不收任何费用，每天开放。"


@pytest.mark.parametrize(
    ("text", "claim", "expected"),
    [
        (ENGLISH * 30, "", "en"),
        (ENGLISH * 30, "en-GB", "en"),
        (ENGLISH * 30, "de", "en"),
        (GERMAN * 30, "", "de"),
        (GERMAN * 30, "de", "de"),
        (CHINESE * 60, "", "zh"),
        (ENGLISH * 3, "", "en"),
        ("word", "fr-CA", "fr"),
        ("0123456789 " * 200, "nl", "nl"),
    ],
)
def test_a_text_has_the_language_that_it_is_written_in(
    text: str, claim: str, expected: str
) -> None:
    assert language_of(text, claim) == expected


def test_a_menu_in_english_does_not_hide_a_text_in_chinese() -> None:
    assert language_of(ENGLISH * 7 + CHINESE * 60) == "zh"


def test_a_claim_that_the_beginning_does_not_bear_out_is_looked_at_further_down() -> None:
    assert language_of(ENGLISH * 7 + GERMAN * 30, "de") == "de"


def test_a_lone_surrogate_costs_only_the_guess() -> None:
    assert language_of(ENGLISH * 30 + "\ud800", "en") == "en"
    assert language_of("\ud800" + ENGLISH * 30, "en") == "en"
