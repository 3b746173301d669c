"""The newest fingerprints in memory: a growing open-addressing table, a plain set before it."""

from collections.abc import Iterable

import numpy as np

from gossamer.seen.kernels import Flags, Keys, kernels

_SMALLEST = 1 << 10
"""Slots of a table that holds little: small enough to stay in the processor's cache."""


class KeyTable:
    """A set of uint64 keys, at most half full, so that a test looks at one or two places."""

    __slots__ = ("_insert", "count", "slots")

    def __init__(self) -> None:
        self._insert = kernels().insert
        self.count = 0
        self.slots: Keys = np.zeros(_SMALLEST + 1, np.uint64)

    def add(self, keys: Keys) -> Keys:
        """Remember keys; return those that were not yet here, each once."""
        if 2 * (self.count + len(keys)) > len(self.slots):
            self._grow(self.count + len(keys))
        fresh = np.empty(len(keys), np.uint64)
        added = self._insert(self.slots, keys, fresh)
        self.count += added
        return fresh[:added]

    def keys(self) -> Keys:
        """Return every key once, in no order."""
        held = self.slots[:-1]
        held = held[held != 0]
        return np.append(held, np.uint64(0)) if self.slots[-1] else held

    def _grow(self, count: int) -> None:
        """Make room for so many keys: twice the slots, at least."""
        held = self.keys()
        self.slots = np.zeros((1 << (2 * count).bit_length()) + 1, np.uint64)
        self._insert(self.slots, held, np.empty(len(held), np.uint64))


class YoungTable:
    """A plain set for the first keys of a crawl.

    A test is as quick as in the compiled table, at eight times the memory; but numba is not needed
    yet, and its import costs more CPU (0.5 s) than a small crawl spends on everything else here.
    """

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: set[int] = set()

    @property
    def count(self) -> int:
        """Return how many keys are held."""
        return len(self._keys)

    def add(self, keys: Keys) -> Keys:
        """Remember keys; return those that were not yet here, each once."""
        fresh = [key for key in dict.fromkeys(keys.tolist()) if key not in self._keys]
        self._keys.update(fresh)
        return np.array(fresh, np.uint64)

    def new_among(self, keys: Iterable[int]) -> list[int]:
        """Return those of the keys that are not held."""
        held = self._keys
        return [key for key in keys if key not in held]

    def unknown(self, keys: Keys) -> Flags:
        """Return, for each key, True if it is not held."""
        held = self._keys
        return np.array([key not in held for key in keys.tolist()], np.bool_)

    def keys(self) -> Keys:
        """Return every key once, in no order."""
        return np.fromiter(self._keys, np.uint64, len(self._keys))
