"""Which language is this text in?"""

from typing import NamedTuple

import pycld2

_SAMPLE_CHARS = 1_500
_SHORT_CHARS = 500
_MIN_CHARS = 20
_CLEAR_PERCENT = 97
_LATIN_BYTES = 1.02
"""UTF-8 bytes per character below which a text is written in Latin letters almost throughout."""
_UNKNOWN = "un"


class _Guess(NamedTuple):
    code: str
    percent: int
    """Of the text; 0 when the guess is not reliable."""


def language_of(text: str, hint: str = "") -> str:
    """Return a language code such as "en" or "zh-Hant"; the page's own claim when in doubt.

    A third of the sample is enough when its answer is clear and nothing speaks against it: no
    other claim, and no other script further down (a menu in English above a text in Chinese).
    """
    claimed = hint.strip().lower().partition("-")[0][:8]
    sample = text[:_SAMPLE_CHARS]
    if len(sample) < _MIN_CHARS:
        return claimed
    if len(sample) == _SAMPLE_CHARS and _is_latin(sample):
        guess = _guess(sample[:_SHORT_CHARS])
        if guess.percent >= _CLEAR_PERCENT and claimed in {"", guess.code.partition("-")[0]}:
            return guess.code
    guess = _guess(sample)
    return claimed if guess.code == _UNKNOWN or (claimed and not guess.percent) else guess.code


def _is_latin(sample: str) -> bool:
    return len(sample.encode("utf-8", "replace")) <= _LATIN_BYTES * len(sample)


def _guess(sample: str) -> _Guess:
    try:
        is_reliable, _, found = pycld2.detect(sample, isPlainText=True)
    except (pycld2.error, UnicodeError):
        return _Guess(_UNKNOWN, 0)
    _, code, percent, _ = found[0]
    return _Guess(str(code), max(int(percent), 1) if is_reliable else 0)
