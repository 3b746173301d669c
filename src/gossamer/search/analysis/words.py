"""Words: a text as the words that it is made of, read plainly.

A word is a run of letters, digits and marks. `foo_bar` is foo, bar, and foo_bar; c++ and c# are
words beside c. An apostrophe ends a word, but for `don't` (dont) and `page's` (page). Scripts that
write no spaces become pairs of characters. `word_kernels` reads the same, much faster; where the
two differ one of them is wrong.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from gossamer.search.analysis.letters import IGNORED, SEPARATOR, SOLID_CLASS, fate_of

LONGEST = 64
"""Bytes of a word; the rest of a longer one is left out."""
MOST = 50_000
"""Words of a field; what follows is not indexed."""

_LETTER = f"[^ '_+#{SOLID_CLASS}]"
_PART = rf"{_LETTER}+(?:'t(?!{_LETTER}))?"
_WORD = re.compile(
    rf"([{SOLID_CLASS}]+)|([a-z](?:\+\+|#))|({_PART}(?:_+{_PART})*)(?:'s(?!{_LETTER}))?"
)
_JOINTS = re.compile("_+")
_KEPT = "+#"


class _Fates:
    """What `str.translate` asks: the character in place of another; None: nothing."""

    def __init__(self) -> None:
        self._known: dict[int, str | None] = {}

    def __getitem__(self, point: int) -> str | None:
        """Return it."""
        try:
            return self._known[point]
        except KeyError:
            kind, plain = fate_of(point)
            char = " " if kind == SEPARATOR and chr(plain) not in _KEPT else chr(plain)
            return self._known.setdefault(point, None if kind == IGNORED else char)


_FATES = _Fates()


class Word(NamedTuple):
    """A word of a text as it is looked up: small letters, without its endings taken off."""

    text: str
    is_solid: bool = False
    """A pair of characters of a script without spaces; such are terms as they are."""
    parts: int = 0
    """A name, or c++: a term as it is, and so many words before it are its parts."""


def words_of(text: str) -> Iterator[Word]:
    """Yield the words of a text, in order."""
    for solid, sharp, chain in _WORD.findall(text.translate(_FATES)):
        if solid:
            yield from _pairs(solid)
        elif sharp:
            yield Word(sharp[0])
            yield Word(sharp, parts=1)
        else:
            parts = [part.replace("'", "") for part in _JOINTS.split(chain)]
            yield from (Word(cut(part)) for part in parts)
            if len(parts) > 1:
                yield Word(cut("_".join(parts)), parts=len(parts))


def cut(word: str) -> str:
    """Return as much of a word as counts."""
    if len(word) * 4 <= LONGEST:
        return word
    return word.encode("utf-8", "replace")[:LONGEST].decode("utf-8", "ignore")


def _pairs(run: str) -> Iterator[Word]:
    if len(run) == 1:
        yield Word(run, is_solid=True)
    yield from (Word(one + other, is_solid=True) for one, other in pairwise(run))
