"""Ray as an engine: an actor per shard, which runs `gossamer shard` as a process of its own.

The only module that imports Ray, and only in processes of Ray's own making or in `drive`, a process
that talks to Ray for us: Ray ends a process whose connection to it is lost, takes its signals and
fills it with threads. What it is told and what it tells are the messages of a cluster's head.

Ray places, starts and watches, and does not fence: an actor is never restarted by Ray, since a
start needs an epoch, and those are issued by the coordinator.
"""

import asyncio
import importlib.util
import math
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from secrets import token_hex
from typing import Any

import msgspec

from gossamer.clock import Clock, SystemClock
from gossamer.cluster.connection import Connection
from gossamer.cluster.engines import NodesLine, OnEnded, OnOver, ignore
from gossamer.cluster.home import ClusterHome, default_home
from gossamer.cluster.node import launching, process_variables, process_words
from gossamer.cluster.node_messages import (
    NodesNow,
    NodeState,
    ProcessEnded,
    ShardProcess,
    StartOn,
    StopOn,
    ToCoordinator,
)
from gossamer.cluster.ray_daemon import RESOURCE, STARTED, ray_variables
from gossamer.cluster.spares import SPARE_AFTER_S, SPARE_IDLE_S, handed_to_spare, spare_words
from gossamer.errors import ConfigError
from gossamer.log import describe_error, set_up, warn

REDIAL_S = 1.0
LOOK_S = 0.25
"""How often Ray is asked which nodes there are; it tells the end of an actor by itself."""
SHARE = 0.001
"""Of a node's resource that a shard takes: how many run on a node, the coordinator decides."""
LOST = -9
TAKE_OVER_S = 10.0
DRIVE = "from gossamer.cluster.ray_engine import drive; drive()"
INSTALL = "Ray is not installed: pip install 'gossamer[cluster]'"

ToDriver = StartOn | StopOn


def require_ray() -> None:
    """Refuse to go on without Ray."""
    if importlib.util.find_spec("ray") is None:
        raise ConfigError(INSTALL)


class RayEngine:
    """The nodes of a Ray cluster that have the resource `gossamer`."""

    def __init__(self, home: ClusterHome, clock: Clock) -> None:
        require_ray()
        self._home = home
        self._clock = clock
        self._line = NodesLine()

    @property
    def nodes(self) -> Sequence[NodeState]:
        """Return the machines that are there, as Ray says."""
        return self._line.nodes

    async def run(self, on_ended: OnEnded, on_over: OnOver = ignore) -> None:
        """Keep a process that talks to Ray; start another when it has ended."""
        while True:
            ours, theirs = socket.socketpair()
            with theirs:
                driver = await self._driver(theirs)
            connection: Connection[ToCoordinator] = await Connection.over(ours, ToCoordinator)
            try:
                await self._line.hear(connection, on_ended, on_over)
            finally:
                with suppress(ProcessLookupError):
                    driver.kill()
                await driver.wait()
            warn("ray.away", ray=self._home.membership().ray)
            await self._clock.sleep(REDIAL_S)

    async def _driver(self, end: socket.socket) -> asyncio.subprocess.Process:
        known = self._home.membership()
        self._home.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        words = [sys.executable, "-c", DRIVE, str(end.fileno()), known.ray, known.host]
        with self._home.log_path.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                *launching([*words, f"gossamer-{known.fingerprint[:12]}"]),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(end.fileno(),),
                env={**os.environ, **ray_variables(self._home)},
            )

    async def start(self, node: str, process: ShardProcess) -> None:
        """Let Ray start an actor on a node."""
        self._line.start(node, process)

    async def stop(self, node: str, process: str) -> None:
        """Let Ray kill an actor: its shard dies with it."""
        self._line.stop(node, process)


async def ray_nodes(home: ClusterHome, clock: Clock, limit_s: float) -> list[NodeState]:
    """Return the nodes that Ray has and that shards can be on; none if it does not answer."""
    engine = RayEngine(home, clock)
    running = asyncio.get_running_loop().create_task(engine.run(lambda _ended: None))
    deadline = clock.steady() + limit_s
    try:
        while not engine.nodes and not running.done() and clock.steady() < deadline:
            await clock.sleep(LOOK_S)
        return list(engine.nodes)
    finally:
        running.cancel()
        await asyncio.wait((running,))


