"""All shards of a crawl, as one: limits, signals, questions and the ending."""

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from gossamer.clock import Clock
from gossamer.cluster import (
    MOVED,
    ForkedShards,
    KeepSettings,
    NoAnswer,
    RevisitShare,
    Ring,
    ShardHandle,
    ShardRegions,
    ShardStarter,
    Supervisor,
    shards_by_region,
)
from gossamer.config import Config, LimitsConfig
from gossamer.crawl.assembly import Extras
from gossamer.crawl.dropping import drop_in, save_dropped, with_dropped
from gossamer.crawl.keeper import Keeper
from gossamer.crawl.metrics_server import MetricsPlace, serving_metrics
from gossamer.crawl.running import Progress, keep_pause, seeds_in
from gossamer.crawl.seeds import Seed, url_of_seed, with_seeds
from gossamer.crawl.setting import changed_answer, save_settings, settings_in, with_settings
from gossamer.crawl.shard_process import ShardOrders
from gossamer.crawl.shipping import ShippingOrders
from gossamer.crawl.trusting import patterns_in, save_trust, with_trust
from gossamer.errors import ConfigError
from gossamer.model import Counters, Standing, as_json
from gossamer.report import (
    Added,
    ControlSocket,
    CrawlMetrics,
    HistoryFile,
    Retried,
    Status,
    Trusted,
    Why,
    merge_standings,
    name_original,
    status_of,
    sum_counters,
    trusted_answer,
    unnamed_original,
)
from gossamer.settings import load_crawl_config, save_crawl_config
from gossamer.store import CrawlFolder
from gossamer.urls import parse

if TYPE_CHECKING:
    from gossamer.crawl.coordinator import Coordinator

PROGRESS_S = 1.0
SLIGHT = 0.05
"""A part that changes by less is not worth telling."""
FIRST_REPORTS_S = 60.0
"""How long a question for the status waits until every shard has reported."""
POLL_S = 0.05
NOTHING = Standing(queued=0, hosts=0, known_urls=0, is_running=True, paused="a shard is starting")
"""Of a shard that has not reported yet."""


