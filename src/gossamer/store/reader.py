"""Read the archive again: one page by its position, or all records of a file in order."""

import io
import re
import shlex
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import TypeAlias

import brotli
import msgspec
import zstandard
from isal import isal_zlib
from msgspec import Struct

from gossamer.errors import CorruptFile
from gossamer.model import CopyOf, StoreRef
from gossamer.store.entry import LinksRecord, decode_all_links, decode_links
from gossamer.store.far import open_archive
from gossamer.store.layout import CrawlFolder
from gossamer.store.records import NOT_GZIP, Record, Records, split_head, warc_fields
from gossamer.store.scanning import OnBad, readable_records
from gossamer.store.warc import CdxRow

OPENING_BYTES = 4096
"""Holds the header of any record that we wrote, packed."""
_HALF_MICROSECOND = 5e-7
FindPage: TypeAlias = Callable[[str, str], StoreRef | None]
"""Finds where the page with a URL and record id lies: for following a revisit."""


class StoredPage(Struct, kw_only=True):
    """A page as it was received."""

    url: str
    status: int
    head: bytes
    """Status line and header lines, ending with the blank line; b"" for a resource record."""
    headers: tuple[tuple[str, str], ...]
    """The server's header fields in order; names in lower case."""
    payload: bytes
    """The bytes as sent: chunk framing and content coding included."""
    warc_headers: dict[str, str]
    ref: StoreRef
    original: StoreRef | None = None
    """Where the payload was taken from, if this page is a revisit of another one."""

    def header(self, name: str) -> str:
        """Return the first value of a header field (lower-case name), or ""."""
        return next((value for key, value in self.headers if key == name), "")

    def decoded(self, max_bytes: int = 64 * 1024 * 1024) -> bytes:
        """Return what the author wrote: chunk framing and content codings undone, up to a cap."""
        return decoded(
            self.payload,
            transfer=joined_field(self.headers, "transfer-encoding"),
            codings=joined_field(self.headers, "content-encoding"),
            max_bytes=max_bytes,
        )


def read_record(folder: CrawlFolder, ref: StoreRef) -> Record:
    """Return the record at a position; raise `CorruptFile` if there is none."""
    path = folder.archive_path(ref.file)
    if not path.exists():
        raise _lost_page(path, ref, "the file is missing")
    records = Records(path, ref.offset)
    record = next(iter(records), None)
    if record is None:
        raise _lost_page(path, ref, records.found or "unexpected end of file")
    return record


def _lost_page(path: Path, ref: StoreRef, found: str) -> CorruptFile:
    command = f"`gossamer build {shlex.quote(str(path.parent.parent))} state`"
    return CorruptFile(path, ref.offset, f"{found}; run {command}, and the page is fetched again")


def read_original(folder: CrawlFolder, ref: StoreRef) -> CopyOf | None:
    """Return what a revisit of the page at a position refers to: that page, or what it refers to.

    Only the record's header is read. None if it is not there any more.
    """
    try:
        with open_archive(folder.archive_path(ref.file)) as file:
            file.seek(ref.offset)
            opening = isal_zlib.decompressobj(31).decompress(file.read(OPENING_BYTES))
    except (OSError, NOT_GZIP):
        return None
    said = warc_fields(opening.partition(b"\r\n\r\n")[0])
    of = "warc-refers-to" if said.get("warc-type") == "revisit" else "warc"
    id_name, date_name = (of, f"{of}-date") if of != "warc" else ("warc-record-id", "warc-date")
    try:
        moment = datetime.fromisoformat(said[date_name]).timestamp() + _HALF_MICROSECOND
        url = said[f"{of}-target-uri"]
        return CopyOf(url, said[id_name], said["warc-payload-digest"], moment)
    except (KeyError, ValueError):
        return None


def read_page(folder: CrawlFolder, ref: StoreRef, find: FindPage | None = None) -> StoredPage:
    """Return the stored page at a position. A revisit gets its payload from the page that it names.

    Without `find`, or if it finds nothing, a revisit's payload is empty and `original` is None.
    """
    record = read_record(folder, ref)
    page = _page(record, ref)
    if record.headers.get("warc-type") != "revisit" or find is None:
        return page
    original = find(
        record.headers.get("warc-refers-to-target-uri", ""),
        record.headers.get("warc-refers-to", ""),
    )
    if original is not None:
        page.payload = _page(read_record(folder, original), original).payload
        page.original = original
    return page


