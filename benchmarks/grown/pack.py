"""Queue rows as the frontier packs them, a chunk of the grown web at a time."""

from functools import cache
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gossamer.config import FrontierConfig
from gossamer.urls import host_key
from grown.web import (
    HOSTS,
    NEW,
    OWN,
    PATH_BYTES,
    ROWS,
    Bytes,
    Ints,
    flat,
    host_names,
    host_of_row,
    mix,
    words,
    write_origin,
    write_path,
    write_texts,
)

KEY_BYTES = 21
QUEUES = 16
"""Room for a host's queues, one per grade."""
LEAST_DEPTH, DEPTHS = 4, 4
TEXT_BYTES = PATH_BYTES + 60
_VIA = 1 << 60

Names = tuple[Bytes, Ints, Bytes, Ints]


class Packed(NamedTuple):
    """Queue rows: keys, values, and the URLs in them."""

    places: Bytes
    values: Bytes
    value_ends: Ints
    texts: Bytes
    text_ends: Ints
    numbers: Ints
    ring_bits: NDArray[np.uint64]


@cache
def rings() -> Bytes:
    """Return the key of each host."""
    joined = b"".join(host_key(name) for name in host_names())
    return np.frombuffer(joined, np.uint8).reshape(HOSTS, 11)


@cache
def names() -> Names:
    """Return host names and words as compiled code reads them."""
    return (*flat(list(host_names())), *words())


def grades_of_pages(pages: int) -> Ints:
    """Return the grade of the URLs that each page led to."""
    grades = FrontierConfig().grades
    by = np.array([max(1, grades - LEAST_DEPTH - n) for n in range(DEPTHS)])
    return by[depths_of_pages(pages)]


@njit(cache=True)
def depths_of_pages(pages: int) -> Ints:
    """Return the depth of the URLs that each page led to, above the least."""
    depths = np.empty(pages, np.int64)
    for page in range(pages):
        depths[page] = depth_of_page(page)
    return depths


@njit(cache=True)
def depth_of_page(page: int) -> int:
    """Return the depth of the URLs that a page led to, above the least."""
    return np.int64(mix(page ^ 0x777777777777) % np.uint64(DEPTHS))


def pack(rows: Ints, sequences: Ints, grades: Ints) -> Packed:
    """Return queue rows by their numbers, in the order given."""
    urls = np.where(rows % ROWS, 1, OWN)
    numbers = np.repeat(rows // ROWS * NEW + np.where(rows % ROWS, OWN - 1 + rows % ROWS, 0), urls)
    numbers += np.arange(len(numbers)) - np.repeat(np.cumsum(urls) - urls, urls)
    texts, text_ends = write_texts(numbers, *names())
    values, value_ends = pack_values(rows, *names())
    places, ring_bits = pack_keys(rows, sequences, grades, rings())
    return Packed(places, values, value_ends, texts, text_ends, numbers, np.repeat(ring_bits, urls))


@njit(cache=True)
def pack_keys(
    rows: Ints, sequences: Ints, grades: Ints, host_keys: Bytes
) -> tuple[Bytes, NDArray[np.uint64]]:
    """Return the keys of rows, one after another, and the ring of each in place in fingerprints."""
    places = np.empty(len(rows) * KEY_BYTES, np.uint8)
    ring_bits = np.empty(len(rows), np.uint64)
    for n in range(len(rows)):
        key = host_keys[host_of_row(rows[n])]
        write_key(places, n * KEY_BYTES, key, grades[n], sequences[n])
        ring = (np.uint64(key[0]) << np.uint64(16)) | (np.uint64(key[1]) << np.uint64(8))
        ring_bits[n] = (ring | np.uint64(key[2])) << np.uint64(40)
    return places, ring_bits


@njit(cache=True)
def pack_values(
    rows: Ints, host_data: Bytes, host_ends: Ints, data: Bytes, ends: Ints
) -> tuple[Bytes, Ints]:
    """Return the values of rows, one after another, and where each ends."""
    values = np.empty(len(rows) * (TEXT_BYTES + OWN * PATH_BYTES) + 64, np.uint8)
    value_ends = np.empty(len(rows), np.int64)
    targets = np.empty(OWN * PATH_BYTES, np.uint8)
    via = np.empty(TEXT_BYTES, np.uint8)
    at = 0
    for n in range(len(rows)):
        page, place = rows[n] // ROWS, rows[n] % ROWS
        via_end = 0
        if place:
            via_end = write_origin(via, 0, host_of_row(page * ROWS), host_data, host_ends)
        via_end = write_path(via, via_end, _VIA + page, data, ends)
        first = page * NEW + (OWN - 1 + place if place else 0)
        end = write_path(targets, 0, first, data, ends)
        for number in range(first + 1, first + (1 if place else OWN)):
            targets[end] = 10
            end = write_path(targets, end + 1, number, data, ends)
        depth = LEAST_DEPTH + depth_of_page(page)
        at = write_value(values, at, via[:via_end], depth, targets[:end])
        value_ends[n] = at
    return values[:at], value_ends


@njit(cache=True)
def write_key(out: Bytes, at: int, of_host: Bytes, grade: int, sequence: int) -> None:
    """Write the key of a queue row."""
    out[at] = 113
    for n in range(11):
        out[at + 1 + n] = of_host[n]
    out[at + 12] = 255 - grade
    for n in range(8):
        out[at + 20 - n] = (sequence >> (8 * n)) & 255


@njit(cache=True)
def write_value(out: Bytes, at: int, via: Bytes, depth: int, targets: Bytes) -> int:
    """Write one group of tasks: MessagePack, as the frontier's own; return its end."""
    out[at], out[at + 1] = 0x91, 0x98
    at = write_text(out, at + 2, via)
    for byte in (depth, 0xA1, 0x61, 0, 0, 0, 1):
        out[at] = byte
        at += 1
    return write_text(out, at, targets)


@njit(cache=True)
def write_text(out: Bytes, at: int, text: Bytes) -> int:
    """Write a MessagePack text; return its end."""
    size = len(text)
    if size < 32:
        out[at] = 0xA0 | size
        at += 1
    elif size < 256:
        out[at], out[at + 1] = 0xD9, size
        at += 2
    else:
        out[at], out[at + 1], out[at + 2] = 0xDA, size >> 8, size & 255
        at += 3
    for byte in text:
        out[at] = byte
        at += 1
    return at
