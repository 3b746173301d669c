"""The mailbox: letters from other shards in, receipts out; and the couriers that carry ours.

A letter is read and handed on at once, whatever else is full, or two full shards would wait for
each other for ever. Its receipt leaves when the commit that took its tasks in is durable.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from gossamer.clock import Clock
from gossamer.cluster.connection import Connection
from gossamer.cluster.messages import (
    AddressAsk,
    AddressGrant,
    AddressTouch,
    ContentLetter,
    ContentMail,
    Hello,
    Mail,
    PeerMessage,
    Receipt,
)
from gossamer.cluster.outbox import Outbox
from gossamer.linux import KEEPS_SOCKET_FILE, short_path
from gossamer.log import tell
from gossamer.model import Row

RECONNECT_S = 0.05
MARK = b"w"
"""Prefix of a high-water row: sender → the last letter of it that was committed here."""


Serve: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
TakeContent: TypeAlias = Callable[[int, ContentMail], None]
OnStarted: TypeAlias = Callable[[int], None]


class ContentInbox(NamedTuple):
    """Who takes what other shards say about contents, and hears that one was started."""

    take: TakeContent
    on_started: OnStarted


class MailDoor(Protocol):
    """Where other shards deliver."""

    async def open(self, serve: Serve) -> None:
        """Take connections from now on."""

    def close(self) -> None:
        """Take no more."""


class UnixDoor:
    """A socket file, for the shards of this machine."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._server: asyncio.AbstractServer | None = None

    async def open(self, serve: Serve) -> None:
        """Listen; a socket file that a dead shard left behind is replaced."""
        self._path.unlink(missing_ok=True)
        with short_path(self._path) as short:
            self._server = await asyncio.start_unix_server(serve, path=short, **KEEPS_SOCKET_FILE)
        self._path.chmod(0o600)

    def close(self) -> None:
        """Stop listening, and remove the socket file."""
        if self._server is not None:
            self._server.close()
        with suppress(OSError):  # the disk is gone; who opens next replaces the file
            self._path.unlink(missing_ok=True)


class PeerLine(Protocol):
    """What shards say beside letters, where these are carried between machines."""

    def asked(self, way: Connection[PeerMessage], message: AddressAsk | AddressTouch) -> None:
        """Answer a shard that asks about an IP address which is ours."""

    def granted(self, grant: AddressGrant) -> None:
        """Take the answer of an address's owner."""

    def heard(self, sender: int, mail: ContentMail) -> None:
        """Take what a shard has said."""

    def greeted(self, sender: int) -> None:
        """Note that there is a new connection with a shard."""

    def attach(self, to: int, way: Connection[PeerMessage]) -> None:
        """Use a connection to a shard from now on."""

    def detach(self, to: int, way: Connection[PeerMessage]) -> None:
        """Forget a connection that has ended."""


class _Taken(Struct):
    """A letter whose receipt is owed."""

    connection: Connection[PeerMessage]
    receipt: Receipt
    commit: int = 0


class Mailbox:
    """Where other shards deliver. Receipts follow the durable point."""

    def __init__(
        self,
        door: MailDoor | Path,
        take: Callable[[Mail], None],
        rows: Iterable[tuple[bytes, bytes]] = (),
        line: PeerLine | None = None,
    ) -> None:
        """Take letters to `take`; `rows` are the committed high-water marks.

        The door is a socket file of this machine, or what others reach; then what they say about
        contents comes with the letters.
        """
        self._door = UnixDoor(door) if isinstance(door, Path) else door
        self._line = line
        self._take = take
        self._last = {int.from_bytes(key[1:], "big"): value for key, value in rows}
        self._is_open = False
        self._taken: list[_Taken] = []
        self._owed: list[_Taken] = []
        self._advanced: set[int] = set()
        """Senders whose high-water mark has risen since the last commit."""
        self._epochs: dict[int, int] = {}
        self._commits = 0

    async def open(self) -> None:
        """Take letters from now on."""
        self._is_open = True
        await self._door.open(self._serve)

    @property
    def is_empty(self) -> bool:
        """Return True if every letter that came has got its receipt."""
        return not self._taken and not self._owed

    @property
    def has_uncommitted(self) -> bool:
        """Return True if letters wait for the commit that takes them in."""
        return bool(self._taken)

    @property
    def owes_receipts(self) -> bool:
        """Return True if letters that were committed wait for the durable point."""
        return bool(self._owed)

    def rows_to_commit(self) -> list[Row]:
        """Return the high-water marks of the senders whose letters this commit takes in."""
        rows: list[Row] = [
            (MARK + sender.to_bytes(2, "big"), self._last[sender])
            for sender in sorted(self._advanced)
        ]
        self._advanced.clear()
        return rows

    def committed(self) -> None:
        """Note that the letters taken so far are in the state."""
        self._commits += 1
        for taken in self._taken:
            taken.commit = self._commits
        self._owed += self._taken
        self._taken = []

    @property
    def commits(self) -> int:
        """Return how many commits there were: what a sync that begins now will cover."""
        return self._commits

    def durable(self, commits: int) -> None:
        """Give receipts for what a sync has covered."""
        kept: list[_Taken] = []
        for taken in self._owed:
            if taken.commit > commits:
                kept.append(taken)
                continue
            taken.connection.send(taken.receipt)
        self._owed = kept

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection: Connection[PeerMessage] = Connection(reader, writer, PeerMessage)
        try:
            hello = await connection.receive() if connection.is_trusted else None
            if not isinstance(hello, Hello) or hello.epoch < self._epochs.get(hello.sender, 0):
                tell("mailbox.refused", hello=hello)
                return  # an older start of that shard: its place has been taken
            self._epochs[hello.sender] = hello.epoch
            if self._line is not None:
                self._line.greeted(hello.sender)
            # A letter that comes after the close stays with its sender: nobody would commit it.
            while (mail := await connection.receive()) is not None and self._is_open:
                if isinstance(mail, Mail):
                    self._taken.append(_Taken(connection, Receipt(mail.epoch, mail.sequence)))
                    self._take(self._without_old_credit(mail))
                elif isinstance(mail, ContentLetter) and self._line is not None:
                    self._line.heard(hello.sender, mail.mail)
                elif isinstance(mail, AddressAsk | AddressTouch) and self._line is not None:
                    self._line.asked(connection, mail)
        except asyncio.CancelledError:  # the shard ends; asyncio's server would print a traceback
            return
        finally:
            connection.close()

    def _without_old_credit(self, mail: Mail) -> Mail:
        """Return a letter; if it came before, without its credit: that must not be added twice.

        The mark never goes back: a letter that comes again is older than those that came after it.
        """
        number = _mark(mail.epoch, mail.sequence)
        if number > self._last.get(mail.sender, b""):
            self._last[mail.sender] = number
            self._advanced.add(mail.sender)
            return mail
        return replace(mail, tasks=[replace(task, credit=0.0) for task in mail.tasks])

    def close(self) -> None:
        """Stop listening and reading."""
        self._is_open = False
        self._door.close()


