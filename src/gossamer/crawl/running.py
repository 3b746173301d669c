"""A shard that runs in this process: how it stands, what it answers, and how its run ended."""

import asyncio
import gc
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from gossamer.config import Config
from gossamer.crawl.assembly import Extras, Shard
from gossamer.crawl.dropping import drop_in, drop_running
from gossamer.crawl.on_record import note_settings
from gossamer.crawl.requeue import RetryRequest, requeue, wanted_records
from gossamer.crawl.seeds import Seed, plant, with_seeds
from gossamer.crawl.setting import set_running, settings_in
from gossamer.crawl.trusting import patterns_in, trust_running
from gossamer.errors import ConfigError, GossamerError
from gossamer.frontier import ADDRESS_DELAY
from gossamer.linux import cores, keep_freed_memory
from gossamer.model import Counters, Standing, WaitsFor, as_json
from gossamer.report import (
    ADDRESSES_TOLD,
    CrawlMetrics,
    HistoryFile,
    Linker,
    Retried,
    Sources,
    Status,
    explain_url,
    find_linker,
    name_in,
    status_of,
    why_sources,
)
from gossamer.store import CrawlFolder, State, captures_among
from gossamer.urls import parse

if TYPE_CHECKING:
    from gossamer.crawl.keeper import Keeper

PROGRESS_S = 1.0
RETRY_FIELDS = RetryRequest.__struct_fields__

Progress = Callable[[Status], None]


def standing_of(shard: Shard) -> Standing:
    """Return how a shard that runs in this process stands."""
    run, core, revisits = shard.engine.run_state, shard.core, shard.engine.revisits
    now = shard.engine.time.now()
    return Standing(
        queued=core.frontier.queued - len(run.in_flight) + core.traps.let_go,
        held=core.traps.held,
        on_probation=core.traps.left,
        in_flight=len(run.in_flight),
        hosts=core.frontier.hosts.count,
        known_urls=core.url_seen.known,
        active_hosts=core.frontier.active_hosts,
        parked=core.frontier.parked.urls,
        parked_hosts=core.frontier.parked.hosts,
        is_running=True,
        paused=shard.engine.paused,
        opens_at=run.opens_at,
        time_zone=shard.engine.config.schedule.time_zone,
        stop_reason=run.stop_reason,
        outbox=core.outbox.waiting if core.outbox is not None else 0,
        watched=revisits.watched if revisits is not None else 0,
        freshness=revisits.freshness if revisits is not None else None,
        due=revisits.due if revisits is not None else None,
        traps=core.traps.notes(),
        suspects=len(core.suspects),
        waits_for=None if run.in_flight else _waits_for(shard, now),
        address_waits=shard.requester.queues.longest(ADDRESSES_TOLD, now),
        seed_failures=shard.engine.seed_failures,
        fetches=shard.ledger.observer.timings.fetches,
        commits=shard.ledger.observer.timings.commits,
        failing_seeds=shard.engine.failing_seeds,
    )


def _waits_for(shard: Shard, now: float) -> WaitsFor | None:
    """Return which host may be asked next, and what it waits for; its address, if it is that."""
    waits = shard.core.frontier.waits_for(now)
    if waits is None or waits.reason != ADDRESS_DELAY:
        return waits
    found = shard.requester.queues.of(waits.host)
    return waits if found is None else replace(waits, detail=found.address)


def live_metrics(shard: Shard, control_cpu_s: Callable[[], float]) -> str:
    """Return the metrics of the only shard of a crawl, which runs in this process."""
    timings = shard.ledger.observer.timings
    from gossamer.report import metrics_text  # noqa: PLC0415 -- 0.01 s, if anybody asks

    return metrics_text(
        CrawlMetrics(
            status=live_status(shard),
            folder=shard.place.folder.root,
            fetches=timings.fetches,
            commits=timings.commits,
            shards_up=(True,),
            control_cpu_s=control_cpu_s(),
        )
    )


