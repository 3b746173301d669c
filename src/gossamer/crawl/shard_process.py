"""One shard among several, in a process of its own: its conversation with the supervisor."""

import asyncio
import socket
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random, SystemRandom
from typing import NamedTuple

import uvloop

from gossamer.clock import Clock, SystemClock
from gossamer.cluster import (
    Connection,
    ControlReply,
    ControlRequest,
    Dismiss,
    Downward,
    GrantPages,
    KeepSettings,
    MeetCoordinator,
    OutageOrders,
    ProbationOrders,
    Probe,
    RecallPages,
    RevisitShare,
    Ring,
    ShardAddresses,
    ShardEnded,
    ShardJoined,
    ShardNetwork,
    ShardRegions,
    ShardReport,
    SupervisorLine,
)
from gossamer.config import Config
from gossamer.crawl.assembly import Extras, Membership, Shard, assemble
from gossamer.crawl.on_record import settle_record
from gossamer.crawl.opening import ShardFolder, lacks_requisites
from gossamer.crawl.peers import OtherShards
from gossamer.crawl.requisites import queue_requisites
from gossamer.crawl.running import LiveAnswers, first_cause, quiet_collector, standing_of
from gossamer.crawl.seeds import Seed, plant
from gossamer.crawl.shipping import ShippingOrders
from gossamer.errors import Bug, CannotGoOn, ConfigError, GossamerError, TakenOver
from gossamer.log import tell
from gossamer.settings import save_crawl_config, to_config
from gossamer.store import CrawlFolder

REPORT_S = 1.0


class StartStages:
    """How long each part of a start takes, one after the other."""

    def __init__(self, clock: Clock) -> None:
        """Begin the first part."""
        self._clock = clock
        self._began_at = clock.steady()
        self.seconds: dict[str, float] = {}

    def ends(self, name: str) -> None:
        """Note that a part has ended, and begin the next."""
        now = self._clock.steady()
        self.seconds[name] = now - self._began_at
        self._began_at = now


class ClusterPlace(NamedTuple):
    """What a shard has that shares a crawl with other machines."""

    network: ShardNetwork
    starts: int
    """The epoch of its state, at least."""
    suspects: Mapping[int, int]
    """Keys of URLs that were in hand when machines went, and how many went over each."""
    stages: StartStages


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardOrders:
    """What every shard of a crawl is told when it starts."""

    folder: CrawlFolder
    ring: Ring
    regions: ShardRegions = ()
    config: Config
    """Without the limits: those are of the whole crawl."""
    is_limited: bool
    """Pages are granted by the supervisor."""
    reports_commits: bool
    """Every commit is reported: the crawl ends at so many bytes."""
    seeds: Sequence[Seed]
    asks_again: bool
    """Seeds that failed are asked for again: not by a shard in the place of a dead one."""
    extras: Extras
    shipping: ShippingOrders | None = None
    """Where checkpoints go, if the crawl has a store."""
    cluster: ClusterPlace | None = None
    """How others are reached, if they are on other machines."""

    def run(self, number: int, end: socket.socket) -> int:
        """Run a shard at its end of the connection; return the exit code."""
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._run(number, end))
        return 0

    async def _run(self, number: int, end: socket.socket) -> None:
        await self.run_on(number, await Connection.over(end, Downward))

    async def run_on(self, number: int, line: SupervisorLine) -> GossamerError | None:
        """Run a shard that talks to its supervisor over a line; return what has ended it early."""
        place = ShardFolder(folder=self.folder, shard=number, ring=self.ring, regions=self.regions)
        trouble: GossamerError | None = None
        try:
            line.send(ShardEnded(report=await self._crawl(place, line)))
        except (GossamerError, OSError) as error:
            trouble = _trouble(error)
        except BaseExceptionGroup as group:
            cause = first_cause(group)
            if not isinstance(cause, GossamerError | OSError):
                raise
            trouble = _trouble(cause)
        if trouble is not None:
            line.send(ended_by(trouble))
        await line.flush()
        line.close()
        return trouble

    def _stages(self) -> dict[str, float]:
        """Return how long each part of the start took that ends now."""
        if self.cluster is None:
            return {}
        self.cluster.stages.ends("open_s")
        return self.cluster.stages.seconds

    async def _crawl(self, place: ShardFolder, connection: SupervisorLine) -> ShardReport:
        """Assemble the shard, plant its share of the seeds, and run until it is told to end."""
        random = Random(SystemRandom().getrandbits(64))  # noqa: S311  # record ids, queue draws
        membership = Membership(
            connection=connection,
            is_limited=self.is_limited,
            reports_commits=self.reports_commits,
            network=self.cluster.network if self.cluster is not None else None,
            starts=self.cluster.starts if self.cluster is not None else 0,
            suspects=self.cluster.suspects if self.cluster is not None else {},
        )
        shard = assemble(
            place, self.config, SystemClock(), random, self.extras, membership, self.shipping
        )
        network = membership.network
        talk = Conversation(shard, connection, network)
        try:
            if self.shipping is not None and self.shipping.is_split:
                talk.listen()
                await shard.remote.settle()
            refused = plant(shard, self.seeds, asks_again=self.asks_again).refused
            if lacks_requisites(shard.core.state, is_wanted=self.config.process.requisites):
                queue_requisites(shard)
            if shard.engine.revisits is not None:
                shard.engine.revisits.set_share(1.0 / self.ring.shards)
            await settle_record(shard)
            await talk.open()
            talk.join(refused, self._stages())
            with quiet_collector() as freeze:
                freeze()
                await shard.engine.run()
            return talk.summary()
        finally:
            await talk.close()
            await shard.close()


