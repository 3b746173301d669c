from pathlib import Path

import pytest

from gossamer.search.answer import SearchOptions
from gossamer.search.page import IndexPage
from gossamer.search.ranking.ties import preferred_languages, with_ties_by_language
from gossamer.search.searcher import Searcher
from gossamer.web.asked import accepted_languages
from tests.unit.search.query.small import index_of


@pytest.mark.parametrize(
    ("scores", "languages", "expected"),
    [
        ([], [], []),
        ([1.0, 1.0, 1.0], ["fr", "en", "de"], [2, 1, 0]),
        ([1.0, 0.99, 0.981], ["fr", "en", "de"], [2, 1, 0]),
        ([1.0, 0.9, 0.8], ["fr", "en", "de"], [0, 1, 2]),
        ([1.0, 0.99, 0.5, 0.499], ["fr", "de", "fr", "de"], [1, 0, 3, 2]),
        ([1.0, 2.0, 1.0], ["fr", "de", "de"], [0, 1, 2]),
        ([0.0, 0.0], ["fr", "de"], [1, 0]),
        ([1.0, 1.0], ["fr", "de-AT"], [1, 0]),
        ([1.0, 1.0], ["ja", "fr"], [0, 1]),
    ],
)
def test_only_results_that_fit_nearly_equally_well_are_ordered_by_language(
    scores: list[float], languages: list[str], expected: list[int]
) -> None:
    assert with_ties_by_language(scores, languages, ("de", "en")) == expected


def test_the_language_of_the_query_comes_before_those_that_the_asker_reads() -> None:
    assert preferred_languages("en", ("de-AT", "fr"), ("fr", "es")) == ("en", "de", "fr", "es")
    assert preferred_languages("", ("de", ""), ("en",)) == ("de", "en")


def test_pages_that_the_asker_can_read_come_first(tmp_path: Path) -> None:
    pages = [
        IndexPage(url=f"http://{code}.test/", text=f"Zebrafink {code}{code}", language=code)
        for code in ("it", "pt", "ro", "tr")
    ]
    searcher = Searcher(index_of(tmp_path, pages))
    for code in ("it", "pt", "ro", "tr"):
        hits = searcher.search("zebrafink", SearchOptions(languages=(f"{code}-XX",))).hits
        assert len(hits) == 4
        assert hits[0].language == code


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", ()),
        ("de", ("de",)),
        ("en-US,en;q=0.9,de;q=0.8", ("en", "de")),
        ("en;q=0.5, de-AT", ("de", "en")),
        ("fr;q=0, de", ("de",)),
        ("*, de;q=1.5, x;q=abc", ()),
        ("en;q=0.1," * 1000, ("en",)),
        ("<script>,de\x00", ()),
    ],
)
def test_accepted_languages_are_read_by_their_quality(
    header: str, expected: tuple[str, ...]
) -> None:
    assert accepted_languages(header) == expected
