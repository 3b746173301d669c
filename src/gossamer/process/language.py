"""In which language is a text written? Its script, then a table of letter runs and words (ADR 67).

Most scripts are those of one language. Within the others (Latin, Cyrillic, Arabic, ...) a table of
our own has a weight for each language of some thousand features; their sum, divided by the root of
their number, is the score of a multinomial logistic regression. `benchmarks/language_table.py`
makes the table. Nothing is downloaded, and nothing here raises. Helper processes start without
numpy, so there is none in here.
"""

import math
from array import array
from bisect import bisect_left
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import zstandard

from gossamer.native import FREE, Native
from gossamer.process import language_kernels as kernels

TABLE: Final = Path(__file__).with_name("language_table.bin")
HAN: Final = kernels.WHOLE
KANA: Final = HAN + 1
LATIN, CYRILLIC, ARABIC, DEVANAGARI, BENGALI, HEBREW, ETHIOPIC = range(1, 8)
_RANGES: Final = (
    (0x41, 0x5A, LATIN),
    (0x61, 0x7A, LATIN),
    (0xC0, 0xD6, LATIN),
    (0xD8, 0xF6, LATIN),
    (0xF8, 0x2AF, LATIN),
    (0x2BB, 0x2BC, LATIN),
    (0x300, 0x36F, LATIN),
    (0x1E00, 0x1EFF, LATIN),
    (0x400, 0x52F, CYRILLIC),
    (0x620, 0x65F, ARABIC),
    (0x66E, 0x6D3, ARABIC),
    (0x6D5, 0x6FF, ARABIC),
    (0x900, 0x963, DEVANAGARI),
    (0x970, 0x97F, DEVANAGARI),
    (0x980, 0x9E5, BENGALI),
    (0x9F0, 0x9F1, BENGALI),
    (0x590, 0x5BD, HEBREW),
    (0x5BF, 0x5F2, HEBREW),
    (0x1200, 0x137F, ETHIOPIC),
    (0x3400, 0x4DBF, HAN),
    (0x4E00, 0x9FFF, HAN),
    (0x3041, 0x30FA, KANA),
)
"""Characters of the scripts that several languages have, and of Japanese, which has two."""
_OWN: Final = {
    "el": ((0x370, 0x3FF), (0x1F00, 0x1FFF)),
    "hy": ((0x530, 0x58F),),
    "ka": ((0x10A0, 0x10FF), (0x1C90, 0x1CBF)),
    "th": ((0xE00, 0xE7F),),
    "lo": ((0xE80, 0xEFF),),
    "km": ((0x1780, 0x17FF),),
    "my": ((0x1000, 0x109F),),
    "ko": ((0xAC00, 0xD7A3), (0x1100, 0x11FF)),
    "ta": ((0xB80, 0xBFF),),
    "te": ((0xC00, 0xC7F),),
    "kn": ((0xC80, 0xCFF),),
    "ml": ((0xD00, 0xD7F),),
    "gu": ((0xA80, 0xAFF),),
    "pa": ((0xA00, 0xA7F),),
    "or": ((0xB00, 0xB7F),),
    "si": ((0xD80, 0xDFF),),
    "bo": ((0xF00, 0xFFF),),
    "dv": ((0x780, 0x7BF),),
}
"""Languages that have a script of their own, almost."""
_OWN_NUMBERS: Final = {KANA + 1 + n: code for n, code in enumerate(_OWN)}
_KNOWN: Final = 0xD7A4
_MOST_CHARS: Final = 2_000
_FAR: Final = 12.0
"""A language whose score is so much lower adds nothing to the sum of probabilities."""
_LATIN_SHARE: Final = 0.4
_DENSE: Final = 1.5
"""Weights of letters when scripts are compared: Latin ones stand in texts of any script, as names
and as code, and hardly the reverse; a character of Chinese, Japanese or Korean is half a word."""
_OF_JAPAN: Final = frozenset({HAN, KANA})
_KANA_SHARE: Final = 0.1
"""Of a text's Han and kana, from which it is Japanese."""
WEIGHT_ZERO: Final = 128
"""The byte that stands for a weight of zero."""
WEIGHT_STEPS: Final = 4.0
"""How many of them make a weight of one."""

