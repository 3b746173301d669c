"""Entry: what one turn puts into the archive, ready to be appended.

A turn that will be tried again leaves nothing. A final one leaves, as far as it has them: request
and response (or revisit) in the pages file, the extracted text in the text file, and always one
record in the links file, which names its page and says what became of the URL.
"""

import random
from dataclasses import dataclass
from hashlib import sha1
from tempfile import SpooledTemporaryFile, gettempdir
from typing import IO, assert_never

from gossamer.errors import CannotGoOn
from gossamer.model import (
    CopyOf,
    Document,
    Extraction,
    Failed,
    Fetched,
    Redirected,
    Refused,
    Turn,
)
from gossamer.store.records.cdxj import CdxRow
from gossamer.store.records.linksrecord import LinksRecord, encode_links
from gossamer.store.records.warc import (
    END,
    RecordIds,
    date_text,
    digest_of,
    digest_text,
    header,
    pack,
    pack_stored,
    pack_stream,
    plain,
)
from gossamer.urls import without_credentials

PIECE_BYTES = 128 * 1024
"""How much of a large body is in memory at a time."""

MEMORY_BYTES = 256 * 1024
"""A packed page larger than this waits for its commit in a temporary file."""

COMPRESSED_CODINGS = frozenset({"gzip", "x-gzip", "deflate", "br", "zstd"})
COMPRESSED_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp", "image/avif"})
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
TRUNCATIONS = frozenset({"length", "time", "disconnect", "unspecified"})
IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"


@dataclass(slots=True, kw_only=True)
class Entry:
    """The archive records of one turn. All empty for a turn that is tried again."""

    pages: bytes = b""
    """Request member and response member, back to back."""
    page_offset: int = 0
    """Where the response (or revisit, or resource) member starts inside `pages`."""
    page_length: int = 0
    """Its length; 0 if there is none."""
    large: IO[bytes] | None = None
    """An unnamed temporary file with a member too large for memory; it follows `pages`."""
    text: bytes = b""
    links: bytes = b""
    record_id: str = ""
    """Id of the response, revisit or resource record; "" if no document was stored."""
    payload_digest: str = ""
    is_revisit: bool = False
    cdx: CdxRow | None = None

    @property
    def size(self) -> int:
        """Return how many bytes the entry adds to the archive."""
        large_bytes = self.page_length if self.large is not None else 0
        return len(self.pages) + large_bytes + len(self.text) + len(self.links)


