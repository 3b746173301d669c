"""Wire: answers as the bytes that go over a connection, made once and kept within bounds."""

from collections import OrderedDict
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from isal import igzip
from msgspec import Struct

from gossamer.testing.answer import Answer, Headers, Request

_CHUNK_BYTES = 8192
_BODILESS = frozenset((204, 304))
_REASONS = {status.value: status.phrase for status in HTTPStatus}


class Wire(Struct, frozen=True, gc=False):
    """One answer, framed."""

    status: int
    head: bytes
    body: bytes
    is_last: bool = False
    """The answer says that the connection closes after it."""


def framed(answer: Answer, *, takes_gzip: bool) -> Wire:
    """Return an answer as a well-behaved server sends it."""
    body, headers = answer.body, answer.headers
    if answer.gzip:
        headers += (("Vary", "Accept-Encoding"),)
        if takes_gzip:
            body = igzip.compress(body, 1, mtime=0)
            headers += (("Content-Encoding", "gzip"),)
    if answer.status in _BODILESS:
        body = b""
    elif answer.chunked:
        headers += (("Transfer-Encoding", "chunked"),)
        body = _chunked(body)
    elif not answer.header("Content-Length"):
        headers += (("Content-Length", str(len(body))),)
    is_last = answer.header("Connection").lower() == "close"
    return Wire(answer.status, _head(answer.status, headers), body, is_last)


def _head(status: int, headers: Headers) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    reason = _REASONS.get(status, "Unheard Of")
    return f"HTTP/1.1 {status} {reason}\r\nServer: fakeweb\r\n{lines}\r\n".encode(
        "latin-1", "replace"
    )


def _chunked(body: bytes) -> bytes:
    starts = range(0, len(body), _CHUNK_BYTES)
    cuts = (body[start : start + _CHUNK_BYTES] for start in starts)
    return b"".join([*(b"%x\r\n%b\r\n" % (len(cut), cut) for cut in cuts), b"0\r\n\r\n"])


def unchanged(answer: Answer, request: Request) -> bool:
    """Tell whether a conditional request may be told 304 (RFC 9110, section 13.2.2)."""
    tag = answer.header("ETag")
    asked = request.header("If-None-Match")
    if asked:
        return bool(tag) and (asked == "*" or tag in asked)
    since, changed = request.header("If-Modified-Since"), answer.header("Last-Modified")
    if not since or not changed:
        return False
    try:
        return parsedate_to_datetime(since) >= parsedate_to_datetime(changed)
    except (ValueError, TypeError):
        return False


def not_modified(answer: Answer) -> Answer:
    """Return the 304 for an answer that the client has already."""
    kept = {"etag", "last-modified"}
    headers = tuple(field for field in answer.headers if field[0].lower() in kept)
    return Answer(status=304, headers=headers, wait_s=answer.wait_s)


class WireCache:
    """The least recently used wires, up to a number of bytes."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._wires: OrderedDict[tuple[str, str, bool], Wire] = OrderedDict()

    def get(self, key: tuple[str, str, bool]) -> Wire | None:
        """Return a kept wire."""
        wire = self._wires.get(key)
        if wire is not None:
            self._wires.move_to_end(key)
        return wire

    def put(self, key: tuple[str, str, bool], wire: Wire) -> None:
        """Keep a wire, and let go of the oldest for it."""
        self._wires[key] = wire
        self._bytes += len(wire.body)
        while self._bytes > self._max_bytes:
            _, old = self._wires.popitem(last=False)
            self._bytes -= len(old.body)