class ShardGuard:
    """The actor: runs one shard on the node that Ray has put it on, as a process of its own.

    Nothing of Ray is in that process. It dies with this one, and asks for that before its imports:
    an orphan that comes late would claim what is somebody else's by now. Until it is told which
    shard to be it is a spare.
    """

    def __init__(self) -> None:
        """Start the process; on the actor's main thread, which lives as long as the actor."""
        self._home = ClusterHome(default_home())
        self._home.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._guarded: bytes | None = None
        with self._home.log_path.open("ab") as log:
            self._child = subprocess.Popen(  # noqa: S603 -- ourselves
                launching(spare_words()),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=process_variables(self._home),
            )

    async def run(self, node: str, process: ShardProcess) -> None:
        """Let the process be a shard."""
        self._guarded = msgspec.json.encode(_Guarded(node, process))
        if self._child.stdin is not None:
            with suppress(BrokenPipeError):  # it has died: its code says so
                self._child.stdin.write(handed_to_spare(process_words(process, self._home, node)))
                self._child.stdin.close()

    async def guarded(self) -> bytes | None:
        """Return what runs, for a driver that has not started it; None if nothing does."""
        return self._guarded

    async def code(self) -> int:
        """Return how the shard ended, when it has."""
        return await asyncio.to_thread(self._child.wait)


class _Guarded(msgspec.Struct, frozen=True, array_like=True):
    """What an actor runs."""

    node: str
    process: ShardProcess