class TurnWriter:
    """Turns turns into archive entries. One per shard and start."""

    __slots__ = ("_ids", "_software")

    def __init__(self, *, software: str, rng: random.Random) -> None:
        self._software = software
        self._ids = RecordIds(rng)

    def warcinfo(self, file_name: str, at: float) -> bytes:
        """Return the member that opens an archive file and says who wrote it."""
        block = (
            f"software: {plain(self._software)}\r\nformat: WARC File Format 1.1\r\n"
            "conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/"
            "warc-1.1/\r\n"
        ).encode("ascii")
        lines = (
            f"WARC-Filename: {plain(file_name)}\r\nWARC-Block-Digest: {digest_of(block)}\r\n"
            "Content-Type: application/warc-fields\r\n"
        )
        return pack(header("warcinfo", self._ids.next(), at, lines, len(block)) + block + END)

    def entry(self, turn: Turn) -> Entry:
        """Return what a turn puts into the archive. The document's body may be closed after."""
        if turn.retry_at is not None:
            return Entry()
        document = _document_of(turn)
        entry = Entry() if document is None else self._pages(document, turn.copy_of)
        found = turn.found
        if (
            document is not None
            and found is not None
            and found.text
            and isinstance(turn.outcome, Fetched)
            and not entry.is_revisit
        ):
            entry.text = self._text(document, found, entry.record_id)
        record = _links_record(turn, document, entry)
        entry.links = self._metadata(record, entry.record_id)
        return entry

    def seed_record(self, url: str, label: str, at: float) -> bytes:
        """Return the links-file member that remembers a seed and its label."""
        return self._metadata(LinksRecord(url=url, outcome="seed", label=label, at=at), "")

    def _pages(self, document: Document, copy_of: CopyOf | None) -> Entry:
        record_id = self._ids.next()
        pages = self._request(document, record_id)
        block_digest, payload_digest, payload_bytes = _digests(document)
        entry = Entry(
            pages=pages,
            page_offset=len(pages),
            record_id=record_id,
            payload_digest=payload_digest,
            cdx=CdxRow.of(document, payload_digest),
        )
        if copy_of is not None and copy_of.payload_digest == payload_digest and document.head:
            entry.is_revisit = True
            entry.cdx = CdxRow.of(document, payload_digest, is_revisit=True)
            member = _revisit(document, entry, copy_of)
        else:
            opening = _page_opening(document, entry, block_digest, payload_bytes)
            if document.body.is_spooled:
                return _with_large_member(entry, opening, document)
            member = _page_member(opening, document)
        entry.pages += member
        entry.page_length = len(member)
        return entry

    def _request(self, document: Document, page_id: str) -> bytes:
        block = document.request
        if not block:
            return b""
        lines = (
            f"{_where(document)}WARC-Concurrent-To: {page_id}\r\n"
            f"WARC-Block-Digest: {digest_of(block)}\r\n"
            "Content-Type: application/http;msgtype=request\r\n"
        )
        opening = header("request", self._ids.next(), document.fetched_at, lines, len(block))
        return pack(opening + block + END, level=0)

    def _text(self, document: Document, found: Extraction, page_id: str) -> bytes:
        block = found.text.encode("utf-8", "replace")
        language = (
            f"WARC-Identified-Content-Language: {plain(found.language)}\r\n"
            if found.language
            else ""
        )
        lines = (
            f"WARC-Target-URI: {plain(document.url.text)}\r\nWARC-Refers-To: {page_id}\r\n"
            f"{language}WARC-Block-Digest: {digest_of(block)}\r\nContent-Type: text/plain\r\n"
        )
        opening = header("conversion", self._ids.next(), document.fetched_at, lines, len(block))
        return pack(opening + block + END)

    def _metadata(self, record: LinksRecord, page_id: str) -> bytes:
        block = encode_links(record)
        refers = f"WARC-Refers-To: {page_id}\r\n" if page_id else ""
        lines = (
            f"WARC-Target-URI: {plain(record.url)}\r\n{refers}"
            f"WARC-Block-Digest: {digest_of(block)}\r\nContent-Type: application/json\r\n"
        )
        opening = header("metadata", self._ids.next(), record.at, lines, len(block))
        return pack(opening + block + END)


def _document_of(turn: Turn) -> Document | None:
    match turn.outcome:
        case Fetched(document=document) | Redirected(document=document):
            return document
        case Failed(document=maybe):
            return maybe
        case Refused():
            return None
        case _:
            assert_never(turn.outcome)


def _where(document: Document) -> str:
    """Return the header lines that say what was asked of whom."""
    address = f"WARC-IP-Address: {plain(document.address)}\r\n" if document.address else ""
    return f"WARC-Target-URI: {plain(document.url.text)}\r\n{address}"


def _digests(document: Document) -> tuple[str, str, int]:
    """Return the digests of block and payload as stored, and the payload's length."""
    payload = sha1(usedforsecurity=False)
    block = sha1(document.head, usedforsecurity=False)
    if not document.body.is_spooled:
        sent = document.body.sent()
        payload.update(sent)
        block.update(sent)
        return digest_text(block.digest()), digest_text(payload.digest()), len(sent)
    count = 0
    with document.body.open_sent() as body:
        while piece := body.read(PIECE_BYTES):
            payload.update(piece)
            block.update(piece)
            count += len(piece)
    return digest_text(block.digest()), digest_text(payload.digest()), count


def _page_opening(document: Document, entry: Entry, block_digest: str, payload_bytes: int) -> bytes:
    """Return everything before the payload: WARC header, then the HTTP header as received."""
    kind, media_type = "response", "application/http;msgtype=response"
    if not document.head:
        # A protocol without headers (file, ftp): the block is the body itself.
        kind, media_type = "resource", plain(document.media_type) or "application/octet-stream"
    truncated = ""
    if document.truncated:
        reason = document.truncated if document.truncated in TRUNCATIONS else "unspecified"
        truncated = f"WARC-Truncated: {reason}\r\n"
    lines = (
        f"{_where(document)}WARC-Block-Digest: {block_digest}\r\n"
        f"WARC-Payload-Digest: {entry.payload_digest}\r\n{truncated}"
        f"Content-Type: {media_type}\r\n"
    )
    length = len(document.head) + payload_bytes
    return header(kind, entry.record_id, document.fetched_at, lines, length) + document.head