def _mark(epoch: int, sequence: int) -> bytes:
    return epoch.to_bytes(8, "big") + sequence.to_bytes(8, "big")


class Courier:
    """Carries our letters to one other shard, and its receipts back; connects again and again."""

    def __init__(
        self,
        to: int,
        way: "Path | Dial",
        hello: Hello,
        clock: Clock,
        on_receipt: Callable[[], None],
        line: PeerLine | None = None,
    ) -> None:
        """Take the way to a shard: its socket file on this machine, or what dials it elsewhere."""
        self._on_receipt = on_receipt
        self._clock = clock
        self._to = to
        self._dial = unix_dial(way) if isinstance(way, Path) else way
        self._hello = hello
        self._line = line
        self._connection: Connection[PeerMessage] | None = None
        self._has_skipped = False

    def send(self, mail: Mail) -> None:
        """Send a letter now if there is a connection; otherwise all go when there is one.

        A shard that is too slow for more gets the rest over a new connection, when it has caught
        up: all its letters are in the outbox.
        """
        if self._connection is None:
            return
        self._has_skipped = self._has_skipped or self._connection.is_behind
        if not self._has_skipped:
            self._connection.send(mail)

    async def run(self, outbox: Outbox) -> None:
        """Keep a connection open for as long as the crawl runs."""
        while True:
            try:
                connection = await self._dial(self._to)
            except OSError:
                await self._clock.sleep(RECONNECT_S)
                continue
            await self._deliver(connection, outbox)
            await self._clock.sleep(RECONNECT_S)

    async def _deliver(self, connection: Connection[PeerMessage], outbox: Outbox) -> None:
        try:
            await self._send_old(connection, outbox)
            self._connection, self._has_skipped = connection, False
            if self._line is not None:
                self._line.attach(self._to, connection)
            while (said := await connection.receive()) is not None:
                if isinstance(said, Receipt):
                    outbox.receipt(self._to, said.epoch, said.sequence)
                    self._on_receipt()
                    if self._has_skipped and not connection.is_behind:
                        return
                elif isinstance(said, AddressGrant) and self._line is not None:
                    self._line.granted(said)
        finally:
            self._connection = None
            if self._line is not None:
                self._line.detach(self._to, connection)
            connection.close()

    async def _send_old(self, connection: Connection[PeerMessage], outbox: Outbox) -> None:
        """Send all letters without a receipt, no faster than they are taken: they may be many.

        When this returns there is none that was not sent: what is committed then may go at once.
        """
        connection.send(self._hello)
        last, is_behind = -1, True
        while is_behind:
            is_behind = False
            for mail in outbox.letters_to(self._to, after=last):
                connection.send(mail)
                await connection.flush()
                last, is_behind = mail.sequence, True


Dial: TypeAlias = Callable[[int], Awaitable[Connection[PeerMessage]]]


def unix_dial(path: Path) -> Dial:
    """Return what connects to a shard of this machine, by its socket file."""

    async def dial(_to: int) -> Connection[PeerMessage]:
        with short_path(path) as short:
            reader, writer = await asyncio.open_unix_connection(short)
        return Connection(reader, writer, PeerMessage)

    return dial
