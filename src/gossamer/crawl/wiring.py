"""Config → a shard: who plays which part, and what is mended before the play begins."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from random import Random

import msgspec

from gossamer import __version__
from gossamer.clock import Clock, CrawlTime
from gossamer.cluster import OUTBOX, Outbox, Splitter, outbox_rows
from gossamer.config import Config
from gossamer.crawl.ledger import Ledger
from gossamer.crawl.offload import SafeReader
from gossamer.crawl.opening import Place, fold_counters, open_state, read_meta, start_epoch
from gossamer.crawl.pipeline import accept
from gossamer.crawl.ports import Stations
from gossamer.crawl.wheel import Alone, Wheel
from gossamer.crawl.worker import Worker
from gossamer.dedupe import ContentSeen
from gossamer.fetch import Fetcher, Resolver, RobotsCache, auth_by_origin, next_try_at
from gossamer.filter import FilterChain, Return, Traps, UrlFilter, build_chain
from gossamer.frontier import AddressClocks, Frontier, address_gap_s
from gossamer.log import tell
from gossamer.model import (
    FINAL,
    Counters,
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
    FlightBoard,
    Repair,
    State,
    TurnWriter,
    repair,
)
from gossamer.urls import join, parse

DEATHS = b"k"
BACK_QUEUES = 3
"""Active hosts per fetch in flight, at least: so that some are always ready (Mercator)."""
DEATH, LEAST_SHARE, MAX_BLAME = 12, 3, 36
"""A death's blame is shared by the URLs in hand, a quarter each at least; a URL that carries three
whole ones is not tried again. So one that is alone in hand, or being read, has three deaths, and a
bystander of random kills is not failed for what others may have done."""


@dataclass(slots=True, kw_only=True)
class Core:
    """The stations that live on rows: what a crawl and a rebuild of its state have in common."""

    state: State
    url_seen: UrlSeen
    content_seen: ContentSeen
    robots: RobotsCache
    frontier: Frontier
    filters: FilterChain
    traps: Traps
    stations: Stations
    shards: int = 1
    splitter: Splitter | None = None
    outbox: Outbox | None = None

    def rows_to_commit(self) -> list[Row]:
        """Give the rows that changed since the last commit, of all stations."""
        rows = self.frontier.rows_to_commit()
        rows += self.url_seen.rows_to_commit()
        rows += self.content_seen.rows_to_commit()
        rows += self.robots.rows_to_commit()
        rows += self.traps.rows_to_commit()
        if self.outbox is not None:
            rows += self.outbox.rows_to_commit()
        return rows

    def add(self, tasks: list[Task]) -> None:
        """Take new tasks to their owner: our frontier, or the outbox for another shard."""
        if self.splitter is None or self.outbox is None:
            self._queue(tasks)
        else:
            self.splitter.route(tasks, self._queue, self.outbox.post)

    def _queue(self, tasks: list[Task]) -> None:
        self.frontier.add(self.traps.admit(tasks))

    def let_out(self, back: Return, counters: Counters) -> None:
        """Queue tasks that a part of a site on trial has held back; count those it refuses."""
        for reason, count in back.refused.items():
            counters.refused[reason] = counters.refused.get(reason, 0) + count
        if back.known:
            self.frontier.add(back.known, are_new=False)
        if back.new:
            self.frontier.add(back.new)


@dataclass(slots=True, kw_only=True)
class Shard:
    """One shard, wired up and repaired, ready to turn."""

    place: Place
    core: Core
    ledger: Ledger
    board: FlightBoard
    worker: Worker
    reader: SafeReader
    wheel: Wheel

    async def close(self) -> None:
        """Close everything in order, whatever fails; the archive's last rows are committed."""
        with ExitStack() as last:
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


