import pytest

from gossamer.search.analysis import Analyser
from gossamer.search.analysis.stems import STEMMED, fold, stem, stems
from gossamer.search.analysis.vocabulary import PADDING, Vocabulary
from gossamer.search.analysis.words import LONGEST, MOST

ANALYSER = Analyser()


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Hello, World!", "hello world"),
        ("call foo_bar() and __init__", "call foo bar foo_bar and init"),
        ("C++ and C# and c", "c c++ and c c# and c"),
        ("don't touch the page's _can't_do_", "dont touch the page cant do cant_do"),
        ("l'eau O’Brien rock'n'roll", "l eau o brien rock n roll"),
        ("co\u00adoperate zero\u200bwidth", "cooperate zerowidth"),
        ("Straße ÉCOLE e\u0301cole Ærø", "strasse ecole ecole aero"),
        ("ﬁne ＡＢＣ İstanbul ΣΟΦΟΣ", "fine abc istanbul σοφοσ"),
        ("東京都 a 東 ไทย 한국어", "東京 京都 a 東 ไท ทย 한국 국어"),
        ("Ｃ＿ｄ １２３", "c d c_d 123"),
        ("नमस्ते שָׁלוֹם", "नमस्ते שלום"),
        ("😀 \x00 -- \ud800 \u0301", ""),
        ("", ""),
    ],
)
def test_a_text_is_these_words(text: str, terms: str) -> None:
    assert " ".join(ANALYSER.terms(text, "")) == terms


@pytest.mark.parametrize(
    ("word", "language", "term"),
    [
        ("running", "en", "run"),
        ("nationalities", "en-GB", "nation"),
        ("Häuser", "de", "haus"),
        ("chevaux", "fr", "cheval"),
        ("hester", "nb", "hest"),
        ("running", "zh-Hant", "running"),
        ("running", "", "running"),
        ("epi16s", "en", "epi16s"),
    ],
)
def test_endings_go_by_the_language_and_accents_after_them(
    word: str, language: str, term: str
) -> None:
    assert ANALYSER.terms(word, language) == [term]


def test_many_words_are_stemmed_as_each_of_them_is() -> None:
    words = ["running", "Häuser", "x", "foo_bar", "route66", "ﬁnes", "\ufdfa", "cats", "ß"]
    for some in (words, [word for word in words if word != "\ufdfa"], []):
        for code in STEMMED:
            assert stems(some, code) == [stem(word, code) for word in some]


def test_every_language_with_a_stemmer_has_one() -> None:
    assert all(stem("word", code) for code in STEMMED)


def test_folding_twice_is_folding_once() -> None:
    words = ["école", "ŁÓDŹ", "ǆ", "ﷺ", "½", "ͺ", "ﬀ"]
    assert [fold(fold(word)) for word in words] == [fold(word) for word in words]


def test_long_words_are_cut_between_characters() -> None:
    assert ANALYSER.terms("x" * 1000, "") == ["x" * LONGEST]
    assert ANALYSER.terms("日" * 3 + "ж" * 1000, "")[-1] == "ж" * (LONGEST // 2)
    assert len(ANALYSER.terms("ab_" * 1000, "")[-1].encode()) == LONGEST


def test_a_field_has_so_many_words_and_no_more() -> None:
    text = b"a_b c " * MOST
    vocabulary = Vocabulary()
    (found,) = vocabulary.terms(text + PADDING, [0, len(text)], "") or [""]
    assert found.split(" ") == ANALYSER.terms(text.decode(), "")
    assert len(found.split(" ")) == MOST


def test_a_full_vocabulary_starts_anew_and_says_the_same() -> None:
    small, large = Vocabulary(slots=256, arena_words=1024), Vocabulary()
    for n in range(30):
        text = " ".join(f"word{n}x{m} running" for m in range(40)).encode()
        span = [0, len(text)]
        assert small.terms(text + PADDING, span, "en") == large.terms(text + PADDING, span, "en")


def test_a_text_with_more_words_than_a_vocabulary_holds_is_left_to_others() -> None:
    text = " ".join(f"word{n}" for n in range(500)).encode()
    small = Vocabulary(slots=256, arena_words=1 << 16)
    assert small.terms(text + PADDING, [0, len(text)], "en") is None
    assert small.terms(b"running" + PADDING, [0, 7], "en") == ["run"]


def test_a_word_has_a_term_in_each_language() -> None:
    vocabulary = Vocabulary()
    for code, term in [("en", "chang"), ("fr", "chang"), ("", "changes"), ("en", "chang")]:
        assert vocabulary.terms(b"changes" + PADDING, [0, 7], code) == [term]