def iter_pages(path: Path, on_bad: OnBad | None = None) -> Iterator[StoredPage]:
    """Yield the readable pages of one pages file; those of revisit records have no payload."""
    for record in readable_records(path, on_bad=on_bad):
        if record.headers.get("warc-type") in {"response", "revisit", "resource"}:
            yield _page(record, StoreRef(path.name, record.offset, record.length))


def iter_links(
    folder: CrawlFolder, on_bad: OnBad | None = None
) -> Iterator[tuple[StoreRef, LinksRecord]]:
    """Yield every readable record of the links archive, file by file, in the order of writing."""
    for name in folder.archive_names(kind="links"):
        path = folder.archive_path(name.file_name)
        for record in readable_records(path, on_bad=on_bad):
            for links in all_links_in(record):
                yield StoreRef(path.name, record.offset, record.length), links


def all_links_in(record: Record) -> list[LinksRecord]:
    """Return the links records in a record: none, one, or several that ended together."""
    if record.headers.get("warc-type") != "metadata":
        return []
    try:
        return decode_all_links(record.block)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []


def links_in(record: Record) -> LinksRecord | None:
    """Return the links record in a record; None if it is of another kind, or cannot be decoded."""
    if record.headers.get("warc-type") != "metadata":
        return None
    try:
        return decode_links(record.block)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def record_ids(path: Path) -> Iterator[tuple[str, StoreRef]]:
    """Yield the id and position of every readable record of a file."""
    for record in readable_records(path):
        yield record.record_id, StoreRef(path.name, record.offset, record.length)


def cdxj_lines(path: Path) -> Iterator[bytes]:
    """Yield the index lines of a pages file, read from the file itself."""
    return map(_cdx_line, iter_pages(path))


def cdxj_line(record: Record, file_name: str) -> bytes:
    """Return the index line of a page record of a file."""
    return _cdx_line(_page(record, StoreRef(file_name, record.offset, record.length)))


def cdx_row(record: Record) -> CdxRow:
    """Return what an index says of a page record, but for where it lies."""
    return _cdx_row(_page(record, StoreRef("", record.offset, record.length)))


def _cdx_line(page: StoredPage) -> bytes:
    return _cdx_row(page).line(page.ref)


def _cdx_row(page: StoredPage) -> CdxRow:
    kind = page.warc_headers["warc-type"]
    said = page.header("content-type").partition(";")[0].partition(",")[0]
    media_type = said.strip().lower()
    if kind == "resource":
        media_type = page.warc_headers.get("content-type", "")
    date = page.warc_headers.get("warc-date", "")
    return CdxRow(
        page.url,
        "".join(filter(str.isdigit, date))[:14],
        "warc/revisit" if kind == "revisit" else media_type or "unk",
        page.status,
        page.warc_headers.get("warc-payload-digest", ""),
    )


def _page(record: Record, ref: StoreRef) -> StoredPage:
    head, payload = b"", record.block
    status = HTTPStatus.OK.value
    if record.headers.get("warc-type") != "resource" and record.block:
        head, payload = split_head(record.block)
        status = status_of(head)
    return StoredPage(
        url=record.headers.get("warc-target-uri", ""),
        status=status,
        head=head,
        headers=header_fields(head),
        payload=payload,
        warc_headers=record.headers,
        ref=ref,
    )


