"""Caller: one request to one URL, at an address that is due."""

from dataclasses import dataclass
from typing import NamedTuple

from gossamer.clock import CrawlTime
from gossamer.fetch import Fetcher, Resolver, Validators
from gossamer.frontier import AddressClocks
from gossamer.model import Counters, Failed, FetchOutcome, Url

BY_HOST_NAME = frozenset({"http", "https", "ftp"})


class Called(NamedTuple):
    """How a call ended, and what it took."""

    outcome: FetchOutcome | float
    """A moment instead of an outcome means that the address is not due before it."""
    elapsed_s: float = 0.0
    ended_at: float = 0.0


@dataclass(slots=True, kw_only=True)
class Caller:
    """Resolves names, keeps the gap of each address, and asks."""

    time: CrawlTime
    addresses: AddressClocks
    resolver: Resolver
    fetcher: Fetcher
    counters: Counters

    async def call(
        self,
        url: Url,
        *,
        max_body_bytes: int | None = None,
        validators: Validators | None = None,
    ) -> Called:
        """Ask for a URL now, if its address is due."""
        addresses = await self._addresses(url)
        if isinstance(addresses, Failed):
            return Called(addresses, 0.0, self.time.now())
        began_at = self.time.now()
        if (until := self.addresses.take(addresses, began_at)) is not None:
            return Called(until)
        outcome = await self.fetcher.fetch(
            url, addresses, max_body_bytes=max_body_bytes, validators=validators
        )
        self.counters.requests += 1
        now = self.time.now()
        if addresses:
            self.addresses.touch(addresses[0], now)
        return Called(outcome, now - began_at, now)

    async def _addresses(self, url: Url) -> tuple[str, ...] | Failed:
        if url.scheme not in BY_HOST_NAME:
            return ()
        known = self.resolver.cached(url.host)
        return known if known is not None else await self.resolver.resolve(url.host)

    async def close(self) -> None:
        """Let go of connections and name servers."""
        await self.fetcher.close()
        await self.resolver.close()