def live_status(shard: Shard) -> Status:
    """Return the status of a shard that runs in this process."""
    return status_of(shard.ledger.counters, standing_of(shard))


@asynccontextmanager
async def report_progress(shard: Shard, on_progress: Progress | None) -> AsyncIterator[None]:
    """Tell how a shard stands once a second, as long as this is open; samples go to its history."""
    history, clock = HistoryFile(shard.place.folder), shard.engine.time.clock

    async def report() -> None:
        while True:
            await clock.sleep(PROGRESS_S)
            now = live_status(shard)
            history.note(now, clock.wall())
            if on_progress is not None:
                on_progress(now)

    async with asyncio.TaskGroup() as group:
        reporting = group.create_task(report())
        try:
            yield
        finally:
            reporting.cancel()


@contextmanager
def quiet_collector() -> Iterator[Callable[[], None]]:
    """Keep the collector from walking what lives as long as the crawl (8-22 us a page).

    Yields what to call when all of that is there; until then little is collected, either. What a
    start leaves behind is not looked for: it is hardly anything, and took an eighth of the start.
    """
    keep_freed_memory()
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    try:
        yield gc.freeze
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


class LiveAnswers:
    """What a shard that runs in this process answers to questions through the control socket."""

    def __init__(self, shard: Shard, control_cpu_s: Callable[[], float] = lambda: 0.0) -> None:
        self._shard = shard
        self._control_cpu_s = control_cpu_s
        self._judged_by: Config | None = None
        self._sources: Sources | None = None
        """As the settings say; made again when they are others."""

    def at_once(self, question: Mapping[str, object]) -> dict[str, object] | None:
        """Return the answer to what only asks and needs no file; None for everything else."""
        match question.get("ask"):
            case "status":
                return as_json(live_status(self._shard))
            case "metrics":
                return {"text": live_metrics(self._shard, self._control_cpu_s)}
            case "why" | "captures" if (to := self._moved_to(question)) is not None:
                return {"moved_to": to}
            case "why":
                return self._why(question)
            case "captures":
                return _captures(self._shard, str(question.get("url", "")))
            case "name":
                key = int(str(question["key"]))
                return {"name": name_in(self._shard.core.state.get, key)}
            case _:
                return None

    def _moved_to(self, question: Mapping[str, object]) -> int | None:
        """Return the shard that we have given a URL's domain to; None if it is not one of these."""
        outbox = self._shard.core.outbox
        if outbox is None or not outbox.moved.owners:
            return None
        url = parse(str(question.get("url", "")), self._shard.engine.config.urls)
        return outbox.moved.given_to(url.key) if url is not None else None

    async def answer(self, question: Mapping[str, object]) -> dict[str, object]:
        """Answer a question, or do what it says."""
        said = self.at_once(question)
        if said is not None:
            return said
        if question.get("ask") != "why":
            return await _obey(self._shard, question)
        url = parse(str(question.get("url", "")), self._shard.engine.config.urls)
        linker = None
        if url is not None:  # it may have to read the whole links archive: not on the loop
            linker = await asyncio.to_thread(find_linker, self._shard.place.folder, url.text)
        told = as_json(linker) if linker is not None else None
        return self._why({**question, "linker": told}) or {}

    def _why(self, question: Mapping[str, object]) -> dict[str, object] | None:
        """Return everything that is known of a URL; None if who links it must be found first.

        Who finds that out for himself is told so.
        """
        lacking: list[str] = []
        given = question.get("linker")
        linker = convert(given, Linker) if given is not None else None

        def find(text: str) -> Linker | None:
            if "linker" not in question:
                lacking.append(text)
            return linker

        text = str(question.get("url", ""))
        found = explain_url(text, replace(self._sources_for(text), find_linker=find))
        found = replace(found, shard=self._shard.place.shard)
        if not lacking:
            return as_json(found)
        return {"lacks_linker": lacking[0]} if question.get("finds_linkers") else None

    def _sources_for(self, text: str) -> Sources:
        """Return where facts on a URL are found at this moment."""
        shard = self._shard
        config, revisits = shard.engine.config, shard.engine.revisits
        if self._sources is None or self._judged_by is not config:
            folder, core = shard.place.folder, shard.core
            self._sources = why_sources(folder, config, core.state, core.traps, shard.place.shard)
            self._judged_by = config
        url = parse(text, config.urls)
        planned_at = None
        if revisits is not None and url is not None:
            planned_at = revisits.next_revisit_at(url.key)
        return replace(
            self._sources,
            address_wait=shard.requester.queues.of(url.host) if url is not None else None,
            next_look_at=planned_at,
            opens_at=shard.engine.run_state.opens_at,
        )


