"""Responses: what a fake host sends, as a value that can be compared and as bytes.

Most responses are a status, headers and a body, which the server frames. A `Fault` is the rest: an
iterator of steps (bytes to send, pauses, an end), so that any misbehaviour is a short generator.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import Enum
from http import HTTPStatus
from typing import Protocol, Self, TypeAlias

from isal import igzip
from msgspec import Struct

Headers: TypeAlias = tuple[tuple[str, str], ...]

DEFAULT_PORTS = {"http": 80, "https": 443}
_CHUNK_BYTES = 8192
_BODILESS = frozenset((204, 304))
_REASONS = {status.value: status.phrase for status in HTTPStatus}


class ConnectionEnd(Enum):
    """How a fault leaves the connection; one without an end leaves it open for the next request."""

    CLOSE = "close"
    RESET = "reset"
    HANG = "hang"


@dataclass(frozen=True, slots=True)
class Pause:
    """Send nothing for a while."""

    seconds: float


FaultStep: TypeAlias = bytes | Pause | ConnectionEnd


@dataclass(frozen=True, slots=True)
class FaultLocation:
    """Where a fault happens: enough to write URLs that lead back to it."""

    host: str
    port: int
    path: str
    scheme: str = "http"

    @property
    def origin(self) -> str:
        """Return scheme, host and any port that is not the scheme's default."""
        return origin_of(self.scheme, self.host, self.port)


@dataclass(frozen=True, slots=True)
class Fault:
    """A misbehaviour at some URL: `run(location)` yields what the server does, step by step."""

    name: str
    location: FaultLocation
    run: Callable[[FaultLocation], Iterator[FaultStep]]

    def steps(self) -> Iterator[FaultStep]:
        """Return the steps from the beginning."""
        return self.run(self.location)


@dataclass(frozen=True, slots=True, kw_only=True)
class CannedResponse:
    """One response. `before` holds the responses to the first requests; this one is for later ones.

    With `gzip` the body is compressed for clients that accept it. A `fault` replaces everything
    else, and `status` is then only what the log shows. `wait_s` passes before the first byte.
    """

    status: int = 200
    headers: Headers = ()
    body: bytes = b""
    gzip: bool = False
    chunked: bool = False
    wait_s: float = 0.0
    before: tuple["CannedResponse", ...] = ()
    fault: Fault | None = None

    def header(self, name: str) -> str:
        """Return the first value of a header, or "" if there is none."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")


class Request:
    """What a client asked for."""

    __slots__ = ("head", "host", "lower", "method", "target")

    def __init__(self, method: str, target: str, host: str, head: bytes) -> None:
        self.method = method
        self.target = target
        self.host = host
        self.head = head
        """Request line and headers as received."""
        self.lower = head.lower()
        """The same in lower case, to find header names in."""

    def header(self, name: str) -> str:
        """Return the value of a request header, or "" if it was not sent."""
        key = b"\r\n%s:" % name.lower().encode("latin-1")
        start = self.lower.find(key)
        if start < 0:
            return ""
        start += len(key)
        end = self.head.find(b"\r\n", start)
        return self.head[start : end if end >= 0 else None].decode("latin-1").strip()

    @property
    def wants_close(self) -> bool:
        """Return True if the client will not ask again on this connection."""
        return b"\r\nconnection: close" in self.lower or b" http/1.0\r\n" in self.lower


class Web(Protocol):
    """What a server needs of a web; `FakeWeb` and `ScriptedWeb` fit."""

    @property
    def is_pure(self) -> bool:
        """Return True if equal requests get equal responses, so that they may be cached."""

    @property
    def addresses(self) -> dict[str, str]:
        """Return the loopback address of every host."""

    @property
    def listen_on(self) -> set[str]:
        """Return every address that a host has or may yet be given."""

    def pages(self) -> Iterable[str]:
        """Return the URLs that are worth caching before the first request."""

    def served_at(self, scheme: str, port: int) -> Self:
        """Return this web with the scheme and port that it is served on in its links."""

    def respond(self, request: Request) -> CannedResponse:
        """Return the response to a request."""


def origin_of(scheme: str, host: str, port: int) -> str:
    """Return scheme, host and any port that is not the scheme's default."""
    if DEFAULT_PORTS.get(scheme) == port:
        return f"{scheme}://{host}"
    return f"{scheme}://{host}:{port}"


def html_response(body: str, *, status: int = 200, headers: Headers = ()) -> CannedResponse:
    """Return an HTML page in UTF-8."""
    kind = (("Content-Type", "text/html; charset=utf-8"),)
    return CannedResponse(status=status, headers=kind + headers, body=body.encode())


def not_found() -> CannedResponse:
    """Return the plain 404."""
    return html_response("<title>Not here</title><h1>Not here</h1>", status=404)


def redirect(to: str, status: int = 302) -> CannedResponse:
    """Return a redirect with a short body."""
    return html_response(f'<a href="{to}">moved</a>', status=status, headers=(("Location", to),))


class EncodedResponse(Struct, frozen=True, gc=False):
    """A response as the bytes to send."""

    status: int
    head: bytes
    body: bytes
    is_last: bool = False
    """The response says that the connection closes after it."""


def encode(response: CannedResponse, *, takes_gzip: bool) -> EncodedResponse:
    """Return a response as a well-behaved server sends it."""
    body, headers = response.body, response.headers
    if response.gzip:
        headers += (("Vary", "Accept-Encoding"),)
        if takes_gzip:
            body = igzip.compress(body, 1, mtime=0)
            headers += (("Content-Encoding", "gzip"),)
    if response.status in _BODILESS:
        body = b""
    elif response.chunked:
        headers += (("Transfer-Encoding", "chunked"),)
        body = _chunked(body)
    elif not response.header("Content-Length"):
        headers += (("Content-Length", str(len(body))),)
    is_last = response.header("Connection").lower() == "close"
    return EncodedResponse(response.status, _head(response.status, headers), body, is_last)


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


def is_unchanged(response: CannedResponse, request: Request) -> bool:
    """Return True if a conditional request may be answered with 304 (RFC 9110, section 13.2.2)."""
    tag = response.header("ETag")
    asked = request.header("If-None-Match")
    if asked:
        return bool(tag) and (asked == "*" or tag in asked)
    since, changed = request.header("If-Modified-Since"), response.header("Last-Modified")
    if not since or not changed:
        return False
    try:
        return parsedate_to_datetime(since) >= parsedate_to_datetime(changed)
    except (ValueError, TypeError):
        return False


def not_modified(response: CannedResponse) -> CannedResponse:
    """Return the 304 for a response that the client has already."""
    kept = {"etag", "last-modified"}
    headers = tuple(field for field in response.headers if field[0].lower() in kept)
    return CannedResponse(status=304, headers=headers, wait_s=response.wait_s)


class ResponseCache:
    """The most recently used responses, up to a number of bytes."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._encoded: OrderedDict[tuple[str, str, bool], EncodedResponse] = OrderedDict()

    def get(self, key: tuple[str, str, bool]) -> EncodedResponse | None:
        """Return a cached response, or None."""
        encoded = self._encoded.get(key)
        if encoded is not None:
            self._encoded.move_to_end(key)
        return encoded

    def put(self, key: tuple[str, str, bool], encoded: EncodedResponse) -> None:
        """Cache a response, and drop the least recently used ones that no longer fit."""
        self._encoded[key] = encoded
        self._bytes += len(encoded.body)
        while self._bytes > self._max_bytes:
            _, old = self._encoded.popitem(last=False)
            self._bytes -= len(old.body)
