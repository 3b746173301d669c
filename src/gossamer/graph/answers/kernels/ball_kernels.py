"""The inner loops of harmonic centrality: counters of who is near, and exact breadth-first search.

A counter is `registers` bytes (HyperLogLog); the union of two is the larger of each register.
"""

import numpy as np
from numpy.typing import NDArray

from gossamer.graph.rows import Ids, Kinds, Places

Floats = NDArray[np.float64]


def estimate(counter: Kinds, at: int, registers: int, powers: Floats, zeros: Floats) -> float:
    """Return how many are in a counter: Ertl's estimator, whose correction is a table by zeros."""
    empty = 0
    total = 0.0
    for r in range(at, at + registers):
        if counter[r] == 0:
            empty += 1
        else:
            total += powers[counter[r]]
    return float(powers[0] / (total + zeros[empty]))


def unite_row(
    offsets: Places,
    targets: Ids,
    row: int,
    at: int,
    registers: int,
    old: Kinds,
    new: Kinds,
    was: Kinds,
) -> int:
    """Unite the counter at a place with those of a row that grew; return whether it did, too."""
    touched = 0
    for j in range(offsets[row], offsets[row + 1]):
        other = int(np.int64(targets[j]))
        if was[other]:
            touched = 1
            place = other * registers
            for r in range(registers):
                new[at + r] = max(new[at + r], old[place + r])
    if touched == 0:
        return 0
    for r in range(registers):
        if new[at + r] != old[at + r]:
            return 1
    return 0


def grow(
    offsets: Places,
    targets: Ids,
    first: int,
    count: int,
    registers: int,
    old: Kinds,
    new: Kinds,
    was: Kinds,
    has: Kinds,
) -> int:
    """Unite each node's ball with those of its row as they were; return how many have grown.

    `was` and `has` tell which balls grew in the last round and in this one. A ball that did not
    grow in the last round is the same in `old` and `new`.
    """
    grown = 0
    for i in range(count):
        at = (first + i) * registers
        if was[first + i]:
            for r in range(registers):
                new[at + r] = old[at + r]
        has[first + i] = unite_row(offsets, targets, i, at, registers, old, new, was)
        grown += int(has[first + i])
    return grown


def weigh(
    nodes: int,
    registers: int,
    balls: Kinds,
    has: Kinds,
    powers: Floats,
    zeros: Floats,
    sizes: Floats,
    closeness: Floats,
    distance: float,
) -> int:
    """Add to each node whose ball has grown what the new ones in it are worth at a distance."""
    for node in range(nodes):
        if has[node]:
            size = estimate(balls, node * registers, registers, powers, zeros)
            if size > sizes[node]:
                closeness[node] += (size - sizes[node]) / distance
                sizes[node] = size
    return 0


def reach_all(
    offsets: Places, targets: Ids, nodes: int, queue: Ids, seen: Ids, closeness: Floats
) -> int:
    """Write the exact harmonic centrality of each node, from rows of links into nodes.

    `seen` has zeros at first; then who came last.
    """
    for start in range(nodes):
        queue[0] = start
        seen[start] = start + 1
        head, tail, level_end, distance = 0, 1, 1, 1.0
        total = 0.0
        while head < tail:
            node = np.int64(queue[head])
            head += 1
            for j in range(offsets[node], offsets[node + 1]):
                other = targets[j]
                if seen[other] != start + 1:
                    seen[other] = start + 1
                    queue[tail] = other
                    tail += 1
                    total += 1.0 / distance
            if head == level_end:
                level_end = tail
                distance += 1.0
        closeness[start] = total
    return 0
