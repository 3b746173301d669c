"""Stems: the form under which a word is looked up, by its language.

The ending is taken by the engine's stemmers, as the language has it; accents go after
that, since stemmers need them. Of a language that has no stemmer, words stay as they are.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
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
_SMALL_ENGLISH: Final = """
about all also am any been being between both can could did do does doing each from given had has
have having he her here him his how i its itself me more most much my myself other our over own same
shall she should so some than them through too under upon us used using very we were what when where
whether which while who whom whose why would you your
"""
_SMALL: Final = {"en": frozenset(_SMALL_ENGLISH.split())}
"""Words of questions, and small words that the engine's list does not have: its English one is
short, those of other languages are not."""
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


@lru_cache(maxsize=1024)
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
def _line_stemmer(code: str) -> tantivy.TextAnalyzer:
    """Return what stems many words at once, with spaces between them."""
    stem = tantivy.Filter.stemmer(_LANGUAGES[code])
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(stem).build()


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


def stems(words: Sequence[str], code: str) -> list[str]:
    """Return the terms of words, each as `stem` has it; the engine is asked once for all."""
    if not code:
        return [stem(word, code) for word in words]
    plain = [word if word.isascii() else unicodedata.normalize("NFKC", word) for word in words]
    with_endings = [n for n, word in enumerate(plain) if not _AS_THEY_ARE.search(word)]
    found = _line_stemmer(code).analyze(" ".join([plain[n] for n in with_endings]))
    if len(found) != len(with_endings):  # some character became one with a space
        return [stem(word, code) for word in words]
    for n, one in zip(with_endings, found, strict=True):
        plain[n] = one or plain[n]
    return list(map(fold, plain))


def is_small(word: str, languages: Iterable[str]) -> bool:
    """Return True if a word says little beside others, in any of the languages."""
    return any(word in _SMALL.get(language_code(one), ()) for one in languages)


@lru_cache(maxsize=1 << 16)
def _is_stop_in(word: str, code: str) -> bool:
    return not _stop_filter(code).analyze(word)


def is_stop(word: str, languages: Iterable[str]) -> bool:
    """Return True if a word says nothing by itself, in any of the languages."""
    codes = {language_code(language) for language in languages} - {""} - _HAS_NO_STOPS
    return any(_is_stop_in(word, code) for code in codes)


def codes_of(languages: Sequence[str], most: int) -> list[str]:
    """Return the first few languages that have a stemmer, each once."""
    found = dict.fromkeys(map(language_code, languages))
    found.pop("", None)
    return list(found)[:most]
