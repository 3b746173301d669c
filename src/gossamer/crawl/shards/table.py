"""A shard's seat at a table with others: pages granted, letters carried, the end agreed on."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress

from gossamer.cluster import (
    MARK,
    Courier,
    Dismiss,
    Downward,
    Grant,
    Hello,
    Line,
    Mail,
    Mailbox,
    Outbox,
    Probe,
    Question,
    Recall,
    Reply,
    Report,
    Return,
    Share,
    Want,
)
from gossamer.crawl.pipeline import accept
from gossamer.crawl.shards.running import answer, standing_of
from gossamer.crawl.shards.watching import take_share
from gossamer.crawl.wheel import UNLIMITED
from gossamer.crawl.wiring import Shard
from gossamer.errors import Bug, GossamerError
from gossamer.model import Row


class Table:
    """What a shard's wheel is told of the supervisor and the other shards, and tells them."""

    def __init__(self, shard: Shard, line: Line[Downward], *, is_limited: bool) -> None:
        if shard.core.outbox is None:
            raise Bug("a shard that is alone has no table to sit at")
        self.tells_commits = False
        self._shard = shard
        self._line = line
        self._outbox: Outbox = shard.core.outbox
        place = shard.place
        marks = shard.core.state.scan(MARK)
        self._mailbox = Mailbox(place.folder.mail_path(place.shard), self._take, marks)
        self._couriers = self._employ()
        self._outbox.send = lambda to, mail: self._couriers[to].send(mail)
        self._allowed = shard.ledger.counters.pages if is_limited else UNLIMITED
        self._has_asked = False
        self._is_dismissed = False
        self._told: tuple[int, bool] = (-1, False)
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_syncing = False

    def _employ(self) -> dict[int, Courier]:
        place, clock = self._shard.place, self._shard.wheel.time.clock
        hello = Hello(place.shard, self._outbox.epoch)
        others = [number for number in range(place.ring.shards) if number != place.shard]
        couriers = {to: Courier(to, place.folder.mail_path(to), hello, clock) for to in others}
        for courier in couriers.values():
            courier.on_receipt = self._shard.wheel.nudge.set
        return couriers

    async def open(self) -> None:
        """Take the seat: letters can come, and ours go out."""
        shard = self._shard
        shard.wheel.seat = self
        shard.ledger.core = self
        shard.ledger.on_committed = self._committed
        await self._mailbox.open()
        self._start(self._listen())
        for courier in self._couriers.values():
            self._start(courier.run(self._outbox))

    async def close(self) -> None:
        """Leave the seat; a sync under way is waited for, or it would meet a closed state."""
        self._mailbox.close()
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def rows_to_commit(self) -> list[Row]:
        """Give the rows of all stations, and the marks of the letters they come from."""
        return [*self._shard.core.rows_to_commit(), *self._mailbox.rows_to_commit()]

    # What the wheel asks

    @property
    def is_blocked(self) -> bool:
        """Tell whether too much waits for other shards."""
        return self._outbox.is_full

    @property
    def has_uncommitted(self) -> bool:
        """Tell whether a commit would write something for other shards, or from them."""
        return self._outbox.has_uncommitted or self._mailbox.has_uncommitted

    @property
    def commits(self) -> int:
        """Return how many commits there were."""
        return self._mailbox.commits

    def pages_left(self, used: int, wanted: int) -> int:
        """Return how many pages are granted and not yet used; ask for more when they run out."""
        left = self._allowed - used
        if left < wanted and not self._has_asked and left < (need := self._need(wanted)):
            self._has_asked = True
            self._line.send(Want(need))
        return left

    def _need(self, wanted: int) -> int:
        """Return how many pages could be used now: granted to us, others would wait for them."""
        wheel = self._shard.wheel
        waiting = wheel.frontier.queued - len(wheel.in_flight)
        moment = wheel.frontier.next_moment()
        is_ready = moment is None or moment <= wheel.time.now()
        return min(waiting, wanted if is_ready else 1)

    def may_leave(self) -> bool:
        """Tell whether the supervisor has found that nothing is left to do anywhere."""
        return self._is_dismissed

    def rest(self) -> None:
        """Tell the supervisor how we stand; give receipts now, when nothing else is to be done."""
        if self._mailbox.owes_receipts and not self._is_syncing:
            self._is_syncing = True
            self._start(self._sync())
        self.report()

    def durable(self, commits: int) -> None:
        """Give receipts for the letters that a sync has covered."""
        self._mailbox.durable(commits)

    def report(self, *, is_wanted: bool = False, answers: int = 0) -> None:
        """Send a report, if there is anything new in it or somebody wants it."""
        stand = (self.commits, self._is_idle())
        if stand != self._told or is_wanted:
            self._told = stand
            self._line.send(self.summary(answers))

    def summary(self, answers: int = 0) -> Report:
        """Return how this shard stands."""
        return Report(
            counters=self._shard.ledger.counters,
            standing=standing_of(self._shard),
            commits=self.commits,
            is_idle=self._is_idle(),
            round=answers,
        )

    def _is_idle(self) -> bool:
        return self._shard.wheel.is_idle and self._outbox.is_empty and self._mailbox.is_empty

    def _committed(self) -> None:
        self._shard.core.committed()
        self._outbox.committed()
        self._mailbox.committed()
        if self._shard.wheel.config.store.sync != "second":
            self._mailbox.durable(self._mailbox.commits)
        if self.tells_commits:
            self.report()

    async def _sync(self) -> None:
        try:
            await self._shard.wheel.sync()
        finally:
            self._is_syncing = False
            self._shard.wheel.nudge.set()

    def _take(self, mail: Mail) -> None:
        """Take the tasks of a letter in; the next commit makes them ours."""
        shard = self._shard
        shard.core.copies.take(mail.parcels)
        found = accept(mail.tasks, shard.core.stations)
        shard.core.add(found.new)
        shard.core.promote(found.promoted)
        for reason, count in found.refused.items():
            counts = shard.ledger.counters.refused
            counts[reason] = counts.get(reason, 0) + count
        shard.wheel.nudge.set()

    async def _listen(self) -> None:
        """Hear what the supervisor says, until it hangs up."""
        while (message := await self._line.receive()) is not None:
            self._hear(message)
        self._shard.wheel.stop("supervisor_gone")

    def _hear(self, message: Downward) -> None:
        wheel = self._shard.wheel
        match message:
            case Grant(pages=pages):
                self._allowed += pages
                self._has_asked = False
            case Recall():
                self._give_back()
            case Share(part=part):
                take_share(self._shard, part)
            case Probe(round=number):
                self.report(is_wanted=True, answers=number)
            case Question():
                self._start(self._reply(message))
            case Dismiss(reason=reason):
                self._is_dismissed = True
                if reason:
                    wheel.stop(reason)
        wheel.nudge.set()

    def _give_back(self) -> None:
        wheel = self._shard.wheel
        unused = self._allowed - wheel.ledger.counters.pages - len(wheel.in_flight)
        if unused > 0:
            self._allowed -= unused
            self._line.send(Return(unused))

    async def _reply(self, question: Question) -> None:
        try:
            said = await answer(self._shard, question.question)
        except (KeyError, ValueError, TypeError, GossamerError) as error:
            said = {"error": str(error)}
        self._line.send(Reply(question.number, said))

    def _start(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        with suppress(asyncio.CancelledError):
            if (error := task.exception()) is not None:
                self._shard.wheel.fail(error)
