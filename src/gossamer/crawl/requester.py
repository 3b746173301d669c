"""One request: its host's name resolved, its address's gap kept, and only while we may ask."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec import Struct

from gossamer.clock import CrawlTime
from gossamer.crawl.ledger import HEAD, NOT_SENT, RequestLog
from gossamer.crawl.ports import AddressClocks
from gossamer.fetch import Fetcher, Resolver, TransferWatch, Validators
from gossamer.frontier import ADDRESS_DELAY, AddressGaps, AddressQueues
from gossamer.model import Counters, Failed, FetchOutcome, Url

_WEB = frozenset({"http", "https"})


class NotDue(Struct, frozen=True):
    """No request was made: the address, or anything, may not be asked before a moment."""

    until: float
    reason: str = ADDRESS_DELAY


class Requested(NamedTuple):
    """How a request ended, and what it took."""

    outcome: FetchOutcome
    elapsed_s: float
    ended_at: float


SOON_S = 0.005
"""A request that goes out within this time of its beginning need not move its address's clock."""
LEASE_LOOK_S = 0.2
"""How long a request waits for the lease that ended while its host's name was resolved."""


class NoAddressGap:
    """The clocks of a crawl without any gap between requests to one address."""

    async def take(self, address: str, gap_s: float, now: float) -> float | None:
        """Take an address: that is always possible."""

    def touch(self, address: str, gap_s: float, now: float) -> None:
        """Note nothing."""

    def close(self) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requester:
    """Resolves names, keeps the gap of each address, and makes requests."""

    time: CrawlTime
    gaps: AddressGaps
    clocks: AddressClocks
    """Those of all shards of the crawl."""
    queues: AddressQueues = field(default_factory=AddressQueues)
    resolver: Resolver
    fetcher: Fetcher
    counters: Counters
    log: RequestLog
    """Takes every request."""
    may_ask: Callable[[], bool] = lambda: True
    """Return True if requests may be begun at all: a crawl with a store needs its lease."""
    asks_head: bool = False
    """Headers are asked for first, pages only if that fails."""

    async def request(
        self,
        url: Url,
        *,
        max_body_bytes: int | None = None,
        validators: Validators | None = None,
        watch: TransferWatch | None = None,
        is_head: bool = False,
        allowed_by: str = "",
    ) -> Requested | NotDue:
        """Ask for a URL now, if its address is due. `allowed_by` says which robots line lets us."""
        addresses = await self._addresses(url)
        if isinstance(addresses, Failed):
            return Requested(addresses, 0.0, self.time.now())
        began_at = self.time.now()
        if not self.may_ask():
            return NotDue(began_at + LEASE_LOOK_S, "store_away")
        address, gap_s = self.fetcher.contacted(addresses), self.gaps.of(url.host)
        if address:
            free_at = await self.clocks.take(address, gap_s, began_at)
            if free_at is not None:
                return NotDue(self.queues.wait(url.host, address, gap_s, free_at, began_at))
            self.queues.leave(url.host)
            if not self.may_ask():
                return NotDue(self.time.now() + LEASE_LOOK_S, "store_away")
        sent_at: list[float] = []
        outcome: FetchOutcome | None = None
        try:
            outcome = await self.fetcher.fetch(
                url,
                addresses,
                max_body_bytes=max_body_bytes,
                validators=validators,
                watch=watch,
                is_head=is_head,
                on_sending=self._on_sending(address, gap_s, began_at, sent_at),
            )
        finally:
            now = self.time.now()
            at = sent_at[0] if sent_at else began_at
            marks = HEAD * is_head + NOT_SENT * (not sent_at and url.scheme in _WEB)
            took_s = now - at
            self.log.note(url, outcome, allowed_by=allowed_by, at=at, took_s=took_s, marks=marks)
        if isinstance(outcome, Failed) and NOT_SENT in marks and not self.may_ask():
            return NotDue(now + LEASE_LOOK_S, "store_away")
        self.counters.count_request()
        if address:
            self.clocks.touch(address, gap_s, now)
        return Requested(outcome, now - began_at, now)

    def _on_sending(
        self, address: str, gap_s: float, began_at: float, sent_at: list[float]
    ) -> Callable[[], bool]:
        """Return what notes when a request goes out, and keeps its address's gap from there.

        It does not go if we may not ask any more: while it was connected this machine may have been
        asleep, and another one have taken our place.
        """

        def keep_gap() -> bool:
            if not self.may_ask():
                return False
            now = self.time.now()
            sent_at.append(now)
            if address and now - began_at > SOON_S:
                self.clocks.touch(address, gap_s, now)
            return True

        return keep_gap

    async def _addresses(self, url: Url) -> tuple[str, ...] | Failed:
        if not self.fetcher.is_networked(url.scheme):
            return ()
        known = self.resolver.cached(url.host)
        return known if known is not None else await self.resolver.resolve(url.host)

    async def close(self) -> None:
        """Let go of connections, name servers and clocks."""
        await self.fetcher.close()
        await self.resolver.close()
        self.clocks.close()
