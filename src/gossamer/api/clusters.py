"""A cluster of machines: bring one up, join it, look at it, and let machines go."""

import asyncio
import fcntl
import hashlib
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from gossamer.errors import CannotGoOn, ConfigError, GossamerError
from gossamer.linux import cores as machine_cores

if TYPE_CHECKING:
    from gossamer.cluster import ClusterHome, ClusterMembership, HeadAnswer

PORT = 7420
READY_S, RAY_READY_S = 30.0, 90.0
LOOK_S = 0.1
SPLITTING_S = 2.0
"""How long a coordinator is waited for that may hang."""
MOST_NAME = 63


class NodeFacts(Struct, frozen=True, kw_only=True):
    """A machine of a cluster."""

    name: str
    host: str
    cores: int
    region: str = ""
    """Near which hosts it is, if that was said."""
    shards: int
    """So many run there, of whatever crawls."""
    is_draining: bool


class ClusterCrawl(Struct, frozen=True, kw_only=True):
    """A crawl that runs in a cluster."""

    store: str
    coordinator: str
    """Where its coordinator is heard."""
    title: str
    nodes: dict[str, list[int]]
    """By machine: the shards that run there."""
    regions: dict[str, list[int]] = {}
    """By region: the shards that crawl its hosts. Empty if the crawl has no regions."""
    splitting: list[int] = []
    """A shard that is being split, and the number of the new one; none most of the time."""
    split_step: str = ""
    """How far that is, or what it waits for, in words."""


class ClusterFacts(Struct, frozen=True, kw_only=True):
    """A cluster: its machines and its crawls."""

    head: str
    engine: str
    """What starts shards: the `processes` of nodes, or `ray`."""
    join: str
    """What to type on another machine; "" where that is not known."""
    nodes: list[NodeFacts]
    crawls: list[ClusterCrawl]


class ShardSplit(Struct, frozen=True, kw_only=True):
    """A shard is being split."""

    shard: int
    child: int
    """The shard that will have the second half of its hosts."""
    shards: int
    """So many there will be."""


class JoinedCluster(Struct, frozen=True, kw_only=True):
    """This machine belongs to a cluster now."""

    name: str
    head: str
    join: str
    pid: int


def cluster_home(home: Path | str | None = None) -> "ClusterHome":
    """Return where this machine keeps what it knows of its cluster."""
    from gossamer.cluster import ClusterHome, default_home

    return ClusterHome(Path(home) if home is not None else default_home())


def coordinator_folder(store: str) -> Path:
    """Return where this machine keeps what was asked of a crawl that a cluster runs."""
    if not store:
        raise ConfigError(
            "--cluster needs a store that all machines reach: add --store s3://BUCKET/PREFIX, or "
            "--store file:///FOLDER for a folder that all of them share"
        )
    from gossamer.store import CrawlFolder, is_locked

    name = hashlib.sha256(store.rstrip("/").encode()).hexdigest()[:16]
    folder = cluster_home().root / "coordinating" / name
    if is_locked(CrawlFolder(folder)):
        raise CannotGoOn(
            f"a process of this machine runs the crawl of {store} already; `gossamer status "
            f"{store}` shows it, `gossamer stop {store}` ends it"
        )
    return folder


def cluster_up(
    home: Path | str | None = None,
    *,
    listen: str = "",
    name: str = "",
    cores: int = 0,
    engine: str = "",
    region: str = "",
) -> JoinedCluster:
    """Make this machine the first of a cluster, and start the process that stands for it.

    `listen` is HOST or HOST:PORT, as other machines reach it. `engine` is what starts the shards:
    `processes` of the nodes, or `ray`. A cluster that was here before goes on with its engine, its
    certificates and its token. `region` names near which hosts this machine is, such as `eu`.
    """
    from gossamer.cluster import RAY, found_cluster, join_line, split_address

    place = cluster_home(home)
    head = _listen_address(listen)
    host = split_address(head)[0] if listen else ""
    _expect_engine(place, engine)
    _expect_own(host)
    _expect_region(region)
    if not place.is_member:
        ray = _ray_address(head) if engine == RAY else ""
        found_cluster(place, _node_name(name), head, ray, host, region)
    known = place.membership()
    if not place.authority_key.exists():
        raise ConfigError(
            f"this machine has joined the cluster of {known.head}; to begin one of its own, "
            f"remove {place.root} first, or give another --home"
        )
    if name not in {"", known.name}:
        _expect_stopped(place)
        place.write(replace(known, name=_node_name(name)))
        known = place.membership()
    known = _with_region(place, region)
    if listen and known.head != head:
        _expect_stopped(place)
        ray = _ray_address(head) if known.ray else ""
        at = head.rpartition(":")[0]
        place.write(replace(known, head=head, ray=ray, host=at, listen=host))
    pid = _start(place, cores)
    return JoinedCluster(
        name=known.name, head=place.membership().head, join=join_line(place), pid=pid
    )


