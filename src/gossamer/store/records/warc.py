"""One WARC 1.1 record is one gzip member: its header lines, digests, dates and ids, packed.

Nothing in a value can break out of its line. Which records a turn becomes is `entry`'s business.
"""

import random
import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha1
from urllib.parse import quote

from isal import igzip_lib, isal_zlib

END = b"\r\n\r\n"
"""What follows the block of every record."""

EMPTY_DIGEST = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"

_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_STORED_BYTES = 0xFFFF
"""The most that one stored block of deflate can hold (RFC 1951, 3.2.4)."""
_TRAILER = struct.Struct("<II").pack
_BLOCK = struct.Struct("<BHH").pack
_LATEST_S = 253402300799.0
_KEPT = "!\"#$%&'()*+,/:;<=>?@[\\]^`{|}~"
_BASE32 = bytes.maketrans(bytes(range(32)), b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")


def _every(width: int, mask: int) -> int:
    return sum(mask << shift for shift in range(0, 256, width))


_HALF = (1 << 80) - 1
_GROUPS_OF_8, _GROUPS_OF_4, _GROUPS_OF_2, _GROUPS_OF_1 = (
    _every(128, (1 << 40) - 1),
    _every(64, (1 << 20) - 1),
    _every(32, (1 << 10) - 1),
    _every(16, (1 << 5) - 1),
)


def digest_text(digest: bytes) -> str:
    """Return a SHA-1 digest as "sha1:BASE32".

    Spreads the 160 bits to 32 bytes of 5 by halving, in big integers: `base64.b32encode` is pure
    Python and takes twice as long, several times a page.
    """
    bits = int.from_bytes(digest, "big")
    bits = (bits >> 80 << 128) | (bits & _HALF)
    bits = (bits >> 40 & _GROUPS_OF_8) << 64 | (bits & _GROUPS_OF_8)
    bits = (bits >> 20 & _GROUPS_OF_4) << 32 | (bits & _GROUPS_OF_4)
    bits = (bits >> 10 & _GROUPS_OF_2) << 16 | (bits & _GROUPS_OF_2)
    bits = (bits >> 5 & _GROUPS_OF_1) << 8 | (bits & _GROUPS_OF_1)
    return f"sha1:{bits.to_bytes(32, 'big').translate(_BASE32).decode('ascii')}"


def digest_of(block: bytes) -> str:
    """Return the SHA-1 of a block as WARC writes it."""
    return digest_text(sha1(block, usedforsecurity=False).digest())


@lru_cache(maxsize=256)
def _second_text(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")


def date_text(at: float) -> str:
    """Return a wall-clock second as a WARC-Date with microseconds."""
    at = min(max(at, 0.0), _LATEST_S)
    second = int(at)
    return f"{_second_text(second)}.{int((at - second) * 1_000_000):06d}Z"


def stamp_text(at: float) -> str:
    """Return a wall-clock second as the 14 digits of a CDX line."""
    text = _second_text(int(min(max(at, 0.0), _LATEST_S)))
    return text.replace("-", "").replace(":", "").replace("T", "")


def plain(value: str) -> str:
    """Return a header value that cannot start a line: all but printable ASCII is %-escaped."""
    if value.isascii() and value.isprintable() and " " not in value:
        return value
    return quote(value, safe=_KEPT, errors="replace")


def header(kind: str, record_id: str, at: float, lines: str, length: int) -> bytes:
    """Return a record's header. `lines` end with CRLF each; their values went through `plain`."""
    return (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {record_id}\r\n"
        f"WARC-Date: {date_text(at)}\r\n{lines}Content-Length: {length}\r\n\r\n"
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


def pack(record: bytes, *, level: int = 1) -> bytes:
    """Return a record as one gzip member."""
    member: bytes = igzip_lib.compress(record, level, igzip_lib.COMP_GZIP)
    return member


def pack_stored(opening: bytes, payload: bytes) -> bytes:
    """Return opening + payload as one member, deflating only the opening.

    For payloads that are compressed already: doing it again costs 25 us a page and gains nothing.
    The opening ends in a sync flush, so that stored blocks can follow on a byte boundary.
    """
    deflate = isal_zlib.compressobj(0, isal_zlib.DEFLATED, -15)
    parts = [_GZIP_HEADER, deflate.compress(opening), deflate.flush(isal_zlib.Z_SYNC_FLUSH)]
    last = max(0, (len(payload) - 1) // _STORED_BYTES * _STORED_BYTES)
    for start in range(0, last, _STORED_BYTES):
        parts.append(_BLOCK(0, _STORED_BYTES, 0))
        parts.append(payload[start : start + _STORED_BYTES])
    rest = payload[last:] if last else payload
    parts.append(_BLOCK(1, len(rest), len(rest) ^ 0xFFFF))
    parts.append(rest)
    crc = isal_zlib.crc32(payload, isal_zlib.crc32(opening))
    parts.append(_TRAILER(crc, (len(opening) + len(payload)) & 0xFFFFFFFF))
    return b"".join(parts)


def pack_stream(opening: bytes, payload: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the parts of one member whose payload comes in pieces, holding one at a time."""
    deflate = isal_zlib.compressobj(1, isal_zlib.DEFLATED, 31)
    yield deflate.compress(opening)
    for piece in payload:
        yield deflate.compress(piece)
    yield deflate.compress(END)
    yield deflate.flush()