@dataclass(slots=True, kw_only=True)
class Fleet:
    """The shards of one crawl in processes of their own, under one supervisor."""

    folder: CrawlFolder
    config: Config
    seeds: Sequence[Seed]
    extras: Extras
    ring: Ring
    lock: int
    """The folder's lock: the shards hold it too, so that nobody follows before all are gone."""
    clock: Clock
    metrics_place: MetricsPlace
    keeper: Keeper | None = None
    """Holds the claim on the crawl's store, if it has one."""
    supervisor: Supervisor = field(init=False)
    open_cluster: "Callable[[Fleet], Coordinator] | None" = None
    """Makes what starts shards on other machines, if they are not to run on this one alone."""
    coordinator: "Coordinator | None" = None
    shipping: ShippingOrders | None = None
    parts: dict[int, tuple[int, float]] = field(default_factory=dict)
    """By shard: the part of a watch's requests that it was told at which of its starts."""
    first: dict[int, Counters] = field(default_factory=dict)
    """By shard: the totals of its first report."""

    @property
    def regions(self) -> ShardRegions:
        """Return the region of each shard, by number; nothing if there are none."""
        found = self.coordinator.splits.regions if self.coordinator is not None else {}
        return tuple(found.values())

    @property
    def shards(self) -> int:
        """Return how many shards there are."""
        return self.ring.shards

    def share_out(self, ring: Ring) -> None:
        """Ask shards by another ring from now on: one of them was split."""
        self.ring = ring

    def __post_init__(self) -> None:
        """Make the supervisor; nothing runs yet."""
        if self.keeper is not None:
            self.shipping = self.keeper.orders(self.ring)
        self.supervisor = Supervisor(
            self.shards,
            self._starter(),
            self.config.limits.max_pages,
            clock=self.clock,
            wait_at_end_s=self.config.outage.wait_at_end_s,
            on_report=self._look_at_limits,
        )

    def _starter(self) -> ShardStarter:
        """Return what starts shards: here, as forks, or on the machines of a cluster."""
        if self.open_cluster is None:
            return ForkedShards(self._run_shard, (self.lock,), self.clock)
        self.coordinator = self.open_cluster(self)
        return self.coordinator

    def _run_shard(self, number: int, end: socket.socket) -> int:
        """Be a shard, with the orders of this moment: it may be there in the place of a dead one.

        Seeds that were added meanwhile are among them, or their scope would die with the shard.
        """
        share = max(1, -(-self.config.concurrency // self.shards))
        orders = ShardOrders(
            folder=self.folder,
            ring=self.ring,
            config=replace(self.config, limits=LimitsConfig(), concurrency=share),
            is_limited=self.config.limits.max_pages is not None,
            reports_commits=self.config.limits.max_bytes is not None,
            seeds=self.seeds,
            asks_again=self.supervisor.members[number].starts <= 1,
            extras=self.extras,
            shipping=self.shipping,
        )
        return orders.run(number, end)

    async def run(self, on_progress: Progress | None) -> None:
        """Run until all shards have ended; `supervisor.end_reason` says why."""

        async def answer(question: Mapping[str, object]) -> dict[str, object]:
            if question.get("ask") == "metrics":
                return {"text": self._metrics(control.cpu_s)}
            return await self.answer(question)

        control = ControlSocket(self.folder.control_path, answer)
        await control.open()
        try:
            async with AsyncExitStack() as beside:
                if self.metrics_place.address:
                    text = serving_metrics(self.metrics_place, lambda: self._metrics(control.cpu_s))
                    await beside.enter_async_context(text)
                # what ends the watch ends the crawl
                group = await beside.enter_async_context(asyncio.TaskGroup())
                watches = [group.create_task(self._watch(on_progress))]
                if self.keeper is not None:
                    watches.append(group.create_task(self.keeper.watch()))
                if self.coordinator is not None:
                    await self.coordinator.open()
                    beside.callback(self.coordinator.close)
                    looking = self.coordinator.run(self.supervisor.dismiss, _Growing(self))
                    watches.append(group.create_task(looking))
                await self.supervisor.run()
                if self.coordinator is not None:
                    is_stopped = self.supervisor.end_reason == "stopped"
                    await self.coordinator.finish(is_stopped=is_stopped)
                for task in watches:
                    task.cancel()
        finally:
            control.close()

    async def _watch(self, on_progress: Progress | None) -> None:
        """Tell the progress once a second, and end the crawl when its time is up."""
        history, began_at = HistoryFile(self.folder), self.clock.steady()
        while True:
            await self.clock.sleep(min(PROGRESS_S, self._time_left_s(began_at) or PROGRESS_S))
            if self._time_left_s(began_at) == 0.0:
                self.supervisor.dismiss("max_time")
            self.supervisor.look_at_outages()
            if self._have_all_reported():
                now = self.status()
                history.note(now, self.clock.wall())
                if on_progress is not None:
                    on_progress(now)

    def _time_left_s(self, began_at: float) -> float | None:
        """Return how much time is left until the crawl's is up; None if there is no limit."""
        limit_s = self.config.limits.max_time_s
        return None if limit_s is None else max(0.0, began_at + limit_s - self.clock.steady())

    def _look_at_limits(self) -> None:
        limits, counters = self.config.limits, self.counters()
        for member in self.supervisor.members:
            if member.report is not None:
                self.first.setdefault(member.shard, member.report.counters)
        if self.extras.is_watching:
            self._share_out()
        is_full = limits.max_pages is not None and counters.pages >= limits.max_pages
        if is_full and (not self.extras.is_watching or self._is_round_over()):
            self.supervisor.dismiss("max_pages")
        if limits.max_bytes is not None and counters.archive_bytes >= limits.max_bytes:
            self.supervisor.dismiss("max_bytes")

    def _is_round_over(self) -> bool:
        """Return True if no shard has anything left of a single round of revisits."""
        standings = [_standing(member) for member in self.supervisor.members]
        return all(one.due == 0 and not one.in_flight for one in standings)

    def _share_out(self) -> None:
        """Give each shard its part of the requests of a watch: by the pages that it watches."""
        counts = [_standing(member).watched for member in self.supervisor.members]
        for member, count in zip(self.supervisor.members, counts, strict=True):
            part = count / max(1, sum(counts))
            told = self.parts.get(member.shard, (0, 0.0))
            is_news = told[0] != member.starts or abs(part - told[1]) > SLIGHT * part
            if member.connection is not None and member.report is not None and count and is_news:
                self.parts[member.shard] = (member.starts, part)
                member.connection.send(RevisitShare(part))

    def _have_all_reported(self) -> bool:
        """Return True if the totals are those of all shards; a resumed crawl has some already."""
        return all(member.report is not None for member in self.supervisor.members)

    def counters(self) -> Counters:
        """Return the totals of all shards, as last heard."""
        reports = (member.report for member in self.supervisor.members)
        return sum_counters(report.counters for report in reports if report is not None)

    def status(self) -> Status:
        """Return the status of all shards together, as last heard."""
        standing = merge_standings([_standing(member) for member in self.supervisor.members])
        answer = status_of(self.counters(), standing)
        if not (standing.paused or standing.stop_reason or standing.in_flight):
            moving = [str(one.shard) for one in self.supervisor.members if one.is_moving]
            answer = replace(answer, paused=_moving_words(moving))
        # What was last heard of each may be a second old, and a letter is between two of them.
        is_finished = answer.finished and self.supervisor.end_reason is not None
        restarts = sum(max(0, member.starts - 1) for member in self.supervisor.members)
        return replace(answer, finished=is_finished, restarts=restarts)

    def _metrics(self, control_cpu_s: float) -> str:
        """Return the metrics of all shards together, as last heard."""
        standing = merge_standings([_standing(member) for member in self.supervisor.members])
        from gossamer.report import metrics_text  # noqa: PLC0415 -- 0.01 s, if anybody asks

        return metrics_text(
            CrawlMetrics(
                status=self.status(),
                folder=self.folder.root,
                fetches=standing.fetches,
                commits=standing.commits,
                shards_up=[one.connection is not None for one in self.supervisor.members],
                control_cpu_s=control_cpu_s,
            )
        )

    def failing_seeds(self) -> int:
        """Return of how many seeds a try has failed in this run, or that were refused."""
        return sum(_standing(member).failing_seeds for member in self.supervisor.members)

    def refused_seeds(self) -> dict[str, str]:
        """Return the seeds that no shard wanted, with the reasons."""
        return {url: why for m in self.supervisor.members for url, why in m.refused.items()}

    async def answer(self, question: Mapping[str, object]) -> dict[str, object]:
        """Answer a question that came through the control socket."""
        match question.get("ask"):
            case "status":
                until = self.clock.steady() + FIRST_REPORTS_S
                while not self._have_all_reported() and self.clock.steady() < until:
                    await self.clock.sleep(POLL_S)
                return as_json(self.status())
            case "why":
                asked = dict(question)
                if self.coordinator is not None:  # its archive lies on another machine
                    asked.pop("finds_linkers", None)
                return await self._with_original(await self._ask_owner(asked))
            case "captures":
                return await self._ask_owner(dict(question))
            case "split":
                return await self._split(question.get("shard"))
            case "splitting":
                return self.coordinator.splits.under_way if self.coordinator is not None else {}
            case "regions":
                return {"regions": shards_by_region(self.regions)}
            case "settings":
                return {"settings": self.folder.config_path.read_text(encoding="utf-8")}
            case _:
                return await self._obey(question)

    async def _obey(self, question: Mapping[str, object]) -> dict[str, object]:
        """Do what came through the control socket, and answer what was done."""
        match question.get("ask"):
            case "add":
                return await self._add(dict(question))
            case "retry":
                return await self._retry(dict(question))
            case "trust":
                return await self._trust(dict(question))
            case "drop":
                return await self._drop(dict(question))
            case "set":
                return await self._set(dict(question))
            case "pause":
                asked = dict(question)
                if self.coordinator is not None:
                    is_paused = self.folder.paused_path.exists()
                    asked["is_paused"] = keep_pause(
                        self.folder, is_paused=bool(asked.get("is_paused", is_paused))
                    )
                return _error_in(await self._ask_all(asked)) or {}
            case "stop":
                self.supervisor.dismiss("stopped")
                return {}
            case other:
                return {"error": f"unknown question {other!r}"}

    async def _split(self, shard: object) -> dict[str, object]:
        """Let the coordinator split a shard; which one, and into which, is answered at once."""
        if self.coordinator is None:
            return {"error": "only the shards of a crawl in a cluster are split while it runs"}
        if self.supervisor.end_reason is not None:
            return {"error": "the crawl is ending; start it again, and ask then"}
        known = _Growing(self).known_urls()
        return await self.coordinator.splits.ask(shard if isinstance(shard, int) else None, known)

    async def _ask(self, shard: int, question: dict[str, object]) -> dict[str, object]:
        """Return what a shard answers; why it does not, as an error to be shown."""
        said = await self.supervisor.ask(shard, question)
        return {"error": said.reason} if isinstance(said, NoAnswer) else said

    async def _ask_owner(self, question: dict[str, object]) -> dict[str, object]:
        """Return what the shard answers that has a URL; its home knows where it is."""
        url = parse(str(question.get("url", "")), self.config.urls)
        said = await self._ask(self.ring.owner_of(url.key) if url is not None else 0, question)
        owner = said.get("moved_to")
        return await self._ask(owner, question) if isinstance(owner, int) else said

    async def _with_original(self, said: dict[str, object]) -> dict[str, object]:
        """Let the owner of a near-duplicate's original say what it is called."""
        if "error" in said or "lacks_linker" in said:
            return said
        why = msgspec.convert(said, Why)
        if (key := unnamed_original(why)) is not None:
            told = await self._ask(self.ring.owner_of(key), {"ask": "name", "key": key})
            return as_json(name_original(why, str(told.get("name", ""))))
        return said

    async def _add(self, question: dict[str, object]) -> dict[str, object]:
        """Give further seeds to all shards: each plants its own, and learns the scope of all."""
        seeds = seeds_in(question)
        try:
            for seed in seeds:
                url_of_seed(seed.url, self.config.urls)
        except ConfigError as error:
            return {"error": str(error)}
        if self.supervisor.end_reason is not None:
            return {"error": "the crawl is ending; add them again when it has"}
        # Known to us first: a shard that dies over them finds them in its orders.
        self.seeds = [*self.seeds, *seeds]
        self.config = with_seeds(self.config, seeds)
        kept = load_crawl_config(self.folder.root)  # what is set may hold from the next start only
        save_crawl_config(self.folder.root, with_seeds(kept, seeds))
        self._settings_kept()
        answers = await self._ask_all(question)
        if (refusal := _error_in(answers)) is not None:
            return refusal
        told = [msgspec.convert(answer, Added) for answer in answers]
        return as_json(
            Added(
                added=sum(one.added for one in told),
                refused={url: why for one in told for url, why in one.refused.items()},
                queued_again={url: why for one in told for url, why in one.queued_again.items()},
                already_stored=[url for one in told for url in one.already_stored],
                already_queued=[url for one in told for url in one.already_queued],
            )
        )

    async def _retry(self, question: dict[str, object]) -> dict[str, object]:
        """Let all shards queue failures again: each has its own."""
        if self.supervisor.end_reason is not None:
            return {"error": "the crawl is ending; try again when it has"}
        answers = await self._ask_all(question)
        if (error := _error_in(answers)) is not None:
            return error
        told: Counter[str] = Counter()
        for answer in answers:
            told.update(msgspec.convert(answer, Retried).reasons)
        return as_json(Retried(queued=told.total(), reasons=dict(sorted(told.items()))))

    async def _trust(self, question: dict[str, object]) -> dict[str, object]:
        """Let all shards trust what patterns name: each lets go what it holds."""
        if self.supervisor.end_reason is not None:
            return {"error": "the crawl is ending; try again when it has"}
        patterns = patterns_in(question)
        # Saved and known to us first: a shard that dies over it finds it in its orders.
        self.config = with_trust(self.config, save_trust(self.folder.root, patterns))
        self._settings_kept()
        answers = await self._ask_all(question)
        if (error := _error_in(answers)) is not None:
            return error
        parts = [msgspec.convert(answer, Trusted).units for answer in answers]
        return as_json(trusted_answer(patterns, parts, is_running=True))

    async def _drop(self, question: dict[str, object]) -> dict[str, object]:
        """Let all shards drop what patterns name: each takes it out of its own queue."""
        if self.supervisor.end_reason is not None:
            return {"error": "the crawl is ending; try again when it has"}
        request = drop_in(question)
        # Saved and known to us first: a shard that dies over it finds it in its orders.
        save_dropped(self.folder.root, request)
        self.config = with_dropped(self.config, request)
        self._settings_kept()
        answers = await self._ask_all(question)
        if (error := _error_in(answers)) is not None:
            return error
        return {"removed": sum(int(str(answer["removed"])) for answer in answers)}

    async def _set(self, question: dict[str, object]) -> dict[str, object]:
        """Let all shards obey other settings."""
        if self.supervisor.end_reason is not None:
            return {"error": "the crawl is ending; try again when it has"}
        request = settings_in(question)
        # Saved and known to us first: a shard that dies over it finds it in its orders.
        changes = save_settings(self.folder.root, request)
        self._settings_kept()
        told = request.live.without("limits")  # those are of the whole crawl
        self.config = with_settings(self.config, told)
        asked: dict[str, object] = {**question, "settings": told.settings}
        error = _error_in(await self._ask_all(asked))  # the first shard puts all of it on record
        self.config = with_settings(self.config, request.live)
        self.supervisor.limit_pages(self.config.limits.max_pages)
        if told.settings and error is not None:
            return error
        return as_json(changed_answer(changes, request, is_running=True))

    def _settings_kept(self) -> None:
        """Let the folders of shards on other machines say what ours says."""
        if self.coordinator is not None:
            kept = msgspec.to_builtins(load_crawl_config(self.folder.root))
            self.supervisor.tell_all(KeepSettings(kept))

    async def _ask_all(self, question: dict[str, object]) -> list[dict[str, object]]:
        """Return what all shards answer; what they said of being idle is no longer so."""
        shards = range(len(self.supervisor.members))
        for shard in shards:
            self.supervisor.termination.lost(shard)
        return [await self._ask(number, question) for number in shards]


class _Growing:
    """A fleet as its coordinator sees it, which splits shards."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._supervisor = fleet.supervisor

    @property
    def split_urls(self) -> int:
        return self._fleet.config.cluster.split_urls

    @property
    def count(self) -> int:
        return len(self._supervisor.members)

    @property
    def is_ending(self) -> bool:
        return self._supervisor.end_reason is not None

    def move(self, shard: int) -> None:
        self._supervisor.move(shard)

    def add_shard(self) -> None:
        self._supervisor.add_shard()

    def share_out(self, ring: Ring) -> None:
        self._fleet.share_out(ring)

    def known_urls(self) -> dict[int, int]:
        return {one.shard: _standing(one).known_urls for one in self._supervisor.members}


def _standing(member: ShardHandle) -> Standing:
    standing = member.report.standing if member.report is not None else NOTHING
    return replace(standing, stop_reason="") if standing.stop_reason == MOVED else standing


def _moving_words(shards: Sequence[str]) -> str:
    """Return that these shards move, in words; "" if there are none."""
    if not shards:
        return ""
    which = f"shards {', '.join(shards)} move" if len(shards) > 1 else f"shard {shards[0]} moves"
    return f"{which} to another machine"


def _error_in(answers: Sequence[dict[str, object]]) -> dict[str, object] | None:
    """Return the first answer that is an error, if there is one."""
    return next((answer for answer in answers if "error" in answer), None)
