from pathlib import Path

from gossamer.search.analysis import Analyser
from gossamer.search.ask import Searcher
from gossamer.search.ask.tongues import Tongues, likely_languages
from gossamer.search.page import IndexPage
from tests.unit.search.ask.small import index_of


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
    finder = index_of(tmp_path, [*english, *french])
    tongues = Tongues(["files"], Analyser(), finder.languages(), finder.counts)
    assert tongues.groups["files"] == [("file",)]
    assert tongues.languages == ["en"]
