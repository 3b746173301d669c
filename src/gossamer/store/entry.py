"""ArchiveEntry: what one turn puts into the archive, ready to be appended.

A turn that will be tried again leaves nothing. A final one leaves, as far as it has them: request
and response (or revisit) in the pages file, the extracted text in the text file, and always one
record in the links file, which names its page and says what became of the URL: `LinksRecord`.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha1
from itertools import chain
from tempfile import SpooledTemporaryFile, gettempdir
from typing import IO, Any, TypeAlias, assert_never

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from gossamer.errors import CannotGoOn
from gossamer.model import (
    CLOCK_SET_BACK,
    CopyOf,
    Document,
    Extraction,
    Failed,
    Fetched,
    Redirected,
    Refused,
    RevisitResult,
    Turn,
    link_rows,
)
from gossamer.store.warc import (
    END,
    CdxRow,
    RecordIds,
    date_text,
    digest_of,
    digest_texts,
    digests_of,
    header,
    pack,
    pack_stored,
    pack_stream,
    plain,
    stamp_text,
    store_stream,
)
from gossamer.urls import without_credentials

LinkRow: TypeAlias = tuple[str, str, str, str]
"""Target URL, kind, anchor text, rel."""


class LinksRecord(Struct, kw_only=True, frozen=True):
    """What became of one URL, how we came to it, what it said and where it points.

    `graph`, `search` and `build state` read nothing else, so every final outcome leaves one.
    Readers ignore fields that they do not know, and fill in those that are missing.
    """

    url: str
    outcome: str
    """One of fetched, redirected, refused, failed, seed; of a revisit also unchanged and gone;
    labelled if a stored page got further labels.

    Of several records of a URL the last one holds, but for `unchanged`, which adds nothing, and
    `labelled`, which adds its labels.
    """
    reason: str = ""
    """The failure's or refusal's kind; "" otherwise."""
    detail: str = ""
    """What decided: a robots line, an error text, the Location of a redirect."""
    depth: int = 0
    via: str = ""
    kind: str = "seed"
    at: float = 0.0
    attempt: int = 0
    hops: int = 0
    """Redirects that led here one after another."""
    nesting: int = 0
    """Sitemap indexes that led here one after another."""
    status: int = 0
    media_type: str = ""
    html: bool = False
    page: str = ""
    """Id of the page record; "" if no document was stored."""
    copy_of: str = ""
    fp: int | None = None
    """Content fingerprint."""
    words: int | None = None
    """Fingerprint of title, text and links."""
    truncated: str = ""
    oddities: tuple[str, ...] = ()
    title: str = ""
    headings: tuple[str, ...] = ()
    spans: dict[str, list[int]] | UnsetType = UNSET
    """Parts of the text that are hidden, ads or code (`Extraction.spans`); left out without any."""
    language: str = ""
    canonical: str = ""
    description: str | UnsetType = UNSET
    """As its <meta> elements say; left out if they do not, and by older versions."""
    charset: str | UnsetType = UNSET
    """What the page was read as; left out if it is no text, and by older versions."""
    robots: tuple[str, ...] = ()
    notes: dict[str, Any] = field(default_factory=dict)
    """What processors note besides: any JSON value."""
    errors: tuple[str, ...] = ()
    links: list[LinkRow] = field(default_factory=list)
    lines: list[int] | UnsetType = UNSET
    """The line in which each of `links` begins, 0 if it is not known; left out if none is."""
    fragments: dict[int, str] | UnsetType = UNSET
    """What stood behind the # of some of `links`, by their place; left out if nothing did."""
    label: str = ""
    """Labels of the seeds that led here, separated by commas."""
    on_probation: str | UnsetType = UNSET
    """The part of a site on whose probation the page was fetched; left out if on none."""
    took_ms: int | UnsetType = UNSET
    """From the request to the last byte, at least 1; left out if it was not measured."""


class EndingsRecord(Struct, kw_only=True, frozen=True):
    """What became of several URLs: the failures of a commit; as a `LinksRecord` it has no page."""

    url: str = ""
    outcome: str = "endings"
    records: list[LinksRecord]


RULES_START = b'{"url":"","outcome":"rules"'
ENDINGS_START = b'{"url":"","outcome":"endings"'
TOGETHER = frozenset({"failed", "refused"})
"""Outcomes that say nothing of a page: only who asks what became of URLs wants them."""
ENDINGS_PER_RECORD = 1000
REQUESTS_TYPE = "application/vnd.gossamer.requests+json"
_DEFAULTS = msgspec.structs.asdict(LinksRecord(url="", outcome=""))
_decode_endings = msgspec.json.Decoder(EndingsRecord).decode
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(LinksRecord).decode


