"""The inner loops of the credit table, for `gossamer.native`: flat arrays in, flat arrays out.

Slots: a power of two of places, each a URL key or 0 (a key that is 0 itself is held as 1); the mask
is one less. Of each place: the key, what it holds, whether the URL had its turn. Every literal that
meets a key is a np.uint64, as in `seen/key_kernels.py`.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Keys: TypeAlias = NDArray[np.uint64]
Floats: TypeAlias = NDArray[np.float32]
Flags: TypeAlias = NDArray[np.uint8]
Numbers: TypeAlias = NDArray[np.float64]

INLINED = True
_NONE, _ONE = np.uint64(0), np.uint64(1)
_MIX, _HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


def place_of(slots: Keys, last: int, key: np.uint64) -> int:
    """Return where a key is, or the empty place where it would be."""
    slot = int(np.int64((key * _MIX) >> _HALF)) & last
    while slots[slot] != _NONE and slots[slot] != key:
        slot = (slot + 1) & last
    return slot


def place(slots: Keys, last: int, key: Keys) -> int:
    """Return where a key is, or the empty place where it would be."""
    return place_of(slots, last, key[0] if key[0] != _NONE else _ONE)


def give(
    slots: Keys,
    last: int,
    held: Floats,
    done: Flags,
    keys: Keys,
    count: int,
    how: Numbers,
    before: Numbers,
    after: Numbers,
) -> int:
    """Give each key a share; tell what each had and has, of those that had their turn nothing.

    `how` is share and level. Return how many keys are new here.
    """
    share, level = how[0], how[1]
    fresh = 0
    for i in range(count):
        key = keys[i] if keys[i] != _NONE else _ONE
        slot = place_of(slots, last, key)
        if slots[slot] == _NONE:
            slots[slot] = key
            fresh += 1
        before[i] = held[slot] + level
        after[i] = before[i] + share
        held[slot] = np.float32(held[slot] + share)
        if done[slot]:
            after[i] = 0.0
    return fresh


def fill(
    slots: Keys,
    last: int,
    held: Floats,
    done: Flags,
    keys: Keys,
    count: int,
    credit: Floats,
    turns: Flags,
) -> int:
    """Put keys, their credit and whether they had their turn into an empty table."""
    for i in range(count):
        key = keys[i] if keys[i] != _NONE else _ONE
        slot = place_of(slots, last, key)
        slots[slot] = key
        held[slot] = credit[i]
        done[slot] = turns[i]
    return 0
