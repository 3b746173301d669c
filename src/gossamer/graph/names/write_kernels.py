"""The inner loops of a URL map's writer: what follows from what, and which codes say it shortest.

The layout is described in `read_kernels`. Strings are found in a trie: a table of words, each
(node << 8 | byte) + 1 << 32 | child << 13 | code + 1 of the string that ends there, or 0.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gossamer.graph.names.read_kernels import checksum_of

Bytes: TypeAlias = NDArray[np.uint8]
Halves: TypeAlias = NDArray[np.uint32]
Words: TypeAlias = NDArray[np.uint64]
Ints: TypeAlias = NDArray[np.int64]


def front(keys: Bytes, many: int, per_bucket: int, text: Bytes, ends: Ints) -> int:
    """Write the texts of buckets of keys, each followed by a zero; return the length.

    There is room for all keys and three bytes more for each. -1 if the keys do not ascend.
    """
    before = at = start = out = 0
    for number in range(many):
        kept = 0
        if number:
            while keys[before + kept] != 0 and keys[before + kept] == keys[start + kept]:
                kept += 1
            if keys[before + kept] >= keys[start + kept]:
                return -1
        if number % per_bucket:
            out = _drop(text, out, start - 1 - before - kept)
        else:
            kept = 0
        at = start + kept
        while keys[at] != 0:
            text[out] = keys[at]
            out += 1
            at += 1
        text[out] = 0
        out += 1
        before, start = start, at + 1
        ends[number // per_bucket] = out
    return out


def plant(pool: Bytes, lengths: Ints, many: int, trie: Words, mask: int) -> int:
    """Put strings, which follow each other in `pool`, into an empty trie that has room for them."""
    at = nodes = 0
    for code in range(many):
        node = place = 0
        for _ in range(lengths[code]):
            key = node << 8 | np.int64(pool[at])
            place = _place(trie, mask, key)
            if trie[place] == 0:
                nodes += 1
                trie[place] = np.uint64(key + 1 << 32 | nodes << 13)
            node = np.int64(trie[place] >> np.uint64(13) & np.uint64(0x7FFFF))
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
    buckets: int,
    per_group: int,
    trie: Words,
    mask: int,
    lengths: Ints,
    costs: Halves,
    codes: Halves,
    out: Bytes,
    words: Words,
) -> int:
    """Write buckets in codes, and a word of index for each; return the bytes, -1 if impossible.

    `out` has room for two bytes for each byte of text; `costs` for the longest bucket and one more.
    """
    start = at = group = 0
    for bucket in range(buckets):
        if bucket % per_group == 0:
            group = at
        many = _parse((text, start, ends[bucket]), trie, mask, lengths, costs, codes)
        if many < 0:
            return -1
        begin = at
        at = _emit(codes, many, out, at)
        words[bucket] = np.uint64(checksum_of(out, begin, at)) << np.uint64(32)
        words[bucket] |= np.uint64(at - group)
        start = ends[bucket]
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
            word = trie[_place(trie, mask, node << 8 | np.int64(text[at]))]
            if word == 0:
                break
            node = np.int64(word >> np.uint64(13) & np.uint64(0x7FFFF))
            code = np.int64(word & np.uint64(0x1FFF)) - 1
            if code >= 0 and np.int64(costs[at + 1 - first]) < best:
                best = np.int64(costs[at + 1 - first])
                choice = code
        if best > end - first:
            return -1
        costs[start - first] = best + 1
        codes[start - first] = choice
    return _gathered(codes, end - first, lengths)


def _emit(codes: Halves, many: int, out: Bytes, at: int) -> int:
    """Write codes in 12 bits each, the last one rounded up; return the place behind them."""
    for number in range(0, many - 1, 2):
        one, two = np.int64(codes[number]), np.int64(codes[number + 1])
        out[at] = one & 0xFF
        out[at + 1] = one >> 8 | (two & 15) << 4
        out[at + 2] = two >> 4
        at += 3
    if many & 1:
        last = np.int64(codes[many - 1])
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
    place = np.int64(mixed >> np.uint64(32)) & mask
    while trie[place] != 0 and np.int64(trie[place] >> np.uint64(32)) != key + 1:
        place = (place + 1) & mask
    return place


def _gathered(codes: Halves, size: int, lengths: Ints) -> int:
    """Move the codes of a best way to the front; return their number."""
    at = many = 0
    while at < size:
        code = np.int64(codes[at])
        codes[many] = code
        at += lengths[code]
        many += 1
    return many
