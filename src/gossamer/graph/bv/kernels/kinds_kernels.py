"""Kinds of links, row by row, as runs: most rows are of one kind. Compiled.

A row has as many kinds as links: the number of runs minus 1, and of each run its kind and its
length minus 1, but for the last one, which takes the rest. A row without links has nothing. Kinds
that are common have short codes: see `RANKS`.
"""

import numpy as np

from gossamer.graph.bv.kernels.bit_kernels import Bytes, Ints, Words, read_gamma, write_gamma
from gossamer.graph.bv.kernels.starts_kernels import start_of
from gossamer.native import leading_zeros

BAD = -1


def rank_of(kind: int) -> int:
    """Return a short number for a common kind: one bit alone is below 8, by its place."""
    if kind > 0 and kind & (kind - 1) == 0:
        return 63 - leading_zeros(np.uint64(kind))
    return kind + 8


def kind_at(rank: int) -> int:
    """Return the kind that has a short number."""
    return 1 << rank if rank < 8 else rank - 8


def read_row_kinds(stream: Bytes, pos: int, end: int, degree: int, out: Bytes, at: int) -> int:
    """Write the kinds of one row to out[at:]; return the position after them, or BAD."""
    runs, pos = read_gamma(stream, pos)
    left = degree
    for run in range(runs + 1):
        rank, pos = read_gamma(stream, pos)
        size = left
        if run < runs:
            size, pos = read_gamma(stream, pos)
            size += 1
        if rank < 0 or rank > 263 or size < 0 or size > left or pos > end:
            return BAD
        kind = kind_at(rank)
        for i in range(size):
            out[at + i] = kind
        at += size
        left -= size
    return pos if left == 0 and pos <= end else BAD


def read_kinds(stream: Bytes, starts: Words, end: int, node: int, degree: int, out: Bytes) -> int:
    """Write the kinds of a node's links; return the position after them, or BAD."""
    pos = start_of(starts, node)
    if pos < 0 or pos > end:
        return BAD
    return read_row_kinds(stream, pos, end, degree, out, 0) if degree > 0 else pos


def read_all_kinds(stream: Bytes, pos: int, offsets: Ints, rows: int, end: int, out: Bytes) -> int:
    """Write the kinds of consecutive rows; return the position after them, or BAD."""
    for row in range(rows):
        degree = offsets[row + 1] - offsets[row]
        if degree > 0:
            pos = read_row_kinds(stream, pos, end, degree, out, offsets[row])
            if pos < 0:
                return BAD
    return pos


def write_kinds(
    offsets: Ints, kinds: Bytes, rows: int, words: Words, pos: int, places: Ints
) -> int:
    """Write the kinds of consecutive rows; return the position after them.

    The position of each row goes to `places`. A link of no kind is none of ours.
    """
    for row in range(rows):
        places[row] = pos
        start, end = offsets[row], offsets[row + 1]
        if start == end:
            continue
        runs = 0
        for i in range(start + 1, end):
            runs += kinds[i] != kinds[i - 1]
        pos = write_gamma(words, pos, runs)
        while start < end:
            stop = start + 1
            while stop < end and kinds[stop] == kinds[start]:
                stop += 1
            pos = write_gamma(words, pos, rank_of(int(np.int64(kinds[start]))))
            if stop < end:
                pos = write_gamma(words, pos, stop - start - 1)
            start = stop
    return pos
