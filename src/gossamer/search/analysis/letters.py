"""Letters: what each character is to a word, and what becomes of it there.

The same for the plain reading of a text (`words`) and for the kernel, which keeps it in tables.
"""

import unicodedata
from bisect import bisect
from functools import lru_cache

SEPARATOR, LETTER, SOLID, IGNORED, JOINT, APOSTROPHE = range(6)
"""What ends a word; what is in one; letters of scripts without spaces, of which two in a row are a
term; what is not even seen; what joins the parts of a name; what may shorten a word."""

_SOLID = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1100, 0x11FF),  # Hangul, in parts
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19FF),  # Tai Le, New Tai Lue
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x3005, 0x3007),
    (0x3021, 0x3035),
    (0x3040, 0x318F),  # Hiragana, Katakana, Bopomofo, Hangul in parts
    (0x31A0, 0x31FF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),  # Han
    (0xA960, 0xA97F),
    (0xA9E0, 0xA9FF),  # Burmese
    (0xAA60, 0xAA7F),  # Burmese
    (0xAC00, 0xD7FF),  # Hangul
    (0xF900, 0xFAFF),  # Han
    (0xFF66, 0xFFDC),  # Katakana and Hangul, half as wide
    (0x16FE0, 0x18DFF),  # Tangut
    (0x1AFF0, 0x1B2FF),  # kana, Nushu
    (0x20000, 0x3FFFF),  # Han
)
SOLID_CLASS = "".join(f"{chr(first)}-{chr(last)}" for first, last in _SOLID)
"""For a regular expression. What is no letter there has gone when it is asked."""
_ASCII = 0x80
_SIGMA, _LAST_SIGMA = ord("σ"), ord("ς")
_STARTS = [first for first, _ in _SOLID]
_JOINTS, _APOSTROPHES = "_\uff3f", "'\u2019\u02bc\uff07"
_MARKS = frozenset({"Mn", "Mc", "Me"})
_UNSEEN = frozenset("\u034f\u0640\u115f\u1160\u17b4\u17b5\u3164\uffa0")
_SELECTORS = frozenset((*range(0xFE00, 0xFE10), *range(0x180B, 0x1810), *range(0xE0100, 0xE01F0)))


@lru_cache(1 << 16)
def fate_of(point: int) -> tuple[int, int]:
    """Return what a character is, and the character that takes its place: a small, plain one."""
    char = chr(point)
    if char in _JOINTS:
        return JOINT, ord("_")
    if char in _APOSTROPHES:
        return APOSTROPHE, ord("'")
    category = unicodedata.category(char)
    if category == "Cf" or char in _UNSEEN or point in _SELECTORS:
        return IGNORED, 0
    kind = _kind_of(point, char, category)
    if kind == SEPARATOR:
        return SEPARATOR, point if point < _ASCII else ord(" ")
    return kind, _plain(point, char, kind)


def _kind_of(point: int, char: str, category: str) -> int:
    if not char.isalnum() and category not in _MARKS:
        return SEPARATOR
    place = bisect(_STARTS, point) - 1
    return SOLID if place >= 0 and point <= _SOLID[place][1] else LETTER


def _plain(point: int, char: str, kind: int) -> int:
    """Return the small letter that a character stands for, if that is one of the same kind."""
    plain = unicodedata.normalize("NFKC", char).lower()
    if len(plain) != 1:
        plain = char.lower()[:1]
    elif ord(plain) != point:
        plain = unicodedata.normalize("NFKC", plain)
        if len(plain) != 1 or _kind_of(ord(plain), plain, unicodedata.category(plain)) != kind:
            plain = char.lower()[:1]
    return _SIGMA if ord(plain) == _LAST_SIGMA else ord(plain)


def is_solid(char: str) -> bool:
    """Return True if a character is of a script without spaces."""
    return fate_of(ord(char))[0] == SOLID