_HEAD_CHARS: Final = 200
_PIECE_CHARS: Final = 500
_MIN_CHARS: Final = 20
_RELIABLE: Final = 0.9
_LIKELY: Final = 0.6
_SAME: Final = {"nb": "no", "iw": "he", "in": "id", "ji": "yi", "fil": "tl"}
"""Names of languages that the table knows under another."""


class DetectedLanguage(NamedTuple):
    """The language of a text, "" if it has no letters, and how sure that is, 0 to 1."""

    code: str
    confidence: float
    script: int = 0


class ScriptTable(msgspec.Struct, frozen=True):
    """The languages of one script, and the weights of its features."""

    script: int
    languages: list[str]
    keys: bytes
    """Hashes of features, ascending, as 32-bit numbers."""
    weights: bytes
    """A byte per feature and language: all of the first feature, then of the next."""


class _Tables:
    """The tables of all scripts behind each other, ready for the kernel."""

    def __init__(self, tables: list[ScriptTable]) -> None:
        self.languages = {table.script: table.languages for table in tables}
        places = array("q", bytes(8 * kernels.TABLE * kernels.SCRIPTS))
        keys, first, weights = array("I"), array("I"), bytearray()
        for table in tables:
            numbers = array("I", table.keys)
            bits = max(len(numbers).bit_length() - 1, 1)
            shift = 32 - bits
            at, row = table.script * kernels.TABLE, (len(keys), len(first), len(weights), shift)
            places[at : at + kernels.TABLE] = array("q", (*row, len(table.languages)))
            starts = (number << shift for number in range((1 << bits) + 1))
            first.extend(bisect_left(numbers, start) for start in starts)
            keys.extend(numbers)
            keys.extend([0] * kernels.IN_BUCKET)
            weights += table.weights
        self.places, self.weights = places.tobytes(), bytes(weights)
        self.keys, self.first = keys.tobytes(), first.tobytes()


class _Room:
    """Arrays for the features of one text, and for what is told of it."""

    def __init__(self, parts: bytes, tables: _Tables) -> None:
        self.counts = array("I", bytes(4 * kernels.SCRIPTS))
        self.found = array("I", bytes(4 * 3 * _MOST_CHARS))
        self.owners = array("B", bytes(3 * _MOST_CHARS))
        self.scores = array("I", bytes(4 * kernels.MOST_COLUMNS))
        self.out = array("q", bytes(8 * (kernels.NEAR + kernels.MOST_COLUMNS)))
        self.scored = natives().bound(
            "scored",
            (
                *(FREE, FREE, scripts(), _KNOWN, parts, FREE, tables.places, tables.keys),
                *(tables.first, tables.weights, self.counts, self.found, self.owners),
                *(self.scores, self.out),
            ),
        )


_SIGNATURES: Final = {
    "hashes": f"U[b]nB[d]nU*[{kernels.SCRIPTS}]U*[3*b]B*[3*b]",
    "scored": f"U[b]nB[d]nD[{kernels.SCRIPTS}]nI[{kernels.TABLE * kernels.SCRIPTS}]U[0]U[0]B[0]"
    f"U*[{kernels.SCRIPTS}]U*[3*b]B*[3*b]U*[{kernels.MOST_COLUMNS}]"
    f"I*[{kernels.NEAR + kernels.MOST_COLUMNS}]",
}


@cache
def natives() -> Native:
    """Return the compiled kernels; the first call loads them, or has them compiled."""
    return Native((kernels,), _SIGNATURES)


