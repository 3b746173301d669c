"""The mark of a page: the same for pages that say the same, whatever day or session it is. Pure."""

import re

from xxhash import xxh3_64_intdigest

from gossamer.model import Extraction, LinkKind
from gossamer.traps.evidence.names import MONTHS, is_id

SHORT_TEXT = 400
"""Pages with less text than this are told apart by their pictures too."""
HEAD_CHARS, TAIL_CHARS = 6000, 2000
"""Of long texts only beginning, end and length are compared."""
LONG_TEXT = 4000
"""Longer texts are not searched for dates: no empty calendar has so much to say."""

_AROUND = ".,;:!?()[]\"'"
_DIGITS = re.compile(r"\d+")
_LETTERS = re.compile(r"[^\W\d_]")
_PARTS = re.compile(r"[^0-9a-z]+")
_ORDINALS = frozenset(f"{n}{end}" for n in range(1, 32) for end in ("st", "nd", "rd", "th"))
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_MOMENTS = MONTHS.union(_DAYS, (name[:3] for name in _DAYS), ("tues", "thur", "thurs", "week"))


def _is_of_moment(word: str) -> bool:
    """Tell whether a word is a number, a part of a date, or an id."""
    plain = word.strip(_AROUND).lower()
    if plain.isalpha():
        return plain in _MOMENTS
    return not _LETTERS.search(plain) or plain in _ORDINALS or any(map(is_id, _PARTS.split(plain)))


def mark_of(found: Extraction, *, is_moving: bool) -> int | None:
    """Return the mark of what a page says; None if it says nothing.

    Of a page whose URL moves (an id, a date) neither numbers, dates nor ids count.
    """
    text = found.text
    if is_moving and len(text) <= LONG_TEXT:
        words = [word for word in text.split() if not _is_of_moment(word)]
        text = _DIGITS.sub("", " ".join(words))  # links show URLs, and those have dates in them
    elif len(text) > HEAD_CHARS + TAIL_CHARS:
        text = f"{text[:HEAD_CHARS]}{len(text)}{text[-TAIL_CHARS:]}"
    if len(text) < SHORT_TEXT:
        pictures = [link.target.text for link in found.links if link.kind is LinkKind.IMAGE]
        text = "\n".join((text, *(picture.partition("?")[0] for picture in pictures)))
    return (
        xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))
        if text and not text.isspace()
        else None
    )
