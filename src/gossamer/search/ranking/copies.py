"""Which one of several copies is shown: the rank decides, then the language, then the URL. Pure.

Copies say nearly the same, so their scores by words differ by accident (an anchor, the words of a
URL). What the links say of them is better founded: the page that others link to is the original.
"""

from collections.abc import Sequence

from gossamer.search.messages import Stored
from gossamer.search.ranking.ranker import Ranked
from gossamer.search.ranking.ties import place_of

MOST_COMPARED = 8
"""Copies of equal rank whose languages and URLs are compared: each has to be read for that."""


def highest_ranked(copies: Sequence[Ranked], ranks: Sequence[float]) -> list[Ranked]:
    """Return the copies that no other one has a higher rank than, in their order."""
    highest = max(ranks)
    equal = [one for one, rank in zip(copies, ranks, strict=True) if rank == highest]
    return equal[:MOST_COMPARED]


def shown_copy(copies: Sequence[Stored], languages: Sequence[str]) -> Stored:
    """Return the one of equally ranked copies that is shown.

    One in a language that is preferred comes first (`languages`, the best first), then the one
    with the shortest URL.
    """

    def place(page: Stored) -> tuple[int, int, str]:
        return place_of(page.language, languages), len(page.url), page.url

    return min(copies, key=place)
