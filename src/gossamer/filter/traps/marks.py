"""The mark of a page: the same for pages that say the same, whatever day or session it is. Pure."""

from xxhash import xxh3_64_intdigest

from gossamer.model import Extraction, LinkKind

SHORT_TEXT = 400
"""Pages with less text than this are told apart by their pictures too."""
HEAD_CHARS, TAIL_CHARS = 6000, 2000
"""Of long texts only beginning, end and length are compared."""
LONG_TEXT = 4000
"""Longer texts are not searched for dates: no empty calendar has so much to say."""

_MONTHS = "january february march april may june july august september october november december"
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_LONG = (*_MONTHS.split(), *_DAYS.split())
_MOMENTS = frozenset((*_LONG, *(name[:3] for name in _LONG), "sept", "tues", "thur", "thurs"))


def mark_of(found: Extraction, *, is_moving: bool) -> int | None:
    """Return the mark of what a page says; None if it says nothing.

    Of a page whose URL moves (an id, a date) only words count, and no names of days and months.
    """
    text = found.text
    if is_moving and len(text) <= LONG_TEXT:
        text = " ".join([w for w in text.split() if w.isalpha() and w.lower() not in _MOMENTS])
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
