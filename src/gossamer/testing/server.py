"""Serving a web on loopback: one port on many addresses, with a log of every request.

`FakeServer` serves in the caller's event loop, `serve_in_thread` from a thread, and
`serve_in_process` from a process of its own; `make_certificate` is for https. It is a raw asyncio
protocol: no framework stands between a fault and the wire.
"""

import asyncio
import contextlib
import json
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from gossamer.clock import Clock, SystemClock
from gossamer.errors import CannotGoOn
from gossamer.linux import stay_on_device
from gossamer.testing.fakeweb import FakeWeb
from gossamer.testing.request_log import LoggedRequest, RequestLogFile, read_log
from gossamer.testing.responses import (
    CannedResponse,
    ConnectionEnd,
    EncodedResponse,
    FaultStep,
    Pause,
    Request,
    ResponseCache,
    Web,
    encode,
    is_unchanged,
    not_modified,
)

W = TypeVar("W", bound=Web)

_HOME = "127.0.0.1"
"""Always listened on too, so that the log shows a crawler that was lured there."""
_EVERYWHERE = "0.0.0.0"  # noqa: S104 - the socket is bound to the loopback device
_DEVICE = b"lo"
_PORT_TRIES = 50
_MAX_HEAD_BYTES = 1 << 20
_RESET = struct.pack("ii", 1, 0)
_BACKLOG = 1024
_STOP_S = 10.0


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """How a web is served."""

    port: int = 0
    """0 means any free port."""
    log: Path | None = None
    """Log requests to this file, each at once, instead of to `FakeServer.requests`."""
    tls: ssl.SSLContext | None = None
    """Speak https."""
    cache_bytes: int = 128 << 20
    """Size of the response cache; only a pure web is cached."""
    is_warm: bool = False
    """Render the pages before listening, so that a benchmark does not wait for them."""
    clock: Clock = field(default_factory=SystemClock)


