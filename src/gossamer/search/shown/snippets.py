"""Snippets: the part of a page that answers best, in pieces of which some are hits. Never markup.

The best part is the one with most different words of the question, then with most of them, then
the first. It begins with a sentence, a line or at least a word. What could steer a screen (control
characters, turned directions) is taken out.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from gossamer.search.analysis import REST, Analyser
from gossamer.search.messages import Group, Phrase, Stored
from gossamer.search.shown.hits import WEAK, Hit, Hits

Segments: TypeAlias = list[tuple[str, bool]]
"""Pieces of text, and whether each is a hit."""
Span: TypeAlias = tuple[int, int]

CHARS = 200
"""Of a snippet, about."""
MOST_TITLE = 200
_LEAD, _BACK = 30, 70
"""Before the first hit: at least so many characters, and so far a sentence may begin."""
_WHOLE_WORD = 20
_ELLIPSIS = "\u2026"
_UNSEEN = re.compile(
    r"[\s\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\uffff\ufeff]+"
)
_MARKS = re.compile(r"(?:^|\n)[ \t]*(?:[*\u2022-]|\d{1,3}\.)[ \t]+")
_ENDS = re.compile(r"[.!?:;][ \n]|\n|[\u3002\uff01\uff1f]")
_BETWEEN = 3
_DISTINCT = 100


class Snippets:
    """Shows pages to somebody with one question."""

    def __init__(
        self, analyser: Analyser, groups: Sequence[Group], phrases: Iterable[Phrase] = ()
    ) -> None:
        self._hits = Hits(analyser, groups, phrases)

    def title(self, page: Stored) -> Segments:
        """Return the title of a page; nothing if it has none."""
        title = page.title[:MOST_TITLE]
        if not title:
            return []
        return _tidied(_pieces(title, (0, len(title)), self._hits.find(title, page.language)))

    def snippet(self, page: Stored) -> Segments:
        """Return the part of a page that answers best; its beginning if none does."""
        text = page.text
        hits = _strong(self._hits.find(text, page.language))
        if hits:
            spans = _best_spans(text, _in_main(text, hits))
        else:
            spans = [_beginning(text, page.title)]
        segments: Segments = []
        for start, end in spans:
            if start > 0 or segments:
                segments.append((f" {_ELLIPSIS} " if segments else f"{_ELLIPSIS} ", False))
            segments += _pieces(text, (start, end), hits)
        if spans[-1][1] < len(text.rstrip()):
            segments.append((f" {_ELLIPSIS}", False))
        return _tidied(segments)


def _strong(hits: list[Hit]) -> list[Hit]:
    """Return the hits but for parts of phrases that stand alone."""
    kept: list[Hit] = []
    for n, hit in enumerate(hits):
        if hit.group != WEAK:
            kept.append(hit)
            continue
        is_behind = bool(kept) and hit.start - kept[-1].end <= _BETWEEN
        is_before = n + 1 < len(hits) and hits[n + 1].start - hit.end <= _BETWEEN
        if is_behind or (is_before and hits[n + 1].group != WEAK):
            kept.append(hit)
    return kept


def _in_main(text: str, hits: list[Hit]) -> list[Hit]:
    """Return the hits in main content, if every word is among them; else all."""
    end = text.find(REST)
    inside = [hit for hit in hits if hit.end <= end]
    has_all = {hit.group for hit in inside} == {hit.group for hit in hits}
    return inside if has_all else hits


def _best_spans(text: str, hits: Sequence[Hit]) -> list[Span]:
    """Return one part with all words of the question, or two with most of them."""
    everything = {hit.group for hit in hits}
    first = _best(hits, CHARS - _LEAD)
    met = {hit.group for hit in hits[first[0] : first[1]]}
    if met >= everything:
        return [_snapped(text, hits[first[0]], hits[first[1] - 1], CHARS)]
    first = _best(hits, CHARS // 2 - _LEAD)
    met = {hit.group for hit in hits[first[0] : first[1]]}
    others = [hit for hit in hits if hit.group not in met]
    spans = [_snapped(text, hits[first[0]], hits[first[1] - 1], CHARS // 2)]
    if others:
        second = _best(others, CHARS // 2 - _LEAD)
        span = _snapped(text, others[second[0]], others[second[1] - 1], CHARS // 2)
        if span[0] >= spans[0][1] or span[1] <= spans[0][0]:
            spans.append(span)
    return sorted(spans)


def _best(hits: Sequence[Hit], width: int) -> Span:
    """Return from which hit to which one most words of the question stand together."""
    best, most, start = (0, 1), 0, 0
    inside: dict[int, int] = {}
    for end, hit in enumerate(hits, 1):
        inside[hit.group] = inside.get(hit.group, 0) + 1
        while hit.end - hits[start].start > width and start < end - 1:
            gone = hits[start].group
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            start += 1
        worth = _DISTINCT * len(inside) + min(end - start, _DISTINCT - 1)
        if worth > most:
            best, most = (start, end), worth
    return best


def _snapped(text: str, first: Hit, last: Hit, width: int) -> Span:
    """Return a part with these hits, from the beginning of a sentence, line or word on."""
    least = max(0, min(first.start - _LEAD, last.end - width))
    far = max(0, first.start - max(_BACK, _LEAD), last.end - width)
    start = least
    ends = list(_ENDS.finditer(text, far, first.start))
    if far == 0:
        start = 0
    elif ends:
        start = ends[-1].end() if first.start - ends[0].end() < _LEAD else ends[0].end()
    else:
        space = text.find(" ", least, min(least + _WHOLE_WORD, first.start))
        start = space + 1 if space >= 0 else least
    end = min(len(text), max(start + width, last.end))
    if end < len(text):
        space = max(text.rfind(" ", end - _WHOLE_WORD, end), text.rfind("\n", end - _WHOLE_WORD, end))
        end = space if space >= last.end else end
    return start, end


def _beginning(text: str, title: str) -> Span:
    """Return the beginning of a text, without the title if it begins with that."""
    start = len(text) - len(text.lstrip())
    if title and text.startswith(title, start) and len(text) > start + len(title):
        start += len(title)
        start += len(text[start:]) - len(text[start:].lstrip())
    end = min(len(text), start + CHARS)
    if end < len(text):
        space = text.rfind(" ", end - _WHOLE_WORD, end)
        end = space if space > start else end
    return start, end


def _pieces(text: str, span: Span, hits: Iterable[Hit]) -> Segments:
    """Return a part of a text, cut where hits begin and end."""
    at, end = span
    pieces: Segments = []
    for hit in hits:
        if hit.start >= at and hit.end <= end:
            pieces.append((text[at : hit.start], False))
            pieces.append((text[hit.start : hit.end], True))
            at = hit.end
    pieces.append((text[at:end], False))
    return pieces


def _tidied(segments: Segments) -> Segments:
    """Return pieces on one line, with one space between words, and nothing that steers a screen."""
    tidy: Segments = []
    for text, is_hit in segments:
        said = _UNSEEN.sub(" ", text if is_hit else _MARKS.sub("\n", text))
        if said[:1] == " " and (not tidy or tidy[-1][0].endswith(" ")):
            said = said[1:]
        if not said:
            continue
        if tidy and tidy[-1][1] == is_hit:
            said = tidy.pop()[0] + said
        tidy.append((said, is_hit))
    if tidy:
        tidy[-1] = (tidy[-1][0].rstrip(), tidy[-1][1])
    return [(text, is_hit) for text, is_hit in tidy if text]
