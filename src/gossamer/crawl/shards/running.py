"""A shard that runs in this process: how it stands, and what it answers when it is asked."""

import asyncio
import ctypes
import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from gossamer.config import Config
from gossamer.crawl.seeds import Seed, plant
from gossamer.crawl.wiring import Shard
from gossamer.errors import ConfigError, GossamerError
from gossamer.model import Standing
from gossamer.report import Status, as_json, explain_url, name_in, status_of, why_sources
from gossamer.urls import parse, without_credentials

MIB = 1024 * 1024
MALLOC = {-1: 64 * MIB, -2: 16 * MIB, -3: 32 * MIB}
"""Of mallopt(3): M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD."""

Progress = Callable[[Status], None]


def standing_of(shard: Shard) -> Standing:
    """Return how a shard that runs in this process stands."""
    wheel = shard.wheel
    return Standing(
        queued=shard.core.frontier.queued - len(wheel.in_flight) + shard.core.traps.held,
        in_flight=len(wheel.in_flight),
        hosts=shard.core.frontier.hosts.count,
        known_urls=shard.core.url_seen.known,
        active_hosts=shard.core.frontier.active_hosts,
        is_running=True,
        paused=wheel.paused,
        stop_reason=wheel.stop_reason,
        outbox=shard.core.outbox.waiting if shard.core.outbox is not None else 0,
        watched=wheel.watch.watched if wheel.watch is not None else 0,
        freshness=wheel.watch.freshness if wheel.watch is not None else None,
        traps=shard.core.traps.notes(),
    )


def live_status(shard: Shard) -> Status:
    """Return the status of a shard that runs in this process."""
    return status_of(shard.ledger.counters, standing_of(shard))


@contextmanager
def quiet_collector() -> Iterator[None]:
    """Keep the collector from walking what lives as long as the crawl (8-22 us a page)."""
    _keep_freed_memory()
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _keep_freed_memory() -> None:
    """Let the allocator keep what large pages free: a page is soon followed by another.

    By default glibc gives such memory back at once and asks for it again, page fault by page fault
    (a tenth of the CPU of pages of 500 kB).
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, size in MALLOC.items():
            mallopt(parameter, size)


async def answer(shard: Shard, question: Mapping[str, object]) -> dict[str, object]:
    """Answer a question that came through the control socket."""
    match question.get("ask"):
        case "status":
            return as_json(live_status(shard))
        case "why":
            sources = why_sources(shard.place.folder, shard.wheel.config, shard.core.state)
            url = parse(str(question["url"]), shard.wheel.config.urls)
            if shard.wheel.watch is not None and url is not None:
                sources.next_look_at = shard.wheel.watch.next_look_at(url.key)
            # It may have to read the whole links archive: not on the loop.
            return as_json(await asyncio.to_thread(explain_url, str(question["url"]), sources))
        case "name":
            return {"name": name_in(shard.core.state.get, int(str(question["key"])))}
        case "add":
            return add_seeds(shard, seeds_in(question))
        case other:
            raise KeyError(f"unknown question {other!r}")


def seeds_in(question: Mapping[str, object]) -> list[Seed]:
    """Return the seeds that a question brings."""
    given = question.get("seeds")
    return [Seed(url=str(u), label=str(la)) for u, la in given] if isinstance(given, list) else []


def add_seeds(shard: Shard, seeds: Sequence[Seed]) -> dict[str, object]:
    """Plant further seeds in a running shard."""
    try:
        refused = plant(shard, seeds)
    except ConfigError as error:
        return {"error": str(error)}
    # The scope is measured from the seeds: `why` must know these too.
    shard.wheel.config = with_seeds(shard.wheel.config, seeds)
    shard.wheel.nudge.set()
    return {"added": len(seeds) - len(refused), "refused": refused}


def with_seeds(config: Config, more: Sequence[Seed]) -> Config:
    """Return the configuration with further seeds, each once, credentials removed."""
    texts = (*config.seeds, *(seed.url for seed in more))
    return replace(config, seeds=tuple(dict.fromkeys(map(without_credentials, texts))))


def first_cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error that ended a crawl, out of the group that a TaskGroup wraps it in."""
    for error in group.exceptions:
        inner = first_cause(error) if isinstance(error, BaseExceptionGroup) else error
        if isinstance(inner, GossamerError):
            return inner
    return group.exceptions[0]
