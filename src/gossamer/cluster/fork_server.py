"""A process that has imported everything, and forks a shard whenever one is to start.

It is forked itself, before its parent has threads: those of an object store's library would not be
there in a fork. A shard that starts so shares imports and compiled code with all others.
"""

import asyncio
import os
import selectors
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from gossamer.cluster.connection import LENGTH_BYTES, Connection
from gossamer.cluster.node_messages import ProcessEnded, ShardProcess, StartProcess, StopProcess
from gossamer.cluster.processes import ShardChild, start_child

LOST = -9
Asked = StartProcess | StopProcess
_decoder: msgspec.msgpack.Decoder[Asked] = msgspec.msgpack.Decoder(Asked)
RunShard = Callable[[ShardProcess], int]


def start_fork_server(run: RunShard, log: Path) -> ShardChild:
    """Fork a process that forks shards, each of which `run` is; what they say goes to a log."""
    return start_child(0, lambda _, end: _ForkServer(run, end).serve(log), ())


class ForkedProcesses:
    """The shards that a fork server has started for us."""

    def __init__(self, server: ShardChild, on_ended: Callable[[ProcessEnded], None]) -> None:
        """Use a fork server; `on_ended` is told which shards have ended."""
        self._server = server
        self._on_ended = on_ended
        self._opening = asyncio.Lock()
        self._connection: Connection[ProcessEnded] | None = None
        self._running: dict[str, ShardProcess] = {}
        self.is_there = True
        """The server lives, as far as is known."""

    @property
    def running(self) -> list[ShardProcess]:
        """Return what runs."""
        return list(self._running.values())

    async def _line(self) -> Connection[ProcessEnded]:
        async with self._opening:
            if self._connection is None:
                self._connection = await Connection.over(self._server.end, ProcessEnded)
            return self._connection

    async def hear(self) -> None:
        """Hear which shards have ended, until the server has: then all have."""
        line = await self._line()
        while (ended := await line.receive()) is not None:
            if self._running.pop(ended.process, None) is not None:
                self._on_ended(ended)
        self.is_there = False
        for name in list(self._running):
            del self._running[name]
            self._on_ended(ProcessEnded(name, LOST))

    async def start(self, shard: ShardProcess) -> None:
        """Start a shard."""
        self._running[shard.process] = shard
        (await self._line()).send(StartProcess(shard))

    async def stop(self, name: str) -> None:
        """Kill a shard: the next start repairs what is open."""
        if name in self._running:
            (await self._line()).send(StopProcess(name))

    async def end_all(self) -> None:
        """Kill all shards, and use the server no more."""
        line = await self._line()
        for name in self._running:
            line.send(StopProcess(name))
        while self._running and (ended := await line.receive()) is not None:
            self._running.pop(ended.process, None)
        self.is_there = False
        line.close()


class _ForkServer:
    """The server's own side, in a process that does nothing else."""

    def __init__(self, run: RunShard, end: socket.socket) -> None:
        self._run = run
        self._end = end
        self._children: dict[int, str] = {}

    def serve(self, log: Path) -> int:
        """Fork what is asked for until nobody asks any more; then kill what runs."""
        log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with log.open("ab") as said:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
        woken, wakes = socket.socketpair()
        for one in (woken, wakes):
            one.settimeout(0.0)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # it is the wake-up that counts
        signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._end, selectors.EVENT_READ)
            waiting.register(woken, selectors.EVENT_READ)
            while True:
                ready = [key.fileobj for key, _ in waiting.select()]
                if woken in ready:
                    woken.recv(4096)
                self._bury()
                if self._end in ready and not self._obey():
                    break
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)
        for pid in self._children:
            os.waitpid(pid, 0)
        return 0

    def _obey(self) -> bool:
        """Do the next thing that is asked for; return False if nobody asks any more."""
        if not (size := self._end.recv(LENGTH_BYTES, socket.MSG_WAITALL)):
            return False
        asked = self._end.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
        match _decoder.decode(asked):
            case StartProcess(process=shard):
                child = start_child(shard.shard, lambda _, __: self._be(shard), ())
                child.end.close()
                self._children[child.pid] = shard.process
            case StopProcess(process=name):
                for pid in [pid for pid, its in self._children.items() if its == name]:
                    os.kill(pid, signal.SIGKILL)  # it is not buried yet: nobody else has its number
        return True

    def _be(self, shard: ShardProcess) -> int:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        return self._run(shard)

    def _bury(self) -> None:
        """Tell which children have ended."""
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            ended = ProcessEnded(self._children.pop(pid), os.waitstatus_to_exitcode(status))
            told = msgspec.msgpack.encode(ended)
            with suppress(OSError):  # nobody hears us any more: that is told next
                self._end.sendall(len(told).to_bytes(LENGTH_BYTES, "big") + told)
