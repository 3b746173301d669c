"""What happens to one task while its host is ours: robots, request, reading, turn, record."""

from dataclasses import dataclass, field

from msgspec.structs import replace

from gossamer.clock import CrawlTime
from gossamer.crawl.core import OF_STORED_PAGES, Core, SeedFailures
from gossamer.crawl.ledger import Ledger
from gossamer.crawl.pipeline import (
    DETAIL_CHARS,
    Reading,
    RobotsHop,
    answer_of,
    document_of,
    end_of,
    failed_try,
    is_head_refused,
    is_host_wide,
    is_not_modified,
    is_of_host,
    is_stale,
    is_throttled,
    sitemap_tasks,
    take_turn,
    turn_reason,
    was_asked,
)
from gossamer.crawl.reading import DocumentReader, PageReading
from gossamer.crawl.requester import NotDue, Requested, Requester
from gossamer.crawl.revisit import RevisitTurns
from gossamer.crawl.short_retries import ENDED_AT_ONCE, retry_robots, without_soft_failure
from gossamer.crawl.sitemaps import SitemapProbes, SitemapTally
from gossamer.crawl.suspicion import judge_suspect
from gossamer.dedupe import answer_fingerprint
from gossamer.fetch import (
    Ask,
    RobotsRules,
    RobotsVerdict,
    TransferWatch,
    Wait,
    delay_s,
)
from gossamer.frontier import (
    FailedTry,
    HostAnswer,
    HostFailure,
    robots_failure,
)
from gossamer.log import tell
from gossamer.model import (
    Failed,
    FailureKind,
    FetchOutcome,
    LinkKind,
    Objection,
    RefusalKind,
    Refused,
    RevisitResult,
    Task,
    Turn,
    Url,
)
from gossamer.traps import Hold

FIRST_TRIES = 4
"""Look-ups of a seed's name before a crawl that never reached anything gives up on it."""
OF_ANOTHER_URL = " (looked up once, for another URL of its host)"
SAID_TO_ANOTHER = " (its host asked for a longer pause)"
ROBOTS_RETRY_S = 5.0
"""How long a host is left alone after the first failure of its robots.txt."""
ROBOTS_ITSELF = "robots.txt"
OWN_HOST = "own host"
NO_LINE, NO_RULES = "no line", "no rules"
"""Why a request was allowed, if no line of robots.txt says so."""
REST_S = 86_400.0
"""A stored page on which our own code fails is not revisited before this long."""


