"""A shard of a crawl on several machines, in a process of its own: `gossamer shard`.

It calls the coordinator, is told what to be and by which epoch, claims its shard in the store, and
restores what this machine does not have of it. Whoever starts it: a node of a cluster, or a shell.
When the coordinator goes it crawls on, and looks in the store for where the next one is heard.
"""

import asyncio
import gc
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeAlias

import msgspec
import uvloop
from msgspec import Struct
from msgspec.structs import replace

from gossamer.clock import SystemClock
from gossamer.cluster import (
    Charter,
    ClusterHome,
    Connection,
    Downward,
    MeetCoordinator,
    Ring,
    ShardBeat,
    ShardHello,
    ShardNetwork,
    StartShard,
    TurnedAway,
    Uplink,
    client_context,
    reason_of,
    write_charter,
)
from gossamer.config import Config, LimitsConfig
from gossamer.crawl.assembly import Extras
from gossamer.crawl.mend.narrowing import narrow_shard
from gossamer.crawl.opening import ShardFolder, lock_folder
from gossamer.crawl.seeds import Seed
from gossamer.crawl.shard_claim import ClaimedShard, claim_shard
from gossamer.crawl.shard_process import ClusterPlace, ShardOrders, StartStages, ended_by
from gossamer.durable import replace_file
from gossamer.errors import CannotGoOn, GossamerError
from gossamer.log import set_up, tell
from gossamer.machine import expect_open_files
from gossamer.secrets import Secrets, write_secrets
from gossamer.settings import save_crawl_config, to_config
from gossamer.store import QUICK_RETRY_S, CrawlFolder, CrawlStore, Objects, require_store

FIRST_CALLS_S = 30.0
"""How long a coordinator is looked for by a shard that does not run yet."""
REDIAL_S = 0.5
FAILED = 4
"""Exit code of a shard that could not go on."""
BEAT_S = 1.0
RANKS = "ranks"
"""Beside the shard: of its pages, from the store."""
OWN_FILES = frozenset({"state/near.seed", "scores"})
"""Files of the whole crawl that a coordinator may hand to a shard."""


class JoiningShard(Struct, frozen=True, kw_only=True):
    """Which shard a process is to be, and who says so."""

    store: str
    shard: int
    join: str
    """Where the coordinator is heard: HOST:PORT."""
    home: str
    """Where this machine keeps what it knows of its cluster."""
    process: str = ""
    node: str = ""


BringRanks: TypeAlias = Callable[[Path], bool]
"""Writes the ranks of the shard's pages to a file, if anybody has computed them."""


def run_joined(joining: JoiningShard, bring_ranks: BringRanks = lambda _path: False) -> None:
    """Be a shard until it is told to end."""
    require_store(joining.store)
    home = ClusterHome(Path(joining.home))
    home.membership()
    expect_open_files()
    gc.freeze()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_Joined(joining, home, bring_ranks).run())


def run_forked(joining: JoiningShard) -> int:
    """Be a shard in a process that was forked to be one; return its exit code."""
    set_up(verbose=False)
    try:
        run_joined(joining)
    except GossamerError as error:
        sys.stderr.write(f"gossamer: {error}\n")
        return FAILED
    return 0


