"""Letters that a language also writes as two: Lösung and Loesung, Århus and Aarhus. Pure.

Terms have no accents, so pages that say Lösung and queries that say losung meet already, and the
German stemmer knows that oe is ö. Danish and Norwegian ones do not, and a page in another language
keeps what it has. A query is given the other spelling of its words, and that with one letter only
where its language has it (poet is no pøt): pages in all languages share their terms.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

_PAIRS: Final[Mapping[str, Mapping[str, str]]] = {
    "de": {"ä": "ae", "ö": "oe", "ü": "ue"},
    "da": {"ø": "oe", "å": "aa"},
    "no": {"ø": "oe", "å": "aa"},
}
"""Letters by the code of a language; æ and ß are two letters in every term."""
_VOWELS: Final = "aeiouq"
"""Before ue: a feuer has no ü."""
LANGUAGES: Final = tuple(_PAIRS)
LIKELY: Final = 0.8


def spelled_out(word: str, language: str) -> str:
    """Return a word with two letters for one; the word itself if it has no such letters."""
    pairs = _PAIRS[language]
    return "".join(pairs.get(letter, letter) for letter in word.lower())


def contracted(word: str, language: str) -> str:
    """Return a word with one letter for two; the word itself if it has no such pairs."""
    letters = {two: one for one, two in _PAIRS[language].items()}
    return re.sub(
        rf"(?<![{_VOWELS}])({'|'.join(letters)})",
        lambda found: letters[found.group()],
        word.lower(),
    )


def is_asked_in(language: str, shares: Mapping[str, float], others: Iterable[str]) -> bool:
    """Return True if words are rather of one language than of others, by their shares."""
    mine = shares.get(language, 0.0)
    return mine > 0 and mine >= LIKELY * (mine + sum(shares.get(one, 0.0) for one in others))
