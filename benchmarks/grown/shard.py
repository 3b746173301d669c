"""One process with one grown shard: the real engine, and a fetcher that answers from memory.

Orders come as JSON lines on standard input, results go out as JSON lines on standard output.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import uvloop

from gossamer.clock import SystemClock
from gossamer.config import Config, FilterConfig, PolitenessConfig, RobotsConfig, SeenConfig
from gossamer.crawl.assembly import Extras, Shard, assemble
from gossamer.crawl.opening import ShardFolder
from gossamer.crawl.running import quiet_collector
from gossamer.store import CrawlFolder
from grown.pages import Answers, Resolver, make_known_pages, make_pages
from grown.web import NEW, host_names

BEAT_S = 0.001
SAMPLE_BEATS = 200
HEAD_START_S = 0.9
"""In a long round, until pauses count: the first pages load what is loaded late, and no chore has
begun."""
SPARE_PAGES = 600
"""For what is in flight when a round ends."""


def config_of(seen: SeenConfig) -> Config:
    """Return what a crawl of one's own hosts is told: no robots.txt, no gaps, any host."""
    return Config(
        filter=FilterConfig(scope="any", max_urls_per_host=10_000_000),
        politeness=PolitenessConfig(delay_s=0.0),
        robots=RobotsConfig(own_hosts=host_names()),
        seen=seen,
    )


class Pulse:
    """How long the loop leaves others waiting, and how much memory the process has."""

    def __init__(self) -> None:
        self.is_on = True
        self.longest_s = 0.0
        self.longest_own_s = 0.0
        """Without the time in which the loop could run and the machine had no core for it."""
        self.anonymous_mb = 0.0
        self.mapped_mb = 0.0
        self._beats = 0
        self._waits = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
        self._before = (0.0, 0.0)

    def beat(self) -> None:
        """Look at the clocks; come back in a millisecond."""
        now, queued_s = time.perf_counter(), self._queued_s()
        pause_s = now - self._before[0] - BEAT_S
        if self._beats:
            self.longest_s = max(self.longest_s, pause_s)
            self.longest_own_s = max(self.longest_own_s, pause_s - queued_s + self._before[1])
        if self._beats % SAMPLE_BEATS == 0:
            self._weigh()
        self._beats += 1
        self._before = (time.perf_counter(), queued_s)
        if self.is_on:
            asyncio.get_running_loop().call_later(BEAT_S, self.beat)
        else:
            os.close(self._waits)

    def _queued_s(self) -> float:
        return int(os.pread(self._waits, 64, 0).split()[1]) / 1e9

    def _weigh(self) -> None:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        kib = dict(line.split(":", 1) for line in status.splitlines())
        self.anonymous_mb = max(self.anonymous_mb, int(kib["RssAnon"].split()[0]) / 1024)
        self.mapped_mb = max(self.mapped_mb, int(kib["RssFile"].split()[0]) / 1024)