def open_shard(place: Place, config: Config, clock: Clock, random: Random, extras: Extras) -> Shard:
    """Wire up a shard on a folder that is ours, and mend what its last death left behind."""
    state = open_state(place)
    last = max((name.epoch for name in place.folder.archive_names(shard=place.shard)), default=0)
    time, has_rebooted = start_epoch(state, clock, after=last)
    fold_counters(state)
    mended = repair(place.folder, place.shard, state.scan(ROW_PREFIX), has_rebooted=has_rebooted)
    core = wire_core(state, place, config, random, extras.filters)
    writer = TurnWriter(software=f"gossamer/{__version__}", rng=random)
    desk = _desk(place, config, core, time.now, writer)
    worker, reader = _staff(config, time, core, desk, extras.processors)
    wheel = Wheel(
        config=config,
        time=time,
        frontier=core.frontier,
        ledger=desk.ledger,
        worker=worker,
        url_seen=core.url_seen,
        board=desk.board,
        seat=Alone(config.limits.max_pages),
        folder=place.folder.root,
    )
    shard = Shard(
        place=place,
        core=core,
        ledger=desk.ledger,
        board=desk.board,
        worker=worker,
        reader=reader,
        wheel=wheel,
    )
    _recover(shard, mended, time, all_wait=has_rebooted)
    return shard


def wire_core(
    state: State, place: Place, config: Config, random: Random, filters: Sequence[UrlFilter]
) -> Core:
    """Build the stations that live on the rows of a state."""
    rows = [*state.scan(b"s"), *state.scan(b"S")]
    url_seen = UrlSeen.open(state.path / "seen", config.seen, rows)
    content_seen = ContentSeen(state.get)
    frontier = Frontier(config.frontier, config.politeness, state, random)
    frontier.at_least = BACK_QUEUES * config.concurrency
    traps = Traps(config.traps, state.scan, seed_urls(config), frontier.hosts.known_urls)
    chain = _chain(config, frontier, [*filters, traps.object_to])
    is_split = place.ring.shards > 1
    splitter = Splitter(place.ring, place.shard, url_seen) if is_split else None
    stations = Stations(
        content_seen=content_seen,
        url_seen=splitter or url_seen,
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
        traps=traps,
        stations=stations,
        shards=place.ring.shards,
        splitter=splitter,
        outbox=Outbox(place.ring, place.shard, read_meta(state).epoch) if is_split else None,
    )


def _chain(config: Config, frontier: Frontier, extra: Sequence[UrlFilter]) -> FilterChain:
    return build_chain(
        config.filter,
        seed_urls(config),
        frontier.hosts.known_urls,
        follow_embeds=config.process.embeds,
        extra=extra,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where things are written down: the ledger, and the board of what is in hand."""

    ledger: Ledger
    board: FlightBoard


def _desk(
    place: Place, config: Config, core: Core, now: Callable[[], float], writer: TurnWriter
) -> Desk:
    """Build the ledger and the flight board of the epoch that has just begun."""
    epoch = read_meta(core.state).epoch
    archive = Archive.open(
        place.folder,
        place.shard,
        epoch,
        config.store,
        lambda name: writer.warcinfo(name, now()),
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
    board = FlightBoard(place.state / "flight", config.concurrency)
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
            desk.board.land(document.url.key)  # what a helper reads cannot be what kills us
            return await reader.read(document, media_type)
        desk.board.reading(document.url.key)
        found = registry.read(document, media_type)
        desk.board.reading(None)
        return found

    auth = auth_by_origin(config.fetch.auth, seed_urls(config))
    worker = Worker(
        time=time,
        frontier=core.frontier,
        # Each shard knows its own requests only: with n of them each keeps n times the gap.
        addresses=AddressClocks(address_gap_s(config.politeness) * core.shards),
        robots=core.robots,
        resolver=Resolver(config.fetch, time.clock),
        fetcher=Fetcher(msgspec.structs.replace(config.fetch, auth=auth), time.clock),
        stations=core.stations,
        ledger=desk.ledger,
        media_type_of=registry.media_type,
        read=read,
        robots_bytes=config.robots.max_bytes,
        add=core.add,
        traps=core.traps,
        let_out=lambda back: core.let_out(back, desk.ledger.counters),
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
    _recover_outbox(shard)
    shard.ledger.commit()
    if mended.cut or mended.deleted or mended.bad:
        tell("archive.repaired", cut=mended.cut, deleted=mended.deleted, bad=mended.bad)


def _recover_outbox(shard: Shard) -> None:
    """Take up the letters that no receiver has acknowledged; after a re-split some are our own."""
    core = shard.core
    rows = core.state.scan(OUTBOX)
    if core.outbox is not None:
        ours = core.outbox.recover(rows)
    else:
        letters = list(outbox_rows(rows))
        ours = [task for _, tasks in letters for task in tasks]
        shard.ledger.extra_rows.extend((key, None) for key, _ in letters)
    tasks, _ = accept(ours, core.stations)
    core.add(tasks)


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
