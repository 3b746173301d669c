"""The kernels of the set: the door to `key_kernels`, which are compiled."""

from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gossamer.native import Native
from gossamer.seen.key_kernels import BLOCK_KEYS

__all__ = ["BLOCK_KEYS", "Flags", "Keys", "add_to_filter", "insert", "kernels", "miss", "search"]

Keys: TypeAlias = NDArray[np.uint64]
Flags: TypeAlias = NDArray[np.bool_]

_SIGNATURES = {
    "miss": "W[b]nW[d+2]nW[f+2]nB*[b]",
    "insert": "W*[b+2]nW[d]nW*[d]",
    "add_to_filter": "W*[b]nW[d]n",
    "search": "W[b]nB*[b]W[e]nW[g]nW[i]nI*[b]I*[b]",
}


@cache
def kernels() -> Native:
    """Return the compiled kernels; the first call loads them, or has them compiled."""
    return Native(("gossamer.seen.key_kernels",), _SIGNATURES)


def miss(keys: Keys, live: Keys, frozen: Keys, unknown: Flags) -> int:
    """Flag the keys that are in neither of two tables; return how many."""
    sizes = len(live) - 2, len(frozen) - 2
    return kernels()["miss"](keys, len(keys), live, sizes[0], frozen, sizes[1], unknown)


def insert(slots: Keys, keys: Keys, fresh: Keys) -> int:
    """Put keys into the slots; copy those that were not there into `fresh`; return how many."""
    return kernels()["insert"](slots, len(slots) - 2, keys, len(keys), fresh)


def add_to_filter(words: Keys, keys: Keys) -> None:
    """Set the bits of each key."""
    kernels()["add_to_filter"](words, len(words), keys, len(keys))


def search(keys: Keys, unknown: Flags, held: Keys, index: Keys, words: Keys) -> int:
    """Unflag the keys that a run holds; return how many had to be looked up."""
    count = len(keys)
    room = np.empty((2, count), np.int64)
    more = index, len(index), words, len(words), room[0], room[1]
    return kernels()["search"](keys, count, unknown, held, len(held), *more)
