"""Crawl: start, watch, stop. What the command line and Python programs use."""

import asyncio
import dataclasses
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from random import Random, SystemRandom
from typing import TYPE_CHECKING, TypeVar

import uvloop
from msgspec.structs import replace as changed

from gossamer.clock import SystemClock
from gossamer.cluster import Ring, read_charter
from gossamer.config import Config
from gossamer.crawl.assembly import Extras, Shard, assemble
from gossamer.crawl.dropping import (
    DropRequest,
    drop_in,
    save_dropped,
    settle_dropped,
    with_dropped,
)
from gossamer.crawl.fetch_log import LogOptions
from gossamer.crawl.fleet import Fleet
from gossamer.crawl.keeper import Keeper, KeepRequest, keeping
from gossamer.crawl.mend import ensure_shards, label_rest_aside
from gossamer.crawl.metrics_server import MetricsPlace, serving_metrics
from gossamer.crawl.on_record import settle_record
from gossamer.crawl.opening import (
    WHOLE_RING,
    ShardFolder,
    lacks_requisites,
    lock_folder,
    ring_if_new,
)
from gossamer.crawl.requeue import RetryRequest
from gossamer.crawl.requisites import queue_requisites
from gossamer.crawl.running import (
    Ending,
    LiveAnswers,
    Progress,
    SeedTotals,
    ending_of,
    first_cause,
    how_many_shards,
    live_metrics,
    live_status,
    quiet_collector,
    report_progress,
    retry_running,
    seeds_in,
    watching,
    with_round,
)
from gossamer.crawl.seeds import (
    Planted,
    Seed,
    check_labels,
    check_schemes,
    check_seeds,
    configured_seeds,
    expect_secrets,
    plant,
    settle_secrets,
    with_seeds,
)
from gossamer.crawl.setting import (
    SettingsRequest,
    changed_answer,
    over_restored,
    save_settings,
    settings_in,
)
from gossamer.crawl.shipping import ShippingOrders
from gossamer.crawl.trusting import patterns_in, save_trust
from gossamer.errors import ConfigError
from gossamer.fetch import ProtocolModule
from gossamer.filter import UrlFilter, check_patterns, named_filter
from gossamer.frontier import ScoreTable, choose_order, named_score, needed_scores
from gossamer.log import tell
from gossamer.machine import expect_open_files
from gossamer.model import as_json
from gossamer.process import Processor
from gossamer.report import (
    Added,
    ChangedSettings,
    ControlSocket,
    Retried,
    Status,
    Trusted,
    count_held,
    sum_counters,
    trusted_answer,
)
from gossamer.settings import (
    changed_since_last_start,
    check,
    load_crawl_config,
    save_crawl_config,
    stored_config,
)
from gossamer.store import CrawlFolder

if TYPE_CHECKING:
    from gossamer.crawl.cluster_run import ClusterWork

STOP_AGAIN_S = 0.1
"""A crawl in another thread that was cancelled is asked again so often until it has ended."""


Done = TypeVar("Done")


