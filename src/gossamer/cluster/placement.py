"""Which shard runs on which machine? Rendezvous hashing, weighted by cores, with a bound. Pure.

Each shard draws a number with each node, and wants to be where the number is best. What runs stays
where it is: a node that joins gets its share from those that have more than theirs, and none move
between these; one that leaves gives back only its own.
"""

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct
from xxhash import xxh3_64_intdigest


class PlacedNode(Struct, frozen=True):
    """A node that shards can be on."""

    name: str
    cores: int
    region: str = ""


def place_in_regions(
    shards: Sequence[int],
    nodes: Sequence[PlacedNode],
    current: Mapping[int, str],
    avoid: Mapping[int, str],
    regions: Mapping[int, str],
) -> dict[int, str]:
    """Return the node of each shard: one of its region, or any if that has none.

    `regions` are those of the shards; nothing if the crawl has none.
    """
    if not regions:
        return place(shards, nodes, current, avoid)
    there = {node.region for node in nodes}
    placed: dict[int, str] = {}
    for region in sorted({*regions.values(), ""}):
        group = [one for one in shards if regions.get(one, "") == region]
        near = [node for node in nodes if node.region == region] if region in there else nodes
        placed |= place(group, near, current, avoid)
    return placed


def place(
    shards: Sequence[int],
    nodes: Sequence[PlacedNode],
    current: Mapping[int, str],
    avoid: Mapping[int, str],
) -> dict[int, str]:
    """Return the node of each shard; nothing if there are no nodes.

    `current` is where shards are; `avoid` where one came to grief: it goes elsewhere if it can.
    """
    if not nodes:
        return {}
    cores = sum(node.cores for node in nodes)
    share = {node.name: len(shards) * node.cores / cores for node in nodes}
    placed = {
        shard: current[shard]
        for shard in shards
        if current.get(shard) in share and avoid.get(shard) != current[shard]
    }
    load = dict.fromkeys(share, 0)
    for name in placed.values():
        load[name] += 1
    for shard in shards:
        if shard not in placed:
            low = [one for one in nodes if load[one.name] < math.floor(share[one.name])]
            free = low or [one for one in nodes if load[one.name] < math.ceil(share[one.name])]
            wished = [one for one in free if avoid.get(shard) != one.name]
            wished = wished or [one for one in nodes if avoid.get(shard) != one.name]
            best = max(wished or nodes, key=lambda one: (_draw(shard, one), one.name))
            placed[shard] = best.name
            load[best.name] += 1
    _balance(placed, nodes, share, load)
    return placed


def _balance(
    placed: dict[int, str],
    nodes: Sequence[PlacedNode],
    share: Mapping[str, float],
    load: dict[str, int],
) -> None:
    """Move shards from nodes that have a whole one too many to those that lack some, or so."""
    by_name = {node.name: node for node in nodes}
    for _ in range(len(placed)):
        over = max(by_name, key=lambda name: (load[name] - share[name], name))
        under = min(by_name, key=lambda name: (load[name] - share[name], name))
        excess, lack = load[over] - share[over], share[under] - load[under]
        if max(excess, lack) < 1.0 or min(excess, lack) <= 0.0:
            return
        there = [shard for shard, name in placed.items() if name == over]
        moved = max(there, key=lambda shard: (_draw(shard, by_name[under]), shard))
        placed[moved] = under
        load[over], load[under] = load[over] - 1, load[under] + 1


def _draw(shard: int, node: PlacedNode) -> float:
    """Return how much a shard wants to be on a node: more cores, better draws."""
    part = (xxh3_64_intdigest(f"{shard}:{node.name}".encode()) + 1) / (2.0**64 + 2)
    return -node.cores / math.log(part)


def moves(
    wanted: Mapping[int, str],
    current: Mapping[int, str],
    moving: Mapping[int, tuple[str, str]],
) -> list[int]:
    """Return which shards to move now: one per node at a time, an eighth of all at most.

    `moving` has those that are under way, with the nodes between which they go.
    """
    most = max(1, len(current) // 8) - len(moving)
    busy = {node for pair in moving.values() for node in pair}
    found: list[int] = []
    for shard, node in sorted(current.items()):
        goal = wanted.get(shard, node)
        is_free = goal != node and shard not in moving and not busy & {node, goal}
        if is_free and len(found) < most:
            found.append(shard)
            busy |= {node, goal}
    return found
