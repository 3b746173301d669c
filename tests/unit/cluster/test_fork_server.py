"""Shards as forks of a process that has imported everything: they start, end, and leave nothing."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gossamer.cluster import ClusterHome, LocalEngine, ShardProcess, start_fork_server
from gossamer.cluster.fork_server import LOST
from gossamer.cluster.node_messages import ProcessEnded
from gossamer.cluster.processes import ShardChild
from gossamer.durable import replace_file
from gossamer.linux import is_dead

LONG_S = 60.0


@pytest.fixture
def server(tmp_path: Path) -> ShardChild:
    """Return a server whose shards end at once with their number, or note who they are and stay."""

    def run(shard: ShardProcess) -> int:
        if shard.process.startswith("brief"):
            return shard.shard
        os.write(1, b"I stay\n")
        replace_file(tmp_path / shard.process, str(os.getpid()).encode())
        time.sleep(LONG_S)
        return 0

    return start_fork_server(run, tmp_path / "home" / "node.log")


class Heard:
    """What an engine has told."""

    def __init__(self, engine: LocalEngine) -> None:
        self.engine = engine
        self.ended: dict[str, int] = {}

    def note(self, ended: ProcessEnded) -> None:
        self.ended[ended.process] = ended.code

    async def start(self, process: str, shard: int = 0) -> None:
        await self.engine.start("here", ShardProcess(process, "file:///x", shard))

    async def until_ended(self, *names: str) -> None:
        assert await until(lambda: set(names) <= set(self.ended))


async def until(is_so: Callable[[], bool]) -> bool:
    for _ in range(6000):
        if is_so():
            return True
        await asyncio.sleep(0.01)
    return False


async def pid_of(path: Path) -> int:
    assert await until(path.exists)
    return number_in(path)


def number_in(path: Path) -> int:
    return int(path.read_text())


@asynccontextmanager
async def running(folder: Path, server: ShardChild) -> AsyncIterator[Heard]:
    heard = Heard(LocalEngine(ClusterHome(folder / "home"), server))
    task = asyncio.ensure_future(heard.engine.run(heard.note))
    try:
        yield heard
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        server.end.close()
        server.reap()


async def test_the_end_of_each_shard_is_told_with_its_code(
    tmp_path: Path, server: ShardChild
) -> None:
    async with running(tmp_path, server) as heard:
        for number in range(5):
            await heard.start(f"brief-{number}", number)
        await heard.until_ended(*(f"brief-{number}" for number in range(5)))
        assert heard.ended == {f"brief-{number}": number for number in range(5)}
        assert heard.engine.nodes[0].processes == []


async def test_a_shard_is_killed_alone(tmp_path: Path, server: ShardChild) -> None:
    async with running(tmp_path, server) as heard:
        await heard.start("one")
        await heard.start("two")
        one, two = await pid_of(tmp_path / "one"), await pid_of(tmp_path / "two")
        await heard.engine.stop("here", "one")
        await heard.until_ended("one")
        assert heard.ended == {"one": LOST}
        assert is_dead(one)
        assert not is_dead(two)
        assert [shard.process for shard in heard.engine.nodes[0].processes] == ["two"]
    assert is_dead(two)
    assert (tmp_path / "home" / "node.log").read_text().count("I stay") == 2


async def test_with_the_server_all_its_shards_have_ended(
    tmp_path: Path, server: ShardChild
) -> None:
    async with running(tmp_path, server) as heard:
        await heard.start("one")
        pid = await pid_of(tmp_path / "one")
        server.kill()
        await heard.until_ended("one")
        assert await until(lambda: is_dead(pid))
        await heard.start("brief-after")  # as a program of its own, which finds no store
        await heard.until_ended("brief-after")
        assert heard.ended["brief-after"] != 0
