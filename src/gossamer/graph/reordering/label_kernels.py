"""The inner loop of finding an order: nodes take the label that most of their neighbours have.

Compiled. `state[0]` is the state of a generator of numbers, never 0.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ids: TypeAlias = NDArray[np.uint32]
Ints: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]


def shuffle(turns: Ids, count: int, state: Words) -> int:
    """Bring nodes into a random order (Fisher and Yates; Marsaglia's xorshift)."""
    word = state[0]
    for i in range(count - 1, 0, -1):
        word = word ^ (word << np.uint64(13))
        word = word ^ (word >> np.uint64(7))
        word = word ^ (word << np.uint64(17))
        j = int(np.int64((word >> np.uint64(11)) % np.uint64(i + 1)))
        turns[i], turns[j] = turns[j], turns[i]
    state[0] = word
    return count


def count_labels(targets: Ids, start: int, end: int, labels: Ids, counts: Ints, met: Ids) -> int:
    """Count the labels of a node's neighbours; return how many different ones were met."""
    found = 0
    for j in range(start, end):
        label = labels[targets[j]]
        if counts[label] == 0:
            met[found] = label
            found += 1
        counts[label] += 1
    return found


def spread_labels(
    offsets: Ints,
    targets: Ids,
    turns: Ids,
    count: int,
    labels: Ids,
    sizes: Ints,
    counts: Ints,
    met: Ids,
    resolution: float,
) -> int:
    """Let every node take the label that is worth most to it; return how many have changed.

    A label is worth the neighbours that have it, less `resolution` times the nodes that have it and
    are no neighbours (Boldi, Rosa, Santini and Vigna, "Layered Label Propagation", WWW 2011).
    `counts` is all zero, before and after.
    """
    changed = 0
    for i in range(count):
        node = turns[i]
        own = labels[node]
        found = count_labels(targets, offsets[node], offsets[node + 1], labels, counts, met)
        if found == 0:
            continue
        sizes[own] -= 1
        best = own
        most = counts[own] - resolution * (sizes[own] + 1 - counts[own])
        for j in range(found):
            label = met[j]
            worth = counts[label] - resolution * (sizes[label] + 1 - counts[label])
            if worth >= most:  # those that always stay make worse clusters
                best, most = label, worth
            counts[label] = 0
        counts[own] = 0
        labels[node] = best
        sizes[best] += 1
        changed += best != own
    return changed
