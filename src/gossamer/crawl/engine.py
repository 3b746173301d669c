"""The engine of a shard: lease, dispatch, commit, wait; and the maintenance beside it."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TypeVar

from gossamer.clock import CrawlTime
from gossamer.cluster import ShardOutages, ShardProbation
from gossamer.config import Config, LimitsConfig
from gossamer.crawl.core import Core
from gossamer.crawl.lanes import SWEEP_S, Lanes
from gossamer.crawl.ledger import Ledger
from gossamer.crawl.pausing import OpenHours, OutageDuty, reason_to_pause
from gossamer.crawl.ports import Peers, Remote, RevisitScheduler
from gossamer.crawl.worker import Worker
from gossamer.errors import GossamerError
from gossamer.fetch import TransferWatch, connection_room
from gossamer.log import tell, warn
from gossamer.machine import open_files
from gossamer.model import CUT_FOR_OTHERS, Counters, Row, Task
from gossamer.seen import RunJob, UrlSeen

T = TypeVar("T")


def limit_of(limits: LimitsConfig, counters: Counters, elapsed_s: float) -> str:
    """Return the name of the limit that a crawl has reached, or ""."""
    if limits.max_time_s is not None and elapsed_s >= limits.max_time_s:
        return "max_time"
    if limits.max_bytes is not None and counters.archive_bytes >= limits.max_bytes:
        return "max_bytes"
    is_full = limits.max_pages is not None and counters.pages >= limits.max_pages
    return "max_pages" if is_full else ""


@dataclass(slots=True)
class RunState:
    """The run of one engine. Others may wake it, stop it, or tell it that they failed."""

    in_flight: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    """Tasks under way, by the key of their URL."""
    stop_reason: str = ""
    paused: str = ""
    """Why no request is allowed at the moment; "" while the crawl runs freely."""
    opens_at: float | None = None
    """When [schedule] allows requests again; None if it allows them."""
    error: BaseException | None = None
    """What work beside the engine has failed with."""
    _woken: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        """Let the engine look again at what there is to do."""
        self._woken.set()

    def stop(self, reason: str) -> None:
        """Ask for no more pages; what is under way may end."""
        self.stop_reason = reason
        self._woken.set()

    def resume(self) -> None:
        """Forget an earlier stop: the engine is about to run again."""
        self.stop_reason = ""

    def pause(self, reason: str, opens_at: float | None = None) -> None:
        """Begin nothing new for a reason; "" ends the pause. It may be known when it will."""
        self.paused, self.opens_at = reason, opens_at

    def ended(self, error: BaseException | None) -> None:
        """Be told that work beside the engine has ended; an error ends the crawl."""
        self.error = error or self.error
        self._woken.set()

    def begin_step(self) -> None:
        """Raise what work beside the engine has failed with; forget that we were woken."""
        self._woken.clear()
        if self.error is not None:
            raise self.error

    async def wait(self, seconds: float) -> None:
        """Sleep until somebody wakes us, at most for some seconds."""
        timer = asyncio.get_running_loop().call_later(max(0.0, seconds), self._woken.set)
        await self._woken.wait()
        timer.cancel()


class SeenMaintenance:
    """Writes seen runs in a thread, one at a time.

    A merge takes half a minute in a large crawl; commits must not wait so long to be durable.
    """

    def __init__(self, url_seen: UrlSeen) -> None:
        self._url_seen = url_seen
        self._work: RunJob | None = None
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


async def in_thread(work: Callable[[], T]) -> T:
    """Do blocking work aside. A thread cannot be cancelled: who cancels this waits for its end.

    So nothing is closed at the end of a crawl while a thread still writes to it.
    """
    job = asyncio.get_running_loop().run_in_executor(None, work)
    shielded = asyncio.shield(job)
    try:
        return await shielded
    except asyncio.CancelledError:
        while not job.done():  # who is in a hurry cancels again
            with suppress(asyncio.CancelledError):
                await asyncio.wait([job])
        for one in (job, shielded):
            if one.done() and not one.cancelled():
                one.exception()  # nobody waits for it any more, and asyncio would print it
        raise


FEW_CONNECTIONS = 64
"""Fewer than that, for want of descriptors, are told."""
GRACE_S = 8.0
"""How long a clean stop waits for answers that are under way."""
STARVING_FRACTION = 0.1
MAINTENANCE_S = 1.0
SAVE_EVERY = 60
"""Rounds of maintenance between two copies of what is only advice (credit)."""


class EngineLoop:
    """Runs until the crawl is finished, a limit is reached, or somebody asks it to stop."""

    def __init__(
        self,
        *,
        config: Config,
        time: CrawlTime,
        run_state: RunState,
        core: Core,
        ledger: Ledger,
        worker: Worker,
        peers: Peers,
        remote: Remote,
        outage_duty: OutageDuty,
        revisits: RevisitScheduler | None,
        folder: Path,
        save: Callable[[], Callable[[], None] | None],
    ) -> None:
        """Wire the engine; with `revisits` it ends of its own when these are over, or never.

        `save` gives the work of keeping what is only advice, to be done in a thread; or None.
        """
        self.config = config
        self.time = time
        self.run_state = run_state
        self.revisits = revisits
        self._core = core
        self._ledger = ledger
        self._worker = worker
        self._peers = peers
        self._remote = remote
        self._outage_duty = outage_duty
        self._folder = folder
        self._save = save
        self._source = revisits or core.frontier
        # Beyond that libcurl would let requests wait, and they would look slow.
        self._slots = min(config.concurrency, connection_room())
        if self._slots < min(config.concurrency, FEW_CONNECTIONS):
            warn(
                "open_files.low",
                limit=open_files(),
                connections=self._slots,
                concurrency=config.concurrency,
                advice="a higher `ulimit -n` allows more",
            )
        self._lanes = Lanes(self._slots)
        self._hours = OpenHours()
        self._sweep_at = 0.0
        """When to look for slow requests next."""
        self._began_at = 0.0
        self._seconds_before = 0.0
        """Crawling time of earlier runs."""
        self._syncing = asyncio.Lock()
        self._is_acknowledging = False

    async def run(self) -> bool:
        """Run; True when the crawl is finished: nothing is left but what stays held."""
        run = self.run_state
        self._began_at = self.time.now()
        self._seconds_before = self._ledger.counters.seconds
        self.look_at_pause()
        async with asyncio.TaskGroup() as group:
            maintenance = group.create_task(self._maintain())
            shipping = group.create_task(self._remote.run())
            try:
                while not self._is_over():
                    await self._step(group)
                if run.stop_reason:
                    await self._drain(group)
            finally:
                maintenance.cancel()
                shipping.cancel()
                for asking in run.in_flight.values():
                    asking.cancel()
        if self._ledger.requests.has_rows:  # those that were cut off just now
            self._ledger.commit()
        self.count_seconds()
        await self._core.copies.finish(self._ledger.commit, self.time.clock)
        left = self._queued or self._core.traps.is_waiting
        return not (self._is_watching or run.stop_reason or left)

    def _is_over(self) -> bool:
        if self.run_state.stop_reason or (self.limit_reached() and not self.run_state.in_flight):
            return True
        return self.is_idle and self._peers.may_leave()

    @property
    def _is_watching(self) -> bool:
        """Return True if there is, or will be, something to be revisited."""
        return self.revisits is not None and not self.revisits.is_over

    @property
    def _queued(self) -> int:
        """Return how many URLs are to be fetched yet: the next start forgets revisits given up."""
        given_up = self.revisits.given_up if self.revisits is not None else 0
        return self._core.frontier.queued - given_up

    @property
    def is_idle(self) -> bool:
        """Return True if nothing is queued, leased, under way or uncommitted here."""
        core = self._core
        work = (
            self._is_watching,
            self.run_state.in_flight,
            self._ledger.group,
            self._queued,
        )
        rest = (core.traps.is_waiting, self.has_uncommitted, core.copies.is_busy)
        return not (any(work) or any(rest))

    @property
    def seed_failures(self) -> dict[str, str]:
        """Return why seeds could not be fetched in their first try, by URL; some of them."""
        return self._worker.seeds.reasons

    @property
    def failing_seeds(self) -> int:
        """Return of how many seeds a try has failed in this run, or that were refused."""
        return len(self._worker.seeds.keys)

    @property
    def paused(self) -> str:
        """Return why no request is allowed at the moment; "" if some are."""
        no_network = "no_network" * self._outage_duty.is_network_away
        return self.run_state.paused or self._remote.paused or no_network

    @property
    def _has_only_parked(self) -> bool:
        """Return True if nothing is left to do here but to wait for hosts that are down.

        A probe that is under way is a part of that: it may hang for long.
        """
        if self._is_watching:
            return False
        frontier = self._core.frontier
        left = frontier.queued - frontier.parked.urls
        return left <= 0 or left <= frontier.unresolved_urls

    def outages(self, *, is_quiet: bool = True) -> ShardOutages:
        """Return how the shard stands with hosts that are down; `is_quiet` if no letter is out."""
        rest = (self._core.traps.may_send, self._ledger.group, self.has_uncommitted)
        is_quiet = is_quiet and not self.run_state.paused  # the time of a pause does not count
        is_waiting = is_quiet and self._has_only_parked and not any(rest)
        return self._outage_duty.report(self.time.now(), is_waiting=is_waiting)

    def probation(self) -> ShardProbation:
        """Return how the shard stands with what is on probation."""
        traps = self._core.traps
        return ShardProbation(
            is_waited=self._core.has_free(),
            wants=traps.is_waiting,
            requests=self._ledger.counters.requests,
            used=traps.used,
            used_open=traps.used_open,
        )

    @property
    def has_uncommitted(self) -> bool:
        """Return True if there is anything besides turns that a commit would write."""
        parts = (self._core.frontier, self._peers, self._core.copies)
        return any(one.has_uncommitted for one in parts)

    def limit_reached(self) -> str:
        """Return the name of the limit that has been reached, or ""."""
        elapsed_s = self.time.now() - self._began_at
        reached = limit_of(self.config.limits, self._ledger.counters, elapsed_s)
        # A watch then stores no new pages, and goes on.
        return "" if self._is_watching and reached == "max_pages" else reached

    @property
    def _uncommitted(self) -> int:
        """Return how many answers, of pages and of robots.txt, a kill would make us ask again."""
        return len(self._ledger.group) + self._core.robots.uncommitted

    async def _step(self, group: asyncio.TaskGroup) -> None:
        """Dispatch what may go, commit what is due, then wait for something to happen."""
        run, ledger = self.run_state, self._ledger
        run.begin_step()
        self._peers.note_free(self._core.has_free)
        if self._core.traps.is_waiting:
            self._look_at_held()
        if not run.in_flight and self._core.has_only_suspects:
            self._core.wake_suspects(self.time.now())
        self._sweep()
        under_way = len(run.in_flight)
        is_starving = self._dispatch(group) > 0 and self._core.frontier.has_leases_to_commit
        if len(run.in_flight) > under_way:
            self._peers.note_in_hand()
        now = self.time.now()
        has_rows = self.has_uncommitted
        if has_rows:
            ledger.open_group(now)  # clocks and woken tasks wait no longer than turns
        store = self.config.store
        wait_s = store.commit_s * (STARVING_FRACTION if is_starving else 1.0)
        nothing_under_way = not run.in_flight and (ledger.group or has_rows)
        is_full = self._uncommitted >= min(store.commit_pages, max(1, self._slots // 2))
        is_local = not self._remote.gives_receipts
        is_wanted = is_local and self._peers.wants_sync and not self._is_acknowledging
        if nothing_under_way or is_full or is_wanted or ledger.is_due(now, wait_s=wait_s):
            ledger.commit()
            if is_wanted and self._peers.wants_sync:
                self._begin_sync(group)
            return
        await self._wait(group, now, wait_s)

    def _dispatch(self, group: asyncio.TaskGroup) -> int:
        """Start as many tasks as may go; return how many slots stay free."""
        free = self._free_slots()
        while free > 0:
            now = self.time.now()
            if (task := self._source.next(now, self._lanes.openings())) is None:
                break
            if self._outage_duty.owes_request:
                self._outage_duty.note_request()
            key = task.url.key
            watch = self._lanes.begin(key, self._core.frontier.kind_of(task.url.host), now)
            self.run_state.in_flight[key] = group.create_task(self._ask(task, watch))
            free -= 1
        return free

    def _sweep(self) -> None:
        """Look for slow requests every now and then; cut some if others wait, and park their hosts.

        Their URLs are unharmed: a host that is parked is asked again later.
        """
        now = self.time.now()
        if now < self._sweep_at:
            return
        self._sweep_at = now + SWEEP_S
        frontier = self._core.frontier
        waiting = frontier.ready_kinds(now) if self._is_open else set()
        # Without the right to ask, what is under way ends too: somebody else may ask there soon.
        has_right = self._remote.may_ask
        for watch in self._lanes.sweep(now, waiting) if has_right else self._lanes.cut_all():
            host = watch.host
            if watch.cut(CUT_FOR_OTHERS):
                frontier.parking.park(host, now, "slow")

    @property
    def _is_open(self) -> bool:
        """Return True if requests are allowed at all."""
        run, duty = self.run_state, self._outage_duty
        if duty.is_network_away and (run.in_flight or not duty.owes_request):
            return False
        is_held = run.paused or self._peers.is_blocked or run.stop_reason or self._remote.paused
        return not is_held and not self.limit_reached()

    def _free_slots(self) -> int:
        if not self._is_open:
            return 0
        under_way = len(self.run_state.in_flight)
        # What is uncommitted counts as in flight: a kill repeats at most `concurrency` requests.
        free = self._slots - under_way - self._uncommitted
        if self._outage_duty.is_network_away:
            free = min(free, 1)
        if self.revisits is not None:
            return min(free, self.revisits.feed(self.time.now()))
        return min(free, self._peers.pages_left(self._ledger.counters.pages + under_way, free))

    async def _ask(self, task: Task, watch: TransferWatch) -> None:
        try:
            await self._worker.ask(task, watch)
        except GossamerError:
            raise
        except Exception as error:  # noqa: BLE001  # the top of a worker: a bug becomes a value
            tell("worker.failed", url=task.url.text, error=repr(error))
            self._worker.give_up(task, error)
        finally:
            del self.run_state.in_flight[task.url.key]
            self._peers.note_done(task.url.key)
            self._lanes.end(task.url.key)
            self.run_state.wake()

    async def _wait(self, group: asyncio.TaskGroup, now: float, wait_s: float) -> None:
        """Sleep until a fetch ends, a host becomes ready, or the group is due."""
        until = now + MAINTENANCE_S
        if self._ledger.opened_at is not None:
            until = min(until, self._ledger.opened_at + wait_s)
        if not self.run_state.in_flight:
            self._rest(group)
        elif self._sweep_at > now:
            until = min(until, self._sweep_at)
        moment = self._next_moment()
        await self.run_state.wait((until if moment is None else min(until, moment)) - now)

    def _next_moment(self) -> float | None:
        """Return when a request may be begun; None if that depends on others alone."""
        if self._free_slots() > 0:
            return self._source.next_moment(self._lanes.openings())
        if self.revisits is not None and self._is_open:
            return self.revisits.next_request_at()
        return None

    def _rest(self, group: asyncio.TaskGroup) -> None:
        """Do what is best done while nothing is under way: receipts, reports, copies."""
        is_shipped = self._remote.is_shipped or not self.is_idle
        owes = self._peers.owes_receipts if not self._remote.gives_receipts else not is_shipped
        if owes and not self._is_acknowledging:
            self._begin_sync(group)
        self._peers.rest()
        self._core.copies.begin()

    def _begin_sync(self, group: asyncio.TaskGroup) -> None:
        self._is_acknowledging = True
        group.create_task(self._acknowledge())

    async def _acknowledge(self) -> None:
        """Sync now: other shards wait for their receipts, or for a page of ours to be durable."""
        try:
            await (self._remote.ship_soon() if self._remote.gives_receipts else self.sync())
        finally:
            self._is_acknowledging = False
            self.run_state.wake()

    async def _drain(self, group: asyncio.TaskGroup) -> None:
        """Wait for answers that are under way, for a while."""
        deadline = self.time.now() + GRACE_S
        while self.run_state.in_flight and self.time.now() < deadline:
            self.run_state.begin_step()
            self._ledger.commit()
            await self._wait(group, self.time.now(), self.config.store.commit_s)

    async def _maintain(self) -> None:
        """Once a second: make commits durable, look at the disk, tidy the seen runs."""
        seen = self._core.url_seen
        runs = SeenMaintenance(seen)
        try:
            for number in count(1):
                await self.time.clock.sleep(MAINTENANCE_S)
                if not number % SAVE_EVERY and (work := self._save()) is not None:
                    await in_thread(work)
                self.count_seconds()
                self.look_at_pause()
                self._look_at_outages()
                if self.config.store.sync == "second" or self._ledger.archive.has_rotated:
                    await self.sync()
                seen.discard_replaced()
                if rows := runs.rows_of_finished():
                    self._ledger.add_rows(rows)
                    self._ledger.commit()
                self._core.copies.begin()
        finally:
            self._ledger.add_rows(await runs.end())

    def _look_at_held(self) -> None:
        """Let tasks go that are on probation, as many as may."""
        core = self._core
        if not (core.frontier.queued or self.run_state.in_flight):
            core.traps.wake()
        pages = self._ledger.counters.pages
        now = self.time.now()
        orders = self._peers.probation_orders(self.probation(), pages, now)
        core.traps.obey(is_open=orders.is_open, granted=orders.granted, now=now)
        core.release_held()

    def look_at_pause(self) -> None:
        """Begin or end a pause: somebody wants one, the disk is full, or it is not the hour."""
        run = self.run_state
        opens_at = self._hours.opens_at(self.config.schedule, self.time.clock.wall())
        run.pause(
            reason_to_pause(self._folder, self.config, was=run.paused, opens_at=opens_at), opens_at
        )
        run.wake()

    def _look_at_outages(self) -> None:
        """Do what is to be done about hosts that are down; they are not asked during a pause."""
        now = self.time.now()
        orders = self._peers.outage_orders(self.outages(), now)
        if self.run_state.paused:
            self._outage_duty.rest(now)
        else:
            self._outage_duty.obey(orders, now)
        self.run_state.wake()

    async def sync(self) -> None:
        """Move the durable point up to the last commit, and acknowledge what it covers."""
        async with self._syncing:
            commits = self._peers.commits
            await in_thread(self._ledger.sync)
            if not self._remote.gives_receipts:
                self._peers.durable(commits)

    def reconfigure(self, config: Config) -> None:
        """Go on with another configuration: one that knows of further seeds."""
        self.config = config

    def count_seconds(self) -> None:
        """Bring the time spent crawling up to date."""
        elapsed_s = self.time.now() - self._began_at
        self._ledger.counters.note_time(self._seconds_before + elapsed_s)

    def save_advice(self) -> None:
        """Keep what is only advice, at the end of a run."""
        if (work := self._save()) is not None:
            work()
