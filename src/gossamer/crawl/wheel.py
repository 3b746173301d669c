"""The wheel: lease, dispatch, commit, wait; and the chores beside it."""

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gossamer.clock import CrawlTime
from gossamer.config import Config
from gossamer.crawl.ledger import Ledger
from gossamer.crawl.ports import Seat
from gossamer.crawl.worker import Worker
from gossamer.errors import GossamerError
from gossamer.frontier import Frontier
from gossamer.log import tell
from gossamer.model import Failed, FailureKind, Row, Task
from gossamer.seen import UrlSeen, Work
from gossamer.store import FlightBoard

GRACE_S = 8.0
"""How long a clean stop waits for answers that are under way."""
CHORES_S = 1.0
STARVING_FRACTION = 0.1
UNLIMITED = 1 << 60


@dataclass(slots=True, kw_only=True)
class Wheel:
    """Turns until the crawl is finished, a limit is reached, or somebody asks it to stop."""

    config: Config
    time: CrawlTime
    frontier: Frontier
    ledger: Ledger
    worker: Worker
    url_seen: UrlSeen
    board: FlightBoard
    seat: Seat
    folder: Path
    in_flight: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    stop_reason: str = ""
    paused: str = ""
    """Why nothing new is asked for at the moment; "" while the wheel turns freely."""
    began_at: float = 0.0
    seconds_before: float = 0.0
    """Crawling time of earlier runs."""
    nudge: asyncio.Event = field(default_factory=asyncio.Event)
    syncing: asyncio.Lock = field(default_factory=asyncio.Lock)
    error: BaseException | None = None
    """What work beside the wheel has failed with."""
    on_chores: Callable[[], None] = lambda: None

    async def run(self) -> bool:
        """Turn the wheel; True when the crawl is finished: nothing queued, leased or waiting."""
        self.began_at = self.time.now()
        self.seconds_before = self.ledger.counters.seconds
        self._look_at_disk()
        async with asyncio.TaskGroup() as group:
            chores = group.create_task(self._do_chores())
            try:
                while not self._is_over():
                    await self._turn(group)
                if self.stop_reason:
                    await self._drain()
            finally:
                chores.cancel()
                for asking in self.in_flight.values():
                    asking.cancel()
        self._count_seconds()
        self.ledger.commit()
        return not self.stop_reason and not self.frontier.queued and not self.worker.traps.held

    def stop(self, reason: str) -> None:
        """Ask for no more; what is under way may end."""
        self.stop_reason = reason
        self.nudge.set()

    def fail(self, error: BaseException) -> None:
        """End the crawl with an error that came up beside the wheel."""
        self.error = error
        self.nudge.set()

    def _is_over(self) -> bool:
        if self.stop_reason or (self.limit_reached() and not self.in_flight):
            return True
        return self.is_idle and self.seat.may_leave()

    @property
    def is_idle(self) -> bool:
        """Tell whether nothing is queued, leased, under way or uncommitted here."""
        busy = self.in_flight or self.ledger.group or self.has_uncommitted
        return not busy and not self.frontier.queued and not self.worker.traps.held

    @property
    def has_uncommitted(self) -> bool:
        """Tell whether there is anything besides turns that a commit would write."""
        return self.frontier.has_uncommitted or self.seat.has_uncommitted

    def limit_reached(self) -> str:
        """Return the name of the limit that has been reached, or ""."""
        limits, counters = self.config.limits, self.ledger.counters
        if limits.max_pages is not None and counters.pages >= limits.max_pages:
            return "max_pages"
        if limits.max_bytes is not None and counters.archive_bytes >= limits.max_bytes:
            return "max_bytes"
        if limits.max_time_s is not None:
            elapsed_s = self.time.now() - self.began_at
            return "max_time" if elapsed_s >= limits.max_time_s else ""
        return ""

    @property
    def uncommitted(self) -> int:
        """Return how many answers, of pages and of robots.txt, a kill would make us ask again."""
        return len(self.ledger.group) + self.worker.robots.uncommitted

    async def _turn(self, group: asyncio.TaskGroup) -> None:
        """Dispatch what may go, commit what is due, then wait for something to happen."""
        self.nudge.clear()
        if self.error is not None:
            raise self.error
        if not self.in_flight and not self.frontier.queued and self.worker.traps.held:
            self.worker.let_out(self.worker.traps.wake())
        is_starving = self._dispatch(group) > 0 and self.frontier.has_leases_to_commit
        now = self.time.now()
        if self.ledger.opened_at is None and self.has_uncommitted:
            self.ledger.opened_at = now  # clocks and woken tasks wait no longer than turns
        store = self.config.store
        wait_s = store.commit_s * (STARVING_FRACTION if is_starving else 1.0)
        size = min(store.commit_pages, max(1, self.config.concurrency // 2))
        nothing_under_way = not self.in_flight and (self.ledger.group or self.has_uncommitted)
        is_full = self.uncommitted >= size
        if nothing_under_way or is_full or self.ledger.is_due(now, wait_s=wait_s):
            self.ledger.commit()
            return
        await self._wait(now, wait_s)

    def _dispatch(self, group: asyncio.TaskGroup) -> int:
        """Start as many tasks as may go; return how many slots stay free."""
        free = self._free_slots()
        while free > 0 and (task := self.frontier.next(self.time.now())) is not None:
            self.board.take_off(task.url.key)
            self.in_flight[task.url.key] = group.create_task(self._ask(task))
            free -= 1
        return free

    def _free_slots(self) -> int:
        if self.paused or self.seat.is_blocked or self.limit_reached():
            return 0
        # What is uncommitted counts as in flight: a kill repeats at most `concurrency` requests.
        free = self.config.concurrency - len(self.in_flight) - self.uncommitted
        used = self.ledger.counters.pages + len(self.in_flight)
        return min(free, self.seat.pages_left(used, free))

    async def _ask(self, task: Task) -> None:
        try:
            await self.worker.ask(task)
        except GossamerError:
            raise
        except Exception as error:  # noqa: BLE001  # the top of a worker: a bug becomes a value
            tell("worker.failed", url=task.url.text, error=repr(error))
            self.worker.give_up(task, Failed(kind=FailureKind.INTERNAL, detail=repr(error)[:500]))
        finally:
            del self.in_flight[task.url.key]
            self.board.land(task.url.key)
            self.nudge.set()

    async def _wait(self, now: float, wait_s: float) -> None:
        """Sleep until a fetch ends, a host becomes ready, or the group is due."""
        until = now + CHORES_S
        if self.ledger.opened_at is not None:
            until = min(until, self.ledger.opened_at + wait_s)
        if not self.in_flight:
            self.seat.rest()
        if self._free_slots() > 0 and (moment := self.frontier.next_moment()) is not None:
            until = min(until, moment)
        timer = asyncio.get_running_loop().call_later(max(0.0, until - now), self.nudge.set)
        await self.nudge.wait()
        timer.cancel()

    async def _drain(self) -> None:
        """Let requests that are under way end, but not for ever."""
        deadline = self.time.now() + GRACE_S
        while self.in_flight and self.time.now() < deadline:
            self.nudge.clear()
            self.ledger.commit()
            await self._wait(self.time.now(), self.config.store.commit_s)

    async def _do_chores(self) -> None:
        """Once a second: make commits durable, look at the disk, tidy the seen runs."""
        tidying = Tidying(self.url_seen)
        try:
            while True:
                await self.time.clock.sleep(CHORES_S)
                self._count_seconds()
                self._look_at_disk()
                if self.config.store.sync == "second":
                    await self.sync()
                self.url_seen.discard_replaced()
                if rows := tidying.rows_of_finished():
                    self.ledger.extra_rows.extend(rows)
                    self.ledger.commit()
                self.on_chores()
        finally:
            self.ledger.extra_rows.extend(await tidying.end())

    async def sync(self) -> None:
        """Move the durable point up to the last commit, and tell the seat."""
        async with self.syncing:
            commits = self.seat.commits
            await in_thread(self._sync)
            self.seat.durable(commits)

    def _sync(self) -> None:
        """Make everything committed so far durable: archive first, then the state."""
        self.ledger.archive.sync()
        self.ledger.state.sync()

    def _look_at_disk(self) -> None:
        free = shutil.disk_usage(self.folder).free
        is_low = free < self.config.store.min_free_bytes
        if is_low and not self.paused:
            tell("crawl.paused", reason="disk_low", free_bytes=free)
        self.paused = "disk_low" if is_low else ""

    def _count_seconds(self) -> None:
        self.ledger.counters.seconds = self.seconds_before + self.time.now() - self.began_at


class Tidying:
    """Writes seen runs in a thread, one at a time.

    A merge takes half a minute in a large crawl; commits must not wait so long to be durable.
    """

    def __init__(self, url_seen: UrlSeen) -> None:
        self._url_seen = url_seen
        self._work: Work | None = None
        self._job: asyncio.Future[None] | None = None

    def rows_of_finished(self) -> list[Row]:
        """Return the rows of a run that is finished; else begin one, if one is due."""
        if self._work is None or self._job is None:
            if (work := self._url_seen.due()) is not None:
                job = asyncio.get_running_loop().run_in_executor(None, work.do)
                self._work, self._job = work, job
            return []
        if not self._job.done():
            return []
        work, job, self._work, self._job = self._work, self._job, None, None
        job.result()
        return self._url_seen.install(work)

    async def end(self) -> list[Row]:
        """Wait for the thread, so that nothing is closed under it; return the rows of its run."""
        if self._job is None:
            return []
        await asyncio.wait([self._job])
        return [] if self._job.exception() is not None else self.rows_of_finished()


class Alone:
    """The seat of a crawl's only shard."""

    is_blocked = False
    has_uncommitted = False
    commits = 0

    def __init__(self, max_pages: int | None) -> None:
        self._max_pages = UNLIMITED if max_pages is None else max_pages

    def pages_left(self, used: int, wanted: int) -> int:  # noqa: ARG002  # others may want them
        """Return how many pages may be asked for beyond those stored or under way."""
        return self._max_pages - used

    def may_leave(self) -> bool:
        """Return True: there is nobody who could send us anything."""
        return True

    def rest(self) -> None:
        """Do nothing: nobody wants to know."""

    def durable(self, commits: int) -> None:
        """Do nothing: nobody waits for a receipt."""


async def in_thread(work: Callable[[], object]) -> None:
    """Do blocking work aside. A thread cannot be cancelled: who cancels this waits for its end.

    So nothing is closed at the end of a crawl while a thread still writes to it.
    """
    job = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        await asyncio.shield(job)
    except asyncio.CancelledError:
        await job
        raise
