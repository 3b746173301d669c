"""What a coordinator does to split shards: see `splitting` for the steps, which are taken here.

One split at a time, and none while anything else moves. Whatever is found half done in the charter
is gone on with; the shard that is split ends as for a move, and is closed before it starts again.
"""

import asyncio
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gossamer.clock import Clock
from gossamer.cluster import Ring
from gossamer.crawl.cluster_claim import ClusterClaim
from gossamer.crawl.splitting import (
    begin_chains,
    close_shard,
    expect_free_number,
    have_shipped,
    is_closed,
    knows_ring,
    ring_after_split,
)
from gossamer.errors import CannotGoOn, TakenOver
from gossamer.log import plural, tell
from gossamer.store import SplitIntent

LOOK_S = 0.2
AT_ONCE = 8
"""One in so many shards is restarted at a time, to learn of another ring."""


class RunningShard(Protocol):
    """A shard that runs, as its coordinator sees it."""

    @property
    def node(self) -> str:
        """Return the machine."""

    @property
    def epoch(self) -> int:
        """Return by which epoch it was claimed."""

    @property
    def has_joined(self) -> bool:
        """Return True if it crawls."""


class GrowingFleet(Protocol):
    """The shards of a crawl, which may become more."""

    def move(self, shard: int) -> None:
        """Let a shard end, and start again where it is wanted now."""

    def add_shard(self) -> None:
        """Run one shard more."""

    def share_out(self, ring: Ring) -> None:
        """Ask shards by another ring from now on."""

    def known_urls(self) -> Mapping[int, int]:
        """Return how many URLs each shard knows, as last heard."""

    @property
    def split_urls(self) -> int:
        """Return with how many known URLs a shard is split."""

    @property
    def count(self) -> int:
        """Return how many shards run or are to run."""

    @property
    def is_ending(self) -> bool:
        """Return True if the crawl ends."""


