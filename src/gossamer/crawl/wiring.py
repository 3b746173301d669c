"""Config → a shard: who plays which part, and what is mended before the play begins."""

import fcntl
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random

import msgspec
from msgspec import Struct

from gossamer import __version__
from gossamer.clock import Clock, CrawlTime
from gossamer.config import Config
from gossamer.crawl.ledger import Ledger
from gossamer.crawl.offload import SafeReader
from gossamer.crawl.ports import Stations
from gossamer.crawl.wheel import Wheel
from gossamer.crawl.worker import Worker
from gossamer.dedupe import ContentSeen
from gossamer.errors import CannotGoOn
from gossamer.fetch import Fetcher, Resolver, RobotsCache, auth_by_origin, next_try_at
from gossamer.filter import FilterChain, UrlFilter, build_chain
from gossamer.frontier import AddressClocks, Frontier, address_gap_s
from gossamer.log import tell
from gossamer.model import (
    FINAL,
    Document,
    Extraction,
    Failed,
    FailureKind,
    LinkKind,
    Row,
    Task,
    Turn,
    UrlRecord,
)
from gossamer.process import Processor, Registry, Tools
from gossamer.report import (
    COUNTERS,
    SHARD,
    URL,
    decode_counters,
    decode_record,
    seed_urls,
    url_row_key,
)
from gossamer.seen import UrlSeen
from gossamer.store import (
    ROW_PREFIX,
    Archive,
    CrawlFolder,
    FlightBoard,
    Repair,
    State,
    TurnWriter,
    repair,
)
from gossamer.urls import join, parse

META, DEATHS = b"m", b"k"
BACK_QUEUES = 3
"""Active hosts per fetch in flight, at least: so that some are always ready (Mercator)."""
DEATH, LEAST_SHARE, MAX_BLAME = 12, 3, 36
"""A death's blame is shared by the URLs in hand, a quarter each at least; a URL that carries three
whole ones is not tried again. So one that is alone in hand, or being read, has three deaths, and a
bystander of random kills is not failed for what others may have done."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Meta(Struct, kw_only=True):
    """What a shard knows of its own past starts."""

    epoch: int = 0
    boot_id: str = ""
    offset_s: float = 0.0
    """Crawl time minus the steady clock: valid for as long as the machine is not rebooted."""


@dataclass(slots=True, kw_only=True)
class Core:
    """The stations that live on rows: what a crawl and a rebuild of its state have in common."""

    state: State
    url_seen: UrlSeen
    content_seen: ContentSeen
    robots: RobotsCache
    frontier: Frontier
    filters: FilterChain
    stations: Stations

    def rows_to_commit(self) -> list[Row]:
        """Give the rows that changed since the last commit, of all stations."""
        parts = (self.frontier, self.url_seen, self.content_seen, self.robots)
        return [row for part in parts for row in part.rows_to_commit()]


@dataclass(slots=True, kw_only=True)
class Shard:
    """One shard, wired up and repaired, ready to turn."""

    folder: CrawlFolder
    lock: int
    core: Core
    ledger: Ledger
    board: FlightBoard
    worker: Worker
    reader: SafeReader
    wheel: Wheel

    async def close(self) -> None:
        """Close everything in order, whatever fails; the archive's last rows are committed."""
        with ExitStack() as last:
            last.callback(os.close, self.lock)
            last.callback(self.board.close)
            last.callback(self.core.state.close)
            last.callback(self.core.url_seen.close)
            await self.worker.fetcher.close()
            await self.worker.resolver.close()
            await self.reader.close()
            self.ledger.archive.close()
            self.core.state.write(self.ledger.archive.rows_to_commit())
            self.core.state.sync()


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """What a Python program adds to a crawl of its own."""

    processors: Sequence[Processor] = ()
    filters: Sequence[UrlFilter] = ()


