"""The inner loops of a URL map's writer: what follows from what, and which codes say it shortest.

The layout is described in `read_kernels`. Strings are found in a trie: a table of words, each
(node << 8 | byte) + 1 << 32 | child << 13 | code + 1 of the string that ends there, or 0.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gossamer.graph.names.read_kernels import PER_GROUP, PER_PART, integer, same_bytes

Bytes: TypeAlias = NDArray[np.uint8]
Halves: TypeAlias = NDArray[np.uint32]
Words: TypeAlias = NDArray[np.uint64]
Ints: TypeAlias = NDArray[np.int64]


def front(keys: Bytes, starts: Ints, many: int, text: Bytes, ends: Ints) -> int:
    """Write the texts of parts of keys, which follow each other; return the length.

    `starts` has one more place, that of the end. There is room for all keys and four bytes more for
    each. -1 if the keys do not ascend.
    """
    out = 0
    for number in range(many):
        start, end = starts[number], starts[number + 1]
        kept = 0
        if number:
            before = starts[number - 1]
            kept = same_bytes(keys, before, start, (keys, start, end))
            if start + kept == end or (
                before + kept < start and keys[before + kept] > keys[start + kept]
            ):
                return -1
        base = number - 1 if number % PER_PART else number - number % PER_GROUP
        if number % PER_PART == 0:
            kept = same_bytes(keys, starts[base], starts[base + 1], (keys, start, end))
        out = _drop(text, out, starts[base + 1] - starts[base] - kept)
        for at in range(start + kept, end):
            text[out] = keys[at]
            out += 1
        text[out] = 0
        out += 1
        ends[number // PER_PART] = out
    return out


def plant(pool: Bytes, lengths: Ints, many: int, trie: Words, mask: int) -> int:
    """Put strings, which follow each other in `pool`, into an empty trie that has room for them."""
    at = nodes = 0
    for code in range(many):
        node = place = 0
        for _ in range(lengths[code]):
            key = node << 8 | integer(pool[at])
            place = _place(trie, mask, key)
            if trie[place] == 0:
                nodes += 1
                trie[place] = np.uint64(key + 1 << 32 | nodes << 13)
            node = integer(trie[place] >> np.uint64(13) & np.uint64(0x7FFFF))
            at += 1
        trie[place] |= np.uint64(code + 1)
    return nodes


def parse(
    text: Bytes, size: int, trie: Words, mask: int, lengths: Ints, costs: Halves, codes: Halves
) -> int:
    """Write the fewest codes that say a text; return their number, -1 if it cannot be said."""
    return _parse((text, 0, size), trie, mask, lengths, costs, codes)


def pack(
    text: Bytes,
    ends: Ints,
    parts: int,
    trie: Words,
    mask: int,
    lengths: Ints,
    costs: Halves,
    codes: Halves,
    out: Bytes,
    places: Ints,
) -> int:
    """Write parts in codes, and where each of them ends; return the bytes, -1 if impossible.

    `out` has room for two bytes for each byte of text; `costs` for the longest part and one more.
    """
    start = at = 0
    for part in range(parts):
        many = _parse((text, start, ends[part]), trie, mask, lengths, costs, codes)
        if many < 0:
            return -1
        at = _emit(codes, many, out, at)
        places[part] = at
        start = ends[part]
    return at


def _parse(
    part: tuple[Bytes, int, int],
    trie: Words,
    mask: int,
    lengths: Ints,
    costs: Halves,
    codes: Halves,
) -> int:
    """Write the fewest codes that say a part of a text; return their number, or -1."""
    text, first, end = part
    costs[end - first] = 0
    for start in range(end - 1, first - 1, -1):
        node = 0
        best = end - first + 1
        choice = 0
        for at in range(start, end):
            word = trie[_place(trie, mask, node << 8 | integer(text[at]))]
            if word == 0:
                break
            node = integer(word >> np.uint64(13) & np.uint64(0x7FFFF))
            code = integer(word & np.uint64(0x1FFF)) - 1
            if code >= 0 and integer(costs[at + 1 - first]) < best:
                best = integer(costs[at + 1 - first])
                choice = code
        if best > end - first:
            return -1
        costs[start - first] = best + 1
        codes[start - first] = choice
    return _gathered(codes, end - first, lengths)


def _emit(codes: Halves, many: int, out: Bytes, at: int) -> int:
    """Write codes in 12 bits each, the last one rounded up; return the place behind them."""
    for number in range(0, many - 1, 2):
        one, two = integer(codes[number]), integer(codes[number + 1])
        out[at] = one & 0xFF
        out[at + 1] = one >> 8 | (two & 15) << 4
        out[at + 2] = two >> 4
        at += 3
    if many & 1:
        last = integer(codes[many - 1])
        out[at] = last & 0xFF
        out[at + 1] = last >> 8
        at += 2
    return at


def _drop(text: Bytes, at: int, number: int) -> int:
    """Write how many bytes a key drops; return the place behind it."""
    if number < 0xE0:
        text[at] = number
        return at + 1
    text[at] = 0xE0 + (number >> 16)
    text[at + 1] = number >> 8 & 0xFF
    text[at + 2] = number & 0xFF
    return at + 3


def _place(trie: Words, mask: int, key: int) -> int:
    """Return the place of a key in a trie's table, or where it belongs."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    place = integer(mixed >> np.uint64(32)) & mask
    while trie[place] != 0 and integer(trie[place] >> np.uint64(32)) != key + 1:
        place = (place + 1) & mask
    return place


def _gathered(codes: Halves, size: int, lengths: Ints) -> int:
    """Move the codes of a best way to the front; return their number."""
    at = many = 0
    while at < size:
        code = integer(codes[at])
        codes[many] = code
        at += lengths[code]
        many += 1
    return many
