"""Processes of shards: their end is waited for without blocking anybody else."""

import asyncio
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gossamer.clock import SystemClock
from gossamer.cluster import processes

PROCESSES = Path("/proc")


async def test_the_loop_goes_on_while_a_child_takes_its_time_to_exit() -> None:
    def linger(_shard: int, end: socket.socket) -> int:
        end.close()
        time.sleep(0.3)
        return 7

    child = processes.start_child(0, linger, ())
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.ensure_future(tick())
    assert await child.ended(SystemClock()) == 7
    ticking.cancel()
    child.end.close()
    assert ticks >= 3


SIGNALLED_AT_FORK = """
import os, signal
from gossamer.cluster.processes import start_child

for number in (signal.SIGINT, signal.SIGTERM):
    os.register_at_fork(after_in_child=lambda n=number: os.kill(os.getpid(), n))

def run(_shard, _end):
    ignored = all(signal.getsignal(n) is signal.SIG_IGN for n in (signal.SIGINT, signal.SIGTERM))
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    return 7 if ignored and not blocked else 8

child = start_child(0, run, ())
print(child.reap(), len(signal.pthread_sigmask(signal.SIG_BLOCK, ())))
"""


def test_a_signal_to_the_whole_group_does_not_end_a_child_that_has_only_just_begun() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SIGNALLED_AT_FORK], check=True, capture_output=True, text=True
    )
    assert (ended.stdout, ended.stderr) == ("7 0\n", "")


async def test_a_child_that_does_not_exit_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "EXIT_S", 0.05)

    def hang(_shard: int, end: socket.socket) -> int:
        end.close()
        time.sleep(60)
        return 0

    child = processes.start_child(0, hang, ())
    assert await child.ended(SystemClock()) == -signal.SIGKILL
    child.end.close()


async def test_a_child_whose_waiter_is_cancelled_is_not_left_behind() -> None:
    def hang(_shard: int, end: socket.socket) -> int:
        end.close()
        time.sleep(60)
        return 0

    child = processes.start_child(0, hang, ())
    waiting = asyncio.ensure_future(child.ended(SystemClock()))
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not (PROCESSES / str(child.pid)).exists()
    child.end.close()


def test_a_caller_without_a_loop_waits_for_the_exit_code() -> None:
    child = processes.start_child(0, lambda _shard, _end: 3, ())
    assert child.reap() == 3
    child.end.close()