def ended_by(error: GossamerError) -> ShardEnded:
    """Return how a shard tells that an error has ended it."""
    return ShardEnded(
        error=str(error),
        is_usage=isinstance(error, ConfigError),
        is_taken_over=isinstance(error, TakenOver),
        is_local=not isinstance(error, ConfigError),
    )


def _trouble(error: GossamerError | OSError) -> GossamerError:
    """Return what to tell of an error; of a disk that failed where nobody expected it, too."""
    if isinstance(error, GossamerError):
        return error
    where = f"{error.filename}: " if error.filename else ""
    return CannotGoOn(
        f"{where}{error.strerror or error}; no data was damaged; "
        "check the disk, then run the crawl again"
    )


class Conversation:
    """What a shard hears from its supervisor and says to it; its letters carried beside."""

    def __init__(
        self, shard: Shard, connection: SupervisorLine, network: ShardNetwork | None = None
    ) -> None:
        if not isinstance(shard.peers, OtherShards):
            raise Bug("a shard that is alone has nobody to talk to")
        self._shard = shard
        self._answers = LiveAnswers(shard)
        self._run = shard.engine.run_state
        self._peers: OtherShards = shard.peers
        self._connection = connection
        self._network = network
        self._told: tuple[int, bool, bool] = (-1, False, False)
        self._tasks: set[asyncio.Task[None]] = set()
        self._has_joined, self._is_listening = False, False

    def listen(self) -> None:
        """Begin to hear our supervisor, if we do not yet."""
        if not self._is_listening:
            self._is_listening = True
            self._start(self._listen())

    def join(self, refused: dict[str, str], stages: dict[str, float]) -> None:
        """Say that we are about to run, and how long which part of the start took."""
        self._has_joined = True
        pages, at = self._shard.ledger.counters.pages, self._address
        said = ShardJoined(pages=pages, refused=refused, address=at, stages=stages)
        self._connection.send(said)
        self.report(is_wanted=True)

    async def open(self) -> None:
        """Begin: letters can come, ours go out, and reports are sent when they are due."""
        await self._peers.mailbox.open()
        self._peers.contents.open()
        self.listen()
        self._start(self._report_changes())
        self._start(self._report_regularly())
        for courier in self._peers.couriers.values():
            self._start(courier.run(self._peers.outbox))

    async def close(self) -> None:
        """End: no letter is taken any more, and nothing of ours runs on."""
        self._peers.mailbox.close()
        self._peers.contents.close()
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def report(self, *, is_wanted: bool = False, answers: int = 0) -> None:
        """Send a report, if there is anything new in it or somebody wants it."""
        stand = (self._peers.commits, self._is_idle, self._peers.had_free)
        if stand != self._told or is_wanted:
            self._told = stand
            self._connection.send(self.summary(answers))

    def summary(self, answers: int = 0) -> ShardReport:
        """Return how this shard stands."""
        return ShardReport(
            counters=self._shard.ledger.counters,
            standing=standing_of(self._shard),
            commits=self._peers.commits,
            is_idle=self._is_idle,
            outages=self._shard.engine.outages(is_quiet=self._peers.is_quiet),
            probation=self._shard.engine.probation(),
            round=answers,
        )

    @property
    def _address(self) -> str:
        """Return where other shards reach us, if they are on other machines."""
        return self._network.address if self._network is not None else ""

    @property
    def _is_idle(self) -> bool:
        is_idle = self._shard.engine.is_idle and self._peers.is_quiet
        return is_idle and self._shard.remote.is_shipped

    async def _report_changes(self) -> None:
        """Report whenever how we stand may have changed."""
        while await self._peers.wants_report.wait():
            self._peers.wants_report.clear()
            self.report()

    async def _report_regularly(self) -> None:
        """Report once a second, whatever happens."""
        while True:
            await self._shard.engine.time.clock.sleep(REPORT_S)
            self.report(is_wanted=True)

    async def _listen(self) -> None:
        """Hear what the supervisor says, until it is gone."""
        while (message := await self._connection.receive()) is not None:
            self._hear(message)
            self._run.wake()
        self._run.stop("supervisor_gone")

    def _hear(self, message: Downward) -> None:
        match message:
            case GrantPages(pages=pages):
                self._peers.grant(pages)
            case RecallPages():
                self._peers.give_back()
            case RevisitShare(part=part):
                if self._shard.engine.revisits is not None:
                    self._shard.engine.revisits.set_share(part)
            case Probe(round=number):
                self.report(is_wanted=True, answers=number)
            case OutageOrders() | ProbationOrders():
                self._peers.order(message)
            case ControlRequest():
                self._start(self._reply(message))
            case Dismiss(reason=reason):
                self._peers.dismiss()
                if reason:
                    self._run.stop(reason)
            case _:
                self._hear_coordinator(message)

    def _hear_coordinator(self, message: Downward) -> None:
        """Hear what only a coordinator of several machines says."""
        match message:
            case ShardAddresses() if self._network is not None:
                self._network.learn(message.addresses, message.machines)
            case KeepSettings(config=config):
                save_crawl_config(self._shard.place.folder.root, to_config(config))
            case MeetCoordinator() if self._has_joined:
                joined = ShardJoined(pages=self._peers.meet(), address=self._address)
                self._connection.send(joined)
                self.report(is_wanted=True)
                self._peers.in_hand.tell()
            case _:
                return

    async def _reply(self, request: ControlRequest) -> None:
        try:
            said = await self._answers.answer(request.question)
        except GossamerError as error:
            said = {"error": str(error)}
        except Exception as error:  # noqa: BLE001  # a bug costs the answer, not the shard
            tell("control.failed", question=request.question, error=repr(error))
            said = {"error": f"internal error: {error!r}"}
        self._connection.send(ControlReply(request.number, said))

    def _start(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        with suppress(asyncio.CancelledError):
            if (error := task.exception()) is not None:
                self._run.ended(error)
