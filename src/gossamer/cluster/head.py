"""The head of a cluster: which machines are there. It passes on, and decides nothing.

Nodes call it and show every second that they are there; coordinators are told which ones are, and
have shards started on them. It knows no crawl, and safety needs nothing of it: while it is away no
shard can be started or moved, and everything else goes on.
"""

import asyncio
import hmac
import socket
from contextlib import suppress
from dataclasses import dataclass, field

from msgspec.structs import replace

from gossamer.clock import Clock
from gossamer.cluster.certificates import SignedKey, new_node, server_context
from gossamer.cluster.connection import Connection, listen
from gossamer.cluster.engines import ShardEngine
from gossamer.cluster.home import ClusterHome
from gossamer.cluster.node_messages import (
    Admitted,
    AskToJoin,
    ClusterEnds,
    CoordinatorHello,
    HeadAnswer,
    HeadQuestion,
    NodeHello,
    NodesNow,
    NodeState,
    NodeWork,
    NotHeard,
    ProcessEnded,
    ShardProcess,
    StartOn,
    StartProcess,
    StopOn,
    StopProcess,
    ToHead,
)
from gossamer.log import tell

SILENT_S = 6.0
"""A node that shows no sign of life for so long is taken for gone."""
LOOK_S = 0.5
END_S = 60.0
"""How long crawls may take to end when the cluster does."""


@dataclass(slots=True)
class _Node:
    """A node that is connected."""

    state: NodeState
    connection: Connection[ToHead]
    heard_at: float
    processes: dict[str, ShardProcess] = field(default_factory=dict)