def cluster_join(
    head: str,
    token: str,
    home: Path | str | None = None,
    *,
    name: str = "",
    cores: int = 0,
    host: str = "",
    region: str = "",
) -> JoinedCluster:
    """Make this machine a part of a cluster, and start the process that stands for it.

    `host` is this machine's address, as the others reach it, if it has several: shards of this
    machine listen there. `region` names near which hosts it is, such as `eu`; as before unless
    given.
    """
    from gossamer.cluster import join_cluster, join_line, read_token, split_address

    place = cluster_home(home)
    try:
        split_address(head)
    except ValueError as error:
        raise ConfigError(f"{error}; write it as in 10.0.0.4:{PORT}") from None
    wanted = read_token(head, token)
    _expect_own(host)
    _expect_region(region)
    had = place.membership() if place.is_member else None
    if had is not None and had.fingerprint != wanted.fingerprint:
        raise ConfigError(
            f"this machine belongs to the cluster of {had.head}; remove {place.root} first, or "
            "give another --home"
        )
    if had is not None:
        name, host, region = name or had.name, host or had.listen, region or had.region
    if had is None or (head, name) != (had.head, had.name):
        if place.authority_key.exists():
            raise ConfigError(
                "this machine is the first of that cluster: type `gossamer cluster up` here"
            )
        _expect_stopped(place)
        asyncio.run(join_cluster(place, wanted, _node_name(name), host, region))
    elif host != had.listen:
        _expect_stopped(place)
        place.write(replace(had, host=host, listen=host))
    known = _with_region(place, region)
    pid = _start(place, cores)
    return JoinedCluster(name=known.name, head=known.head, join=join_line(place), pid=pid)


def cluster_status(home: Path | str | None = None) -> ClusterFacts:
    """Return which machines are there, and what runs on them."""
    return _facts(cluster_home(home), _asked(cluster_home(home), "status"))


def cluster_drain(node: str, home: Path | str | None = None) -> ClusterFacts:
    """Let a machine go: its shards move to others, then it leaves the cluster."""
    return _facts(cluster_home(home), _asked(cluster_home(home), "drain", node))


def cluster_split(store: str, shard: int | None = None) -> ShardSplit:
    """Let a shard of a crawl that a cluster runs be split: the largest, unless one is named.

    Returns when it has been decided; that it is done is seen in `cluster_status`.
    """
    from msgspec import convert, json

    from gossamer.api.relays import asked_of_coordinator

    answer = json.decode(asked_of_coordinator(store, {"ask": "split", "shard": shard}))
    if error := answer.get("error"):
        raise ConfigError(str(error))
    return convert(answer, ShardSplit)


def cluster_down(home: Path | str | None = None) -> ClusterFacts:
    """End all crawls of a cluster cleanly, then the cluster; one that is down stays so."""
    from gossamer.cluster import HeadAnswer

    place = cluster_home(home)
    try:
        return _facts(place, _asked(place, "down"))
    except CannotGoOn:
        if not place.authority_key.exists() or not _has_ended(place):
            raise
        return _facts(place, HeadAnswer())


def cluster_node(home: Path | str | None = None, cores: int = 0, name: str = "") -> None:
    """Stand for this machine in its cluster, until that ends: what `up` and `join` start.

    `name` is what the machine is called, if not as when it joined: where many have one home's copy.
    """
    place = cluster_home(home)
    _expect_ray(place)
    if name:
        place.write(replace(place.membership(), name=_node_name(name)))
    with place.pid_path.open("a+b") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotGoOn(
                f"a process stands for this node already; see {place.pid_path}"
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n".encode())
        lock.flush()
        asyncio.run(_stand_for(place, cores or machine_cores()))


async def _stand_for(place: "ClusterHome", cores: int) -> None:
    from gossamer.clock import SystemClock
    from gossamer.cluster import ClusterHead, ClusterNode, RayEngine, bound_socket, split_address

    clock = SystemClock()
    node = ClusterNode(place, cores, clock)
    standing = asyncio.get_running_loop().create_task(node.run())
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, standing.cancel)
    if not place.authority_key.exists():
        with suppress(asyncio.CancelledError):
            await standing
        return
    engine = RayEngine(place, clock) if place.membership().is_of_ray else None
    head = ClusterHead(place, clock, engine)
    server = await head.open(bound_socket(*split_address(place.membership().head)))
    watching = asyncio.get_running_loop().create_task(head.watch())
    try:
        with suppress(asyncio.CancelledError):
            await asyncio.wait((standing, watching), return_when=asyncio.FIRST_COMPLETED)
        if standing.done() and not standing.cancelled():
            standing.result()
            await watching  # this machine was drained; the cluster goes on
    finally:
        standing.cancel()
        watching.cancel()
        await asyncio.gather(standing, watching, return_exceptions=True)
        server.close()


