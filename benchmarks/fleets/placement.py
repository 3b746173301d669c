"""Where shards lie: rendezvous hashing with a bounded load, and how equal the shards are."""

from collections.abc import Sequence
from functools import lru_cache
from math import ceil
from random import Random

import numpy as np
from numpy.typing import NDArray

_FEW = 12
"""Machines that are looked at for a shard before all are."""


def place(shards: int, nodes: Sequence[int]) -> dict[int, int]:
    """Return the node of each shard: the one that scores best for it and is not full.

    A node is full at the mean and one more. Shards choose in the order of their best scores, so
    that a node more or less moves next to nothing but its own.
    """
    names = np.asarray(nodes)
    scores = _scores(shards, int(names.max()) + 1)[:, names]
    room = [ceil(shards / len(nodes)) + 1] * len(nodes)
    few = min(_FEW, len(nodes))
    wishes = np.argpartition(-scores, few - 1, axis=1)[:, :few]
    placed = {}
    for shard in np.argsort(-scores.max(axis=1), kind="stable").tolist():
        own = scores[shard]
        first = sorted(wishes[shard].tolist(), key=lambda one, own=own: -own[one])
        found = next((one for one in first if room[one]), None)
        if found is None:
            found = next(one for one in np.argsort(-own, kind="stable").tolist() if room[one])
        room[found] -= 1
        placed[shard] = int(names[found])
    return placed


@lru_cache(4)
def _scores(shards: int, nodes: int) -> NDArray[np.float64]:
    """Return what each node scores for each shard: equal numbers get equal scores for ever."""
    key = np.arange(shards, dtype=np.uint64)[:, None] << np.uint64(32)
    mixed = key + np.arange(nodes, dtype=np.uint64)[None, :] + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return mixed / 2.0**64


def moved(before: dict[int, int], after: dict[int, int]) -> list[int]:
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