def _captures(shard: Shard, url: str) -> dict[str, object]:
    """Return what is stored of a URL in files that are still open, and which files these are."""
    files, lines = shard.ledger.archive.open_index()
    return {"files": files, "captures": [to_builtins(one) for one in captures_among(lines, url)]}


async def _obey(shard: Shard, question: Mapping[str, object]) -> dict[str, object]:
    """Do what came through the control socket, and answer what was done."""
    match question.get("ask"):
        case "add":
            return add_seeds(shard, seeds_in(question))
        case "retry":
            return as_json(await retry_running(shard, retry_in(question)))
        case "trust":
            trusted = trust_running(shard, patterns_in(question))
            note_settings(shard)
            return as_json(trusted)
        case "drop":
            removed = await drop_running(shard, drop_in(question))
            note_settings(shard)
            return {"removed": removed}
        case "pause":
            if "is_paused" in question:  # its folder is not that of who asked
                keep_pause(shard.place.folder, is_paused=bool(question["is_paused"]))
            shard.engine.look_at_pause()
        case "stop":
            shard.engine.run_state.stop("stopped")
        case "set":
            set_running(shard, settings_in(question))
            note_settings(shard)
        case other:
            return {"error": f"unknown question {other!r}"}
    return {}


def keep_pause(folder: CrawlFolder, *, is_paused: bool) -> bool:
    """Let a folder say that its crawl is paused, or that it is not; return which."""
    if is_paused:
        folder.paused_path.touch()
    else:
        folder.paused_path.unlink(missing_ok=True)
    return is_paused


def seeds_in(question: Mapping[str, object]) -> list[Seed]:
    """Return the seeds that a question brings."""
    given = question.get("seeds")
    return [Seed(url=str(u), label=str(la)) for u, la in given] if isinstance(given, list) else []


def add_seeds(shard: Shard, seeds: Sequence[Seed]) -> dict[str, object]:
    """Plant further seeds in a running shard."""
    try:
        planted = plant(shard, seeds)
    except ConfigError as error:
        return {"error": str(error)}
    # The scope is measured from the seeds: `why` must know these too.
    shard.engine.reconfigure(with_seeds(shard.engine.config, seeds))
    shard.engine.run_state.wake()
    return as_json(planted.answer())


def retry_in(question: Mapping[str, object]) -> RetryRequest:
    """Return what a question wants to be queued again."""
    return convert({name: question.get(name, []) for name in RETRY_FIELDS}, RetryRequest)


async def retry_running(shard: Shard, request: RetryRequest) -> Retried:
    """Queue failures again in a running shard; others have their turn in between."""
    told: Counter[str] = Counter()
    shard.ledger.commit()  # what failed a moment ago is on record, too
    for batch in wanted_records(shard.core, request):
        told += requeue(shard.core, shard.ledger, batch, shard.engine.time.now())
        shard.engine.run_state.wake()
        await shard.engine.time.clock.sleep(0.0)
    return Retried(queued=told.total(), reasons=dict(sorted(told.items())))


