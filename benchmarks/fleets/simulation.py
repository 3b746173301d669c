"""A year of a fleet, event by event: machines die, are replaced, and are restarted for updates."""

import heapq
from collections.abc import Iterator
from random import Random
from statistics import median
from typing import Literal, NamedTuple, TypeAlias

from fleets.costs import Assumptions, Costs
from fleets.placement import moved, place

HOUR, YEAR = 3600.0, 365 * 86_400.0
RACK = 40
Event: TypeAlias = Literal["death", "rack", "drain", "back"]


class Year(NamedTuple):
    """What a year was like."""

    deaths: int
    racks: int
    drains: int
    moves: int
    most_moves: int
    """Of one death of a machine, its own shards apart."""
    recovery_s: float
    """Half of the shards of a machine that died crawl again after so long."""
    longest_recovery_s: float
    lost_share: float
    """Of the time of all shards, when they did not crawl."""
    again_a_month: float
    """Requests that are made again."""
    restored_gb_a_month: float
    most_load: float
    """Shards of the fullest machine, beside the mean."""


def simulate(
    nodes: int, shards: int, state_bytes: float, costs: Costs, said: Assumptions, random: Random
) -> Year:
    """Return a year of so many machines with so many shards."""
    fleet = _Fleet(nodes, shards, state_bytes / shards, costs, said, random)
    for at, event, node in fleet.events():
        fleet.take(at, event, node)
    return fleet.year()


class _Fleet:
    """The machines, where the shards lie, and what has happened."""

    def __init__(
        self,
        nodes: int,
        shards: int,
        shard_bytes: float,
        costs: Costs,
        said: Assumptions,
        random: Random,
    ) -> None:
        self._said, self._costs, self._random = said, costs, random
        self._shards, self._shard_bytes = shards, shard_bytes
        self._alive = set(range(nodes))
        self._placed = place(shards, self._alive, {})
        self._queue: list[tuple[float, int, Event, int]] = []
        self._count = 0
        self._times: list[float] = []
        self._counts = {"death": 0, "rack": 0, "drain": 0}
        self._moves = self._most_moves = 0
        self._lost_s = self._again = self._restored = 0.0
        self._most_load = 1.0
        rate = said.pages_a_month * 12 / YEAR
        self._rate_of_shard = rate / shards
        for node in range(nodes):
            self._plan(node, "death", said.deaths_a_year)
            self._plan(node, "drain", said.restarts_a_year)
        for rack in range(nodes // RACK):
            self._plan(rack, "rack", said.rack_losses_a_year)

    def events(self) -> Iterator[tuple[float, Event, int]]:
        """Yield what happens within the year, in order."""
        while self._queue and self._queue[0][0] < YEAR:
            at, _, event, node = heapq.heappop(self._queue)
            yield at, event, node

    def take(self, at: float, event: Event, node: int) -> None:
        """Let something happen."""
        said = self._said
        match event:
            case "death":
                self._plan(node, "death", said.deaths_a_year, at)
                self._lose({node}, at, said.replaced_h * HOUR, event)
            case "rack":
                self._plan(node, "rack", said.rack_losses_a_year, at)
                lost = set(range(node * RACK, (node + 1) * RACK))
                self._lose(lost, at, self._random.uniform(1, 6) * HOUR, event)
            case "drain":
                self._plan(node, "drain", said.restarts_a_year, at)
                self._drain(node)
            case "back":
                self._alive.add(node)
                self._settle(is_planned=True)

    def _plan(self, node: int, event: Event, a_year: float, after: float = 0.0) -> None:
        if a_year > 0:
            self._push(after + self._random.expovariate(a_year / YEAR), event, node)

    def _push(self, at: float, event: Event, node: int) -> None:
        self._count += 1
        heapq.heappush(self._queue, (at, self._count, event, node))

    def _lose(self, nodes: set[int], at: float, away_s: float, event: str) -> None:
        nodes &= self._alive
        if not nodes or len(self._alive) == len(nodes):
            return
        self._counts[event] += 1
        orphans = {shard for shard, node in self._placed.items() if node in nodes}
        self._alive -= nodes
        changed = self._settle(is_planned=False)
        self._most_moves = max(self._most_moves, len(set(changed) - orphans))
        self._recover(orphans)
        for node in nodes:
            self._push(at + away_s, "back", node)

    def _recover(self, orphans: set[int]) -> None:
        """Count how long the shards of a lost machine take: each survivor fetches its own."""
        said = self._said
        bandwidth = said.machine_gbit * 1e9 / 8 * said.restore_share
        taken: dict[int, float] = {}
        for shard in sorted(orphans):
            node = self._placed[shard]
            taken[node] = taken.get(node, 0.0) + self._shard_bytes / bandwidth
            known = said.known_urls / self._shards
            opened_s = self._costs.restart_s * known / 100e6
            away_s = said.detect_s + max(said.lease_s, taken[node]) + opened_s
            self._times.append(away_s)
            self._lost_s += away_s
            self._again += self._rate_of_shard * self._random.uniform(0, said.ship_s)
            self._restored += self._shard_bytes

    def _drain(self, node: int) -> None:
        """Restart a machine for an update: its shards end cleanly, are opened again, and go on."""
        if node in self._alive:
            self._counts["drain"] += 1
            own = sum(one == node for one in self._placed.values())
            known = self._said.known_urls / self._shards
            self._lost_s += own * (180.0 + self._costs.restart_s * known / 100e6)

    def _settle(self, *, is_planned: bool) -> list[int]:
        """Place all shards anew; what moves by plan stops for the last difference only."""
        placed = place(self._shards, self._alive, self._placed)
        changed = moved(self._placed, placed)
        self._placed = placed
        self._moves += len(changed)
        if is_planned:
            self._lost_s += len(changed) * (8.0 + self._costs.restart_s)
            self._restored += len(changed) * self._shard_bytes
        mean = self._shards / len(self._alive)
        loads: dict[int, int] = {}
        for node in placed.values():
            loads[node] = loads.get(node, 0) + 1
        self._most_load = max(self._most_load, max(loads.values()) / mean)
        return changed

    def year(self) -> Year:
        """Return what was counted."""
        return Year(
            deaths=self._counts["death"],
            racks=self._counts["rack"],
            drains=self._counts["drain"],
            moves=self._moves,
            most_moves=self._most_moves,
            recovery_s=median(self._times) if self._times else 0.0,
            longest_recovery_s=max(self._times, default=0.0),
            lost_share=self._lost_s / (self._shards * YEAR),
            again_a_month=self._again / 12,
            restored_gb_a_month=self._restored / 12 / 1e9,
            most_load=self._most_load,
        )
