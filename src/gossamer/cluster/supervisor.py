"""The supervisor: starts the shards, watches them, starts them again, and ends them together."""

import asyncio
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec import Struct

from gossamer.clock import Clock
from gossamer.cluster.connection import Connection
from gossamer.cluster.messages import (
    ControlReply,
    ControlRequest,
    Dismiss,
    GrantPages,
    Probe,
    RecallPages,
    ReturnPages,
    ShardEnded,
    ShardJoined,
    ShardReport,
    Upward,
    WantPages,
)
from gossamer.cluster.orders import OutageOrders, Outages, ProbationOrders, ProbationShare
from gossamer.cluster.page_budget import PageBudget
from gossamer.cluster.processes import ShardChild, start_child
from gossamer.cluster.termination import Termination
from gossamer.errors import CannotGoOn, ConfigError, TakenOver
from gossamer.log import tell
from gossamer.machine import memory_words

OF_MEMORY = frozenset({-signal.SIGKILL, -signal.SIGABRT, -signal.SIGSEGV})
"""How a process ends that gets no memory: by the kernel's hand, or that of a library."""
MAX_DEATHS = 8
"""Deaths of one shard in a row, without a commit in between, after which we stop."""
FIRST_COMMITS = 2
"""What every start commits before it gets anywhere: its repair, then its first leases."""
ANSWER_S = 100.0
NO_LIMIT = 1 << 60
"""Pages, where there was a limit once."""
RECALL_S = 0.05
"""Pause before unused pages are called back, so that two shards do not throw one to and fro."""
RECALL_AGAIN_S = 0.1
"""Until somebody has pages to spare: a fetch that was granted one may fail any time."""

Waiting: TypeAlias = "asyncio.Future[dict[str, object] | NoAnswer]"


class NoAnswer(Struct, frozen=True):
    """A shard gave no answer, for a reason; another try may have one."""

    reason: str


@dataclass(slots=True, kw_only=True)
class ShardHandle:
    """A shard as the supervisor knows it."""

    shard: int
    connection: Connection[Upward] | None = None
    report: ShardReport | None = None
    deaths: int = 0
    """In a row, without a commit in between."""
    starts: int = 0
    has_ended: bool = False
    refused: dict[str, str] = field(default_factory=dict)
    orders: OutageOrders = field(default_factory=OutageOrders)
    """What it was told last to do about hosts that are down."""
    probation: ProbationOrders = field(default_factory=ProbationOrders)
    """The same about what is on probation."""
    asked: dict[int, tuple[ControlRequest, Waiting]] = field(default_factory=dict)
    """Questions that it has not answered yet; put to it again if it dies over them."""


