"""The table `hosts`: what was stored, refused and is left of each host that URLs were queued of."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from math import inf
from pathlib import Path

from msgspec import Struct

from gossamer.fetch import RobotsCache
from gossamer.frontier import HostStanding, each_host, find_host
from gossamer.model import Url, UrlRecord, UrlState
from gossamer.report.inquiry import settled_in
from gossamer.report.left_out import DroppedUrls
from gossamer.report.records import URL, decode_record
from gossamer.report.snapshot import Snapshot
from gossamer.report.words import reason_words
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


class HostFetch(Struct, frozen=True, kw_only=True):
    """How a URL of a host stands after its last turn."""

    url: str
    at: float
    state: str
    reason: str
    detail: str
    status: int
    """HTTP status; 0 without an answer."""


class HostGap(Struct, frozen=True, gc=False):
    """The time between two requests to a host."""

    at: float
    """When the second of them ended."""
    gap_s: float


class HostDetails(Struct, frozen=True, kw_only=True):
    """Everything that is known of one host."""

    host: CrawledHost
    known: int
    """URLs that were ever queued: what filter.max_urls_per_host counts."""
    next_at: float | None
    """From when it may be asked again, in seconds since 1970; None if nothing of it waits."""
    next_reason: str
    """The rule that says so."""
    is_parked: bool
    """It is down: one request at a time finds out whether it is back."""
    crawl_delay_s: float | None
    """Of its robots.txt."""
    robots_lines: list[str]
    """Lines of its robots.txt that are for us, with their numbers."""
    fetches: list[HostFetch]
    """The last, the newest first."""
    failures: list[HostFetch]
    """URLs of it that failed or were refused, the newest first."""
    gaps: list[HostGap] = []  # msgspec copies it
    """Between its last requests, as far as the records of its URLs tell, the oldest first."""

    def next_words(self) -> str:
        """Return the rule by which it is asked again, and what that means."""
        return reason_words(self.next_reason)


FETCHES_TOLD, GAPS_TOLD = 50, 500


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
    dropped = DroppedUrls(config.filter.drop)
    found = each_host(state, settled_in(state), ring)
    for domain, hosts in groupby(found, lambda one: one.key[:RING_BYTES]):
        tallies: dict[str, _Tally] = {}
        for _, value in state.scan(URL + domain):
            record = decode_record(value)
            if dropped.has(record.url):
                continue
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


def host_details(folder: Path | str, host: str) -> HostDetails | None:
    """Return what is known of a host; None if no URL of it was queued."""
    with Snapshot.open(folder) as snapshot:
        for state in snapshot.states:
            for found in _hosts_in(snapshot, state, host):
                return _details(snapshot, state, found)
    return None


def _details(snapshot: Snapshot, state: State, found: CrawledHost) -> HostDetails:
    row = find_host(state, found.host)
    turns: list[HostFetch] = []
    origins: set[Url] = set()
    asked: list[float] = []
    ring = ring_of(found.host).to_bytes(RING_BYTES, "big")
    for _, value in state.scan(URL + ring):
        record = decode_record(value)
        url = read_canonical(record.url)
        if url.host == found.host:
            origins.add(url)
            asked += [visit.at for visit in record.visits if visit.status]
            if record.visits:
                turns.append(_turn(record))
    asked = sorted(asked)[-GAPS_TOLD - 1 :]
    turns.sort(key=lambda one: -one.at)
    config = snapshot.config
    robots = RobotsCache(config.robots, config.fetch.robots_agent, state.get)
    rules = next(filter(None, (robots.peek(url, 0.0) for url in origins)), None)
    wrong = [one for one in turns if one.state in {"failed", "refused", "waiting"}]
    return HostDetails(
        host=found,
        known=row.known if row is not None else 0,
        next_at=row.next_at if row is not None and found.queued else None,
        next_reason=row.reason if row is not None else "",
        is_parked=row is not None and row.is_parked,
        crawl_delay_s=rules.crawl_delay_s if rules is not None else None,
        robots_lines=[f"{one.number}: {one.line}" for one in rules.rules] if rules else [],
        fetches=turns[:FETCHES_TOLD],
        failures=wrong[:FETCHES_TOLD],
        gaps=[HostGap(after, after - before) for before, after in pairwise(asked)],
    )


def _turn(record: UrlRecord) -> HostFetch:
    last = record.visits[-1]
    return HostFetch(
        url=record.url,
        at=last.at,
        state=record.state.value,
        reason=record.reason,
        detail=record.detail,
        status=last.status,
    )
