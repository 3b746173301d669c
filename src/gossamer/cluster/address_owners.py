"""When may an IP address be asked, by shards on several machines? Each address has one owner.

The owner is a shard, by the address's hash. It answers by the clocks of its machine, and whoever
asks waits for the answer before the request: so no two requests are granted closer together than
the gap, wherever they go out. An owner that is away, or was started on another machine, grants
nothing at first: rather too late than too early. On one machine its clocks are asked directly.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from xxhash import xxh3_64_intdigest

from gossamer.cluster.connection import Connection
from gossamer.cluster.messages import AddressAsk, AddressGrant, AddressTouch, PeerMessage

ANSWER_S, AWAY_S = 2.0, 1.0
"""How long an answer is waited for, and when an owner is asked again that gave none."""


class OwnClocks(Protocol):
    """The clocks that the shards of one machine share."""

    def grant(self, address: str, gap_s: float, now: float) -> float | None:
        """Take an address for a request that begins now, or return the moment to wait for."""

    def touch(self, address: str, gap_s: float, now: float) -> None:
        """Let an address that has just answered be left alone for `gap_s` from now on."""

    def close(self) -> None:
        """Release them; what they say stays."""


class AddressOwners:
    """The way to the owners of addresses, and what others ask us as an owner."""

    def __init__(self, way_to: Callable[[int], Connection[PeerMessage] | None]) -> None:
        """Know how to reach other shards."""
        self._way_to = way_to
        self._own: OwnClocks | None = None
        self._now: Callable[[], float] = lambda: 0.0
        self._owns: Callable[[str], bool] = lambda _address: True
        self._ticket = 0
        self._waiting: dict[int, asyncio.Future[float]] = {}

    def open(self, own: OwnClocks, now: Callable[[], float], owns: Callable[[str], bool]) -> None:
        """Answer others by our machine's clocks from now on, about addresses that are ours.

        Who asks about another has not heard of a split: without an answer it asks again later.
        """
        self._own, self._now, self._owns = own, now, owns

    async def ask(self, owner: int, address: str, gap_s: float) -> float | None:
        """Return how long to wait for an address, 0 if it is taken; None if nobody answers."""
        way = self._way_to(owner)
        if way is None:
            return None
        self._ticket += 1
        ticket, waiting = self._ticket, asyncio.get_running_loop().create_future()
        self._waiting[ticket] = waiting
        way.send(AddressAsk(ticket, address, gap_s))
        try:
            with suppress(TimeoutError):
                return await asyncio.wait_for(waiting, ANSWER_S)
        finally:
            del self._waiting[ticket]
        return None

    def tell(self, owner: int, address: str, gap_s: float) -> None:
        """Let the owner of an address know that it has just answered."""
        if (way := self._way_to(owner)) is not None:
            way.send(AddressTouch(address, gap_s))

    def granted(self, grant: AddressGrant) -> None:
        """Take an owner's answer."""
        waiting = self._waiting.get(grant.ticket)
        if waiting is not None and not waiting.done():
            waiting.set_result(grant.wait_s)

    def asked(self, way: Connection[PeerMessage], message: AddressAsk | AddressTouch) -> None:
        """Answer another shard; before we are open it gets no answer."""
        if self._own is None:
            return
        now = self._now()
        match message:
            case AddressTouch(address=address, gap_s=gap_s):
                self._own.touch(address, gap_s, now)
            case AddressAsk(ticket=ticket, address=address, gap_s=gap_s) if self._owns(address):
                until = self._own.grant(address, gap_s, now)
                wait_s = 0.0 if until is None else max(until - now, 0.001)
                way.send(AddressGrant(ticket, wait_s))
            case _:
                return


class OwnedAddressClocks:
    """The clocks of IP addresses of a crawl on several machines, as one shard asks them."""

    def __init__(
        self,
        own: OwnClocks,
        owner_of: Callable[[int], int],
        shard: int,
        owners: AddressOwners,
        is_one_machine: Callable[[], bool],
    ) -> None:
        """Know the clocks of this machine, and which shard owns a key of 64 bits."""
        self._own = own
        self._owner_of = owner_of
        self._shard = shard
        self._owners = owners
        self._is_one_machine = is_one_machine

    async def take(self, address: str, gap_s: float, now: float) -> float | None:
        """Take an address for a request that begins now, or return the moment to wait for."""
        owner = self._owner(address)
        if owner == self._shard:
            return self._own.grant(address, gap_s, now)
        wait_s = await self._owners.ask(owner, address, gap_s)
        if wait_s is None:
            return now + AWAY_S
        return None if wait_s == 0.0 else now + wait_s

    def touch(self, address: str, gap_s: float, now: float) -> None:
        """Let an address that has just answered be left alone for `gap_s` from now on."""
        owner = self._owner(address)
        if owner == self._shard:
            self._own.touch(address, gap_s, now)
        else:
            self._owners.tell(owner, address, gap_s)

    def owns(self, address: str) -> bool:
        """Return True if an address is ours to grant."""
        return self._owner_of(_key(address)) == self._shard

    def _owner(self, address: str) -> int:
        if self._is_one_machine():
            return self._shard
        return self._owner_of(_key(address))

    def close(self) -> None:
        """Release the clocks of this machine."""
        self._own.close()


def _key(address: str) -> int:
    return xxh3_64_intdigest(address.encode())
