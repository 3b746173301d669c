"""The compiled inner loops: flat uint64 arrays in, flat arrays out.

Every literal that meets a key is a np.uint64: numba turns mixed signed and unsigned arithmetic
into floats without a word. The functions share no helper, because numba's disk cache only notices
changes in a function's own file, and a plain helper would have to be compiled at import.

Slots: a power of two of places and one more; 0 is an empty place, so the last element says whether
the key 0 itself is held. Words: a filter of 64-bit words, four bits of one word per key.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple, ParamSpec, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Keys: TypeAlias = NDArray[np.uint64]
Flags: TypeAlias = NDArray[np.bool_]
P = ParamSpec("P")
R = TypeVar("R")

BLOCK_KEYS = 512
"""Keys between two entries of a run's index: one page of 4 KiB."""

_NONE = np.uint64(0)
_ONE = np.uint64(1)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_SIX, _TWELVE, _EIGHTEEN = np.uint64(6), np.uint64(12), np.uint64(18)
_LOW = np.uint64(63)


class Kernels(NamedTuple):
    """The compiled functions, by their names in this file."""

    miss: Callable[[Keys, Keys, Keys, Flags], int]
    insert: Callable[[Keys, Keys, Keys], int]
    add_to_filter: Callable[[Keys, Keys], None]
    search: Callable[[Keys, Flags, Keys, Keys, Keys], int]


@cache
def kernels() -> Kernels:
    """Return the kernels; the first call imports numba and compiles, or loads from its cache."""
    from numba import types  # noqa: PLC0415 -- 0.2 s that only a crawl shall pay, not every import

    given = types.Array(types.uint64, 1, "C", readonly=True)
    owned = types.uint64[::1]
    flags = types.boolean[::1]
    return Kernels(
        miss=compiled(types.int64(given, owned, owned, flags), miss),
        insert=compiled(types.int64(owned, given, owned), insert),
        add_to_filter=compiled(types.void(owned, given), add_to_filter),
        search=compiled(types.int64(given, flags, given, owned, owned), search),
    )


def compiled(signature: object, function: Callable[P, R]) -> Callable[P, R]:
    """Return the machine code of a function, kept on disk where any place for it is writable.

    numba keeps it beside the source, or in the user's cache folder, or where NUMBA_CACHE_DIR says;
    if it can write to none of them it raises, and compiling at each start is then the best left.
    """
    from numba import njit  # noqa: PLC0415 -- see above

    try:
        code: Callable[P, R] = njit(signature, cache=True, nogil=True)(function)
    except (RuntimeError, OSError):
        code = njit(signature, nogil=True)(function)
    return code


def miss(keys: Keys, live: Keys, frozen: Keys, unknown: Flags) -> int:
    """Flag the keys that are in neither of two tables; return how many."""
    misses = 0
    for i in range(len(keys)):
        key = keys[i]
        place = (key * _MIX) >> _HALF
        known = False
        for slots in (live, frozen):
            if known:
                break
            if key == _NONE:
                known = slots[-1] != _NONE
                continue
            mask = np.uint64(len(slots) - 2)
            slot = place & mask
            while slots[slot] != _NONE and slots[slot] != key:
                slot = (slot + _ONE) & mask
            known = slots[slot] == key
        unknown[i] = not known
        if not known:
            misses += 1
    return misses


def insert(slots: Keys, keys: Keys, fresh: Keys) -> int:
    """Put keys into the slots; copy those that were not there into `fresh`; return how many."""
    count = 0
    mask = np.uint64(len(slots) - 2)
    for i in range(len(keys)):
        key = keys[i]
        slot = ((key * _MIX) >> _HALF) & mask
        while slots[slot] != _NONE and slots[slot] != key:
            slot = (slot + _ONE) & mask
        if key == _NONE:
            slot = mask + _ONE
        if slots[slot] == _NONE:
            slots[slot] = key if key != _NONE else _ONE
            fresh[count] = key
            count += 1
    return count


def add_to_filter(words: Keys, keys: Keys) -> None:
    """Set the bits of each key."""
    size = np.uint64(len(words))
    for i in range(len(keys)):
        mixed = keys[i] * _MIX
        mixed = (mixed ^ (mixed >> _HALF)) * _MIX
        bits = (_ONE << (mixed & _LOW)) | (_ONE << ((mixed >> _SIX) & _LOW))
        bits |= _ONE << ((mixed >> _TWELVE) & _LOW) | (_ONE << ((mixed >> _EIGHTEEN) & _LOW))
        words[((mixed >> _HALF) * size) >> _HALF] |= bits


def search(keys: Keys, unknown: Flags, held: Keys, index: Keys, words: Keys) -> int:
    """Unflag the keys that a run holds; return how many had to be looked up.

    A run is the keys held (sorted, mapped from disk), an index of every 512th, and filter words.
    All keys go through each step together, without branches: what a step reads lies far apart in
    memory and does not depend on the other keys, so the processor waits for many reads at once.
    """
    size = np.uint64(len(words))
    passed = np.empty(len(keys), np.int64)
    count = 0
    for i in range(len(keys)):
        mixed = keys[i] * _MIX
        mixed = (mixed ^ (mixed >> _HALF)) * _MIX
        bits = (_ONE << (mixed & _LOW)) | (_ONE << ((mixed >> _SIX) & _LOW))
        bits |= _ONE << ((mixed >> _TWELVE) & _LOW) | (_ONE << ((mixed >> _EIGHTEEN) & _LOW))
        passed[count] = i
        if unknown[i] and words[((mixed >> _HALF) * size) >> _HALF] & bits == bits:
            count += 1
    low = np.zeros(count, np.int64)
    left = len(index)
    while left > 1:
        half = left >> 1
        for n in range(count):
            low[n] += half * (index[low[n] + half] <= keys[passed[n]])
        left -= half
    low *= BLOCK_KEYS
    last = len(held) - 1
    half = BLOCK_KEYS >> 1
    while half:
        for n in range(count):
            middle = min(low[n] + half, last)
            low[n] += (middle - low[n]) * (held[middle] <= keys[passed[n]])
        half >>= 1
    for n in range(count):
        if held[low[n]] == keys[passed[n]]:
            unknown[passed[n]] = False
    return count
