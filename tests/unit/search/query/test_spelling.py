from pathlib import Path

import pytest

from gossamer.search.analysis import Analyser
from gossamer.search.page import IndexPage
from gossamer.search.query.spelling import Speller, is_near, slips
from tests.unit.search.query.small import index_of

FILLER = "so that this line is long enough to be taken for the main text of a page, and more"


@pytest.mark.parametrize("slip", ["gosamer", "gossamerr", "gossammer", "gosasmer", "gossamar"])
def test_a_word_with_one_slip_is_mended(tmp_path: Path, slip: str) -> None:
    pages = [
        IndexPage(url=f"http://a.test/{n}", text=f"gossamer number {n} {FILLER}", language="en")
        for n in range(40)
    ]
    reader = index_of(tmp_path, pages)
    assert Speller(reader, Analyser()).better([slip]) == {slip: "gossamer"}


def test_a_long_word_with_two_slips_is_mended_and_shown_as_it_is_written(tmp_path: Path) -> None:
    pages = [
        IndexPage(url=f"http://a.test/{n}", text=f"Universities {n} {FILLER}", language="en")
        for n in range(40)
    ]
    reader = index_of(tmp_path, pages)
    assert Speller(reader, Analyser()).better(["univrsitees"]) == {"univrsitees": "universities"}


@pytest.mark.parametrize("word", ["gossamer", "gos", "b4by", "日本", "", "x" * 60])
def test_a_word_that_is_frequent_or_short_or_no_word_is_left(tmp_path: Path, word: str) -> None:
    pages = [
        IndexPage(url=f"http://a.test/{n}", text=f"gossamer got gob baby {FILLER}", language="en")
        for n in range(40)
    ]
    reader = index_of(tmp_path, pages)
    assert Speller(reader, Analyser()).better([word]) == {}


def test_of_two_words_that_may_be_meant_the_one_is_taken_that_stands_with_the_others(
    tmp_path: Path,
) -> None:
    texts = ["a vacuum for postgresql"] * 40 + ["an accum of nothing"] * 90
    pages = [
        IndexPage(url=f"http://a.test/{n}", text=f"{text} {FILLER}", language="en")
        for n, text in enumerate(texts)
    ]
    speller = Speller(index_of(tmp_path, pages), Analyser())
    assert speller.better(["postgersql", "vaccum"]) == {
        "postgersql": "postgresql",
        "vaccum": "vacuum",
    }
    assert speller.better(["postgresql", "vaccum"]) == {"vaccum": "vacuum"}


def test_in_a_small_index_one_page_is_enough(tmp_path: Path) -> None:
    text = f"postgresql needs a vacuum {FILLER}"
    reader = index_of(tmp_path, [IndexPage(url="http://a.test/", text=text, language="en")])
    assert Speller(reader, Analyser()).better(["postgersql", "vaccum"]) == {
        "postgersql": "postgresql",
        "vaccum": "vacuum",
    }


def test_a_stop_word_is_right_however_rare_it_is(tmp_path: Path) -> None:
    pages = [
        IndexPage(url=f"http://a.test/{n}", text=f"wits gossamer {n} {FILLER}", language="en")
        for n in range(40)
    ]
    assert Speller(index_of(tmp_path, pages), Analyser()).better(["with"]) == {}


def test_a_word_with_another_first_letter_must_be_far_more_frequent(tmp_path: Path) -> None:
    texts = ["a vacuum"] * 40 + ["an accum"] * 90
    pages = [
        IndexPage(url=f"http://a.test/{n}", text=f"{text} {FILLER}", language="en")
        for n, text in enumerate(texts)
    ]
    assert Speller(index_of(tmp_path, pages), Analyser()).better(["vaccum"]) == {"vaccum": "vacuum"}


def test_a_slip_is_a_letter_too_many_too_few_wrong_or_two_swapped() -> None:
    near = set(slips("cat"))
    assert {"at", "ct", "bat", "cart", "act", "cats"} <= near
    assert all(is_near("cat", one, 1) for one in near)
    assert is_near("kitten", "mitten", 1)
    assert not is_near("kitten", "sitting", 2)
    assert is_near("kitten", "sittin", 2)
