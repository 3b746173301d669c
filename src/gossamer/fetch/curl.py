"""CurlLoop: libcurl's many transfers on the running event loop. CurlHandle: one reusable handle.

libcurl's sockets sit in a set of their own (epoll's), whose descriptor the loop watches: one
wake-up serves every socket that is ready, and Python is called once per wake-up instead of once per
socket. Callbacks that libcurl makes must not raise: it would report error 11 without a word.
"""

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, TypeAlias
from zlib import crc32

import pycurl
from msgspec import Struct

from gossamer.clock import Clock
from gossamer.config import FetchConfig
from gossamer.fetch.body import BodyMemory, BodySpool
from gossamer.fetch.decoding import NEVER, Dechunker
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.headers import split_answer
from gossamer.linux import BROKEN, READABLE, WRITABLE, received_bytes, socket_set
from gossamer.machine import open_files

Foreign: TypeAlias = Any
"""What comes from pycurl, or goes to it: it has no types."""

LocalEnd: TypeAlias = tuple[str, int]
"""Our address and port of a connection."""

SHARES = 64
"""1,600 hosts. A session takes about 2 kB, two are kept of a host; a hostile server can make one
64 kB long, so that the worst case is 200 MB."""
OTHER_DESCRIPTORS = 128
"""Kept for the state, the archive, other processes and whatever is open for a moment."""
FEWEST_OTHERS = 44
"""The same where there are few: a state of few files, and nothing else beside the crawl."""
MAX_CONNECTIONS = 4096
MAX_KEPT = 2048
"""Connections kept for a next request, busy ones included: at 1,000 pages a second and a gap of a
second each host finds its own again. libcurl looks through all of them for the one to close: when
4,096 are kept, a new connection costs twice as much as when there is room."""
_SWEEP_S = 1.0
_SLOW_BYTES_PER_S = 50
_EARLY_S = 0.001
_DRAIN_BYTES = 65_536
_CHUNKED_BYTES = 2**20
"""So far we look for a last chunk that libcurl does not; it takes time if the chunks are small."""


def connection_room() -> int:
    """Return how many connections may be open with the descriptors that this process may have."""
    return room_in(open_files())


