"""Config → a shard: every part constructed in order, each finished when it is made.

Read `_assemble_on` from top to bottom: it is the object graph of a crawl. What the last death left
behind is repaired on the way, before anything can be dispatched.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from random import Random

from msgspec.structs import replace

from gossamer import __version__
from gossamer.clock import Clock, CrawlTime
from gossamer.cluster import (
    MARK,
    PARCELS,
    Courier,
    DatagramSocket,
    FileAddressClocks,
    Hello,
    Mail,
    Mailbox,
    Outbox,
    OwnedAddressClocks,
    ShardNetwork,
    SupervisorLine,
)
from gossamer.config import Config
from gossamer.crawl.contents import NEWS, SharedContents
from gossamer.crawl.copies import CopyLabeller, NoCopies, open_labeller
from gossamer.crawl.core import Core, build_core
from gossamer.crawl.engine import EngineLoop, RunState
from gossamer.crawl.fetch_log import NO_LOG, FetchLog, LogOptions
from gossamer.crawl.ledger import Ledger, RequestLog, TurnObserver
from gossamer.crawl.moving import open_outbox
from gossamer.crawl.opening import (
    UNCOUNTED,
    ShardFolder,
    UncountedUrls,
    fold_counters,
    open_state,
    read_meta,
    restored_mark_path,
    saving_credit,
    start_epoch,
)
from gossamer.crawl.pausing import OutageDuty
from gossamer.crawl.peers import NoPeers, NoStore, OtherShards, take_letter
from gossamer.crawl.ports import AddressClocks, Peers, Remote, RevisitScheduler
from gossamer.crawl.reading import DocumentReader
from gossamer.crawl.recovery import recover, suspect_in_hand
from gossamer.crawl.requester import NoAddressGap, Requester
from gossamer.crawl.revisit import RevisitTurns
from gossamer.crawl.shipping import Shipper, ShippingOrders
from gossamer.crawl.sitemaps import SitemapProbes
from gossamer.crawl.worker import Worker
from gossamer.dedupe import ContentSeen
from gossamer.errors import GossamerError
from gossamer.fetch import (
    Fetcher,
    ProtocolModule,
    Resolver,
    host_rules,
    load_protocols,
    with_proxy,
)
from gossamer.filter import UrlFilter
from gossamer.frontier import AddressGaps
from gossamer.linux import boot_id
from gossamer.model import CopyOf, Counters, Standing, UrlRecord
from gossamer.process import Processor, Registry, Tools
from gossamer.report import (
    COUNTERS,
    URL,
    claim_row_key,
    decode_claim,
    decode_counters,
    decode_record,
)
from gossamer.secrets import read_secrets, with_secrets
from gossamer.store import (
    ROW_PREFIX,
    Archive,
    EndsFile,
    ReadingMark,
    Repair,
    State,
    TurnWriter,
    far_rows,
    forget_shipped,
    read_original,
    repair,
)
from gossamer.urls import fingerprint_of, seed_urls

SURVEYS = 5
"""How often it is tried to look at units on probation while they change."""


@dataclass(frozen=True, slots=True)
class Shard:
    """One shard, assembled and repaired, ready to run."""

    place: ShardFolder
    core: Core
    ledger: Ledger
    mark: ReadingMark
    requester: Requester
    reader: DocumentReader
    engine: EngineLoop
    peers: Peers
    remote: Remote

    async def close(self) -> None:
        """Close everything in order, whatever fails; the archive's last rows are committed."""
        with ExitStack() as last:
            last.callback(self.mark.close)
            last.callback(self.core.state.close)
            last.callback(self.core.url_seen.close)
            if self.remote.is_fenced:  # what is not shipped is nobody's any more
                last.enter_context(suppress(GossamerError, OSError))
            await self.core.copies.close()
            await self.requester.close()
            await self.reader.close()
            self.engine.save_advice()
            self.ledger.close()
            await self.remote.finish()


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """What a Python program adds to a crawl of its own."""

    processors: Sequence[Processor] = ()
    filters: Sequence[UrlFilter] = ()
    protocols: Sequence[ProtocolModule] = ()
    is_watching: bool = False
    """Revisit the stored pages again and again."""
    is_once: bool = False
    """Revisit those that are due, once."""
    log: LogOptions = NO_LOG
    """Where fetches are logged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """How a shard belongs to a crawl of several: its supervisor, and what that wants to know."""

    connection: SupervisorLine
    is_limited: bool
    """Pages are granted by the supervisor."""
    reports_commits: bool
    """Every commit is reported: the crawl ends at so many bytes."""
    network: ShardNetwork | None = None
    """How others are reached that are on other machines."""
    starts: int = 0
    """The epoch of the state is this at least: others may have had it since."""
    suspects: Mapping[int, int] = field(default_factory=dict)
    """Keys of URLs that were in hand when machines went, and how many went over each."""


def assemble(
    place: ShardFolder,
    config: Config,
    clock: Clock,
    random: Random,
    extras: Extras,
    membership: Membership | None = None,
    shipping: ShippingOrders | None = None,
) -> Shard:
    """Assemble a shard on a folder that is ours, and repair what its last death left behind."""
    state = open_state(place)
    try:
        return _assemble_on(state, place, config, clock, random, extras, membership, shipping)
    except BaseException:
        state.close()  # or nobody could open it again in this process
        raise


def _assemble_on(
    state: State,
    place: ShardFolder,
    config: Config,
    clock: Clock,
    random: Random,
    extras: Extras,
    membership: Membership | None,
    shipping: ShippingOrders | None,
) -> Shard:
    """Construct every part of a shard, in order; its epoch is durable before anything else."""
    time, has_rebooted = start_epoch(state, clock, after=_last_epoch(place, membership))
    durable = state.end()
    mended = _repair(place, config, state, has_rebooted=has_rebooted)

    run, counters, epoch = RunState(), decode_counters(state.get(COUNTERS)), read_meta(state).epoch
    outbox = open_outbox(place, config, epoch, state) if place.shards > 1 else None
    writer, archive = _open_archive(place, config, epoch, random, time)
    copies = _open_copies(place, config, state, archive, counters, outbox, run)
    shared = (outbox, copies, _open_contents(place, state, epoch, run, membership))
    core = build_core(state, place, config, random, counters, extras.filters, *shared)
    peers = _open_peers(place, config, core, time, run, membership, has_store=shipping is not None)
    ends = EndsFile.begin(place.folder, place.shard, mended.lengths, durable)
    ledger = _open_ledger(place, extras, config, core, archive, ends, writer, peers)
    mark = ReadingMark(place.state / "flight")
    suspect_in_hand(membership.suspects if membership is not None else {}, core, time.now())
    recover(place.folder, core, ledger, mark, mended, time.now(), all_wait=has_rebooted)
    _recover_copies(copies, outbox, state)
    remote = _open_remote(place, core, ledger, mended, peers, clock, run, shipping)

    watcher = _open_watcher(extras, config, core, peers, time, run) if extras.is_watching else None
    clocks = _open_clocks(place, core, time, membership, is_first=epoch == 1)
    requester = _open_requester(place, config, time, core, ledger.requests, clocks, remote, extras)
    reader = _open_reader(config, extras.processors, mark, time, peers)
    worker = Worker(
        time=time,
        core=core,
        ledger=ledger,
        requester=requester,
        reader=reader,
        revisits=_revisit_turns(place, config, core, watcher),
        probes=SitemapProbes(core.robots, core.stations),
        robots_bytes=config.robots.max_bytes,
        has_one_host=_has_one_host(config),
    )
    engine = EngineLoop(
        config=config,
        time=time,
        run_state=run,
        core=core,
        ledger=ledger,
        worker=worker,
        peers=peers,
        remote=remote,
        outage_duty=OutageDuty(config.outage, core.frontier, worker),
        revisits=watcher,
        folder=place.folder.root,
        save=lambda: saving_credit(state, core.frontier.order),
    )
    return Shard(place, core, ledger, mark, requester, reader, engine, peers, remote)


def _last_epoch(place: ShardFolder, membership: Membership | None) -> int:
    """Return an epoch after which none was used, here or on another machine."""
    here = max((name.epoch for name in place.folder.archive_names(shard=place.shard)), default=0)
    return max(here, membership.starts - 1 if membership is not None else 0)


def _has_one_host(config: Config) -> bool:
    """Return True if all seeds are of one host."""
    return len({url.host for url in seed_urls(config)}) == 1


def _repair(place: ShardFolder, config: Config, state: State, *, has_rebooted: bool) -> Repair:
    """Bring the archive back to what is committed, counters of shards that are no more included."""
    fold_counters(state)
    if not config.store.url:
        forget_shipped(place.state)
    state.write(far_rows(place.folder, state.scan(ROW_PREFIX)))
    return repair(
        place.folder,
        place.shard,
        state.scan(ROW_PREFIX),
        shards=place.shards,
        has_rebooted=has_rebooted,
        tail_records=config.concurrency,
    )


def _open_archive(
    place: ShardFolder, config: Config, epoch: int, random: Random, time: CrawlTime
) -> tuple[TurnWriter, Archive]:
    """Return the archive that this start writes, and what makes its records.

    Shards whose parts of a store are indexed apart keep the text of a page whose content another of
    them has stored first.
    """
    owner_of, shard = place.ring.owner_of, place.shard

    def lacks(original: CopyOf) -> bool:
        return bool(config.store.url) and owner_of(fingerprint_of(original.url)) != shard

    writer = TurnWriter(software=f"gossamer/{__version__}", rng=random, lacks=lacks)
    opening = partial(_warcinfo, writer, time)
    return writer, Archive.open(place.folder, place.shard, epoch, config.store, opening)


def _warcinfo(writer: TurnWriter, time: CrawlTime, file_name: str) -> bytes:
    return writer.warcinfo(file_name, time.now())


def _open_ledger(
    place: ShardFolder,
    extras: Extras,
    config: Config,
    core: Core,
    archive: Archive,
    ends: EndsFile,
    writer: TurnWriter,
    peers: Peers,
) -> Ledger:
    """Return what commits: stations first, then the mail of other shards."""
    return Ledger(
        state=core.state,
        archive=archive,
        ends=ends,
        writer=writer,
        stations=(core, peers),
        remember_content=core.content_seen.remember,
        forget_content=core.content_seen.forget,
        offer=core.copies.offer,
        counters=core.counters,
        late_labels=core.labels.take_stored,
        observer=TurnObserver(FetchLog(extras.log, place.shard) if extras.log != NO_LOG else None),
        uncounted=UncountedUrls(core.state.get(UNCOUNTED)),
        syncs_each=config.store.sync == "each",
    )


def _revisit_turns(
    place: ShardFolder, config: Config, core: Core, watcher: RevisitScheduler | None
) -> RevisitTurns:
    """Return what wraps the pipeline for revisits."""
    return RevisitTurns(
        rules=config.watch,
        stations=core.stations,
        stored_record=core.record_of,
        original_of=partial(read_original, place.folder),
        watcher=watcher,
    )


def _open_copies(
    place: ShardFolder,
    config: Config,
    state: State,
    archive: Archive,
    counters: Counters,
    outbox: Outbox | None,
    run: RunState,
) -> CopyLabeller | NoCopies:
    """Return what labels near-duplicates, if that is wanted."""
    if not config.dedupe.near:
        return NoCopies()
    return open_labeller(
        place,
        state,
        archive,
        counters,
        is_synced=config.store.sync != "never",
        post=outbox.post_parcels if outbox is not None else lambda _parcels: None,
        on_ended=run.ended,
    )


def _recover_copies(copies: CopyLabeller | NoCopies, outbox: Outbox | None, state: State) -> None:
    """Take up what was left to label, and parcels to others that are for us since a re-split."""
    copies.recover()
    if outbox is not None:
        copies.take(outbox.recover_parcels(state.scan(PARCELS)))


def _open_contents(
    place: ShardFolder, state: State, epoch: int, run: RunState, membership: Membership | None
) -> SharedContents | None:
    """Return what knows contents together with the other shards; None if there are none."""
    shards = place.shards
    if shards == 1:
        return None
    network = membership.network if membership is not None else None
    here = DatagramSocket(place.folder.datagram_path, place.shard, shards, epoch)
    return SharedContents(
        ring=place.ring,
        shard=place.shard,
        seen=ContentSeen(state.get),
        rows=state.scan(NEWS),
        wire=network.contents if network is not None else here,
        on_wanted=run.wake,
    )


def _open_peers(
    place: ShardFolder,
    config: Config,
    core: Core,
    time: CrawlTime,
    run: RunState,
    membership: Membership | None,
    *,
    has_store: bool,
) -> Peers:
    """Return the other shards; none, if this one is alone or is only opened to be repaired."""
    contents = core.content_seen
    if membership is None or core.outbox is None or not isinstance(contents, SharedContents):
        wait_s = config.outage.wait_at_end_s
        return NoPeers(config.limits.max_pages, wait_at_end_s=wait_s, run=run)

    hello, network = Hello(place.shard, core.outbox.epoch), membership.network
    others = [number for number in place.ring.numbers if number != place.shard]

    def take(mail: Mail) -> None:
        take_letter(mail, core)
        run.wake()

    return OtherShards(
        outbox=core.outbox,
        mailbox=Mailbox(
            network or place.folder.mail_path(place.shard), take, core.state.scan(MARK), network
        ),
        couriers={
            to: Courier(
                to,
                network.dial if network is not None else place.folder.mail_path(to),
                hello,
                time.clock,
                run.wake,
                network,
            )
            for to in others
        },
        contents=contents,
        connection=membership.connection,
        run=run,
        frontier=core.frontier,
        time=time,
        counters=core.counters,
        is_limited=membership.is_limited,
        acknowledges_at_commit=config.store.sync != "second" and not has_store,
        reports_commits=membership.reports_commits,
    )


def _open_remote(
    place: ShardFolder,
    core: Core,
    ledger: Ledger,
    mended: Repair,
    peers: Peers,
    clock: Clock,
    run: RunState,
    shipping: ShippingOrders | None,
) -> Remote:
    """Return where checkpoints go, if the crawl has a store. What was restored is mended by now."""
    restored_mark_path(place.state).unlink(missing_ok=True)
    if shipping is None:
        return NoStore()
    return Shipper(
        orders=shipping,
        place=place,
        state=core.state,
        archive=ledger.archive,
        older=mended.lengths,
        peers=peers,
        clock=clock,
        wake=run.wake,
        counters=ledger.counters,
        standing=partial(_standing, core, run),
        survey=partial(_surveyed, core),
        hurries=lambda: ledger.hurries,
    )


def _standing(core: Core, run: RunState) -> Standing:
    """Return how a shard stands, as far as another machine would find it."""
    return Standing(
        queued=core.frontier.queued + core.traps.let_go,
        held=core.traps.held,
        hosts=core.frontier.hosts.count,
        known_urls=core.url_seen.known,
        active_hosts=core.frontier.active_hosts,
        parked=core.frontier.parked.urls,
        parked_hosts=core.frontier.parked.hosts,
        stop_reason=run.stop_reason,
        outbox=core.outbox.waiting if core.outbox is not None else 0,
        suspects=len(core.suspects),
    )


def _surveyed(core: Core, standing: Standing) -> Standing:
    """Return how a shard stands with what is said of its units on probation, of some moment.

    There may be thousands of them, at 5 µs each. Nothing is changed, so this may run beside the
    loop; a unit that grows meanwhile makes us begin again.
    """
    for _ in range(SURVEYS):
        with suppress(RuntimeError):
            return replace(standing, on_probation=core.traps.left, traps=core.traps.notes())
    return standing


def _open_clocks(
    place: ShardFolder,
    core: Core,
    time: CrawlTime,
    membership: Membership | None,
    *,
    is_first: bool,
) -> AddressClocks:
    """Return the clocks of IP addresses that all shards share, if there is any gap to be kept."""
    gaps = AddressGaps(core.frontier.delays)
    if not gaps.longest_s:
        return NoAddressGap()
    own = FileAddressClocks(
        place.folder.addresses_path,
        time.now(),
        boot_id=boot_id(),
        offset_s=time.offset_s,
        longest_s=gaps.longest_s,
        is_first=is_first,
    )
    network = membership.network if membership is not None else None
    if network is None:
        return own
    owners, owner_of = network.owners, place.ring.owner_of
    clocks = OwnedAddressClocks(own, owner_of, place.shard, owners, lambda: network.is_one_machine)
    owners.open(own, time.now, clocks.owns)
    return clocks


def _open_requester(
    place: ShardFolder,
    config: Config,
    time: CrawlTime,
    core: Core,
    log: RequestLog,
    clocks: AddressClocks,
    remote: Remote,
    extras: Extras,
) -> Requester:
    """Return what reaches the network. Secrets are nowhere else."""
    whole = with_secrets(config, read_secrets(place.folder.root))
    rules = host_rules(whole, seed_urls(config), os.environ)
    fetch = with_proxy(whole.fetch, os.environ)
    modules = load_protocols(extras.protocols).modules
    return Requester(
        time=time,
        gaps=AddressGaps(core.frontier.delays),
        clocks=clocks,
        resolver=Resolver(fetch, time.clock),
        fetcher=Fetcher(fetch, time.clock, rules, modules, core.counters.add_user_error),
        counters=core.counters,
        log=log,
        may_ask=lambda: remote.may_ask,
        asks_head=fetch.method == "head",
    )


def _open_reader(
    config: Config,
    processors: Sequence[Processor],
    mark: ReadingMark,
    time: CrawlTime,
    peers: Peers,
) -> DocumentReader:
    """Return what reads strangers' bytes."""
    tools = Tools(urls=config.urls, process=config.process, robots_agent=config.fetch.robots_agent)
    return DocumentReader(Registry.load(tools, extra=processors), mark, time, peers)


