from gossamer.search.analysis import Analyser

ANALYSER = Analyser()


def test_a_word_of_a_question_has_its_forms_in_the_languages_of_the_index() -> None:
    assert ANALYSER.groups("Häuser", ["de", "en"]) == [("haus", "hauser")]
    assert ANALYSER.groups("running", ["en", "de", "zh"])[0] == ("run", "running")


def test_a_question_finds_what_was_indexed_in_any_of_its_languages() -> None:
    for language in ("en", "de", "fr", "ru", ""):
        term = ANALYSER.terms("nationalities", language)[0]
        assert term in ANALYSER.groups("nationalities", ["en", "de", "fr", "ru"])[0]


def test_a_name_is_one_word_of_a_question() -> None:
    assert ANALYSER.groups("std::foo_bar in C++", ["en"]) == [
        ("std",),
        ("foo_bar",),
        ("in",),
        ("c++",),
    ]


def test_no_more_languages_are_asked_than_help() -> None:
    languages = ["en", "de", "fr", "it", "es", "pt", "sv", "en-GB"]
    assert len(ANALYSER.groups("informations", languages)[0]) <= 5


def test_words_that_are_nothing_are_left_out() -> None:
    assert ANALYSER.groups("\u0301 -- !", ["en"]) == []
    assert ANALYSER.groups("", []) == []


def test_a_phrase_has_a_version_for_each_language_that_makes_a_difference() -> None:
    assert ANALYSER.versions("The running foxes", ["en"]) == (
        ("the", "run", "fox"),
        ("the", "running", "foxes"),
    )
    assert ANALYSER.versions("a b", ["en", "de"]) == (("a", "b"),)
    assert ANALYSER.versions("東京都", ["en"]) == (("東京", "京都"),)
    assert ANALYSER.versions("...", ["en"]) == ()


def test_stop_words_are_known_by_language() -> None:
    assert ANALYSER.is_stop("The", ["en"])
    assert ANALYSER.is_stop("und", ["en", "de"])
    assert not ANALYSER.is_stop("und", ["en"])
    assert not ANALYSER.is_stop("fox", ["en", "de", "el", "zh-Hant"])
    assert not ANALYSER.is_stop("the fox", ["en"])


def test_many_words_have_the_forms_that_each_of_them_has() -> None:
    words = ["running", "Häuser", "größe", "foo_bar", "route66", "Upper", "привет", "runing"]
    for languages in (["en"], ["de", "en"], []):
        alone = [ANALYSER.groups(word, languages) for word in words]
        assert ANALYSER.groups_of_words(words, languages) == alone