class Crawl:
    """A crawl in a folder. Running it again goes on where it stopped, or was killed.

    One process per core shares the work (`Config.shards`). With processors, filters or protocols of
    your own it is this process alone unless `shards` says otherwise: what a function of yours
    remembers would be lost in another process. So it is in a program with several threads, or one
    that has opened a crawl before: it cannot safely fork.

    >>> Crawl("mycrawl", ["https://example.org/"]).run()   # doctest: +SKIP
    """

    def __init__(
        self,
        folder: Path | str,
        seeds: Sequence[str | Seed] = (),
        config: Config | None = None,
        *,
        processors: Sequence[Processor] = (),
        filters: Sequence[UrlFilter] = (),
        protocols: Sequence[ProtocolModule] = (),
        log: Path | str = "",
        verbose: bool = False,
        metrics_port: int | str = "",
        unindexed_bytes: Callable[[], int | None] | None = None,
        take_over: bool = False,
        cluster: str = "",
    ) -> None:
        """Prepare a crawl; nothing is touched yet.

        `log`: a file that gets one line of JSON for each fetch, or "-". `verbose`: the same in
        words on standard error. `metrics_port`: where Prometheus finds metrics while it runs, a
        port on loopback or "ADDRESS:PORT"; `unindexed_bytes` is told there, too. `cluster`: "auto"
        for the machines of the cluster that this one belongs to; `folder` then keeps what was
        asked, and no more.
        """
        self._cluster = cluster
        self.folder = Path(folder)
        self._takes_over = take_over
        self._seeds = [seed if isinstance(seed, Seed) else Seed(url=seed) for seed in seeds]
        self._config = config
        self._extras = Extras(
            processors=processors,
            filters=filters,
            protocols=protocols,
            log=LogOptions(file=str(log), is_verbose=verbose),
        )
        self._metrics_place = MetricsPlace.of(str(metrics_port), unindexed_bytes)
        self._stop: Callable[[str], None] | None = None
        self._is_stopping = False
        self._scores: ScoreTable | None = None
        """Scores that were read and are not in the folder yet."""
        self.changes: list[str] = []
        """What has changed in crawl.toml since the last start, in words; known when it is saved."""

    def run(
        self,
        on_progress: Progress | None = None,
        on_saved: Callable[[], None] = lambda: None,
        max_time_s: float | None = None,
        say: Callable[[str], None] = lambda _line: None,
        *,
        index: bool = False,
    ) -> Ending:
        """Crawl until nothing is left, a limit is reached, or a signal asks for a stop.

        `on_progress` is told the status once a second; `on_saved` is called when the folder is
        ours and its crawl.toml says what was asked; `say` is told what an object store makes us
        wait for. `max_time_s` is for this run only. `index`: machines of a cluster index pages.
        """
        _expect_no_loop("run")
        config = self._settled_config()
        expect_open_files()
        self._is_stopping = False
        if self._cluster:
            return self._run_in_cluster(config, on_progress, on_saved, max_time_s, say, index)
        if not config.store.url:
            return self._run_here(config, None, on_progress, on_saved, max_time_s)
        request = KeepRequest(
            root=str(self.folder.absolute()),
            url=config.store.url,
            lease_s=config.store.lease_s,
            ship_s=config.store.ship_s,
            is_forced=self._takes_over,
            leaves_archive=not config.store.local_archive,
        )
        with keeping(request, say) as keeper:
            if keeper.has_restored:
                self._config = over_restored(load_crawl_config(self.folder), config)
                config = self._settled_config()
            ending = self._run_here(config, keeper, on_progress, on_saved, max_time_s)
            keeper.end()
            return ending

    def _run_in_cluster(
        self,
        config: Config,
        on_progress: Progress | None,
        on_saved: Callable[[], None],
        max_time_s: float | None,
        say: Callable[[str], None],
        index: bool,  # noqa: FBT001 - as it was given
    ) -> Ending:
        """Coordinate the crawl, which runs on other machines."""
        from gossamer.crawl import cluster_run  # noqa: PLC0415 - few crawls need it

        cluster_run.expect_plain(self._extras)
        kind, folder, is_forced = self._cluster, CrawlFolder(self.folder), self._takes_over
        ready = cluster_run.made_ready(kind, config, folder, say, is_forced=is_forced)
        with ready as (shards, server), lock_folder(folder, SystemClock()) as lock:
            config = changed(config, shards=shards)
            work = cluster_run.claim_work(
                kind, config, say, server, is_forced=is_forced, is_indexed=index
            )
            if cluster_run.bring_settings(work.claim, folder):
                self._config = over_restored(load_crawl_config(self.folder), config)
                config = self._settled_config()
            config = self._save(config)
            on_saved()
            if max_time_s is not None:
                config = changed(config, limits=changed(config.limits, max_time_s=max_time_s))
            going = self._run_fleet(config, None, work.ring, lock, on_progress, work)
            with asyncio.Runner() as runner:
                try:
                    return runner.run(going)
                except BaseExceptionGroup as group:
                    raise first_cause(group) from group

    def _run_here(
        self,
        config: Config,
        keeper: Keeper | None,
        on_progress: Progress | None,
        on_saved: Callable[[], None],
        max_time_s: float | None,
    ) -> Ending:
        """Crawl in the folder as it is, which nobody else works in."""
        shards, folder = how_many_shards(config, self._extras), CrawlFolder(self.folder)
        with lock_folder(folder, SystemClock()) as lock:
            ring = ring_if_new(folder, shards) or ensure_shards(folder, config, shards, lock)
            config = self._save(config)
            on_saved()
            if self._extras.is_watching or max_time_s is not None:
                config = changed(config, limits=changed(config.limits, max_time_s=max_time_s))
            make_loop = uvloop.new_event_loop if shards == 1 else asyncio.new_event_loop
            with asyncio.Runner(loop_factory=make_loop) as runner:
                try:
                    if shards == 1:
                        return runner.run(self._run_alone(config, keeper, on_progress))
                    return runner.run(self._run_fleet(config, keeper, ring, lock, on_progress))
                except BaseExceptionGroup as group:
                    raise first_cause(group) from group

    async def run_async(
        self, on_progress: Progress | None = None, max_time_s: float | None = None
    ) -> Ending:
        """Crawl inside a running event loop, in a thread of its own and as one shard.

        `on_progress` is called in the loop. To cancel the task stops the crawl cleanly.
        """
        if self._settled_config().shards > 1:
            raise ConfigError(
                "several shards are started with fork(), which is not safe in a program with "
                "threads; use shards=1 inside an event loop, or run `gossamer crawl` in a shell"
            )
        loop = asyncio.get_running_loop()

        def tell(status: Status) -> None:
            if on_progress is not None:
                loop.call_soon_threadsafe(on_progress, status)

        running = asyncio.ensure_future(asyncio.to_thread(self.run, tell, max_time_s=max_time_s))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            while not running.done():  # it may not have begun to listen
                self.stop()
                await asyncio.wait([running], timeout=STOP_AGAIN_S)
            raise

    def watch(
        self,
        max_time_s: float | None = None,
        on_progress: Progress | None = None,
        on_saved: Callable[[], None] = lambda: None,
        *,
        is_once: bool = False,
    ) -> Ending:
        """Keep the pages of the crawl fresh, and crawl what is new, until the time is up.

        It goes on until a signal asks for a stop if no time is given: there is no end to it. With
        `is_once` the pages that are due are revisited, each once, new pages are crawled, and that
        is the end.
        """
        if not CrawlFolder(self.folder).config_path.exists():
            raise ConfigError(f"{self.folder} is not a crawl folder; run `gossamer crawl` first")
        self._extras = dataclasses.replace(self._extras, is_watching=True, is_once=is_once)
        return self.run(on_progress, on_saved, max_time_s)

    def stop(self, reason: str = "stopped") -> None:
        """Ask for no more pages; what is under way is kept."""
        if self._stop is not None:
            self._stop(reason)

    def add(self) -> Added:
        """Queue the seeds, with their labels, without crawling: for a crawl that does not run."""
        _expect_no_loop("add")
        config = self._settled_config()
        folder = CrawlFolder(self.folder)
        with (
            lock_folder(folder, SystemClock()) as lock,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            shards = read_charter(folder.charter_path).shards
            ring = ensure_shards(folder, config, shards, lock)
            config = self._save(config)  # first: a state without it would be refused
            told = Planted()
            for shard in ring.numbers:
                told.add(runner.run(self._in_one(config, ring, shard, self._plant)))
        return told.answer()

    async def _plant(self, shard: Shard) -> Planted:
        planted = plant(shard, self._seeds)
        shard.ledger.commit()
        return planted

    def retry(
        self, *, reasons: Sequence[str] = (), hosts: Sequence[str] = (), urls: Sequence[str] = ()
    ) -> Retried:
        """Queue failures again, without crawling: for a crawl that does not run."""
        _expect_no_loop("retry")
        request = RetryRequest(reasons=tuple(reasons), hosts=tuple(hosts), urls=tuple(urls))
        told: Counter[str] = Counter()
        for done in self._in_each(lambda shard: retry_running(shard, request)):
            told.update(done.reasons)
        return Retried(queued=told.total(), reasons=dict(sorted(told.items())))

    def _in_each(
        self, work: Callable[[Shard], Awaitable[Done]], first: Callable[[], object] = tuple
    ) -> list[Done]:
        """Do something in every shard of a crawl that does not run; `first` once it is ours."""
        folder = CrawlFolder(self.folder)
        with (
            lock_folder(folder, SystemClock()) as lock,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            first()
            config = self._settled_config()
            ring = ensure_shards(folder, config, read_charter(folder.charter_path).shards, lock)
            return [runner.run(self._in_one(config, ring, one, work)) for one in ring.numbers]

    async def _in_one(
        self, config: Config, ring: Ring, number: int, work: Callable[[Shard], Awaitable[Done]]
    ) -> Done:
        shard = self._open(config, ring, number)
        try:
            return await work(shard)
        finally:
            await shard.close()

    def trust(self, patterns: Sequence[str]) -> Trusted:
        """Add patterns to `[traps] trust`, for a crawl that does not run.

        The next start fetches what was held and they name.
        """
        folder = CrawlFolder(self.folder)
        with lock_folder(folder, SystemClock()):
            units = count_held(folder, patterns)
            save_trust(self.folder, patterns)
        return trusted_answer(patterns, [units], is_running=False)

    def drop(self, patterns: Sequence[str], undo: Sequence[str] = ()) -> int:
        """Drop what patterns name, and no longer what others do, for a crawl that does not run.

        Return how many URLs left the queue.
        """
        _expect_no_loop("drop")
        request = DropRequest(patterns=tuple(patterns), undo=tuple(undo))
        # The settings first: a kill must not forget them.
        return sum(self._in_each(settle_dropped, lambda: save_dropped(self.folder, request)))

    def set(self, settings: Mapping[str, object], host: str = "") -> ChangedSettings:
        """Change settings by their full names, or of one host, for a crawl that does not run.

        The next start obeys them, and judges what is queued by them.
        """
        request = SettingsRequest(settings=dict(settings), host=host)
        with lock_folder(CrawlFolder(self.folder), SystemClock()):
            changes = save_settings(self.folder, request)
        return changed_answer(changes, request, is_running=False)

    def _open(
        self, config: Config, ring: Ring, number: int, shipping: ShippingOrders | None = None
    ) -> Shard:
        random = Random(SystemRandom().getrandbits(64))  # noqa: S311  # record ids, queue draws
        place = ShardFolder(folder=CrawlFolder(self.folder), shard=number, ring=ring)
        return assemble(place, config, SystemClock(), random, self._extras, shipping=shipping)

    def _all_seeds(self, config: Config) -> list[Seed]:
        return [*self._seeds, *configured_seeds(config)]

    async def _run_alone(
        self, config: Config, keeper: Keeper | None, on_progress: Progress | None
    ) -> Ending:
        """Crawl in this process."""
        with quiet_collector() as freeze:
            return await self._run_shard(config, keeper, on_progress, freeze)

    async def _run_shard(
        self,
        config: Config,
        keeper: Keeper | None,
        on_progress: Progress | None,
        freeze: Callable[[], None],
    ) -> Ending:
        orders = keeper.orders(WHOLE_RING) if keeper is not None else None
        shard = self._open(config, WHOLE_RING, 0, orders)
        engine, first = shard.engine, changed(shard.ledger.counters)

        async def reply(question: Mapping[str, object]) -> dict[str, object]:
            if question.get("ask") == "trust":  # first: a kill must not forget it
                save_trust(self.folder, patterns_in(question))
            if question.get("ask") == "drop":
                save_dropped(self.folder, drop_in(question))
            if question.get("ask") == "set":
                request = settings_in(question)
                changes = save_settings(self.folder, request)
                await answers.answer(question)
                return as_json(changed_answer(changes, request, is_running=True))
            said = await answers.answer(question)
            if question.get("ask") == "add":  # a later start must know these seeds too
                kept = load_crawl_config(self.folder)  # what is set may hold from that on only
                save_crawl_config(self.folder, with_seeds(kept, seeds_in(question)))
            return said

        answers = LiveAnswers(shard, lambda: control.cpu_s)
        control = ControlSocket(shard.place.folder.control_path, reply, answers.at_once)
        try:
            refused = plant(shard, self._all_seeds(config)).refused
            if lacks_requisites(shard.core.state, is_wanted=config.process.requisites):
                queue_requisites(shard)
            await settle_record(shard)
            self._listen_to_signals(engine.run_state.stop)
            await control.open()
            async with AsyncExitStack() as beside:
                await beside.enter_async_context(report_progress(shard, on_progress))
                if (place := self._metrics_place).address:
                    text = partial(live_metrics, shard, lambda: control.cpu_s)
                    await beside.enter_async_context(serving_metrics(place, text))
                await beside.enter_async_context(watching(keeper))
                freeze()
                is_finished = await engine.run()
            reason = "" if is_finished else engine.run_state.stop_reason or engine.limit_reached()
            seeds = SeedTotals(shard.ledger.counters, engine.failing_seeds, refused)
            ending = ending_of(reason, live_status(shard), seeds)
            last = shard.ledger.counters
            return with_round(ending, first, last, is_once=self._extras.is_once)
        finally:
            control.close()
            await shard.close()
            self._stop = None

    async def _run_fleet(
        self,
        config: Config,
        keeper: Keeper | None,
        ring: Ring,
        lock: int,
        on_progress: Progress | None,
        work: "ClusterWork | None" = None,
    ) -> Ending:
        """Crawl in as many processes as there are shards; this one only watches."""
        fleet = Fleet(
            folder=CrawlFolder(self.folder),
            config=config,
            seeds=self._all_seeds(config),
            extras=self._extras,
            ring=ring,
            lock=lock,
            clock=SystemClock(),
            metrics_place=self._metrics_place,
            keeper=keeper,
            open_cluster=work.coordinator if work is not None else None,
        )
        self._listen_to_signals(fleet.supervisor.dismiss)
        try:
            await fleet.run(on_progress)
        finally:
            self._stop = None
        reason = fleet.supervisor.end_reason or ""
        counters, status = fleet.counters(), fleet.status()
        # they were stopped in the middle of their letters
        if reason and config.dedupe.near and work is None:
            copies = await label_rest_aside(fleet.folder, lock, fleet.clock) or status.copies
            status = changed(status, copies=copies)
        seeds = SeedTotals(counters, fleet.failing_seeds(), fleet.refused_seeds())
        first = sum_counters(fleet.first.values())
        ending = ending_of(reason, status, seeds)
        return with_round(ending, first, counters, is_once=self._extras.is_once)

    def _save(self, config: Config) -> Config:
        """Let the folder say these settings, and return them without their secrets."""
        before = stored_config(self.folder)
        self.changes = []
        if before is not None:
            self.changes = changed_since_last_start(self.folder, before, config)
        for line in self.changes:
            tell("config.changed", change=line)
        if self._scores is not None:
            self._scores.save(CrawlFolder(self.folder).scores_path)
            self._scores = None
        return save_crawl_config(self.folder, config)

    def _settled_config(self) -> Config:
        """Return the configuration: what was given, or what the folder remembers.

        Its secrets are in it, and each header is in the table of the hosts that get it.
        """
        stored = stored_config(self.folder)
        config = self._config
        if config is None:
            config = load_crawl_config(self.folder, Config())
        if stored is not None and (dropped := stored.filter.drop):  # other settings do not undo it
            config = with_dropped(config, DropRequest(patterns=dropped))
        config = settle_secrets(config, stored or Config(), self._seeds, self.folder)
        settled = with_seeds(config, self._seeds)
        check(settled)
        # What cannot be read or imported is told before crawl.toml says it.
        if settled.frontier.ranks or settled.frontier.rules:
            choose_order(settled.frontier)
        if settled.frontier.scores:
            kept = CrawlFolder(self.folder).scores_path
            self._scores = needed_scores(Path(settled.frontier.scores), kept, settled.urls)
        if settled.frontier.score:
            named_score(settled.frontier.score)
        for name in settled.filter.user_filters:
            named_filter(name)
        check_patterns(settled.filter, settled.traps.trust)
        check_seeds(self._seeds, self._extras.protocols)
        check_labels(settled)
        check_schemes(settled, self._extras.protocols)
        expect_secrets(settled, self.folder)
        return settled

    def _listen_to_signals(self, stop: Callable[[str], None]) -> None:
        loop = asyncio.get_running_loop()
        self._stop = lambda reason: _unless_closed(loop, stop, reason)
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, self._on_signal, number)
            except (ValueError, RuntimeError):
                return  # not in the main thread: the caller's `stop` is the only way

    def _on_signal(self, number: int) -> None:
        """Stop cleanly; at the second signal, at once: the next start repairs what is open."""
        if not self._is_stopping:
            self._is_stopping = True
            self.stop()
        else:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)


def _unless_closed(
    loop: asyncio.AbstractEventLoop, stop: Callable[[str], None], reason: str
) -> None:
    """Let the loop of a crawl stop it, whichever thread asks for that."""
    with suppress(RuntimeError):  # it has ended meanwhile
        loop.call_soon_threadsafe(stop, reason)


def _expect_no_loop(name: str) -> None:
    """Refuse to block an event loop, before anything is touched."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    cure = (
        "`await crawl.run_async()` or `await gossamer.run_async(...)`"
        if name == "run"
        else f"`await asyncio.to_thread(crawl.{name})`"
    )
    raise ConfigError(f"Crawl.{name}() cannot be called from a running event loop; use {cure}")
