"""The compiled inner loops of the credit table: flat arrays in, flat arrays out.

Slots: a power of two of places, each a URL key or 0 (a key that is 0 itself is held as 1). See
`seen/kernels.py` for why literals are np.uint64 and helpers are not shared.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple, ParamSpec, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Keys: TypeAlias = NDArray[np.uint64]
Floats: TypeAlias = NDArray[np.float32]
Flags: TypeAlias = NDArray[np.uint8]
Counts: TypeAlias = NDArray[np.int64]
Numbers: TypeAlias = NDArray[np.float64]
Table: TypeAlias = tuple[Keys, Floats, Flags]
"""Of each place: the key, what it holds, whether the URL had its turn."""
P = ParamSpec("P")
R = TypeVar("R")

_NONE, _ONE = np.uint64(0), np.uint64(1)
_MIX, _HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


class CreditKernels(NamedTuple):
    """The compiled functions, by their names in this file."""

    place: Callable[[Keys, np.uint64], int]
    give: Callable[[Table, Keys, Numbers, Counts, Counts], None]
    fill: Callable[[Table, Keys, Floats, Flags], None]


@cache
def credit_kernels() -> CreditKernels:
    """Return the kernels; the first call imports numba and compiles, or loads from its cache."""
    from numba import types  # noqa: PLC0415 -- half a second that a young crawl does not pay

    keys, counts = types.uint64[::1], types.int64[::1]
    table = types.Tuple(  # type: ignore[no-untyped-call] # numba has no types
        (keys, types.float32[::1], types.uint8[::1])
    )
    given = types.Array(types.uint64, 1, "C", readonly=True)
    held = types.Array(types.float32, 1, "C", readonly=True)
    done = types.Array(types.uint8, 1, "C", readonly=True)
    return CreditKernels(
        place=_compiled(types.int64(keys, types.uint64), place),
        give=_compiled(types.void(table, given, types.float64[::1], counts, counts), give),
        fill=_compiled(types.void(table, given, held, done), fill),
    )


def _compiled(signature: object, function: Callable[P, R]) -> Callable[P, R]:
    """Return the machine code of a function, kept on disk where a place for it is writable."""
    from numba import njit  # noqa: PLC0415 -- see above

    try:
        code: Callable[P, R] = njit(signature, cache=True, nogil=True)(function)
    except (RuntimeError, OSError):
        code = njit(signature, nogil=True)(function)
    return code


def place(slots: Keys, key: np.uint64) -> int:
    """Return where a key is, or the empty place where it would be."""
    if key == _NONE:
        key = _ONE
    mask = np.uint64(len(slots) - 1)
    slot = ((key * _MIX) >> _HALF) & mask
    while slots[slot] != _NONE and slots[slot] != key:
        slot = (slot + _ONE) & mask
    return int(slot)


def give(table: Table, keys: Keys, how: Numbers, risen: Counts, counts: Counts) -> None:
    """Give each key a share; list the positions of those that wait and whose class rose.

    `how` is share and level. counts[0] becomes the number of keys that
    are new here, counts[1] of those that rose.
    """
    slots, held, done = table
    share, level = how[0], how[1]
    mask = np.uint64(len(slots) - 1)
    for i in range(len(keys)):
        key = keys[i] if keys[i] != _NONE else _ONE
        slot = ((key * _MIX) >> _HALF) & mask
        while slots[slot] != _NONE and slots[slot] != key:
            slot = (slot + _ONE) & mask
        if slots[slot] == _NONE:
            slots[slot] = key
            counts[0] += 1
        had = held[slot] + level
        has = had + share
        held[slot] += share
        if done[slot] or has <= 0.0:
            continue
        if had <= 0.0 or np.floor(np.log2(has)) != np.floor(np.log2(had)):
            risen[counts[1]] = i
            counts[1] += 1


def fill(table: Table, keys: Keys, credit: Floats, turns: Flags) -> None:
    """Put keys, their credit and whether they had their turn into an empty table."""
    slots, held, done = table
    mask = np.uint64(len(slots) - 1)
    for i in range(len(keys)):
        key = keys[i] if keys[i] != _NONE else _ONE
        slot = ((key * _MIX) >> _HALF) & mask
        while slots[slot] != _NONE and slots[slot] != key:
            slot = (slot + _ONE) & mask
        slots[slot] = key
        held[slot] = credit[i]
        done[slot] = turns[i]