def status_of(head: bytes) -> int:
    """Return the status that an HTTP header begins with; 0 if it has none."""
    words = head.split(None, 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def header_fields(head: bytes) -> tuple[tuple[str, str], ...]:
    """Return the fields of an HTTP header in order, names in lower case."""
    lines = head.decode("latin-1").split("\n")[1:]
    return tuple(
        (name.strip().lower(), value.strip())
        for name, colon, value in (line.partition(":") for line in lines)
        if colon
    )


Decoder: TypeAlias = Callable[[bytes, int], bytes]

_PIECE_BYTES = 16 * 1024
_CHUNKS = re.compile(rb"[0-9A-Fa-f]{1,16}[ \t]*(?:;[^\n]*)?\r?\n")


def joined_field(headers: Iterable[tuple[str, str]], name: str) -> str:
    """Return all values of a header field that is a list, in lower case."""
    return ",".join(value for key, value in headers if key == name).lower()


def decoded(payload: bytes, *, transfer: str, codings: str, max_bytes: int) -> bytes:
    """Return the body without its transfer codings and content codings, at most `max_bytes` of it.

    An unknown coding, or bytes that are not in it, leave the body as it is at that point.
    """
    body, are_chunks = payload, True
    for coding in reversed([word.strip() for word in f"{codings},{transfer}".split(",")]):
        if coding in {"", "identity"}:
            continue
        if coding == "chunked":
            # Named a second time, it may be a mistake: the chunks are undone if there are any.
            body = _without_chunks(body) if are_chunks or _CHUNKS.match(body) else body
            are_chunks = False
            continue
        decoder = _DECODERS.get(coding)
        if decoder is None:
            return body[:max_bytes]
        try:
            body = decoder(body, max_bytes)
        except (zlib.error, brotli.error, zstandard.ZstdError):
            return body[:max_bytes]
    return body[:max_bytes]


def _without_chunks(payload: bytes) -> bytes:
    """Return the data of all whole chunks, and of one that was cut off."""
    parts: list[bytes] = []
    at = 0
    while (line_end := payload.find(b"\n", at)) >= 0:
        size_text = payload[at:line_end].partition(b";")[0].strip()
        try:
            size = int(size_text, 16)
        except ValueError:
            return b"".join(parts) if parts else payload
        if size <= 0:
            break
        parts.append(payload[line_end + 1 : line_end + 1 + size])
        at = line_end + 1 + size
        at = payload.find(b"\n", at) + 1 or len(payload)
    return b"".join(parts)


def _gunzip(body: bytes, max_bytes: int) -> bytes:
    """Undo "gzip". What is one whole member, as nearly all are, takes isal a third of the time."""
    inflate = isal_zlib.decompressobj(31)
    with suppress(NOT_GZIP):
        found = inflate.decompress(body, max_bytes)
        if inflate.eof and not inflate.unused_data:
            return bytes(found)
    return _inflate(body, max_bytes, zlib.MAX_WBITS | 32)


def _inflate_any(body: bytes, max_bytes: int) -> bytes:
    """Undo "deflate": zlib as the standard says, or raw as some servers send it."""
    try:
        return _inflate(body, max_bytes, zlib.MAX_WBITS)
    except zlib.error:
        return _inflate(body, max_bytes, -zlib.MAX_WBITS)


def _inflate(body: bytes, max_bytes: int, window_bits: int) -> bytes:
    """Return what inflates, all gzip members, up to a cap; a cut-off tail is no error."""
    if (whole := _inflated_at_once(body, max_bytes, window_bits)) is not None:
        return whole
    parts: list[bytes] = []
    left = max_bytes
    while body and left:
        inflate = zlib.decompressobj(window_bits)
        try:
            part = inflate.decompress(body, left)
        except zlib.error:
            if not parts:
                raise
            break
        parts.append(part)
        left -= len(part)
        body = inflate.unused_data if inflate.eof else b""
    return b"".join(parts)


def _inflated_at_once(body: bytes, max_bytes: int, window_bits: int) -> bytes | None:
    """Return what a body of one sound member inflates to, in a third of the time; None if not."""
    try:
        inflate = isal_zlib.decompressobj(window_bits)
        found = inflate.decompress(body, max_bytes)
    except (NOT_GZIP, ValueError):
        return None
    return found if inflate.eof and not inflate.unused_data else None


def _unbrotli(body: bytes, max_bytes: int) -> bytes:
    inflate = brotli.Decompressor()
    parts: list[bytes] = []
    size = 0
    for start in range(0, len(body), _PIECE_BYTES):
        part = inflate.process(body[start : start + _PIECE_BYTES])
        parts.append(part)
        size += len(part)
        if size >= max_bytes:
            break
    return b"".join(parts)


def _unzstd(body: bytes, max_bytes: int) -> bytes:
    with zstandard.ZstdDecompressor().stream_reader(
        io.BytesIO(body), read_across_frames=True
    ) as reader:
        return reader.read(max_bytes)


_DECODERS: dict[str, Decoder] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _inflate_any,
    "br": _unbrotli,
    "zstd": _unzstd,
}