@dataclass(slots=True, kw_only=True)
class ShardSplits:
    """The splits of a crawl's shards."""

    claim: ClusterClaim
    clock: Clock
    running: Mapping[int, RunningShard]
    moving: MutableMapping[int, tuple[str, str]]
    """Shards that are between two nodes, or end to start again on one."""
    closed: int = 0
    """The generation of a split that is under way, if its shard is closed."""
    _wanted: list[int] = field(default_factory=list)

    def generation_of(self, shard: int) -> int:
        """Return the generation of the chain by which a shard is to be claimed."""
        intent = self.claim.charter.split
        is_closed = intent is not None and self.closed == intent.generation
        if intent is not None and is_closed and shard in {intent.shard, intent.child}:
            return intent.generation
        return self.claim.charter.generation_of(shard)

    def ring_of(self, shard: int) -> Ring:
        """Return the ring that a shard is told which starts now."""
        charter = self.claim.charter
        intent = charter.split
        if intent is not None and self.generation_of(shard) == intent.generation:
            return Ring(intent.ranges)
        return Ring.of(charter.ranges, charter.shards)

    @property
    def is_busy(self) -> bool:
        """Return True while a split is under way, or some do not know the ring it has made."""
        charter = self.claim.charter
        return charter.split is not None or any(
            not knows_ring(charter, shard, one.epoch) for shard, one in self.running.items()
        )

    @property
    def numbers(self) -> range:
        """Return the numbers of all shards that run or are to run."""
        intent = self.claim.charter.split
        has_child = intent is not None and self.closed == intent.generation
        return range(self.claim.charter.shards + has_child)

    @property
    def regions(self) -> dict[int, str]:
        """Return the region of each shard; nothing if the crawl has none."""
        charter = self.claim.charter
        return {one: charter.region_of(one) for one in self.numbers} if charter.regions else {}

    @property
    def under_way(self) -> dict[str, object]:
        """Return which shard is being split, the number of the new one, and what is waited for."""
        charter = self.claim.charter
        if (intent := charter.split) is not None:
            return {"shard": intent.shard, "child": intent.child, "step": self._step_of(intent)}
        if self._wanted:
            asked = {"shard": self._wanted[0], "child": charter.shards}
            return {**asked, "step": self._waits_for(charter.shards)}
        return {}

    def _step_of(self, intent: SplitIntent) -> str:
        """Return how far a split is, in words."""
        if self.closed == intent.generation:
            starting = [n for n in (intent.shard, intent.child) if n not in self.running]
            return shards_words(starting, "starts", "start") or "each half drops the other's hosts"
        if intent.shard in self.moving:
            return f"shard {intent.shard} ends and ships"
        return self._waits_for(self.claim.charter.shards)

    def _waits_for(self, shards: int) -> str:
        late = [
            number
            for number in range(shards)
            if number in self.moving
            or (one := self.running.get(number)) is None
            or not one.has_joined
            or not knows_ring(self.claim.charter, number, one.epoch)
        ]
        words = shards_words(late, "runs again", "run again")
        return f"it waits until {words}" if words else "it begins"

    async def ask(self, shard: int | None, known: Mapping[int, int]) -> dict[str, object]:
        """Take note that a shard is to be split: the largest, unless one is named."""
        if shard is None:
            shard = max(known, key=lambda one: (known[one], -one), default=0)
        charter = self.claim.charter
        try:
            ring_after_split(charter, shard)
            await asyncio.to_thread(expect_free_number, self.claim.store, charter)
        except TakenOver:
            raise
        except CannotGoOn as error:
            return {"error": str(error)}
        if self.is_busy or self._wanted:
            return {"error": "another shard is being split; ask again when that is done"}
        self._wanted.append(shard)
        return {"shard": shard, "child": charter.shards, "shards": charter.shards + 1}

    async def before_start(self, shard: int) -> None:
        """Close a shard that is to be split, if it has ended, before it could start again."""
        intent = self.claim.charter.split
        while intent is not None and intent.shard == shard and self.closed != intent.generation:
            try:
                has_closed = await asyncio.to_thread(self._close)
            except TakenOver:
                raise
            except CannotGoOn as error:
                tell("store.away", error=str(error))
                await self.clock.sleep(LOOK_S)
                continue
            if not has_closed:
                return
            tell("shard.closed", shard=shard, into=[shard, intent.child])
            self.closed = intent.generation

    def _close(self) -> bool:
        """Close the shard, and begin the chains of both; return False if it has not ended."""
        store, charter = self.claim.store, self.claim.charter
        intent = charter.split
        if intent is None:
            return False
        if not is_closed(store, charter, intent):
            epoch = self.claim.issue()
            at = self.clock.wall()
            if not close_shard(store, self.claim.charter, intent, epoch, at):
                return False
        begin_chains(store, charter, intent)
        return True

    async def run(self, fleet: GrowingFleet) -> None:
        """Take one step after the other, until cancelled."""
        while True:
            await self.clock.sleep(LOOK_S)
            try:
                await self._step(fleet)
            except TakenOver:
                raise
            except CannotGoOn as error:
                tell("store.away", error=str(error))

    async def _step(self, fleet: GrowingFleet) -> None:
        intent = self.claim.charter.split
        if intent is None:
            await self._begin(fleet)
        elif self.closed != intent.generation:
            if self._is_calm:
                self._restart(fleet, intent.shard)
        elif fleet.count <= intent.child:
            fleet.add_shard()
        elif await asyncio.to_thread(have_shipped, self.claim.store, intent):
            await asyncio.to_thread(self.claim.settle_split)
            fleet.share_out(Ring(intent.ranges))
            tell("shard.split", shard=intent.shard, child=intent.child)

    async def _begin(self, fleet: GrowingFleet) -> None:
        """Let shards that lag behind learn the ring; or begin a split that is wanted."""
        charter = self.claim.charter
        late = [n for n, one in self.running.items() if not knows_ring(charter, n, one.epoch)]
        for shard in sorted(late):
            one = self.running[shard]
            most = max(1, len(self.running) // AT_ONCE)
            if one.has_joined and shard not in self.moving and len(self.moving) < most:
                self._restart(fleet, shard)
        if late or not self._is_calm or fleet.is_ending:
            return
        if not self._wanted:
            known = fleet.known_urls()
            largest = max(known, key=lambda one: (known[one], -one), default=None)
            if largest is not None and known[largest] > fleet.split_urls:
                self._wanted.append(largest)
        if self._wanted:
            shard = self._wanted.pop()
            await asyncio.to_thread(expect_free_number, self.claim.store, charter)
            ring = ring_after_split(charter, shard)
            tell("shard.splits", shard=shard, child=charter.shards)
            await asyncio.to_thread(self.claim.begin_split, shard, ring)

    @property
    def _is_calm(self) -> bool:
        """Return True if all shards run, and none of them is on its way."""
        all_run = len(self.running) == self.claim.charter.shards
        return all_run and not self.moving and all(one.has_joined for one in self.running.values())

    def _restart(self, fleet: GrowingFleet, shard: int) -> None:
        """Let a shard end and start again on its node."""
        node = self.running[shard].node
        self.moving[shard] = node, node
        fleet.move(shard)


def shards_words(shards: Sequence[int], one_does: str, many_do: str) -> str:
    """Return that these shards do something; "" if there are none."""
    if not shards:
        return ""
    numbers = ", ".join(map(str, shards))
    return f"{plural(len(shards), 'shard')} {numbers} {plural(len(shards), one_does, many_do)}"
