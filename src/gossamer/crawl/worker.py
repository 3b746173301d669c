"""What happens to one task while its host is ours: robots, address, fetch, reading, turn."""

import dataclasses
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from msgspec.structs import replace

from gossamer.clock import CrawlTime
from gossamer.crawl.ledger import Ledger
from gossamer.crawl.pipeline import Reading, next_tasks, take_turn
from gossamer.crawl.ports import Stations
from gossamer.dedupe import content_fingerprint
from gossamer.fetch import RETRY, Ask, Fetcher, GivenUp, Resolver, RobotsCache, RobotsRules, Wait
from gossamer.filter import Return, Stay, Traps
from gossamer.frontier import AddressClocks, Answer, Frontier
from gossamer.model import (
    Document,
    Extraction,
    Failed,
    FailureKind,
    Fetched,
    FetchOutcome,
    Link,
    LinkKind,
    Objection,
    RefusalKind,
    Refused,
    Task,
    Turn,
    Url,
)
from gossamer.process import is_gate, label_of

WITH_ROBOTS = frozenset({"http", "https"})
BY_HOST_NAME = frozenset({"http", "https", "ftp"})
FIRST_TRIES = 4
"""Look-ups of a seed's name before a crawl that never reached anything gives up on it."""


@dataclass(slots=True, kw_only=True)
class Worker:
    """Asks for one task at a time; many may run at once, never two for one host."""

    time: CrawlTime
    frontier: Frontier
    addresses: AddressClocks
    robots: RobotsCache
    resolver: Resolver
    fetcher: Fetcher
    stations: Stations
    ledger: Ledger
    media_type_of: Callable[[Document], str]
    read: Callable[[Document, str], Awaitable[Extraction]]
    robots_bytes: int
    traps: Traps
    let_out: Callable[[Return], None]
    add: Callable[[list[Task]], None]
    """Takes new tasks to their owner: our frontier, or another shard."""

    async def ask(self, task: Task) -> None:
        """Give a task its turn, or put it back with the moment and the reason to wait for."""
        if (why := self.traps.may_go(task)) is not None:
            stay(self, task, why)
            return
        now = self.time.now()
        rules: RobotsRules | None = None
        if task.url.scheme in WITH_ROBOTS:
            match self.robots.look_up(task.url, now):
                case Ask(url=url):
                    await self._ask_robots(task, url)
                    return
                case Wait(until=until):
                    self._wait(task, until, "robots_unreachable", is_of_origin=True)
                    return
                case GivenUp(detail=detail):
                    self.refuse(task, RefusalKind.ROBOTS_UNREACHABLE, detail)
                    return
                case RobotsRules() as rules:
                    verdict = rules.verdict(task.url.target)
                    if not verdict.allowed:
                        detail = f"line {verdict.number}: {verdict.line}"
                        self.refuse(task, RefusalKind.ROBOTS_DISALLOWED, detail)
                        return
        await self._ask_page(task, rules)

    def give_up(self, task: Task, failed: Failed) -> None:
        """End a task that our own code failed on."""
        self._finish(task, failed, None, Answer(latency_s=0.0))

    def _wait(self, task: Task, until: float, reason: str, *, is_of_origin: bool = False) -> None:
        self.frontier.put_back(task, until, reason, is_of_origin=is_of_origin)
        self.frontier.settle(task, self.time.now(), None)

    def refuse(self, task: Task, kind: RefusalKind, detail: str) -> None:
        """End a task that we decline to ask for."""
        now, refused = self.time.now(), Refused(kind=kind, detail=detail)
        turn = take_turn(task, refused, None, self.stations, now)
        self.frontier.settle(task, now, None)
        self._record(turn, now)

    async def _ask_robots(self, task: Task, url: Url) -> None:
        """Ask for one hop of a robots.txt; the task waits for its host's next moment.

        A hop to another host needs that host too, so that no host ever has two connections.
        """
        if url.host == task.url.host:
            outcome, elapsed_s = await self._ask_hop(url)
            if not isinstance(outcome, float) and not was_asked(outcome):
                # No way to the host: robots.txt is not the problem, the task ends as it would.
                self._finish(task, outcome, None, None)
                return
            self._take_robots(task, outcome, elapsed_s, hop=task)
            return
        if (until := self.frontier.reserve(url.host, self.time.now())) is not None:
            self._wait(task, until, "robots_redirect")
            return
        hop = Task(url=url)
        try:
            outcome, elapsed_s = await self._ask_hop(url)
        except BaseException:
            self.frontier.settle(hop, self.time.now(), Answer(latency_s=0.0))
            raise
        self._take_robots(task, outcome, elapsed_s, hop=hop)
        self.frontier.settle(task, self.time.now(), None)

    async def _ask_hop(self, url: Url) -> tuple[FetchOutcome | float, float]:
        """Ask for one URL now; a moment instead of an outcome means that its address is not due."""
        addresses = await self._addresses(url)
        if isinstance(addresses, Failed):
            return addresses, 0.0
        if (until := self.addresses.take(addresses, self.time.now())) is not None:
            return until, 0.0
        began_at = self.time.now()
        self.ledger.counters.requests += 1
        outcome = await self.fetcher.fetch(url, addresses, max_body_bytes=self.robots_bytes)
        now = self.time.now()
        if addresses:
            self.addresses.touch(addresses[0], now)
        return outcome, now - began_at

    def _take_robots(
        self, task: Task, outcome: FetchOutcome | float, elapsed_s: float, *, hop: Task
    ) -> None:
        """Learn what one hop of a robots.txt said, put the task back, and settle the hop's host."""
        now = self.time.now()
        if isinstance(outcome, float):
            self.frontier.put_back(task, outcome, "address_delay")
            self.frontier.settle(hop, now, None)
            return
        self.robots.answer(task.url, outcome, now)
        if not isinstance(outcome, Refused) and outcome.document is not None:
            outcome.document.body.close()
        rules = self.robots.peek(task.url, now)
        if rules is not None and self.stations.process.sitemaps:
            self.add(sitemap_tasks(task.url, rules, self.stations))
        self.frontier.put_back(task, 0.0, "robots")
        # Rules are those of the task's host: they say nothing of another host on the way.
        answer = answer_of(outcome, elapsed_s, rules if hop is task else None)
        self.frontier.settle(hop, now, answer)
        self.ledger.is_urgent |= is_throttled(outcome)

    async def _addresses(self, url: Url) -> tuple[str, ...] | Failed:
        if url.scheme not in BY_HOST_NAME:
            return ()
        known = self.resolver.cached(url.host)
        return known if known is not None else await self.resolver.resolve(url.host)

    async def _ask_page(self, task: Task, rules: RobotsRules | None) -> None:
        addresses = await self._addresses(task.url)
        if isinstance(addresses, Failed):
            self._finish(task, addresses, None, None)
            return
        if (until := self.addresses.take(addresses, self.time.now())) is not None:
            self._wait(task, until, "address_delay")
            return
        began_at = self.time.now()
        outcome = with_label(await self.fetcher.fetch(task.url, addresses))
        self.ledger.counters.requests += 1
        now = self.time.now()
        if addresses:
            self.addresses.touch(addresses[0], now)
        answer = answer_of(outcome, now - began_at, rules)
        reading = None
        if isinstance(outcome, Fetched):
            outcome, reading = await self._read(outcome)
        self._finish(task, outcome, reading, answer, ended_at=now)

    async def _read(self, outcome: Fetched) -> tuple[FetchOutcome, Reading | None]:
        """Read a document: is its type wanted, is it a copy, what does it say?"""
        document = outcome.document
        media_type = self.media_type_of(document)
        wanted = self.stations.process.media_types
        if wanted and not any(fnmatchcase(media_type, pattern) for pattern in wanted):
            document.body.close()
            return Refused(kind=RefusalKind.CONTENT_TYPE, detail=media_type), None
        fingerprint = content_fingerprint(document)
        copy_of = self.stations.content_seen.first_copy(fingerprint)
        found = await self.read(document, media_type)
        if note := document.body.decode_note:
            document.oddities += (f"decoding: {note}",)
        if label := label_of(found):
            document.oddities += (label,)
        return outcome, Reading(found, fingerprint, copy_of, label)

    def _finish(
        self,
        task: Task,
        outcome: FetchOutcome,
        reading: Reading | None,
        answer: Answer | None,
        *,
        ended_at: float | None = None,
    ) -> None:
        now = self.time.now()
        turn = take_turn(task, outcome, reading, self.stations, now)
        if (
            task.attempt >= FIRST_TRIES
            and not was_asked(outcome)
            and not self.ledger.counters.requests
        ):
            turn.retry_at = None  # nothing was ever reached: rather a wrong name than an outage
        if turn.retry_at is not None:
            again = replace(task, attempt=task.attempt + 1)
            if is_host_wide(outcome):
                self.frontier.put_back(
                    again, turn.retry_at if answer is None else 0.0, turn_reason(turn)
                )
            else:
                self.frontier.delay(again, turn.retry_at)
        self.frontier.settle(task, ended_at if ended_at is not None else now, answer)
        self._record(turn, now)

    def _record(self, turn: Turn, now: float) -> None:
        if turn.retry_at is None:
            self.frontier.conclude(turn.task)
        self.traps.observe(turn)
        self.add(turn.new_tasks)
        self.ledger.record(turn, now)
        self.let_out(self.traps.release())
        self.ledger.is_urgent |= is_throttled(turn.outcome)


