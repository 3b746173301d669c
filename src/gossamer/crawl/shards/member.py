"""One shard among several, in a process of its own: from its first line to its last."""

import asyncio
import gc
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random, SystemRandom

import uvloop

from gossamer.clock import SystemClock
from gossamer.cluster import Downward, Ended, Joined, Line, Report, Ring
from gossamer.config import Config
from gossamer.crawl.seeds import Seed, plant
from gossamer.crawl.setup.opening import Place
from gossamer.crawl.shards.running import first_cause, quiet_collector
from gossamer.crawl.shards.table import Table
from gossamer.crawl.shards.watching import begin_watch
from gossamer.crawl.wiring import Extras, Shard, open_shard
from gossamer.errors import ConfigError, GossamerError
from gossamer.store import CrawlFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What every shard of a crawl is told when it starts."""

    folder: CrawlFolder
    ring: Ring
    config: Config
    """Without the limits: those are of the whole crawl."""
    is_limited: bool
    """Pages are granted by the supervisor."""
    tells_commits: bool
    """Every commit is reported: the crawl ends at so many bytes."""
    seeds: Sequence[Seed]
    extras: Extras

    def run(self, number: int, end: socket.socket) -> int:
        """Run a shard at its end of the line; return the exit code."""
        gc.freeze()  # what we share with the parent is not ours to collect
        place = Place(folder=self.folder, shard=number, ring=self.ring)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(self._run(place, end))

    async def _run(self, place: Place, end: socket.socket) -> int:
        line: Line[Downward] = await Line.over(end, Downward)
        try:
            line.send(Ended(report=await self._turn(place, line)))
        except GossamerError as error:
            line.send(Ended(error=str(error), is_usage=isinstance(error, ConfigError)))
        except BaseExceptionGroup as group:
            cause = first_cause(group)
            if not isinstance(cause, GossamerError):
                raise
            line.send(Ended(error=str(cause)))
        await line.flush()
        line.close()
        return 0

    async def _turn(self, place: Place, line: Line[Downward]) -> Report:
        """Open the shard, plant its share of the seeds, and turn until the supervisor ends it."""
        random = Random(SystemRandom().getrandbits(64))  # noqa: S311  # record ids, queue draws
        shard = open_shard(place, self.config, SystemClock(), random, self.extras)
        table = Table(shard, line, is_limited=self.is_limited)
        table.tells_commits = self.tells_commits
        try:
            refused = plant(shard, self.seeds)
            if self.extras.is_watching:
                begin_watch(shard, 1.0 / self.ring.shards)
            await table.open()
            line.send(Joined(pages=shard.ledger.counters.pages, refused=refused))
            table.report(is_wanted=True)
            return await self._wheel(shard, table)
        finally:
            await table.close()
            await shard.close()

    async def _wheel(self, shard: Shard, table: Table) -> Report:
        shard.wheel.on_chores = lambda: table.report(is_wanted=True)
        with quiet_collector():
            await shard.wheel.run()
        return table.summary()
