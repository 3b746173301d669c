"""Young: the newest pages of a near-set, in memory: records, band keys, and a table of entries."""

from collections.abc import Sequence

import numpy as np

from gossamer.dedupe.kernels import natives
from gossamer.dedupe.kernels.sketching import BANDS, RECORD, Ints, Words
from gossamer.dedupe.sketch import Sketches

_SMALLEST = 256


def places_for(pages: int) -> int:
    """Return a power of two of slots that the entries of so many pages fill at most by half."""
    return 1 << (2 * BANDS * pages).bit_length()


class Young:
    """Pages that are in no run yet."""

    __slots__ = ("_bands", "_slots", "count", "records")

    def __init__(self) -> None:
        self.count = 0
        self.records: Words = np.empty((_SMALLEST, RECORD), np.uint64)
        self._bands: Words = np.empty((_SMALLEST, BANDS), np.uint64)
        self._slots: Words = np.zeros(places_for(_SMALLEST), np.uint64)

    def add(self, pages: Sketches, first: int) -> None:
        """Add pages; those here are numbered from `first` on."""
        count = self.count + len(pages)
        if count > len(self.records):
            self._grow(2 * count, first)
        self.records[self.count : count] = pages.records
        self._bands[self.count : count] = pages.bands
        self._insert(self.count, count, first)
        self.count = count

    def probe(self, bands: Words, pairs: Ints) -> Ints:
        """Return page << 27 | number for each page that shares a band with one of these."""
        found = natives()["probe"](
            bands.ctypes.data,
            len(bands),
            self._slots.ctypes.data,
            len(self._slots) - 1,
            pairs.ctypes.data,
            len(pairs),
        )
        return pairs[:found].copy()

    def note(self, places: Ints, states: Words) -> None:
        """Take over what was found out about pages, by their place here; below 0 is elsewhere."""
        here = places >= 0
        self.records[places[here], 13] = states[here]

    def sorted_entries(self, first: int) -> Sequence[Words]:
        """Return the entries of each band in order, for a run."""
        numbers = np.arange(first, first + self.count, dtype=np.uint64)
        found: list[Words] = []
        for band in range(BANDS):
            keys = self._bands[: self.count, band]
            held = keys != 0
            found.append(np.sort(keys[held] | numbers[held]))
        return found

    def _grow(self, room: int, first: int) -> None:
        self.records = _longer(self.records, room)
        self._bands = _longer(self._bands, room)
        self._slots = np.zeros(places_for(room), np.uint64)
        self._insert(0, self.count, first)

    def _insert(self, start: int, end: int, first: int) -> None:
        natives()["insert"](
            self._bands[start:].ctypes.data,
            end - start,
            first + start,
            self._slots.ctypes.data,
            len(self._slots) - 1,
        )


def _longer(array: Words, room: int) -> Words:
    longer = np.empty((room, array.shape[1]), np.uint64)
    longer[: len(array)] = array
    return longer
