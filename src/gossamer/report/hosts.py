"""The table `hosts`: what was stored, refused and is left of each host that URLs were queued of."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from math import inf
from pathlib import Path

from msgspec import Struct

from gossamer.fetch import RobotsCache
from gossamer.frontier import HostStanding, each_host
from gossamer.model import UrlRecord, UrlState
from gossamer.report.inquiry import settled_in
from gossamer.report.records import URL, decode_record
from gossamer.report.snapshot import Snapshot
from gossamer.store import State
from gossamer.urls import read_canonical, ring_of

RING_BYTES = 3
_WORDS = ("unreachable", "rules", "none", "ignored", "")
"""What is said of the robots.txt of a host whose origins differ: the first of them."""


class CrawledHost(Struct, frozen=True, kw_only=True):
    """A host of which URLs were queued. The columns of the table `hosts`."""

    host: str
    """Without a port: politeness, and thus all of this, is for all ports together."""
    pages: int
    """Stored pages; sitemaps are none, as far as a folder of an older version tells."""
    bytes: int
    """What its answers take in the archive, compressed; of each URL, those of the last visits."""
    failed: int
    """URLs that were given up."""
    refused: int
    """URLs that were refused when their turn came, such as by robots.txt; links that filters
    refused were not queued, and are in `urls` only."""
    queued: int
    """URLs that wait, those of a host that is down included; what is held is not."""
    robots: str
    """rules, none (missing, or without a rule for us), unreachable, ignored (`robots.own_hosts`),
    "" if it was not read."""
    gap_s: float | None
    """The last gap between two requests; None before the first."""
    median_ms: float | None
    """Estimated median of the time that an answer took; None if none was measured."""
    first_at: float | None
    """When it was first asked for a page, in seconds since 1970; None if it was not."""
    last_at: float | None


@dataclass(slots=True)
class _Tally:
    """What the records of a host's URLs add up to."""

    pages: int = 0
    bytes: int = 0
    failed: int = 0
    refused: int = 0
    first_at: float = inf
    last_at: float = 0.0
    origins: set[str] = field(default_factory=set)

    def add(self, record: UrlRecord, origin: str) -> None:
        self.origins.add(origin)
        if record.state is UrlState.REFUSED:
            self.refused += 1
            return
        self.pages += record.state is UrlState.ARCHIVED and not record.is_sitemap
        self.failed += record.state is UrlState.FAILED
        refs = {visit.ref for visit in record.visits} | {record.page}
        self.bytes += sum(ref.length for ref in refs if ref is not None)
        self.first_at = min(self.first_at, record.asked_at or inf)
        self.last_at = max(self.last_at, record.seen_at)


def host_table(folder: Path | str, host: str = "") -> Iterator[CrawledHost]:
    """Yield every host once, shard by shard; only one, if it is named."""
    with Snapshot.open(folder) as snapshot:
        for state in snapshot.states:
            yield from _hosts_in(snapshot, state, host)


def _hosts_in(snapshot: Snapshot, state: State, host: str) -> Iterator[CrawledHost]:
    """Yield the hosts of a shard; the rows of one registrable domain are read together."""
    ring = ring_of(host).to_bytes(RING_BYTES, "big") if host else b""
    config = snapshot.config
    robots = RobotsCache(config.robots, config.fetch.robots_agent, state.get)
    found = each_host(state, settled_in(state), ring)
    for domain, hosts in groupby(found, lambda one: one.key[:RING_BYTES]):
        tallies: dict[str, _Tally] = {}
        for _, value in state.scan(URL + domain):
            record = decode_record(value)
            url = read_canonical(record.url)
            tallies.setdefault(url.host, _Tally()).add(record, url.origin)
        for standing in hosts:
            if not host or standing.name == host:
                yield _row(standing, tallies.get(standing.name, _Tally()), robots)


def _row(standing: HostStanding, tally: _Tally, robots: RobotsCache) -> CrawledHost:
    name = standing.name
    words = {robots.word_on(origin, name) for origin in tally.origins}
    return CrawledHost(
        host=name,
        pages=tally.pages,
        bytes=tally.bytes,
        failed=tally.failed,
        refused=tally.refused,
        queued=standing.waiting,
        robots=next((word for word in _WORDS if word in words), ""),
        gap_s=standing.gap_s or None,
        median_ms=round(standing.median_s * 1000.0, 3) or None,
        first_at=tally.first_at if tally.first_at < inf else None,
        last_at=tally.last_at or None,
    )
