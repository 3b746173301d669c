"""Where shards lie, by the rule of the cluster itself, and how equal they are."""

from collections.abc import Collection, Mapping
from random import Random

import numpy as np

from gossamer.cluster import PlacedNode
from gossamer.cluster import place as place_by_name


def place(shards: int, nodes: Collection[int], current: Mapping[int, int]) -> dict[int, int]:
    """Return the node of each shard: what runs stays, as far as no node has too many."""
    named = [PlacedNode(f"node-{node}", 1) for node in sorted(nodes)]
    before = {shard: f"node-{node}" for shard, node in current.items()}
    placed = place_by_name(range(shards), named, before, {})
    return {shard: int(name.partition("-")[2]) for shard, name in placed.items()}


def moved(before: Mapping[int, int], after: Mapping[int, int]) -> list[int]:
    """Return the shards that lie elsewhere."""
    return [shard for shard, node in after.items() if before.get(shard) != node]


def largest_share(shards: int, domains: int, skew: float, random: Random) -> float:
    """Return how much more than the mean the largest shard holds: a domain is in one shard.

    The largest 200,000 domains are put on the ring one by one; the others spread evenly.
    """
    singles = min(200_000, domains)
    ranks = np.arange(1, singles + 1, dtype=np.float64)
    sizes = ranks**-skew
    rest = (domains ** (1 - skew) - singles ** (1 - skew)) / (1 - skew)
    total = float(sizes.sum()) + rest
    draw = np.random.default_rng(random.getrandbits(64))
    loads = np.bincount(draw.integers(0, shards, singles), sizes, shards) + rest / shards
    return float(loads.max() * shards / total)
