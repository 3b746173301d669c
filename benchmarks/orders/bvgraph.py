"""Reads a graph in WebGraph's BVGraph format from its first list to its last.

Of each page the file has: its number of links; a reference, how many pages back a list lies that
is partly copied; which blocks of that list are copied; runs of consecutive ids (intervals); and the
rest (residuals), as gaps. See Boldi and Vigna, "The WebGraph Framework I" (WWW 2004).
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Offsets = NDArray[np.int64]
Ids = NDArray[np.int32]
Bytes = NDArray[np.uint8]
Lists = NDArray[np.int64]

UNARY, GAMMA, DELTA, ZETA = 0, 1, 2, 3
CODES = {"UNARY": UNARY, "GAMMA": GAMMA, "DELTA": DELTA, "ZETA": ZETA}
DEFAULTS = {
    "OUTDEGREES": GAMMA,
    "REFERENCES": UNARY,
    "BLOCK_COUNT": GAMMA,
    "BLOCKS": GAMMA,
    "RESIDUALS": ZETA,
}


class Shape(NamedTuple):
    """What a properties file says about its graph: sizes, limits, and the code of each part."""

    nodes: int
    arcs: int
    window: int
    min_interval: int
    zeta_k: int
    outdegrees: int
    references: int
    block_count: int
    blocks: int
    residuals: int


def read_shape(path: Path) -> Shape:
    """Return what a properties file says; a code that we do not know ends in a KeyError."""
    lines = path.read_text().splitlines()
    pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
    said = {key.strip(): value.strip() for key, _, value in pairs}
    codes = dict(DEFAULTS)
    for flag in filter(None, (flag.strip() for flag in said["compressionflags"].split("|"))):
        part, _, code = flag.rpartition("_")
        codes[part] = CODES[code]
    return Shape(
        int(said["nodes"]),
        int(said["arcs"]),
        int(said["windowsize"]),
        int(said["minintervallength"]),
        int(said.get("zetak", 3)),
        *(codes[part] for part in DEFAULTS),
    )


def read_bvgraph(base: Path) -> tuple[Offsets, Ids]:
    """Return where each page's links begin, and the links, of BASE.graph with BASE.properties."""
    shape = read_shape(base.with_name(base.name + ".properties"))
    data = np.fromfile(base.with_name(base.name + ".graph"), np.uint8)
    padded = np.concatenate([data, np.zeros(8, np.uint8)])
    offsets, targets = decode(padded, shape)
    assert len(targets) == shape.arcs, f"{len(targets)} links, expected {shape.arcs}"
    return offsets, targets


@njit(cache=True)
def read_bits(data: Bytes, at: int, count: int) -> int:
    """Return the number in so many bits from a place on, the highest first."""
    value = 0
    while count > 0:
        room = 8 - (at & 7)
        taken = min(room, count)
        part = (data[at >> 3] >> (room - taken)) & ((1 << taken) - 1)
        value = (value << taken) | part
        at += taken
        count -= taken
    return value


@njit(cache=True)
def read_unary(data: Bytes, at: int) -> int:
    """Return how many zeros precede the next one."""
    start = at
    while not (data[at >> 3] >> (7 - (at & 7))) & 1:
        at += 1
    return at - start


@njit(cache=True)
def read_gamma(data: Bytes, at: int) -> tuple[int, int]:
    """Return a number in Elias's gamma code, and where it ends."""
    width = read_unary(data, at)
    at += width + 1
    return ((1 << width) | read_bits(data, at, width)) - 1, at + width


@njit(cache=True)
def read_code(data: Bytes, at: int, code: int, zeta_k: int) -> tuple[int, int]:
    """Return a number in a code, and where it ends."""
    if code == GAMMA:
        return read_gamma(data, at)
    if code == DELTA:
        width, at = read_gamma(data, at)
        return ((1 << width) | read_bits(data, at, width)) - 1, at + width
    zeros = read_unary(data, at)
    at += zeros + 1
    if code == UNARY:
        return zeros, at
    low = 1 << (zeros * zeta_k)
    width = zeros * zeta_k + zeta_k - 1
    value = read_bits(data, at, width)
    at += width
    if value < low:
        return value + low - 1, at
    return (value << 1) + read_bits(data, at, 1) - 1, at + 1


@njit(cache=True)
def signed(natural: int) -> int:
    """Return the integer that a natural number stands for: 0, -1, 1, -2, 2, …"""
    return -((natural + 1) >> 1) if natural & 1 else natural >> 1


@njit(cache=True)
def read_copied(data: Bytes, at: int, shape: Shape, listed: Ids, into: Lists) -> tuple[int, int]:
    """Copy the chosen blocks of a list; return how many ids they have, and where to read on."""
    count, at = read_code(data, at, shape.block_count, shape.zeta_k)
    place, copied = 0, 0
    for block in range(count + 1):
        is_copied = block % 2 == 0
        if block < count:
            size, at = read_code(data, at, shape.blocks, shape.zeta_k)
            size += 1 if block else 0
        else:
            size = len(listed) - place
        if is_copied:
            into[copied : copied + size] = listed[place : place + size]
            copied += size
        place += size
    return copied, at


@njit(cache=True)
def read_intervals(data: Bytes, at: int, page: int, least: int, into: Lists) -> tuple[int, int]:
    """Read runs of consecutive ids; return how many ids they have, and where to read on."""
    count, at = read_gamma(data, at)
    found, left = 0, page
    for run in range(count):
        value, at = read_gamma(data, at)
        left = page + signed(value) if run == 0 else left + value + 1
        size, at = read_gamma(data, at)
        size += least
        for one in range(left, left + size):
            into[found] = one
            found += 1
        left += size
    return found, at


@njit(cache=True)
def decode(data: Bytes, shape: Shape) -> tuple[Offsets, Ids]:
    """Return all lists, each in ascending order, one after the other."""
    offsets = np.zeros(shape.nodes + 1, np.int64)
    targets = np.zeros(shape.arcs, np.int32)
    found = np.zeros(shape.nodes + 1, np.int64)
    at = 0
    for page in range(shape.nodes):
        begin = offsets[page]
        degree, at = read_code(data, at, shape.outdegrees, shape.zeta_k)
        offsets[page + 1] = begin + degree
        if degree == 0:
            continue
        count, back = 0, 0
        if shape.window > 0:
            back, at = read_code(data, at, shape.references, shape.zeta_k)
        if back > 0:
            listed = targets[offsets[page - back] : offsets[page - back + 1]]
            count, at = read_copied(data, at, shape, listed, found)
        if count < degree and shape.min_interval > 0:
            more, at = read_intervals(data, at, page, shape.min_interval, found[count:])
            count += more
        previous = -1
        for place in range(count, degree):
            value, at = read_code(data, at, shape.residuals, shape.zeta_k)
            previous = page + signed(value) if place == count else previous + value + 1
            found[place] = previous
        targets[begin : begin + degree] = np.sort(found[:degree])
    return offsets, targets