def stay(worker: Worker, task: Task, why: Objection | Stay) -> None:
    """Leave a task to the trap that has it: on trial it waits, closed it is refused."""
    if isinstance(why, Objection):
        worker.refuse(task, RefusalKind(why.reason.value), why.detail)
        return
    worker.frontier.conclude(task)
    worker.frontier.settle(task, worker.time.now(), None)
    worker.let_out(worker.traps.release())


def sitemap_tasks(url: Url, rules: RobotsRules, at: Stations) -> list[Task]:
    """Return tasks for the sitemaps that a robots.txt names, after the same tests as any link."""
    robots_url = url.origin + "/robots.txt"
    targets = [at.join(robots_url, text, at.urls) for text in rules.sitemaps]
    links = [Link(target=t, kind=LinkKind.SITEMAP) for t in targets if t is not None]
    return next_tasks(Task(url=replace(url, text=robots_url), depth=-1), links, at)[0]


def was_asked(outcome: FetchOutcome) -> bool:
    """Tell whether a request could be made: the name resolved, and we were willing."""
    return not isinstance(outcome, Refused) and not (
        isinstance(outcome, Failed)
        and outcome.kind in {FailureKind.DNS_NO_SUCH_HOST, FailureKind.DNS_UNREACHABLE}
    )