def room_in(descriptors: int) -> int:
    """Return for how many connections there is room: each takes two, libcurl's and our own."""
    others = min(OTHER_DESCRIPTORS, max(FEWEST_OTHERS, descriptors * 3 // 4))
    return min(MAX_CONNECTIONS, max(2, (descriptors - others) // 2))


class TransferEnd(Struct, frozen=True):
    """How a transfer ended: libcurl's error (0 is success) and words, or our own reason."""

    code: int
    message: str = ""
    overdue: str = ""
    """ "first_byte" or "stalled" when we broke it off."""


class CurlHandle:
    """A libcurl handle with what it is receiving. Used for one transfer after the other.

    The options that are equal for all transfers are set once: setting one costs a microsecond.
    """

    __slots__ = (
        *("_chunks", "_config", "_ended", "_guard", "_is_sent", "_max_body_bytes", "_memory"),
        *(
            "_slow_at",
            "_slow_bytes",
            "_socket",
            "began_at",
            "connect_to",
            "curl",
            "excess_bytes",
            "has_own_headers",
        ),
        *("is_full", "is_head", "is_insecure", "is_new", "is_repeat", "is_whole"),
        *("lines", "on_sending", "problem", "refusal"),
        *("share", "spool"),
    )

    def __init__(
        self,
        config: FetchConfig,
        guard: AddressGuard,
        options: dict[int, Foreign],
        memory: BodyMemory | None = None,
        ended: set[LocalEnd] | None = None,
    ) -> None:
        """Make a handle; if `ended` connections are given, no transfer is more than one request.

        libcurl by itself sends a request again, over a new connection, if one that it had kept
        breaks before the answer: two requests to a server within milliseconds. It may do so if we
        have ended the connection, because over that one nothing went out.
        """
        self._config = config
        self._guard = guard
        self._memory = memory
        self._ended = ended
        self.lines: list[bytes] = []
        self.connect_to = ""
        self.has_own_headers = False
        self.is_insecure = config.insecure
        self.is_head = False
        self.share: Foreign = None
        self._socket: socket.socket | None = None
        self.begin(0, 0.0)
        curl = self.curl = pycurl.Curl()
        for option, value in options.items():
            curl.setopt(option, value)
        # libcurl itself ends a header block of more than 300 KB, so that this needs no cap.
        curl.setopt(pycurl.HEADERFUNCTION, self.lines.append)
        curl.setopt(pycurl.WRITEFUNCTION, self._take)
        curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open_socket)
        if ended is not None:
            curl.setopt(pycurl.PREREQFUNCTION, self._note_request)

    def begin(self, max_body_bytes: int, now: float) -> None:
        """Make ready for a transfer."""
        self.lines.clear()
        self.spool = BodySpool(self._config.spool_bytes, self._memory)
        self._max_body_bytes = max_body_bytes
        self.began_at = self._slow_at = now
        self._slow_bytes = -1
        self.excess_bytes = 0
        """Bytes beyond head and body that came over a connection that was new."""
        self._chunks: Dechunker | None = None
        """Looks for the end of an answer that libcurl does not know."""
        self.is_whole = False
        """That end has come."""
        self.is_full = self._is_sent = False
        self.is_new = False
        """The connection was opened for this transfer."""
        self.is_repeat = False
        """libcurl wanted to send the request again, and was kept from it."""
        self.refusal = self.problem = ""
        self.on_sending: Callable[[], bool] | None = None
        """Called when the request goes out."""

    def overdue(self, now: float) -> str:
        """Return why a transfer should be broken off ("first_byte" or "stalled"), or "".

        A transfer stalls when it stays below 50 bytes a second for the configured time.
        """
        if not self.lines:
            return "first_byte" if now - self.began_at > self._config.first_byte_s else ""
        received = self.spool.size + len(self.lines)
        is_new = self._slow_bytes < 0
        if is_new or received - self._slow_bytes >= _SLOW_BYTES_PER_S * (now - self._slow_at):
            self._slow_at, self._slow_bytes = now, received
            return ""
        return "stalled" if now - self._slow_at > self._config.stall_s else ""

    def end(self) -> None:
        """Count what came beyond head and body, and close our descriptor; libcurl has its own.

        At once: an open one of ours would keep a connection alive that libcurl has closed.
        """
        if self._socket is None:
            return
        received = received_bytes(self._socket)
        # The kernel counts the end of the stream as one more byte.
        self.excess_bytes = max(0, received - 1 - sum(map(len, self.lines)) - self.spool.size)
        self._close_socket()

    def owns(self, fd: int) -> bool:
        """Return True if a descriptor is ours, not libcurl's."""
        return self._socket is not None and self._socket.fileno() == fd

    def _close_socket(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def close(self) -> None:
        """Free the handle."""
        self._close_socket()
        self.curl.close()

    def _take(self, piece: bytes) -> int | None:
        if not self.spool.size and _has_other_codings(self.lines):
            self._chunks = Dechunker(compiled_from=NEVER)
        room = self._max_body_bytes - self.spool.size
        try:
            if len(piece) > room:
                self.is_full = True
                self.spool.add(piece[:room])
                return -1
            self.spool.add(piece)
        except OSError as problem:
            self.problem = str(problem)
            return -1
        if self._chunks is not None and self.spool.size <= _CHUNKED_BYTES:
            self._chunks.feed(piece)
            self.is_whole = self._chunks.is_done
        if self.is_whole:
            return -1
        return None if len(self.lines) > 1 else self._take_headless()

    def _take_headless(self) -> int | None:
        """Go on with a body that has no head only if the head may be in it.

        An answer behind a blank line looks so to libcurl, and so does whatever is not HTTP/1.
        """
        answer = split_answer(self.spool.in_memory())
        return None if answer is not None and not answer.is_whole else -1

    def _note_request(self, _peer: str, local: str, _peer_port: int, local_port: int) -> int:
        """Let the first request of a transfer go; libcurl asks before each."""
        allowed: int = pycurl.PREREQFUNC_OK
        refused: int = pycurl.PREREQFUNC_ABORT
        if self._is_sent:
            self.is_repeat = True
            return refused
        if self.on_sending is not None and not self.on_sending():
            return refused
        line, ended = (local, local_port), self._ended
        was_ended = ended is not None and line in ended
        if ended is not None and was_ended:
            ended.discard(line)
        self._is_sent = self.is_new or not was_ended
        return allowed

    def _open_socket(self, _purpose: int, peer: Foreign) -> Foreign:
        """Open the socket for a connection, unless its real address may not be contacted.

        Behind a proxy that is the proxy's own, which the operator has named.
        """
        if self._is_sent:
            self.is_repeat = True
            return pycurl.SOCKET_BAD
        self.is_new = True
        try:
            host = peer.addr[0]
            address = host.decode() if isinstance(host, bytes) else host
            if not self._config.proxy:
                self.refusal = self._guard.objection(address) or ""
            if self.refusal:
                return pycurl.SOCKET_BAD
            self._close_socket()
            self._socket = socket.socket(peer.family, peer.socktype, peer.protocol)
        except (OSError, ValueError, TypeError, IndexError, AttributeError) as problem:
            self.problem = f"no socket: {problem}"
            return pycurl.SOCKET_BAD
        return self._socket


class OtherTransfer(Protocol):
    """A transfer that is not libcurl's."""

    @property
    def received_bytes(self) -> int:
        """Return how many bytes have come."""

    def cut(self, detail: str) -> bool:
        """Break it off, in words; return False if it is over."""


class TransferWatch:
    """Looks at one transfer while it is under way, and can cut it. For whoever asked for it."""

    __slots__ = ("_handle", "_other", "_runner", "host", "is_over")

    def __init__(self) -> None:
        self._handle: CurlHandle | None = None
        self._runner: CurlLoop | None = None
        self._other: OtherTransfer | None = None
        self.host = ""
        """That is asked."""
        self.is_over = False

    def follow(self, runner: "CurlLoop", handle: CurlHandle, host: str) -> None:
        """Look at a handle's transfer from now on."""
        self._runner, self._handle, self.host = runner, handle, host

    def follow_exchange(self, transfer: OtherTransfer, host: str) -> None:
        """Look at a transfer that is not libcurl's."""
        self._other, self.host = transfer, host

    def leave(self) -> None:
        """Let go of a transfer that is over."""
        self._runner = self._handle = self._other = None
        self.is_over = True

    @property
    def is_under_way(self) -> bool:
        """Return True if there is a transfer that has not ended."""
        return self._handle is not None or self._other is not None

    @property
    def received_bytes(self) -> int:
        """Return how many bytes of head and body have come."""
        handle = self._handle
        if self._other is not None:
            return self._other.received_bytes
        return 0 if handle is None else sum(map(len, handle.lines)) + handle.spool.size

    def cut(self, detail: str) -> bool:
        """Break the transfer off, in words; return False if there is none."""
        if self._other is not None:
            return self._other.cut(detail)
        if self._runner is None or self._handle is None:
            return False
        return self._runner.cut(self._handle, detail)


class CurlLoop:
    """Runs transfers. Belongs to the event loop that first used it.

    `ends_idle` is for protocols in which a server speaks only when asked, as in HTTP/1: bytes that
    come over an idle connection then end it.
    """

    def __init__(self, clock: Clock, *, ends_idle: bool) -> None:
        self._clock = clock
        self._live: dict[Foreign, tuple[CurlHandle, asyncio.Future[TransferEnd]]] = {}
        self._sockets = socket_set()
        self._ends_idle = ends_idle and self._sockets.forgets_closed
        self._keeps_none = ends_idle and not self._ends_idle
        """Connections cannot be watched while they are idle, so none is used again."""
        self._multi = pycurl.CurlMulti()
        room = connection_room()
        self._multi.setopt(pycurl.M_MAXCONNECTS, min(MAX_KEPT, room))
        self._multi.setopt(pycurl.M_MAX_TOTAL_CONNECTIONS, room)
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._due: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._armed_for = 0.0
        self._watched: dict[int, int] = {}
        """The events that each connection with a transfer is in the set for."""
        self._is_kicked = False
        self._sweeper: asyncio.TimerHandle | None = None
        self.ended: set[LocalEnd] = set()
        """Kept connections that we have ended and libcurl may not know of."""

    def start(self, handle: CurlHandle) -> asyncio.Future[TransferEnd]:
        """Start a handle's transfer, and return its end; whoever waits for it calls `leave`."""
        loop = self._loop or self._attach()
        future: asyncio.Future[TransferEnd] = loop.create_future()
        self._live[handle.curl] = (handle, future)
        if self._keeps_none:
            handle.curl.setopt(pycurl.FORBID_REUSE, 1)
        self._multi.add_handle(handle.curl)
        if self._sweeper is None:
            self._sweeper = loop.call_later(_SWEEP_S, self._sweep)
        return future

    def leave(self, handle: CurlHandle) -> None:
        """Break a handle's transfer off, if it has not ended."""
        self._remove(handle.curl)

    def cut(self, handle: CurlHandle, detail: str) -> bool:
        """Break a handle's transfer off as overdue; return False if it had ended."""
        if handle.curl not in self._live:
            return False
        overdue = "stalled" if handle.lines else "first_byte"
        self._finish(handle.curl, TransferEnd(pycurl.E_OPERATION_TIMEDOUT, detail, overdue=overdue))
        return True

    def close(self) -> None:
        """Break off what is under way and close every connection."""
        for curl in list(self._live):
            self._finish(curl, TransferEnd(pycurl.E_ABORTED_BY_CALLBACK, "closed"))
        for timer in (self._timer, self._sweeper):
            if timer is not None:
                timer.cancel()
        self._loop = self._timer = self._sweeper = None
        self._multi.close()
        self._sockets.close()

    def _attach(self) -> asyncio.AbstractEventLoop:
        loop = self._loop = asyncio.get_running_loop()
        self._sockets.attach(loop, self._ready)
        return loop

    def _ready(self) -> None:
        act = self._multi.socket_action
        for fd, events in self._sockets.ready():
            if fd not in self._watched:
                self._end_idle(fd)
                continue
            act(fd, _SELECTED if events == READABLE else _action(events))
        self._collect()

    def _collect(self) -> None:
        while True:
            queued, done, failed = self._multi.info_read(256)
            for curl in done:
                self._finish(curl, _SUCCESS)
            for curl, code, message in failed:
                self._finish(curl, TransferEnd(code, message))
            if not queued:
                return

    def _finish(self, curl: Foreign, ended: TransferEnd) -> None:
        future = self._remove(curl)
        if future is not None and not future.done():
            future.set_result(ended)

    def _remove(self, curl: Foreign) -> asyncio.Future[TransferEnd] | None:
        entry = self._live.pop(curl, None)
        if entry is None:
            return None
        self._multi.remove_handle(curl)
        entry[0].end()
        return entry[1]

    def _sweep(self) -> None:
        self._sweeper = None
        now = self._clock.steady()
        late = [(curl, handle.overdue(now)) for curl, (handle, _) in self._live.items()]
        for curl, reason in late:
            if reason:
                self._finish(curl, TransferEnd(pycurl.E_OPERATION_TIMEDOUT, overdue=reason))
        if self._live and self._loop is not None:
            self._sweeper = self._loop.call_later(_SWEEP_S, self._sweep)

    def _watch(self, what: int, fd: int, _multi: object, _data: object) -> None:
        """Keep the set as libcurl wants it; idle connections stay in it, for _end_idle."""
        if what == pycurl.POLL_REMOVE:
            events = self._watched.pop(fd, 0)
            if not self._ends_idle:
                self._sockets.remove(fd)
            elif events != READABLE:
                self._sockets.change(fd, READABLE)
            return
        events = (READABLE if what & pycurl.POLL_IN else 0) | (
            WRITABLE if what & pycurl.POLL_OUT else 0
        )
        # Even if the number was in the set before: it may be another connection's by now.
        self._watched[fd] = events
        if not self._sockets.change(fd, events):
            # A child that inherits it would keep the connection, and its place in the set,
            # alive when libcurl has closed it: pycurl's copy of our descriptor is inheritable.
            os.set_inheritable(fd, False)  # noqa: FBT003 - the standard library takes it so
            self._sockets.add(fd, events)

    def _end_idle(self, fd: int) -> None:
        """End a connection that became readable with nothing asked: it is closed, or it lies.

        libcurl looks for such bytes only when a connection was idle for a second; before that it
        would take them for the next answer. Emptied and shut down, the connection is useless to it.
        """
        self._sockets.remove(fd)
        if any(handle.owns(fd) for handle, _ in self._live.values()):
            return  # the number has come to a new connection since the event
        try:
            with socket.socket(fileno=os.dup(fd)) as line:
                if len(self.ended) >= MAX_CONNECTIONS:
                    self.ended.clear()
                self.ended.add(line.getsockname()[:2])
                with suppress(BlockingIOError):
                    while line.recv(_DRAIN_BYTES, socket.MSG_DONTWAIT):
                        pass
                line.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def _set_timer(self, timeout_ms: int) -> None:
        """Take note of when libcurl wants to be told that time has passed; it often changes."""
        loop = self._loop
        if loop is None or timeout_ms < 0:
            self._due = None
            return
        self._due = loop.time() + timeout_ms / 1000
        if timeout_ms == 0:
            if not self._is_kicked:
                self._is_kicked = True
                loop.call_soon(self._on_kick)
        elif self._timer is None or self._due < self._armed_for:
            self._arm(loop, self._due)

    def _arm(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._armed_for = due
        self._timer = loop.call_at(due, self._on_alarm)

    def _on_kick(self) -> None:
        self._is_kicked = False
        self._tick()

    def _on_alarm(self) -> None:
        self._timer = None
        self._tick()
        self._rearm()

    def _rearm(self) -> None:
        if self._due is not None and self._timer is None and self._loop is not None:
            self._arm(self._loop, self._due)

    def _tick(self) -> None:
        """Tell libcurl that time has passed, if it has passed far enough."""
        if self._loop is None or self._due is None or self._due > self._loop.time() + _EARLY_S:
            return
        # What came over idle connections must be seen before they are used again.
        self._ready()
        self._due = None
        self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        self._collect()


_SUCCESS = TransferEnd(0)
_SELECTED = pycurl.CSELECT_IN


def _has_other_codings(lines: list[bytes]) -> bool:
    """Return True if an answer's transfer codings are chunked at last, and another before.

    libcurl then does not look for the last chunk, and waits for the connection to end.
    """
    head = b"".join(lines).lower()
    if b"transfer-encoding" not in head:
        return False
    fields = [line.lower().partition(b":") for line in lines]
    values = [value for name, _, value in fields if name.strip() == b"transfer-encoding"]
    if not values:
        return False
    names = [name.strip() for name in b",".join(values).split(b",")]
    return names[-1] == b"chunked" and len(names) > 1


def _action(events: int) -> int:
    """Return what libcurl is told of a connection's events."""
    action: int = _SELECTED if events & READABLE else 0
    if events & WRITABLE:
        action |= pycurl.CSELECT_OUT
    if events & BROKEN:
        action |= pycurl.CSELECT_ERR
    return action


class TlsSessions:
    """TLS sessions of many hosts, so that a new connection to a known host costs less.

    libcurl remembers 25 hosts per share, whatever one asks for; a crawl has more of them in turn.
    So there are many shares, and each host has its place in one. They hold nothing but sessions,
    and belong to one set of TLS options.
    """

    def __init__(self) -> None:
        self._shares: dict[int, Foreign] = {}

    def share_of(self, host: str) -> Foreign:
        """Return the share for a host, always the same one."""
        place = crc32(host.encode()) % SHARES
        share = self._shares.get(place)
        if share is None:
            share = self._shares[place] = pycurl.CurlShare()
            share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_SSL_SESSION)
        return share
