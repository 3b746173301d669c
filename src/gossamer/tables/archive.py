"""Records of a crawl's archive with all that a row needs: links record, page record, text record.

Files are read in the order of their epochs: a URL that moved to another shard is met there later.
"""

from collections.abc import Iterator

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gossamer.report import DROPPED, dropped_of
from gossamer.store import (
    ArchiveName,
    BadRecord,
    CrawlFolder,
    Lengths,
    LinkRow,
    PageRecords,
    Record,
    RecordRange,
    undecodable,
)

HEAD_BYTES = 256 << 10
"""Of a page, if its body is not asked for: no HTTP header is longer."""
BODY_BYTES = 64 << 20
TEXT_BYTES = 16 << 20

_NO_NOTES = msgspec.Raw(b"{}")


class TableRecord(Struct, frozen=True):
    """What the tables take from a links record. Fields that a record lacks are empty."""

    url: str
    outcome: str
    depth: int = 0
    via: str = ""
    at: float = 0.0
    status: int = 0
    media_type: str = ""
    charset: str = ""
    page: str = ""
    copy_of: str = ""
    fp: int | None = None
    oddities: tuple[str, ...] = ()
    title: str = ""
    description: str = ""
    headings: list[str] = []  # msgspec copies it
    language: str = ""
    canonical: str = ""
    robots: tuple[str, ...] = ()
    notes: msgspec.Raw = _NO_NOTES
    links: list[LinkRow] = []  # msgspec copies it
    lines: list[int | None] = []  # msgspec copies it
    fragments: dict[int, str] | None = None
    label: str = ""


class RecordFacts(Struct, frozen=True):
    """What decides which record of a URL holds; the rest is not decoded."""

    url: str
    outcome: str
    via: str = ""
    at: float = 0.0
    media_type: str = ""
    label: str = ""


class FoundRecord(Struct):
    """A links record and what the other files of its set have of it."""

    number: int
    """Of the metadata records of the stretch, from 0."""
    said: TableRecord
    page: Record | None = None
    text: Record | None = None
    file: str = ""
    """The pages file."""


NO_FACTS = RecordFacts("", "")
_decode = msgspec.json.Decoder(TableRecord).decode
_decode_facts = msgspec.json.Decoder(RecordFacts).decode


class ArchiveStretch:
    """What counts of an archive and was not read; `covered` says how far that was.

    With `has_bodies` whole bodies are read, else only the headers of pages.
    """

    def __init__(
        self,
        folder: CrawlFolder,
        covered: Lengths,
        counted: Lengths,
        *,
        has_bodies: bool = False,
    ) -> None:
        self._folder = folder
        self._counted = counted
        self.dropped = dropped_of(folder)
        """What is left out, and links to it; what it holds is read: others may hold the same."""
        self._page_bytes = BODY_BYTES if has_bodies else HEAD_BYTES
        self.covered = dict(covered)
        self.records = 0
        """Metadata records that were read."""
        self.bad: list[BadRecord] = []
        """What counts and cannot be read."""

    @property
    def bytes_left(self) -> int:
        """Return how much is still to be read."""
        return sum(max(end - self.covered.get(name, 0), 0) for name, end in self._counted.items())

    def facts(self) -> Iterator[RecordFacts]:
        """Yield what decides which records hold, in the same order; only links files are read.

        What cannot be decoded has no URL here, and is told by whoever reads it again.
        """
        for name in self._in_order():
            for record in self._range(name, []):
                if record.headers.get("warc-type") == "metadata":
                    try:
                        facts = _decode_facts(record.block)
                    except (msgspec.DecodeError, UnicodeDecodeError):
                        facts = NO_FACTS
                    is_dropped = self.dropped.has(facts.url)
                    yield replace(facts, outcome=DROPPED) if is_dropped else facts

    def __iter__(self) -> Iterator[FoundRecord]:
        for name in self._in_order():
            pages = self._records(name.sibling("pages"), "warc-record-id", self._page_bytes)
            texts = self._records(name.sibling("text"), "warc-refers-to", TEXT_BYTES)
            for number, said in self._said(name):
                found = FoundRecord(number, said, file=pages.file)
                if said.page:
                    found.page = pages.take(said.page)
                    found.text = texts.take(said.page)
                self.covered[pages.file] = pages.reached
                self.covered[texts.file] = texts.reached
                yield found
            for records in (pages, texts):
                self._close(records)

    def _in_order(self) -> list[ArchiveName]:
        names = self._folder.archive_names(kind="links")
        return sorted(names, key=lambda name: (name.epoch, name.number, name.shard))

    def _range(self, name: ArchiveName, bad: list[BadRecord]) -> RecordRange:
        file = name.file_name
        start, end = self.covered.get(file, 0), self._counted.get(file, 0)
        return RecordRange(self._folder.archive_path(file), start, end, bad)

    def _said(self, name: ArchiveName) -> Iterator[tuple[int, TableRecord]]:
        file = name.file_name
        stretch = self._range(name, self.bad)
        for record in stretch:
            self.covered[file] = record.offset + record.length
            if record.headers.get("warc-type") == "metadata":
                number, self.records = self.records, self.records + 1
                try:
                    said = _decode(record.block)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    self.bad.append(undecodable(file, record, error))
                else:
                    yield number, self._without_dropped(said)
        self.covered[file] = max(self.covered.get(file, 0), stretch.reached)

    def _without_dropped(self, said: TableRecord) -> TableRecord:
        if self.dropped.has(said.url):
            return replace(said, outcome=DROPPED, links=[], lines=[], fragments=None)
        gone = set(self.dropped.among(said.links))
        if not gone:
            return said
        kept = [place for place in range(len(said.links)) if place not in gone]
        has_lines, old = len(said.lines) == len(said.links), said.fragments or {}
        return replace(
            said,
            links=[said.links[place] for place in kept],
            lines=[said.lines[place] for place in kept] if has_lines else [],
            fragments={new: old[place] for new, place in enumerate(kept) if place in old},
        )

    def _records(self, name: ArchiveName, field: str, kept_bytes: int) -> PageRecords:
        file = name.file_name
        start, end = self.covered.get(file, 0), self._counted.get(file, 0)
        path = self._folder.archive_path(file)
        return PageRecords(path, start, end, self.bad, field, kept_bytes)

    def _close(self, records: PageRecords) -> None:
        """Pass over records that are left: they belong to no page that counts."""
        if records.is_torn:
            self.covered[records.file] = records.reached
        elif self._counted.get(records.file, 0):
            self.covered[records.file] = self._counted[records.file]
