"""Pages of files that Gossamer did not crawl: WET, WARC and JSONL, told apart by what they say."""

from collections.abc import Iterator
from datetime import datetime
from typing import TypeAlias

import msgspec
from msgspec import Struct

from gossamer.config import UrlConfig
from gossamer.errors import ConfigError
from gossamer.model import Url
from gossamer.process import language_of
from gossamer.search.page import IndexPage
from gossamer.search.sources.foreign_languages import two_letters
from gossamer.search.sources.foreign_reader import Reader, status_of_record
from gossamer.search.sources.spans import split_text
from gossamer.store import WARC_OPENING, Bad, DamagedError, ForeignRecord, Unpacked, read_warc
from gossamer.urls import parse

BOM = b"\xef\xbb\xbf"
MOST_LINE_BYTES = 32 << 20
MOST_TEXT_CHARS = 4 << 20
MOST_HEADINGS = 100
MOST_LINK_TEXTS = 2000
MOST_WORDS = 1000
"""Characters of a title, of a heading, of an anchor."""
DETECTED_CHARS = 2_000
"""Of a text: what its language is detected by."""
NOTHING_SAID = frozenset({"warcinfo", "request", "metadata", "revisit", "continuation"})


class Line(Struct):
    """A line of JSONL."""

    url: str
    text: str = ""
    title: str = ""
    headings: list[str] = []  # msgspec copies it
    language: str = ""
    at: float | str = 0.0
    date: float | str = ""
    type: str = ""
    anchors: list[str] = []  # msgspec copies it


class SkippedPages(Struct, frozen=True):
    """A sound record that is no page for an index, and why."""

    reason: str


Found: TypeAlias = IndexPage | Bad | SkippedPages
_decode_line = msgspec.json.Decoder(Line, strict=False).decode


class ForeignPages:
    """Reads files. One for all of them: it remembers what is slow to make."""

    def __init__(self) -> None:
        self._urls = UrlConfig()
        self._reader = Reader()

    def of(self, name: str) -> Iterator[Found]:
        """Yield the pages of a file, and what of it cannot be read; - is standard input."""
        try:
            stream = Unpacked(name)
        except OSError as error:
            raise ConfigError(f"cannot read {name}: {error.strerror}") from error
        try:
            yield from self._pages(stream)
        finally:
            stream.close()

    def _pages(self, stream: Unpacked) -> Iterator[Found]:
        try:
            opening = stream.peek(len(WARC_OPENING))
        except DamagedError as error:
            yield Bad(0, str(error))
            opening = stream.peek(len(WARC_OPENING))
        if opening.startswith(BOM):
            stream.take(len(BOM))
        if opening == WARC_OPENING:
            for record in read_warc(stream):
                if isinstance(record, Bad):
                    yield record
                elif (found := self._of_record(record)) is not None:
                    yield found
        else:
            yield from self._of_lines(stream)

    def _of_lines(self, stream: Unpacked) -> Iterator[Found]:
        while True:
            at = stream.at
            try:
                stream.skip_blank()
                at = stream.at
                line = stream.take_line(MOST_LINE_BYTES)
            except DamagedError as error:
                yield Bad(at, str(error))
                stream.skip_past(b"\n")
                continue
            if line is None:
                stream.skip_past(b"\n")
                yield Bad(at, f"a line of more than {MOST_LINE_BYTES} bytes")
            elif not line:
                return
            elif line.strip():
                yield self._of_line(at, line)

    def _of_line(self, at: int, line: bytes) -> Found:
        try:
            said = _decode_line(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return Bad(at, f'expected JSON with "url" and "text": {error}')
        url = self._url(said.url)
        if url is None:
            return Bad(at, f"not a URL: {said.url[:200]!r}")
        return IndexPage(
            url=url.text,
            title=said.title[:MOST_WORDS],
            headings=tuple(one[:MOST_WORDS] for one in said.headings[:MOST_HEADINGS]),
            text=said.text[:MOST_TEXT_CHARS],
            language=two_letters(said.language) or _detected(said.title, said.text),
            media_type=said.type.lower()[:MOST_WORDS] or "text/html",
            at=moment(said.at) or moment(said.date),
            anchors=tuple(one[:MOST_WORDS] for one in said.anchors[:MOST_HEADINGS]),
        )

    def _of_record(self, record: ForeignRecord) -> Found | None:
        headers = record.headers
        kind = headers.get("warc-type", "")
        if kind in NOTHING_SAID:
            return None
        url = self._url(headers.get("warc-target-uri", "").strip("<>"))
        if url is None:
            return Bad(record.at, f"not a URL: {headers.get('warc-target-uri', '')[:200]!r}")
        at = moment(headers.get("warc-date", ""))
        match kind:
            case "conversion":
                return _of_text(url, at, record)
            case "response" | "resource":
                return self._of_document(url, at, record)
            case _:
                return Bad(record.at, f"a record of the kind {kind[:40]!r}")

    def _of_document(self, url: Url, at: float, record: ForeignRecord) -> Found:
        if status_of_record(record) // 100 != 2:  # noqa: PLR2004 - as HTTP says
            return SkippedPages("not 2xx")
        found = self._reader.read(url, record)
        if not {"noindex", "none"}.isdisjoint(found.robots):
            return SkippedPages("noindex")
        if not found.text and not found.title:
            return (
                Bad(record.at, "; ".join(found.errors)) if found.errors else SkippedPages("no text")
            )
        links = found.links[:MOST_LINK_TEXTS]
        split = split_text(found.text, found.spans)
        return IndexPage(
            url=url.text,
            title=found.title[:MOST_WORDS],
            headings=found.headings,
            text=split.text[:MOST_TEXT_CHARS],
            code=split.code[:MOST_TEXT_CHARS],
            language=found.language,
            media_type=found.media_type,
            at=at,
            link_texts=frozenset(link.text for link in links if link.text),
        )

    def _url(self, text: str) -> Url | None:
        url = parse(text, self._urls)
        return url if url is not None and url.text.startswith(("http", "ftp")) else None


def _of_text(url: Url, at: float, record: ForeignRecord) -> IndexPage:
    """Return a page of a WET file: its first line is the title, as Common Crawl writes it."""
    text = record.block[:MOST_TEXT_CHARS].decode("utf-8", "replace")
    title, _, rest = text.partition("\n")
    is_title = len(title) <= MOST_WORDS
    said = two_letters(record.headers.get("warc-identified-content-language", ""))
    return IndexPage(
        url=url.text,
        title=title.strip() if is_title else "",
        text=rest if is_title else text,
        language=said or _detected("", text),
        media_type="text/html",
        at=at,
    )


def _detected(title: str, text: str) -> str:
    """Return the language of a page whose file does not say it, by its first characters."""
    return language_of(f"{title[:MOST_WORDS]}\n{text[:DETECTED_CHARS]}")


def moment(said: float | str) -> float:
    """Return a moment as seconds; 0 if it is none."""
    try:
        at = float(said)
    except ValueError:
        try:
            at = datetime.fromisoformat(str(said)).timestamp()
        except (ValueError, OverflowError):
            return 0.0
    return at if 0 < at < 1 << 40 else 0.0
