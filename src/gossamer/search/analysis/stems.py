"""Stems: the form under which a word is looked up, by its language.

The ending is taken off by the engine's own stemmers, as the language has it; accents go after
that, since stemmers need them. Of a language that has no stemmer, words stay as they are.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

import tantivy

from gossamer.search.analysis.words import cut

_LANGUAGES: Final = {
    "ar": "arabic",
    "da": "danish",
    "nl": "dutch",
    "en": "english",
    "fi": "finnish",
    "fr": "french",
    "de": "german",
    "el": "greek",
    "hu": "hungarian",
    "it": "italian",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "es": "spanish",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
_NORWEGIAN = frozenset({"nb", "nn"})
_HAS_NO_STOPS: Final = frozenset({"ar", "el", "ro", "ta", "tr"})
STEMMED: Final = ("", *_LANGUAGES)
"""Languages with a stemmer, and none: their places are numbers of languages."""
_PLAIN = str.maketrans(
    {
        **dict.fromkeys(range(0x300, 0x370)),  # accents
        **dict.fromkeys(range(0x591, 0x5C8)),  # Hebrew points
        **dict.fromkeys((*range(0x610, 0x61B), *range(0x64B, 0x660), 0x670)),  # Arabic vowels
        **dict.fromkeys(range(0x6D6, 0x6EE)),
        **dict.fromkeys(range(0x20D0, 0x2100)),  # circles and keys around characters
        **dict(zip(map(ord, "øłđðıħŧς"), "olddihtσ", strict=True)),
        ord("ß"): "ss",
        ord("æ"): "ae",
        ord("œ"): "oe",
        ord("þ"): "th",
    }
)
_AS_THEY_ARE = re.compile(r"[\d_]|^.$")
"""Names, numbers and single letters have no endings."""


def language_code(language: str) -> str:
    """Return the language whose stemmer serves a page; "" if there is none."""
    code = language.partition("-")[0].lower()
    code = "no" if code in _NORWEGIAN else code
    return code if code in _LANGUAGES else ""


def fold(word: str) -> str:
    """Return a word without accents, and without what is not part of words."""
    if word.isascii():
        return word
    plain = unicodedata.normalize("NFKD", word).translate(_PLAIN).lower()
    plain = unicodedata.normalize("NFC", plain.translate(_PLAIN))
    return cut("".join(char for char in plain if char == "_" or _is_part(char)))


def _is_part(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char)[0] == "M"


@cache
def _stemmer(code: str) -> tantivy.TextAnalyzer:
    stem = tantivy.Filter.stemmer(_LANGUAGES[code])
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw()).filter(stem).build()


@cache
def _stop_filter(code: str) -> tantivy.TextAnalyzer:
    stops = tantivy.Filter.stopword(_LANGUAGES[code])
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw()).filter(stops).build()


def stem(word: str, code: str) -> str:
    """Return the term of a word in a language; "" if nothing is left of it."""
    if not word.isascii():
        word = unicodedata.normalize("NFKC", word)
    if code and not _AS_THEY_ARE.search(word):
        word = "".join(_stemmer(code).analyze(word)) or word
    return fold(word)


def is_stop(word: str, languages: Iterable[str]) -> bool:
    """Return True if a word says nothing by itself, in any of the languages."""
    codes = {language_code(language) for language in languages} - {""} - _HAS_NO_STOPS
    return any(not _stop_filter(code).analyze(word) for code in codes)


def codes_of(languages: Sequence[str], most: int) -> list[str]:
    """Return the first few languages that have a stemmer, each once."""
    found = dict.fromkeys(map(language_code, languages))
    found.pop("", None)
    return list(found)[:most]
