"""Did you mean: words of the index that are one slip away from a word, or two from a long one.

Of several the one is taken that stands together with the other words of the query, then the most
frequent one.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, product

from msgspec import Struct

from gossamer.search.analysis import Analyser
from gossamer.search.index_reader import IndexReader
from gossamer.search.messages import Group, ShardQuery
from gossamer.search.query.languages import likely_languages, pages_of

CLEARLY = 20
"""A word is put in another's place if so many times as many pages have it."""
SMALL = 100
"""In an index of so few pages one is enough, if none has the word itself; beyond that it takes one
for each so many, up to CLEARLY."""
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
OTHER_BEGINNING = 10
"""Hardly anybody mistakes the first letter: a word with another one must be so many times as
frequent."""
MOST_OFFERS, MOST_TOGETHER, MOST_KNOWN = 4, 32, 3
"""Words that may have been meant, of one; of several, the choices that are tried; and the right
words beside which they are tried."""
_ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz",
    "абвгдежзийклмнопрстуфхцчшщъыьэюяё",
    "αβγδεζηθικλμνξοπρστυφχψω",
)
_WORD = re.compile(r"[^\W\d_]+")


class _Offer(Struct, frozen=True, order=True):
    """Terms of the index that may have been meant, and how many pages have them."""

    worth: float
    """The more pages have them the more; less if they begin with another letter."""
    group: Group
    pages: int


class Speller:
    """Knows which words an index has."""

    def __init__(self, reader: IndexReader, analyser: Analyser) -> None:
        self._reader = reader
        self._analyser = analyser

    def better(self, words: Sequence[str]) -> dict[str, str]:
        """Return words in place of some: far more pages have them, and they may have been meant.

        Of several such words those are taken that stand in the most pages together, and with the
        words that are not replaced; if none do, those that the most pages have.
        """
        offers = {word: self._offers(word) for word in dict.fromkeys(words)}
        doubted = [word for word, some in offers.items() if some]
        if not doubted:
            return {}
        firm = [word for word, some in offers.items() if not some]
        chosen = self._together([offers[word] for word in doubted], self._known(firm))
        pairs = zip(doubted, chosen, strict=True)
        written = {word: self._as_written(offer.group, word.lower()) for word, offer in pairs}
        return {word: other for word, other in written.items() if other is not None}

    def _together(
        self, offers: Sequence[Sequence[_Offer]], known: Sequence[Group]
    ) -> Sequence[_Offer]:
        """Return one offer for each word: those that stand in the most pages together."""
        tried = list(islice(product(*offers), MOST_TOGETHER))  # the most frequent ones first
        if len(tried) == 1:
            return tried[0]
        for others in dict.fromkeys([tuple(known), ()]):
            if len(offers) + len(others) == 1:
                break
            pages = [self._having_all([*(one.group for one in some), *others]) for some in tried]
            if any(pages):
                return tried[max(range(len(tried)), key=lambda n: (pages[n], -n))]
        return tried[0]

    def _having_all(self, groups: Sequence[Group]) -> int:
        ask = ShardQuery(groups=tuple(groups), needed=len(groups), top=1)
        return self._reader.find(ask).total

    def _known(self, words: Sequence[str]) -> list[Group]:
        """Return the words that tell most of those that pages have."""
        languages = likely_languages(" ".join(words), self._reader.languages())[:1]
        found = [
            group
            for word in words
            if not self._analyser.is_stop(word, languages)
            for group in self._analyser.groups(word, languages)
        ]
        counts = self._reader.counts([term for group in found for term in group])
        having = {group: pages_of(group, counts) for group in found}
        return sorted(filter(having.get, having), key=lambda one: (having[one], one))[:MOST_KNOWN]

    def _offers(self, word: str) -> list[_Offer]:
        """Return what a word may have meant, the likeliest first; nothing if it is right."""
        said = word.lower()
        if not _WORD.fullmatch(said) or not SHORTEST <= len(said) <= LONGEST:
            return []
        languages = likely_languages(said, self._reader.languages())[:1]
        if self._analyser.is_stop(said, languages):
            return []
        groups = self._analyser.groups(said, languages)
        counts = self._reader.counts([term for group in groups for term in group])
        pages = min((pages_of(group, counts) for group in groups), default=0)
        if pages > max(RARE, RARE_SHARE * counts.pages):
            return []
        least = CLEARLY * (pages + 1) if pages else min(CLEARLY, 1 + counts.pages // SMALL)
        offers = self._one_slip(said, languages, least)
        if not offers and len(said) >= SHORTEST_OF_TWO:
            offers = self._two_slips(said, groups, least)
        return offers

    def _one_slip(self, said: str, languages: Sequence[str], least: int) -> list[_Offer]:
        """Try every word that is one slip away."""
        found = self._analyser.groups_of_words(list(slips(said)), languages)
        groups = {groups[0] for groups in found if len(groups) == 1}
        counts = self._reader.counts(sorted({term for group in groups for term in group}))
        having = ((pages_of(group, counts), group) for group in groups)
        offers = [_offer(group, pages, said) for pages, group in having if pages >= least]
        return sorted(offers, reverse=True)[:MOST_OFFERS]

    def _two_slips(self, said: str, groups: Sequence[Group], least: int) -> list[_Offer]:
        """Look through the words of the index that begin as this one does."""
        mine = [(term, set(term)) for group in groups for term in group]
        offers: list[_Offer] = []
        for term, pages in self._reader.vocabulary(said[:SURE], MOST_LOOKED):
            letters = set(term)
            if pages < least or len(offers) == MOST_OFFERS:
                break
            if any(
                len(letters ^ its) <= OTHER_LETTERS and is_near(term, own, 2) for own, its in mine
            ):
                offers.append(_offer((term,), pages, said))
        return offers

    def _as_written(self, group: Group, said: str) -> str | None:
        """Return how pages write a word whose terms are known: terms may be stems."""
        found = self._reader.find(ShardQuery(groups=(group,), needed=1, top=SHOWN_PAGES))
        words = Counter(
            word
            for page in self._reader.stored(found.candidates)
            for word in _WORD.findall(f"{page.title}\n{page.text}".lower())
            if is_near(word, said, 2)
            and not set(group).isdisjoint(self._analyser.terms(word, page.language))
        )
        nearest = [word for word in words if is_near(word, said, 1)] or list(words)
        plain = group[-1] if is_near(group[-1], said, 1) else None  # as said, if not as written
        return max(nearest, key=lambda word: (words[word], word), default=plain)


def _offer(group: Group, pages: int, said: str) -> _Offer:
    is_same = any(term[0] == said[0] for term in group)
    return _Offer(pages if is_same else pages / OTHER_BEGINNING, group, pages)


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
