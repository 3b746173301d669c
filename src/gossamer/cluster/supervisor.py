"""The supervisor: starts the shards, watches them, starts them again, and ends them together."""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from gossamer.cluster.council import Allowance, Consensus
from gossamer.cluster.line import Line
from gossamer.cluster.messages import (
    Dismiss,
    Ended,
    Grant,
    Joined,
    Probe,
    Question,
    Recall,
    Reply,
    Report,
    Return,
    Upward,
    Want,
)
from gossamer.cluster.nursery import Child, start_child
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.log import tell

MAX_DEATHS = 8
"""Deaths of one shard in a row, without a commit in between, after which we stop."""
ANSWER_S = 100.0
RECALL_S = 0.05
"""Pause before unused pages are called back, so that two shards do not throw one to and fro."""
RECALL_AGAIN_S = 0.1
"""Until somebody has pages to spare: a fetch that was granted one may fail any time."""

Answer: TypeAlias = asyncio.Future[dict[str, object]]


@dataclass(slots=True, kw_only=True)
class Member:
    """A shard as the supervisor knows it."""

    shard: int
    line: Line[Upward] | None = None
    report: Report | None = None
    deaths: int = 0
    """In a row, without a commit in between."""
    starts: int = 0
    has_ended: bool = False
    refused: dict[str, str] = field(default_factory=dict)
    asked: dict[int, tuple[Question, Answer]] = field(default_factory=dict)
    """Questions that it has not answered yet; put to it again if it dies over them."""


class Supervisor:
    """Local processes, one per shard. Another kind of supervisor would have the same methods."""

    def __init__(
        self,
        shards: int,
        run_shard: Callable[[int, socket.socket], int],
        max_pages: int | None,
        keep_files: tuple[int, ...],
    ) -> None:
        self.members = [Member(shard=number) for number in range(shards)]
        self.allowance = Allowance(shards, max_pages)
        self.consensus = Consensus(shards)
        self.end_reason: str | None = None
        """Why the shards were told to end; "" when nothing is left to do, None while they run."""
        self.on_report: Callable[[], None] = lambda: None
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

    async def ask(self, shard: int, question: dict[str, object]) -> dict[str, object]:
        """Return a shard's answer to a question; one that is starting is waited for."""
        member = self.members[shard]
        if member.has_ended:
            raise KeyError(f"shard {shard} has ended; ask again in a moment")
        self._number += 1
        asked = Question(self._number, question)
        answer: Answer = asyncio.get_running_loop().create_future()
        member.asked[asked.number] = asked, answer
        if member.line is not None:
            member.line.send(asked)
        try:
            return await asyncio.wait_for(answer, ANSWER_S)
        except TimeoutError as error:
            raise KeyError(f"shard {shard} gave no answer in {ANSWER_S:g} s") from error
        finally:
            member.asked.pop(asked.number, None)

    async def _look_after(self, member: Member) -> None:
        """Start a shard, and start it again for as long as it dies without having been told to."""
        while not member.has_ended:
            child = start_child(member.shard, self._run_shard, self._keep_files)
            member.starts += 1
            line: Line[Upward] = await Line.over(child.end, Upward)
            member.line = line
            for asked, _ in member.asked.values():
                line.send(asked)
            try:
                while (message := await line.receive()) is not None:
                    self._hear(member, message)
            except BaseException:
                child.kill()
                raise
            finally:
                member.line = None
                line.close()
                code = child.reap()
            if not member.has_ended:
                self._mourn(member, child, code)

    def _mourn(self, member: Member, child: Child, code: int) -> None:
        """Note a death; too many in a row end the crawl."""
        member.deaths += 1
        tell("shard.died", shard=member.shard, pid=child.pid, code=code, deaths=member.deaths)
        if member.deaths >= MAX_DEATHS:
            raise CannotGoOn(
                f"shard {member.shard} died {member.deaths} times in a row (last exit code {code}) "
                "without getting anywhere; see what it printed, and run the crawl again"
            )
        self.consensus.lost(member.shard)
        self.allowance.lost(member.shard)

    def _hear(self, member: Member, message: Upward) -> None:
        match message:
            case Joined(pages=pages, refused=refused):
                self._welcome(member, pages, refused)
            case Report():
                self._note(member, message)
            case Want(pages=pages):
                self.allowance.want(member.shard, pages)
                self._grant()
            case Return(pages=pages):
                self.allowance.take_back(member.shard, pages)
                self._grant()
            case Reply():
                self._pass_on(member, message)
            case Ended(report=report, error=error, is_usage=is_usage):
                member.has_ended = True
                member.report = report or member.report
                self._leave_unanswered(member)
                if error:
                    raise (ConfigError if is_usage else CannotGoOn)(error)

    def _pass_on(self, member: Member, reply: Reply) -> None:
        _, waiting = member.asked.pop(reply.number, (None, None))
        if waiting is not None and not waiting.done():
            waiting.set_result(reply.answer)

    def _leave_unanswered(self, member: Member) -> None:
        for _, waiting in member.asked.values():
            if not waiting.done():
                waiting.set_exception(KeyError(f"shard {member.shard} has ended; ask again"))

    def _welcome(self, member: Member, pages: int, refused: dict[str, str]) -> None:
        member.refused = refused
        self.allowance.join(member.shard, pages)
        self._grant()  # others may have asked before the last one was there
        if self.end_reason is not None and member.line is not None:
            member.line.send(Dismiss(self.end_reason))

    def _note(self, member: Member, report: Report) -> None:
        member.report = report
        if report.commits > 1:  # the first one only repairs
            member.deaths = 0
        self.consensus.note(
            member.shard,
            is_idle=report.is_idle,
            commits=report.commits,
            answers=report.round,
        )
        if self.consensus.is_reached:
            self.dismiss("")
        elif self.consensus.should_ask:
            self._tell_all(Probe(self.consensus.ask()))
        self.on_report()

    def _grant(self) -> None:
        for shard, pages in self.allowance.grants():
            if (line := self.members[shard].line) is not None:
                line.send(Grant(pages))
        if self.allowance.is_scarce and not self._is_recalling:
            self._is_recalling = True
            asyncio.get_running_loop().call_later(RECALL_S, self._recall)

    def _recall(self) -> None:
        self._is_recalling = self.allowance.is_scarce
        if self._is_recalling:
            self._tell_all(Recall())
            asyncio.get_running_loop().call_later(RECALL_AGAIN_S, self._recall)

    def _tell_all(self, message: object) -> None:
        for member in self.members:
            if member.line is not None:
                member.line.send(message)
