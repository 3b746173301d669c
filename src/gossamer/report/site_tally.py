"""UrlTally: what the records of all URLs of a crawl add up to, for the site report."""

from array import array
from collections import Counter
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from itertools import pairwise
from urllib.parse import urlsplit

from xxhash import xxh3_64_intdigest

from gossamer.model import RefusalKind, UrlRecord, UrlState
from gossamer.report.site_facts import (
    FailureCount,
    RedirectChain,
    RedirectFacts,
    ReportedHost,
    ReportedPage,
    RobotsFacts,
    RobotsLine,
)

LISTED = 20
"""Of each kind, so many are named."""
EXAMPLES = 3
DEPTHS = 20
MOST_REDIRECTS = 200_000
"""Of these, chains are followed."""
MOST_COUNTED = 50_000
"""Different lines of robots.txt."""
_LOOP = "a redirect loop: "
"""How the detail of a failure begins that names the URLs of a loop; the pipeline words it."""


class Greatest:
    """The pages with the greatest values."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, str]] = []

    def take(self, value: int, url: str) -> None:
        """Take a page into account."""
        if len(self._heap) < LISTED:
            heappush(self._heap, (value, url))
        elif value > self._heap[0][0] and not any(url == one for _, one in self._heap):
            heappushpop(self._heap, (value, url))

    def listed(self) -> list[ReportedPage]:
        """Return them, the greatest first."""
        return [
            ReportedPage(url=url, value=value) for value, url in sorted(self._heap, reverse=True)
        ]


@dataclass(slots=True)
class _HostTally:
    pages: int = 0
    failed: int = 0
    refused: int = 0
    redirects: int = 0
    bytes: int = 0


@dataclass(slots=True)
class UrlTally:
    """What the records of all URLs add up to."""

    counts: Counter[UrlState] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    hosts: dict[str, _HostTally] = field(default_factory=dict)
    sizes: "array[int]" = field(default_factory=lambda: array("q"))
    keys: "array[int]" = field(default_factory=lambda: array("Q"))
    """Hashes of the URLs of pages, in the order of their sizes."""
    largest: Greatest = field(default_factory=Greatest)
    same_content: int = 0
    unanswered: int = 0
    first_at: float = 0.0
    last_at: float = 0.0
    _by_depth: Counter[int] = field(default_factory=Counter)
    _reasons: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    _targets: dict[str, str] = field(default_factory=dict)
    _lines: Counter[str] = field(default_factory=Counter)
    _forbidden: int = 0
    _forbidden_urls: list[str] = field(default_factory=list)

    def take(self, record: UrlRecord) -> None:
        """Take the record of a URL."""
        if record.state in {UrlState.WAITING, UrlState.QUEUED} or record.is_sitemap:
            return
        self.counts[record.state] += 1
        if code := next((visit.status for visit in reversed(record.visits) if visit.status), 0):
            self.statuses[code] += 1
        if asked_at := record.asked_at:
            self.first_at = min(self.first_at or asked_at, asked_at)
            self.last_at = max(self.last_at, record.seen_at)
        host = self.hosts.setdefault(urlsplit(record.url).netloc, _HostTally())
        match record.state:
            case UrlState.ARCHIVED:
                self._take_page(record, host)
            case UrlState.REDIRECTED:
                host.redirects += 1
                if len(self._targets) < MOST_REDIRECTS:
                    self._targets[record.url] = record.target
            case UrlState.FAILED:
                host.failed += 1
                self._take_failure(record)
            case UrlState.REFUSED:
                host.refused += 1
                self._take_refusal(record)
            case _:
                pass

    def _take_page(self, record: UrlRecord, host: _HostTally) -> None:
        host.pages += 1
        self._by_depth[min(record.depth, DEPTHS)] += 1
        self.same_content += bool(record.copy_of)
        if (ref := record.stored) is not None:
            host.bytes += ref.length
            self.sizes.append(ref.length)
            self.keys.append(url_hash(record.url))
            self.largest.take(ref.length, record.url)

    def _take_failure(self, record: UrlRecord) -> None:
        self.unanswered += not any(visit.status for visit in record.visits)
        if record.detail.startswith(_LOOP):
            around = record.detail.removeprefix(_LOOP).split(" -> ")
            self._targets.update(pairwise(around))
        count, urls = self._reasons.get(record.reason, (0, []))
        if len(urls) < EXAMPLES:
            urls.append(record.url)
        self._reasons[record.reason] = (count + 1, urls)

    def _take_refusal(self, record: UrlRecord) -> None:
        if record.reason not in {RefusalKind.ROBOTS_DISALLOWED, RefusalKind.ROBOTS_UNREACHABLE}:
            return
        self._forbidden += 1
        if len(self._forbidden_urls) < LISTED:
            self._forbidden_urls.append(record.url)
        line = f"{urlsplit(record.url).netloc}: {record.detail or record.reason}"
        if len(self._lines) < MOST_COUNTED or line in self._lines:
            self._lines[line] += 1

    def depths(self) -> list[int]:
        """Return the pages by depth."""
        return [self._by_depth[depth] for depth in range(max(self._by_depth, default=-1) + 1)]

    def failures(self) -> list[FailureCount]:
        """Return the reasons of failures, the most frequent first."""
        found = sorted(self._reasons.items(), key=lambda one: (-one[1][0], one[0]))
        return [
            FailureCount(reason=reason, urls=count, examples=urls)
            for reason, (count, urls) in found
        ]

    def robots(self) -> RobotsFacts:
        """Return what was forbidden."""
        lines = [RobotsLine(line=line, urls=n) for line, n in self._lines.most_common(LISTED)]
        return RobotsFacts(forbidden=self._forbidden, lines=lines, urls=self._forbidden_urls)

    def redirects(self) -> RedirectFacts:
        """Return the chains of redirects: they begin where no other one leads."""
        ends = set(self._targets.values())
        chains = [
            chain
            for url in self._targets
            if url not in ends and len(chain := self._chain(url)) > 2  # noqa: PLR2004 - both ends
        ]
        loops = self._loops()
        chains.sort(key=lambda chain: (-len(chain), chain))
        told = [RedirectChain(urls=one, is_loop=True) for one in loops[:LISTED]]
        told += [RedirectChain(urls=one, is_loop=False) for one in chains]
        return RedirectFacts(
            redirects=self.counts[UrlState.REDIRECTED],
            chains=len(chains),
            loops=len(loops),
            longest=told[:LISTED],
        )

    def _chain(self, url: str) -> list[str]:
        chain = [url]
        while (target := self._targets.get(chain[-1])) and target not in chain:
            chain.append(target)
        return chain

    def _loops(self) -> list[list[str]]:
        """Return the loops, each once, from its first URL by name back to it."""
        done: set[str] = set()
        loops: list[list[str]] = []
        for start in self._targets:
            path: dict[str, None] = {}
            url = start
            while url in self._targets and url not in done and url not in path:
                path[url] = None
                url = self._targets[url]
            if url in path:
                around = list(path)[list(path).index(url) :]
                first = around.index(min(around))
                loops.append([*around[first:], *around[:first], around[first]])
            done |= path.keys()
        return sorted(loops)

    def top_hosts(self) -> list[ReportedHost]:
        """Return the hosts with the most pages."""
        order = sorted(self.hosts.items(), key=lambda one: (-one[1].pages, -one[1].failed, one[0]))
        return [
            ReportedHost(
                host=name,
                pages=one.pages,
                failed=one.failed,
                refused=one.refused,
                redirects=one.redirects,
                bytes=one.bytes,
            )
            for name, one in order[:LISTED]
        ]


def url_hash(text: str) -> int:
    """Return 64 bits that stand for a URL, or for a title."""
    return xxh3_64_intdigest(text.encode("utf-8", "replace"))
