"""Engines: what places, starts and ends the processes of shards. That is all they do.

Safety rests on the object store alone: an engine may tell the end of a process late, twice or not
at all, and may start one that nobody waits for any more.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from gossamer.clock import Clock
from gossamer.cluster.certificates import client_context
from gossamer.cluster.connection import Connection
from gossamer.cluster.fork_server import ForkedProcesses
from gossamer.cluster.home import ClusterHome
from gossamer.cluster.node import ShardProcesses
from gossamer.cluster.node_messages import (
    ClusterEnds,
    CoordinatorHello,
    NodesNow,
    NodeState,
    NodeWork,
    NotHeard,
    ProcessEnded,
    ShardProcess,
    StartOn,
    StopOn,
    ToCoordinator,
)
from gossamer.cluster.processes import ShardChild
from gossamer.linux import cores
from gossamer.log import tell

OnEnded = Callable[[ProcessEnded], None]
OnOver = Callable[[], None]
REDIAL_S = 1.0
HERE = "here"


def ignore() -> None:
    """Do nothing about the end of a cluster."""


class ShardEngine(Protocol):
    """Machines, and processes on them."""

    @property
    def nodes(self) -> Sequence[NodeState]:
        """Return the machines that are there."""

    async def run(self, on_ended: OnEnded, on_over: OnOver = ignore) -> None:
        """Be in touch with the machines, and tell which processes have ended.

        `on_over` is called when the cluster is to end: its machines wait for crawls that end then.
        Return when there are no machines any more, nor will be.
        """

    async def start(self, node: str, process: ShardProcess) -> None:
        """Start a process on a machine; one that cannot be started has ended."""

    async def stop(self, node: str, process: str) -> None:
        """Kill a process."""


class NodesLine:
    """A connection over which nodes are told of, and processes on them started.

    While there is none nothing can be started, and there are no nodes: nobody is to try.
    """

    def __init__(self) -> None:
        self._connection: Connection[ToCoordinator] | None = None
        self._on_ended: OnEnded = lambda _ended: None
        self.nodes: Sequence[NodeState] = ()
        """The machines that are there, as was said last."""

    async def hear(
        self, connection: Connection[ToCoordinator], on_ended: OnEnded, on_over: OnOver
    ) -> bool:
        """Use a connection until it breaks; return True if the cluster has ended."""
        self._connection, self._on_ended = connection, on_ended
        is_over = False
        try:
            while (message := await connection.receive()) is not None:
                match message:
                    case NodesNow(nodes=nodes):
                        self.nodes = nodes
                    case ProcessEnded():
                        on_ended(message)
                    case ClusterEnds() | NotHeard():
                        is_over = True
                        on_over()  # what runs there is to end, and is told of as before
            return is_over
        finally:
            self._connection, self.nodes = None, ()
            connection.close()

    def start(self, node: str, process: ShardProcess) -> None:
        """Have a process started; without a connection it has ended."""
        if self._connection is None:
            self._on_ended(ProcessEnded(process.process, -1, node))
        else:
            self._connection.send(StartOn(node, process))

    def stop(self, node: str, process: str) -> None:
        """Have a process killed."""
        if self._connection is not None:
            self._connection.send(StopOn(node, process))


class HeadEngine:
    """The machines that have joined a cluster, by way of its head."""

    def __init__(self, home: ClusterHome, hello: CoordinatorHello, clock: Clock) -> None:
        self._head = home.membership().head
        self._context = client_context(home.root)
        self._hello = hello
        self._clock = clock
        self._line = NodesLine()

    @property
    def nodes(self) -> Sequence[NodeState]:
        """Return the machines that are there; none while the head is away."""
        return self._line.nodes

    async def run(self, on_ended: OnEnded, on_over: OnOver = ignore) -> None:
        """Talk to the head, and call it again when the line breaks."""
        while True:
            try:
                connection: Connection[ToCoordinator] = await Connection.dial(
                    self._head, self._context, ToCoordinator
                )
            except OSError as error:
                tell("head.away", head=self._head, error=str(error))
                await self._clock.sleep(REDIAL_S)
                continue
            connection.send(self._hello)
            if await self._line.hear(connection, on_ended, on_over):
                return
            await self._clock.sleep(REDIAL_S)

    async def start(self, node: str, process: ShardProcess) -> None:
        """Let the head have a process started."""
        self._line.start(node, process)

    async def stop(self, node: str, process: str) -> None:
        """Let the head have a process killed."""
        self._line.stop(node, process)


class LocalEngine:
    """This machine alone, without a head: its processes die with the coordinator."""

    def __init__(self, home: ClusterHome, server: ShardChild | None = None) -> None:
        """Start shards as forks of a server, or as programs: without one, or when it is gone."""
        self._processes = ShardProcesses(home, HERE, self._tell)
        self._forks = ForkedProcesses(server, self._tell) if server is not None else None
        self._on_ended: OnEnded = lambda _ended: None

    def _tell(self, ended: ProcessEnded) -> None:
        self._on_ended(ended)

    @property
    def nodes(self) -> Sequence[NodeState]:
        """Return this machine."""
        forks = self._forks.running if self._forks is not None else []
        return [NodeState(name=HERE, cores=cores(), processes=forks + self._processes.running)]

    async def run(
        self,
        on_ended: OnEnded,
        on_over: OnOver = ignore,  # noqa: ARG002 - it is over when we are
    ) -> None:
        """Wait until it is cancelled; then end what runs."""
        self._on_ended = on_ended
        try:
            if self._forks is not None:
                await self._forks.hear()
            await asyncio.Event().wait()
        finally:
            if self._forks is not None:
                await self._forks.end_all()
            await self._processes.end_all()

    async def start(self, node: str, process: ShardProcess) -> None:  # noqa: ARG002 - there is one
        """Start a process here."""
        if process.work is NodeWork.SHARD and self._forks is not None and self._forks.is_there:
            await self._forks.start(process)
        else:
            await self._processes.start(process)

    async def stop(self, node: str, process: str) -> None:  # noqa: ARG002 - there is one
        """Kill a process here."""
        if self._forks is not None:
            await self._forks.stop(process)
        self._processes.stop(process)
