"""The inner loops of ranks: which links count, where they end, and a sweep over rows."""

import numpy as np
from numpy.typing import NDArray

from gossamer.graph.rows import Ids, Kinds, Places

Floats = NDArray[np.float64]


def pick(
    offsets: Places, targets: Ids, kinds: Kinds, count: int, wanted: int, ends: Places, into: Ids
) -> int:
    """Copy those links of `count` rows that are of a wanted kind; return how many there are."""
    found = 0
    for i in range(count):
        ends[i] = found
        for j in range(offsets[i], offsets[i + 1]):
            if kinds[j] & wanted:
                into[found] = targets[j]
                found += 1
    ends[count] = found
    return found


def tally(
    offsets: Places, targets: Ids, first: int, count: int, universe: Kinds, degrees: Floats
) -> int:
    """Count, of rows of links into nodes, the links that each node has; nodes outside have none."""
    for i in range(count):
        if universe[first + i]:
            for j in range(offsets[i], offsets[i + 1]):
                degrees[targets[j]] += 1.0
    return 0


def sweep(
    offsets: Places,
    targets: Ids,
    first: int,
    count: int,
    base: Floats,
    share: Floats,
    passed: Floats,
    damping: float,
    moved: Floats,
) -> int:
    """Bring rows of links into nodes up to date: what each passes on to each of its own links.

    `share` is one over a node's links, 0 if it has none: then its rank matters to nobody, and its
    row is not read. `moved` grows by how much rank has moved, and by how much there is.
    """
    total_moved, total = moved[0], moved[1]
    for i in range(count):
        part = share[first + i]
        if part > 0.0:
            given, kept = 0.0, 1.0
            for j in range(offsets[i], offsets[i + 1]):
                if targets[j] == first + i:
                    kept = 1.0 - damping * part
                else:
                    given += passed[targets[j]]
            new = (base[first + i] + damping * given) / kept * part
            total_moved += abs(new - passed[first + i]) / part
            total += new / part
            passed[first + i] = new
    moved[0], moved[1] = total_moved, total
    return 0


def finish(
    offsets: Places,
    targets: Ids,
    first: int,
    count: int,
    base: Floats,
    share: Floats,
    passed: Floats,
    damping: float,
    ranks: Floats,
) -> int:
    """Write the ranks of some nodes: as swept, or for a node without links from its row."""
    for i in range(count):
        node = first + i
        if share[node] > 0.0:
            ranks[node] = passed[node] / share[node]
        else:
            given = 0.0
            for j in range(offsets[i], offsets[i + 1]):
                given += passed[targets[j]]
            ranks[node] = base[node] + damping * given
    return 0


def pull(offsets: Places, targets: Ids, first: int, count: int, given: Floats, sums: Floats) -> int:
    """Write, for each row, the sum of what its targets have."""
    for i in range(count):
        total = 0.0
        for j in range(offsets[i], offsets[i + 1]):
            total += given[targets[j]]
        sums[first + i] = total
    return 0


def push(offsets: Places, targets: Ids, first: int, count: int, given: Floats, sums: Floats) -> int:
    """Add what each row's node has to its targets."""
    for i in range(count):
        part = given[first + i]
        for j in range(offsets[i], offsets[i + 1]):
            sums[targets[j]] += part
    return 0
