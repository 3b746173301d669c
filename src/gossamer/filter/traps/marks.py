"""The mark of a page: the same for pages that say the same, whatever day or session it is. Pure."""

from xxhash import xxh3_64_intdigest

from gossamer.model import Extraction, LinkKind

SHORT_TEXT = 400
"""Pages with less text than this are told apart by their pictures too."""
WORDS_READ = 600
"""So many words of a page are searched for dates: no calendar has more to say."""

_MOMENTS = frozenset(
    "jan feb mar apr may jun jul aug sep sept oct nov dec "
    "january february march april june july august september october november december "
    "mon tue wed thu fri sat sun "
    "monday tuesday wednesday thursday friday saturday sunday".split()
)


def mark_of(found: Extraction, *, is_moving: bool) -> int | None:
    """Return the mark of what a page says; None if it says nothing.

    Of a page whose URL moves (an id, a date) only words count, and no names of days and months.
    """
    text = found.text
    if is_moving:
        words = text.split(None, WORDS_READ)
        text = " ".join([w for w in words if w.isalpha() and w.lower() not in _MOMENTS])
    if len(text) < SHORT_TEXT:
        pictures = [link.target.text for link in found.links if link.kind is LinkKind.IMAGE]
        text = "\n".join((text, *(picture.partition("?")[0] for picture in pictures)))
    text = text.strip()
    return xxh3_64_intdigest(text.encode("utf-8", "surrogatepass")) if text else None