class _Joined:
    """The process: its line to the coordinator, and the shard."""

    def __init__(self, joining: JoiningShard, home: ClusterHome, bring_ranks: BringRanks) -> None:
        self._joining = joining
        self._bring_ranks = bring_ranks
        self._home = home
        self._context = client_context(home.root)
        self._address = joining.join
        self._coordinator = 0
        self._epoch = 0
        self._clock = SystemClock()
        self._stages = StartStages(self._clock)
        self._node = joining.node or home.membership().name

    async def run(self) -> None:
        """Join, claim, crawl."""
        connection = await self._first_line()
        start = await connection.receive()
        match start:
            case StartShard():
                pass
            case TurnedAway(reason=reason):
                raise CannotGoOn(f"{self._address} has no use for this shard: {reason}")
            case _:
                raise CannotGoOn(f"{self._address} said nothing that a shard can be started by")
        self._stages.ends("order_s")
        self._coordinator, self._epoch = start.coordinator, start.right.epoch
        folder = CrawlFolder(self._folder(start))
        with lock_folder(folder, self._clock):
            line = Uplink(connection, self._redial)
            try:
                orders = await self._orders(start, folder, line)
            except GossamerError as error:
                line.send(ended_by(error))
                await line.flush()
                raise
            trouble = await orders.run_on(start.right.shard, line)
        if trouble is not None:
            raise trouble

    def _folder(self, start: StartShard) -> Path:
        """Return the folder that this machine has of a shard."""
        return self._home.crawls / start.right.crawl / f"{start.right.shard:04d}"

    async def _first_line(self) -> Connection[Downward]:
        deadline = self._clock.steady() + FIRST_CALLS_S
        while True:
            try:
                return await self._call()
            except OSError as error:
                if self._clock.steady() >= deadline:
                    raise CannotGoOn(
                        f"no coordinator is heard at {self._address}: {reason_of(error)}; does the "
                        "crawl run?"
                    ) from error
            await self._clock.sleep(REDIAL_S)
            await self._look_up()

    async def _call(self) -> Connection[Downward]:
        """Call the coordinator and say who we are."""
        connection: Connection[Downward] = await Connection.dial(
            self._address, self._context, Downward
        )
        connection.send(
            ShardHello(
                shard=self._joining.shard,
                process=self._joining.process,
                node=self._node,
                epoch=self._epoch,
            )
        )
        return connection

    async def _redial(self) -> Connection[Downward] | None:
        """Look for a coordinator until there is one; an older one than we have heard is none."""
        tell("coordinator.away", shard=self._joining.shard)
        while True:
            await self._clock.sleep(REDIAL_S)
            with suppress(OSError):
                connection = await self._call()
                match await connection.receive():
                    case MeetCoordinator(coordinator=number) if number >= self._coordinator:
                        self._coordinator = number
                        return connection
                    case _:
                        connection.close()
            await self._look_up()

    async def _look_up(self) -> None:
        """Learn from the store where the newest coordinator is heard."""
        url = self._joining.store
        try:
            found = await asyncio.to_thread(
                lambda: CrawlStore(Objects(url, retry_s=QUICK_RETRY_S)).charter()
            )
        except GossamerError:
            return
        if found is not None and found[1].address:
            self._address = found[1].address

    async def _orders(self, start: StartShard, folder: CrawlFolder, line: Uplink) -> ShardOrders:
        """Claim the shard, and make its folder ready."""
        async with _beating(line, self._clock):
            claimed: ClaimedShard = await asyncio.to_thread(
                claim_shard, folder, self._joining.store, start.right, self._node
            )
        self._stages.ends("claim_s")
        _prepare(start, folder, self._home)
        config, ring = to_config(start.config), Ring(start.ranges)
        if claimed.source is not None:
            place = ShardFolder(folder=folder, shard=start.right.shard, ring=ring)
            is_new = claimed.source.shard != place.shard
            async with _beating(line, self._clock):
                await asyncio.to_thread(narrow_shard, place, config, is_new=is_new)
        async with _beating(line, self._clock):
            config = await self._with_ranks(config, folder)
        self._stages.ends("ready_s")
        share = max(1, -(-config.concurrency // ring.shards))
        host = self._home.membership().listen or line.host
        return ShardOrders(
            folder=folder,
            ring=ring,
            regions=start.regions,
            config=replace(config, limits=LimitsConfig(), concurrency=share),
            is_limited=start.is_limited,
            reports_commits=start.reports_commits,
            seeds=[Seed(url=url, label=label) for url, label in start.seeds],
            asks_again=start.asks_again,
            extras=Extras(),
            shipping=claimed.orders,
            cluster=ClusterPlace(
                ShardNetwork(self._home.root, host), claimed.starts, start.suspects, self._stages
            ),
        )

    async def _with_ranks(self, config: Config, folder: CrawlFolder) -> Config:
        """Let a crawl by importance begin with the ranks that the store has of its pages."""
        asked = config.frontier
        if asked.order not in {"best", "opic"} or asked.score or asked.ranks:
            return config
        path = folder.root / RANKS
        try:
            if not await asyncio.to_thread(self._bring_ranks, path):
                return config
        except GossamerError as error:
            tell("ranks.missing", shard=self._joining.shard, error=str(error))
            return config
        tell("ranks.taken", shard=self._joining.shard)
        return replace(config, frontier=replace(asked, ranks=str(path)))


@asynccontextmanager
async def _beating(line: Uplink, clock: SystemClock) -> AsyncIterator[None]:
    """Show the coordinator that we are busy."""

    async def beat() -> None:
        while True:
            line.send(ShardBeat())
            await clock.sleep(BEAT_S)

    beats = asyncio.get_running_loop().create_task(beat())
    try:
        yield
    finally:
        beats.cancel()


def _prepare(start: StartShard, folder: CrawlFolder, home: ClusterHome) -> None:
    """Let the folder say what every folder of this crawl says."""
    write_secrets_of(start, folder)
    save_crawl_config(folder.root, to_config(start.kept))
    write_charter(folder.charter_path, Charter.of(Ring(start.ranges), start.regions))
    for name, content in start.files.items():
        if name in OWN_FILES:
            replace_file(folder.root / name, content)
    if start.is_paused:
        folder.paused_path.touch()
    else:
        folder.paused_path.unlink(missing_ok=True)
    shared = home.crawls / start.right.crawl / "addresses"
    if not folder.addresses_path.is_symlink():
        folder.addresses_path.unlink(missing_ok=True)
        folder.addresses_path.symlink_to(os.path.relpath(shared, folder.addresses_path.parent))


def write_secrets_of(start: StartShard, folder: CrawlFolder) -> None:
    """Keep the crawl's secrets beside a shard that has to use them."""
    secrets = msgspec.convert(start.secrets, Secrets)
    if secrets != Secrets():
        write_secrets(folder.root, secrets)
