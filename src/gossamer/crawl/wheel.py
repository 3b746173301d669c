"""The wheel: lease, dispatch, commit, wait; and the chores beside it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gossamer.clock import CrawlTime
from gossamer.config import Config
from gossamer.crawl.chores import CHORES_S, disk_trouble, do_chores, in_thread, limit_of
from gossamer.crawl.copies import CopyDesk, NoCopies
from gossamer.crawl.ledger import Ledger
from gossamer.crawl.ports import Seat, Watch
from gossamer.crawl.worker import Worker
from gossamer.errors import GossamerError
from gossamer.frontier import Frontier
from gossamer.log import tell
from gossamer.model import Failed, FailureKind, Task
from gossamer.seen import UrlSeen
from gossamer.store import FlightBoard

GRACE_S = 8.0
"""How long a clean stop waits for answers that are under way."""
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
    copies: CopyDesk | NoCopies
    watch: Watch | None = None
    """Whoever wants to look again at pages that we have; then the crawl has no end."""
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
    save: Callable[[], Callable[[], None] | None] = lambda: None
    """Gives the work of keeping what is only advice (credit), to be done in a thread; or None."""

    async def run(self) -> bool:
        """Turn the wheel; True when the crawl is finished: nothing queued, leased or waiting."""
        self.began_at = self.time.now()
        self.seconds_before = self.ledger.counters.seconds
        self.paused = disk_trouble(self.folder, self.config.store, was=self.paused)
        async with asyncio.TaskGroup() as group:
            chores = group.create_task(do_chores(self))
            try:
                while not self._is_over():
                    await self._turn(group)
                if self.stop_reason:
                    await self._drain()
            finally:
                chores.cancel()
                for asking in self.in_flight.values():
                    asking.cancel()
        self.count_seconds()
        await self.copies.finish(self.ledger.commit, self.time.clock)
        held = self.worker.traps.held
        return not (self.watch or self.stop_reason or self.frontier.queued or held)

    def stop(self, reason: str) -> None:
        """Ask for no more; what is under way may end."""
        self.stop_reason = reason
        self.nudge.set()

    def fail(self, error: BaseException | None) -> None:
        """Be told that work beside the wheel has ended; an error ends the crawl."""
        self.error = error or self.error
        self.nudge.set()

    def _is_over(self) -> bool:
        if self.stop_reason or (self.limit_reached() and not self.in_flight):
            return True
        return self.is_idle and self.seat.may_leave()

    @property
    def is_idle(self) -> bool:
        """Tell whether nothing is queued, leased, under way or uncommitted here."""
        work = (self.watch, self.in_flight, self.ledger.group, self.frontier.queued)
        held = self.worker.traps.held
        return not (any(work) or held or self.has_uncommitted or self.copies.is_busy)

    @property
    def has_uncommitted(self) -> bool:
        """Tell whether there is anything besides turns that a commit would write."""
        return any(one.has_uncommitted for one in (self.frontier, self.seat, self.copies))

    def limit_reached(self) -> str:
        """Return the name of the limit that has been reached, or ""."""
        elapsed_s = self.time.now() - self.began_at
        reached = limit_of(self.config.limits, self.ledger.counters, elapsed_s)
        # A watch then stores no new pages, and goes on.
        return "" if self.watch is not None and reached == "max_pages" else reached

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
        nothing_under_way = not self.in_flight and (self.ledger.group or self.has_uncommitted)
        is_full = self.uncommitted >= min(store.commit_pages, max(1, self.config.concurrency // 2))
        if nothing_under_way or is_full or self.ledger.is_due(now, wait_s=wait_s):
            self.ledger.commit()
            return
        await self._wait(now, wait_s)

    def _dispatch(self, group: asyncio.TaskGroup) -> int:
        """Start as many tasks as may go; return how many slots stay free."""
        free = self._free_slots()
        source = self.watch or self.frontier
        while free > 0 and (task := source.next(self.time.now())) is not None:
            self.board.take_off(task.url.key)
            self.in_flight[task.url.key] = group.create_task(self._ask(task))
            free -= 1
        return free

    @property
    def _is_open(self) -> bool:
        """Tell whether anything may be asked for at all."""
        is_held = self.paused or self.seat.is_blocked or self.stop_reason
        return not is_held and not self.limit_reached()

    def _free_slots(self) -> int:
        if not self._is_open:
            return 0
        # What is uncommitted counts as in flight: a kill repeats at most `concurrency` requests.
        free = self.config.concurrency - len(self.in_flight) - self.uncommitted
        if self.watch is not None:
            return min(free, self.watch.feed(self.time.now()))
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
            self.copies.begin()
        moment = None
        if self._free_slots() > 0:
            moment = (self.watch or self.frontier).next_moment()
        elif self.watch is not None and self._is_open:
            moment = self.watch.next_request_at()
        until = until if moment is None else min(until, moment)
        timer = asyncio.get_running_loop().call_later(max(0.0, until - now), self.nudge.set)
        await self.nudge.wait()
        timer.cancel()

    async def _drain(self) -> None:
        deadline = self.time.now() + GRACE_S
        while self.in_flight and self.time.now() < deadline:
            self.nudge.clear()
            self.ledger.commit()
            await self._wait(self.time.now(), self.config.store.commit_s)

    async def sync(self) -> None:
        """Move the durable point up to the last commit, and tell the seat."""
        async with self.syncing:
            commits = self.seat.commits
            await in_thread(self.ledger.sync)
            self.seat.durable(commits)

    def count_seconds(self) -> None:
        """Bring the time spent crawling up to date."""
        self.ledger.counters.seconds = self.seconds_before + self.time.now() - self.began_at


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
