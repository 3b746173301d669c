"""Did you mean: words of the index that are one slip away from a word, or two from a long one."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from gossamer.search.analysis import Analyser
from gossamer.search.ask.tongues import likely_languages, pages_of
from gossamer.search.finder import Finder
from gossamer.search.messages import Ask, Group

CLEARLY = 20
"""A word is put in another's place if so many times as many pages have it."""
SHORTEST, SHORTEST_OF_TWO, LONGEST = 4, 7, 24
"""Letters of a word in which one slip, or two, is looked for."""
SURE = 2
"""Letters at the beginning of a word that are taken as said when two slips are looked for."""
MOST_LOOKED = 5_000
"""Of the words that begin so: the most frequent ones."""
OTHER_LETTERS = 4
"""Two slips change no more than that."""
RARE, RARE_SHARE = 3, 1 / 20_000
"""Only a word that hardly any page has may be a slip."""
SHOWN_PAGES = 3
_ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz",
    "абвгдежзийклмнопрстуфхцчшщъыьэюяё",
    "αβγδεζηθικλμνξοπρστυφχψω",
)
_WORD = re.compile(r"[^\W\d_]+")


class _Offer(Struct, frozen=True, order=True):
    """Terms of the index that may have been meant, and how many pages have them."""

    pages: int
    group: Group


class Speller:
    """Knows which words an index has."""

    def __init__(self, finder: Finder, analyser: Analyser) -> None:
        self._finder = finder
        self._analyser = analyser

    def better(self, word: str) -> str | None:
        """Return a word that far more pages have, and that somebody may have meant; or None."""
        said = word.lower()
        if not _WORD.fullmatch(said) or not SHORTEST <= len(said) <= LONGEST:
            return None
        languages = likely_languages(said, self._finder.languages())[:1]
        groups = self._analyser.groups(said, languages)
        counts = self._finder.counts([term for group in groups for term in group])
        pages = min((pages_of(group, counts) for group in groups), default=0)
        if pages > max(RARE, RARE_SHARE * counts.pages):
            return None
        least = CLEARLY * (pages + 1)
        offer = self._one_slip(said, languages)
        if offer.pages < least and len(said) >= SHORTEST_OF_TWO:
            offer = self._two_slips(said, groups)
        return self._as_written(offer.group, said) if offer.pages >= least else None

    def _one_slip(self, said: str, languages: Sequence[str]) -> _Offer:
        """Try every word that is one slip away."""
        found = (self._analyser.groups(edit, languages) for edit in slips(said))
        groups = {groups[0] for groups in found if len(groups) == 1}
        counts = self._finder.counts(sorted({term for group in groups for term in group}))
        offers = (_Offer(pages_of(group, counts), group) for group in groups)
        return max(offers, default=_Offer(0, ()))

    def _two_slips(self, said: str, groups: Sequence[Group]) -> _Offer:
        """Look through the words of the index that begin as this one does."""
        mine = [(term, set(term)) for group in groups for term in group]
        for term, pages in self._finder.vocabulary(said[:SURE], MOST_LOOKED):
            letters = set(term)
            for own, its in mine:
                if len(letters ^ its) <= OTHER_LETTERS and is_near(term, own, 2):
                    return _Offer(pages, (term,))
        return _Offer(0, ())

    def _as_written(self, group: Group, said: str) -> str | None:
        """Return how pages write a word whose terms are known: terms may be stems."""
        found = self._finder.find(Ask(groups=(group,), needed=1, top=SHOWN_PAGES))
        words = Counter(
            word
            for page in self._finder.stored(found.candidates)
            for word in _WORD.findall(f"{page.title}\n{page.text}".lower())
            if is_near(word, said, 2)
            and not set(group).isdisjoint(self._analyser.terms(word, page.language))
        )
        nearest = [word for word in words if is_near(word, said, 1)] or list(words)
        plain = group[-1] if is_near(group[-1], said, 1) else None  # as said, if not as written
        return max(nearest, key=lambda word: (words[word], word), default=plain)


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
    """Return True if two words differ by so many slips at most (swapped letters are one)."""
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