def first_cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error that ended a crawl, out of the group that a TaskGroup wraps it in."""
    for error in group.exceptions:
        inner = first_cause(error) if isinstance(error, BaseExceptionGroup) else error
        if isinstance(inner, GossamerError):
            return inner
    return group.exceptions[0]


EXPECTED = frozenset({"max_pages", "max_time", "max_bytes", "parked"})
"""Reasons to end before everything is fetched that are no stop: exit code 0."""


class RoundTotals(Struct, frozen=True, kw_only=True):
    """What a single round of revisits has done."""

    visits: int
    """Revisits, whatever came of them."""
    changed: int
    unchanged: int
    gone: int
    """Pages that no longer exist, less those that are back."""
    new_pages: int
    """Pages that were stored for the first time."""


class Ending(Struct, frozen=True, kw_only=True):
    """How a run ended."""

    is_finished: bool
    """Nothing is queued, leased or waiting."""
    reason: str
    """finished, max_pages, max_time, max_bytes, parked, stopped, or no_seed."""
    exit_code: int
    status: Status
    """The totals at its end."""
    round: RoundTotals | None = None
    """What `watch` has done, if it was told to do so once."""


def with_round(ending: Ending, first: Counters, last: Counters, *, is_once: bool) -> Ending:
    """Return how a run ended, with what it has done if it was a single round of revisits."""
    if not is_once:
        return ending
    done = RoundTotals(
        visits=last.looks - first.looks,
        changed=last.changed - first.changed,
        unchanged=last.unchanged - first.unchanged,
        gone=last.gone - first.gone,
        new_pages=last.pages - first.pages,
    )
    return replace(ending, round=done)


class SeedTotals(NamedTuple):
    """What became of the seeds."""

    counters: Counters
    failing: int
    """Of how many a try has failed in this run."""
    refused: Mapping[str, str]

    @property
    def is_none_fetched(self) -> bool:
        """Return True if no seed brought a page; redirects may have led to none."""
        counters = self.counters
        return not counters.seeds_fetched or (counters.redirects > 0 and not counters.pages)

    @property
    def are_all_failing(self) -> bool:
        """Return True if every seed that was not refused has failed at least once."""
        seeds = self.counters.seeds
        return self.is_none_fetched and 0 < seeds <= self.failing + len(self.refused)


def ending_of(reason: str, status: Status, seeds: SeedTotals) -> Ending:
    """Return how a run ended for a reason; "" if nothing is left."""
    status = replace(status, running=False)
    is_finished = not reason
    is_late = reason == "max_time" and seeds.are_all_failing
    if is_late or (is_finished and seeds.is_none_fetched):
        status = replace(status, refused_seeds=dict(seeds.refused))
        return Ending(is_finished=is_finished, reason="no_seed", exit_code=1, status=status)
    if is_finished:
        return Ending(is_finished=True, reason="finished", exit_code=0, status=status)
    exit_code = 0 if reason in EXPECTED else 3
    return Ending(is_finished=False, reason=reason, exit_code=exit_code, status=status)


@asynccontextmanager
async def watching(keeper: "Keeper | None") -> AsyncIterator[None]:
    """Run as long as the crawl is ours; raise if somebody else takes it over."""
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(keeper.watch()) if keeper is not None else None
        try:
            yield
        finally:
            if watching is not None:
                watching.cancel()


def how_many_shards(config: Config, extras: Extras) -> int:
    """Return how many processes share the crawl: as many as asked for, or one per core."""
    if config.shards > 1 and State.was_opened:
        raise ConfigError(
            "several shards are started with fork(), which is not safe after this process has "
            "opened a crawl; use a new process, the command line, or Config(shards=1)"
        )
    if config.shards:
        return config.shards
    is_ours_alone = extras.processors or extras.filters or extras.protocols
    is_plain = threading.active_count() == 1 and not State.was_opened
    return 1 if is_ours_alone or not is_plain else cores()
