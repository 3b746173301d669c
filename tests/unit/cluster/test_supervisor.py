"""The supervisor: what it is asked, and what it answers when a shard cannot."""

import asyncio
import os
import socket
from collections.abc import Callable

import pytest

from gossamer.clock import SystemClock
from gossamer.cluster import (
    Connection,
    ControlReply,
    ControlRequest,
    Dismiss,
    Downward,
    ForkedShards,
    NoAnswer,
    ShardEnded,
    ShardJoined,
    ShardOutages,
    ShardProbation,
    ShardReport,
    Supervisor,
    supervisor,
)
from gossamer.errors import CannotGoOn
from gossamer.model import Counters, Standing

Run = Callable[[int, socket.socket], int]


def supervised(run: Run) -> Supervisor:
    clock = SystemClock()
    return Supervisor(1, ForkedShards(run, (), clock), None, clock=clock, wait_at_end_s=60.0)


def shard(talk: Callable[[Connection[Downward], Downward], None]) -> Run:
    """Return a shard that joins, answers what it hears, and ends when it is dismissed."""

    async def main(end: socket.socket) -> None:
        connection: Connection[Downward] = await Connection.over(end, Downward)
        connection.send(ShardJoined(pages=0))
        while (message := await connection.receive()) is not None:
            if isinstance(message, Dismiss):
                connection.send(ShardEnded())
                break
            talk(connection, message)
        await connection.flush()
        connection.close()

    def run(_number: int, end: socket.socket) -> int:
        asyncio.run(main(end))
        return 0

    return run


def echo(connection: Connection[Downward], message: Downward) -> None:
    if isinstance(message, ControlRequest):
        connection.send(ControlReply(message.number, {"heard": message.question["ask"]}))


def ignore(connection: Connection[Downward], message: Downward) -> None:
    """Say nothing."""


async def test_a_shard_answers_and_one_that_has_ended_is_a_value() -> None:
    made = supervised(shard(echo))
    running = asyncio.ensure_future(made.run())
    assert await made.ask(0, {"ask": "status"}) == {"heard": "status"}
    made.dismiss("stopped")
    await running
    assert await made.ask(0, {"ask": "status"}) == NoAnswer(
        "shard 0 has ended; ask again in a moment"
    )


async def test_a_question_that_is_open_when_its_shard_ends_is_answered_with_that() -> None:
    made = supervised(shard(ignore))
    running = asyncio.ensure_future(made.run())
    asked = asyncio.ensure_future(made.ask(0, {"ask": "status"}))
    await asyncio.sleep(0.05)
    made.dismiss("stopped")
    await running
    assert isinstance(await asked, NoAnswer)


async def test_a_shard_that_does_not_answer_in_time_is_a_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervisor, "ANSWER_S", 0.05)
    made = supervised(shard(ignore))
    running = asyncio.ensure_future(made.run())
    said = await made.ask(0, {"ask": "status"})
    assert isinstance(said, NoAnswer)
    assert "no answer in 0.05 s" in said.reason
    made.dismiss("stopped")
    await running


async def test_a_question_survives_the_death_of_its_shard() -> None:
    """The first start dies over it; the next one is asked again."""
    mark = socket.socketpair()

    def dies_once(number: int, end: socket.socket) -> int:
        mark[0].setblocking(False)  # noqa: FBT003 -- the socket's own signature
        try:
            is_first = bool(mark[0].recv(1))
        except BlockingIOError:
            is_first = False
        if is_first:

            def die(_connection: Connection[Downward], _message: Downward) -> None:
                os._exit(9)

            return shard(die)(number, end)
        return shard(echo)(number, end)

    mark[1].send(b"1")
    clock = SystemClock()
    starter = ForkedShards(dies_once, (mark[0].fileno(),), clock)
    made = Supervisor(1, starter, None, clock=clock, wait_at_end_s=60.0)
    running = asyncio.ensure_future(made.run())
    assert await made.ask(0, {"ask": "why"}) == {"heard": "why"}
    assert made.members[0].starts == 2
    made.dismiss("stopped")
    await running
    for end in mark:
        end.close()


def dies_after(commits: int) -> Run:
    """Return a shard that reports so many commits and dies."""

    async def main(end: socket.socket) -> None:
        connection: Connection[Downward] = await Connection.over(end, Downward)
        connection.send(ShardJoined(pages=0))
        standing = Standing(queued=1, hosts=1, known_urls=1)
        connection.send(
            ShardReport(
                counters=Counters(),
                standing=standing,
                commits=commits,
                is_idle=False,
                outages=ShardOutages(),
                probation=ShardProbation(),
            )
        )
        await connection.flush()
        connection.close()

    def run(_number: int, end: socket.socket) -> int:
        asyncio.run(main(end))
        return 7

    return run


@pytest.mark.slow
async def test_a_shard_that_dies_again_and_again_without_getting_anywhere_ends_the_crawl() -> None:
    """Its repair and its first leases are no progress: every start commits them."""
    made = supervised(dies_after(commits=2))
    with pytest.raises(ExceptionGroup) as raised:
        await asyncio.wait_for(made.run(), 60)
    (error,) = raised.value.exceptions
    assert isinstance(error, CannotGoOn)
    assert "8 times in a row" in str(error)
    assert "last exit code 7" in str(error)
    assert made.members[0].starts == supervisor.MAX_DEATHS


@pytest.mark.slow
async def test_a_shard_that_gets_on_between_its_deaths_is_started_again() -> None:
    made = supervised(dies_after(commits=3))
    running = asyncio.ensure_future(made.run())
    while made.members[0].starts <= supervisor.MAX_DEATHS + 1:
        assert not running.done()
        await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.wait([running])
    assert made.members[0].deaths <= 1