class LanguageDetector:
    """Detects languages with one table. May be used by several threads."""

    def __init__(self, tables: list[ScriptTable]) -> None:
        self.tables = _Tables(tables)
        dense = {HAN, KANA, *(n for n, code in _OWN_NUMBERS.items() if code == "ko")}
        parts = [_DENSE if script in dense else 1.0 for script in range(kernels.SCRIPTS)]
        parts[LATIN] = _LATIN_SHARE
        self.parts = array("d", parts).tobytes()
        self._spare: list[_Room] = []
        """As many as texts were ever read at a time."""
        self.languages: dict[str, set[int]] = {}
        """Those that it knows, and the scripts that they are written in."""
        for table in tables:
            for language in table.languages:
                self.languages.setdefault(language.partition("-")[0], set()).add(table.script)
        for number, code in _OWN_NUMBERS.items():
            self.languages[code] = {number}
        self.languages["ja"] = {HAN, KANA}

    def detect(self, text: str) -> DetectedLanguage:
        """Return the language of a text, of its beginning if it is long."""
        room = self._lent()
        script = self._read(text, room, 0)
        known, at, many = room.out[: kernels.NEAR - 1]
        counts, near = room.counts, room.out[kernels.NEAR : kernels.NEAR + many]
        best = room.scores[at] if known else 0
        is_japanese = script in _OF_JAPAN and counts[KANA] > _KANA_SHARE * counts[HAN]
        self._spare.append(room)
        if is_japanese:
            return DetectedLanguage("ja", 1.0, KANA)
        if script in _OWN_NUMBERS:
            return DetectedLanguage(_OWN_NUMBERS[script], 1.0, script)
        if not known:
            return DetectedLanguage("", 0.0, script)
        unit = WEIGHT_STEPS * math.sqrt(known)
        least = best - _FAR * unit
        confidence = 1 / sum([math.exp((one - best) / unit) for one in near if one > least])
        return DetectedLanguage(self.tables.languages[script][at], confidence, script)

    def latin_shares(self, text: str) -> dict[str, float]:
        """Return the probability of every language that is written in Latin letters."""
        room, languages = self._lent(), self.tables.languages[LATIN]
        self._read(text, room, LATIN)
        known, scores = room.out[0], room.scores[: len(languages)].tolist()
        self._spare.append(room)
        if not known:
            return {}
        unit, best = WEIGHT_STEPS * math.sqrt(known), max(scores)
        odds = [math.exp((one - best) / unit) for one in scores]
        total = sum(odds)
        return {code: one / total for code, one in zip(languages, odds, strict=True)}

    def _lent(self) -> _Room:
        try:
            return self._spare.pop()
        except IndexError:
            return _Room(self.parts, self.tables)

    def _read(self, text: str, room: _Room, script: int) -> int:
        """Have a text's features weighed by the table of its main script, or of another one."""
        codes = text.lower().encode("utf-32-le", "replace")
        return room.scored(codes, min(len(codes) // 4, _MOST_CHARS), script)


@cache
def scripts() -> bytes:
    """Return the script of every character that has one that we know, by code point."""
    made = bytearray(_KNOWN)
    own = ((*span, number) for number, code in _OWN_NUMBERS.items() for span in _OWN[code])
    for first, last, script in (*_RANGES, *own):
        made[first : last + 1] = bytes([script]) * (last + 1 - first)
    return bytes(made)


@cache
def detector() -> LanguageDetector:
    """Return the detector with the table that comes with Gossamer."""
    data = zstandard.ZstdDecompressor().decompress(TABLE.read_bytes())
    return LanguageDetector(msgspec.msgpack.decode(data, type=list[ScriptTable]))


def latin_shares(text: str) -> dict[str, float]:
    """Return the probability of every language that is written in Latin letters, by its code."""
    return detector().latin_shares(text)


def language_of(text: str, hint: str = "") -> str:
    """Return a language code such as "en" or "zh-Hant"; the page's own claim when in doubt.

    The claim is its `lang`, or the first one of `Content-Language`.
    """
    claimed = hint.partition(",")[0].strip().lower().partition("-")[0][:8]
    if len(text) < _MIN_CHARS:
        return claimed
    return _decided(detector().detect(sample_of(text)), claimed)


def sample_of(text: str) -> str:
    """Return the beginning and two pieces from the middle: menus are in front, notes at the end."""
    size = len(text)
    if size <= _HEAD_CHARS + 2 * _PIECE_CHARS:
        return text
    pieces = (text[at : at + _PIECE_CHARS] for at in (size // 3, size * 2 // 3))
    return " ".join((text[:_HEAD_CHARS], *pieces))


def _decided(found: DetectedLanguage, claimed: str) -> str:
    """Return what was found, or what is claimed, which stands where the text may well be in it.

    Where the claimed language is not written in the script of the text, the text decides.
    """
    if not claimed:
        return found.code if found.confidence >= _LIKELY else ""
    written_in = detector().languages.get(_SAME.get(claimed, claimed))
    if written_in is None or not found.code:
        return claimed
    if found.script not in written_in or found.confidence >= _RELIABLE:
        return found.code
    return claimed
