"""Rows to BVGraph: what each row costs with each reference, the choice, and the bits. Compiled.

Rows stand in `offsets` and `targets`; the first `context` of them were written before and may be
copied from. `shape` says: 0 window, 1 longest chain of references, 2 shortest run, 3 k of zeta
codes, 4 number of the node in row 0. `spare` and `blocks` have room for the longest row each.
"""

import numpy as np

from gossamer.graph.bv.kernels.bit_kernels import (
    Floats,
    Ids,
    Ints,
    Words,
    write_gamma,
    write_unary,
    write_zeta,
)
from gossamer.native import leading_zeros

INLINED = True
"""Writes a tenth more links per second."""
NEVER = (1 << 31) - 1
"""More bits than a row can cost."""


def folded(value: int) -> int:
    """Return a signed number as a natural one: 0, -1, 1, -2, 2 become 0, 1, 2, 3, 4."""
    return (value << 1) ^ (value >> 63)


def gamma_bits(value: int) -> int:
    """Return the length of a number in gamma code."""
    return 127 - 2 * leading_zeros(np.uint64(value + 1))


def zeta_bits(value: int, k: int) -> int:
    """Return the length of a number in zeta code."""
    top = 63 - leading_zeros(np.uint64(value + 1))
    h = top // k
    return h + 1 + h * k + k - (top == h * k)


def differ(
    offsets: Ints, targets: Ids, row: int, other: int, spare: Ids, blocks: Ints, limit: int
) -> tuple[int, int, int]:
    """Return how a row differs from another: bits of its blocks, their number, and what is new.

    Blocks and new targets are written down. It gives up when the bits reach the limit.
    """
    i, end = offsets[row], offsets[row + 1]
    j, other_end = offsets[other], offsets[other + 1]
    bits, count, new, size = 0, 0, 0, 0
    is_copying = True
    while i < end and j < other_end:
        mine, theirs = targets[i], targets[j]
        if mine < theirs:
            spare[new] = mine
            new += 1
            i += 1
        elif (mine == theirs) == is_copying:
            size += 1
            j += 1
            i += is_copying
        else:
            blocks[count] = size
            bits += gamma_bits(size - (count > 0))
            if bits >= limit:
                return bits, count, new
            count += 1
            size = 0
            is_copying = not is_copying
    if is_copying and j < other_end:
        blocks[count] = size
        bits += gamma_bits(size - (count > 0))
        count += 1
    while i < end:
        spare[new] = targets[i]
        new += 1
        i += 1
    return bits + gamma_bits(count), count, new


def run_length(numbers: Ids, at: int, end: int) -> int:
    """Return how many numbers follow each other without a gap."""
    size = 1
    while at + size < end and numbers[at + size] == numbers[at] + size:
        size += 1
    return size


def cost_of_new(numbers: Ids, at: int, end: int, node: int, shape: Ints, limit: int) -> int:
    """Return the bits of numbers that are not copied; give up when they reach the limit."""
    shortest, k = shape[2], shape[3]
    bits, runs, after, last = 0, 0, 0, -1
    while at < end:
        value = int(np.int64(numbers[at]))
        size = 1
        if shortest > 0 and at + 1 < end and numbers[at + 1] == value + 1:
            size = run_length(numbers, at, end)
        if shortest > 0 and size >= shortest:
            bits += gamma_bits(folded(value - node) if runs == 0 else value - after - 1)
            bits += gamma_bits(size - shortest)
            runs += 1
            after = value + size
            at += size
            continue
        for _ in range(size):
            bits += zeta_bits(folded(value - node) if last < 0 else value - last - 1, k)
            last = value
            value += 1
        at += size
        if bits >= limit:
            return bits
    return bits + (gamma_bits(runs) if shortest > 0 else 0)


def cost_of_row(
    offsets: Ints,
    targets: Ids,
    row: int,
    back: int,
    shape: Ints,
    spare: Ids,
    blocks: Ints,
    limit: int,
) -> int:
    """Return the bits of a row, without its length, if it copies from so many rows back."""
    node = shape[4] + row
    if back == 0:
        start, end = offsets[row], offsets[row + 1]
        return 1 + cost_of_new(targets, start, end, node, shape, limit)
    bits, _, new = differ(offsets, targets, row, row - back, spare, blocks, limit - back - 1)
    bits += back + 1
    if bits >= limit or new == 0:
        return bits
    return bits + cost_of_new(spare, 0, new, node, shape, limit - bits)


