"""Datagrams between shards: short messages that must not wait for a busy engine loop.

A loop that parses pages comes back to its sockets once in a round, which may take a second. These
sockets are also looked at between two pages (`poll`), so that a question is answered in the time
that one page takes. What is sent may be lost with the receiver: who needs more says it again when
a shard that was started says so (`on_started`).
"""

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from gossamer.cluster.messages import ContentMail
from gossamer.linux import short_path

MOST_AT_ONCE = 64
"""Datagrams that are read before something else has its turn."""
MOST_BYTES = 1 << 20
MOST_WAITING = 1000
"""Datagrams for a shard that does not read them; the oldest are dropped."""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[int, int, ContentMail]).decode


class DatagramSocket:
    """Where other shards send datagrams, and the way to theirs."""

    def __init__(
        self,
        path_of: Callable[[int], Path],
        shard: int,
        shards: int,
        epoch: int,
    ) -> None:
        """Be a shard's socket; `path_of` says where each shard has its own."""
        self._path_of = path_of
        self._shard = shard
        self._others = [number for number in range(shards) if number != shard]
        self._epoch = epoch
        self._epochs: dict[int, int] = {}
        self._own: socket.socket | None = None
        self._take: Callable[[int, ContentMail], None] = lambda _sender, _mail: None
        self._on_started: Callable[[int], None] = lambda _sender: None
        self._to: dict[int, socket.socket] = {}
        self._waiting: dict[int, deque[bytes]] = {number: deque() for number in self._others}

    def open(
        self, take: Callable[[int, ContentMail], None], on_started: Callable[[int], None]
    ) -> None:
        """Receive from now on, and say so to all others."""
        self._take, self._on_started = take, on_started
        path = self._path_of(self._shard)
        path.unlink(missing_ok=True)
        self._own = _datagram_socket()
        with short_path(path) as short:
            self._own.bind(short)
        path.chmod(0o600)
        asyncio.get_running_loop().add_reader(self._own, self.poll)
        for to in self._others:
            self.send(to, ContentMail())

    def send(self, to: int, mail: ContentMail) -> None:
        """Send something to a shard as soon as it can take it; it may be lost with that shard."""
        waiting = self._waiting[to]
        waiting.append(_encode((self._shard, self._epoch, mail)))
        while len(waiting) > MOST_WAITING:
            waiting.popleft()
        self._flush(to)

    def poll(self) -> None:
        """Take what has come, and send what could not be sent."""
        if self._own is None:
            return
        for to, waiting in self._waiting.items():
            if waiting:
                self._flush(to)
        for _ in range(MOST_AT_ONCE):
            try:
                data = self._own.recv(MOST_BYTES)
            except (BlockingIOError, InterruptedError):
                return
            self._receive(data)

    def _receive(self, data: bytes) -> None:
        sender, epoch, mail = _decode(data)
        if epoch < self._epochs.get(sender, 0):
            return  # an older start of that shard: its place has been taken
        if epoch > self._epochs.get(sender, 0):
            self._epochs[sender] = epoch
            self._on_started(sender)
        self._take(sender, mail)

    def _flush(self, to: int) -> None:
        """Send what waits for a shard, as far as it can take it now."""
        waiting = self._waiting[to]
        try:
            way = self._to.get(to) or self._connected(to)
            while waiting:
                way.send(waiting[0])
                waiting.popleft()
        except (BlockingIOError, InterruptedError):
            return  # it reads others first
        except OSError:  # it is not there (yet, or any more); what waits may be for its next start
            with suppress(KeyError):
                self._to.pop(to).close()

    def _connected(self, to: int) -> socket.socket:
        way = _datagram_socket()
        try:
            with short_path(self._path_of(to)) as short:
                way.connect(short)
        except OSError:
            way.close()
            raise
        self._to[to] = way
        return way

    def close(self) -> None:
        """Receive and send no more, and remove the socket file."""
        if self._own is None:
            return
        asyncio.get_running_loop().remove_reader(self._own)
        for one in (self._own, *self._to.values()):
            one.close()
        self._own, self._to = None, {}
        with suppress(OSError):
            self._path_of(self._shard).unlink(missing_ok=True)


def _datagram_socket() -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    made.setblocking(False)  # noqa: FBT003 - the socket module's
    return made
