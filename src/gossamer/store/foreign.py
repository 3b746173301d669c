"""Records of WARC and WET files that others wrote: any version, packed by record or not at all."""

from collections.abc import Iterator

from msgspec import Struct

from gossamer.store.unpacking import DamagedError, Unpacked

MOST_HEAD_BYTES = 64 << 10
MOST_BLOCK_BYTES = 32 << 20
"""A longer record is passed over."""
OPENING = b"WARC/"
_MOST_DIGITS = 18
_ENDS = (b"\r\n\r\n", b"\n\n")


class ForeignRecord(Struct, frozen=True):
    """A record that somebody wrote."""

    at: int
    """Where it begins, in unpacked bytes."""
    headers: dict[str, str]
    block: bytes


class Bad(Struct, frozen=True):
    """Something that cannot be read: where, and why."""

    at: int
    reason: str


def read_warc(stream: Unpacked) -> Iterator[ForeignRecord | Bad]:
    """Yield the records of a file; what is none is told, and the next one looked for."""
    while True:
        at = stream.at
        try:
            found = _next(stream)
        except DamagedError as error:
            found = Bad(at, str(error))
        if found is None:
            return
        yield found


def _next(stream: Unpacked) -> ForeignRecord | Bad | None:
    stream.skip_blank()
    at = stream.at
    opening = stream.peek(len(OPENING))
    if not opening:
        return None
    head = _head(stream) if opening == OPENING else None
    if head is None:
        _find_opening(stream)
        return Bad(at, "expected a WARC record")
    headers = _fields(head)
    length = headers.get("content-length", "")
    if not (length.isascii() and length.isdecimal() and len(length) <= _MOST_DIGITS):
        _find_opening(stream)
        return Bad(at, f"expected a Content-Length, found {length[:40]!r}")
    if int(length) > MOST_BLOCK_BYTES:
        stream.skip(int(length))
        return Bad(at, f"a record of {int(length)} bytes; at most {MOST_BLOCK_BYTES} are read")
    block = stream.take(int(length))
    if len(block) < int(length):
        return Bad(at, f"the file ends after {len(block)} of {length} bytes")
    return ForeignRecord(at, headers, block)


def _head(stream: Unpacked) -> bytes | None:
    """Take the header of a record; its lines end as they should, or with a mere newline."""
    first = stream.take_until(b"\n", MOST_HEAD_BYTES)
    if first is None:
        return None
    mark = _ENDS[0] if first.endswith(b"\r\n") else _ENDS[1]
    return stream.take_until(mark, MOST_HEAD_BYTES)


def _find_opening(stream: Unpacked) -> None:
    """Pass over everything up to the next line that opens a record."""
    while stream.peek(1):
        stream.skip_past(b"\n")
        if stream.peek(len(OPENING)) == OPENING:
            return


def _fields(head: bytes) -> dict[str, str]:
    """Return the fields of a header, names in lower case; the first of a name holds."""
    found: dict[str, str] = {}
    for line in head.decode("utf-8", "replace").splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip().lower(), value.strip())
    return found
