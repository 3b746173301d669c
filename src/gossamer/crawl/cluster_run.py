"""A crawl on several machines, from the command that starts it: `gossamer crawl --cluster`.

This process is the coordinator. It fetches nothing and stores nothing but what was asked, in a
folder of its own; all else is in the object store, and on the machines where shards run.
"""

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from gossamer.clock import Clock, SystemClock
from gossamer.cluster import (
    AUTO,
    HERE,
    LOCAL,
    ClusterHome,
    Connection,
    ControlQuestion,
    ControlReply,
    CoordinatorHello,
    HeadAnswer,
    HeadEngine,
    HeadQuestion,
    LocalEngine,
    NodeState,
    RayEngine,
    Ring,
    ShardChild,
    ShardEngine,
    ShardProcess,
    ShardRight,
    StartShard,
    ToCommand,
    address_of,
    bound_socket,
    client_context,
    default_home,
    fingerprint,
    local_home,
    own_address,
    ray_nodes,
    reason_of,
    start_fork_server,
)
from gossamer.config import Config
from gossamer.crawl.assembly import Extras
from gossamer.crawl.cluster_claim import ClusterClaim, CoordinatorOffer, claim_cluster
from gossamer.crawl.coordinator import Coordinator
from gossamer.crawl.copies import crawl_seed
from gossamer.crawl.fleet import Fleet
from gossamer.crawl.indexing_nodes import IndexingNodes
from gossamer.crawl.joined_shard import JoiningShard, run_forked
from gossamer.crawl.joining import make_ready
from gossamer.crawl.restoring import restore_root
from gossamer.crawl.takeover import ring_of_store
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.linux import has_threads
from gossamer.secrets import read_secrets
from gossamer.settings import load_crawl_config
from gossamer.store import CrawlFolder, State, require_store

SHARDS_PER_CORE = 2
LEAST_SHARDS, MOST_SHARDS = 4, 64
RAY_S = 20.0
"""How long Ray may take to say which nodes it has."""
REJOIN_S = 8.0
"""How long shards are waited for that run although their coordinator died."""
HANDED = ("state/near.seed", "scores")
"""Files of the whole crawl that shards need."""
LOOPBACK = "127.0.0.1"


class ClusterView(NamedTuple):
    """A cluster as this machine sees it."""

    home: ClusterHome
    host: str
    """Our address, as other machines of it know us."""
    nodes: list[NodeState]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterWork:
    """A crawl that this process coordinates."""

    claim: ClusterClaim
    view: ClusterView
    kind: str
    end: socket.socket
    is_indexed: bool
    """Machines index the shards that they have."""
    has_run: bool
    """It has shards that may run now, of a coordinator that died."""
    say: Callable[[str], None]
    clock: Clock
    server: ShardChild | None
    """Forks shards of this machine, where that is safe."""

    @property
    def ring(self) -> Ring:
        """Return which shard owns what."""
        return ring_of_store(self.claim.charter) or Ring()

    def coordinator(self, fleet: Fleet) -> Coordinator:
        """Return what starts the shards of a crawl."""
        url = fleet.config.store.url
        engine = self._engine(url)
        indexing = IndexingNodes(engine=engine, url=url, clock=self.clock, say=self.say)
        return Coordinator(
            claim=self.claim,
            engine=engine,
            indexing=indexing if self.is_indexed else None,
            home=self.view.home.root,
            url=url,
            ship_s=fleet.config.store.ship_s,
            clock=self.clock,
            orders=lambda *asked: start_of(fleet, *asked),
            answer=fleet.answer,
            say=self.say,
            end=self.end,
            rejoin_s=REJOIN_S if self.has_run else 0.0,
        )

    def _engine(self, url: str) -> ShardEngine:
        if self.kind == LOCAL:
            return LocalEngine(self.view.home, self.server)
        if not self.view.home.membership().has_head:
            return RayEngine(self.view.home, self.clock)
        hello = CoordinatorHello(url, address_of(self.end), self.claim.charter.owner)
        return HeadEngine(self.view.home, hello, self.clock)