def with_label(outcome: FetchOutcome) -> FetchOutcome:
    """Return a failure that says so if its page is a gate: a browser would have been let in."""
    if not isinstance(outcome, Failed) or outcome.document is None:
        return outcome
    if not is_gate(outcome.document.status, outcome.document.body.decoded()):
        return outcome
    return dataclasses.replace(outcome, detail=f"{outcome.detail} (challenge)".lstrip())


def is_throttled(outcome: FetchOutcome) -> bool:
    """Tell whether the server asked us to slow down."""
    return isinstance(outcome, Failed) and outcome.kind is FailureKind.THROTTLED


def answer_of(outcome: FetchOutcome, elapsed_s: float, rules: RobotsRules | None) -> Answer | None:
    """Return what politeness must know of an outcome; None when no request was made."""
    if isinstance(outcome, Refused) or not was_asked(outcome):  # the first half is for mypy
        return None
    return Answer(
        latency_s=elapsed_s if isinstance(outcome, Failed) else outcome.document.latency_s,
        knows_rules=rules is not None,
        crawl_delay_s=rules.crawl_delay_s if rules is not None else None,
        is_throttled=is_throttled(outcome),
        retry_after_s=outcome.retry_after_s if isinstance(outcome, Failed) else None,
    )


def is_host_wide(outcome: FetchOutcome) -> bool:
    """Tell whether a failure concerns the whole host, so that the task keeps its place."""
    return isinstance(outcome, Failed) and RETRY[outcome.kind].is_host_wide


def turn_reason(turn: Turn) -> str:
    """Return the name of what a turn's URL waits for."""
    return turn.outcome.kind.value if isinstance(turn.outcome, Failed) else ""