class Rounds:
    """Rounds of so many pages through one shard."""

    def __init__(self, shard: Shard, urls: int, seed: int) -> None:
        self._shard = shard
        self._urls = urls
        self._rng = np.random.default_rng(seed)
        self._first_new = seed << 32
        self._page_maker = make_pages
        self._answers = Answers(self._make)
        self._before = (time.process_time(), time.thread_time())
        # All that a worker uses of them; a requester is frozen for everyone else.
        object.__setattr__(shard.requester, "fetcher", self._answers)
        object.__setattr__(shard.requester, "resolver", Resolver())

    def _make(self, count: int) -> list[bytes]:
        first, self._first_new = self._first_new, self._first_new + count * NEW
        return self._page_maker(self._rng, self._urls, count, first)

    async def warm_up(self, pages: int) -> dict[str, Any]:
        """Run the engine for so many pages that lead to nothing new."""
        self._answers.forget()
        self._page_maker = make_known_pages
        result = await self.run(pages, new_per_page=0)
        self._answers.forget()
        self._page_maker = make_pages
        return result

    async def run(
        self, pages: int, *, is_made_before: bool = True, new_per_page: int = NEW
    ) -> dict[str, Any]:
        """Run the engine for so many pages; return what it took.

        Pages that are made meanwhile need less memory, but their making is counted as ours.
        """
        if is_made_before:
            self._answers.make(pages + SPARE_PAGES)
        shard, engine, pulse = self._shard, self._shard.engine, Pulse()
        known, stored = shard.core.url_seen.known, shard.ledger.counters.pages
        self._answers.begin(pages, lambda: engine.run_state.stop("round"))
        head_start_s = 0.0 if is_made_before else HEAD_START_S
        asyncio.get_running_loop().call_later(head_start_s, pulse.beat)
        with quiet_collector():
            wall, own = time.perf_counter(), time.thread_time()
            await engine.run()
            wall_s, own_s = time.perf_counter() - wall, time.thread_time() - own
        pulse.is_on = False
        await asyncio.sleep(2 * BEAT_S)
        engine.run_state.resume()
        stored = shard.ledger.counters.pages - stored
        new = shard.core.url_seen.known - known
        assert pages <= stored <= pages + SPARE_PAGES, (pages, stored)
        assert new == stored * new_per_page, (new, stored)
        return {
            "pages": stored,
            "wall_s": wall_s,
            "loop_us": 1e6 * own_s / stored,
            "others_us": 1e6 * self._others_s() / stored,
            "pause_ms": 1e3 * pulse.longest_s,
            "own_pause_ms": 1e3 * pulse.longest_own_s,
            "rss_mb": pulse.anonymous_mb,
            "mapped_mb": pulse.mapped_mb,
            "runs": len(list((shard.place.state / "seen").glob("*.keys"))),
            "known": known + new,
            "first_at": self._answers.first_at,
        }

    def _others_s(self) -> float:
        """Return CPU seconds of all threads but the loop's since the last call.

        So compactions and merges are counted that went on when a round was over.
        """
        now = (time.process_time(), time.thread_time())
        spent = now[0] - self._before[0] - (now[1] - self._before[1])
        self._before = now
        return spent


def evict(folder: Path) -> None:
    """Let the system forget what it keeps in memory of a folder's files."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def warm(folder: Path) -> None:
    """Let the system have all of a folder's files in memory."""
    room = bytearray(1 << 22)
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb", buffering=0) as file:
                while file.readinto(room):
                    pass


async def obey(order: dict[str, Any], rounds: Rounds, shard: Shard) -> dict[str, Any]:
    """Carry out one order."""
    state = shard.place.state
    if order.get("files") == "cold":
        shard.core.state.sync()
        shard.core.url_seen._let_go()  # noqa: SLF001 -- what is mapped cannot be evicted
        evict(state)
    elif order.get("files") == "warm":
        warm(state)
    task = None
    if order.get("compact"):
        db = shard.core.state._db  # noqa: SLF001 -- the crawl itself never asks for a compaction
        loop = asyncio.get_running_loop()
        task = loop.run_in_executor(None, lambda: (db.flush(), db.compact_range(None, None)))
    if order.get("is_warm_up"):
        return await rounds.warm_up(order["pages"])
    result = await rounds.run(order["pages"], is_made_before=not order.get("is_long"))
    if task is not None:
        await task
    return result


async def serve(folder: Path, urls: int, seed: int, seen: SeenConfig) -> None:
    """Open the shard and do as told."""
    began = time.perf_counter()
    shard = assemble(
        ShardFolder(folder=CrawlFolder(folder)),
        config_of(seen),
        SystemClock(),
        Random(seed),
        Extras(),
    )
    core = shard.core
    opened_s = time.perf_counter() - began
    say({"open_s": opened_s, "known": core.url_seen.known, "queued": core.frontier.queued})
    rounds = Rounds(shard, urls, seed)
    for line in sys.stdin:
        say(await obey(json.loads(line), rounds, shard))
    await shard.close()


def say(result: dict[str, Any]) -> None:
    """Print a result for the parent."""
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    where, known, number, knobs = sys.argv[1:]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(Path(where), int(known), int(number), SeenConfig(**json.loads(knobs))))