class Supervisor:
    """Local processes, one per shard. Another kind of supervisor would have the same methods."""

    def __init__(
        self,
        shards: int,
        run_shard: Callable[[int, socket.socket], int],
        max_pages: int | None,
        *,
        keep_files: tuple[int, ...],
        clock: Clock,
        wait_at_end_s: float,
        on_report: Callable[[], None] = lambda: None,
    ) -> None:
        """Know how to run a shard; `on_report` is called after each report of one.

        When nothing but hosts that are down is left, they are waited for `wait_at_end_s`.
        """
        self.members = [ShardHandle(shard=number) for number in range(shards)]
        self.budget = PageBudget(shards, max_pages)
        self.termination = Termination(shards)
        self.outages = Outages(shards, wait_at_end_s)
        self.probation = ProbationShare(shards)
        self.end_reason: str | None = None
        """Why the shards were told to end; "" when nothing is left to do, None while they run."""
        self._on_report = on_report
        self._clock = clock
        self._run_shard = run_shard
        self._keep_files = keep_files
        self._number = 0
        self._is_recalling = False

    async def run(self) -> None:
        """Run all shards until each of them has ended as it was told to."""
        async with asyncio.TaskGroup() as group:
            for member in self.members:
                group.create_task(self._look_after(member))

    def dismiss(self, reason: str) -> None:
        """Tell all shards to end; those that start later are told at once."""
        if self.end_reason is None:
            self.end_reason = reason
            self._tell_all(Dismiss(reason))

    def limit_pages(self, max_pages: int | None) -> None:
        """Let all shards together store another number of pages."""
        if self.budget.max_pages is None:  # nobody asks for pages: all end at the limit
            return
        self.budget.max_pages = NO_LIMIT if max_pages is None else max_pages
        self._tell_all(RecallPages())
        self._grant()

    async def ask(self, shard: int, question: dict[str, object]) -> dict[str, object] | NoAnswer:
        """Return a shard's answer to a question; one that is starting is waited for."""
        member = self.members[shard]
        if member.has_ended:
            return _has_ended(shard)
        self._number += 1
        asked = ControlRequest(self._number, question)
        answer: Waiting = asyncio.get_running_loop().create_future()
        member.asked[asked.number] = asked, answer
        if member.connection is not None:
            member.connection.send(asked)
        try:
            return await asyncio.wait_for(answer, ANSWER_S)
        except TimeoutError:
            return NoAnswer(f"shard {shard} gave no answer in {ANSWER_S:g} s; ask again later")
        finally:
            member.asked.pop(asked.number, None)

    async def _look_after(self, member: ShardHandle) -> None:
        """Start a shard, and start it again for as long as it dies without having been told to."""
        while not member.has_ended:
            child = start_child(member.shard, self._run_shard, self._keep_files)
            member.starts += 1
            connection: Connection[Upward] = await Connection.over(child.end, Upward)
            member.connection = connection
            for asked, _ in member.asked.values():
                connection.send(asked)
            try:
                while (message := await connection.receive()) is not None:
                    self._hear(member, message)
            except BaseException:
                child.kill()
                raise
            finally:
                member.connection = None
                connection.close()
                code = await child.ended(self._clock)
            if not member.has_ended:
                self._note_death(member, child, code)

    def _note_death(self, member: ShardHandle, child: ShardChild, code: int) -> None:
        """Note a death; too many in a row end the crawl."""
        member.deaths += 1
        tell("shard.died", shard=member.shard, pid=child.pid, code=code, deaths=member.deaths)
        if member.deaths >= MAX_DEATHS:
            memory = f"; perhaps there is {memory_words()}" if code in OF_MEMORY else ""
            raise CannotGoOn(
                f"shard {member.shard} crashed {member.deaths} times in a row without progress "
                f"(last exit code {code}){memory}; see its output above, then run the crawl again"
            )
        self.termination.lost(member.shard)
        self.outages.lost(member.shard)
        self.probation.lost(member.shard)
        self.budget.lost(member.shard)

    def _hear(self, member: ShardHandle, message: Upward) -> None:
        match message:
            case ShardJoined(pages=pages, refused=refused):
                self._welcome(member, pages, refused)
            case ShardReport():
                self._note(member, message)
            case WantPages(pages=pages):
                self.budget.want(member.shard, pages)
                self._grant()
            case ReturnPages(pages=pages):
                self.budget.take_back(member.shard, pages)
                self._grant()
            case ControlReply():
                self._pass_on(member, message)
            case ShardEnded(report=report, error=error):
                member.has_ended = True
                member.report = report or member.report
                self._leave_unanswered(member)
                if message.is_taken_over:
                    raise TakenOver(error)
                if error:
                    raise (ConfigError if message.is_usage else CannotGoOn)(error)

    def _pass_on(self, member: ShardHandle, reply: ControlReply) -> None:
        _, waiting = member.asked.pop(reply.number, (None, None))
        if waiting is not None and not waiting.done():
            waiting.set_result(reply.answer)

    def _leave_unanswered(self, member: ShardHandle) -> None:
        for _, waiting in member.asked.values():
            if not waiting.done():
                waiting.set_result(_has_ended(member.shard))

    def _welcome(self, member: ShardHandle, pages: int, refused: dict[str, str]) -> None:
        member.refused = refused
        member.orders, member.probation = OutageOrders(), ProbationOrders()
        self.budget.join(member.shard, pages)
        self._grant()  # others may have asked before the last one was there
        if self.end_reason is not None and member.connection is not None:
            member.connection.send(Dismiss(self.end_reason))

    def _note(self, member: ShardHandle, report: ShardReport) -> None:
        member.report = report
        self.outages.note(member.shard, report.outages, self._clock.steady())
        self.probation.note(member.shard, report.probation, self._clock.steady())
        self._share_out()
        if report.commits > FIRST_COMMITS:
            member.deaths = 0
        self.termination.note(
            member.shard,
            is_idle=report.is_idle,
            commits=report.commits,
            answers=report.round,
        )
        if self.termination.is_reached:
            self.dismiss("")
        elif self.termination.should_ask:
            self._tell_all(Probe(self.termination.ask()))
        self._on_report()

    def look_at_outages(self) -> None:
        """Tell the shards what to do about hosts that are down; to be called once a second."""
        now = self._clock.steady()
        self.outages.look(now)
        for member in self.members:
            orders = self.outages.orders(member.shard, now)
            if orders != member.orders and member.connection is not None:
                member.orders = orders
                member.connection.send(orders)
        if self.outages.seconds_to_end(now) == 0.0:
            self.dismiss("parked")

    def _share_out(self) -> None:
        """Tell the shards what they may do about what is on probation."""
        pages = sum(one.report.counters.pages for one in self.members if one.report is not None)
        limit = self.budget.max_pages
        pages_left = None if limit is None else max(0, limit - pages)
        for member in self.members:
            orders = self.probation.orders(member.shard, pages_left)
            if orders != member.probation and member.connection is not None:
                member.probation = orders
                member.connection.send(orders)

    def _grant(self) -> None:
        for shard, pages in self.budget.grants():
            if (connection := self.members[shard].connection) is not None:
                connection.send(GrantPages(pages))
        if self.budget.is_scarce and not self._is_recalling:
            self._is_recalling = True
            asyncio.get_running_loop().call_later(RECALL_S, self._recall)

    def _recall(self) -> None:
        self._is_recalling = self.budget.is_scarce
        if self._is_recalling:
            self._tell_all(RecallPages())
            asyncio.get_running_loop().call_later(RECALL_AGAIN_S, self._recall)

    def _tell_all(self, message: object) -> None:
        for member in self.members:
            if member.connection is not None:
                member.connection.send(message)


def _has_ended(shard: int) -> NoAnswer:
    return NoAnswer(f"shard {shard} has ended; ask again in a moment")
