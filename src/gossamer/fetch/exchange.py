"""Exchange: what a protocol module is handed instead of sockets. It keeps the crawl's limits.

A module never chooses an address: the host's name was resolved and its address checked before, and
`Exchange.connect` reaches that address only. Bytes and time are counted here, whatever a module
does with what it reads.
"""

import asyncio
import os
import ssl
from collections.abc import Awaitable
from contextlib import suppress
from typing import Protocol, TypeAlias, TypeVar

from msgspec import Struct

from gossamer.config import KIB, FetchConfig
from gossamer.fetch.body import BodyMemory, BodySpool
from gossamer.model import Failed, FailureKind, Url
from gossamer.urls import is_bad_port

MAX_CONNECTIONS = 8
"""Of one exchange, one after another or at once."""
MAX_LINE_BYTES = 64 * KIB
OVERHEAD_BYTES = 64 * KIB
"""What a protocol may say besides the body."""
_PIECE_BYTES = 64 * KIB
_MAX_PORT = 65_535

T = TypeVar("T")


class Content(Protocol):
    """The bytes of a body as they came: in memory, or in a temporary file if they are many."""

    size: int

    def in_memory(self) -> bytes:
        """Return the bytes, as long as they are few; b"" once they lie in a file."""


class Resource(Struct, frozen=True):
    """What a protocol module found under a URL."""

    content: bytes | Content
    """The bytes as sent: yours, or what `Wire.rest` returned."""
    media_type: str
    """Such as text/plain: decides which processors read it."""
    charset: str = ""


class Moved(Struct, frozen=True):
    """A URL is found under another one: what a protocol module returns for a redirect."""

    target: str
    """Absolute, or relative to the URL that was asked for."""


ModuleAnswer: TypeAlias = Resource | Moved | Failed
"""What a protocol module returns."""


class ExchangeOver(Exception):
    """A limit, or the end of the connection, ended the exchange."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.detail)
        self.failed = failed


class Wire(Protocol):
    """A connection of an exchange. Reading ends at the limits of the crawl, as if it were over.

    What breaks raises, and so does what takes too long. Let it pass: it is recorded as it is.
    """

    async def send(self, data: bytes) -> None:
        """Send bytes."""

    async def line(self, max_bytes: int = MAX_LINE_BYTES) -> bytes:
        """Return the next line with its end, cut after `max_bytes`; b"" if nothing is left."""

    async def read(self, max_bytes: int) -> bytes:
        """Return what has come, at most so many bytes; b"" if nothing is left."""

    async def rest(self) -> Content:
        """Return all that comes until the other side ends the connection: the body.

        It is cut off at `Exchange.max_body_bytes`.
        """

    def close(self) -> None:
        """End the connection; the end of the exchange does it, too."""


class Exchange(Protocol):
    """One request of a protocol module: what is asked for, and connections to ask over."""

    url: Url
    """What is asked for; its `target` is path and query."""
    address: str
    """Of its host, resolved and allowed."""
    port: int
    """That the URL names, or the module's own."""
    max_body_bytes: int
    """More is cut off."""

    async def connect(self, port: int = 0, tls: ssl.SSLContext | None = None) -> Wire:
        """Return a connection to the address of the URL's host, at its port or at another one.

        With `tls` it is encrypted; the certificate is checked, if the context says so, for the
        host's name.
        """


class MeteredExchange:
    """An `Exchange` that keeps the crawl's limits."""

    def __init__(self, url: Url, address: str, port: int, meter: "ExchangeMeter") -> None:
        self.url = url
        self.address = address
        self.port = port
        self.max_body_bytes = meter.max_body_bytes
        self._meter = meter

    async def connect(self, port: int = 0, tls: ssl.SSLContext | None = None) -> Wire:
        """Return a connection to the address that was checked."""
        port = port or self.port
        if not 0 < port <= _MAX_PORT or (port != self.port and is_bad_port(port)):
            raise _over(FailureKind.CONNECT_FAILED, f"port {port} is not one to ask")
        name = self.url.host.strip("[]") if tls is not None else None
        reader, writer = await self._meter.connect(self.address, port, tls, name)
        return MeteredWire(self._meter, reader, writer)


