"""A node: the process that stands for a machine of a cluster, and starts shards on it.

It calls the head, calls again when the line breaks, and starts what it is told to: only shards of
crawls in object stores, never a command. They die with it, and it tells when one of them has ended.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass

from gossamer.clock import Clock
from gossamer.cluster.certificates import (
    NodeCertificates,
    SignedKey,
    client_context,
    fingerprint_of,
    joining_context,
    write_certificates,
)
from gossamer.cluster.connection import Connection, reason_of
from gossamer.cluster.home import VARIABLE, ClusterHome, ClusterMembership, Token
from gossamer.cluster.node_messages import (
    Admitted,
    AskToJoin,
    ClusterEnds,
    NodeBeat,
    NodeHello,
    NodeWork,
    NotHeard,
    ProcessEnded,
    ShardProcess,
    StartProcess,
    StopProcess,
    ToCommand,
    ToNode,
)
from gossamer.cluster.ray_daemon import RayDaemon
from gossamer.cluster.spares import (
    SPARE_AFTER_S,
    SPARE_IDLE_S,
    SPARES,
    handed_to_spare,
    spare_words,
)
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.log import tell

BEAT_S = 1.0
REDIAL_S = 1.0
LAUNCH = """
import ctypes, os, signal, sys
parent, words = int(sys.argv[1]), sys.argv[2:]
ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
if os.getppid() == parent:
    os.execv(words[0], words)
"""
"""Asks for the death of its parent before it becomes a shard, whose imports take a second: an
orphan that comes late would claim what is somebody else's by now."""


def launching(words: list[str]) -> list[str]:
    """Return what starts a program of ours that dies with the process that starts it."""
    return [sys.executable, "-S", "-E", "-c", LAUNCH, str(os.getpid()), *words]


def process_words(process: ShardProcess, home: ClusterHome, node: str) -> list[str]:
    """Return the command that runs a shard of a crawl, or indexes those that run here."""
    program = [sys.executable, "-m", "gossamer"]
    if process.work is NodeWork.INDEX:
        return [*program, "build", process.store, "index", "--follow", f"--beside={os.getpid()}"]
    return [
        *program,
        "shard",
        f"--store={process.store}",
        f"--number={process.shard}",
        f"--join={process.join}",
        f"--process={process.process}",
        f"--node={node}",
        f"--home={home.root}",
    ]


def process_variables(home: ClusterHome) -> dict[str, str]:
    """Return the environment of such a process: it knows what machine it is on."""
    return {**os.environ, VARIABLE: str(home.root)}


async def join_cluster(
    home: ClusterHome, token: Token, name: str, listen: str = "", region: str = ""
) -> None:
    """Get a certificate from the head of a cluster, which is known by its fingerprint.

    `listen` is this machine's address, as others reach it; else it is the one that it calls from.
    """
    try:
        connection: Connection[ToCommand] = await Connection.dial(
            token.head, joining_context(), ToCommand
        )
    except (OSError, ValueError) as error:
        raise CannotGoOn(
            f"{token.head} cannot be reached: {reason_of(error)}; is the cluster up there, and the "
            "port open?"
        ) from error
    try:
        if fingerprint_of(connection.certificate) != token.fingerprint:
            raise ConfigError(
                f"{token.head} is not the machine that the token is of; nothing was sent. Copy the "
                "line again that `gossamer cluster up` has printed"
            )
        connection.send(AskToJoin(token.secret, name))
        said = await connection.receive()
        host = listen or connection.host
    finally:
        await connection.end()
    if not isinstance(said, Admitted):
        raise ConfigError(said.reason if isinstance(said, NotHeard) else f"{token.head}: no answer")
    mine = NodeCertificates(said.authority, SignedKey(said.certificate, said.key))
    write_certificates(home.root, mine)
    home.write(
        ClusterMembership(
            name=name,
            head=token.head,
            secret=token.secret,
            fingerprint=token.fingerprint,
            engine=said.engine,
            ray=said.ray,
            host=host,
            listen=listen,
            region=region,
        )
    )


@dataclass(slots=True)
class _Running:
    """A process that runs here."""

    shard: ShardProcess
    process: asyncio.subprocess.Process


