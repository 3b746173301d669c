"""How much a page looks like a link farm or a list of keywords (ADR 68).

Such pages have no sentences and no function words, and say the same word again and again, or string
up words with commas. Indexes, glossaries and lists of an API have no sentences either; their words
differ, since a name such as foo_bar_baz is one word here. Most pages are done after a look for full
stops and for the commonest words.
"""

from collections import Counter
from functools import lru_cache

from gossamer.search.analysis.stems import is_stop
from gossamer.search.fields import MOST_SPAM

SAMPLE_CHARS = 4_000
LEAST_WORDS = 100
"""Shorter texts are not judged."""
CHARS_PER_SENTENCE = 300
"""A text with sentences as long as this on average, or shorter, is prose."""
CHARS_PER_COMMON_WORD = 120
"""The same of words that no text of a language does without: they are looked for first."""
_COMMON = {
    "de": (" der ", " und ", " die ", " in "),
    "en": (" the ", " of ", " to ", " a "),
    "es": (" de ", " la ", " que ", " el "),
    "fr": (" de ", " la ", " et ", " le "),
    "it": (" di ", " e ", " la ", " che "),
    "nl": (" de ", " van ", " het ", " een "),
    "pl": (" w ", " i ", " na ", " z "),
    "pt": (" de ", " a ", " o ", " que "),
    "ru": (" и ", " в ", " на ", " не "),
    "tr": (" ve ", " bir ", " bu ", " ile "),
}
FULL_STOPS = (". ", ".\n", "。")
LEAST_SPAM = MOST_SPAM // 4
"""A page with a lower score is an honest one: it should lose nothing."""
WORDS_PER_SIGN = 15
"""With more brackets and underlines than this, a list is one of functions or other code."""
FUNCTION_WORDS = 0.12
"""Share of words that say nothing by themselves, from which on a text is language."""
HONEST_SHARE, SPAM_SHARE = 0.1, 0.2
"""Share of the most frequent word, of three letters or more."""
HONEST_VARIETY, SPAM_VARIETY = 0.3, 0.15
"""Share of different words."""
HONEST_COMMAS, SPAM_COMMAS = 0.3, 0.45
"""Commas per word."""
_SEPARATORS = ",;*|"
_SHORT, _LONG = 3, 6


def spam_score(text: str, language: str) -> int:
    """Return from 0 to MOST_SPAM how much a text, its main content first, looks like spam."""
    sample = text[:SAMPLE_CHARS]
    if sum(map(sample.count, FULL_STOPS)) * CHARS_PER_SENTENCE >= len(sample):
        return 0
    common = _COMMON.get(language, _COMMON["en"])
    if sum(map(sample.count, common)) * CHARS_PER_COMMON_WORD >= len(sample):
        return 0
    plain = sample.lower()
    for mark in _SEPARATORS:
        plain = plain.replace(mark, " ")
    counts = Counter(plain.split())
    words = {word: many for word, many in counts.items() if word.isalpha()}
    total, pieces = sum(words.values()), sum(counts.values())
    is_code = (sample.count("(") + sample.count("_")) * WORDS_PER_SIGN > pieces
    if is_code or total < LEAST_WORDS or 2 * total < pieces:
        return 0
    most = max([many for word, many in words.items() if len(word) >= _SHORT], default=0)
    repeats = min(
        _between(most / total, HONEST_SHARE, SPAM_SHARE),
        _between(len(words) / total, HONEST_VARIETY, SPAM_VARIETY),
    )
    strung = _between(sample.count(",") / pieces, HONEST_COMMAS, SPAM_COMMAS)
    worst = max(repeats, strung)
    if not worst:
        return 0
    said = sum(many for word, many in words.items() if _is_function_word(word, language))
    score = round(MOST_SPAM * worst * (1 - min(said / total / FUNCTION_WORDS, 1.0)))
    return score if score >= LEAST_SPAM else 0


@lru_cache(1 << 14)
def _is_function_word(word: str, language: str) -> bool:
    """Return True if a short word says nothing by itself."""
    return len(word) <= _LONG and is_stop(word, (language,))


def _between(value: float, none: float, all_: float) -> float:
    """Return 0 at a value and beyond, 1 at another one and beyond, and what is between."""
    return min(max((value - none) / (all_ - none), 0.0), 1.0)
