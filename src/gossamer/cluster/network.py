"""How shards on several machines reach one another: TLS, at addresses that change with each start.

The coordinator tells where each shard is heard. Letters and what is said about contents go over the
same connection, one in each direction between two shards.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Mapping
from pathlib import Path

from gossamer.cluster.address_owners import AddressOwners
from gossamer.cluster.certificates import client_context, server_context
from gossamer.cluster.connection import Connection, address_of, bound_socket, listen
from gossamer.cluster.mailbox import ContentInbox, OnStarted, Serve, TakeContent
from gossamer.cluster.messages import (
    AddressAsk,
    AddressGrant,
    AddressTouch,
    ContentLetter,
    ContentMail,
    PeerMessage,
)

MOST_WAITING = 1000
"""Messages about contents for a shard that is not there; the oldest are dropped."""


class NetworkContents:
    """What is said about contents, over the connections that carry the letters.

    It may be lost with a connection: so both sides say it again when there is a new one.
    """

    def __init__(self) -> None:
        self._inbox: ContentInbox | None = None
        self._ways: dict[int, Connection[PeerMessage]] = {}
        self._waiting: dict[int, deque[ContentMail]] = {}

    def open(self, take: TakeContent, on_started: OnStarted) -> None:
        """Receive from now on."""
        self._inbox = ContentInbox(take, on_started)

    def close(self) -> None:
        """Receive no more."""
        self._inbox = None

    def poll(self) -> None:
        """Do nothing: what has come is read in its turn."""

    def send(self, to: int, mail: ContentMail) -> None:
        """Send something to a shard as soon as it is there; it may be lost on the way."""
        way = self._ways.get(to)
        if way is not None and not way.is_behind:
            way.send(ContentLetter(mail))
            return
        waiting = self._waiting.setdefault(to, deque(maxlen=MOST_WAITING))
        waiting.append(mail)

    def way_to(self, to: int) -> Connection[PeerMessage] | None:
        """Return the connection to a shard, if there is one."""
        return self._ways.get(to)

    def attach(self, to: int, way: Connection[PeerMessage]) -> None:
        """Use a connection to a shard from now on."""
        self._ways[to] = way
        for mail in self._waiting.pop(to, ()):
            way.send(ContentLetter(mail))
        self.greeted(to)

    def detach(self, to: int, way: Connection[PeerMessage]) -> None:
        """Forget a connection that has ended."""
        if self._ways.get(to) is way:
            del self._ways[to]

    def heard(self, sender: int, mail: ContentMail) -> None:
        """Take what a shard has said."""
        if self._inbox is not None:
            self._inbox.take(sender, mail)

    def greeted(self, sender: int) -> None:
        """Note that there is a new connection with a shard: what was said last may be lost."""
        if self._inbox is not None:
            self._inbox.on_started(sender)


class ShardNetwork:
    """The network as one shard sees it: where it is heard, and where the others are."""

    def __init__(self, home: Path, host: str) -> None:
        """Listen at an address of this machine, once it is open."""
        self._server_context = server_context(home)
        self._client_context = client_context(home)
        self._host = host
        self._server: asyncio.Server | None = None
        self._addresses: dict[int, str] = {}
        self._open: dict[int, Connection[PeerMessage]] = {}
        self.contents = NetworkContents()
        self.owners = AddressOwners(self.contents.way_to)
        self._machines = 0
        self.address = ""
        """Where this shard is heard, once it is."""

    @property
    def context(self) -> ssl.SSLContext:
        """Return how others of the cluster are called."""
        return self._client_context

    async def open(self, serve: Serve) -> None:
        """Take connections of other shards."""
        end = bound_socket(self._host)
        self.address = address_of(end)
        self._server = await listen(end, self._server_context, serve)

    def close(self) -> None:
        """Take no more."""
        if self._server is not None:
            self._server.close()

    @property
    def is_one_machine(self) -> bool:
        """Return True if all shards are on this machine, as far as the coordinator has told."""
        return self._machines == 1

    def heard(self, sender: int, mail: ContentMail) -> None:
        """Take what a shard has said about contents."""
        self.contents.heard(sender, mail)

    def greeted(self, sender: int) -> None:
        """Note that there is a new connection with a shard."""
        self.contents.greeted(sender)

    def attach(self, to: int, way: Connection[PeerMessage]) -> None:
        """Use a connection to a shard from now on."""
        self.contents.attach(to, way)

    def detach(self, to: int, way: Connection[PeerMessage]) -> None:
        """Forget a connection that has ended."""
        self.contents.detach(to, way)

    def asked(self, way: Connection[PeerMessage], message: AddressAsk | AddressTouch) -> None:
        """Answer a shard that asks about an IP address which is ours."""
        self.owners.asked(way, message)

    def granted(self, grant: AddressGrant) -> None:
        """Take the answer of an address's owner."""
        self.owners.granted(grant)

    def learn(self, addresses: Mapping[int, str], machines: int) -> None:
        """Be told where the shards are heard now; lines to where they were are cut."""
        self._machines = machines
        for shard, address in addresses.items():
            if self._addresses.get(shard) != address and shard in self._open:
                self._open.pop(shard).close()
        self._addresses = dict(addresses)

    async def dial(self, to: int) -> Connection[PeerMessage]:
        """Return a connection to a shard; OSError if it is not there."""
        address = self._addresses.get(to)
        if address is None:
            raise ConnectionError(f"shard {to} has not joined yet")
        connection: Connection[PeerMessage] = await Connection.dial(
            address, self._client_context, PeerMessage
        )
        if self._addresses.get(to) != address:
            connection.close()
            raise ConnectionError(f"shard {to} has moved")
        self._open[to] = connection
        return connection
