"""FakeServer: serves a fake web on loopback, one port on many addresses, and notes every visit.

A raw asyncio protocol: no framework stands between a fault and the wire.
"""

import asyncio
import contextlib
import socket
import ssl
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Self, TypeVar

from gossamer.clock import Clock, SystemClock
from gossamer.testing.answer import Act, Answer, End, Pause, Request, Web
from gossamer.testing.visits import LogFile, Visit
from gossamer.testing.wire import Wire, WireCache, framed, not_modified, unchanged

W = TypeVar("W", bound=Web)

_HOME = "127.0.0.1"
"""Always listened on too, so that the log shows a crawler that was lured there."""
_EVERYWHERE = "0.0.0.0"  # noqa: S104 - the socket is bound to the loopback device
_DEVICE = b"lo"
_PORT_TRIES = 50
_MAX_HEAD_BYTES = 1 << 20
_RESET = struct.pack("ii", 1, 0)
_BACKLOG = 1024


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How to serve, apart from what."""

    port: int = 0
    """0 takes one from the system."""
    log: Path | None = None
    """Also write visits to this file, at once."""
    tls: ssl.SSLContext | None = None
    """Speak https."""
    cache_bytes: int = 128 << 20
    """Answers that are kept ready, pages of a pure web only."""
    is_warm: bool = False
    """Make the pages ready before listening, so that a benchmark does not wait for them."""
    clock: Clock = field(default_factory=SystemClock)


class FakeServer(Generic[W]):
    """Serves a web in the caller's event loop: `async with FakeServer(web) as server`."""

    def __init__(self, web: W, setting: Setting | None = None) -> None:
        self.web = web
        self.setting = setting or Setting()
        self.port = 0
        self.visits: list[Visit] = []
        """Every request so far, in order of arrival."""
        self._servers: list[asyncio.Server] = []
        self._book = _Book(self.visits, self.setting)
        self._connections: set[_Connection] = set()

    @property
    def resolve(self) -> dict[str, str]:
        """The address of every host, as a crawler's `--resolve` table."""
        return self.web.addresses

    def visits_of(self, host: str, *, with_robots: bool = False) -> list[Visit]:
        """Return the requests to one host, those for robots.txt left out unless asked for."""
        return [
            visit
            for visit in self.visits
            if visit.host == host and (with_robots or visit.target != "/robots.txt")
        ]

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen. From here on `port`, and `web` with that port in its links, are known."""
        loop = asyncio.get_running_loop()
        addresses = self.web.listen_on
        if _EVERYWHERE not in addresses:
            addresses = {_HOME, *addresses}
        sockets = _listen(sorted(addresses), self.setting.port)
        self.port = sockets[0].getsockname()[1]
        scheme = "https" if self.setting.tls else "http"
        self.web = self.web.placed(scheme, self.port)
        desk = _Desk(self.web, WireCache(self.setting.cache_bytes))
        for url in self.web.pages() if self.setting.is_warm else ():
            desk.serve(_parse(_ask(url)))
        for sock in sockets:
            server = await loop.create_server(
                lambda: _Connection(desk, self._book, self._connections),  # type: ignore[arg-type,return-value] # fits asyncio.Protocol by shape
                sock=sock,
                ssl=self.setting.tls,
                backlog=_BACKLOG,
            )
            self._servers.append(server)

    async def stop(self) -> None:
        """Stop listening and cut every connection."""
        for server in self._servers:
            server.close()
        while self._connections:
            lost = [connection.cut() for connection in self._connections]
            await asyncio.wait(lost)
        for server in self._servers:
            await server.wait_closed()
        self._servers.clear()
        self._book.close()


def _listen(addresses: list[str], port: int) -> list[socket.socket]:
    """Return sockets that are bound to one port on all addresses."""
    for _ in range(_PORT_TRIES):
        sockets: list[socket.socket] = []
        try:
            chosen = port
            for address in addresses:
                sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
                sockets.append(sock)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sock.setblocking(False)  # noqa: FBT003 - the standard library takes it so
                if address == _EVERYWHERE:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, _DEVICE)
                sock.bind((address, chosen))
                chosen = sock.getsockname()[1]
        except OSError:
            for sock in sockets:
                sock.close()
            if port:
                raise
        else:
            return sockets
    raise OSError(f"no port is free on all of {len(addresses)} loopback addresses")


class _Book:
    """Notes visits, and counts the open connections of each host."""

    def __init__(self, visits: list[Visit], setting: Setting) -> None:
        self._visits = visits
        self._clock = setting.clock
        self._file = LogFile(setting.log) if setting.log else None
        self._open: Counter[str] = Counter()
        self.next_id = 0

    def new_connection(self) -> int:
        self.next_id += 1
        return self.next_id

    def joined(self, host: str) -> None:
        self._open[host] += 1

    def left(self, hosts: set[str]) -> None:
        self._open.subtract(hosts)

    def note(self, request: Request, status: int, connection_id: int) -> None:
        visit = Visit(
            at=self._clock.wall(),
            host=request.host,
            method=request.method,
            target=request.target,
            status=status,
            user_agent=request.header("user-agent"),
            connection_id=connection_id,
            open_connections_of_host=self._open[request.host],
        )
        if self._file is None:
            self._visits.append(visit)
        else:
            self._file.write(visit)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class _Desk:
    """Finds the answer to a request: from the cache, or from the web."""

    def __init__(self, web: Web, cache: WireCache) -> None:
        self._web = web
        self._cache = cache
        self._asked: Counter[tuple[str, str]] = Counter()

    def serve(self, request: Request) -> Wire | Answer:
        """Return bytes to send at once, or an answer that takes time or misbehaves."""
        takes_gzip = "gzip" in request.header("accept-encoding")
        key = (request.host, request.target, takes_gzip)
        is_conditional = b"\r\nif-" in request.lower
        if not is_conditional and (wire := self._cache.get(key)) is not None:
            return wire
        answer = self._turn(request, self._web.reply(request))
        if is_conditional and unchanged(answer, request):
            answer = not_modified(answer)
        if answer.fault is not None or answer.wait_s > 0:
            return answer
        wire = framed(answer, takes_gzip=takes_gzip)
        if self._web.is_pure and not is_conditional and key[:2] not in self._asked:
            self._cache.put(key, wire)
        return wire

    def _turn(self, request: Request, answer: Answer) -> Answer:
        """Return the answer that is due at this visit."""
        if not answer.before:
            return answer
        key = (request.host, request.target)
        turn = self._asked[key]
        self._asked[key] += 1
        return answer.before[turn] if turn < len(answer.before) else answer


class _Connection:
    """One client, in the shape of asyncio.Protocol. Requests are answered in order, one by one."""

    def __init__(self, desk: _Desk, book: _Book, all_: "set[_Connection]") -> None:
        self._desk = desk
        self._book = book
        self._all = all_
        self._id = book.new_connection()
        self._loop = asyncio.get_running_loop()
        self._hosts: set[str] = set()
        self._buffer = b""
        self._acts: Iterator[Act] | None = None
        self._is_busy = False
        self._is_paused = False
        self._is_last = False
        self._timer: asyncio.Handle | None = None
        self._lost: asyncio.Future[None] = self._loop.create_future()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Remember the way back."""
        self._transport = transport
        self._all.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget everything."""
        del exc
        self._all.discard(self)
        self._book.left(self._hosts)
        if self._timer is not None:
            self._timer.cancel()
        self._acts = None
        if not self._lost.done():
            self._lost.set_result(None)

    def cut(self) -> asyncio.Future[None]:
        """End the connection now; the result is done when it is gone."""
        self._cut()
        return self._lost

    def eof_received(self) -> bool:
        """Close when the client does."""
        return False

    def pause_writing(self) -> None:
        """Stop: the client does not read."""
        self._is_paused = True

    def resume_writing(self) -> None:
        """Go on with a fault."""
        self._is_paused = False
        if self._acts is not None and self._timer is None:
            self._play()

    def data_received(self, data: bytes) -> None:
        """Answer every complete request."""
        self._buffer += data
        self._go_on()

    def _cut(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _go_on(self) -> None:
        while not self._is_busy:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > _MAX_HEAD_BYTES:
                    self._cut()
                return
            head, self._buffer = self._buffer[: end + 2], self._buffer[end + 4 :]
            self._answer(_parse(head))

    def _answer(self, request: Request) -> None:
        if request.host not in self._hosts:
            self._hosts.add(request.host)
            self._book.joined(request.host)
        found = self._desk.serve(request)
        self._book.note(request, found.status, self._id)
        self._is_last = request.wants_close
        if isinstance(found, Wire):
            self._send(found, request.method)
        elif found.fault is not None:
            self._begin(found.fault.acts())
        else:
            self._begin(_late(found, request))

    def _send(self, wire: Wire, method: str) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        transport.write(wire.head if method == "HEAD" else wire.head + wire.body)
        if self._is_last or wire.is_last:
            transport.close()
            self._is_busy = True

    def _begin(self, acts: Iterator[Act]) -> None:
        self._is_busy = True
        self._acts = acts
        self._play()

    def _play(self) -> None:
        """Do the next act, and see to it that the one after is done in its time."""
        self._timer = None
        transport, acts = self._transport, self._acts
        if transport is None or acts is None or self._is_paused or transport.is_closing():
            return
        match next(acts, None):
            case bytes(data):
                transport.write(data)
                self._timer = self._loop.call_soon(self._play)
            case Pause(seconds=seconds):
                self._timer = self._loop.call_later(seconds, self._play)
            case End() as end:
                self._acts = None
                self._finish(end, transport)
            case None:
                self._acts = None
                self._is_busy = False
                if self._is_last:
                    transport.close()
                else:
                    self._go_on()

    def _finish(self, end: End, transport: asyncio.Transport) -> None:
        if end is End.CLOSE:
            transport.close()
        elif end is End.RESET:
            sock = transport.get_extra_info("socket")
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            transport.abort()


def _parse(head: bytes) -> Request:
    line = head[: head.find(b"\r\n")].decode("latin-1").split(" ")
    method, target = (line[0], line[1]) if len(line) > 1 else ("", "/")
    request = Request(method, target, "", head)
    request.host = request.header("host").rpartition(":")[0] or request.header("host")
    return request


def _ask(url: str) -> bytes:
    """Return a request for a URL as a crawler sends it."""
    host, _, target = url.partition("://")[2].partition("/")
    return f"GET /{target} HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: gzip\r\n".encode()


def _late(answer: Answer, request: Request) -> Iterator[Act]:
    """Yield an answer that takes its time."""
    yield Pause(answer.wait_s)
    wire = framed(answer, takes_gzip="gzip" in request.header("accept-encoding"))
    yield wire.head if request.method == "HEAD" else wire.head + wire.body