def _start(place: "ClusterHome", cores: int) -> int:
    """Start the process that stands for this node, if there is none; wait until it is heard."""
    if (pid := _pid_of(place)) is not None:
        return pid
    _expect_ray(place)
    words = [sys.executable, "-m", "gossamer", "cluster", "node", "--home", str(place.root)]
    words += ["--cores", str(cores)] if cores else []
    began = place.log_path.stat().st_size if place.log_path.exists() else 0
    with place.log_path.open("ab") as log:
        child = subprocess.Popen(  # noqa: S603 -- ourselves
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    known = place.membership()
    limit_s = RAY_READY_S if known.is_of_ray else READY_S
    deadline = time.monotonic() + limit_s  # noqa: TID251 - no crawl's
    while time.monotonic() < deadline:  # noqa: TID251 - the same
        if child.poll() is not None:
            said = place.log_path.read_bytes()[began:].decode(errors="replace").strip()
            raise CannotGoOn(said.rpartition("gossamer: ")[2] or f"see {place.log_path}")
        with suppress(CannotGoOn):
            there = _asked(place, "status").nodes
            if any(node.name == known.name and node.pid in {0, child.pid} for node in there):
                return child.pid  # a head of an older version knows no numbers
        time.sleep(LOOK_S)
    child.kill()
    raise CannotGoOn(f"{known.head} did not answer in {limit_s:g} s; see {place.log_path}")


def _expect_engine(place: "ClusterHome", engine: str) -> None:
    """Refuse what is no engine, and another one than the cluster of this machine has."""
    from gossamer.cluster import PROCESSES, RAY, require_ray

    if engine not in {"", PROCESSES, RAY}:
        raise ConfigError(f"--engine: expected {PROCESSES} or {RAY}, found {engine!r}")
    if engine == RAY:
        require_ray()
    if engine and place.is_member and (has := place.membership().engine) != engine:
        raise ConfigError(
            f"the cluster of this machine has --engine {has}; to begin another, end this one with "
            f"`gossamer cluster down` and remove {place.root}, or give another --home"
        )


def _expect_own(host: str) -> None:
    """Refuse to listen where this machine has no address, and where others could not call it."""
    from gossamer.cluster import bound_socket

    if not host:
        return
    try:
        with closing(bound_socket(host)) as end:
            is_any = end.getsockname()[0] in {"0.0.0.0", "::"}  # noqa: S104 -- compared
    except CannotGoOn as error:
        raise ConfigError(f"--listen: {error}; it takes an address of this machine") from None
    if is_any:
        raise ConfigError(
            f"--listen: expected the address by which other machines reach this one, found {host!r}"
        )


def _expect_region(region: str) -> None:
    """Refuse what is no name of a region."""
    from gossamer.cluster import region_complaint

    if region and (complaint := region_complaint(region)):
        raise ConfigError(f"--region: {complaint}")


def _with_region(place: "ClusterHome", region: str) -> "ClusterMembership":
    """Return what is known of this machine's cluster, with the region that it is in by now."""
    known = place.membership()
    if region in {"", known.region}:
        return known
    _expect_stopped(place)
    known = replace(known, region=region)
    place.write(known)
    return known


def _expect_ray(place: "ClusterHome") -> None:
    """Refuse a machine of a cluster on Ray that has no Ray."""
    from gossamer.cluster import require_ray

    if place.membership().is_of_ray:
        require_ray()


def _ray_address(head: str) -> str:
    """Return where Ray's head listens: the port after ours, or any that is free."""
    from gossamer.cluster import address_of, bound_socket, join_address, split_address

    host, port = split_address(head)
    for wanted in (port + 1, 0):
        with suppress(CannotGoOn), closing(bound_socket("0.0.0.0", wanted)) as end:  # noqa: S104 -- looked at, not kept
            return join_address(host, split_address(address_of(end))[1])
    raise CannotGoOn(f"cannot listen on any port of {host}")


def _asked(place: "ClusterHome", ask: str, node: str = "") -> "HeadAnswer":
    from gossamer.crawl import ask_cluster

    return ask_cluster(place, ask, node)


def _facts(place: "ClusterHome", answer: "HeadAnswer") -> ClusterFacts:
    from gossamer.cluster import join_line

    known = place.membership()
    nodes = [
        NodeFacts(
            name=node.name,
            host=node.host,
            cores=node.cores,
            region=node.region,
            shards=len(node.shards),
            is_draining=node.is_draining,
        )
        for node in answer.nodes
    ]
    splits = {crawl.address: _splitting(place, crawl.address) for crawl in answer.crawls}
    crawls = [
        ClusterCrawl(
            store=crawl.store,
            coordinator=crawl.address,
            title=crawl.title,
            nodes={
                node.name: sorted(one.shard for one in node.shards if one.store == crawl.store)
                for node in answer.nodes
            },
            regions=_regions(place, crawl.address),
            splitting=splits[crawl.address].shards,
            split_step=splits[crawl.address].step,
        )
        for crawl in answer.crawls
    ]
    return ClusterFacts(
        head=known.head,
        engine=known.engine,
        join=join_line(place),
        nodes=nodes,
        crawls=crawls,
    )


class _Splitting(NamedTuple):
    """A split, as its coordinator tells."""

    shards: list[int]
    step: str


def _splitting(place: "ClusterHome", coordinator: str) -> _Splitting:
    """Return which shard a coordinator is splitting, into which besides, and how far that is."""
    from msgspec import json

    from gossamer.crawl import ask_coordinator

    with suppress(GossamerError):
        told = json.decode(ask_coordinator(place, coordinator, {"ask": "splitting"}, SPLITTING_S))
        if "child" in told:
            return _Splitting([told["shard"], told["child"]], str(told.get("step", "")))
    return _Splitting([], "")


def _regions(place: "ClusterHome", coordinator: str) -> dict[str, list[int]]:
    """Return which shards a coordinator has in which region."""
    from msgspec import convert, json

    from gossamer.crawl import ask_coordinator

    with suppress(GossamerError):
        told = json.decode(ask_coordinator(place, coordinator, {"ask": "regions"}, SPLITTING_S))
        return convert(told.get("regions", {}), dict[str, list[int]])
    return {}


def _pid_of(place: "ClusterHome") -> int | None:
    """Return the process that stands for this node; None if there is none."""
    try:
        with place.pid_path.open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(lock.read().strip() or 0)
    except FileNotFoundError:
        return None
    return None


def _has_ended(place: "ClusterHome") -> bool:
    """Return True if no process stands for this node, or soon none: one that is ending has time."""
    deadline = time.monotonic() + READY_S  # noqa: TID251 - no crawl's
    while _pid_of(place) is not None:
        if time.monotonic() >= deadline:  # noqa: TID251 - the same
            return False
        time.sleep(LOOK_S)
    return True


def _expect_stopped(place: "ClusterHome") -> None:
    if (pid := _pid_of(place)) is not None:
        raise ConfigError(f"this node runs as process {pid}; stop it first: kill {pid}")


def _node_name(name: str) -> str:
    """Return what a node is called; its host's name if nothing was given."""
    chosen = name or socket.gethostname().partition(".")[0]
    if not chosen or len(chosen) > MOST_NAME or not all(c.isalnum() or c in "-_." for c in chosen):
        raise ConfigError(f"--name: expected letters, digits, '-', '_' and '.', found {chosen!r}")
    return chosen


def _listen_address(text: str) -> str:
    """Return HOST:PORT where the head of a cluster listens."""
    from gossamer.cluster import join_address, own_address, split_address

    if not text:
        return join_address(own_address(), PORT)
    host, mark, port = text.rpartition(":")
    if not mark or ("]" not in host and ":" in host):
        return join_address(text.removeprefix("[").removesuffix("]"), PORT)
    if not port.isdecimal():
        raise ConfigError(f"--listen: expected HOST or HOST:PORT, found {text!r}")
    try:
        return join_address(*split_address(text))
    except ValueError as error:
        raise ConfigError(f"--listen: {error}") from None


def run_shard(
    store: str,
    number: int,
    join: str,
    *,
    home: Path | str | None = None,
    node: str = "",
    process: str = "",
) -> None:
    """Run one shard of a crawl on several machines until it is told to end."""
    from gossamer.crawl import JoiningShard, run_joined

    def bring_ranks(path: Path) -> bool:
        from gossamer.api.storedgraph import bring_ranks_of

        return bring_ranks_of(store, number, path)

    run_joined(
        JoiningShard(
            store=store,
            shard=number,
            join=join,
            home=str(cluster_home(home).root),
            process=process,
            node=node,
        ),
        bring_ranks,
    )