class ExchangeMeter:
    """Keeps the limits of one exchange, over all its connections, and ends it."""

    def __init__(
        self, config: FetchConfig, max_body_bytes: int, memory: BodyMemory | None = None
    ) -> None:
        self.max_body_bytes = max_body_bytes
        self._config = config
        self._memory = memory
        self._writers: list[asyncio.StreamWriter] = []
        self._received = 0
        self._failed: Failed | None = None
        self._is_full = self._is_closed = False
        self._over: asyncio.Future[object] = asyncio.get_running_loop().create_future()

    async def connect(
        self, address: str, port: int, tls: ssl.SSLContext | None, name: str | None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a connection. That it fails does not end the exchange: there may be other ports."""
        if len(self._writers) >= MAX_CONNECTIONS:
            raise _over(FailureKind.CONNECT_FAILED, f"more than {MAX_CONNECTIONS} connections")
        reader, writer = await self._within(
            asyncio.open_connection(
                address, port, ssl=tls, server_hostname=name, limit=_PIECE_BYTES
            ),
            self._config.connect_s,
            FailureKind.CONNECT_TIMEOUT,
            FailureKind.CONNECT_FAILED,
        )
        self._writers.append(writer)
        return reader, writer

    async def send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        """Send bytes over a connection."""
        writer.write(data)
        await self._exchanged(writer.drain(), self._config.stall_s, FailureKind.STALLED)

    async def piece(self, reader: asyncio.StreamReader) -> bytes:
        """Return what comes next over a connection; b"" at its end, or when all bytes are used."""
        if self._is_full:
            return b""
        is_first = not self._received
        limit_s = self._config.first_byte_s if is_first else self._config.stall_s
        late = FailureKind.FIRST_BYTE_TIMEOUT if is_first else FailureKind.STALLED
        piece = await self._exchanged(reader.read(_PIECE_BYTES), limit_s, late)
        room = self.max_body_bytes + OVERHEAD_BYTES - self._received
        self._received += len(piece)
        if len(piece) > room:
            self._is_full = True
        return piece[: max(0, room)]

    def spool(self) -> BodySpool:
        """Return what takes the bytes of a body."""
        return BodySpool(self._config.spool_bytes, self._memory)

    def set_full(self) -> None:
        """Take note that more came than a body may have: the rest is not read."""
        self._is_full = True

    @property
    def received_bytes(self) -> int:
        """Return how many bytes have come over all connections."""
        return self._received

    @property
    def is_full(self) -> bool:
        """Return True if more came than was allowed."""
        return self._is_full

    @property
    def failed(self) -> Failed | None:
        """Return what ended the exchange, if something did."""
        return self._failed

    @property
    def over(self) -> "asyncio.Future[object]":
        """Return what is done when somebody has cut the exchange."""
        return self._over

    def cut(self, detail: str) -> bool:
        """Break the exchange off, in words; return False if it is over."""
        if self._over.done():
            return False
        late = FailureKind.STALLED if self._received else FailureKind.FIRST_BYTE_TIMEOUT
        self._failed = self._failed or Failed(kind=late, detail=detail)
        self._over.set_result(None)
        return True

    def close(self) -> None:
        """Close all connections; nothing can be asked any more."""
        for writer in self._writers:
            _abort(writer)
        self._is_closed = True
        self._failed = self._failed or Failed(kind=FailureKind.TOTAL_TIMEOUT)
        if not self._over.done():
            self._over.cancel()

    async def _exchanged(self, doing: Awaitable[T], limit_s: float, late: FailureKind) -> T:
        """Wait for something over a connection; what goes wrong ends the exchange."""
        try:
            return await self._within(doing, limit_s, late, FailureKind.DISCONNECTED)
        except ExchangeOver as over:
            self._failed = self._failed or over.failed
            raise

    async def _within(
        self, doing: Awaitable[T], limit_s: float, late: FailureKind, broken: FailureKind
    ) -> T:
        """Wait for something on the network, so long at most."""
        if self._failed is not None:
            if asyncio.iscoroutine(doing):
                doing.close()
            if self._is_closed:  # no `except Exception` is to go on for ever
                raise asyncio.CancelledError
            raise ExchangeOver(self._failed)
        try:
            async with asyncio.timeout(limit_s):
                return await doing
        except TimeoutError:
            raise _over(late, f"after {limit_s:g} s") from None
        except ssl.SSLError as problem:
            is_certificate = isinstance(problem, ssl.SSLCertVerificationError)
            kind = FailureKind.TLS_CERTIFICATE if is_certificate else FailureKind.TLS_FAILED
            raise _over(kind, str(problem)) from None
        except OSError as problem:
            words = os.strerror(problem.errno) if problem.errno else str(problem)
            raise _over(broken, words) from None


def _abort(writer: asyncio.StreamWriter) -> None:
    with suppress(RuntimeError):  # the loop may be closed by now
        writer.transport.abort()


def _over(kind: FailureKind, detail: str) -> ExchangeOver:
    return ExchangeOver(Failed(kind=kind, detail=detail))


class MeteredWire:
    """A `Wire` that keeps the crawl's limits."""

    def __init__(
        self, meter: ExchangeMeter, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._meter = meter
        self._reader = reader
        self._writer = writer
        self._ahead = b""

    async def send(self, data: bytes) -> None:
        """Send bytes."""
        await self._meter.send(self._writer, data)

    async def line(self, max_bytes: int = MAX_LINE_BYTES) -> bytes:
        """Return the next line with its end, or so much of it."""
        while b"\n" not in self._ahead and len(self._ahead) < max_bytes:
            if not (piece := await self._meter.piece(self._reader)):
                break
            self._ahead += piece
        end = self._ahead.find(b"\n", 0, max_bytes)
        return self._taken(max_bytes if end < 0 else end + 1)

    async def read(self, max_bytes: int) -> bytes:
        """Return what has come, at most so many bytes."""
        if not self._ahead:
            self._ahead = await self._meter.piece(self._reader)
        return self._taken(max_bytes)

    async def rest(self) -> BodySpool:
        """Return all that comes until the other side ends the connection."""
        spool, most = self._meter.spool(), self._meter.max_body_bytes
        while piece := await self.read(_PIECE_BYTES):
            room = most - spool.size
            if len(piece) > room:
                self._meter.set_full()
                spool.add(piece[:room])
                break
            spool.add(piece)
        return spool

    def close(self) -> None:
        """End the connection."""
        _abort(self._writer)

    def _taken(self, size: int) -> bytes:
        taken, self._ahead = self._ahead[:size], self._ahead[size:]
        return taken
