"""Hosts that share an IP address: how long it is left alone, and who tries when.

Nothing here keeps a gap: that is done where the address is taken. A host that finds its address
taken is only told when to try again, behind the hosts that came before it, so that a thousand hosts
on one address do not all try whenever it is free.
"""

from heapq import nlargest
from operator import itemgetter

from msgspec import Struct

from gossamer.config import PolitenessConfig
from gossamer.frontier.politeness import HostDelays

ADDRESSES_KEPT = 10_000
MAX_AHEAD = 240
"""Hosts ahead that are counted: at the usual gap of an address a minute's worth."""
LATE_S = 1.0
"""A host that has not come so long after its moment does not wait any more."""


def address_gap_s(rules: PolitenessConfig) -> float:
    """Return the gap between two requests to one address: smaller than the host's."""
    if rules.delay_s is None:
        return min(rules.address_delay_s, rules.min_delay_s)
    return min(rules.address_delay_s, rules.delay_s)


class AddressGaps:
    """The gap after a request to an address, by the host that was asked there."""

    def __init__(self, delays: HostDelays) -> None:
        self._usual_s = address_gap_s(delays.usual)
        self._own = {host: address_gap_s(rules) for host, rules in delays.own.items()}
        self.longest_s = max(self._usual_s, *self._own.values()) if self._own else self._usual_s

    def of(self, host: str) -> float:
        """Return the gap that a host leaves after it at its address."""
        return self._own.get(host, self._usual_s) if self._own else self._usual_s


class AddressWait(Struct, frozen=True):
    """An address that a host waits for, and how many other hosts of its shard do."""

    address: str
    others: int


class AddressQueues:
    """The hosts of this shard that wait for an address, by address, in the order they came."""

    def __init__(self) -> None:
        self._waiting: dict[str, dict[str, float]] = {}
        """Address → host → when it tries again."""
        self._address: dict[str, str] = {}
        """Of each host that waits."""
        self._limit = ADDRESSES_KEPT

    def wait(self, host: str, address: str, gap_s: float, free_at: float, now: float) -> float:
        """Let a host wait for an address that is taken; return when it is to try again.

        The first is to try as soon as the address is free, each other a gap after the one before.
        """
        if self._address.get(host, address) != address:
            self.leave(host)
        if len(self._waiting) >= self._limit:
            self._forget(now)
        hosts = self._waiting.setdefault(address, {})
        hosts.setdefault(host, free_at)
        self._address[host] = address
        hosts[host] = until = free_at + gap_s * self._ahead_of(host, hosts, now)
        return until

    def _ahead_of(self, host: str, hosts: dict[str, float], now: float) -> int:
        """Return how many hosts came before a host; those that do not wait any more leave."""
        ahead, late = 0, []
        for other, until in hosts.items():
            if other == host or ahead == MAX_AHEAD:
                break
            if until + LATE_S < now:
                late.append(other)
            else:
                ahead += 1
        for other in late:
            self.leave(other)
        return ahead

    def leave(self, host: str) -> None:
        """Note that a host does not wait: it has its address, or does not come any more."""
        if (address := self._address.pop(host, None)) is not None:
            hosts = self._waiting[address]
            del hosts[host]
            if not hosts:
                del self._waiting[address]

    def _forget(self, now: float) -> None:
        """Let all hosts leave that have not come at their moment."""
        for hosts in tuple(self._waiting.values()):
            for host in [host for host, until in hosts.items() if until + LATE_S < now]:
                self.leave(host)
        self._limit = max(ADDRESSES_KEPT, 2 * len(self._waiting))

    def of(self, host: str) -> AddressWait | None:
        """Return what a host waits for; None if it waits for no address."""
        address = self._address.get(host)
        if address is None:
            return None
        return AddressWait(address, len(self._waiting[address]) - 1)

    def longest(self, count: int) -> dict[str, int]:
        """Return the addresses that most hosts wait for, and how many do."""
        sizes = ((address, len(hosts)) for address, hosts in self._waiting.items())
        return dict(nlargest(count, sizes, key=itemgetter(1)))
