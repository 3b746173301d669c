"""The inner loops of the set of keys, for `gossamer.native`: flat arrays in, flat arrays out.

Every literal that meets a key is a np.uint64: numba turns mixed signed and unsigned arithmetic
into floats without a word.

Slots: a power of two of places and one more; 0 is an empty place, so the last element says whether
the key 0 itself is held; the mask is one less than the power. Words: a filter of 64-bit words, four
bits of one word per key.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Keys: TypeAlias = NDArray[np.uint64]
Flags: TypeAlias = NDArray[np.bool_]
Places: TypeAlias = NDArray[np.int64]

INLINED = True

BLOCK_KEYS = 512
"""Keys between two entries of a run's index: one page of 4 KiB."""

_NONE = np.uint64(0)
_ONE = np.uint64(1)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_SIX, _TWELVE, _EIGHTEEN = np.uint64(6), np.uint64(12), np.uint64(18)
_LOW = np.uint64(63)


def is_in(slots: Keys, last: int, key: np.uint64) -> bool:
    """Return True if a table holds a key."""
    if key == _NONE:
        return bool(slots[last + 1] != _NONE)
    slot = int(np.int64((key * _MIX) >> _HALF)) & last
    while slots[slot] != _NONE and slots[slot] != key:
        slot = (slot + 1) & last
    return bool(slots[slot] == key)


def miss(
    keys: Keys, count: int, live: Keys, last: int, frozen: Keys, frozen_last: int, unknown: Flags
) -> int:
    """Flag the keys that are in neither of two tables; return how many."""
    misses = 0
    for i in range(count):
        known = is_in(live, last, keys[i]) or is_in(frozen, frozen_last, keys[i])
        unknown[i] = 0 if known else 1
        if not known:
            misses += 1
    return misses


def insert(slots: Keys, last: int, keys: Keys, many: int, fresh: Keys) -> int:
    """Put keys into the slots; copy those that were not there into `fresh`; return how many."""
    count = 0
    for i in range(many):
        key = keys[i]
        slot = int(np.int64((key * _MIX) >> _HALF)) & last
        while slots[slot] != _NONE and slots[slot] != key:
            slot = (slot + 1) & last
        if key == _NONE:
            slot = last + 1
        if slots[slot] == _NONE:
            slots[slot] = key if key != _NONE else _ONE
            fresh[count] = key
            count += 1
    return count


def bits_of(mixed: np.uint64) -> np.uint64:
    """Return the bits of a key in its word of the filter."""
    bits = (_ONE << (mixed & _LOW)) | (_ONE << ((mixed >> _SIX) & _LOW))
    return bits | _ONE << ((mixed >> _TWELVE) & _LOW) | (_ONE << ((mixed >> _EIGHTEEN) & _LOW))


def mixed_of(key: np.uint64) -> np.uint64:
    """Return a key whose bits all depend on each other."""
    mixed = key * _MIX
    return (mixed ^ (mixed >> _HALF)) * _MIX


def add_to_filter(words: Keys, size: int, keys: Keys, count: int) -> int:
    """Set the bits of each key."""
    for i in range(count):
        mixed = mixed_of(keys[i])
        words[int(np.int64(((mixed >> _HALF) * np.uint64(size)) >> _HALF))] |= bits_of(mixed)
    return 0


def search(
    keys: Keys,
    many: int,
    unknown: Flags,
    held: Keys,
    held_count: int,
    index: Keys,
    index_count: int,
    words: Keys,
    size: int,
    passed: Places,
    low: Places,
) -> int:
    """Unflag the keys that a run holds; return how many had to be looked up.

    A run is the keys held (sorted, mapped from disk), an index of every 512th, and filter words.
    All keys go through each step together, without branches: what a step reads lies far apart in
    memory and does not depend on the other keys, so the processor waits for many reads at once.
    """
    count = 0
    for i in range(many):
        mixed = mixed_of(keys[i])
        bits = bits_of(mixed)
        passed[count] = i
        word = words[int(np.int64(((mixed >> _HALF) * np.uint64(size)) >> _HALF))]
        if unknown[i] and word & bits == bits:
            count += 1
    for n in range(count):
        low[n] = 0
    left = index_count
    while left > 1:
        half = left >> 1
        for n in range(count):
            low[n] += half * (index[low[n] + half] <= keys[passed[n]])
        left -= half
    last = held_count - 1
    for n in range(count):
        low[n] *= BLOCK_KEYS
    half = BLOCK_KEYS >> 1
    while half:
        for n in range(count):
            middle = min(low[n] + half, last)
            low[n] += (middle - low[n]) * (held[middle] <= keys[passed[n]])
        half >>= 1
    for n in range(count):
        if held[low[n]] == keys[passed[n]]:
            unknown[passed[n]] = 0
    return count