class ShardProcesses:
    """The shards that run on this machine, each in a process that dies with ours."""

    def __init__(
        self,
        home: ClusterHome,
        node: str,
        on_ended: Callable[[ProcessEnded], None],
        spares: Clock | None = None,
    ) -> None:
        """Run shards for a node; `on_ended` is told which have ended.

        With a clock for it, there is a spare for the next one while any run.
        """
        self._home = home
        self._node = node
        self._on_ended = on_ended
        self._spares = spares
        self._running: dict[str, _Running] = {}
        self._watching: set[asyncio.Task[None]] = set()
        self._waiting: list[asyncio.subprocess.Process] = []
        """Spares."""
        self._planned: asyncio.Task[None] | None = None

    @property
    def running(self) -> list[ShardProcess]:
        """Return what runs."""
        return [one.shard for one in self._running.values()]

    async def start(self, shard: ShardProcess) -> None:
        """Start a shard."""
        if shard.process in self._running:
            return
        words = process_words(shard, self._home, self._node)
        process = self._spare(words) if shard.work is NodeWork.SHARD else None
        process = process or await self._launched(words, asyncio.subprocess.DEVNULL)
        self._running[shard.process] = _Running(shard, process)
        watching = asyncio.get_running_loop().create_task(self._watch(shard.process, process))
        self._watching.add(watching)
        watching.add_done_callback(self._watching.discard)
        if self._spares is not None and shard.work is NodeWork.SHARD:
            self._plan(self._renew(self._spares))

    def _spare(self, words: list[str]) -> asyncio.subprocess.Process | None:
        """Let a spare run a command, if there is one that lives."""
        while self._waiting:
            spare = self._waiting.pop(0)
            if spare.returncode is None and spare.stdin is not None:
                spare.stdin.write(handed_to_spare(words))
                spare.stdin.close()
                return spare
        return None

    async def _launched(self, words: list[str], stdin: int) -> asyncio.subprocess.Process:
        with self._home.log_path.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                *launching(words),
                stdin=stdin,
                stdout=log,
                stderr=log,
                env=process_variables(self._home),
            )

    async def _watch(self, name: str, process: asyncio.subprocess.Process) -> None:
        code = await process.wait()
        self._running.pop(name, None)
        if self._spares is not None and not self._running:
            self._plan(self._idle(self._spares))
        self._on_ended(ProcessEnded(name, code, self._node))

    def _plan(self, work: Coroutine[object, object, None]) -> None:
        """Do something about spares, and not what was planned before."""
        if self._planned is not None:
            self._planned.cancel()
        self._planned = asyncio.get_running_loop().create_task(work)

    async def _renew(self, clock: Clock) -> None:
        """Have as many as there are to be, a while after a start."""
        await clock.sleep(SPARE_AFTER_S)
        while len(self._waiting) < SPARES:
            self._waiting.append(await self._launched(spare_words(), asyncio.subprocess.PIPE))

    async def _idle(self, clock: Clock) -> None:
        """Have none any more, a while after the last shard: one that moves starts again at once."""
        await clock.sleep(SPARE_IDLE_S)
        self._drop_spares()

    def _drop_spares(self) -> None:
        for spare in self._waiting:
            if spare.returncode is None:
                with suppress(ProcessLookupError):
                    os.kill(spare.pid, signal.SIGKILL)
        self._waiting.clear()

    def stop(self, name: str) -> None:
        """Kill a shard: the next start repairs what is open."""
        if (running := self._running.get(name)) is not None:
            with suppress(ProcessLookupError):
                os.kill(running.process.pid, signal.SIGKILL)  # its own method would reap it

    async def end_all(self) -> None:
        """Kill all shards."""
        if self._planned is not None:
            self._planned.cancel()
        self._drop_spares()
        for name in list(self._running):
            self.stop(name)
        if self._watching:
            await asyncio.wait(list(self._watching))


class ClusterNode:
    """This machine, as a part of its cluster."""

    def __init__(self, home: ClusterHome, cores: int, clock: Clock) -> None:
        known = home.membership()
        self._home = home
        self._name = known.name
        self._head = known.head
        self._listen = known.listen
        self._region = known.region
        self._cores = cores
        self._clock = clock
        self._processes = ShardProcesses(home, known.name, self._tell, clock)
        self._ray = RayDaemon(home, cores, clock) if known.is_of_ray else None
        self._connection: Connection[ToNode] | None = None

    def _tell(self, ended: ProcessEnded) -> None:
        """Tell that a shard has ended; if the head is away, the next hello does not have it."""
        if self._connection is not None:
            self._connection.send(ended)

    async def run(self) -> None:
        """Be there until the cluster ends, or this node's part in it."""
        if self._ray is None:
            await self._stand()
            return
        holding = asyncio.get_running_loop().create_task(self._ray.run())
        try:
            await self._stand()
        finally:
            holding.cancel()
            await asyncio.wait((holding,))

    async def _stand(self) -> None:
        context = client_context(self._home.root)
        try:
            while True:
                try:
                    connection: Connection[ToNode] = await Connection.dial(
                        self._head, context, ToNode
                    )
                except OSError as error:
                    tell("head.away", head=self._head, error=str(error))
                    await self._clock.sleep(REDIAL_S)
                    continue
                if await self._serve(connection):
                    return
                await self._clock.sleep(REDIAL_S)
        finally:
            await self._processes.end_all()

    async def _serve(self, connection: Connection[ToNode]) -> bool:
        """Do what the head says until the line breaks; return True if it is over."""
        running = self._processes.running
        hello = NodeHello(self._name, self._cores, running, self._listen, os.getpid(), self._region)
        connection.send(hello)
        self._connection = connection
        beating = asyncio.get_running_loop().create_task(self._beat(connection))
        try:
            while (message := await connection.receive()) is not None:
                match message:
                    case StartProcess(process=shard):
                        await self._processes.start(shard)
                    case StopProcess(process=name):
                        self._processes.stop(name)
                    case ClusterEnds():
                        return True
                    case NotHeard(reason=reason):
                        raise ConfigError(reason)
            return False
        finally:
            beating.cancel()
            self._connection = None
            connection.close()

    async def _beat(self, connection: Connection[ToNode]) -> None:
        while True:
            connection.send(NodeBeat())
            await self._clock.sleep(BEAT_S)
