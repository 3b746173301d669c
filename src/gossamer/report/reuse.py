"""Text copies: the pages of a crawl that hold passages of given texts, side by side with these."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from heapq import heappush, heapreplace
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gossamer.dedupe import (
    MIN_WORDS,
    MOST_LEFT_OUT,
    PHRASE,
    AlignedPassage,
    FoundPassages,
    SplitText,
    TextReuse,
    WordSplitter,
)
from gossamer.errors import ConfigError
from gossamer.report.given_texts import FileText, read_files
from gossamer.report.inquiry import folder_of
from gossamer.store import BadRecord, CrawlFolder, Record, RecordRange, counted_lengths

MOST_PAGE_CHARS = 4 << 20
"""Of a page's text, so much is looked at."""
MOST_COPIES = 10_000
"""Pages that are listed, those with the most words; the others are counted."""
MOST_PASSAGES = 20
"""Of one page and text that are listed."""
MOST_PARTS_CHARS = 20_000
"""Of a passage that is listed."""
CONTEXT_CHARS = 160
_COPY_OF = b'"copy_of":"'

PartKind: TypeAlias = Literal["same", "changed", "moved"]


class PassagePart(Struct, frozen=True, kw_only=True):
    """A stretch of a passage, as the given text has it and as the page has it."""

    kind: PartKind
    """same: the same words. moved: the same words, but elsewhere. changed: other words, or none."""
    given: str
    page: str


class Passage(Struct, frozen=True, kw_only=True):
    """A passage of a given text that a page holds, with small changes."""

    words: int
    """Words that are the same."""
    longest_run: int
    """Words in a row that are the same."""
    given_at: int
    """Its first word, counted from 0, in the given text."""
    page_at: int
    """Its first word, counted from 0, in the page's text."""
    before: str
    """What stands before it in the page."""
    after: str
    parts: list[PassagePart]
    """In the order of the page."""
    is_cut: bool = False
    """It is longer than what is given here of it."""


class TextCopy(Struct, frozen=True, kw_only=True):
    """A page that holds passages of a given text."""

    url: str
    text: str
    """The file of the given text."""
    fetched_at: float
    """When the page was fetched, in seconds since 1970."""
    words: int
    """Words of the given text that the page holds, in passages."""
    share: float
    """The same as a share of the given text."""
    longest: int
    """Words of the longest passage."""
    passages: list[Passage]
    """The longest first."""
    same_as: str = ""
    """The page with the same content whose text was compared; "" if its own was."""


class GivenText(Struct, frozen=True, kw_only=True):
    """A text that was looked for."""

    name: str
    words: int
    pages: int
    """Pages that hold passages of it."""


class UnreadFile(Struct, frozen=True, kw_only=True):
    """A file that was given and not looked for."""

    name: str
    reason: str


class TextCopies(Struct, frozen=True, kw_only=True):
    """Which pages hold passages of given texts."""

    min_words: int
    texts: list[GivenText]
    copies: list[TextCopy]
    """Those that hold the most words first."""
    left_out: int
    """Pages that hold passages and are not listed: there are too many."""
    pages: int
    """Pages with a text that were compared."""
    unread: list[UnreadFile]


class _Place(NamedTuple):
    """Where the text of a page lies."""

    file: str
    offset: int
    end: int


def copies_of(
    folder: Path | str, of: Sequence[Path | str], min_words: int = MIN_WORDS
) -> TextCopies:
    """Return the pages that hold passages of given files, of at least so many words each.

    The texts of the archive are read twice: once to find the pages that may hold some, and how
    common each phrase is, then those pages.
    """
    if min_words < PHRASE:
        raise ConfigError(f"min_words: expected {PHRASE} or more, found {min_words}")
    place = folder_of(folder)
    texts, unread = _given(of, min_words)
    if not texts:
        why = "; ".join(f"{one.name}: {one.reason}" for one in unread) or "no file is in it"
        raise ConfigError(f"no text to look for: {why}")
    reuse = TextReuse([text.text for text in texts], min_words)
    pages, maybe = 0, []
    lengths = counted_lengths(place, "text")
    for file, record in _records(place, lengths):
        pages += 1
        if reuse.note(reuse.split(_text_of(record)), _host_of(record)):
            maybe.append(_Place(file, record.offset, record.offset + record.length))
    best = _Best(MOST_COPIES)
    for where in maybe:
        for _, record in _records(place, {where.file: where.end}, where.offset):
            for copy in _copies_in(reuse, texts, record):
                best.take(copy)
    _add_same_contents(place, best)
    return TextCopies(
        min_words=min_words,
        texts=[
            GivenText(
                name=text.name,
                words=len(split.words),
                pages=best.pages_of(text.name),
            )
            for text, split in zip(texts, reuse.texts, strict=True)
        ],
        copies=best.listed(),
        left_out=best.left_out,
        pages=pages,
        unread=unread,
    )