def choose(
    offsets: Ints,
    targets: Ids,
    context: int,
    rows: int,
    shape: Ints,
    chosen: Ints,
    depths: Ints,
    spare: Ids,
    blocks: Ints,
) -> int:
    """Choose for each row the cheapest reference, as WebGraph does; return the bits."""
    window, deepest = shape[0], shape[1]
    total = 0
    for row in range(context, rows):
        chosen[row], depths[row] = 0, 0
        if offsets[row + 1] == offsets[row]:
            continue
        best = cost_of_row(offsets, targets, row, 0, shape, spare, blocks, NEVER)
        for back in range(1, min(window, row) + 1):
            other = row - back
            if depths[other] >= deepest or offsets[other + 1] == offsets[other]:
                continue
            bits = cost_of_row(offsets, targets, row, back, shape, spare, blocks, best)
            if bits < best:
                best = bits
                chosen[row], depths[row] = back, depths[other] + 1
        total += best
    return total


def cost_table(
    offsets: Ints,
    targets: Ids,
    context: int,
    rows: int,
    shape: Ints,
    costs: Ids,
    spare: Ids,
    blocks: Ints,
) -> int:
    """Write what each row costs with each reference; NEVER if that is not less than with none.

    The costs of row i stand at i * (window + 1).
    """
    window = shape[0]
    for row in range(context, rows):
        at = row * (window + 1)
        for back in range(window + 1):
            costs[at + back] = NEVER
        if offsets[row + 1] == offsets[row]:
            costs[at] = 0
            continue
        alone = cost_of_row(offsets, targets, row, 0, shape, spare, blocks, NEVER)
        costs[at] = alone
        for back in range(1, min(window, row) + 1):
            if offsets[row - back + 1] > offsets[row - back]:
                bits = cost_of_row(offsets, targets, row, back, shape, spare, blocks, alone)
                if bits < alone:
                    costs[at + back] = bits
    return rows


def best_back(costs: Ids, row: int, shape: Ints) -> int:
    """Return how many rows back the cheapest reference of a row lies; 0 for none."""
    width = shape[0] + 1
    best = 0
    for back in range(1, width):
        if costs[row * width + back] < costs[row * width + best]:
            best = back
    return best


def prune(
    context: int, rows: int, shape: Ints, costs: Ids, chosen: Ints, depths: Ints, gains: Floats
) -> int:
    """Choose references so that no chain is too long and the sum of bits is small.

    Each row's cheapest reference makes a forest, some of whose edges must be cut; a row that was
    cut takes the cheapest other reference that still fits. `gains` has a place per row and level.
    """
    for row in range(context, rows):
        chosen[row] = best_back(costs, row, shape)
    find_gains(context, rows, shape, costs, chosen, gains)
    cut(context, rows, shape, costs, chosen, depths, gains)
    return mend_cut(context, rows, shape, costs, chosen, depths, gains)


def find_gains(
    context: int, rows: int, shape: Ints, costs: Ids, chosen: Ints, gains: Floats
) -> None:
    """Find, from the leaves to the roots, what can be saved.

    gains[v, j]: below v, if chains of j more rows may hang from it.
    """
    width, deepest = shape[0] + 1, shape[1]
    levels = deepest + 1
    for i in range(rows * levels):
        gains[i] = 0.0
    for row in range(rows - 1, context - 1, -1):
        back = chosen[row]
        if back == 0:
            continue
        saved = costs[row * width] * 1.0 - costs[row * width + back]
        for j in range(levels):
            kept = saved + gains[row * levels + j - 1] if j > 0 else -1.0
            gains[(row - back) * levels + j] += max(gains[row * levels + deepest], kept)


def cut(
    context: int, rows: int, shape: Ints, costs: Ids, chosen: Ints, depths: Ints, gains: Floats
) -> None:
    """Take references away, from the roots to the leaves, where what hangs below is worth more."""
    width, deepest = shape[0] + 1, shape[1]
    levels = deepest + 1
    for row in range(context, rows):
        back = chosen[row]
        depths[row] = 0
        if back == 0:
            continue
        left = deepest - depths[row - back]
        saved = costs[row * width] * 1.0 - costs[row * width + back]
        if left > 0 and saved + gains[row * levels + left - 1] >= gains[row * levels + deepest]:
            depths[row] = depths[row - back] + 1
        else:
            chosen[row] = 0


