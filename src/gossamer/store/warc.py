"""The formats of the archive: WARC 1.1 records, one gzip member each, and CDXJ index lines.

Header lines, digests, dates and ids are made here; nothing in a value can break out of its line.
Which records a turn becomes is the business of `entry`. The index of a pages file has one sorted
line per page, as pywb's cdx-indexer writes it.
"""

import json
import os
import random
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha1
from pathlib import Path
from urllib.parse import quote, quote_from_bytes, unquote_to_bytes

import msgspec
from isal import igzip_lib, isal_zlib
from msgspec import Struct

from gossamer.durable import replacing
from gossamer.model import Document, StoreRef
from gossamer.store.records import Record

END = b"\r\n\r\n"
"""What follows the block of every record."""


_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_STORED_BYTES = 0xFFFF
"""The most that one stored block of deflate can hold (RFC 1951, 3.2.4)."""
_TRAILER = struct.Struct("<II").pack
_BLOCK = struct.Struct("<BHH").pack
_LATEST_S = 253402300799.0
_KEPT = "!\"#$%&'()*+,/:;<=>?@[\\]^`{|}~"
_WIDTHS = ((80, 128), (40, 64), (20, 32), (10, 16), (5, 8))
"""So many bits move, at each halving, to this distance from their other half."""
_BASE32 = bytes.maketrans(bytes(range(32)), b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")


_MAX_DIGESTS = 4


def _every(width: int, mask: int) -> int:
    return sum(mask << shift for shift in range(0, _MAX_DIGESTS * 256, width))


_LANE = bytes(12)
"""Between two digests of 20 bytes, so that each has 32 to spread over."""
_HALVINGS = tuple((bits, width, _every(2 * width, (1 << bits) - 1)) for bits, width in _WIDTHS)


def digests_of(*blocks: bytes) -> list[str]:
    """Return the SHA-1 of up to four blocks as WARC writes them."""
    return digest_texts([sha1(block, usedforsecurity=False).digest() for block in blocks])


def digest_texts(digests: Sequence[bytes]) -> list[str]:
    """Return up to four SHA-1 digests as "sha1:BASE32".

    Spreads 160 bits to 32 bytes of 5 by halving, in big integers that hold all digests at once:
    `base64.b32encode` is pure Python and takes five times as long, several times a page.
    """
    bits = int.from_bytes(_LANE.join(digests), "big")
    for half, width, mask in _HALVINGS:
        bits = (bits >> half & mask) << width | bits & mask
    letters = bits.to_bytes(32 * len(digests), "big").translate(_BASE32).decode("ascii")
    return [f"sha1:{letters[start : start + 32]}" for start in range(0, len(letters), 32)]


def digest_of(block: bytes) -> str:
    """Return the SHA-1 of a block as WARC writes it."""
    return digests_of(block)[0]


@lru_cache(maxsize=256)
def _second_text(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")


@lru_cache(maxsize=256)
def _second_stamp(second: int) -> str:
    return _second_text(second).replace("-", "").replace(":", "").replace("T", "")


def date_text(at: float) -> str:
    """Return a wall-clock second as a WARC-Date with microseconds."""
    at = min(max(at, 0.0), _LATEST_S)
    second = int(at)
    return f"{_second_text(second)}.{int((at - second) * 1_000_000):06d}Z"


def stamp_text(at: float) -> str:
    """Return a wall-clock second as the 14 digits of a CDX line."""
    return _second_stamp(int(min(max(at, 0.0), _LATEST_S)))


def plain(value: str) -> str:
    """Return a header value that cannot start a line: all but printable ASCII is %-escaped."""
    if value.isascii() and value.isprintable() and " " not in value:
        return value
    return quote(value, safe=_KEPT, errors="replace")


def header(kind: str, record_id: str, date: str, lines: str, length: int) -> bytes:
    """Return a record's header. `lines` end with CRLF each; their values went through `plain`."""
    return (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {record_id}\r\n"
        f"WARC-Date: {date}\r\n{lines}Content-Length: {length}\r\n\r\n"
    ).encode("ascii")


class RecordIds:
    """Unique record ids without a random number each: 60 random bits, then a counter.

    The bits that RFC 9562 fixes make it a version 8 UUID.
    """

    __slots__ = ("_count", "_stem")

    def __init__(self, rng: random.Random) -> None:
        bits = f"{rng.getrandbits(60):015x}"
        self._stem = f"<urn:uuid:{bits[:8]}-{bits[8:12]}-8{bits[12:]}-8000-"
        self._count = 0

    def next(self) -> str:
        """Return an id that was never returned before, in angle brackets."""
        self._count += 1
        return f"{self._stem}{self._count:012x}>"


def pack(opening: bytes, block: bytes) -> bytes:
    """Return a record as one gzip member.

    Level 0 of isal is real deflate: 10 us a record less than level 1, for 3 to 9 % more bytes.
    """
    record = b"".join((opening, block, END))
    member: bytes = igzip_lib.compress(record, 0, igzip_lib.COMP_GZIP)
    return member


_SPELLED = {
    "warc-record-id": "WARC-Record-ID",
    "warc-target-uri": "WARC-Target-URI",
    "warc-ip-address": "WARC-IP-Address",
}


def pack_record(record: Record) -> bytes:
    """Return a record as one gzip member, with the length and digest of its block."""
    fixed = {"warc-type", "warc-record-id", "warc-date", "content-length", "warc-block-digest"}
    said = {name: value for name, value in record.headers.items() if name not in fixed}
    lines = "".join(
        f"{_SPELLED.get(name, name.title().replace('Warc-', 'WARC-'))}: {plain(value)}\r\n"
        for name, value in said.items()
    )
    lines += f"WARC-Block-Digest: {digest_of(record.block)}\r\n"
    kind, date = record.headers["warc-type"], plain(record.headers["warc-date"])
    opening = header(kind, plain(record.record_id), date, lines, len(record.block))
    return pack(opening, record.block)


def pack_stored(*parts: bytes) -> bytes:
    """Return parts as one member of stored blocks.

    For payloads that are compressed already: doing it again costs 25 us a page and gains nothing.
    """
    size = sum(map(len, parts))
    if size > _STORED_BYTES:
        return b"".join(store_stream(parts))
    crc = 0
    for part in parts:
        crc = isal_zlib.crc32(part, crc)
    return b"".join((_GZIP_HEADER, _BLOCK(1, size, size ^ 0xFFFF), *parts, _TRAILER(crc, size)))


def store_stream(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield one member of stored blocks, whose content comes in parts, holding one at a time."""
    yield _GZIP_HEADER
    crc = size = 0
    for part in parts:
        crc = isal_zlib.crc32(part, crc)
        size += len(part)
        for start in range(0, len(part), _STORED_BYTES):
            piece = part[start : start + _STORED_BYTES]
            yield _BLOCK(0, len(piece), len(piece) ^ 0xFFFF)
            yield piece
    yield _BLOCK(1, 0, 0xFFFF)
    yield _TRAILER(crc, size & 0xFFFFFFFF)


def pack_stream(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield one member whose content comes in parts, holding one at a time."""
    deflate = isal_zlib.compressobj(1, isal_zlib.DEFLATED, 31)
    for part in parts:
        yield deflate.compress(part)
    yield deflate.flush()


_WWW = re.compile(r"www\d*\.")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_SAFE = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_SESSION_PATHS = (
    re.compile(r"(?i)(.*/)\((?:[a-z]\([0-9a-z]{24}\))+\)/([^?]+\.aspx.*)"),
    re.compile(r"(?i)(.*/)\([0-9a-z]{24}\)/([^?]+\.aspx.*)"),
)
_SESSION_QUERIES = (
    re.compile(r"(?i)(.*)jsessionid=[0-9a-z]{32}(?:&(.*))?"),
    re.compile(r"(?i)(.*)phpsessid=[0-9a-z]{32}(?:&(.*))?"),
    re.compile(r"(?i)(.*)sid=[0-9a-z]{32}(?:&(.*))?"),
    re.compile(r"(?i)(.*)aspsessionid[a-z]{8}=[a-z]{24}(?:&(.*))?"),
    re.compile(r"(?i)(.*)cfid=[^&]+&cftoken=[^&]+(?:&(.*))?"),
)


_quoted = json.encoder.encode_basestring_ascii


class CdxRow(Struct, frozen=True, gc=False):
    """What the index says of a page, but for where it lies."""

    url: str
    timestamp: str
    mime: str
    status: int
    digest: str

    @classmethod
    def of(cls, document: Document, payload_digest: str, *, is_revisit: bool = False) -> "CdxRow":
        """Return the row of a document."""
        mime = "warc/revisit" if is_revisit else document.media_type or "unk"
        return cls(
            plain(document.url.text),
            stamp_text(document.fetched_at),
            mime,
            document.status,
            payload_digest,
        )

    def line(self, ref: StoreRef) -> bytes:
        """Return the index line of the page, now that its position is known."""
        key = f"{surt(self.url)} {self.timestamp} "
        facts = (
            f'{{"url": {_quoted(self.url)}, "mime": {_quoted(self.mime)}, '
            f'"status": "{self.status}", "digest": "{self.digest.removeprefix("sha1:")}", '
            f'"length": "{ref.length}", "offset": "{ref.offset}", "filename": "{ref.file}"}}'
        )
        return (key + facts).encode("utf-8", "replace")


def write_cdxj(path: Path, lines: Iterable[bytes], *, is_synced: bool) -> int:
    """Write an index under its final name, whole or not at all; return its length."""
    length = 0
    with replacing(path, is_synced=is_synced) as file:
        for line in sorted(lines):
            length += file.write(line + b"\n")
    return length


class CdxLine(Struct, frozen=True, gc=False):
    """What a line of an index says of a page."""

    url: str
    digest: str
    length: str
    offset: str
    filename: str
    mime: str = ""

    @property
    def ref(self) -> StoreRef:
        """Return where the page lies."""
        return StoreRef(self.filename, int(self.offset), int(self.length))


_decode_line = msgspec.json.Decoder(CdxLine).decode


def read_cdxj(path: Path) -> Iterator[tuple[int, bytes, CdxLine | None]]:
    """Yield the lines of an index, each with its first byte; None: it is not a line of an index."""
    at = 0
    with path.open("rb") as file:
        for line in file:
            yield at, line, _cdx_line(line)
            at += len(line)


def _cdx_line(line: bytes) -> CdxLine | None:
    start = line.find(b" {")
    try:
        found = _decode_line(line[start + 1 :]) if start > 0 and line.endswith(b"}\n") else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    is_sound = found is not None and found.offset.isdecimal() and found.length.isdecimal()
    return found if is_sound else None


def is_cdxj_of(path: Path, file_name: str, length: int | None) -> bool:
    """Return True if an index has its length (if that is known) and ends with a line of its file.

    That is what a start can afford to look at for every file: no index is read as a whole. An empty
    one is believed only if it is known to be.
    """
    end = f'"filename": "{file_name}"}}\n'.encode()
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            if length is not None and size != length:
                return False
            if length == 0:
                return True
            file.seek(max(0, size - len(end)))
            return file.read() == end
    except FileNotFoundError:
        return False


def surt(url: str) -> str:
    """Return the sort-friendly form of a URL: com,example)/path?query.

    The same normalising steps as the tools that will look a page up by it: no scheme, no www, no
    default port, lower case, no trailing slash, no session id, arguments sorted.
    """
    scheme, colon, rest = url.partition("://")
    if not colon:
        return plain(url.lower())
    rest = rest.partition("#")[0]
    before, question, query = rest.partition("?")
    authority, _, path = before.partition("/")
    host = authority.rpartition("@")[2].lower().removesuffix(_DEFAULT_PORTS.get(scheme, "\0"))
    tail = f"?{_query_key(query)}" if question and query else ""
    return f"{_host_key(host)}){_path_key('/' + path)}{tail if tail != '?' else ''}"


def _host_key(host: str) -> str:
    match = _WWW.match(host)
    if match is not None:
        host = host[match.end() :]
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdigit():
        name, colon, port = host, "", ""
    if name.startswith("["):
        return name.strip("[]") + colon + port
    return ",".join(reversed(name.strip(".").split("."))) + colon + port


def _path_key(path: str) -> str:
    if "%" in path or not path.isascii():
        path = _escaped_once(path)
    if "//" in path:
        path = re.sub("/{2,}", "/", path)
    path = path.lower()
    if "(" in path:
        for pattern in _SESSION_PATHS:
            if match := pattern.fullmatch(path):
                path = match[1] + match[2]
    return path[:-1] if len(path) > 1 and path[-1] == "/" else path


def _query_key(query: str) -> str:
    if "%" in query or not query.isascii():
        query = _escaped_once(query)
    lower = query.lower()
    if "id=" in lower or "sessionid" in lower or "cftoken" in lower:
        for pattern in _SESSION_QUERIES:
            if match := pattern.fullmatch(lower):
                lower = match[1] + (match[2] or "")
    if "&" not in lower:
        return lower
    pairs = sorted(tuple(pair.split("=", 1)) for pair in lower.split("&"))
    return "&".join("=".join(pair) for pair in pairs)


def _escaped_once(text: str) -> str:
    """Undo all %-escapes, however deep, and escape once what is not plain ASCII."""
    raw = text.encode("utf-8", "replace")
    while (shorter := unquote_to_bytes(raw)) != raw:
        raw = shorter
    return quote_from_bytes(raw, safe=_SAFE)