def _given(of: Sequence[Path | str], min_words: int) -> tuple[list[FileText], list[UnreadFile]]:
    """Return the texts that are long enough to be looked for, and the files that are not."""
    texts: list[FileText] = []
    unread: list[UnreadFile] = []
    splitter = WordSplitter()
    for file in read_files([Path(one) for one in of]):
        words = len(splitter.split(file.text).words)
        if file.problem:
            unread.append(UnreadFile(name=file.name, reason=file.problem))
        elif words < min_words:
            why = f"it has {words} words, fewer than a passage ({min_words})"
            unread.append(UnreadFile(name=file.name, reason=why))
        else:
            texts.append(file)
    return texts, unread


def _records(
    place: CrawlFolder, lengths: dict[str, int], start: int = 0
) -> Iterator[tuple[str, Record]]:
    """Yield the text records that count, and the names of their files."""
    bad: list[BadRecord] = []  # `gossamer check` tells of them
    for file, end in lengths.items():
        for record in RecordRange(place.archive_path(file), start, end, bad):
            if record.headers.get("warc-type") == "conversion":
                yield file, record


def _text_of(record: Record) -> str:
    return record.block[:MOST_PAGE_CHARS].decode("utf-8", "replace")


def _host_of(record: Record) -> str:
    return urlsplit(record.headers.get("warc-target-uri", "")).netloc


def _copies_in(reuse: TextReuse, texts: Sequence[FileText], record: Record) -> Iterator[TextCopy]:
    text = _text_of(record)
    page = reuse.split(text)
    for found in reuse.passages(page, _host_of(record)):
        given = _Side(texts[found.text].text, reuse.texts[found.text])
        passages = [
            _passage(one, given, _Side(text, page))
            for one in sorted(found.passages, key=lambda one: -one.words)[:MOST_PASSAGES]
        ]
        yield TextCopy(
            url=record.headers.get("warc-target-uri", ""),
            text=texts[found.text].name,
            fetched_at=_moment(record.headers.get("warc-date", "")),
            words=found.words,
            share=_share(found, given.split),
            longest=passages[0].words,
            passages=passages,
        )


def _share(found: FoundPassages, given: SplitText) -> float:
    return round(found.words / len(given.words), 4)


class _Side(NamedTuple):
    """A text and its words."""

    text: str
    split: SplitText

    def between(self, first: int, end: int, upto: int | None = None) -> str:
        """Return the text of some words, and what follows them up to another one."""
        if first >= end:
            return ""
        spans = self.split.spans
        start = int(spans[first, 0])
        if upto is not None and upto < len(spans):
            return self.text[start : int(spans[upto, 0])]
        return self.text[start : int(spans[end - 1, 1])]


def _passage(passage: AlignedPassage, given: _Side, page: _Side) -> Passage:
    """Return a passage as it is told."""
    pairs = passage.pairs
    parts: list[PassagePart] = []
    chars = 0
    for part in _parts(pairs, given, page):
        chars += len(part.given) + len(part.page)
        if chars > MOST_PARTS_CHARS and parts:
            break
        parts.append(part)
    first, last = (int(page.split.spans[pairs[0][0], 0]), int(page.split.spans[pairs[-1][0], 1]))
    return Passage(
        words=passage.words,
        longest_run=passage.longest_run,
        given_at=min(place for _, place in pairs),
        page_at=pairs[0][0],
        before=page.text[max(first - CONTEXT_CHARS, 0) : first],
        after=page.text[last : last + CONTEXT_CHARS],
        parts=parts,
        is_cut=chars > MOST_PARTS_CHARS,
    )


