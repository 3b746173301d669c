"""Did you mean: words of the index that are one slip away from a word, or two from a long one."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from gossamer.search.analysis import Analyser
from gossamer.search.finder import Finder
from gossamer.search.messages import Ask, Counts, Group, Term

CLEARLY = 20
"""A word is put in another's place if so many times as many pages have it."""
SHORTEST, SHORTEST_OF_TWO, LONGEST = 4, 7, 24
"""Letters of a word in which one slip, or two, is looked for."""
MOST_LOOKED = 20_000
"""Of the words with the same first letter: the most frequent ones."""
SHOWN_PAGES = 3
_ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz",
    "абвгдежзийклмнопрстуфхцчшщъыьэюяё",
    "αβγδεζηθικλμνξοπρστυφχψω",
)
_WORD = re.compile(r"[^\W\d_]+")


class _Offer(Struct, frozen=True, order=True):
    pages: int
    word: str


def better_word(
    word: str, finder: Finder, analyser: Analyser, languages: Sequence[str]
) -> str | None:
    """Return a word that far more pages have, and that somebody may have meant; None: none."""
    said = word.lower()
    if not _WORD.fullmatch(said) or not SHORTEST <= len(said) <= LONGEST:
        return None
    groups = analyser.groups(said, languages)
    counts = finder.counts([term for group in groups for term in group])
    least = CLEARLY * (min((pages_of(group, counts) for group in groups), default=0) + 1)
    if least > counts.pages:
        return None
    offer = _one_slip(said, finder, analyser, languages)
    if offer.pages < least and len(said) >= SHORTEST_OF_TWO:
        offer = _two_slips(said, finder, analyser, languages)
    return offer.word if offer.pages >= least else None


def _one_slip(said: str, finder: Finder, analyser: Analyser, languages: Sequence[str]) -> _Offer:
    """Try every word that is one slip away: a letter too many, too few, wrong, or swapped."""
    groups = {edit: analyser.groups(edit, languages) for edit in slips(said)}
    terms = {term for found in groups.values() for group in found for term in group}
    counts = finder.counts(sorted(terms))
    offers = (
        _Offer(pages_of(found[0], counts), edit)
        for edit, found in groups.items()
        if len(found) == 1
    )
    return max(offers, default=_Offer(0, said))


def _two_slips(said: str, finder: Finder, analyser: Analyser, languages: Sequence[str]) -> _Offer:
    """Look through the words of the index. They are stems, so a page must tell the word."""
    mine = {term for group in analyser.groups(said, languages) for term in group}
    for term, pages in finder.vocabulary(said[0], MOST_LOOKED):
        if any(is_near(term, one, 2) for one in mine):
            shown = _as_written(term, said, finder, analyser)
            return _Offer(pages if shown else 0, shown or said)
    return _Offer(0, said)


def _as_written(term: Term, said: str, finder: Finder, analyser: Analyser) -> str | None:
    """Return a word of pages that has this term, the one most like what was said."""
    found = finder.find(Ask(groups=((term,),), needed=1, top=SHOWN_PAGES))
    words = {
        word
        for page in finder.stored(found.candidates)
        for word in _WORD.findall(f"{page.title}\n{page.text}".lower())
        if word[0] == term[0] and (term,) in ((t,) for t in analyser.terms(word, page.language))
    }
    return min((word for word in words if is_near(word, said, 2)), default=None)


def slips(word: str) -> Iterator[str]:
    """Return the words that are one slip away from a word."""
    alphabet = next((letters for letters in _ALPHABETS if word[0] in letters), word)
    splits = [(word[:n], word[n:]) for n in range(len(word) + 1)]
    for head, tail in splits:
        if tail:
            yield head + tail[1:]
            yield from (head + letter + tail[1:] for letter in alphabet if letter != tail[0])
        if len(tail) > 1 and tail[0] != tail[1]:
            yield head + tail[1] + tail[0] + tail[2:]
        yield from (head + letter + tail for letter in alphabet)


def is_near(one: str, other: str, most: int) -> bool:
    """Tell whether two words differ by so many slips at most (swapped letters are one)."""
    if abs(len(one) - len(other)) > most:
        return False
    before: list[int] = []
    row = list(range(len(other) + 1))
    for n, letter in enumerate(one, 1):
        older, before, row = before, row, [n]
        for m, its in enumerate(other, 1):
            cost = min(before[m] + 1, row[-1] + 1, before[m - 1] + (letter != its))
            if n > 1 and m > 1 and letter == other[m - 2] and its == one[n - 2]:
                cost = min(cost, older[m - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return False
    return row[-1] <= most


def pages_of(group: Group, counts: Counts) -> int:
    """Return how many pages have a word, by the field in which most have it."""
    rows = [counts.having[term] for term in group if term in counts.having]
    return max(map(sum, zip(*rows, strict=True)), default=0)
