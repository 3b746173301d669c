"""Watcher: the watchlist beside the frontier. What is due becomes tasks; what is found is learned.

Nothing of it is on disk but the beliefs in the URL records: a plan is made anew at every start, and
a look that a death cut short is due again.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import inf

from gossamer.config import Config
from gossamer.crawl.pipeline import SITEMAPS
from gossamer.crawl.watch.budget import Budget
from gossamer.crawl.watch.records import FOUND_OUT
from gossamer.frontier import Frontier
from gossamer.frontier.revisit import Belief, Watchlist
from gossamer.model import (
    Counters,
    Fetched,
    Finding,
    Link,
    LinkKind,
    Redirected,
    Task,
    Turn,
    UrlRecord,
    UrlState,
)
from gossamer.urls import host_key, parse

AHEAD_S = 0.1
"""Looks that are due so soon are leased together, in one commit."""
MOST_OF_HOST = 4
"""Looks at one host's pages that are out at once: a slow host must not hold up the others."""
BUSY_SHARE = 0.8
"""Of the requests that a host's gap allows, what the plan may count on."""
LEAST_WAIT_S = 0.05
LEAST_PER_S = 1e-3
"""Every shard may ask now and then, however few its pages."""
DAY_S = 86_400.0
DATE_CHARS = 10


@dataclass(slots=True, kw_only=True)
class Watcher:
    """Gives looks to the frontier when they are due and the budget has room for them."""

    config: Config
    frontier: Frontier
    counters: Counters
    read: Callable[[int], UrlRecord | None]
    now: float
    """When the watching begins."""
    share: float = 1.0
    """The part of the crawl's budget that is this shard's."""
    pages: Watchlist = field(init=False)
    budget: Budget = field(init=False)
    freshness: float | None = None
    """Expected, as last planned."""
    _lost: list[tuple[float, int]] = field(default_factory=list)
    """Pages that are gone, by when they are asked for once more."""
    _out: dict[int, str] = field(default_factory=dict)
    """Looks in the frontier, with their hosts."""
    _out_of_host: Counter[str] = field(default_factory=Counter)
    _gaps: dict[int, float] = field(default_factory=dict)
    """How long each host is left alone between two requests, as last seen."""
    _plan_at: float = 0.0

    def __post_init__(self) -> None:
        """Begin with an empty list."""
        rules = self.config.watch
        self.pages = Watchlist(1.0 / rules.prior_s)
        self.budget = Budget(rules.rate_per_s, rules.new_share, self.now)
        self.give_share(self.share)
        self.budget.begin(self.counters.requests)

    def load(self, records: Iterable[tuple[int, UrlRecord]]) -> None:
        """Take in what the state knows of every page, and make the first plan."""
        for key, record in records:
            if record.state is UrlState.GONE:
                due_at = record.retry_at or record.seen_at + self.config.watch.lost_s
                heapq.heappush(self._lost, (due_at, key))
            elif is_watched(record):
                self._add(key, record)
                if record.retry_at is not None and record.retry_at > self.now:
                    self.pages.give_back(key, record.retry_at)
        self._plan(self.now)

    @property
    def watched(self) -> int:
        """Return how many pages are on the list."""
        return len(self.pages)

    def give_share(self, share: float) -> None:
        """Be given another part of the crawl's budget: the next plan counts on it."""
        self.budget.rate_per_s = max(self.config.watch.rate_per_s * share, LEAST_PER_S)

    # What the wheel asks

    def feed(self, now: float, in_flight: int) -> int:
        """Lease what is due; return how many requests may be begun."""
        self.budget.pass_time(now, self.counters.requests)
        if now >= self._plan_at:
            self._plan(now)
        if (room := self._room) > 0 and self._next_due_at() <= now + AHEAD_S:
            keys = self._take_lost(now) or self.pages.take_due(now, now + AHEAD_S, room)
            tasks = (self._task(key, now) for key in keys)
            self.frontier.lease_first([task for task in tasks if task is not None])
        return self.budget.left(in_flight)

    def may_crawl(self, in_flight: int) -> bool:
        """Tell whether the next request may be for a new page."""
        return self.budget.may_crawl(in_flight)

    def begun(self, task: Task) -> None:
        """Be told that a task was dispatched."""
        if task.kind is not LinkKind.REVISIT:
            self.budget.spent_on_new()

    def next_moment(self, in_flight: int) -> float:
        """Return when there may be something to do."""
        due_at = self._next_due_at() - AHEAD_S if self._room > 0 else self._plan_at
        moment = min(max(due_at, self.budget.next_at(in_flight)), self._plan_at)
        new_at = self.budget.next_new_at(in_flight)
        return min(moment, new_at) if new_at is not None and self._has_new else moment

    # What the worker tells

    def looked(self, turn: Turn, old: UrlRecord) -> None:
        """Learn from another look, before it is recorded."""
        key = turn.task.url.key
        self._returned(key)
        if turn.finding is Finding.GONE or old.state is UrlState.GONE:
            self._look_at_gone(turn, old)
        elif turn.finding in FOUND_OUT:
            self._learn(turn, old)
        elif turn.retry_at is not None:
            self.pages.give_back(key, turn.retry_at)
        if turn.finding is Finding.CHANGED:
            self._hear_sitemap(turn, old)

    def found(self, turn: Turn) -> None:
        """Watch a page that is new."""
        if isinstance(turn.outcome, Fetched):
            url = turn.task.url
            weight = 1.0 / (1.0 + turn.task.depth)
            self.pages.add(url.key, host_number(url.host), weight, None, turn.at)

    # What is done

    def _plan(self, now: float) -> None:
        self._plan_at = now + self.config.watch.replan_s
        rate = self.budget.for_looks(has_new=self._has_new)
        self.pages.replan(now, rate, self._most_per_s)
        self.freshness = round(self.pages.expected_freshness(), 4) if len(self.pages) else None
        self.counters.watched = len(self.pages)

    def _most_per_s(self, host: int) -> float:
        rules = self.config.politeness
        usual_s = rules.min_delay_s if rules.delay_s is None else rules.delay_s
        gap_s = max(self._gaps.get(host, 0.0), usual_s)
        return BUSY_SHARE / gap_s if gap_s > 0.0 else inf

    @property
    def _has_new(self) -> bool:
        """Tell whether there are new pages that may be stored."""
        most = self.config.limits.max_pages
        is_full = most is not None and self.counters.pages >= most
        return self.frontier.queued > len(self._out) and not is_full

    @property
    def _room(self) -> int:
        return 2 * self.config.concurrency - len(self._out)

    def _next_due_at(self) -> float:
        due_at = self.pages.next_due_at()
        lost_at = self._lost[0][0] if self._lost else self._plan_at
        return min(lost_at, self._plan_at if due_at is None else due_at)

    def _take_lost(self, now: float) -> list[int]:
        due: list[int] = []
        while self._lost and self._lost[0][0] <= now and len(due) < self._room:
            due.append(heapq.heappop(self._lost)[1])
        return due

    def _task(self, key: int, now: float) -> Task | None:
        """Return the task of a look; None if it must wait, or its record is lost."""
        record = self.read(key)
        url = parse(record.url, self.config.urls) if record is not None else None
        if url is None or url.key != key:
            self.pages.remove(key)
            return None
        if self._out_of_host[url.host] >= MOST_OF_HOST:
            gap_s = self._gaps.get(host_number(url.host), 0.0)
            self.pages.give_back(key, now + max(LEAST_WAIT_S, MOST_OF_HOST * gap_s))
            return None
        self._out[key] = url.host
        self._out_of_host[url.host] += 1
        return Task(url=url, kind=LinkKind.REVISIT)

    def _returned(self, key: int) -> None:
        host = self._out.pop(key, None)
        if host is not None:
            row = self.frontier.hosts.row(host)
            self._gaps[host_number(host)] = row.gap_s
            self._out_of_host[host] -= 1
            if not self._out_of_host[host]:
                del self._out_of_host[host]

    def _add(self, key: int, record: UrlRecord) -> None:
        host = record.url.partition("//")[2].partition("/")[0].rpartition("@")[2]
        belief = Belief(*record.belief) if record.belief is not None else None
        self.pages.add(key, host_number(host), weight_of(record), belief, record.seen_at)

    def _learn(self, turn: Turn, old: UrlRecord) -> None:
        key = turn.task.url.key
        if self.pages.outlook(key) is None:
            self._add(key, old)
        belief = self.pages.visited(
            key,
            turn.at,
            changed=turn.finding is Finding.CHANGED,
            modified_ago_s=modified_ago_s(turn),
        )
        turn.belief = (belief.a, belief.b, belief.prior_s)

    def _look_at_gone(self, turn: Turn, old: UrlRecord) -> None:
        """Take a page off the list, or back onto it."""
        key = turn.task.url.key
        if turn.finding in FOUND_OUT:
            self._add(key, old)
            return
        self.pages.remove(key)
        due_at = turn.retry_at or turn.at + self.config.watch.lost_s
        heapq.heappush(self._lost, (due_at, key))

    def _hear_sitemap(self, turn: Turn, old: UrlRecord) -> None:
        """Hear which pages have changed since the sitemap was last read."""
        if turn.found is None or turn.found.media_type not in SITEMAPS:
            return
        for link in turn.found.links:
            modified_at = last_modified(link)
            if modified_at is None or modified_at <= old.seen_at:
                continue
            if (plan := self.pages.outlook(link.target.key)) and plan.last_at < modified_at:
                self.pages.hint(link.target.key, turn.at)