def _parts(pairs: list[tuple[int, int]], given: _Side, page: _Side) -> Iterator[PassagePart]:
    """Yield the stretches of a passage: words that are the same, and changes between them."""
    runs: list[list[tuple[int, int]]] = [[pairs[0]]]
    for before, pair in pairwise(pairs):
        is_next = pair == (before[0] + 1, before[1] + 1)
        runs[-1].append(pair) if is_next else runs.append([pair])
    furthest = -1
    for n, run in enumerate(runs):
        (at, place), (last_at, last_place) = run[0], run[-1]
        following = runs[n + 1][0] if n + 1 < len(runs) else None
        next_at = following[0] if following else None
        is_moved = place < furthest
        furthest = max(furthest, last_place)
        yield PassagePart(
            kind="moved" if is_moved else "same",
            given=given.between(place, last_place + 1, last_place + 1 if following else None),
            page=page.between(at, last_at + 1, last_at + 1 if following else None),
        )
        if following is None or next_at is None:
            continue
        gap = range(last_place + 1, following[1])
        left_out = gap if len(gap) <= MOST_LEFT_OUT else range(0)
        there = given.between(left_out.start, left_out.stop, left_out.stop)
        here = page.between(last_at + 1, next_at, next_at)
        if there or here:
            yield PassagePart(kind="changed", given=there, page=here)


class _Best:
    """The copies with the most words; of several editions of a page, the newest that has some."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[tuple[str, str], TextCopy] = {}
        self._heap: list[tuple[int, str, str]] = []
        self._pages: dict[str, set[int]] = {}
        self.left_out = 0

    def take(self, copy: TextCopy) -> None:
        """Take a copy into account."""
        key = (copy.url, copy.text)
        known = self._kept.get(key)
        if known is not None:
            if copy.fetched_at >= known.fetched_at:
                self._kept[key] = copy
            return
        self._pages.setdefault(copy.text, set()).add(hash(copy.url))
        entry = (copy.words, copy.url, copy.text)
        if len(self._heap) < self._most:
            heappush(self._heap, entry)
            self._kept[key] = copy
            return
        self.left_out += 1
        if entry > self._heap[0]:
            _, url, text = heapreplace(self._heap, entry)
            del self._kept[url, text]
            self._kept[key] = copy

    def pages_of(self, text: str) -> int:
        """Return how many pages hold passages of a text."""
        return len(self._pages.get(text, ()))

    def by_url(self) -> dict[str, list[TextCopy]]:
        """Return the copies that are kept, by page."""
        found: dict[str, list[TextCopy]] = {}
        for copy in self._kept.values():
            found.setdefault(copy.url, []).append(copy)
        return found

    def listed(self) -> list[TextCopy]:
        """Return the copies in the order in which they are told."""
        return sorted(self._kept.values(), key=lambda one: (-one.words, one.url, one.text))


class _ContentFacts(Struct, frozen=True):
    """What a links record says of a page whose content was stored before."""

    url: str
    outcome: str
    copy_of: str = ""
    at: float = 0.0


_decode = msgspec.json.Decoder(_ContentFacts).decode


def _add_same_contents(place: CrawlFolder, best: _Best) -> None:
    """Add pages that have exactly the content of one that was found: their texts are not stored."""
    found = best.by_url()
    if not found:
        return
    bad: list[BadRecord] = []
    for file, end in counted_lengths(place, "links").items():
        for record in RecordRange(place.archive_path(file), 0, end, bad):
            if _COPY_OF not in record.block or b'"copy_of":""' in record.block:
                continue
            try:
                facts = _decode(record.block)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
            for copy in found.get(facts.copy_of, ()) if facts.outcome == "fetched" else ():
                best.take(replace(copy, url=facts.url, fetched_at=facts.at, same_as=copy.url))


def _moment(date: str) -> float:
    try:
        return datetime.fromisoformat(date).astimezone(UTC).timestamp()
    except ValueError:
        return 0.0
