"""Rows of a BVGraph: read in order, or one by one. Compiled.

A row is: its length; how many rows back lies one that it copies from; which blocks of that one;
runs of consecutive numbers; the rest as gaps. Rows are decoded one behind the other into one array,
so the row that is copied from is always there, too. Whatever a file says, nothing is written past
the given capacity, and a row that cannot be is refused.

`shape` says: 0 nodes, 1 window, 2 shortest run, 3 k of zeta codes, 4 end of the stream in bits,
5 to 9 the codes of lengths, references, numbers of blocks, blocks, and gaps.
"""

from gossamer.graph.bv.kernels.bit_kernels import (
    ZETA,
    Bytes,
    Ids,
    Ints,
    Words,
    read_code,
    read_gamma,
    read_zeta,
)
from gossamer.graph.bv.kernels.starts_kernels import start_of

INLINED = True
"""Reads half as many links again per second: LLVM would leave the large helpers alone."""
BAD, FULL = -1, -2
"""No sound file has this; there is not enough room."""


def signed(value: int) -> int:
    """Return the number that was folded: 0, -1, 1, -2, 2 for 0, 1, 2, 3, 4."""
    return (value >> 1) ^ -(value & 1)


def copy_run(targets: Ids, source: int, to: int, size: int) -> None:
    """Copy consecutive targets to a later place."""
    for i in range(size):
        targets[to + i] = targets[source + i]


def copy_blocks(stream: Bytes, pos: int, shape: Ints, targets: Ids, row: Ints, limit: int) -> int:
    """Copy blocks of the row at row[0] of length row[1] to row[2]; return the position after.

    row[3] becomes how many were copied, at most `limit`.
    """
    k, end = shape[3], shape[4]
    source, left, to = row[0], row[1], row[2]
    room = to + limit
    count, pos = read_code(shape[7], stream, pos, end, k)
    if count < 0 or count > left + 1:
        return BAD
    for block in range(count):
        size, pos = read_code(shape[8], stream, pos, end, k)
        size += block > 0
        if size < 0 or pos > end or size > left:
            return BAD
        if block & 1 == 0:
            if to + size > room:
                return BAD
            copy_run(targets, source, to, size)
            to += size
        source += size
        left -= size
    if count & 1 == 0:
        if to + left > room:
            return BAD
        copy_run(targets, source, to, left)
        to += left
    row[3] = to - row[2]
    return pos


def read_runs(
    stream: Bytes, pos: int, shape: Ints, node: int, limit: int, spare: Ids
) -> tuple[int, int]:
    """Read runs of consecutive numbers; return how many numbers, and the position after them."""
    nodes, shortest, end = shape[0], shape[2], shape[4]
    count, pos = read_gamma(stream, pos)
    found, left = 0, node
    for run in range(count):
        value, pos = read_gamma(stream, pos)
        size, pos = read_gamma(stream, pos)
        if value < 0 or size < 0 or pos > end:
            return BAD, pos
        left += signed(value) if run == 0 else value + 1
        size += shortest
        if left < 0 or left + size > nodes or found + size > limit:
            return BAD, pos
        for i in range(size):
            spare[found + i] = left + i
        found += size
        left += size
    return found, pos


def read_gaps(
    stream: Bytes, pos: int, shape: Ints, node: int, count: int, out: Ids, at: int
) -> int:
    """Read numbers as gaps; return the position after them."""
    nodes, k, end, code = shape[0], shape[3], shape[4], shape[9]
    value, pos = read_code(code, stream, pos, end, k)
    last = node + signed(value)
    if value < 0 or last < 0:
        return BAD
    out[at] = last
    seen = 0  # all bits of all gaps: were one too large, the sum could go round and seem sound
    if code == ZETA:
        for i in range(at + 1, at + count):
            value, pos = read_zeta(stream, pos, k)
            if pos > end:
                return BAD
            seen |= value
            last += value + 1
            out[i] = last
    else:
        for i in range(at + 1, at + count):
            value, pos = read_code(code, stream, pos, end, k)
            if pos > end:
                return BAD
            seen |= value
            last += value + 1
            out[i] = last
    return pos if last < nodes and 0 <= seen < 1 << 32 and count < 1 << 31 else BAD


def merge(targets: Ids, start: int, kept: int, spare: Ids, first: int, count: int) -> None:
    """Merge numbers of `spare` from `first` on into those at the start of their common room."""
    a = start + kept - 1
    b = first + count - 1
    to = start + kept + count - 1
    while b >= first and a >= start:
        mine, theirs = targets[a], spare[b]
        is_mine = mine > theirs
        targets[to] = mine if is_mine else theirs
        a -= is_mine
        b -= not is_mine
        to -= 1
    while b >= first:
        targets[to] = spare[b]
        b -= 1
        to -= 1


def read_body(
    stream: Bytes,
    pos: int,
    shape: Ints,
    node: int,
    degree: int,
    targets: Ids,
    row: Ints,
    spare: Ids,
) -> int:
    """Decode what follows a row's length and reference into targets[row[2]:]; return the position.

    row: 0 start and 1 length of the row that is copied from (-1: none), 2 where this one goes.
    There is room for the degree at both `row[2]` and `spare`.
    """
    row[3] = 0
    if row[1] >= 0:
        pos = copy_blocks(stream, pos, shape, targets, row, degree)
        if pos < 0:
            return BAD
    at, kept = row[2], row[3]
    left = degree - kept
    found = 0
    if left > 0 and shape[2] > 0:
        found, pos = read_runs(stream, pos, shape, node, left, spare)
        if found < 0:
            return BAD
        left -= found
        merge(targets, at, kept, spare, 0, found)
    if left > 0:
        if found + kept == 0:
            pos = read_gaps(stream, pos, shape, node, left, targets, at)
        else:
            pos = read_gaps(stream, pos, shape, node, left, spare, 0)
            if pos >= 0:
                merge(targets, at, kept + found, spare, 0, left)
    return pos if pos <= shape[4] else BAD


