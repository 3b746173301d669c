"""What parts of a page are, and which words its text has besides: marks on rows."""

from collections.abc import Iterable, Sequence
from typing import Final

from gossamer.process.labels import (
    ADS,
    ALT_CHARS,
    CODE,
    DECORATION,
    HIDDEN,
    MOST_ALTS,
    MOST_PARTS,
    MOST_SHARE,
    MarkedText,
    TextPart,
    ad_elements,
    coded_spans,
    counting_parts,
    hidden_elements,
    unsigned,
)
from gossamer.process.onepass.page import FlatPage, PageElement
from gossamer.process.onepass.vocabulary import TAG_NUMBERS

_KINDS: Final = {HIDDEN: 1, ADS: 2, CODE: 3}
_GRIDS: Final = frozenset({"table", "thead", "tbody", "tr"})
_CELLS: Final = frozenset({TAG_NUMBERS["td"], TAG_NUMBERS["th"]})
_LINK, _TABLE = TAG_NUMBERS["a"], TAG_NUMBERS["table"]


def marked_rows(
    page: FlatPage, styled: Sequence[PageElement], most_chars: int
) -> MarkedText | None:
    """Return what `marked_text` returns of a tree; None if only that can tell."""
    code = [one for one in page.find_all("pre") if one.event in page.cells_of_code]
    marked: list[int] = []
    for elements, kind in (
        (hidden_elements(page, styled), HIDDEN),
        (ad_elements(page), ADS),
        (code, CODE),
    ):
        if elements and not _mark(page, elements, kind, marked):
            return None
    side = bytearray()
    if not _add_captions(page, marked, side):
        return None
    _add_pictures(page, marked, side)
    text, spans = page.laid_out(bytes(side))
    if marked:
        text, parts = unsigned(text, [TextPart(*span, CODE) for span in spans])
        text = text[:most_chars]
        return MarkedText(text, coded_spans(text, counting_parts(text, parts)))
    text = text[:most_chars]
    if not spans:
        return MarkedText(text, {})
    most = MOST_SHARE * len(text)
    return MarkedText(text, coded_spans(text, [(*s, CODE) for s in spans if s[1] - s[0] <= most]))


def _mark(page: FlatPage, elements: Iterable[PageElement], kind: str, marked: list[int]) -> bool:
    """Put signs around what elements hold; around each cell, where it is a part of a grid."""
    events: list[int] = []
    for element in elements:
        if element.tag in _GRIDS:
            events += page.events_inside(element.event, _CELLS)
        else:
            events.append(element.event)
    marked += events
    return len(events) <= MOST_PARTS and all(page.mark(one, _KINDS[kind]) for one in events)


def _add_captions(page: FlatPage, marked: Sequence[int], side: bytearray) -> bool:
    """Put the captions of tables before them; return False if only a tree can."""
    tables: set[int] = set()
    captions = page.find_all("caption")
    for caption in captions:
        table = page.parent_of(caption.event)
        end = page.end_of(caption.event)
        if any(caption.event <= one < end for one in marked):
            return False
        if not (said := " ".join(caption.text.split())):
            continue
        if table in tables or page.tag_of(table) != _TABLE:
            return False
        tables.add(table)
        _add(page, table, said, side)
    return len(captions) <= MOST_PARTS


def _add(page: FlatPage, event: int, words: str, side: bytearray) -> None:
    written = words.encode()
    page.add_words(event, len(side), len(written))
    side += written


def _add_pictures(page: FlatPage, marked: Sequence[int], side: bytearray) -> None:
    """Put alternative texts beside pictures, unless they say nothing, or say it again."""
    told: set[str] = set()
    worded: dict[int, bool] = {}
    added: list[int] = list(marked)
    for image in page.find_all("img")[:MOST_ALTS]:
        alt = image.attr("alt")
        if not alt or alt in told or len(alt) > ALT_CHARS or DECORATION.fullmatch(alt):
            continue
        told.add(alt)
        around = page.parent_of(image.event)
        if page.tag_of(around) == _LINK:
            if around not in worded:
                end = page.end_of(around)
                worded[around] = any(around <= one < end for one in added) or any(
                    text.strip() for _, text in page.pieces_of(around)
                )
            if worded[around]:
                continue
        added.append(image.event)
        _add(page, image.event, f" {alt} ", side)
