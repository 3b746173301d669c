"""Watcher: revisits beside the frontier. What is due becomes tasks, as far as the budget allows."""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from math import inf

from msgspec.structs import replace

from gossamer.config import Config
from gossamer.crawl.revisit.budget import RequestBudget
from gossamer.crawl.revisit.rounds import RevisitRound
from gossamer.crawl.revisit.watched import WatchedPages, host_number
from gossamer.frontier import Frontier, Openings
from gossamer.model import Counters, LinkKind, Task, Turn, UrlRecord
from gossamer.urls import parse

FEED_S = 0.05
"""Revisits that become due within so long are leased together: one commit."""
MOST_OF_HOST = 4
"""Revisits to one host that are out at once: a slow host must not hold up the others."""
BUSY_SHARE = 0.8
"""Of the requests that a host's gap allows, what the plan may count on."""
LEAST_WAIT_S, UNCOMMITTED_S, PARKED_S = 0.05, 1.0, 10.0
PLAN_S, PLAN_S_PER_PAGE = 2.0, 1e-3
"""A plan holds for so long at least, and for so much longer with each page; at most `replan_s`."""
LEAST_PER_S = 1e-3
"""Every shard may ask now and then, however few its pages."""


@dataclass(slots=True, kw_only=True)
class Watcher:
    """Gives revisits to the frontier when they are due and the budget has room for them.

    A revisit is leased past the queues and is in no row but its lease: one that a death cuts short
    is due again, because its page was last seen before it.
    """

    config: Config
    frontier: Frontier
    counters: Counters
    pages: WatchedPages
    budget: RequestBudget
    record_of: Callable[[int], UrlRecord | None]
    postponed_until: Callable[[int], float]
    """Returns the moment before which a suspect is left alone; 0.0 for any other page."""
    in_flight: Collection[int]
    """Keys of the tasks under way, of any kind."""
    has_room: Callable[[int], bool]
    """Returns True if a page more may be stored, while so many new ones are under way."""
    is_once: bool = False
    """Only what is due now is revisited, each page once; then it is over."""
    freshness: float | None = None
    """Expected, as last planned."""
    _out: dict[int, str] = field(default_factory=dict)
    """Revisits in the frontier, with their hosts."""
    _out_of_host: Counter[str] = field(default_factory=Counter)
    _gaps: dict[int, float] = field(default_factory=dict)
    """How long each host is left alone between two requests, as last seen."""
    _own_delays: dict[int, float] = field(default_factory=dict)
    """Of hosts that have a fixed delay of their own."""
    _round: RevisitRound = field(default_factory=RevisitRound)
    _has_all: bool = False
    """Everything that is due was taken into the round."""
    _share: float = 1.0
    _plan_at: float = 0.0
    _feed_at: float = 0.0
    _fed_at: float = 0.0

    @property
    def watched(self) -> int:
        """Return how many pages are on the watchlist."""
        return len(self.pages)

    @property
    def due(self) -> int | None:
        """Return how many pages a single round has left; None if there is no end to it."""
        if not self.is_once:
            return None
        return 0 if self.is_over else max(1, len(self._round) + len(self._out))

    @property
    def is_over(self) -> bool:
        """Return True if a single round is over: nothing is left but on hosts that are down."""
        return self._has_all and self._is_exhausted

    @property
    def given_up(self) -> int:
        """Return how many revisits a round that is over leaves leased: their hosts are down."""
        return len(self._out) if self.is_over else 0

    @property
    def _is_exhausted(self) -> bool:
        return not self._round and self._is_nothing_out

    @property
    def _is_nothing_out(self) -> bool:
        """Return True if no revisit is under way but on hosts that are down."""
        return all(map(self._is_down, self._out_of_host))

    def _is_down(self, host: str) -> bool:
        """Return True if a host is down, and it is not yet time to find out whether it is back."""
        probe_at = self.frontier.parking.probe_at(host)
        return probe_at is not None and probe_at > self._fed_at

    def next_revisit_at(self, key: int) -> float | None:
        """Return when a page is revisited next; None if that is not planned."""
        return self.pages.next_revisit_at(key)

    def set_share(self, share: float) -> None:
        """Set this shard's share of the request budget: the next plan counts on it."""
        self._share = share
        if self.budget.set_rate(max(self.config.watch.rate_per_s * share, LEAST_PER_S)):
            self._plan_at = 0.0

    def set_rate(self, rate_per_s: float) -> None:
        """Set the request budget of all shards together; our share of it stays the same."""
        rules = replace(self.config.watch, rate_per_s=rate_per_s)
        self.config = replace(self.config, watch=rules)
        self.set_share(self._share)

    def note_page(self, turn: Turn) -> None:
        """Put a page that is new on the watchlist."""
        self.pages.note_page(turn)

    def feed(self, now: float) -> int:
        """Lease what is due; return how many requests may be begun."""
        self.budget.pass_time(now, self.counters.requests)
        if now >= self._plan_at:
            self._plan(now)
        if self.is_once:
            self._feed_round(now)
        elif now >= self._feed_at and (room := self._room) > 0:
            put_off: Counter[str] = Counter()
            keys = self.pages.take_due(now, now, room)
            tasks = (self._task(key, now, put_off) for key in keys)
            self.frontier.lease_first([task for task in tasks if task is not None])
            self._feed_at = max(now + FEED_S, self.pages.next_due_at())
        return self.budget.left(len(self.in_flight))

    def _feed_round(self, now: float) -> None:
        """Lease what is left of a single round, as far as there is room.

        Pages of a host that is down are left for the next one.
        """
        self._fed_at = now
        self._look_at_held(now)
        if not self._has_all and self._is_exhausted:
            for key in self.pages.take_round(now):
                if not self._round.add(key):
                    self.pages.put_off(key, inf)  # it had its turn
            self._has_all = not self._round
        tasks = self._tasks_of_round(now)
        if not tasks and self._is_nothing_out:
            self._round.wake_postponed()
            tasks = self._tasks_of_round(now)
        self.frontier.lease_first(tasks)
        self._feed_at = inf  # the next one is leased when another comes back

    def _tasks_of_round(self, now: float) -> list[Task]:
        tasks: list[Task] = []
        while self._room > 0 and (due := self._round.take()) is not None:
            if (task := self._task(due, now, Counter())) is not None:
                tasks.append(task)
        return tasks

    def _look_at_held(self, now: float) -> None:
        """Take pages out of the round whose host is down; let go those whose host has none out."""
        for host in self._round.held_hosts:
            if self._is_down(host):
                for key in self._round.drop(host):
                    self.pages.put_off(key, now + PARKED_S)
            elif not self._out_of_host[host]:
                self._round.release(host)

    def next(self, now: float, open_to: Openings) -> Task | None:
        """Take a task that may be asked for now: a revisit, else a new page."""
        task = self.frontier.next(now, is_first=True)
        if task is None and self._may_crawl:
            task = self.frontier.next(now, open_to)
            if task is not None and task.kind is not LinkKind.REVISIT:
                self.budget.spent_on_new()
        return task

    def next_moment(self, open_to: Openings) -> float | None:
        """Return when there may be something to do, if a request may be begun."""
        due_at = self._feed_at if self._room > 0 else inf
        new_at = self.budget.next_new_at(len(self.in_flight)) if self._has_new else None
        ready_at = self.frontier.next_moment(open_to, is_first=not self._may_crawl)
        moments = (due_at, self._plan_at, new_at, ready_at)
        return min(moment for moment in moments if moment is not None)

    def next_request_at(self) -> float | None:
        """Return when the next request may be begun; None if one may be now."""
        count = len(self.in_flight)
        return None if self.budget.left(count) else self.budget.next_at(count)

    @property
    def _may_crawl(self) -> bool:
        """Return True if the next request may be for a new page."""
        return self.budget.may_crawl(len(self.in_flight)) and self._may_store

    def note_revisit(self, turn: Turn, old: UrlRecord) -> tuple[float, ...] | None:
        """Learn from a revisit, before it is recorded; return what is believed of its changes."""
        self._is_back(turn.task.url.key)
        belief = self.pages.note_revisit(turn, old)
        self._has_all = self._has_all and not turn.is_sitemap  # it may name pages that have changed
        due_at = self.pages.next_revisit_at(turn.task.url.key)
        if due_at is not None and not self.is_once:
            self._feed_at = min(self._feed_at, max(due_at, turn.at + FEED_S))
        return belief

    def let_go(self, key: int, until: float) -> None:
        """Let a revisit end of which nothing was learned; its page is left alone for a while."""
        self._is_back(key)
        self.pages.put_off(key, until)

    def _is_back(self, key: int) -> None:
        """Note that a revisit is no longer in the frontier."""
        host = self._out.pop(key, None)
        if host is not None:
            self._gaps[host_number(host)] = self.frontier.hosts.gap_s(host)
            self._out_of_host[host] -= 1
            if not self._out_of_host[host]:
                del self._out_of_host[host]
            self._round.release(host)

    def _plan(self, now: float) -> None:
        for host, rules in self.frontier.delays.own.items():
            self._own_delays[host_number(host)] = rules.delay_s or 0.0
        self._plan_at = now + self._until_next_plan_s
        rate_per_s = self.budget.for_revisits(has_new=self._has_new)
        expected = self.pages.plan(now, rate_per_s, self._most_per_s)
        self._feed_at = now
        self.freshness = round(expected, 4) if expected is not None else None
        self.counters.note_watched(self.watched)

    @property
    def _until_next_plan_s(self) -> float:
        """Return how long a plan holds. One of few pages is cheap, and they teach much at once."""
        if self.is_once:
            return inf
        soon_s = max(PLAN_S, PLAN_S_PER_PAGE * self.watched)
        return min(self.config.watch.replan_s, soon_s)

    def _most_per_s(self, host: int) -> float:
        """Return how many revisits a second a host's politeness leaves room for."""
        rules = self.config.politeness
        usual_s = rules.min_delay_s if rules.delay_s is None else rules.delay_s
        gap_s = max(self._gaps.get(host, 0.0), self._own_delays.get(host, usual_s))
        return BUSY_SHARE / gap_s if gap_s > 0.0 else inf

    @property
    def _has_new(self) -> bool:
        """Return True if there are new pages that may be stored."""
        return self.frontier.queued > len(self._out) and self._may_store

    @property
    def _may_store(self) -> bool:
        """Return True if a page more may be stored, those counted that are under way."""
        return self.has_room(sum(key not in self._out for key in self.in_flight))

    @property
    def _room(self) -> int:
        return 2 * self.config.concurrency - len(self._out)

    def _task(self, key: int, now: float, put_off: Counter[str]) -> Task | None:
        """Return the task of a revisit; None if it must wait, or the page has a new name."""
        record = self.record_of(key)
        if record is None:  # it was stored a moment ago, and is not committed yet
            self.pages.put_off(key, now + UNCOMMITTED_S)
            return None
        url = parse(record.url, self.config.urls)
        if url is None or url.key != key:  # the rules of canonical form have changed
            self.pages.drop(key)
            return None
        if self._is_postponed(key, now):
            return None
        if (probe_at := self.frontier.parking.probe_at(url.host)) is not None:
            if self.is_once and probe_at <= now and self._out_of_host[url.host]:
                self._round.hold(url.host, key)  # until it is known whether its host is back
                return None
            if probe_at > now or self._out_of_host[url.host]:  # its host is down: one at a time
                self.pages.put_off(key, max(probe_at, now + PARKED_S))
                return None
        elif self.is_once and self._out_of_host[url.host] >= MOST_OF_HOST:
            self._round.hold(url.host, key)
            return None
        elif self._out_of_host[url.host] >= MOST_OF_HOST:
            put_off[url.host] += 1
            waiting = MOST_OF_HOST + put_off[url.host]
            gap_s = max(LEAST_WAIT_S, self._gaps.get(host_number(url.host), 0.0))
            self.pages.put_off(key, now + waiting * gap_s)
            return None
        self._out[key] = url.host
        self._out_of_host[url.host] += 1
        return Task(url=url, kind=LinkKind.REVISIT)

    def _is_postponed(self, key: int, now: float) -> bool:
        """Return True if a page is a suspect that must wait: in a single round, for the others."""
        until = self.postponed_until(key)
        if until <= now:
            return False
        if self.is_once:
            return self._round.postpone(key)
        self.pages.put_off(key, until)
        return True