def look_at_cluster(kind: str) -> ClusterView:
    """Return the cluster that is meant; say what to type if there is none."""
    if kind == LOCAL:
        return ClusterView(local_home(), LOOPBACK, [])
    if kind != AUTO:
        raise ConfigError(f"--cluster: expected {AUTO} or {LOCAL}, found {kind!r}")
    home = ClusterHome(default_home())
    known = home.membership()
    if not known.head:
        nodes = asyncio.run(ray_nodes(home, SystemClock(), RAY_S))
        return ClusterView(home, known.listen or own_address(), nodes)
    answer, seen_as = asyncio.run(ask_head(home, HeadQuestion("status")))
    if not answer.nodes:
        raise CannotGoOn(
            f"the cluster of {known.head} has no machines; see `gossamer cluster status`"
        )
    return ClusterView(home, known.listen or seen_as, answer.nodes)


def ask_cluster(home: ClusterHome, ask: str, node: str = "") -> HeadAnswer:
    """Return what the head of a machine's cluster answers a command; or Ray, without a head."""
    if not home.membership().has_head:
        return _ask_ray(home, ask)
    return asyncio.run(ask_head(home, HeadQuestion(ask, node)))[0]


def _ask_ray(home: ClusterHome, ask: str) -> HeadAnswer:
    """Return what Ray knows of a cluster that it was not started for by us."""
    if ask != "status":
        raise ConfigError(
            "Ray's nodes were not started by `gossamer cluster`: end them as they were started, as "
            "by kubectl; shards of a node that goes are started elsewhere"
        )
    nodes = asyncio.run(ray_nodes(home, SystemClock(), RAY_S))
    running = {(one.store, one.join) for node in nodes for one in node.shards}
    return HeadAnswer(nodes, [CoordinatorHello(*one) for one in sorted(running)])


def ask_coordinator(
    home: ClusterHome, address: str, question: Mapping[str, object], limit_s: float | None = None
) -> bytes:
    """Return what the coordinator of a crawl answers that a cluster runs, as JSON."""
    home.membership()
    asked = _ask_coordinator(home, address, question)
    try:
        return asyncio.run(asyncio.wait_for(asked, limit_s))
    except TimeoutError as error:
        raise CannotGoOn(f"the coordinator at {address} gave no answer in {limit_s:g} s") from error


async def _ask_coordinator(
    home: ClusterHome, address: str, question: Mapping[str, object]
) -> bytes:
    try:
        connection: Connection[ControlReply] = await Connection.dial(
            address, client_context(home.root), ControlReply
        )
    except OSError as error:
        raise CannotGoOn(
            f"the coordinator is not heard at {address}: {reason_of(error)}; does the crawl run?"
        ) from error
    connection.send(ControlQuestion(dict(question)))
    reply = await connection.receive()
    await connection.end()
    if reply is None:
        raise CannotGoOn(f"the coordinator at {address} gave no answer; ask again later")
    return msgspec.json.encode(reply.answer)


async def ask_head(home: ClusterHome, question: HeadQuestion) -> tuple[HeadAnswer, str]:
    """Return what the head of this machine's cluster answers, and under what address it sees us."""
    head = home.membership().head
    try:
        connection: Connection[ToCommand] = await Connection.dial(
            head, client_context(home.root), ToCommand
        )
    except OSError as error:
        raise CannotGoOn(
            f"the cluster's first machine cannot be reached at {head}: {reason_of(error)}; type "
            "`gossamer cluster up` there"
        ) from error
    try:
        connection.send(question)
        answer = await connection.receive()
        host = connection.host
    finally:
        await connection.end()
    if not isinstance(answer, HeadAnswer):
        raise CannotGoOn(f"{head} ended the conversation; is it of another version?")
    if answer.error:
        raise ConfigError(answer.error)
    return answer, host


@contextmanager
def made_ready(
    kind: str, config: Config, folder: CrawlFolder, say: Callable[[str], None], *, is_forced: bool
) -> Iterator[tuple[int, ShardChild | None]]:
    """Let a crawl that was one machine's be in the store, in enough shards.

    Give their number, and what forks those of this machine, if they are to be forks.
    """
    if not config.store.url:
        raise ConfigError(
            "--cluster needs a store that all machines reach: add --store s3://BUCKET/PREFIX, or "
            "--store file:///FOLDER for a folder that all of them share"
        )
    require_store(config.store.url)
    usual = _usual_shards(look_at_cluster(kind))
    url, wanted = config.store.url, config.shards
    with _forking_shards(kind) as server:
        yield make_ready(folder, url, wanted, usual, say, is_forced=is_forced), server


