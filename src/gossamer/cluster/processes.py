"""Shards as processes of this machine. They start as forks, and die with us.

A fork shares the imported modules and compiled kernels, so a further shard costs no start-up.
The parent must therefore never open a database: its threads would not be there in the child.
"""

import asyncio
import gc
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn

from gossamer.clock import Clock
from gossamer.errors import CannotGoOn
from gossamer.linux import die_with

EXIT_S, POLL_S = 30.0, 0.01
"""How long a shard that has closed its connection may take to exit, and how often we look."""
CRASHED = 70
"""Exit code of a shard that ended by an error of our own."""
STOPS = (signal.SIGINT, signal.SIGTERM)


class ShardChild:
    """A shard's process, and our end of the connection to it."""

    def __init__(self, shard: int, pid: int, end: socket.socket) -> None:
        self.shard = shard
        self.pid = pid
        self.end = end

    def reap(self) -> int:
        """Wait for its end, which is near when the connection has ended; return how it went.

        This blocks: for a caller that has no event loop to keep alive.
        """
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)

    async def ended(self, clock: Clock) -> int:
        """Wait for its end without blocking the loop; return how it went.

        One that has closed its connection and does not end is killed after a while: its place is
        wanted, and the next start repairs what is open. So is one whose waiter is cancelled.
        """
        deadline = clock.steady() + EXIT_S
        cancelled: asyncio.CancelledError | None = None
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)  # noqa: ASYNC222  # it does not wait
            if pid and cancelled is not None:
                raise cancelled
            if pid:
                return os.waitstatus_to_exitcode(status)
            if cancelled is not None or clock.steady() >= deadline:
                self.kill()
            try:
                await clock.sleep(POLL_S)
            except asyncio.CancelledError as error:  # who ends us must not leave it behind
                cancelled = error

    def kill(self) -> None:
        """End it at once: the next start repairs what is open."""
        os.kill(self.pid, signal.SIGKILL)


def start_child(
    shard: int, run: Callable[[int, socket.socket], int], keep: tuple[int, ...]
) -> ShardChild:
    """Fork a process that runs a shard; it keeps `keep` and its end of the connection."""
    ours, theirs = socket.socketpair()
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    # A signal to all of the group must find the child ignoring it: it still has our handlers.
    unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    try:
        pid = os.fork()
        if pid == 0:
            _be_a_shard(shard, run, theirs, keep=(*keep, theirs.fileno()), parent=parent)
    except OSError as error:
        raise CannotGoOn(f"cannot start shard {shard}: {error.strerror}") from error
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
    theirs.close()
    return ShardChild(shard, pid, ours)


def _be_a_shard(
    shard: int,
    run: Callable[[int, socket.socket], int],
    end: socket.socket,
    *,
    keep: tuple[int, ...],
    parent: int,
) -> NoReturn:
    """Run the shard in the forked process; never return into what the parent was doing."""
    code = CRASHED
    try:
        die_with(parent)
        gc.freeze()  # what we share with the parent is not ours to collect: a database would wait
        _let_go(keep)
        code = run(shard, end)
    except BaseException:  # noqa: BLE001  # the top of a process: told, and counted as a death
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _let_go(keep: tuple[int, ...]) -> None:
    """Forget the parent's signals and files: its loop, its sockets, other connections."""
    signal.set_wakeup_fd(-1)
    for wish in STOPS:  # it may reach all of a group; the parent decides
        signal.signal(wish, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)  # what came meanwhile is ignored, too
    low = 3
    for descriptor in (*sorted(keep), os.sysconf("SC_OPEN_MAX")):
        os.closerange(low, descriptor)
        low = max(low, descriptor + 1)
