from pathlib import Path

import pytest

from gossamer.search.analysis import Analyser
from gossamer.search.page import IndexPage
from gossamer.search.query import digraphs
from gossamer.search.query.languages import QueryLanguages, likely_languages
from gossamer.search.searcher import Searcher
from tests.unit.search.query.small import index_of


def pages(language: str, text: str, count: int) -> list[IndexPage]:
    return [
        IndexPage(url=f"http://{language}.test/{n}", text=f"{text}. {n}", language=language)
        for n in range(count)
    ]


def test_languages_come_first_whose_letters_a_question_has() -> None:
    known = ["en", "fr", "de", "ru"]
    assert likely_languages("начало", known)[0] == "ru"
    assert likely_languages("straße", known)[0] == "de"
    assert likely_languages("plain", known) == known


def test_a_question_in_a_rare_language_finds_other_forms_of_its_words(tmp_path: Path) -> None:
    english = pages("en", "A long line about something else, and about nothing in particular", 60)
    german = pages("de", "Hier stehen viele Anweisungen, und noch mehr davon an anderer Stelle", 2)
    searcher = Searcher(index_of(tmp_path, [*english, *german]))
    assert {hit.language for hit in searcher.search("Anweisung").hits} == {"de"}
    assert searcher.search('"viele Anweisungen"').total == 2


def test_a_form_that_hardly_any_page_has_beside_another_does_not_count(tmp_path: Path) -> None:
    english = pages("en", "Files are kept in a folder, and this goes on for a while", 90)
    french = pages("fr", "Un fil de laine, et encore un autre fil sur la table du salon", 1)
    reader = index_of(tmp_path, [*english, *french])
    query_languages = QueryLanguages(["files"], Analyser(), reader.languages(), reader.counts)
    assert query_languages.groups["files"] == [("file",)]
    assert query_languages.languages == ["en"]


SPELLINGS = {
    "http://a.test/": "Die Lösung der Aufgabe steht am Ende des Buches, das Göthe geschrieben hat",
    "http://b.test/": "Die Loesung der Frage steht am Anfang des Heftes, das Goethe gelesen hat",
    "http://c.test/": "Von etwas ganz anderem ist in diesem Text die Rede, und von nichts sonst",
}


def german() -> list[IndexPage]:
    return [IndexPage(url=url, text=text, language="de") for url, text in SPELLINGS.items()]


@pytest.mark.parametrize(
    "query", ["Lösung", "Loesung", "LOESUNG", "losung", "Göthe", "Goethe", "Lösungen"]
)
def test_oe_and_o_umlaut_are_the_same_in_german(query: str, tmp_path: Path) -> None:
    hits = Searcher(index_of(tmp_path, german())).search(query).hits
    assert {hit.url for hit in hits} == {"http://a.test/", "http://b.test/"}


def test_oe_of_a_german_word_is_an_umlaut_among_pages_in_english(tmp_path: Path) -> None:
    english = pages("en", "A long line about something else, and about nothing in particular", 60)
    searcher = Searcher(index_of(tmp_path, [*english, *german()]))
    assert {hit.url for hit in searcher.search("Loesung").hits} >= {"http://a.test/"}


def danish() -> list[IndexPage]:
    texts = ("Byen Århus ligger ved havet", "Byen Aarhus er gammel", "Noget helt andet her")
    return [
        IndexPage(url=f"http://{n}.test/", text=text, language="da") for n, text in enumerate(texts)
    ]


def test_oe_of_an_english_word_is_no_letter_of_danish(tmp_path: Path) -> None:
    english = pages("en", "The shoes stand in the garden and nobody has put them there", 3)
    english += [
        IndexPage(
            url="http://pot.test/", text="A sho is nothing, and shos are two of it", language="en"
        )
    ]
    searcher = Searcher(index_of(tmp_path, [*english, *danish()]))
    assert "http://pot.test/" not in {hit.url for hit in searcher.search("shoes").hits}


def test_aa_and_a_with_a_ring_are_the_same_in_danish(tmp_path: Path) -> None:
    searcher = Searcher(index_of(tmp_path, danish()))
    for query in ("Århus", "Aarhus"):
        hits = searcher.search(query).hits
        assert {hit.url for hit in hits} == {"http://0.test/", "http://1.test/"}


def test_an_umlaut_finds_two_letters_on_a_page_of_another_language(tmp_path: Path) -> None:
    english = IndexPage(url="http://en.test/", text="He said Loesung, not answer", language="en")
    hits = Searcher(index_of(tmp_path, [*german(), english])).search("Lösung").hits
    assert "http://en.test/" in {hit.url for hit in hits}


@pytest.mark.parametrize(
    ("word", "language", "longer", "shorter"),
    [
        ("Lösung", "de", "loesung", "lösung"),
        ("Loesung", "de", "loesung", "lösung"),
        ("Feuer", "de", "feuer", "feuer"),
        ("Quelle", "de", "quelle", "quelle"),
        ("Bäume", "de", "baeume", "bäume"),
        ("Aarhus", "da", "aarhus", "århus"),
        ("Aarhus", "de", "aarhus", "aarhus"),
        ("Tromsø", "no", "tromsoe", "tromsø"),
    ],
)
def test_words_are_spelled_with_one_letter_or_two(
    word: str, language: str, longer: str, shorter: str
) -> None:
    assert digraphs.spelled_out(word, language) == longer
    assert digraphs.contracted(word, language) == shorter