def _open_watcher(
    extras: Extras, config: Config, core: Core, peers: Peers, time: CrawlTime, run: RunState
) -> RevisitScheduler:
    """Return what schedules revisits, with all stored pages on its watchlist."""
    # Their numpy is for a watch only.
    from gossamer.crawl.revisit.budget import RequestBudget  # noqa: PLC0415 - as above
    from gossamer.crawl.revisit.watched import WatchedPages  # noqa: PLC0415 - as above
    from gossamer.crawl.revisit.watcher import Watcher  # noqa: PLC0415 - as above

    rules, counters, now = config.watch, core.counters, time.now()
    pages = WatchedPages(rules, lambda key: decode_claim(core.state.get(claim_row_key(key))))
    pages.load(_stored_records(core), now)
    return Watcher(
        config=config,
        frontier=core.frontier,
        counters=counters,
        pages=pages,
        budget=RequestBudget(rules.rate_per_s, rules.new_share, now, counters.requests),
        record_of=core.record_of,
        postponed_until=core.suspects.until,
        in_flight=run.in_flight,
        has_room=lambda new: peers.pages_left(counters.pages + new, 1) > 0,
        is_once=extras.is_once,
    )


def _stored_records(core: Core) -> Iterator[tuple[int, UrlRecord]]:
    """Give every URL record with its key, and what its page is worth by now."""
    for key, value in core.state.scan(URL):
        number, record = int.from_bytes(key[1:], "big"), decode_record(value)
        # Links that were found since its turn may have made it worth more.
        importance = max(record.importance, core.importance_of(number))
        yield number, replace(record, importance=importance)
