"""Hits: where the words of a question stand in a text, whatever form they have there.

A text is searched for the beginnings of terms, which takes microseconds, and only words that begin
so are analysed. A text with other letters than English has is searched without its accents.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from gossamer.search.analysis import Analyser, is_solid
from gossamer.search.messages import Group, Phrase, Term

MOST_HITS = 20
"""Of one beginning in one text."""
MOST_LOOKS = 200
"""At places where one beginning stands: most of them are the middle of a word."""
WEAK = -1
_MARKS = "\u0300-\u036f\u00ad\u200b-\u200d"
_WORD = re.compile(rf"[^\W_](?:[^\W_]|[{_MARKS}])*(?:\+\+|#)?")
_NAME = re.compile(rf"(?:\w|[{_MARKS}])+")
_OTHER = re.compile(r"[^\x00-\x7f]+")
_PLAIN = "en"
"""Its words have no accents worth a second look."""
_SHORT = 3


Hit: TypeAlias = tuple[int, int, int]
"""Where a word of the question begins and ends in a text, and which one it is: WEAK if it is only
part of a phrase."""


class Hits:
    """Finds the words of one question in texts."""

    def __init__(
        self, analyser: Analyser, groups: Sequence[Group], phrases: Iterable[Phrase] = ()
    ) -> None:
        self._analyser = analyser
        self._wanted: dict[Term, int] = {}
        for number, group in enumerate(groups):
            for term in group:
                self._wanted.setdefault(term, number)
        rows = [row for phrase in phrases for row in phrase]
        for term in (term for row in rows for term in row):
            self._wanted.setdefault(term, WEAK)
        self._beginnings = _beginnings(self._wanted)
        self._known: dict[tuple[str, str], int | None] = {}

    def find(self, text: str, language: str) -> list[Hit]:
        """Return the hits in a text, in order; none lies in another."""
        small = text.lower()
        small = small if len(small) == len(text) else text
        found: list[Hit] = []
        if text.isascii() or language == _PLAIN:
            found = list(self._find_all(small, small, language))
        if not found and not text.isascii():
            found = list(self._find_all(_OTHER.sub(_folded, small), small, language))
        return _apart(found)

    def _find_all(self, folded: str, text: str, language: str) -> Iterator[Hit]:
        for beginning in self._beginnings:
            yield from self._find(folded, text, language, beginning)

    def _find(self, folded: str, text: str, language: str, beginning: str) -> Iterator[Hit]:
        """Yield the hits that begin so; `folded` is the text without accents."""
        pattern = _NAME if "_" in beginning else _WORD
        solid = is_solid(beginning[0])
        at = folded.find(beginning)
        looks = hits = 0
        while at >= 0 and looks < MOST_LOOKS and hits < MOST_HITS:
            looks += 1
            if solid:
                hits += 1
                yield at, at + len(beginning), self._wanted[beginning]
            elif (at == 0 or not folded[at - 1].isalnum()) and (word := pattern.match(text, at)):
                group = self._group_of(word.group(), language)
                if group is not None:
                    hits += 1
                    yield at, word.end(), group
            at = folded.find(beginning, at + 1)

    def _group_of(self, word: str, language: str) -> int | None:
        """Return which word of the question a word is; None: none."""
        place = (word, language)
        if place not in self._known:
            terms = self._analyser.terms(word, language)
            found = (self._wanted.get(term) for term in reversed(terms))
            self._known[place] = next((group for group in found if group is not None), None)
        return self._known[place]


def _beginnings(terms: Iterable[Term]) -> list[str]:
    """Return with what words begin that have a term: the last letter may be another one.

    What begins as a shorter one does is found with it.
    """
    found = dict.fromkeys(term[:-1] if _may_differ(term) else term for term in terms)
    short = {one for one in found if one.isalpha() and not is_solid(one[0])}
    return [
        one
        for one in found
        if one not in short or not any(one[:size] in short for size in range(1, len(one)))
    ]


def _may_differ(term: Term) -> bool:
    """Return True if a word's last letter may be another than its stem's: happy, happi."""
    if is_solid(term[0]) or not term.isalpha():
        return False
    return len(term) > _SHORT or (len(term) == _SHORT and term[-1] == "i")


def _apart(hits: list[Hit]) -> list[Hit]:
    """Return hits in order; of two that overlap, the second begins where the first one ends."""
    found: list[Hit] = []
    last = 0
    for start, end, group in sorted(hits):
        if end > last:
            found.append((max(start, last), end, group))
            last = end
    return found


class _Folds:
    """What `str.translate` asks: each character without its accent, one for one."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def __getitem__(self, point: int) -> str:
        """Return it."""
        if point not in self._known:
            plain = unicodedata.normalize("NFKD", chr(point))[:1].lower()
            self._known[point] = plain if len(plain) == 1 else chr(point)
        return self._known[point]


_FOLDS = _Folds()


def _folded(other: re.Match[str]) -> str:
    return other.group().translate(_FOLDS)
