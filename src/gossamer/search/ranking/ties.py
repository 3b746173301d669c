"""Results that fit nearly equally well: those in a language that the asker reads come first. Pure.

A difference of two percent between two scores says nothing; translations of one page differ more.
"""

from collections.abc import Sequence
from typing import Final

NEARLY: Final = 0.98
"""Of the score of the best one: what is no lower is as good."""


def preferred_languages(
    asked_in: str, read: Sequence[str], found_in: Sequence[str]
) -> tuple[str, ...]:
    """Return languages, the best first, without regions.

    The language that the query is in, if that is clear; then those that the asker reads; then those
    in which the index has the words.
    """
    every = (asked_in, *read, *found_in)
    return tuple(dict.fromkeys(base for one in every if (base := one.partition("-")[0].lower())))


def place_of(language: str, preferred: Sequence[str]) -> int:
    """Return how far behind a language is: 0 for the one that is preferred most."""
    base = language.partition("-")[0]
    return preferred.index(base) if base in preferred else len(preferred)


def with_ties_by_language(
    scores: Sequence[float], languages: Sequence[str], preferred: Sequence[str]
) -> list[int]:
    """Return the places of results in their order, nearly equal ones by their languages.

    Those that are nearly equal to the first are sorted, then those after them; what is clearly
    better or worse stays where it is.
    """
    order: list[int] = []
    while len(order) < len(scores):
        start = len(order)
        rest = range(start + 1, len(scores))
        end = next((n for n in rest if not _is_near(scores[start], scores[n])), len(scores))
        order += sorted(range(start, end), key=lambda n: place_of(languages[n], preferred))
    return order


def _is_near(one: float, other: float) -> bool:
    return min(one, other) >= NEARLY * max(one, other)