def _usual_shards(view: ClusterView) -> int:
    cores = sum(node.cores for node in view.nodes) or 2
    return min(MOST_SHARDS, max(LEAST_SHARDS, SHARDS_PER_CORE * cores))


def _cores_of_regions(view: ClusterView) -> dict[str, int]:
    cores = Counter[str]()
    for node in view.nodes:
        cores[node.region] += 0 if node.is_draining else max(1, node.cores)
    return dict(cores)


@contextmanager
def _forking_shards(kind: str) -> Iterator[ShardChild | None]:
    """Give what forks shards for a crawl by this machine alone; None where a fork is not safe.

    To be asked for before anything reads the store: that starts threads.
    """
    if kind != LOCAL or State.was_opened or has_threads():
        yield None
        return
    home = local_home()

    def run(shard: ShardProcess) -> int:
        return run_forked(
            JoiningShard(
                store=shard.store,
                shard=shard.shard,
                join=shard.join,
                home=str(home.root),
                process=shard.process,
                node=HERE,
            )
        )

    server = start_fork_server(run, home.log_path)
    try:
        yield server
    finally:
        server.end.close()
        server.kill()
        server.reap()


def claim_work(
    kind: str,
    config: Config,
    say: Callable[[str], None],
    server: ShardChild | None,
    *,
    is_forced: bool,
    is_indexed: bool = False,
) -> ClusterWork:
    """Make a crawl ours to coordinate; `server` forks its shards, if they are to be forks.

    `is_indexed`: machines index the shards that they have.
    """
    view, clock = look_at_cluster(kind), SystemClock()
    end = bound_socket(view.host)
    offer = CoordinatorOffer(
        url=config.store.url,
        address=address_of(end),
        fingerprint=fingerprint(view.home.authority.read_bytes()),
        lease_s=config.store.lease_s,
        shards=config.shards,
        usual_shards=_usual_shards(view),
        cores=_cores_of_regions(view),
        is_forced=is_forced,
    )
    claim = claim_cluster(offer, clock, say)
    return ClusterWork(
        claim=claim,
        view=view,
        kind=kind,
        end=end,
        is_indexed=is_indexed,
        has_run=claim.may_run,
        say=say,
        clock=clock,
        server=server,
    )


def bring_settings(claim: ClusterClaim, folder: CrawlFolder) -> bool:
    """Bring what the crawl was asked from the store; return False of a new one."""
    found = claim.store.newest_of(claim.charter, 0)
    if found is None or not found[1].root:
        return False
    restore_root(claim.store, found[1], folder)
    return True


def start_of(
    fleet: Fleet, number: int, right: ShardRight, coordinator: int, ring: Ring
) -> StartShard:
    """Return what a shard on another machine is told that starts at this moment."""
    root = fleet.folder.root
    if fleet.config.dedupe.near:
        crawl_seed(fleet.folder)
    names = [name for name in HANDED if (root / name).exists()]
    return StartShard(
        coordinator=coordinator,
        right=right,
        ranges=ring.ranges,
        regions=fleet.regions,
        config=msgspec.to_builtins(fleet.config),
        kept=msgspec.to_builtins(load_crawl_config(root)),
        secrets=msgspec.to_builtins(read_secrets(root)),
        files={name: (root / name).read_bytes() for name in names},
        seeds=[(seed.url, seed.label) for seed in fleet.seeds],
        is_limited=fleet.config.limits.max_pages is not None,
        reports_commits=fleet.config.limits.max_bytes is not None,
        asks_again=not fleet.supervisor.members[number].starts,
        is_paused=fleet.folder.paused_path.exists(),
        suspects=fleet.supervisor.in_hand.suspects(number),
    )


def expect_plain(extras: Extras) -> None:
    """Refuse functions that other machines cannot be sent."""
    if extras.processors or extras.filters or extras.protocols or extras.is_watching:
        raise ConfigError(
            "a crawl in a cluster takes no functions of this program, and does not watch: name "
            "them in crawl.toml as module:function, and install the module on all machines"
        )
