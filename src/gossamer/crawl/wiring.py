"""Config → a shard: who plays which part, and what is mended before the play begins."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from random import Random

import msgspec

from gossamer import __version__
from gossamer.clock import Clock, CrawlTime
from gossamer.config import Config
from gossamer.crawl.asking.caller import Caller
from gossamer.crawl.copies import CopyDesk, NoCopies, open_desk
from gossamer.crawl.ledger import Ledger
from gossamer.crawl.offload import SafeReader
from gossamer.crawl.setup import Core, Desk, recover, wire_core
from gossamer.crawl.setup.opening import (
    Place,
    fold_counters,
    open_state,
    read_meta,
    saving_credit,
    start_epoch,
)
from gossamer.crawl.watch import Looker
from gossamer.crawl.wheel import Alone, Wheel
from gossamer.crawl.worker import Worker
from gossamer.fetch import Fetcher, Resolver, auth_by_origin
from gossamer.filter import UrlFilter
from gossamer.frontier import (
    AddressClocks,
    address_gap_s,
)
from gossamer.model import (
    Document,
    Extraction,
)
from gossamer.process import Processor, Registry, Tools
from gossamer.report import seed_urls
from gossamer.store import (
    ROW_PREFIX,
    Archive,
    FlightBoard,
    TurnWriter,
    read_original,
    repair,
)


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
            await self.core.copies.close()
            await self.worker.caller.close()
            await self.reader.close()
            if (save := self.wheel.save()) is not None:
                save()
            self.ledger.archive.close()
            self.core.state.write(self.ledger.archive.rows_to_commit())
            self.core.state.sync()


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """What a Python program adds to a crawl of its own."""

    processors: Sequence[Processor] = ()
    filters: Sequence[UrlFilter] = ()
    is_watching: bool = False
    """Look again and again at the pages that we have."""


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
    core.copies = _open_copies(place, config, core, desk.ledger)
    worker, reader = _staff(config, time, core, desk, extras.processors)
    _equip_looker(worker, place, core)
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
        copies=core.copies,
        save=lambda: saving_credit(core.state, core.frontier.order),
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
    recover(core, desk, mended, time.now(), all_wait=has_rebooted)
    core.copies.recover(wheel.fail)
    return shard


def _equip_looker(worker: Worker, place: Place, core: Core) -> None:
    """Let another look at a page know what it was, and what it is worth."""
    worker.looker.original_of = partial(read_original, place.folder)
    if (credit := core.frontier.order.credit) is not None:
        worker.looker.importance_of = lambda key: 2.0 ** credit.grade(key)  # classes of powers


def _open_copies(place: Place, config: Config, core: Core, ledger: Ledger) -> CopyDesk | NoCopies:
    """Build the desk at which near-duplicates are judged, if they are wanted."""
    if not config.dedupe.near:
        return NoCopies()
    desk = open_desk(place.folder, place.shard, place.ring.shards, ledger, config.store.sync)
    ledger.offer = desk.offer
    if core.outbox is not None:
        desk.post = core.outbox.post_parcels
    return desk


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
        on_committed=core.committed,
        remember_content=core.content_seen.remember,
        forget_content=core.content_seen.forget,
        counters=core.counters,
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

    worker = Worker(
        time=time,
        frontier=core.frontier,
        robots=core.robots,
        caller=_caller(config, time, core, desk),
        stations=core.stations,
        ledger=desk.ledger,
        media_type_of=registry.media_type,
        read=read,
        robots_bytes=config.robots.max_bytes,
        looker=Looker(rules=core.watch, stations=core.stations, record_of=core.record_of),
        add=core.add,
        promote=core.promote,
        traps=core.traps,
        let_out=lambda back: core.let_out(back, desk.ledger.counters),
    )
    return worker, reader


def _caller(config: Config, time: CrawlTime, core: Core, desk: Desk) -> Caller:
    """Build what reaches the network."""
    auth = auth_by_origin(config.fetch.auth, seed_urls(config))
    return Caller(
        time=time,
        # Each shard knows its own requests only: with n of them each keeps n times the gap.
        addresses=AddressClocks(address_gap_s(config.politeness) * core.shards),
        resolver=Resolver(config.fetch, time.clock),
        fetcher=Fetcher(msgspec.structs.replace(config.fetch, auth=auth), time.clock),
        counters=desk.ledger.counters,
    )
