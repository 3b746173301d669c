"""What happens to one task while its host is ours: robots, address, fetch, reading, turn."""

import dataclasses
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from msgspec.structs import replace

from gossamer.clock import CrawlTime
from gossamer.crawl.ledger import Ledger
from gossamer.crawl.pipeline import Reading, next_tasks
from gossamer.crawl.ports import Stations
from gossamer.crawl.watch.looking import Looker, is_not_modified
from gossamer.dedupe import content_fingerprint, words_fingerprint
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
    looker: Looker
    """Knows how to ask for a page that we have, and what the answer means."""
    add: Callable[[list[Task]], None]
    """Takes new tasks to their owner: our frontier, or another shard."""
    promote: Callable[[list[Task]], None]
    """The same for queued ones that are worth more by now."""
    traps: Traps
    let_out: Callable[[Return], None]
    """Takes tasks that were held back to our frontier."""

    async def ask(self, task: Task) -> None:
        """Give a task its turn, or put it back with the moment and the reason to wait for."""
        if not self._may_go(task):
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
                    self._refuse(task, RefusalKind.ROBOTS_UNREACHABLE, detail)
                    return
                case RobotsRules() as rules:
                    verdict = rules.verdict(task.url.target)
                    if not verdict.allowed:
                        detail = f"line {verdict.number}: {verdict.line}"
                        self._refuse(task, RefusalKind.ROBOTS_DISALLOWED, detail)
                        return
        await self._ask_page(task, rules)

    def _may_go(self, task: Task) -> bool:
        """Tell whether no trap has the task; what is on trial waits, what is closed is refused."""
        match self.traps.may_go(task):
            case None:
                return True
            case Stay():
                self.frontier.conclude(task)
                self.frontier.settle(task, self.time.now(), None)
                self.let_out(self.traps.release())
            case objection:
                self._refuse(task, RefusalKind(objection.reason.value), objection.detail)
        return False

    def wake(self) -> None:
        """Go on with what traps hold back: there is nothing else left to do."""
        self.let_out(self.traps.wake())
        self._count_refused(self.ledger.counters.refused)

    def _count_refused(self, counts: dict[str, int]) -> None:
        for reason, count in self.traps.refused.items():
            counts[reason] = counts.get(reason, 0) + count
        self.traps.refused.clear()

    def give_up(self, task: Task, failed: Failed) -> None:
        """End a task that our own code failed on."""
        self._finish(task, failed, None, Answer(latency_s=0.0))

    def _wait(self, task: Task, until: float, reason: str, *, is_of_origin: bool = False) -> None:
        self.frontier.put_back(task, until, reason, is_of_origin=is_of_origin)
        self.frontier.settle(task, self.time.now(), None)

    def _refuse(self, task: Task, kind: RefusalKind, detail: str) -> None:
        now = self.time.now()
        turn = self.looker.take_turn(task, Refused(kind=kind, detail=detail), None, now)
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
        validators = self.looker.validators(task)
        outcome = await self.fetcher.fetch(task.url, addresses, validators=validators)
        self.ledger.counters.requests += 1
        now = self.time.now()
        if addresses:
            self.addresses.touch(addresses[0], now)
        answer = answer_of(outcome, now - began_at, rules)
        reading = None
        if isinstance(outcome, Fetched) and not is_not_modified(outcome):
            outcome, reading = await self._read(outcome)
        elif isinstance(outcome, Failed):
            outcome = with_label(outcome)
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
        words = words_fingerprint(found)
        return outcome, Reading(found, fingerprint, copy_of, words, label)

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
        turn = self.looker.take_turn(task, outcome, reading, now)
        if (
            task.attempt >= FIRST_TRIES
            and not was_asked(outcome)
            and not self.ledger.counters.requests
        ):
            turn.retry_at = None  # nothing was ever reached: rather a wrong name than an outage
        if turn.retry_at is not None and turn.finding is None:
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
        if turn.retry_at is None or turn.finding is not None:
            self.frontier.conclude(turn.task)
        self.traps.observe(turn)
        self.add(turn.new_tasks)
        if turn.promoted:
            self.promote(turn.promoted)
        self._count_refused(turn.refused)
        self.ledger.record(turn, now)
        self.let_out(self.traps.release())
        self.ledger.is_urgent |= is_throttled(turn.outcome)


def sitemap_tasks(url: Url, rules: RobotsRules, at: Stations) -> list[Task]:
    """Return tasks for the sitemaps that a robots.txt names, through the same tests as any link."""
    robots_url = url.origin + "/robots.txt"
    targets = [at.join(robots_url, text, at.urls) for text in rules.sitemaps]
    links = [Link(target=t, kind=LinkKind.SITEMAP) for t in targets if t is not None]
    source = Task(url=replace(url, text=robots_url), depth=-1)
    return next_tasks(source, links, at).new


def was_asked(outcome: FetchOutcome) -> bool:
    """Tell whether a request could be made: the name resolved, and we were willing."""
    return not isinstance(outcome, Refused) and not (
        isinstance(outcome, Failed)
        and outcome.kind in {FailureKind.DNS_NO_SUCH_HOST, FailureKind.DNS_UNREACHABLE}
    )


def with_label(failed: Failed) -> Failed:
    """Return a failure that says so if its page is a gate: a browser would have been let in."""
    document = failed.document
    if document is None or not is_gate(document.status, document.body.decoded()):
        return failed
    return dataclasses.replace(failed, detail=f"{failed.detail} (challenge)".lstrip())


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