@dataclass(slots=True, kw_only=True)
class Worker:
    """Asks for one task at a time; many may run at once, never two for one host."""

    time: CrawlTime
    core: Core
    ledger: Ledger
    requester: Requester
    reader: DocumentReader
    revisits: RevisitTurns
    robots_bytes: int
    has_one_host: bool = False
    """All seeds are of one host."""
    seeds: SeedFailures = field(default_factory=SeedFailures)
    probes: SitemapProbes
    sitemaps: SitemapTally = field(default_factory=SitemapTally)
    _holding: set[int] = field(default_factory=set)
    """Tasks whose host is still busy with them: settled once, whatever fails."""
    _no_head: set[int] = field(default_factory=set)
    """Tasks whose header could not be had: their pages are asked for next."""

    async def ask(self, task: Task, watch: TransferWatch | None = None) -> None:
        """Give a task its turn, or put it back with the moment and the reason to wait for."""
        self._holding.add(task.url.key)
        passed = self._pass(task)
        if passed is None:
            return
        task = passed
        now = self.time.now()
        if guilt := self.core.suspects.guilt(task.url.key):
            self.core.suspects.clear(task.url.key)
            failed = Failed(kind=FailureKind.KILLED_US, detail=guilt)
            self._finish(task, failed, None, None, ended_at=now)
            return
        rules: RobotsRules | None = None
        allowed_by = ""
        if self.requester.fetcher.has_robots(task.url.scheme):
            match self.core.robots.look_up(task.url, now):
                case Ask(url=url):
                    await self._ask_robots(task, url, watch)
                    return
                case Wait(url=url, until=until):
                    if self.core.frontier.has_work_besides(task):
                        self._wait(task, until, "robots_unreachable", is_of_origin=True)
                    else:
                        await self._ask_robots(task, url, watch)
                    return
                case RobotsRules() as rules:
                    verdict = rules.verdict(task.url.target)
                    if not verdict.allowed:
                        detail = f"line {verdict.number}: {verdict.line}"
                        self._refuse(task, RefusalKind.ROBOTS_DISALLOWED, detail)
                        return
                    allowed_by = self._allowed_by(task.url.host, rules, verdict)
        await self._ask_page(task, rules, allowed_by, watch)

    def _allowed_by(self, host: str, rules: RobotsRules, verdict: RobotsVerdict) -> str:
        """Return why a page may be asked for, in the words that are kept of its request."""
        if verdict.number:
            return f"line {verdict.number}: {verdict.line}"
        if self.core.robots.is_own(host):
            return OWN_HOST
        return NO_LINE if rules.rules else NO_RULES

    def _pass(self, task: Task) -> Task | None:
        """Return a task that filters and trap detector let go; None if it was refused or is held.

        Filters have judged it when it was queued. They are asked again if other rules hold by now.
        """
        filters = self.core.filters
        if task.rules != filters.checksum:
            if (objection := self.core.objection_to(task)) is not None:
                self._refuse(task, RefusalKind(objection.reason.value), objection.detail)
                return None
            task = replace(task, rules=filters.checksum)
        if task.kind in OF_STORED_PAGES:
            return task
        if (why := self.core.traps.may_go(task)) is not None:
            self._stay(task, why)
            return None
        if task.nesting and (many := self.sitemaps.excess(task.url.host)):
            self._refuse(task, RefusalKind.SITEMAP_LIMIT, many)
            return None
        return task

    def _stay(self, task: Task, why: Objection | Hold) -> None:
        """Leave a task to the trap detector: on probation it waits, closed it is refused."""
        if isinstance(why, Objection):
            self._refuse(task, RefusalKind(why.reason.value), why.detail)
            return
        self.core.frontier.withdraw(task)
        self._settle(task, self.time.now(), None)
        self.core.release_held()

    def give_up(self, task: Task, error: Exception) -> None:
        """End a task that our own code failed on: it costs this URL and no other."""
        key = task.url.key
        if key not in self._holding:
            return  # its turn was recorded before the error
        now = self.time.now()
        turn = self._given_up(task, Failed(kind=FailureKind.INTERNAL, detail=repr(error)[:500]))
        self.core.frontier.conclude(task)
        self._settle(task, now, HostAnswer(latency_s=0.0))
        try:
            self.ledger.record(turn, now)
        except Exception as second:  # noqa: BLE001  # a bug that strikes twice costs one URL, too
            tell("worker.failed", url=task.url.text, error=repr(second))
            self.ledger.record_bare(turn, now)
        try:
            self.core.traps.observe(turn)  # or a probe of theirs would be in flight for ever
            self.core.release_held()
        except Exception as second:  # noqa: BLE001  # as above
            tell("worker.failed", url=task.url.text, error=repr(second))

    def _given_up(self, task: Task, failed: Failed) -> Turn:
        """Return the turn of a task that our own code failed on."""
        now = self.time.now()
        if task.kind is not LinkKind.REVISIT:
            return Turn(task=task, outcome=failed, at=now)
        try:
            return self._take_turn(task, failed, None, now)
        except Exception as second:  # noqa: BLE001  # as above
            tell("worker.failed", url=task.url.text, error=repr(second))
            result, again_at = RevisitResult.NO_ANSWER, now + REST_S
            self.revisits.let_go(task, again_at)
            return Turn(task=task, outcome=failed, at=now, revisit=result, retry_at=again_at)

    def _wait(self, task: Task, until: float, reason: str, *, is_of_origin: bool = False) -> None:
        self.core.frontier.put_back(task, until, reason, is_of_origin=is_of_origin)
        self._settle(task, self.time.now(), None)

    def _settle(self, task: Task, now: float, answer: HostAnswer | None) -> None:
        self._holding.discard(task.url.key)
        self.core.frontier.settle(task, now, answer)

    def _refuse(self, task: Task, kind: RefusalKind, detail: str) -> None:
        """End a task without a request; a page that we have is no longer its host's witness."""
        now = self.time.now()
        if task.kind is LinkKind.WITNESS:
            self.core.frontier.parking.forget_witness(task.url.host)
            self.core.frontier.conclude(task)
            self._settle(task, now, None)
            return
        turn = self._take_turn(task, Refused(kind=kind, detail=detail), None, now)
        self._record(turn, task, now, None)

    async def _ask_robots(self, task: Task, url: Url, watch: TransferWatch | None) -> None:
        """Ask for one hop of a robots.txt; the task waits for its host's next moment.

        A hop to another host needs that host too, so that no host ever has two connections.
        """
        if url.host == task.url.host:
            came = await self._request_robots(url, watch)
            if isinstance(came, Requested) and not was_asked(came.outcome):
                # No way to the host: robots.txt is not the problem, the task ends as it would.
                self._finish(task, came.outcome, None, None, ended_at=self.time.now())
                return
            now = self.time.now()
            self._settle(task, now, self._take_robots(task, came, now, is_own=True).asked)
            self.record_lost()
            return
        frontier = self.core.frontier
        if (until := frontier.reserve(url.host, self.time.now())) is not None:
            self._wait(task, until, "robots_redirect")
            return
        hop = Task(url=url)
        said = RobotsHop(HostAnswer(latency_s=0.0), None)
        try:
            came = await self._request_robots(url, watch)
            said = self._take_robots(task, came, self.time.now(), is_own=False)
        finally:
            frontier.settle(hop, self.time.now(), said.asked)
        self._settle(task, self.time.now(), said.of_task)
        self.record_lost()

    async def _request_robots(self, url: Url, watch: TransferWatch | None) -> Requested | NotDue:
        return await self.requester.request(
            url, max_body_bytes=self.robots_bytes, watch=watch, allowed_by=ROBOTS_ITSELF
        )

    def _take_robots(
        self, task: Task, came: Requested | NotDue, now: float, *, is_own: bool
    ) -> RobotsHop:
        """Learn what one hop of a robots.txt said and put the task back.

        Return what politeness must know of the host that was asked, and of the task's.
        """
        frontier, robots = self.core.frontier, self.core.robots
        if isinstance(came, NotDue):
            frontier.put_back(task, came.until, came.reason)
            return RobotsHop(None, None)
        outcome = came.outcome
        if is_stale(outcome):
            return RobotsHop(self._put_back_stale(task, came), None)
        trouble = robots.answer(task.url, outcome, now)
        self.seeds.note(task, trouble and f"robots.txt: {trouble}")
        if not isinstance(outcome, Refused) and outcome.document is not None:
            outcome.document.body.close()
        rules = robots.peek(task.url, now)
        if rules is not None and self.core.stations.process.sitemaps:
            self.core.add(sitemap_tasks(task, rules, self.core.stations))
        failure = None
        if is_throttled(outcome):
            self.ledger.hurry()
        elif trouble:
            failure = robots_failure(trouble, task.url.origin)
        self._put_back_after_robots(task, failure, trouble, now)
        # Rules are those of the task's host: they say nothing of another host on the way.
        asked = answer_of(outcome, came.elapsed_s, rules if is_own else None)
        if asked is None:
            return RobotsHop(None, None)
        asked = replace(asked, is_page=False, is_whole=not is_own or rules is not None)
        if self.core.stations.most_retries is not None:
            return RobotsHop(replace(asked, failure=None), None)
        if is_own:
            return RobotsHop(replace(asked, failure=failure or asked.failure), None)
        news = HostAnswer(latency_s=0.0, is_page=False, failure=failure, is_answer=False)
        is_news = failure is not None or (
            rules is not None and frontier.parking.is_failing(task.url.host)
        )
        return RobotsHop(asked, news if is_news else None)

    def _put_back_after_robots(
        self, task: Task, failure: HostFailure | None, trouble: str, now: float
    ) -> None:
        """Put a task back. If its robots.txt cannot be had, other origins of its host go first."""
        frontier, until = self.core.frontier, now + ROBOTS_RETRY_S
        if failure is None:
            frontier.put_back(task, 0.0, "robots")
            return
        if (most := self.core.stations.most_retries) is not None:
            retry_robots(task, failure, trouble, self.core, self.ledger, most=most, now=now)
            return
        if frontier.has_work_besides(task):
            wait = self.core.robots.look_up(task.url, now)
            until = wait.until if isinstance(wait, Wait) else until
        frontier.put_back(task, until, "robots_unreachable", is_of_origin=True)

    async def _ask_page(
        self,
        task: Task,
        rules: RobotsRules | None,
        allowed_by: str,
        watch: TransferWatch | None,
    ) -> None:
        is_again = task.kind is LinkKind.REVISIT
        validators = self.revisits.validators(task) if is_again else None
        is_head = self.requester.asks_head and task.url.key not in self._no_head
        came = await self.requester.request(
            task.url,
            validators=validators,
            watch=watch,
            is_head=is_head,
            allowed_by=allowed_by,
        )
        if isinstance(came, NotDue):
            self._wait(task, came.until, came.reason)
            return
        if is_stale(came.outcome):
            self._settle(task, came.ended_at, self._put_back_stale(task, came))
            return
        answer = answer_of(came.outcome, came.elapsed_s, rules, task.url.origin)
        if self.core.stations.most_retries is not None:
            answer = without_soft_failure(answer)
        if task.kind is LinkKind.WITNESS:
            self._take_witness(task, came.outcome, answer, came.ended_at)
            return
        if is_head and is_head_refused(came.outcome):
            self._settle(task, came.ended_at, self._put_back_for_get(task, came))
            return
        self._no_head.discard(task.url.key)
        document = document_of(came.outcome)
        if document is None or is_head or is_not_modified(came.outcome):
            self._finish(task, came.outcome, None, answer, ended_at=came.ended_at)
            return
        self.reader.begin(document)
        reading: Reading | None = None
        try:
            reads = PageReading(self.core, self.reader, self.probes, self.time)
            outcome, reading = await reads.read(task, came.outcome, document)
            self._finish(task, outcome, reading, answer, ended_at=came.ended_at)
        finally:
            self.reader.end()
            if reading is not None:
                self.core.content_seen.release(reading.to_store)

    def _put_back_stale(self, task: Task, came: Requested) -> HostAnswer | None:
        """Put a task back whose request broke with a kept connection; its host waits its gap.

        It is asked for next, over a new connection, so that it cannot happen to it for ever.
        """
        reason = FailureKind.STALE_CONNECTION.value
        self.ledger.counters.count_failure(reason, "", is_final=False)
        self.core.frontier.put_back(task, 0.0, reason)
        answer = answer_of(came.outcome, came.elapsed_s, None)
        return replace(answer, is_whole=False) if answer is not None else None

    def _put_back_for_get(self, task: Task, came: Requested) -> HostAnswer | None:
        """Put a task back whose header cannot be had; its page is asked for after the gap."""
        if (document := document_of(came.outcome)) is not None:
            document.body.close()
        self._no_head.add(task.url.key)
        self.core.frontier.put_back(task, 0.0, "head_refused")
        answer = answer_of(came.outcome, came.elapsed_s, None)
        return replace(answer, is_whole=False, failure=None) if answer is not None else None

    def _take_witness(
        self, task: Task, outcome: FetchOutcome, answer: HostAnswer | None, ended_at: float
    ) -> None:
        """Let a page that we have tell only whether its host answers."""
        if not isinstance(outcome, Refused) and outcome.document is not None:
            outcome.document.body.close()
        self.core.frontier.conclude(task)
        self._settle(task, ended_at, replace(answer, is_witness=True) if answer else None)
        self.record_lost()

    def record_lost(self) -> None:
        """Record the ends of URLs that end without another request."""
        for lost in self.core.frontier.parking.take_lost():
            now = self.time.now()
            turn = Turn(task=lost.task, outcome=end_of(lost.reason, lost.detail), at=now)
            turn = self.probes.end(turn, now)
            self.seeds.note(lost.task, f"{lost.reason}: {lost.detail}")
            self.core.traps.observe(turn)
            self.ledger.record(turn, now)
            self.core.release_held()

    def _take_turn(
        self, task: Task, outcome: FetchOutcome, reading: Reading | None, now: float
    ) -> Turn:
        """Turn a finished fetch into a turn; a revisit compares it with what is stored."""
        task = self.core.labels.with_late(task)
        importance = self.core.importance_of(task.url.key)  # before the page spends what it has
        is_again = task.kind is LinkKind.REVISIT
        if is_again and (old := self.revisits.record_of(task)) is not None:
            return self.revisits.take_turn(task, old, outcome, reading, now, importance=importance)
        turn = take_turn(task, outcome, reading, self.core.stations, now, importance=importance)
        turn = self._with_stored_answer(turn)
        if self.revisits.watcher is not None:
            self.revisits.watcher.note_page(turn)
        return turn

    def _with_stored_answer(self, turn: Turn) -> Turn:
        """Let a turn refer to the same answer, if the archive has it from before it was damaged.

        Of a page that could be compared its content has told.
        """
        document = document_of(turn.outcome)
        is_final = turn.retry_at is None and turn.fingerprint is None
        if document is None or not is_final or document.body.is_spooled:
            return turn
        answer = answer_fingerprint(turn.task.url, document.status, document.body.sent())
        stored = self.core.stations.content_seen.first_copy(answer)
        return turn if stored is None else replace(turn, copy_of=stored)

    def _finish(
        self,
        task: Task,
        outcome: FetchOutcome,
        reading: Reading | None,
        answer: HostAnswer | None,
        *,
        ended_at: float,
    ) -> None:
        now = self.time.now()
        turn = self._take_turn(task, outcome, reading, now)
        turn, answer = self.probes.answered(turn, answer, now)
        tried: FailedTry | None = None
        if isinstance(outcome, Failed):
            self.seeds.note(task, f"{outcome.reason}: {outcome.detail}")
        if isinstance(outcome, Failed) and turn.revisit is None:
            if outcome.kind is FailureKind.DNS_UNREACHABLE:
                turn = replace(turn, retry_at=self._next_look_up_at(task, now))
            elif (
                answer is not None
                and answer.failure is not None
                and (is_of_host(outcome) and not self._is_own(task, outcome, turn))
            ):
                tried = failed_try(task, outcome, answer.failure, turn.retry_at, now)
                turn = replace(turn, retry_at=tried.retry_at)
            if outcome.kind is FailureKind.DNS_NO_SUCH_HOST:
                self._end_queued(task, outcome, OF_ANOTHER_URL)
            elif is_throttled(outcome) and turn.retry_at is None and outcome.retry_after_s:
                self._end_queued(task, outcome, SAID_TO_ANOTHER)
        turn = self.probes.end(turn, now)
        if task.url.key in self.core.suspects:
            turn = judge_suspect(turn, self.core.suspects, now)
        self._record(turn, task, ended_at, answer, tried)

    def _end_queued(self, task: Task, failed: Failed, why: str) -> None:
        """End what is queued of a host whose name does not exist, or some of it.

        So ends what is queued of a host that wants to be left alone for longer than retries last.

        `record_lost` records it, in the commit of the task itself. What is left goes with the next
        task of the host: its name is not looked up again, and no step takes long.
        """
        detail = f"{failed.detail}{why}"[:DETAIL_CHARS]
        parking = self.core.frontier.parking
        parking.end_queued(task.url.host, failed.kind.value, detail, ENDED_AT_ONCE)

    def _is_own(self, task: Task, failed: Failed, turn: Turn) -> bool:
        """Return True if a failure counts for its URL, whatever becomes of the host.

        So does an answer that broke off, unless the host is down; and the last try of a URL that
        failed again and again while its host was answering; and whatever fails if retries are few.
        """
        if self.core.stations.most_retries is not None:
            return True
        frontier, host = self.core.frontier, task.url.host
        if failed.document is not None and failed.kind is not FailureKind.HTTP_5XX:
            return frontier.parking.probe_at(host) is None
        return turn.retry_at is None and not frontier.parking.is_failing(host)

    def _next_look_up_at(self, task: Task, now: float) -> float | None:
        """Return when a name is looked up again after the resolver failed.

        None if nothing was ever reached in a crawl of one host: rather a wrong name than an outage.
        """
        frontier = self.core.frontier
        failures = frontier.note_unresolved(task.url.host)
        is_cut_off = not self.ledger.counters.requests and self.has_one_host
        if is_cut_off and frontier.hosts.count == 1 and failures > FIRST_TRIES:
            return None
        most = self.core.stations.most_retries
        if most is not None and failures > most:
            return None
        return now + delay_s(FailureKind.DNS_UNREACHABLE, failures - 1)

    def _record(
        self,
        turn: Turn,
        task: Task,
        ended_at: float,
        answer: HostAnswer | None,
        tried: FailedTry | None = None,
    ) -> None:
        """Queue what follows from a turn, record it, and let its host go.

        The links come first: what the seen test has taken in must not depend on what fails below.
        """
        core = self.core
        self.sitemaps.note(turn)
        if isinstance(turn.outcome, Failed | Refused):
            self.seeds.note(task)
        try:
            turn = core.traps.observe(turn)
        finally:
            core.take_turn(turn)
        self.ledger.record(turn, self.time.now())
        if turn.retry_at is None or turn.revisit is not None:
            core.frontier.conclude(turn.task)
        elif tried is not None:
            core.frontier.parking.set_failed(task, tried)
        else:
            self._try_again(turn, turn.retry_at, task, answer)
        self._settle(task, ended_at, answer)
        self.record_lost()
        core.release_held()
        if is_throttled(turn.outcome):
            self.ledger.hurry()

    def _try_again(
        self, turn: Turn, retry_at: float, task: Task, answer: HostAnswer | None
    ) -> None:
        """Let a task wait for its next try: ahead in its host's queue, or aside and charged."""
        if is_host_wide(turn.outcome) and self.core.stations.most_retries is None:
            until = retry_at if answer is None else 0.0
            self.core.frontier.put_back(task, until, turn_reason(turn))
        else:
            self.core.frontier.delay(replace(task, attempt=task.attempt + 1), retry_at)
