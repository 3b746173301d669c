"""WARC records of a crawl, all of them or those of some pages, as they were stored.

Only what counts of the archive is read, so that a crawl may run beside it. A page brings its
request along. A page whose content lies in a record that is left out is written as a response of
its own: no revisit of what is given out refers to nothing.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from msgspec import Struct

from gossamer.errors import CorruptFile
from gossamer.model import BuildProgress, BuildStep, StoreRef, skipped
from gossamer.store import (
    KEPT_BYTES,
    PAGE_TYPES,
    ArchiveFile,
    BadRecord,
    CdxRow,
    CrawlFolder,
    Lengths,
    Record,
    RecordIdSet,
    bytes_at,
    cdx_row,
    open_archive,
    pack_record,
    read_record,
    resolved,
    scan_records,
)
from gossamer.tables.rows import Batch

HEAD_BYTES = 256 << 10
"""Of a block that is only indexed: no HTTP header is longer."""
CHUNK_BYTES = 1 << 20
TOLD_EVERY = 1_000


class PageSet:
    """Positions of page records: eight bytes for each."""

    def __init__(self) -> None:
        self._offsets: dict[str, array[int]] = {}
        self._is_sorted = True

    def add(self, batch: Batch) -> None:
        """Take the pages of some rows of the table `pages`."""
        pairs = zip(batch.columns["warc_file"], batch.columns["warc_offset"], strict=True)
        for file, offset in pairs:
            if file:
                self._offsets.setdefault(file, array("Q")).append(offset)
        self._is_sorted = False

    def __contains__(self, place: tuple[str, int]) -> bool:
        if not self._is_sorted:
            self._offsets = {name: array("Q", sorted(one)) for name, one in self._offsets.items()}
            self._is_sorted = True
        file, offset = place
        offsets = self._offsets.get(file, array("Q"))
        at = bisect_left(offsets, offset)
        return at < len(offsets) and offsets[at] == offset


class CopiedRecord(NamedTuple):
    """A record that is given out: a gzip member."""

    file: str
    """The archive file that it comes from."""
    member: bytes
    """Its first part, or all of it."""
    more: Iterator[bytes]
    row: CdxRow | None
    """What an index says of it; None if it is no page."""


class WarcCopy(Struct, frozen=True):
    """What is given out of an archive."""

    folder: CrawlFolder
    counted: Lengths
    """How much of each file counts."""
    kept: PageSet | None = None
    """Which pages; None means everything."""

    def records(self, tell: BuildProgress) -> Iterator[CopiedRecord]:
        """Yield all records, file by file; told is how many pages there were."""
        originals = self._originals() if self.kept is not None else {}
        pages = 0
        for name in self._files():
            for copied in self._of_file(name, originals, tell):
                pages += copied.row is not None
                if copied.row is not None and pages % TOLD_EVERY == 0:
                    tell(BuildStep(doing="adding", count=pages))
                yield copied
        tell(BuildStep(doing="adding", count=pages))

    def pages(self, tell: BuildProgress) -> Iterator[Record]:
        """Yield the page records with their whole content, that of copies included."""
        originals = self._originals(is_all=True)
        for name in self._files():
            for found in self._scan(name, KEPT_BYTES):
                if isinstance(found, BadRecord):
                    tell(skipped(found.line()))
                elif self._is_wanted(name, found):
                    original = originals.get(found.headers.get("warc-refers-to", ""))
                    if _type_of(found) != "revisit":
                        yield found
                    elif original is not None:
                        with suppress(CorruptFile):
                            yield resolved(found, read_record(self.folder, original))

    def _is_wanted(self, name: str, record: Record) -> bool:
        is_page = _type_of(record) in PAGE_TYPES
        return is_page and (self.kept is None or (name, record.offset) in self.kept)

    def _files(self) -> list[str]:
        names = [name.file_name for name in self.folder.archive_names(kind="pages")]
        return [name for name in names if self.counted.get(name, 0)]

    def _scan(self, name: str, kept_bytes: int) -> Iterator[Record | BadRecord]:
        path = self.folder.archive_path(name)
        return scan_records(path, 0, self.counted[name], kept_bytes=kept_bytes)

    def _of_file(
        self, name: str, originals: dict[str, StoreRef], tell: BuildProgress
    ) -> Iterator[CopiedRecord]:
        waiting: list[Record] = []
        """What goes before the next page, if that is given out: the file's opening, a request."""
        with open_archive(self.folder.archive_path(name)) as file:
            for found in self._scan(name, HEAD_BYTES):
                if isinstance(found, BadRecord):
                    tell(skipped(found.line()))
                    continue
                kind = found.headers.get("warc-type", "")
                if kind == "request":
                    waiting = [one for one in waiting if _type_of(one) != kind]
                if kind not in PAGE_TYPES:
                    waiting.append(found)
                    continue
                if self._is_wanted(name, found):
                    for one in waiting:
                        if _type_of(one) != "request" or _is_request_of(one, found):
                            yield _as_it_is(name, file, one)
                    waiting = []
                    yield self._page(name, file, found, originals)
                else:
                    waiting = [one for one in waiting if _type_of(one) != "request"]

    def _page(
        self, name: str, file: ArchiveFile, found: Record, originals: dict[str, StoreRef]
    ) -> CopiedRecord:
        original = originals.get(found.headers.get("warc-refers-to", ""))
        if found.headers.get("warc-type") != "revisit" or original is None:
            return _as_it_is(name, file, found)
        try:
            whole = resolved(found, read_record(self.folder, original))
        except CorruptFile:
            return _as_it_is(name, file, found)
        return CopiedRecord(name, pack_record(whole), iter(()), cdx_row(whole))

    def _originals(self, *, is_all: bool = False) -> dict[str, StoreRef]:
        """Return where contents lie that kept revisits refer to: those that are left out, or all.

        Headers of all files are read once, and once more if there are any such revisits.
        """
        given, wanted = RecordIdSet(), set[str]()
        for name, record in self._page_headers():
            if self._is_wanted(name, record):
                if _type_of(record) == "revisit":
                    wanted.add(record.headers.get("warc-refers-to", ""))
                elif not is_all:
                    given.update([record.record_id])
        wanted = {one for one in wanted if one not in given}
        if not wanted:
            return {}
        return {
            record.record_id: StoreRef(name, record.offset, record.length)
            for name, record in self._page_headers()
            if record.record_id in wanted
        }

    def _page_headers(self) -> Iterator[tuple[str, Record]]:
        for name in self._files():
            for found in self._scan(name, 0):
                if isinstance(found, Record) and found.headers.get("warc-type") in PAGE_TYPES:
                    yield name, found


def _type_of(record: Record) -> str:
    return record.headers.get("warc-type", "")


def _is_request_of(request: Record, page: Record) -> bool:
    return request.headers.get("warc-concurrent-to", "") == page.record_id


def _as_it_is(name: str, file: ArchiveFile, record: Record) -> CopiedRecord:
    parts = _parts(file, record.offset, record.length)
    row = cdx_row(record) if _type_of(record) in PAGE_TYPES else None
    return CopiedRecord(name, next(parts, b""), parts, row)


def _parts(file: ArchiveFile, offset: int, length: int) -> Iterator[bytes]:
    end = offset + length
    while offset < end:
        part = bytes_at(file, min(CHUNK_BYTES, end - offset), offset)
        if not part:
            return
        offset += len(part)
        yield part
