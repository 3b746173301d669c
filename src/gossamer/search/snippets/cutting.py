"""Snippets: the part of a page that answers best, in pieces of which some are hits. Never markup.

The best part is the one with most different words of the question, then with most of them, then
the first. It begins with a sentence, a line or at least a word. What could steer a screen (control
characters, turned directions) is taken out.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from gossamer.search.analysis import REST_MARK, Analyser
from gossamer.search.messages import Group, Phrase, Stored
from gossamer.search.snippets.matches import WEAK, Hit, Hits

Segments: TypeAlias = list[tuple[str, bool]]
"""Pieces of text, and whether each is a hit."""
Span: TypeAlias = tuple[int, int]

CHARS = 200
"""Of a snippet, about."""
MOST_TITLE = 200
_LEAD, _BACK = 30, 70
"""Before the first hit: so many characters, or up to so many if a sentence begins there."""
_WHOLE_WORD = 20
_ELLIPSIS = "\u2026"
_UNSEEN = re.compile(
    r"[\s\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\uffff\ufeff]+"
)
_MARKS = re.compile(r"\n[ \t]*(?:[*\u2022-]|\d{1,3}\.)[ \t]+")
"""What makes a line one of a list."""
_LONE_MARK = re.compile(r"\n[ \t]*[*\u2022-][ \t]*\Z")
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
        best = _best_spans(text, _in_main(text, hits)) if hits else []
        spans = best or [_beginning(text, page.title)]
        segments: Segments = []
        for start, end in spans:
            if (start > 0 and best) or segments:
                segments.append((f" {_ELLIPSIS} " if segments else f"{_ELLIPSIS} ", False))
            segments += _unlisted(_pieces(text, (start, end), hits))
        if spans[-1][1] < len(text.rstrip()):
            segments.append((f" {_ELLIPSIS}", False))
        return _tidied(segments)


def _strong(hits: list[Hit]) -> list[Hit]:
    """Return the hits but for parts of phrases that stand alone."""
    kept: list[Hit] = []
    for n, hit in enumerate(hits):
        start, end, group = hit
        if group == WEAK:
            is_behind = bool(kept) and start - kept[-1][1] <= _BETWEEN
            is_before = n + 1 < len(hits) and hits[n + 1][0] - end <= _BETWEEN
            if not is_behind and not (is_before and hits[n + 1][2] != WEAK):
                continue
        kept.append(hit)
    return kept


def _in_main(text: str, hits: list[Hit]) -> list[Hit]:
    """Return the hits in main content, if every word is among them; else all."""
    middle = text.find(REST_MARK)
    inside = [hit for hit in hits if hit[1] <= middle]
    return inside if _words(inside) == _words(hits) else hits


def _words(hits: Iterable[Hit]) -> set[int]:
    return {group for _, _, group in hits}


def _best_spans(text: str, hits: Sequence[Hit]) -> list[Span]:
    """Return one part with all words of the question, or two with most of them."""
    together = _best(hits, CHARS - _LEAD)
    if _words(together) == _words(hits):
        return [_snapped(text, together, CHARS)]
    half = CHARS // 2
    first = _best(hits, half - _LEAD)
    met = _words(first)
    second = _best([hit for hit in hits if hit[2] not in met], half - _LEAD)
    spans = [_snapped(text, first, half), _snapped(text, second, half)]
    if spans[0][0] < spans[1][1] and spans[1][0] < spans[0][1]:
        return [_snapped(text, together, CHARS)]
    return sorted(spans)


def _best(hits: Sequence[Hit], width: int) -> Sequence[Hit]:
    """Return the hits that stand together with most of the question's words; there is one."""
    best, most, first = (0, 1), 0, 0
    inside: dict[int, int] = {}
    for last, (_, end, group) in enumerate(hits, 1):
        inside[group] = inside.get(group, 0) + 1
        while end - hits[first][0] > width and first < last - 1:
            gone = hits[first][2]
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            first += 1
        worth = _DISTINCT * len(inside) + min(last - first, _DISTINCT - 1)
        if worth > most:
            best, most = (first, last), worth
    return hits[best[0] : best[1]]


def _snapped(text: str, hits: Sequence[Hit], width: int) -> Span:
    """Return a part with these hits, from the beginning of a sentence, line or word on."""
    first, last = hits[0][0], hits[-1][1]
    start = _start(text, first, max(0, last - width))
    end = min(len(text), max(start + width, last))
    return start, max(last, _whole_words(text, end))


def _start(text: str, first: int, least: int) -> int:
    """Return where a part begins whose first hit is there, not before a place."""
    least = min(least, first)
    far = max(first - _BACK, least)
    if far == 0:
        return 0
    ends = [end.end() for end in _ENDS.finditer(text, far, first)]
    if ends:
        return ends[-1]
    near = max(first - _LEAD, least)
    space = text.find(" ", near, min(near + _WHOLE_WORD, first))
    return space + 1 if space >= 0 else near


def _whole_words(text: str, end: int) -> int:
    """Return the end of the last whole word before a place; that place if words have no end."""
    if end >= len(text):
        return end
    least = max(0, end - _WHOLE_WORD)
    space = max(text.rfind(" ", least, end), text.rfind("\n", least, end))
    return space if space >= 0 else end


def _beginning(text: str, title: str) -> Span:
    """Return the beginning of a text, without the title if it begins with that."""
    start = len(text) - len(text.lstrip())
    if title and text.startswith(title, start):
        start += len(title)
    return start, max(start, _whole_words(text, min(len(text), start + CHARS)))


def _pieces(text: str, span: Span, hits: Iterable[Hit]) -> Segments:
    """Return a part of a text, cut where hits begin and end."""
    at, stop = span
    pieces: Segments = []
    for start, end, _ in hits:
        if start >= at and end <= stop:
            pieces.append((text[at:start], False))
            pieces.append((text[start:end], True))
            at = end
    pieces.append((text[at:stop], False))
    return pieces


def _unlisted(pieces: Segments) -> Segments:
    """Return the pieces of a part without the marks of lists. A part begins as a line does."""
    texts = [text if is_hit else _MARKS.sub("\n", text) for text, is_hit in pieces]
    texts[0] = _MARKS.sub("\n", f"\n{texts[0]}")
    texts[-1] = _LONE_MARK.sub("", texts[-1])
    return [(text, is_hit) for text, (_, is_hit) in zip(texts, pieces, strict=True)]


def _tidied(segments: Segments) -> Segments:
    """Return pieces on one line, with one space between words, and nothing that steers a screen."""
    tidy: Segments = []
    for text, is_hit in segments:
        said = _UNSEEN.sub(" ", text)
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