def encode_links(record: LinksRecord) -> bytes:
    """Return the record as JSON. What JSON cannot hold (from a plug-in) is replaced by text."""
    try:
        return _encode(record)
    except (UnicodeEncodeError, OverflowError, TypeError):
        return _encode(_mend(msgspec.structs.asdict(record)))


def encode_endings(records: Sequence[LinksRecord]) -> bytes:
    """Return records of URLs of which no document is kept as JSON, without what is not set."""
    rows = [_ending_row(record) for record in records]
    whole = {"url": "", "outcome": "endings", "records": rows}
    try:
        return _encode(whole)
    except (UnicodeEncodeError, OverflowError, TypeError):
        return _encode(_mend(whole))


def _ending_row(record: LinksRecord) -> dict[str, object]:
    said = msgspec.structs.asdict(record)
    row = {name: value for name, value in said.items() if value != _DEFAULTS[name]}
    return {"url": record.url, "outcome": record.outcome, **row, "at": round(record.at, 3)}


def decode_all_links(block: bytes) -> list[LinksRecord]:
    """Return the records in a block, none if it has rules; raise `msgspec.DecodeError` if alien."""
    if block.startswith(ENDINGS_START):
        return _decode_endings(block).records
    return [] if block.startswith(RULES_START) else [_decode(block)]


def decode_links(block: bytes) -> LinksRecord:
    """Return the record that `encode_links` wrote; raise `msgspec.DecodeError` for another."""
    return _decode(block)