def lock_folder(folder: CrawlFolder) -> int:
    """Make the folder ours; one process at a time may crawl in it."""
    try:
        folder.root.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder.lock_path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise CannotGoOn(
            f"cannot write to {folder.root}: {error.strerror}; choose a folder that is writable"
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(lock, 32, 0).decode("ascii", "replace").strip()
        os.close(lock)
        raise CannotGoOn(
            f"another process (pid {holder or 'unknown'}) is crawling in {folder.root}; "
            "stop it first, or ask it with `gossamer status`"
        ) from error
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    return lock


def open_state(folder: CrawlFolder) -> State:
    """Open the state; an archive without a state is not touched."""
    path = folder.state(SHARD)
    if not State.exists(path) and folder.has_archive():
        raise CannotGoOn(
            f"{folder.root} has an archive but no state; nothing was changed. "
            f"Run `gossamer build {folder.root} state`, then crawl on"
        )
    return State.open(path)


def read_meta(state: State) -> Meta:
    """Return what the state knows of past starts."""
    value = state.get(META)
    return msgspec.msgpack.decode(value, type=Meta) if value is not None else Meta()


def forget_boot(state: State) -> None:
    """Let the next start treat all clocks as after a reboot: every host waits its full gap."""
    meta = read_meta(state)
    meta.boot_id = ""
    state.write([(META, msgspec.msgpack.encode(meta))])


def start_epoch(state: State, clock: Clock, after: int = 0) -> tuple[CrawlTime, bool]:
    """Begin a new epoch (later than `after`), durable before anything else; was there a reboot?"""
    boot_id = BOOT_ID.read_text().strip() if BOOT_ID.exists() else ""
    meta = read_meta(state)
    has_rebooted = meta.boot_id != boot_id or not boot_id
    time = CrawlTime.anchored(clock) if has_rebooted else CrawlTime(clock, meta.offset_s)
    is_first = meta.epoch == 0
    meta = Meta(epoch=max(meta.epoch, after) + 1, boot_id=boot_id, offset_s=time.offset_s)
    state.write([(META, msgspec.msgpack.encode(meta))])
    state.sync()
    return time, has_rebooted and not is_first


def open_shard(
    folder: CrawlFolder, config: Config, clock: Clock, random: Random, extras: Extras
) -> Shard:
    """Wire up a shard on a folder, and mend what its last death left behind."""
    lock = lock_folder(folder)
    try:
        state = open_state(folder)
        time, has_rebooted = start_epoch(state, clock)
        mended = repair(folder, SHARD, state.scan(ROW_PREFIX), has_rebooted=has_rebooted)
        seen_folder = folder.state(SHARD) / "seen"
        core = wire_core(state, seen_folder, config, random, extras.filters)
        writer = TurnWriter(software=f"gossamer/{__version__}", rng=random)
        desk = _desk(folder, config, core, time.now, writer)
        worker, reader = _staff(config, time, core, desk, extras.processors)
        wheel = Wheel(
            config=config,
            time=time,
            frontier=core.frontier,
            ledger=desk.ledger,
            worker=worker,
            url_seen=core.url_seen,
            board=desk.board,
            folder=folder.root,
        )
        shard = Shard(
            folder=folder,
            lock=lock,
            core=core,
            ledger=desk.ledger,
            board=desk.board,
            worker=worker,
            reader=reader,
            wheel=wheel,
        )
        _recover(shard, mended, time, all_wait=has_rebooted)
    except BaseException:
        os.close(lock)
        raise
    return shard


def wire_core(
    state: State, seen_folder: Path, config: Config, random: Random, filters: Sequence[UrlFilter]
) -> Core:
    """Build the stations that live on the rows of a state."""
    url_seen = UrlSeen.open(seen_folder, config.seen, [*state.scan(b"s"), *state.scan(b"S")])
    content_seen = ContentSeen(state.get)
    frontier = Frontier(config.frontier, config.politeness, state, random)
    frontier.at_least = BACK_QUEUES * config.concurrency
    chain = build_chain(
        config.filter,
        seed_urls(config),
        frontier.hosts.known_urls,
        follow_embeds=config.process.embeds,
        extra=filters,
    )
    stations = Stations(
        content_seen=content_seen,
        url_seen=url_seen,
        filters=chain,
        urls=config.urls,
        process=config.process,
        max_redirects=config.fetch.max_redirects,
        retry_at=next_try_at,
        join=join,
    )
    return Core(
        state=state,
        url_seen=url_seen,
        content_seen=content_seen,
        robots=RobotsCache(config.robots, config.fetch.robots_agent, state.get),
        frontier=frontier,
        filters=chain,
        stations=stations,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where things are written down: the ledger, and the board of what is in hand."""

    ledger: Ledger
    board: FlightBoard


def _desk(
    folder: CrawlFolder, config: Config, core: Core, now: Callable[[], float], writer: TurnWriter
) -> Desk:
    """Build the ledger and the flight board of the epoch that has just begun."""
    epoch = read_meta(core.state).epoch
    archive = Archive.open(
        folder, SHARD, epoch, config.store, lambda name: writer.warcinfo(name, now())
    )
    ledger = Ledger(
        state=core.state,
        archive=archive,
        writer=writer,
        core=core,
        on_committed=core.frontier.committed,
        remember_content=core.content_seen.remember,
        counters=decode_counters(core.state.get(COUNTERS)),
        syncs_each=config.store.sync == "each",
    )
    board = FlightBoard(folder.state(SHARD) / "flight", config.concurrency)
    return Desk(ledger=ledger, board=board)


def _staff(
    config: Config, time: CrawlTime, core: Core, desk: Desk, processors: Sequence[Processor]
) -> tuple[Worker, SafeReader]:
    """Build the worker, with everything that reaches the network or reads strangers' bytes."""
    tools = Tools(urls=config.urls, process=config.process, robots_agent=config.fetch.robots_agent)
    registry = Registry.load(tools, extra=processors)
    reader = SafeReader(tools)

    async def read(document: Document, media_type: str) -> Extraction:
        if registry.needs_helper(document, media_type):
            return await reader.read(document, media_type)
        desk.board.reading(document.url.key)
        found = registry.read(document, media_type)
        desk.board.reading(None)
        return found

    auth = auth_by_origin(config.fetch.auth, seed_urls(config))
    worker = Worker(
        time=time,
        frontier=core.frontier,
        addresses=AddressClocks(address_gap_s(config.politeness)),
        robots=core.robots,
        resolver=Resolver(config.fetch, time.clock),
        fetcher=Fetcher(msgspec.structs.replace(config.fetch, auth=auth), time.clock),
        stations=core.stations,
        ledger=desk.ledger,
        media_type_of=registry.media_type,
        read=read,
        robots_bytes=config.robots.max_bytes,
    )
    return worker, reader


def _recover(shard: Shard, mended: Repair, time: CrawlTime, *, all_wait: bool) -> None:
    """Put leased, lost and blamed URLs where they belong, in one commit."""
    now = time.now()
    blame = _share_blame(shard)
    killers: list[Task] = []

    def is_settled(task: Task) -> bool:
        if blame.get(task.url.key, 0) >= MAX_BLAME:
            killers.append(task)
            return True
        value = shard.core.state.get(url_row_key(task.url.key))
        return value is not None and decode_record(value).state in FINAL

    shard.core.frontier.recover(now, is_settled, all_wait=all_wait)
    for task in killers:
        failed = Failed(kind=FailureKind.KILLED_US, detail="in hand again and again")
        shard.ledger.record(Turn(task=task, outcome=failed, at=now), now)
    shard.ledger.extra_rows.extend(mended.rows)
    _queue_lost_pages(shard, mended)
    shard.ledger.commit()
    if mended.cut or mended.deleted or mended.bad:
        tell("archive.repaired", cut=mended.cut, deleted=mended.deleted, bad=mended.bad)


def _share_blame(shard: Shard) -> dict[int, int]:
    """Blame the last death on the URLs that were in hand; return what each of them carries now."""
    blame: dict[int, int] = {}
    share = max(LEAST_SHARE, DEATH // max(1, len(shard.board.lost)))
    for key in shard.board.lost:
        row = DEATHS + key.to_bytes(8, "big")
        blame[key] = int.from_bytes(shard.core.state.get(row) or b"", "big") + share
        shard.ledger.extra_rows.append((row, blame[key].to_bytes(2, "big")))
    return blame


def _queue_lost_pages(shard: Shard, mended: Repair) -> None:
    """Queue again the URLs whose records lay in a damaged range of the archive."""
    if not mended.bad:
        return
    lost_from = dict(mended.bad)
    for key, value in shard.core.state.scan(URL):
        record = decode_record(value)
        ref = record.visits[-1].ref if record.visits else None
        if ref is not None and ref.offset >= lost_from.get(ref.file, ref.offset + 1):
            shard.ledger.extra_rows.append((key, None))
            if record.fingerprint is not None:  # or the page would be a copy of its lost self
                shard.core.content_seen.forget(record.fingerprint, record.url)
            if (task := _task_of(record, shard)) is not None:
                shard.core.frontier.add([task], are_new=False)


def _task_of(record: UrlRecord, shard: Shard) -> Task | None:
    url = parse(record.url, shard.core.stations.urls)
    if url is None:
        return None
    return Task(url=url, depth=record.depth, via=record.via, kind=LinkKind(record.kind))