def read_head(stream: Bytes, pos: int, shape: Ints, node: int) -> tuple[int, int, int]:
    """Return a row's length, how many rows back its reference lies, and the position after both."""
    window, k, end = shape[1], shape[3], shape[4]
    degree, pos = read_code(shape[5], stream, pos, end, k)
    if degree < 0 or degree > shape[0] or pos > end:
        return BAD, 0, pos
    back = 0
    if degree > 0 and window > 0:
        back, pos = read_code(shape[6], stream, pos, end, k)
        if back < 0 or back > window or back > node or pos > end:
            return BAD, 0, pos
    return degree, back, pos


def read_rows(
    stream: Bytes,
    shape: Ints,
    places: Ints,
    offsets: Ints,
    targets: Ids,
    spare: Ids,
    row: Ints,
    state: Ints,
) -> int:
    """Decode rows in order; return how many, or BAD. Their bit positions go to `places`.

    state: 0 the bit position (moved on), 1 node, 2 rows that stand already in `offsets`, 3 how many
    it may have, 4 capacity of `targets`, 5 of `spare`, 6 becomes the degree of what did not fit.
    """
    pos, node, rows, most = state[0], state[1], state[2], state[3]
    first = rows
    state[6] = 0
    while rows < most:
        degree, back, after = read_head(stream, pos, shape, node)
        if degree < 0 or back > rows:
            return BAD
        at = offsets[rows]
        if at + degree > state[4] or degree > state[5]:
            state[6] = degree
            break
        if degree > 0:
            row[0] = offsets[rows - back]
            row[1] = offsets[rows - back + 1] - row[0] if back > 0 else -1
            row[2] = at
            after = read_body(stream, after, shape, node, degree, targets, row, spare)
            if after < 0:
                return BAD
        places[rows] = pos
        pos = after
        rows += 1
        node += 1
        offsets[rows] = at + degree
    state[0] = pos
    return int(rows - first)


def walk_chain(stream: Bytes, shape: Ints, starts: Words, node: int, chain: Ints) -> int:
    """Note number, length and place of a row and of those that it copies from; return how many.

    chain: 0 for how many there is room, 1 becomes the sum of lengths; notes from 2 on.
    """
    depth, total, back = 0, 0, 1
    while back > 0:
        pos = start_of(starts, node)
        if depth == chain[0] or pos < 0 or pos > shape[4]:
            return BAD
        degree, back, pos = read_head(stream, pos, shape, node)
        if degree < 0:
            return BAD
        note = 2 + 3 * depth
        chain[note], chain[note + 1], chain[note + 2] = node, degree, pos
        depth += 1
        total += degree
        node -= back
    chain[1] = total
    return depth


def read_row(
    stream: Bytes,
    shape: Ints,
    starts: Words,
    node: int,
    chain: Ints,
    targets: Ids,
    spare: Ids,
    row: Ints,
) -> int:
    """Decode one row, and before it those that it copies from; return its length.

    It stands at targets[row[2]:]. row[4]: capacity of `targets` and of `spare`. FULL: chain[1] is
    needed.
    """
    depth = walk_chain(stream, shape, starts, node, chain)
    if depth < 0:
        return BAD
    if chain[1] > row[4]:
        return FULL
    row[2], degree = 0, 0
    for level in range(depth - 1, -1, -1):
        note = 2 + 3 * level
        row[0] = row[2]
        row[1] = degree if level < depth - 1 else -1
        row[2] += degree
        degree = chain[note + 1]
        if degree > 0:
            node, pos = chain[note], chain[note + 2]
            if read_body(stream, pos, shape, node, degree, targets, row, spare) < 0:
                return BAD
    return int(degree)


def read_many(
    stream: Bytes,
    shape: Ints,
    starts: Words,
    nodes: Ints,
    count: int,
    chain: Ints,
    targets: Ids,
    spare: Ids,
    row: Ints,
    out: Ids,
    offsets: Ints,
) -> int:
    """Decode the rows of some nodes one behind the other; return how many, or BAD.

    row[5]: capacity of `out`. It ends early where that, or row[4], does not hold the next row:
    row[6] becomes what `out` would need for it, chain[1] what `targets` would.
    """
    row[6], at = 0, offsets[0]
    for i in range(count):
        degree = read_row(stream, shape, starts, nodes[i], chain, targets, spare, row)
        if degree == BAD:
            return BAD
        if degree == FULL:
            return i
        if at + degree > row[5]:
            row[6] = at + degree
            return i
        for j in range(degree):
            out[at + j] = targets[row[2] + j]
        at += degree
        offsets[i + 1] = at
    return count


def degree_of(stream: Bytes, shape: Ints, starts: Words, node: int) -> int:
    """Return the length of one row, or BAD."""
    pos = start_of(starts, node)
    if pos < 0 or pos > shape[4]:
        return BAD
    return read_head(stream, pos, shape, node)[0]
