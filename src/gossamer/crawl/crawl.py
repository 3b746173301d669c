"""Crawl: start, watch, stop. What the command line and Python programs use."""

import asyncio
import gc
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random, SystemRandom

import uvloop
from msgspec import Struct
from msgspec.structs import replace

from gossamer.clock import SystemClock
from gossamer.config import Config
from gossamer.crawl.seeds import Seed, plant, url_of_seed
from gossamer.crawl.wiring import Extras, Shard, open_shard
from gossamer.errors import ConfigError, GossamerError
from gossamer.filter import UrlFilter
from gossamer.process import Processor
from gossamer.report import ControlSocket, Standing, explain_url, status_of, why_sources
from gossamer.settings import check, load_config, save_config
from gossamer.store import CrawlFolder
from gossamer.urls import without_credentials

Progress = Callable[[dict[str, object]], None]


class Ending(Struct, frozen=True, kw_only=True):
    """How a run ended."""

    is_finished: bool
    """Nothing is queued, leased or waiting."""
    reason: str
    """finished, max_pages, max_time, max_bytes, stopped, or no_seed."""
    exit_code: int
    status: dict[str, object]


class Crawl:
    """A crawl in a folder. Running it again goes on where it stopped, or was killed.

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
    ) -> None:
        self.folder = Path(folder)
        self._seeds = [seed if isinstance(seed, Seed) else Seed(url=seed) for seed in seeds]
        self._config = config
        self._extras = Extras(processors=processors, filters=filters)
        self._shard: Shard | None = None

    def run(
        self,
        on_progress: Progress | None = None,
        on_saved: Callable[[], None] = lambda: None,
    ) -> Ending:
        """Crawl until nothing is left, a limit is reached, or a signal asks for a stop.

        `on_progress` is told the status once a second; `on_saved` is called when the folder is
        ours and its crawl.toml says what was asked.
        """
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            try:
                return runner.run(self._run(on_progress, on_saved))
            except BaseExceptionGroup as group:
                raise _first_cause(group) from group

    def stop(self, reason: str = "stopped") -> None:
        """Ask for no more pages; what is under way is kept."""
        if self._shard is not None:
            self._shard.wheel.stop(reason)

    def add(self) -> dict[str, object]:
        """Queue the seeds, with their labels, without crawling: for a crawl that does not run."""
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(self._add_only())

    async def _add_only(self) -> dict[str, object]:
        shard = self._open(config := self._settled_config())
        try:
            refused = plant(shard, self._seeds)
            shard.ledger.commit()
            save_config(shard.folder.config_path, config)
        finally:
            await shard.close()
        return {"added": len(self._seeds) - len(refused), "refused": refused}

    def _open(self, config: Config) -> Shard:
        random = Random(SystemRandom().getrandbits(64))  # noqa: S311  # record ids, queue draws
        return open_shard(CrawlFolder(self.folder), config, SystemClock(), random, self._extras)

    async def _run(self, on_progress: Progress | None, on_saved: Callable[[], None]) -> Ending:
        config = self._settled_config()
        self._shard = shard = self._open(config)
        control = ControlSocket(shard.folder.control_path, self._answer)
        try:
            path = shard.folder.config_path
            if not path.exists() or load_config(path) != config:
                save_config(path, config)
            on_saved()
            refused = plant(shard, [*self._seeds, *(Seed(url=url) for url in config.seeds)])
            self._listen_to_signals()
            await control.open()
            if on_progress is not None:
                shard.wheel.on_chores = lambda: on_progress(live_status(shard))
            with _quiet_collector():
                is_finished = await shard.wheel.run()
            return _ending(shard, is_finished=is_finished, refused=refused)
        finally:
            control.close()
            await shard.close()
            self._shard = None

    def _settled_config(self) -> Config:
        """Return the configuration: what was given, or what the folder remembers."""
        path = CrawlFolder(self.folder).config_path
        config = self._config
        if config is None:
            config = load_config(path) if path.exists() else Config()
        settled = _with_seeds(config, self._seeds)
        check(settled)
        for text in settled.seeds:
            url_of_seed(text, settled.urls)
        return settled

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, self._on_signal, number)
            except (ValueError, RuntimeError):
                return  # not in the main thread: the caller's `stop` is the only way

    def _on_signal(self, number: int) -> None:
        """Stop cleanly; at the second signal, at once: the next start repairs what is open."""
        if self._shard is not None and not self._shard.wheel.stop_reason:
            self.stop()
        else:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    async def _answer(self, question: Mapping[str, object]) -> dict[str, object]:
        """Answer a question that came through the control socket."""
        shard = self._shard
        if shard is None:
            raise KeyError("the crawl is closing")
        match question.get("ask"):
            case "status":
                return live_status(shard)
            case "why":
                sources = why_sources(shard.folder, shard.wheel.config, shard.core.state)
                # It may have to read the whole links archive: not on the loop.
                return await asyncio.to_thread(explain_url, str(question["url"]), sources)
            case "add":
                return self._add(shard, question)
            case other:
                raise KeyError(f"unknown question {other!r}")

    @staticmethod
    def _add(shard: Shard, question: Mapping[str, object]) -> dict[str, object]:
        given = question.get("seeds")
        seeds = (
            [Seed(url=str(u), label=str(la)) for u, la in given] if isinstance(given, list) else []
        )
        try:
            refused = plant(shard, seeds)
        except ConfigError as error:
            return {"error": str(error)}
        # The scope is measured from the seeds in crawl.toml: a later start must know these too.
        shard.wheel.config = _with_seeds(shard.wheel.config, seeds)
        save_config(shard.folder.config_path, shard.wheel.config)
        shard.wheel.nudge.set()
        return {"added": len(seeds) - len(refused), "refused": refused}


def _with_seeds(config: Config, more: Sequence[Seed]) -> Config:
    """Return the configuration with further seeds, each once, credentials removed."""
    texts = (*config.seeds, *(seed.url for seed in more))
    return replace(config, seeds=tuple(dict.fromkeys(map(without_credentials, texts))))


def live_status(shard: Shard) -> dict[str, object]:
    """Return the status of a shard that runs in this process."""
    wheel = shard.wheel
    standing = Standing(
        queued=shard.core.frontier.queued - len(wheel.in_flight),
        in_flight=len(wheel.in_flight),
        hosts=shard.core.frontier.hosts.count,
        known_urls=shard.core.url_seen.known,
        active_hosts=shard.core.frontier.active_hosts,
        is_running=True,
        paused=wheel.paused,
        stop_reason=wheel.stop_reason,
    )
    return status_of(shard.ledger.counters, standing)


@contextmanager
def _quiet_collector() -> Iterator[None]:
    """Keep the collector from walking what lives as long as the crawl (8-22 us a page)."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _ending(shard: Shard, *, is_finished: bool, refused: Mapping[str, str]) -> Ending:
    counters = shard.ledger.counters
    status = live_status(shard)
    status["running"] = False
    if is_finished and not counters.seeds_fetched:
        status["refused_seeds"] = dict(refused)
        return Ending(is_finished=True, reason="no_seed", exit_code=1, status=status)
    if is_finished:
        return Ending(is_finished=True, reason="finished", exit_code=0, status=status)
    if stop := shard.wheel.stop_reason:
        return Ending(is_finished=False, reason=stop, exit_code=3, status=status)
    reason = shard.wheel.limit_reached()
    return Ending(is_finished=False, reason=reason, exit_code=0, status=status)


def _first_cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error that ended a crawl, out of the group that a TaskGroup wraps it in."""
    for error in group.exceptions:
        inner = _first_cause(error) if isinstance(error, BaseExceptionGroup) else error
        if isinstance(inner, GossamerError):
            return inner
    return group.exceptions[0]
