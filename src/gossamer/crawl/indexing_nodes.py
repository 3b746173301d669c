"""Indexing beside a crawl in a cluster: on each machine that has shards of it, a process.

It follows the checkpoints of the shards that are there at the time, publishes what it builds, and
ends when the crawl has ended. It decides nothing: what two of them build is the same.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from secrets import token_hex

from gossamer.clock import Clock
from gossamer.cluster import NodeWork, ProcessEnded, ShardEngine, ShardProcess
from gossamer.log import tell

AGAIN_S = 10.0
"""One that has ended is not started again sooner than this."""
POLL_S = 0.1


@dataclass(slots=True, kw_only=True)
class IndexingNodes:
    """The machines that index a crawl, and what does it there."""

    engine: ShardEngine
    url: str
    clock: Clock
    say: Callable[[str], None]
    _running: dict[str, str] = field(default_factory=dict)
    """By process: its machine."""
    _not_before: dict[str, float] = field(default_factory=dict)
    _failed: set[str] = field(default_factory=set)
    """Machines where the last one ended in trouble."""

    async def look(self, having: Collection[str]) -> None:
        """Start what is missing on the machines that have shards."""
        self._learn()
        now = self.clock.steady()
        there = {node.name for node in self.engine.nodes}
        for name in sorted(there.intersection(having).difference(self._running.values())):
            if now >= self._not_before.get(name, 0.0):
                process = ShardProcess(token_hex(8), self.url, 0, work=NodeWork.INDEX)
                self._running[process.process] = name
                self._not_before[name] = now + AGAIN_S
                await self.engine.start(name, process)

    def note_ended(self, ended: ProcessEnded) -> None:
        """Note that a process has ended; most are none of ours."""
        name = self._running.pop(ended.process, None)
        if name is not None:
            tell("index.ended", node=name, code=ended.code)
            (self._failed.add if ended.code else self._failed.discard)(name)

    async def finish(self, having: Collection[str]) -> None:
        """Wait until what came last is indexed, as far as machines are there."""
        self._failed.clear()
        await self.look(having)
        if self._running:
            self.say("the crawl has ended; indexing what came last")
        while self._running:
            await self.clock.sleep(POLL_S)
            self._learn()
        if self._failed:
            names = ", ".join(sorted(self._failed))
            self.say(f"not all is indexed on {names}: `gossamer build {self.url} index` does it")

    def _learn(self) -> None:
        """Know which run: machines go, and an older coordinator may have started some."""
        there = {node.name: node for node in self.engine.nodes}
        self._running = {one: name for one, name in self._running.items() if name in there}
        for name, node in there.items():
            for one in node.processes:
                if one.work == NodeWork.INDEX and one.store == self.url:
                    self._running.setdefault(one.process, name)