class _Driver:
    """Talks to Ray."""

    def __init__(self, ray: Any, connection: Connection[ToDriver]) -> None:  # noqa: ANN401 - untyped
        self._ray = ray
        self._connection = connection
        self._clock = SystemClock()
        self._running: dict[str, tuple[_Guarded, Any]] = {}
        self._stopped: set[str] = set()
        self._ids: dict[str, str] = {}
        self._spares: dict[str, Any] = {}
        """By Ray's id of a node: an actor that has nothing to do yet."""
        self._started_at: dict[str, float] = {}
        """By the same: when a shard was started there last."""
        self._busy_at: float | None = None
        """When a shard was seen to run last, since we have started any."""
        self._watching: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Do what is asked until nobody asks any more."""
        for name in self._ray.util.list_named_actors():
            with suppress(ValueError, self._ray.exceptions.RayError):  # it has ended meanwhile
                await self._take_over(name, self._ray.get_actor(name))
        looking = asyncio.get_running_loop().create_task(self._look())
        hearing = asyncio.get_running_loop().create_task(self._hear())
        await asyncio.wait((looking, hearing), return_when=asyncio.FIRST_COMPLETED)
        looking.cancel()
        hearing.cancel()

    async def _hear(self) -> None:
        while (message := await self._connection.receive()) is not None:
            match message:
                case StartOn(node=node, process=process):
                    self._start(_Guarded(node, process))
                case StopOn(process=name) if name in self._running:
                    self._stopped.add(name)
                    self._ray.kill(self._running[name][1])
                case StopOn():
                    continue

    async def _take_over(self, name: str, actor: Any) -> None:  # noqa: ANN401 - Ray's, untyped
        """Watch what runs although we have not started it; know of spares."""
        async with asyncio.timeout(TAKE_OVER_S):
            found = await asyncio.wrap_future(actor.guarded.remote().future())
        if found is not None:
            self._watch(msgspec.json.decode(found, type=_Guarded), actor)
        else:
            self._spares[name.partition(" ")[0]] = actor

    def _start(self, guarded: _Guarded) -> None:
        """Let an actor run a shard where it is to be, and nowhere else."""
        name, found = guarded.process.process, self._ids.get(guarded.node)
        if name in self._running:
            return
        if found is None:
            self._connection.send(ProcessEnded(name, LOST, guarded.node))
            return
        actor = self._spares.pop(found, None) or self._made(found)
        actor.run.remote(guarded.node, guarded.process)
        self._busy_at = self._started_at[found] = self._clock.steady()
        self._watch(guarded, actor)

    def _made(self, node: str) -> Any:  # noqa: ANN401 - Ray's, untyped
        """Return a new actor on a node, by Ray's id of that."""
        strategies = self._ray.util.scheduling_strategies
        return (
            self._ray.remote(ShardGuard)
            .options(
                name=f"{node} {token_hex(8)}",
                lifetime="detached",  # it outlives whoever has started it
                num_cpus=0,
                max_restarts=0,
                resources={RESOURCE: SHARE},
                scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(node, soft=False),
            )
            .remote()
        )

    def _keep_spares(self) -> None:
        """Have a spare on each node while shards run that we have started, and none after them."""
        now = self._clock.steady()
        if self._busy_at is None:
            return
        there = set(self._ids.values())
        if self._running:
            self._busy_at = now
        elif now - self._busy_at > SPARE_IDLE_S:
            there = set()
        for node in self._spares.keys() - there:
            self._ray.kill(self._spares.pop(node))
        for node in there - self._spares.keys():
            if self._running and now - self._started_at.get(node, -math.inf) > SPARE_AFTER_S:
                self._spares[node] = self._made(node)

    def _watch(self, guarded: _Guarded, actor: Any) -> None:  # noqa: ANN401 - Ray's, untyped
        self._running[guarded.process.process] = (guarded, actor)
        watching = asyncio.get_running_loop().create_task(self._ended(guarded, actor))
        self._watching.add(watching)
        watching.add_done_callback(self._watching.discard)

    async def _ended(self, guarded: _Guarded, actor: Any) -> None:  # noqa: ANN401 - the same
        """Tell when an actor's shard has ended, or the actor, or its node; leave no actor."""
        name = guarded.process.process
        try:
            code = await asyncio.wrap_future(actor.code.remote().future())
        except self._ray.exceptions.RayError as error:
            if name not in self._stopped:
                reason = str(error).splitlines()[0]
                warn("ray.actor", process=name, node=guarded.node, error=reason)
            code = LOST
        self._ray.kill(actor)
        self._running.pop(name, None)
        self._stopped.discard(name)
        self._connection.send(ProcessEnded(name, code, guarded.node))

    async def _look(self) -> None:
        """Tell which nodes there are, whenever that has changed."""
        said: list[NodeState] | None = None
        while True:
            now = self._states(await asyncio.to_thread(self._ray.nodes))
            if now != said:
                self._connection.send(NodesNow(now))
                said = now
            self._keep_spares()
            await self._clock.sleep(LOOK_S)

    def _states(self, rows: list[dict[str, Any]]) -> list[NodeState]:
        """Return the nodes that shards can be on; of two that call themselves alike the newer."""
        ours = [row for row in rows if row["Alive"] and row["Resources"].get(RESOURCE)]
        ours.sort(key=lambda row: int(row["Labels"].get(STARTED, "0")))
        self._ids = {row["NodeName"]: row["NodeID"] for row in ours}
        found: dict[str, list[ShardProcess]] = {name: [] for name in self._ids}
        for guarded, _ in self._running.values():
            found.get(guarded.node, []).append(guarded.process)
        by_name = {row["NodeName"]: row for row in ours}
        return [
            NodeState(
                name=name,
                cores=max(1, int(row["Resources"][RESOURCE])),
                host=row["NodeManagerAddress"],
                processes=found[name],
            )
            for name, row in sorted(by_name.items())
        ]


def drive() -> None:
    """Be the process that talks to Ray: python -c DRIVE FD ADDRESS HOST NAMESPACE."""
    import ray  # noqa: PLC0415 - a second and 100 MB, in this process alone

    descriptor, address, host, namespace = sys.argv[1:]
    set_up(verbose=False)
    own = {"_node_ip_address": host} if host else {}
    try:
        ray.init(
            address=address,
            namespace=namespace,
            log_to_driver=False,
            configure_logging=False,
            **own,
        )
    except (OSError, ValueError, RuntimeError) as error:
        warn("ray.refused", ray=address, error=describe_error(error))
        return

    async def run() -> None:
        end = socket.socket(fileno=int(descriptor))
        await _Driver(ray, await Connection.over(end, ToDriver)).run()

    asyncio.run(run())