def _page_member(opening: bytes, document: Document) -> bytes:
    if (
        document.header("content-encoding").lower() in COMPRESSED_CODINGS
        or document.media_type in COMPRESSED_TYPES
    ):
        return pack_stored(opening, document.body.sent() + END)
    return pack(opening + document.body.sent() + END)


def _with_large_member(entry: Entry, opening: bytes, document: Document) -> Entry:
    """Add the member of a spooled body, a piece at a time; to a temporary file if it is large."""
    spool = SpooledTemporaryFile(max_size=MEMORY_BYTES)  # noqa: SIM115 -- the archive closes it
    try:
        with document.body.open_sent() as body:
            for part in pack_stream(opening, iter(lambda: body.read(PIECE_BYTES), b"")):
                spool.write(part)
    except OSError as error:
        raise CannotGoOn(
            f"cannot hold {document.url.text} in a temporary file: {error.strerror or error}; "
            f"make room in {gettempdir()} and run the crawl again"
        ) from error
    entry.page_length = spool.tell()
    if entry.page_length > MEMORY_BYTES:
        entry.large = spool
        return entry
    spool.seek(0)
    entry.pages += spool.read()
    spool.close()
    return entry


def _revisit(document: Document, entry: Entry, copy_of: CopyOf) -> bytes:
    block = document.head
    lines = (
        f"{_where(document)}WARC-Profile: {IDENTICAL}\r\n"
        f"WARC-Refers-To: {plain(copy_of.record_id)}\r\n"
        f"WARC-Refers-To-Target-URI: {plain(copy_of.url)}\r\n"
        f"WARC-Refers-To-Date: {date_text(copy_of.fetched_at)}\r\n"
        f"WARC-Block-Digest: {digest_of(block)}\r\n"
        f"WARC-Payload-Digest: {entry.payload_digest}\r\n"
        "Content-Type: application/http;msgtype=response\r\n"
    )
    opening = header("revisit", entry.record_id, document.fetched_at, lines, len(block))
    return pack(opening + block + END)


def _links_record(turn: Turn, document: Document | None, entry: Entry) -> LinksRecord:
    task, found = turn.task, turn.found or _NOTHING
    outcome, reason, detail = _ending(turn)
    media_type = found.media_type or (document.media_type if document is not None else "")
    return LinksRecord(
        url=task.url.text,
        outcome=outcome,
        reason=reason,
        detail=detail,
        depth=task.depth,
        via=task.via,
        kind=task.kind.value,
        at=turn.at,
        attempt=task.attempt,
        hops=task.hops,
        nesting=task.nesting,
        status=document.status if document is not None else 0,
        media_type=media_type,
        html=media_type in HTML_TYPES,
        page=entry.record_id,
        copy_of=turn.copy_of.url if turn.copy_of is not None else "",
        fp=turn.fingerprint,
        truncated=document.truncated if document is not None else "",
        oddities=document.oddities if document is not None else (),
        title=found.title,
        language=found.language,
        canonical=found.canonical,
        robots=found.robots,
        notes=dict(found.notes),
        errors=found.errors,
        links=[(link.target.text, link.kind, link.text, link.rel) for link in found.links],
    )


def _ending(turn: Turn) -> tuple[str, str, str]:
    """Return outcome, reason and detail as the links record names them."""
    match turn.outcome:
        case Fetched():
            return "fetched", "", ""
        case Redirected(target=target):
            return "redirected", "", without_credentials(target)
        case Refused(kind=refusal, detail=detail):
            return "refused", refusal.value, detail
        case Failed(kind=failure, detail=detail):
            return "failed", failure.value, detail
        case _:
            assert_never(turn.outcome)


_NOTHING = Extraction()