def is_watched(record: UrlRecord) -> bool:
    """Tell whether a page is looked at again: it was stored, and is not known to be gone."""
    was_stored = record.state is UrlState.REDIRECTED and record.belief is not None
    return record.state is UrlState.ARCHIVED or was_stored


def weight_of(record: UrlRecord) -> float:
    """Return how much a page's freshness counts: what it was judged, or by its depth."""
    return record.importance or 1.0 / (1.0 + record.depth)


def host_number(host: str) -> int:
    """Return a number for a host, as the watchlist wants it."""
    return int.from_bytes(host_key(host)[-8:], "big")


def last_modified(link: Link) -> float | None:
    """Return the moment that a sitemap claims for an entry's last change; a day, at its end."""
    said = next((w for w in link.text.split() if w.startswith("lastmod=")), "")
    text = said.removeprefix("lastmod=")
    try:
        moment = datetime.fromisoformat(text)
        at = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return at + DAY_S if len(text) == DATE_CHARS else at


def modified_ago_s(turn: Turn) -> float | None:
    """Return how long ago the server says that the page changed; None if it does not say."""
    if not isinstance(turn.outcome, Fetched | Redirected) or turn.finding is not Finding.CHANGED:
        return None
    document = turn.outcome.document
    try:
        modified = parsedate_to_datetime(document.header("last-modified")).timestamp()
    except (ValueError, TypeError):
        return None
    return max(0.0, document.fetched_at - modified)