def measure_below(context: int, rows: int, chosen: Ints, heights: Floats) -> None:
    """Write how long the longest chain below each row is."""
    for row in range(rows):
        heights[row] = 0.0
    for row in range(rows - 1, context - 1, -1):
        if chosen[row] > 0:
            other = row - chosen[row]
            heights[other] = max(heights[other], heights[row] + 1.0)


def mend_cut(
    context: int, rows: int, shape: Ints, costs: Ids, chosen: Ints, depths: Ints, heights: Floats
) -> int:
    """Give rows without a reference the cheapest one that makes no chain too long."""
    width, deepest = shape[0] + 1, shape[1]
    measure_below(context, rows, chosen, heights)
    mended = 0
    for row in range(context, rows):
        best = chosen[row]
        if best == 0:
            for back in range(1, min(width, row + 1)):
                fits = depths[row - back] + 1 + heights[row] <= deepest
                if fits and costs[row * width + back] < costs[row * width + best]:
                    best = back
            mended += best > 0
        chosen[row] = best
        depths[row] = depths[row - best] + 1 if best > 0 else 0
    return mended


def write_new(
    words: Words, pos: int, numbers: Ids, at: int, end: int, node: int, shape: Ints
) -> int:
    """Write numbers that are not copied: runs, then gaps; return the position after them."""
    shortest, k = shape[2], shape[3]
    if shortest > 0:
        pos = write_runs(words, pos, numbers, at, end, node, shortest)
    last = -1
    while at < end:
        size = 1 if shortest == 0 else run_length(numbers, at, end)
        if shortest > 0 and size >= shortest:
            at += size
            continue
        for _ in range(size):
            value = int(np.int64(numbers[at]))
            pos = write_zeta(words, pos, folded(value - node) if last < 0 else value - last - 1, k)
            last = value
            at += 1
    return pos


def write_runs(
    words: Words, pos: int, numbers: Ids, start: int, end: int, node: int, shortest: int
) -> int:
    """Write how many runs there are, and each one; return the position after them."""
    runs, at = 0, start
    while at < end:
        size = run_length(numbers, at, end)
        runs += size >= shortest
        at += size
    pos = write_gamma(words, pos, runs)
    is_first, after, at = True, 0, start
    while at < end:
        size = run_length(numbers, at, end)
        if size >= shortest:
            left = int(np.int64(numbers[at]))
            pos = write_gamma(words, pos, folded(left - node) if is_first else left - after - 1)
            pos = write_gamma(words, pos, size - shortest)
            is_first, after = False, left + size
        at += size
    return pos


def write_rows(
    offsets: Ints,
    targets: Ids,
    context: int,
    rows: int,
    shape: Ints,
    chosen: Ints,
    spare: Ids,
    blocks: Ints,
    words: Words,
    pos: int,
    places: Ints,
) -> int:
    """Write rows with the references chosen; return the position after them.

    The position of each row goes to `places`.
    """
    for row in range(context, rows):
        places[row - context] = pos
        start, end, node = offsets[row], offsets[row + 1], shape[4] + row
        pos = write_gamma(words, pos, end - start)
        if start == end:
            continue
        back = chosen[row]
        if shape[0] > 0:
            pos = write_unary(words, pos, back)
        if back == 0:
            pos = write_new(words, pos, targets, start, end, node, shape)
            continue
        _, count, new = differ(offsets, targets, row, row - back, spare, blocks, NEVER)
        pos = write_gamma(words, pos, count)
        for block in range(count):
            pos = write_gamma(words, pos, blocks[block] - (block > 0))
        if new > 0:
            pos = write_new(words, pos, spare, 0, new, node, shape)
    return pos


def write_gaps(words: Words, pos: int, values: Ints, count: int, last: int) -> int:
    """Write ascending numbers as gaps in gamma code; return the position after them."""
    for i in range(count):
        pos = write_gamma(words, pos, values[i] - last)
        last = values[i]
    return pos