def _mend(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode("utf-8")
        case dict():
            return {_mend(str(key)): _mend(it) for key, it in value.items() if it is not UNSET}
        case list() | tuple():
            return [_mend(item) for item in value]
        case bool() | float() | None:
            return value
        case Raw():
            return msgspec.json.decode(value)
        case int() if -(2**63) <= value < 2**64:
            return value
        case _:
            return _mend(str(value))


PIECE_BYTES = 128 * 1024
"""How much of a large body is in memory at a time."""
MARK_CHARS = 500
"""Of what is odd about an answer, in the header of its record."""
MEMORY_BYTES = 256 * 1024
"""A packed page larger than this waits for its commit in a temporary file."""

COMPRESSED_CODINGS = frozenset({"gzip", "x-gzip", "deflate", "br", "zstd"})
COMPRESSED_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp", "image/avif"})
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
Lacks: TypeAlias = Callable[[CopyOf], bool]
TRUNCATIONS = frozenset({"length", "time", "disconnect", "unspecified"})
IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
_NOT_MODIFIED_STATUS = 304


@dataclass(slots=True, kw_only=True)
class ArchiveEntry:
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
    plain_text: bytes = b""
    """What the text record holds, as UTF-8, unless another page was first with it."""
    links: bytes = b""
    ending: LinksRecord | None = None
    """What became of a URL of which no document is kept: recorded with others of its commit."""
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


class _Name(Struct, frozen=True, gc=False):
    """What the records of one document have in common, made once."""

    page_id: str
    date: str
    target: str
    where: str
    """The header lines that say what was asked of whom."""
    marks: str = ""
    """The header line of an answer with deviations from the protocol; "" if it has none."""

    @classmethod
    def of(cls, document: Document, page_id: str) -> "_Name":
        target, address = plain(document.url.text), document.address
        where = (
            f"WARC-Target-URI: {target}\r\nWARC-IP-Address: {plain(address)}\r\n"
            if address
            else f"WARC-Target-URI: {target}\r\n"
        )
        marks = ""
        if document.oddities:
            where += _clock_line(document.oddities)
            marks = _oddities_line(document.oddities)
        return cls(page_id, date_text(document.fetched_at), target, where, marks)


def _clock_line(oddities: Sequence[str]) -> str:
    """Return the header line that marks a date that goes back; "" if it does not."""
    for oddity in oddities:
        if oddity.startswith(CLOCK_SET_BACK):
            return f"WARC-Clock-Set-Back-From: {plain(oddity.removeprefix(CLOCK_SET_BACK))}\r\n"
    return ""


def _oddities_line(oddities: Sequence[str]) -> str:
    """Return the header line that names what is odd about an answer; "" if nothing else is."""
    found = [oddity for oddity in oddities if not oddity.startswith(CLOCK_SET_BACK)]
    words = "; ".join(found)[:MARK_CHARS].split()
    return f"WARC-Oddities: {' '.join(map(plain, words))}\r\n" if words else ""


class TurnWriter:
    """Turns turns into archive entries. One per shard and start; `lacks`: texts kept elsewhere."""

    __slots__ = ("_ids", "_lacks", "_software")

    def __init__(self, *, software: str, rng: random.Random, lacks: Lacks | None = None) -> None:
        self._software = software
        self._ids = RecordIds(rng)
        self._lacks = lacks

    def warcinfo(self, file_name: str, at: float, changes: Sequence[str] = ()) -> bytes:
        """Return the member that opens an archive file, or says there what was set since."""
        block = (
            f"software: {plain(self._software)}\r\nformat: WARC File Format 1.1\r\n"
            "conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/"
            "warc-1.1/\r\n" + "".join(f"changed: {one}\r\n" for one in changes)
        ).encode("utf-8", "replace")
        named = f"WARC-Filename: {plain(file_name)}\r\n" if file_name else ""
        return self._member("warcinfo", at, named, block, "application/warc-fields")

    def entry(self, turn: Turn) -> ArchiveEntry:
        """Return what a turn puts into the archive. The document's body may be closed after."""
        if turn.retry_at is not None:
            return ArchiveEntry()
        document = _document_of(turn)
        if document is None:
            record = _links_record(turn, None, "", is_same=False)
            if record.outcome not in TOGETHER:  # a page that is gone: graph and index want to know
                return ArchiveEntry(links=self._links_only(record))
            return ArchiveEntry(ending=record)
        name = _Name.of(document, self._ids.next())
        entry = self._pages(document, name, turn.copy_of)
        is_same = entry.is_revisit and turn.revisit is RevisitResult.UNCHANGED
        found = turn.found if not is_same else None
        block = encode_links(_links_record(turn, document, name.page_id, is_same=is_same))
        is_own = turn.copy_of is not None and turn.copy_of.url == turn.task.url.text
        has_text = not entry.is_revisit or (is_own and turn.revisit is None)
        is_far = turn.copy_of is not None and self._lacks is not None and self._lacks(turn.copy_of)
        is_told = (has_text or is_far) and isinstance(turn.outcome, Fetched)
        if found is not None and found.text and is_told:
            text = found.text.encode("utf-8", "replace")
            entry.plain_text = text if has_text else b""
            text_digest, digest = digests_of(text, block)
            entry.text = self._text(name, found.language, text, text_digest)
        else:
            digest = digest_of(block)
        lines = (
            f"WARC-Target-URI: {name.target}\r\nWARC-Refers-To: {name.page_id}\r\n"
            f"WARC-Block-Digest: {digest}\r\nContent-Type: application/json\r\n"
        )
        opening = header("metadata", self._ids.next(), date_text(turn.at), lines, len(block))
        entry.links = pack(opening, block)
        return entry

    def endings(self, records: Sequence[LinksRecord]) -> bytes:
        """Return the links-file members of URLs of which no document is kept, many in each."""
        if len(records) == 1:
            return self._links_only(records[0])
        most = ENDINGS_PER_RECORD
        groups = (records[first : first + most] for first in range(0, len(records), most))
        return b"".join(self.of_no_url(encode_endings(some), some[-1].at) for some in groups)

    def seed_record(self, url: str, label: str, at: float) -> bytes:
        """Return the links-file member that remembers a seed and its label."""
        return self._links_only(LinksRecord(url=url, outcome="seed", label=label, at=at))

    def label_record(self, url: str, labels: str, at: float) -> bytes:
        """Return the links-file member that remembers labels which a stored page got later."""
        return self._links_only(LinksRecord(url=url, outcome="labelled", label=labels, at=at))

    def requests(self, at: float, block: bytes) -> bytes:
        """Return the links-file member that keeps requests: a warcinfo, which readers pass over."""
        return self._member("warcinfo", at, "", block, REQUESTS_TYPE)

    def _pages(self, document: Document, name: _Name, copy_of: CopyOf | None) -> ArchiveEntry:
        asked, block, payload, payload_bytes = _digests(document)
        request = self._request(document, name, asked) if document.request else b""
        profile = _profile(document, payload, copy_of)
        is_revisit = profile != ""
        if profile == NOT_MODIFIED:
            payload = copy_of.payload_digest if copy_of is not None else ""
        mime = "warc/revisit" if is_revisit else document.media_type or "unk"
        stamp = stamp_text(document.fetched_at)
        entry = ArchiveEntry(
            pages=request,
            page_offset=len(request),
            record_id=name.page_id,
            payload_digest=payload,
            is_revisit=is_revisit,
            cdx=CdxRow(name.target, stamp, mime, document.status, payload),
        )
        if is_revisit:
            member = _revisit(document.head, name, profile, copy_of)
        else:
            lines = f"WARC-Block-Digest: {block}\r\nWARC-Payload-Digest: {payload}\r\n"
            opening = _page_opening(document, name, lines, payload_bytes)
            if document.body.is_spooled:
                return _with_large_member(entry, opening, document)
            member = _page_member(opening, document)
        entry.pages = request + member
        entry.page_length = len(member)
        return entry

    def _request(self, document: Document, name: _Name, digest: str) -> bytes:
        block, hidden = document.request, document.redacted
        redacted = f"WARC-Redacted-Headers: {plain(hidden)}\r\n" if hidden else ""
        lines = (
            f"{name.where}WARC-Concurrent-To: {name.page_id}\r\nWARC-Block-Digest: {digest}\r\n"
            f"{redacted}Content-Type: application/http;msgtype=request\r\n"
        )
        return pack(header("request", self._ids.next(), name.date, lines, len(block)), block)

    def _text(self, name: _Name, language: str, block: bytes, digest: str) -> bytes:
        spoken = f"WARC-Identified-Content-Language: {plain(language)}\r\n" if language else ""
        lines = (
            f"WARC-Target-URI: {name.target}\r\nWARC-Refers-To: {name.page_id}\r\n"
            f"{spoken}WARC-Block-Digest: {digest}\r\nContent-Type: text/plain\r\n"
        )
        return pack(header("conversion", self._ids.next(), name.date, lines, len(block)), block)

    def _links_only(self, record: LinksRecord) -> bytes:
        """Return the links-file member of a URL of which no document is kept."""
        target = f"WARC-Target-URI: {plain(record.url)}\r\n"
        return self._member("metadata", record.at, target, encode_links(record), "application/json")

    def of_no_url(self, block: bytes, at: float) -> bytes:
        """Return the links-file member of a block of JSON that is of no single URL."""
        return self._member("metadata", at, "", block, "application/json")

    def _member(self, kind: str, at: float, lines: str, block: bytes, media_type: str) -> bytes:
        lines += f"WARC-Block-Digest: {digest_of(block)}\r\nContent-Type: {media_type}\r\n"
        return pack(header(kind, self._ids.next(), date_text(at), lines, len(block)), block)


def _document_of(turn: Turn) -> Document | None:
    match turn.outcome:
        case Redirected(document=document):
            return document if document.head else None  # without a header there is nothing to keep
        case Fetched(document=document):
            return document
        case Failed(document=maybe):
            return maybe
        case Refused():
            return None
        case _:
            assert_never(turn.outcome)


def _digests(document: Document) -> tuple[str, str, str, int]:
    """Return the digests of request, block and payload as stored, and the payload's length."""
    request = sha1(document.request, usedforsecurity=False)
    block = sha1(document.head, usedforsecurity=False)
    body = document.body
    if not body.is_spooled:
        sent = body.sent()
        payload = sha1(sent, usedforsecurity=False)
        block.update(sent)
        count = len(sent)
    else:
        payload, count = sha1(usedforsecurity=False), 0
        with body.open_sent() as file:
            while piece := file.read(PIECE_BYTES):
                payload.update(piece)
                block.update(piece)
                count += len(piece)
    texts = digest_texts((request.digest(), block.digest(), payload.digest()))
    return texts[0], texts[1], texts[2], count


def _page_opening(document: Document, name: _Name, digests: str, payload_bytes: int) -> bytes:
    """Return everything before the payload: WARC header, then the HTTP header as received."""
    kind, media_type = "response", "application/http;msgtype=response"
    if not document.head:
        # A protocol without headers (file, ftp): the block is the body itself.
        kind, media_type = "resource", plain(document.media_type) or "application/octet-stream"
    truncated = ""
    if document.truncated:
        reason = document.truncated if document.truncated in TRUNCATIONS else "unspecified"
        truncated = f"WARC-Truncated: {reason}\r\n"
    lines = f"{name.where}{digests}{truncated}{name.marks}Content-Type: {media_type}\r\n"
    length = len(document.head) + payload_bytes
    return header(kind, name.page_id, name.date, lines, length) + document.head


def _is_compressed(document: Document) -> bool:
    """Return True if a body came in a form that deflate would only make longer."""
    coding = document.header("content-encoding")
    return coding.lower() in COMPRESSED_CODINGS or document.media_type in COMPRESSED_TYPES


def _page_member(opening: bytes, document: Document) -> bytes:
    sent = document.body.sent()
    return pack_stored(opening, sent, END) if _is_compressed(document) else pack(opening, sent)


def _with_large_member(entry: ArchiveEntry, opening: bytes, document: Document) -> ArchiveEntry:
    """Add the member of a spooled body, a piece at a time; to a temporary file if it is large."""
    make = store_stream if _is_compressed(document) else pack_stream
    spool = SpooledTemporaryFile(max_size=MEMORY_BYTES)  # noqa: SIM115 -- the archive closes it
    try:
        with document.body.open_sent() as body:
            pieces = iter(lambda: body.read(PIECE_BYTES), b"")
            for part in make(chain((opening,), pieces, (END,))):
                spool.write(part)  # `writelines` would roll over to the disk only at the end
    except OSError as error:
        raise CannotGoOn(
            f"cannot write {document.url.text} to a temporary file: {error.strerror or error}; "
            f"free some space in {gettempdir()}, then run the crawl again"
        ) from error
    entry.page_length = spool.tell()
    if entry.page_length > MEMORY_BYTES:
        entry.large = spool
        return entry
    spool.seek(0)
    entry.pages += spool.read()
    spool.close()
    return entry


def _profile(document: Document, payload_digest: str, copy_of: CopyOf | None) -> str:
    """Return the profile of a document's revisit record; "" if it is stored in full."""
    if document.status == _NOT_MODIFIED_STATUS:
        return NOT_MODIFIED
    is_copy = copy_of is not None and copy_of.payload_digest == payload_digest
    return IDENTICAL if is_copy else ""


def _revisit(block: bytes, name: _Name, profile: str, copy_of: CopyOf | None) -> bytes:
    """Return the record of an answer whose payload lies elsewhere: its digest names that, too."""
    refers = digest = ""
    if copy_of is not None:
        refers = (
            f"WARC-Refers-To: {plain(copy_of.record_id)}\r\n"
            f"WARC-Refers-To-Target-URI: {plain(copy_of.url)}\r\n"
            f"WARC-Refers-To-Date: {date_text(copy_of.fetched_at)}\r\n"
        )
        digest = f"WARC-Payload-Digest: {copy_of.payload_digest}\r\n"
    # What came without a header has an empty block here, which is of no type.
    kind = "Content-Type: application/http;msgtype=response\r\n" if block else ""
    lines = (
        f"{name.where}WARC-Profile: {profile}\r\n{refers}"
        f"WARC-Block-Digest: {digest_of(block)}\r\n{digest}{name.marks}{kind}"
    )
    return pack(header("revisit", name.page_id, name.date, lines, len(block)), block)


def _links_record(
    turn: Turn, document: Document | None, page_id: str, *, is_same: bool
) -> LinksRecord:
    task, found = turn.task, (None if is_same else turn.found) or _NOTHING
    is_own = is_same or (turn.copy_of is not None and turn.copy_of.url == task.url.text)
    outcome, reason, detail = ("unchanged", "", "") if is_same else _ending(turn)
    media_type = found.media_type or (document.media_type if document is not None else "")
    links = link_rows(found.links)
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
        page=page_id,
        copy_of=turn.copy_of.url if turn.copy_of is not None and not is_own else "",
        fp=turn.fingerprint,
        words=turn.words,
        truncated=document.truncated if document is not None else "",
        oddities=document.oddities if document is not None else (),
        title=found.title,
        headings=found.headings,
        spans=found.spans or UNSET,
        language=found.language,
        canonical=found.canonical,
        description=found.description or UNSET,
        charset=found.charset.lower() or UNSET,
        robots=found.robots,
        notes=dict(found.notes),
        errors=found.errors,
        links=links.rows,
        lines=links.lines if any(links.lines) else UNSET,
        fragments=links.fragments or UNSET,
        label=task.labels,
        on_probation=turn.on_probation or UNSET,
        took_ms=_took_ms(document),
    )


def _took_ms(document: Document | None) -> int | UnsetType:
    took_s = document.latency_s if document is not None else 0.0
    return max(round(took_s * 1000), 1) if took_s > 0 else UNSET


def _ending(turn: Turn) -> tuple[str, str, str]:
    """Return outcome, reason and detail as the links record names them."""
    match turn.outcome:
        case Fetched():
            return "fetched", "", ""
        case Redirected(target=target):
            return "redirected", "", without_credentials(target)
        case Refused(kind=refusal, detail=detail):
            return "refused", refusal.value, detail
        case Failed(reason=reason, detail=detail):
            is_gone = turn.revisit is RevisitResult.GONE
            return "gone" if is_gone else "failed", reason, detail
        case _:
            assert_never(turn.outcome)


_NOTHING = Extraction()