class ClusterHead:
    """Takes calls as long as the cluster is up."""

    def __init__(self, home: ClusterHome, clock: Clock, engine: ShardEngine | None = None) -> None:
        """Take calls for a cluster; `engine` starts the shards unless the nodes' processes do."""
        self._home = home
        self._engine = engine
        self._clock = clock
        self._nodes: dict[str, _Node] = {}
        self._coordinators: dict[Connection[ToHead], CoordinatorHello] = {}
        self._draining: set[str] = set()
        self._authority = SignedKey(home.authority.read_bytes(), home.authority_key.read_bytes())
        self.is_over = asyncio.Event()

    async def open(self, end: socket.socket) -> asyncio.Server:
        """Take calls at a socket that is bound."""
        return await listen(end, server_context(self._home.root), self._serve)

    async def watch(self) -> None:
        """Let nodes go that are silent; return when the cluster is over."""
        if self._engine is None:
            await self._watch_nodes()
            return
        running = asyncio.get_running_loop().create_task(self._engine.run(self._pass_on))
        try:
            await self._watch_nodes()
        finally:
            running.cancel()
            await asyncio.wait((running,))

    async def _watch_nodes(self) -> None:
        said: list[NodeState] = []
        while not self.is_over.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self.is_over.wait(), LOOK_S)
            now = self._now()
            if self._engine is not None and now != said:
                self._tell_coordinators()
            said = now
            limit = self._clock.steady() - SILENT_S
            for name, node in list(self._nodes.items()):
                if node.heard_at < limit:
                    tell("node.silent", node=name)
                    node.connection.close()
                    self._forget(name, node)
                elif name in self._draining and not self._shards_of(name):
                    node.connection.send(ClusterEnds(f"{name} was drained"))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection: Connection[ToHead] = Connection(reader, writer, ToHead)
        try:
            first = await connection.receive()
            if isinstance(first, AskToJoin):
                await self._admit(connection, first)
            elif connection.is_trusted:
                await self._hear_first(connection, first)
        except asyncio.CancelledError:
            return
        finally:
            await connection.flush()
            connection.close()

    async def _admit(self, connection: Connection[ToHead], asked: AskToJoin) -> None:
        """Give a machine that has the token a certificate, and a name that no other has."""
        if not hmac.compare_digest(asked.token.encode(), self._home.token().secret.encode()):
            tell("node.refused", name=asked.name, peer=connection.peer)
            connection.send(
                NotHeard(
                    "the token is of another cluster; `gossamer cluster status` "
                    "on its first node prints the line to type"
                )
            )
            return
        if await self._is_taken(asked.name):
            connection.send(_name_taken(asked.name))
            return
        made = new_node(asked.name, self._authority)
        known = self._home.membership()
        connection.send(
            Admitted(
                self._authority.certificate, made.certificate, made.key, known.engine, known.ray
            )
        )

    async def _is_taken(self, name: str) -> bool:
        """Return True if there is a node of that name which shows signs of life.

        One that was killed may join again before we have heard of its end.
        """
        limit = self._clock.steady() + SILENT_S / 2
        while (node := self._nodes.get(name)) is not None and self._clock.steady() < limit:
            await self._clock.sleep(LOOK_S)
        return node is not None and node.heard_at > limit - SILENT_S / 2

    async def _hear_first(self, connection: Connection[ToHead], first: ToHead | None) -> None:
        match first:
            case NodeHello():
                await self._serve_node(connection, first)
            case CoordinatorHello():
                await self._serve_coordinator(connection, first)
            case HeadQuestion():
                connection.send(await self._answer(first))
            case _:
                return

    async def _serve_node(self, connection: Connection[ToHead], hello: NodeHello) -> None:
        """Hear a node as long as it is there."""
        name = hello.name
        if (other := self._nodes.get(name)) is not None:
            if self._clock.steady() - other.heard_at < SILENT_S / 2 and not hello.processes:
                connection.send(_name_taken(name))
                return
            other.connection.close()
        host = hello.listen or connection.peer.rpartition(":")[0]
        state = NodeState(
            name=name, cores=hello.cores, host=host, pid=hello.pid, region=hello.region
        )
        node = _Node(state, connection, self._clock.steady())
        node.processes = {one.process: one for one in hello.processes}
        self._nodes[name] = node
        self._draining.discard(name)
        tell("node.joined", node=name, cores=hello.cores)
        self._tell_coordinators()
        try:
            while (message := await connection.receive()) is not None:
                node.heard_at = self._clock.steady()
                if isinstance(message, ProcessEnded):
                    node.processes.pop(message.process, None)
                    self._pass_on(replace(message, node=name))
        finally:
            self._forget(name, node)

    def _forget(self, name: str, node: _Node) -> None:
        if self._nodes.get(name) is node:
            del self._nodes[name]
            tell("node.left", node=name)
            self._tell_coordinators()

    async def _serve_coordinator(
        self, connection: Connection[ToHead], hello: CoordinatorHello
    ) -> None:
        """Do what a coordinator wants as long as it is there."""
        self._coordinators[connection] = hello
        connection.send(NodesNow(self._now()))
        try:
            while (message := await connection.receive()) is not None:
                match message:
                    case StartOn(node=name, process=process):
                        await self._start(name, process)
                    case StopOn(node=name, process=process_name):
                        if self._engine is not None:
                            await self._engine.stop(name, process_name)
                        elif (node := self._nodes.get(name)) is not None:
                            node.connection.send(StopProcess(process_name))
                    case _:
                        continue
        finally:
            del self._coordinators[connection]

    async def _start(self, name: str, process: ShardProcess) -> None:
        if self._engine is not None:
            await self._engine.start(name, process)
            return
        node = self._nodes.get(name)
        if node is None:
            self._pass_on(ProcessEnded(process.process, -1, name))
            return
        node.processes[process.process] = process
        node.connection.send(StartProcess(process))

    def _pass_on(self, ended: ProcessEnded) -> None:
        for connection in self._coordinators:
            connection.send(ended)
        self._tell_coordinators()

    def _tell_coordinators(self) -> None:
        for connection in self._coordinators:
            connection.send(NodesNow(self._now()))

    def _now(self) -> list[NodeState]:
        """Return the machines that are there: with an engine those that it and we know of."""
        hosts = {name: node.state.host for name, node in self._nodes.items()}
        if self._engine is not None:
            hosts = {one.name: one.host for one in self._engine.nodes if one.name in hosts}
        return [
            replace(
                self._nodes[name].state,
                host=host,
                is_draining=name in self._draining,
                processes=self._processes_of(name),
            )
            for name, host in sorted(hosts.items())
        ]

    def _processes_of(self, name: str) -> list[ShardProcess]:
        """Return what runs on a machine."""
        if self._engine is None:
            return list(self._nodes[name].processes.values())
        found = (one.processes for one in self._engine.nodes if one.name == name)
        return next(found, [])

    def _shards_of(self, name: str) -> list[ShardProcess]:
        return [one for one in self._processes_of(name) if one.work is NodeWork.SHARD]

    async def _answer(self, asked: HeadQuestion) -> HeadAnswer:
        match asked.ask:
            case "status":
                pass
            case "drain" if asked.node not in self._nodes:
                known = ", ".join(sorted(self._nodes)) or "none"
                return HeadAnswer(error=f"there is no node {asked.node!r}; there are: {known}")
            case "drain":
                self._draining.add(asked.node)
                self._tell_coordinators()
            case "down":
                await self._end()
            case other:
                return HeadAnswer(error=f"unknown question {other!r}")
        return HeadAnswer(self._now(), list(self._coordinators.values()))

    async def _end(self) -> None:
        """End the crawls first, then the nodes, then us."""
        for connection in self._coordinators:
            connection.send(ClusterEnds("the cluster goes down"))
        deadline = self._clock.steady() + END_S
        while self._coordinators and self._clock.steady() < deadline:
            await self._clock.sleep(LOOK_S)
        for node in self._nodes.values():
            node.connection.send(ClusterEnds("the cluster goes down"))
        self.is_over.set()


def _name_taken(name: str) -> NotHeard:
    return NotHeard(f"there is a node {name!r} already; give another --name")


def join_line(home: ClusterHome) -> str:
    """Return what to type on another machine; "" where that is not how machines join."""
    if not home.membership().has_head:
        return ""
    return f"gossamer cluster join {home.token().head} --token {home.token().words}"
