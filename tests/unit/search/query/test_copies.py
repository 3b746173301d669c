from itertools import permutations

from gossamer.search.messages import Candidate, Stored
from gossamer.search.ranking.copies import MOST_COMPARED, highest_ranked, shown_copy
from gossamer.search.ranking.ranker import Ranked


def ranked(key: int) -> Ranked:
    return Ranked(1.0, Candidate(1.0, key, 0, 7, 0))


def stored(url: str, language: str = "en") -> Stored:
    return Stored(
        key=1, url=url, title="", text="", language=language, media_type="text/html", at=0
    )


def test_only_copies_with_the_highest_rank_are_compared_and_only_a_few() -> None:
    copies = [ranked(key) for key in range(4)]
    assert highest_ranked(copies, [1.0, 3.0, 2.0, 3.0]) == [copies[1], copies[3]]
    many = [ranked(key) for key in range(100)]
    assert highest_ranked(many, [0.0] * 100) == many[:MOST_COMPARED]


def test_the_language_comes_before_the_length_of_the_url_whatever_the_order() -> None:
    pages = [
        stored("http://a.test/", "fr"),
        stored("http://b.test/long", "en"),
        stored("http://c.test/long", "en"),
        stored("http://d.test/longer", "en"),
        stored("http://e.test/", ""),
    ]
    for some in permutations(pages):
        assert shown_copy(some, ("en", "fr")).url == "http://b.test/long"
        assert shown_copy(some, ("fr", "en")).url == "http://a.test/"
        assert shown_copy(some, ()).url == "http://a.test/"
