"""What happens to one task while its host is ours: robots, address, fetch, reading, turn."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from msgspec.structs import replace

from gossamer.clock import CrawlTime
from gossamer.crawl.asking.answers import (
    answer_of,
    is_host_wide,
    is_throttled,
    sitemap_tasks,
    turn_reason,
    was_asked,
    with_label,
)
from gossamer.crawl.asking.caller import Caller
from gossamer.crawl.ledger import Ledger
from gossamer.crawl.pipeline import Reading
from gossamer.crawl.ports import Stations
from gossamer.crawl.watch.looking import Looker, is_not_modified
from gossamer.dedupe import content_fingerprint, words_fingerprint
from gossamer.fetch import Ask, GivenUp, RobotsCache, RobotsRules, Wait
from gossamer.frontier import Answer, Frontier
from gossamer.model import (
    Document,
    Extraction,
    Failed,
    Fetched,
    FetchOutcome,
    LinkKind,
    Objection,
    RefusalKind,
    Refused,
    Task,
    Turn,
    Url,
)
from gossamer.process import label_of
from gossamer.traps import Hold, ReleasedTasks, TrapDetector

WITH_ROBOTS = frozenset({"http", "https"})
FIRST_TRIES = 4
"""Look-ups of a seed's name before a crawl that never reached anything gives up on it."""


@dataclass(slots=True, kw_only=True)
class Worker:
    """Asks for one task at a time; many may run at once, never two for one host."""

    time: CrawlTime
    frontier: Frontier
    robots: RobotsCache
    caller: Caller
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
    traps: TrapDetector
    let_out: Callable[[ReleasedTasks], None]
    """Takes tasks that were held back to our frontier."""

    async def ask(self, task: Task) -> None:
        """Give a task its turn, or put it back with the moment and the reason to wait for."""
        is_new = task.kind is not LinkKind.REVISIT
        if is_new and (why := self.traps.may_go(task)) is not None:
            self._stay(task, why)
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

    def _stay(self, task: Task, why: Objection | Hold) -> None:
        """Leave a task to the trap that has it: on trial it waits, closed it is refused."""
        if isinstance(why, Objection):
            self._refuse(task, RefusalKind(why.reason.value), why.detail)
            return
        self.frontier.conclude(task)
        self.frontier.settle(task, self.time.now(), None)
        self.let_out(self.traps.release())

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
            outcome, elapsed_s, _ = await self.caller.call(url, max_body_bytes=self.robots_bytes)
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
            outcome, elapsed_s, _ = await self.caller.call(url, max_body_bytes=self.robots_bytes)
        except BaseException:
            self.frontier.settle(hop, self.time.now(), Answer(latency_s=0.0))
            raise
        self._take_robots(task, outcome, elapsed_s, hop=hop)
        self.frontier.settle(task, self.time.now(), None)

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

    async def _ask_page(self, task: Task, rules: RobotsRules | None) -> None:
        called = await self.caller.call(task.url, validators=self.looker.validators(task))
        outcome = called.outcome
        if isinstance(outcome, float):
            self._wait(task, outcome, "address_delay")
            return
        answer = answer_of(outcome, called.elapsed_s, rules)
        reading = None
        if isinstance(outcome, Fetched) and not is_not_modified(outcome):
            outcome, reading = await self._read(outcome)
        elif isinstance(outcome, Failed):
            outcome = with_label(outcome)
        self._finish(task, outcome, reading, answer, ended_at=called.ended_at)

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
        is_cut_off = not self.ledger.counters.requests and not was_asked(outcome)
        if is_cut_off and task.attempt >= FIRST_TRIES:
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
        self.ledger.record(turn, now)
        self.let_out(self.traps.release())
        self.ledger.is_urgent |= is_throttled(turn.outcome)
