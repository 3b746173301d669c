"""The supervisor: starts the shards, watches them, starts them again, and ends them together."""

import asyncio
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from msgspec import Struct

from gossamer.clock import Clock
from gossamer.cluster.connection import Connection
from gossamer.cluster.in_hand import KeysInHand
from gossamer.cluster.messages import (
    ControlReply,
    ControlRequest,
    Dismiss,
    GrantPages,
    Probe,
    RecallPages,
    ReturnPages,
    ShardBeat,
    ShardEnded,
    ShardInHand,
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
MOVED = "moved"
"""Why a shard was told to end that is to start elsewhere: the crawl goes on."""
ANSWER_S = 100.0
NO_LIMIT = 1 << 60
"""Pages, where there was a limit once."""
RECALL_S = 0.05
"""Pause before unused pages are called back, so that two shards do not throw one to and fro."""
RECALL_AGAIN_S = 0.1
"""Until somebody has pages to spare: a fetch that was granted one may fail any time."""

Waiting: TypeAlias = "asyncio.Future[dict[str, object] | NoAnswer]"


class StartedShard(Protocol):
    """A shard that was started, and our end of the connection to it."""

    @property
    def connection(self) -> Connection[Upward]:
        """Return the connection; its end is the end of the shard, as far as we know."""

    @property
    def where(self) -> str:
        """Return where it runs, for people."""

    def kill(self) -> None:
        """End it at once: the next start repairs what is open."""

    async def ended(self) -> int | None:
        """Wait until it cannot do harm any more; return how it went, None if nobody knows."""


class ShardStarter(Protocol):
    """Starts shards: as forks, or on other machines."""

    async def start(self, shard: int) -> StartedShard:
        """Start a shard, or find it running; return when it can be talked to."""

    def goes_elsewhere(self, shard: int, ended: ShardEnded) -> bool:
        """Return True if a shard that ended in trouble can be started on another machine."""

    def joined(self, shard: int, message: ShardJoined) -> None:
        """Note that a shard runs, and where others reach it."""


class _ForkedShard:
    """A fork, with our end of the connection to it."""

    def __init__(self, child: ShardChild, connection: Connection[Upward], clock: Clock) -> None:
        self._child = child
        self._clock = clock
        self.connection = connection

    @property
    def where(self) -> str:
        return f"process {self._child.pid}"

    def kill(self) -> None:
        self._child.kill()

    async def ended(self) -> int | None:
        return await self._child.ended(self._clock)


class ForkedShards:
    """Starts shards as forks of this process."""

    def __init__(
        self,
        run_shard: Callable[[int, socket.socket], int],
        keep_files: tuple[int, ...],
        clock: Clock,
    ) -> None:
        """Know how to run a shard, and which files it keeps."""
        self._run_shard = run_shard
        self._keep_files = keep_files
        self._clock = clock

    async def start(self, shard: int) -> StartedShard:
        """Fork a shard."""
        child = start_child(shard, self._run_shard, self._keep_files)
        connection: Connection[Upward] = await Connection.over(child.end, Upward)
        return _ForkedShard(child, connection, self._clock)

    def goes_elsewhere(self, shard: int, ended: ShardEnded) -> bool:  # noqa: ARG002 - a Protocol's
        """Return False: there is no other machine."""
        return False

    def joined(self, shard: int, message: ShardJoined) -> None:
        """Do nothing: it is where it was started."""


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
    is_moving: bool = False
    """It was told to end so that it can go on elsewhere."""
    where: str = ""
    refused: dict[str, str] = field(default_factory=dict)
    orders: OutageOrders = field(default_factory=OutageOrders)
    """What it was told last to do about hosts that are down."""
    probation: ProbationOrders = field(default_factory=ProbationOrders)
    """The same about what is on probation."""
    asked: dict[int, tuple[ControlRequest, Waiting]] = field(default_factory=dict)
    """Questions that it has not answered yet; put to it again if it dies over them."""


class Supervisor:
    """One process per shard, wherever it was started."""

    def __init__(
        self,
        shards: int,
        starter: ShardStarter,
        max_pages: int | None,
        *,
        clock: Clock,
        wait_at_end_s: float,
        on_report: Callable[[], None] = lambda: None,
    ) -> None:
        """Know who starts shards; `on_report` is called after each report of one.

        When nothing but hosts that are down is left, they are waited for `wait_at_end_s`.
        """
        self.members = [ShardHandle(shard=number) for number in range(shards)]
        self.budget = PageBudget(shards, max_pages)
        self.termination = Termination(shards)
        self.outages = Outages(shards, wait_at_end_s)
        self.probation = ProbationShare(shards)
        self.in_hand = KeysInHand(shards)
        self.end_reason: str | None = None
        """Why the shards were told to end; "" when nothing is left to do, None while they run."""
        self._on_report = on_report
        self._clock = clock
        self._starter = starter
        self._number = 0
        self._is_recalling = False
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Run all shards until each of them has ended as it was told to."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            for member in self.members:
                group.create_task(self._look_after(member))

    def add_shard(self) -> int:
        """Run one shard more, which has nothing yet; return its number."""
        member = ShardHandle(shard=len(self.members))
        self.members.append(member)
        self.budget.add_shard(member.shard)
        for known in (self.termination, self.outages, self.probation, self.in_hand):
            known.add_shard()
        if self._group is not None:
            self._group.create_task(self._look_after(member))
        return member.shard

    def dismiss(self, reason: str) -> None:
        """Tell all shards to end; those that start later are told at once."""
        if self.end_reason is None:
            self.end_reason = reason
            self.tell_all(Dismiss(reason))

    def limit_pages(self, max_pages: int | None) -> None:
        """Let all shards together store another number of pages."""
        if self.budget.max_pages is None:  # nobody asks for pages: all end at the limit
            return
        self.budget.max_pages = NO_LIMIT if max_pages is None else max_pages
        self.tell_all(RecallPages())
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

    def move(self, shard: int) -> None:
        """Let a shard end, and start again where it is wanted now; nothing if the crawl ends."""
        member = self.members[shard]
        if self.end_reason is None and member.connection is not None and not member.is_moving:
            member.is_moving = True
            member.connection.send(Dismiss(MOVED))

    async def _look_after(self, member: ShardHandle) -> None:
        """Start a shard, and start it again for as long as it dies without having been told to."""
        while not member.has_ended:
            started = await self._starter.start(member.shard)
            member.starts += 1
            connection = member.connection = started.connection
            member.where = started.where
            for asked, _ in member.asked.values():
                connection.send(asked)
            try:
                while (message := await connection.receive()) is not None:
                    self._hear(member, message)
            except BaseException:
                started.kill()
                raise
            finally:
                member.connection = None
                connection.close()
                code = await started.ended()
            if not member.has_ended:
                (self.in_hand.lost if code is None else self.in_hand.ended)(member.shard)
                self._note_death(member, started, code)

    def _note_death(self, member: ShardHandle, started: StartedShard, code: int | None) -> None:
        """Note a death; too many in a row end the crawl. What went with its machine is none."""
        if not member.is_moving:
            member.deaths += code is not None
            shard, deaths = member.shard, member.deaths
            tell("shard.died", shard=shard, where=started.where, code=code, deaths=deaths)
        member.is_moving = False
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
                self._starter.joined(member.shard, message)
                self._welcome(member, pages, refused)
            case ShardBeat():
                return
            case ShardReport():
                self._note(member, message)
            case ShardInHand(keys=keys, alone=alone):
                self.in_hand.note(member.shard, keys, alone)
            case WantPages(pages=pages):
                self.budget.want(member.shard, pages)
                self._grant()
            case ReturnPages(pages=pages):
                self.budget.take_back(member.shard, pages)
                self._grant()
            case ControlReply():
                self._pass_on(member, message)
            case ShardEnded():
                self._note_end(member, message)

    def _note_end(self, member: ShardHandle, message: ShardEnded) -> None:
        """Note that a shard has closed everything; one that can go on elsewhere has not ended."""
        member.report = message.report or member.report
        self.in_hand.ended(member.shard)
        is_moved = member.is_moving and not message.error and self.end_reason is None
        if is_moved or (message.error and self._starter.goes_elsewhere(member.shard, message)):
            return
        member.has_ended = True
        self._leave_unanswered(member)
        if message.is_taken_over:
            raise TakenOver(message.error)
        if message.error:
            raise (ConfigError if message.is_usage else CannotGoOn)(message.error)

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
            self.tell_all(Probe(self.termination.ask()))
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
            self.tell_all(RecallPages())
            asyncio.get_running_loop().call_later(RECALL_AGAIN_S, self._recall)

    def tell_all(self, message: object) -> None:
        """Send something to every shard that is there."""
        for member in self.members:
            if member.connection is not None:
                member.connection.send(message)


def _has_ended(shard: int) -> NoAnswer:
    return NoAnswer(f"shard {shard} has ended; ask again in a moment")
