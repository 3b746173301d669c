"""The coordinator of a crawl on several machines: where its shards run, and by which epochs.

Shards call it. One that a node was told to start gets an epoch and all that it needs; one that runs
already, because an older coordinator died, is taken as it is. The supervisor beside it does what it
does for local shards: pages, the end, questions. What is lost here is in the store, or is told
again by the shards.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple, TypeVar

from gossamer.clock import Clock
from gossamer.cluster import (
    Connection,
    ControlQuestion,
    ControlReply,
    FirstWords,
    MeetCoordinator,
    NodeState,
    PlacedNode,
    ProcessEnded,
    Ring,
    ShardAddresses,
    ShardEnded,
    ShardEngine,
    ShardHello,
    ShardJoined,
    ShardProcess,
    ShardRight,
    StartedShard,
    StartShard,
    TurnedAway,
    Upward,
    address_of,
    listen,
    moves,
    place_in_regions,
    server_context,
)
from gossamer.crawl.cluster_claim import ClusterClaim
from gossamer.crawl.growing import GrowingFleet, ShardSplits
from gossamer.crawl.history import LEAST_HISTORY_S, KeptHistory
from gossamer.crawl.indexing_nodes import IndexingNodes
from gossamer.errors import CannotGoOn, TakenOver
from gossamer.log import tell

STOP_S = 3.0
"""How long the end of a process is waited for that was told to stop; it is fenced anyway."""
POLL_S = 0.05
START_S = 60.0
"""How long a process may take until it calls."""
LOOK_S = 0.5
LEAST_SILENCE_S, SILENT_LEASES = 5.0, 1.5
"""A shard that has joined and says nothing for so long is started elsewhere."""
LONG_SILENCE_S = 300.0
"""The same of one that opens, restores or ends."""
STEADY_S = 3.0
"""For so long the same nodes must be there before shards are moved."""
MOST_FAILURES = 8
FIRST = asyncio.FIRST_COMPLETED

T = TypeVar("T")
Answer = Callable[[Mapping[str, object]], Awaitable[dict[str, object]]]


class _Arrived(NamedTuple):
    """A shard that has called."""

    hello: ShardHello
    connection: Connection[Upward]


@dataclass(slots=True)
class PlacedShard:
    """A shard that runs somewhere, as its supervisor sees it."""

    shard: int
    node: str
    process: str
    epoch: int
    """By which it was claimed."""
    connection: Connection[Upward]
    engine: ShardEngine
    clock: Clock
    over: asyncio.Event
    """Set when the engine has told that its process ended."""
    started_at: float
    code: int | None = None
    heard: int = 0
    heard_at: float = 0.0
    has_joined: bool = False
    stopping: "asyncio.Task[None] | None" = None

    def note_over(self, code: int) -> None:
        """Note that its process has ended."""
        self.code = code

    def note_joined(self) -> None:
        """Note that it runs: from now on it reports every second."""
        self.has_joined = True

    def silent_s(self, now: float) -> float:
        """Return for how long nothing was heard of it."""
        if self.connection.received != self.heard:
            self.heard, self.heard_at = self.connection.received, now
        return now - self.heard_at

    @property
    def where(self) -> str:
        """Return where it runs."""
        return self.node or "a machine that nobody named"

    def kill(self) -> None:
        """Let its process be killed; what is on its way to there is not waited for."""
        if self.process:
            stopping = self.engine.stop(self.node, self.process)
            self.stopping = asyncio.get_running_loop().create_task(stopping)

    async def ended(self) -> int | None:
        """Wait until its process is gone, if that is heard soon; it can ship nothing any more."""
        if not self.process:
            return None
        await self.engine.stop(self.node, self.process)
        until = self.clock.steady() + STOP_S
        while self.clock.steady() < until and not self.over.is_set():
            if all(node.name != self.node for node in self.engine.nodes):
                return None  # its machine went, too
            await self.clock.sleep(POLL_S)
        return self.code


@dataclass(slots=True, kw_only=True)
class Coordinator:
    """Starts shards on machines; the supervisor's `ShardStarter`."""

    claim: ClusterClaim
    engine: ShardEngine
    home: Path
    url: str
    ship_s: float
    clock: Clock
    orders: Callable[[int, ShardRight, int, Ring], StartShard]
    """Makes what a shard is told: of its number, its right, the coordinator's number, the ring."""
    answer: Answer
    say: Callable[[str], None]
    end: socket.socket
    """Where we are heard: the charter has its address."""
    rejoin_s: float
    """How long shards that run already are waited for."""
    indexing: IndexingNodes | None = None
    running: dict[int, PlacedShard] = field(default_factory=dict)
    _server: asyncio.Server | None = None
    _rejoin_until: float = 0.0
    _waiting: dict[int, "asyncio.Future[_Arrived]"] = field(default_factory=dict)
    _expected: dict[int, str] = field(default_factory=dict)
    """By shard: the process that is to call; "" if anybody may be it."""
    _over: dict[str, asyncio.Event] = field(default_factory=dict)
    _codes: dict[str, int] = field(default_factory=dict)
    _last_node: dict[int, str] = field(default_factory=dict)
    _avoid: dict[int, str] = field(default_factory=dict)
    _addresses: dict[int, str] = field(default_factory=dict)
    _moving: dict[int, tuple[str, str]] = field(default_factory=dict)
    _epochs: dict[int, int] = field(default_factory=dict)
    """By shard: what was issued last."""
    splits: ShardSplits = field(init=False)
    _has_said_alone: bool = False
    _regions_away: Collection[str] = ()
    _is_down: bool = False
    """The cluster has ended: no machine will be there any more."""
    _seen: tuple[tuple[str, bool], ...] = ()
    _steady_since: float = 0.0
    _is_over: bool = False
    """All shards have ended."""
    _is_store_away: bool = False
    """Shards cannot be started until it is back: nothing is wrong with them."""

    def __post_init__(self) -> None:
        """Know of splits that are under way."""
        self.splits = ShardSplits(
            claim=self.claim, clock=self.clock, running=self.running, moving=self._moving
        )

    async def open(self) -> None:
        """Take calls."""
        self._rejoin_until = self.clock.steady() + self.rejoin_s
        self._server = await listen(self.end, server_context(self.home), self._serve)

    def close(self) -> None:
        """Take no more calls."""
        if self._server is not None:
            self._server.close()

    async def finish(self, *, is_stopped: bool) -> None:
        """Say that the crawl has ended; unless it was stopped, wait until all is indexed."""
        self._is_over = True
        await asyncio.to_thread(self.claim.end)
        if self.indexing is not None and not is_stopped:
            await self.indexing.finish(self._machines())

    def _machines(self) -> set[str]:
        """Return the machines that have shards, or had last."""
        return {one.node for one in self.running.values() if one.has_joined}

    # The supervisor's starter

    async def start(self, shard: int) -> StartedShard:
        """Start a shard on the node that is to have it, or find it running."""
        self.running.pop(shard, None)
        failures = 0
        await self.splits.before_start(shard)
        while True:
            future: asyncio.Future[_Arrived] = asyncio.get_running_loop().create_future()
            self._waiting[shard] = future
            try:
                found = await self._rejoined(future) or await self._started(shard, future)
            finally:
                self._waiting.pop(shard, None)
                self._expected.pop(shard, None)
            if found is not None:
                return self._adopt(found)
            failures += not self._is_store_away
            if failures >= MOST_FAILURES:
                raise CannotGoOn(
                    f"shard {shard} could not be started {failures} times; see node.log in the "
                    f"cluster's folder of {self._last_node.get(shard, 'its node')}"
                )
            self._avoid[shard] = self._last_node.get(shard, "")

    async def _rejoined(self, future: "asyncio.Future[_Arrived]") -> _Arrived | None:
        """Wait for a shard that an older coordinator has started."""
        left = self._rejoin_until - self.clock.steady()
        if left <= 0.0:
            return None
        with suppress(TimeoutError):
            return await asyncio.wait_for(asyncio.shield(future), left)
        return None

    async def _started(self, shard: int, future: "asyncio.Future[_Arrived]") -> _Arrived | None:
        """Have a process started, and wait until it calls; None if it does not."""
        node = await self._chosen(shard)
        process = ShardProcess(token_hex(8), self.url, shard, address_of(self.end))
        over = self._over[process.process] = asyncio.Event()
        self._expected[shard], self._last_node[shard] = process.process, node
        tell("shard.starts", shard=shard, node=node)
        await self.engine.start(node, process)
        died = asyncio.get_running_loop().create_task(over.wait())
        until = self.clock.steady() + START_S
        try:
            while self.clock.steady() < until and not (died.done() or self._is_gone(node)):
                await asyncio.wait((future, died), timeout=LOOK_S, return_when=FIRST)
                if future.done():
                    return future.result()
        finally:
            died.cancel()
        await self.engine.stop(node, process.process)
        tell("shard.not_started", shard=shard, node=node)
        return None

    def _is_gone(self, node: str) -> bool:
        """Return True if a machine has left; of none nothing is known while the head is away."""
        there = [one.name for one in self.engine.nodes]
        return bool(there) and node not in there

    async def _chosen(self, shard: int) -> str:
        """Return the node that is to have a shard; wait until there is one."""
        began_at = self.clock.steady()
        while not (nodes := self._nodes()):
            if self._is_down:
                raise CannotGoOn(
                    f"the cluster went down before shard {shard} had ended; what it has shipped is "
                    "in the store, and the same line goes on when the cluster is up again"
                )
            is_late = self.clock.steady() - began_at > STEADY_S  # the head needs a moment to say
            if is_late and not self._has_said_alone:
                self._has_said_alone = True
                self.say("no machine is there to run shards; waiting for one to join")
            await self.clock.sleep(LOOK_S)
        self._has_said_alone = False
        wanted = self._wanted(nodes)
        return wanted[shard]

    def _nodes(self) -> list[NodeState]:
        return [node for node in self.engine.nodes if not node.is_draining]

    def _wanted(self, nodes: list[NodeState]) -> dict[int, str]:
        shards = self.splits.numbers
        placed = [PlacedNode(node.name, max(1, node.cores), node.region) for node in nodes]
        self._say_regions({node.region for node in nodes})
        regions = self.splits.regions
        return place_in_regions(shards, placed, self._last_node, self._avoid, regions)

    def _say_regions(self, there: Collection[str]) -> None:
        """Say of which regions no machine is there, whenever they are others."""
        away = {name for name in self.splits.regions.values() if name not in {"", *there}}
        for name in sorted(away.difference(self._regions_away)):
            self.say(f"no machine of the region {name} is there; its shards run elsewhere")
        self._regions_away = away

    def _adopt(self, found: _Arrived) -> PlacedShard:
        """Take a shard for running."""
        hello = found.hello
        remote = PlacedShard(
            shard=hello.shard,
            node=hello.node,
            process=hello.process,
            epoch=hello.epoch or self._epochs.get(hello.shard, 0),
            connection=found.connection,
            engine=self.engine,
            clock=self.clock,
            over=self._over.setdefault(hello.process, asyncio.Event()),
            started_at=self.clock.steady(),
            heard_at=self.clock.steady(),
        )
        self.running[hello.shard] = remote
        self._last_node[hello.shard] = hello.node
        return remote

    def goes_elsewhere(self, shard: int, ended: ShardEnded) -> bool:
        """Return True if a shard that ended in trouble can be started again."""
        if ended.is_usage:
            return False
        tell("shard.trouble", shard=shard, node=self._last_node.get(shard), error=ended.error)
        if not ended.is_taken_over:
            self._avoid[shard] = self._last_node.get(shard, "")
        return True

    def joined(self, shard: int, message: ShardJoined) -> None:
        """Tell all where a shard is heard, and it where all are."""
        self._addresses[shard] = message.address
        self._moving.pop(shard, None)
        if (remote := self.running.get(shard)) is not None:
            remote.note_joined()
            stages = {name: f"{s:.2f}" for name, s in message.stages.items()}
            tell("shard.joined", shard=shard, node=remote.node, address=message.address, **stages)
        machines = len({one.node for one in self.running.values()})
        for one in self.running.values():
            one.connection.send(ShardAddresses(self._addresses, machines))

    # Calls

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first: Connection[FirstWords] = Connection(reader, writer, FirstWords)
        is_kept = False
        try:
            if not first.is_trusted:
                return
            match await first.receive():
                case ShardHello() as hello:
                    is_kept = await self._meet(hello, Connection(reader, writer, Upward))
                case ControlQuestion(question=question):
                    first.send(ControlReply(0, await self.answer(question)))
                case _:
                    return
        except (asyncio.CancelledError, TakenOver):
            return  # who keeps the charter finds out, too
        finally:
            if not is_kept:
                await first.flush()
                first.close()

    async def _meet(self, hello: ShardHello, connection: Connection[Upward]) -> bool:
        """Take a shard that has called, or turn it away; return True if it is taken."""
        future = self._waiting.get(hello.shard)
        reason = ""
        if future is None or future.done():
            reason = f"shard {hello.shard} runs already, or is no shard of this crawl"
        elif hello.epoch and not await self._is_newest(hello):
            reason = f"shard {hello.shard} was given to another machine since"
        elif not hello.epoch and self._expected.get(hello.shard, "") not in {"", hello.process}:
            reason = f"shard {hello.shard} is being started elsewhere"
        if reason or future is None or future.done():
            connection.send(TurnedAway(reason))
            return False
        if hello.epoch:
            connection.send(MeetCoordinator(self.claim.first_number))
        else:
            connection.send(await self._order(hello.shard))
        if future.done():
            return False
        tell("shard.called", shard=hello.shard, node=hello.node)
        future.set_result(_Arrived(hello, connection))
        return True

    async def _is_newest(self, hello: ShardHello) -> bool:
        """Return True if nobody has claimed a shard since."""
        store, generation = self.claim.store, self.splits.generation_of(hello.shard)
        found = await self._while_away(lambda: store.manifest(generation, hello.shard))
        return found is not None and found[1].epoch == hello.epoch

    async def _while_away(self, ask: Callable[[], T]) -> T:
        """Return what the store answers; wait while it is away, as all shards do."""
        while True:
            try:
                return await asyncio.to_thread(ask)
            except TakenOver:
                raise
            except CannotGoOn:
                await self.clock.sleep(LOOK_S)  # who keeps the charter tells it

    async def _order(self, shard: int) -> StartShard:
        """Return what a shard is told that starts; with an epoch that nobody has had."""
        epoch = await self._while_away(self.claim.issue)
        charter = self.claim.charter
        self._epochs[shard] = epoch
        right = ShardRight(
            crawl=charter.crawl,
            generation=self.splits.generation_of(shard),
            shard=shard,
            epoch=epoch,
            lease_s=charter.lease_s,
            ship_s=self.ship_s,
            must_wait=self.claim.must_wait,
        )
        return self.orders(shard, right, self.claim.first_number, self.splits.ring_of(shard))

    # Beside it

    async def run(self, end: Callable[[str], None], fleet: GrowingFleet) -> None:
        """Keep the charter, listen to the engine, and look after shards; `end` ends the crawl."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep())
            group.create_task(self._listen(end))
            group.create_task(self._look(fleet.move))
            group.create_task(self.splits.run(fleet))
            group.create_task(self._keep_history())

    async def _keep(self) -> None:
        """Show that we run; raise if somebody else has the crawl."""
        while not self._is_over:
            try:
                await asyncio.to_thread(self.claim.keep)
                self._is_store_away = False
            except TakenOver:
                raise
            except CannotGoOn as error:
                if not self._is_store_away:
                    tell("store.away", error=str(error))
                self._is_store_away = True
            await self.clock.sleep(self.claim.beat_s)

    async def _keep_history(self) -> None:
        """Note which checkpoints fit together, and let go what nothing needs."""
        history = KeptHistory(self.claim.store, self.clock)
        while not self._is_over:
            await self.clock.sleep(max(LEAST_HISTORY_S, self.claim.beat_s))
            if self.claim.charter.generation:
                with suppress(
                    CannotGoOn
                ):  # the store is away, or ours no more: found out elsewhere
                    await asyncio.to_thread(history.go_on, self.claim.charter)

    async def _listen(self, end: Callable[[str], None]) -> None:
        await self.engine.run(self._note_ended, lambda: end("stopped"))
        end("stopped")
        self._is_down = True

    def _note_ended(self, ended: ProcessEnded) -> None:
        if self.indexing is not None:
            self.indexing.note_ended(ended)
        over = self._over.get(ended.process)
        for remote in self.running.values():
            if remote.process == ended.process:
                remote.note_over(ended.code)
        if over is not None:
            over.set()

    async def _look(self, move: Callable[[int], None]) -> None:
        """Let go who is silent, and move shards when nodes have come or are to go."""
        silent_s = max(LEAST_SILENCE_S, SILENT_LEASES * self.claim.charter.lease_s)
        while not self._is_over:
            await self.clock.sleep(LOOK_S)
            now = self.clock.steady()
            if self.indexing is not None:
                await self.indexing.look(self._machines())
            for remote in self.running.values():
                is_busy = not remote.has_joined or remote.shard in self._moving
                limit_s = LONG_SILENCE_S if is_busy else silent_s
                if remote.silent_s(now) > limit_s and not remote.connection.is_closing:
                    tell("shard.silent", shard=remote.shard, node=remote.node)
                    remote.connection.close()
            if not self._is_over:
                self._rebalance(move, now)

    def _rebalance(self, move: Callable[[int], None], now: float) -> None:
        nodes = self._nodes()
        seen = tuple((node.name, node.is_draining) for node in self.engine.nodes)
        if seen != self._seen:
            self._seen, self._steady_since = seen, now
        all_run = len(self.running) == self.claim.charter.shards and not self.splits.is_busy
        is_calm = all_run and all(one.has_joined for one in self.running.values())
        if not nodes or not is_calm or now - self._steady_since < STEADY_S:
            return
        current = {shard: one.node for shard, one in self.running.items() if one.process}
        wanted = self._wanted(nodes)
        for shard in moves(wanted, current, self._moving):
            tell("shard.moves", shard=shard, of=current[shard], to=wanted[shard])
            self._moving[shard] = (current[shard], wanted[shard])
            self._last_node[shard] = wanted[shard]
            move(shard)