class FakeServer(Generic[W]):
    """Serves a web in the caller's event loop: `async with FakeServer(web) as server`."""

    def __init__(self, web: W, options: ServerOptions | None = None) -> None:
        self.web = web
        self.options = options or ServerOptions()
        self.port = 0
        self.requests: list[LoggedRequest] = []
        """Every request so far, in order of arrival."""
        self._servers: list[asyncio.Server] = []
        self._recorder = _RequestRecorder(self.requests, self.options)
        self._connections: set[_Connection] = set()

    @property
    def resolve(self) -> dict[str, str]:
        """The address of every host, as a crawler's `--resolve` table."""
        return self.web.addresses

    def requests_to(self, host: str, *, with_robots: bool = False) -> list[LoggedRequest]:
        """Return the requests to one host, those for robots.txt left out unless asked for."""
        return [
            logged
            for logged in self.requests
            if logged.host == host and (with_robots or logged.target != "/robots.txt")
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
        sockets = _listen(sorted(addresses), self.options.port)
        self.port = sockets[0].getsockname()[1]
        scheme = "https" if self.options.tls else "http"
        self.web = self.web.served_at(scheme, self.port)
        responder = _Responder(self.web, ResponseCache(self.options.cache_bytes))
        for url in self.web.pages() if self.options.is_warm else ():
            responder.serve(_parse(_ask(url)))
        for sock in sockets:
            server = await loop.create_server(
                lambda: _Connection(responder, self._recorder, self._connections),  # type: ignore[arg-type,return-value] # fits asyncio.Protocol by shape
                sock=sock,
                ssl=self.options.tls,
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
        self._recorder.close()


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
                    stay_on_device(sock, _DEVICE)
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


class _RequestRecorder:
    """Logs requests, and counts the open connections of each host."""

    def __init__(self, requests: list[LoggedRequest], options: ServerOptions) -> None:
        self._requests = requests
        self._clock = options.clock
        self._file = RequestLogFile(options.log) if options.log else None
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
        logged = LoggedRequest(
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
            self._requests.append(logged)
        else:
            self._file.write(logged)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class _Responder:
    """Finds the response to a request: from the cache, or from the web."""

    def __init__(self, web: Web, cache: ResponseCache) -> None:
        self._web = web
        self._cache = cache
        self._asked: Counter[tuple[str, str]] = Counter()

    def serve(self, request: Request) -> EncodedResponse | CannedResponse:
        """Return bytes to send at once, or a response that takes time or misbehaves."""
        takes_gzip = "gzip" in request.header("accept-encoding")
        key = (request.host, request.target, takes_gzip)
        is_conditional = b"\r\nif-" in request.lower
        if not is_conditional and (encoded := self._cache.get(key)) is not None:
            return encoded
        response = self._due(request, self._web.respond(request))
        if is_conditional and is_unchanged(response, request):
            response = not_modified(response)
        if response.fault is not None or response.wait_s > 0:
            return response
        encoded = encode(response, takes_gzip=takes_gzip)
        if self._web.is_pure and not is_conditional and key[:2] not in self._asked:
            self._cache.put(key, encoded)
        return encoded

    def _due(self, request: Request, response: CannedResponse) -> CannedResponse:
        """Return the response that is due at this request."""
        if not response.before:
            return response
        key = (request.host, request.target)
        turn = self._asked[key]
        self._asked[key] += 1
        return response.before[turn] if turn < len(response.before) else response


class _Connection:
    """One client, in the shape of asyncio.Protocol. Requests are answered in order, one by one."""

    def __init__(
        self, responder: _Responder, recorder: _RequestRecorder, all_: "set[_Connection]"
    ) -> None:
        self._responder = responder
        self._recorder = recorder
        self._all = all_
        self._id = recorder.new_connection()
        self._loop = asyncio.get_running_loop()
        self._hosts: set[str] = set()
        self._buffer = b""
        self._steps: Iterator[FaultStep] | None = None
        self._is_busy = False
        self._is_paused = False
        self._is_last = False
        self._timer: asyncio.Handle | None = None
        self._lost: asyncio.Future[None] = self._loop.create_future()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Start with a client."""
        self._transport = transport
        self._all.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up."""
        del exc
        self._all.discard(self)
        self._recorder.left(self._hosts)
        if self._timer is not None:
            self._timer.cancel()
        self._steps = None
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
        """Pause: the client does not read."""
        self._is_paused = True

    def resume_writing(self) -> None:
        """Go on with a fault."""
        self._is_paused = False
        if self._steps is not None and self._timer is None:
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
            self._respond(_parse(head))

    def _respond(self, request: Request) -> None:
        if request.host not in self._hosts:
            self._hosts.add(request.host)
            self._recorder.joined(request.host)
        found = self._responder.serve(request)
        self._recorder.note(request, found.status, self._id)
        self._is_last = request.wants_close
        if isinstance(found, EncodedResponse):
            self._send(found, request.method)
        elif found.fault is not None:
            self._begin(found.fault.steps())
        else:
            self._begin(_late(found, request))

    def _send(self, encoded: EncodedResponse, method: str) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        transport.write(encoded.head if method == "HEAD" else encoded.head + encoded.body)
        if self._is_last or encoded.is_last:
            transport.close()
            self._is_busy = True

    def _begin(self, steps: Iterator[FaultStep]) -> None:
        self._is_busy = True
        self._steps = steps
        self._play()

    def _play(self) -> None:
        """Do the next step, and schedule the one after it."""
        self._timer = None
        transport, steps = self._transport, self._steps
        if transport is None or steps is None or self._is_paused or transport.is_closing():
            return
        match next(steps, None):
            case bytes(data):
                transport.write(data)
                self._timer = self._loop.call_soon(self._play)
            case Pause(seconds=seconds):
                self._timer = self._loop.call_later(seconds, self._play)
            case ConnectionEnd() as end:
                self._steps = None
                self._finish(end, transport)
            case None:
                self._steps = None
                self._is_busy = False
                if self._is_last:
                    transport.close()
                else:
                    self._go_on()

    def _finish(self, end: ConnectionEnd, transport: asyncio.Transport) -> None:
        if end is ConnectionEnd.CLOSE:
            transport.close()
        elif end is ConnectionEnd.RESET:
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


def _late(response: CannedResponse, request: Request) -> Iterator[FaultStep]:
    """Yield a response after its delay."""
    yield Pause(response.wait_s)
    encoded = encode(response, takes_gzip="gzip" in request.header("accept-encoding"))
    yield encoded.head if request.method == "HEAD" else encoded.head + encoded.body


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A fake web in a process of its own. It ends with `stop`, or when this process ends."""

    process: subprocess.Popen[bytes]
    web: FakeWeb
    """The web as it is served: with its port."""
    log: Path

    @property
    def port(self) -> int:
        """The port on all its addresses."""
        return self.web.port

    @property
    def resolve(self) -> dict[str, str]:
        """The address of every host, as a crawler's `--resolve` table."""
        return self.web.addresses

    def requests(self) -> list[LoggedRequest]:
        """Return the requests so far."""
        return read_log(self.log)

    def stop(self) -> None:
        """End the process and wait for it."""
        stop_attached(self.process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start_attached(
    command: list[str], cwd: Path | None = None
) -> tuple[subprocess.Popen[bytes], dict[str, Any]]:
    """Start a server that stops when its standard input closes; return its first line, as JSON."""
    process = subprocess.Popen(  # noqa: S603 - our own module, arguments made here
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=cwd,
    )
    line = process.stdout.readline() if process.stdout else b""
    if not line:
        process.wait(_STOP_S)
        raise CannotGoOn(f"{command[2]} did not start: it exited with code {process.returncode}")
    return process, json.loads(line)


def stop_attached(process: subprocess.Popen[bytes]) -> None:
    """Stop such a server and wait for it."""
    if process.stdin is not None:
        process.stdin.close()
    process.wait(_STOP_S)
    if process.stdout is not None:
        process.stdout.close()


def serve_in_process(
    web: FakeWeb, log: Path, *, port: int = 0, is_warm: bool = False
) -> ServerProcess:
    """Start a fake web in a process of its own and return when it listens.

    The log is tab-separated, appended to, and each line is written before its response is sent.
    With `is_warm` the pages are rendered beforehand, as far as the cache holds them.
    """
    description = json.dumps({**asdict(web), "port": port})
    command = [sys.executable, "-m", "gossamer.testing", "--web", description, "--log", str(log)]
    command += ["--attached", *(["--warm"] if is_warm else [])]
    process, hello = start_attached(command)
    return ServerProcess(process, web.served_at("http", hello["port"]), log)


@contextlib.contextmanager
def serve_in_thread(web: W, options: ServerOptions | None = None) -> Iterator[FakeServer[W]]:
    """Serve any web, scripted ones too, from a thread: for tests that run a command and wait."""
    server = FakeServer(web, options)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="fakeweb", daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result()
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@dataclass(frozen=True, slots=True)
class Certificate:
    """A self-signed certificate for some hosts; a client trusts it by naming `file` as its CA."""

    file: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """Return what a server needs to speak https."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.file, self.key)
        return context


def make_certificate(folder: Path, hosts: list[str], days: int = 2) -> Certificate | None:
    """Make a certificate with the `openssl` command; None where there is none."""
    command = shutil.which("openssl")
    if command is None:
        return None
    made = Certificate(folder / "fakeweb.pem", folder / "fakeweb.key")
    names = ",".join(f"DNS:{host}" for host in hosts)
    subprocess.run(  # noqa: S603 - the command is looked up, its arguments are made here
        [
            *(command, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-keyout", str(made.key), "-out", str(made.file), "-days", str(days)),
            *("-subj", "/CN=fakeweb", "-addext", f"subjectAltName={names}"),
        ],
        check=True,
        capture_output=True,
    )
    return made
