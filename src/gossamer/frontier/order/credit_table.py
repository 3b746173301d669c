"""Credit by URL: a plain dictionary while it is small, a compiled table after.

Credit is advice: it says which URL is worth more, and the queues themselves are on disk. So the
table is bounded (the poorest half is forgotten when it is full), and a copy goes to a file now and
then: a death loses the credit of the last minute and no URL.
"""

from collections.abc import Sequence
from functools import cache
from math import frexp
from struct import Struct

import numpy as np
import xxhash
from numpy.typing import NDArray

from gossamer.native import Native

DICTIONARY_URLS = 200_000
"""URLs up to which a dictionary does without numba."""
MOST_URLS = 6_000_000
"""URLs whose credit is held at most: 2^24 places of 13 bytes."""
FULL = 0.7
MAGIC = b"GOSSCRED"
NUMBERS = 4
"""Numbers of an order's own that are kept in the file."""
URL_BYTES = 13
_HEAD = Struct(f"<8sQQ{NUMBERS}d")


_SIGNATURES = {
    "place": "W[b+1]nW[1]",
    "give": "W*[b+1]nF*[b+1]B[b+1]W[f]nD[2]D*[f]D*[f]",
    "fill": "W*[b+1]nF*[b+1]B*[b+1]W[f]nF[f]B[f]",
}


@cache
def credit_kernels() -> Native:
    """Return the compiled kernels; the first call loads them, or has them compiled."""
    return Native(("gossamer.frontier.order.table_kernels",), _SIGNATURES)


class CreditTable:
    """What each URL has been given, and whether it had its turn: then it can rise no more."""

    def __init__(self, most_urls: int = MOST_URLS) -> None:
        self.numbers = [0.0] * NUMBERS
        """What the order keeps in the file besides."""
        self._most = most_urls
        self._small: dict[int, float] | None = {}
        self._small_done: set[int] = set()
        self._slots: NDArray[np.uint64] = np.zeros(2, np.uint64)
        self._held: NDArray[np.float32] = np.zeros(2, np.float32)
        self._done: NDArray[np.uint8] = np.zeros(2, np.uint8)
        self._count = 0

    def __len__(self) -> int:
        return self._count if self._small is None else len(self._small)

    def of(self, key: int) -> float | None:
        """Return what is held for a URL; None if it is unknown, or was forgotten."""
        if self._small is not None:
            return self._small.get(key)
        place = self._place(key)
        return float(self._held[place]) if self._slots[place] else None

    def put(self, key: int, credit: float) -> None:
        """Set what is held for a URL."""
        if self._small is not None:
            self._small[key] = credit
            self._compile_if_large()
            return
        self._make_room(1)
        place = self._place(key)
        self._count += not self._slots[place]
        self._slots[place], self._held[place] = key or 1, credit

    def put_all(self, keys: Sequence[int], credit: float) -> None:
        """Set what is held for several URLs that are new here to the same amount."""
        if self._small is None:
            self._give_compiled(keys, credit, 0.0)
            return
        self._small.update(dict.fromkeys(keys, credit))
        self._compile_if_large()

    def settle(self, key: int) -> None:
        """Note that a URL had its turn."""
        if self._small is not None:
            self._small_done.add(key)
        elif self._slots[place := self._place(key)]:
            self._done[place] = 1

    def give(self, keys: Sequence[int], share: float, *, level: float = 0.0) -> list[int]:
        """Give each URL a share; return those that wait and whose class rose.

        A class is a power of two of what is held and the level.
        """
        if self._small is None:
            return self._give_compiled(keys, share, level)
        held, done, risen = self._small, self._small_done, []
        for key in keys:
            had = held.get(key, 0.0)
            held[key] = has = had + share
            if level:
                had, has = max(had + level, 0.0), has + level
            if has > 0.0 and (not had or frexp(has)[1] != frexp(had)[1]) and key not in done:
                risen.append(key)
        self._compile_if_large()
        return risen

    def _give_compiled(self, keys: Sequence[int], share: float, level: float) -> list[int]:
        self._make_room(len(keys))
        given, how = np.array(keys, np.uint64), np.array((share, level))
        amounts = np.empty((2, len(given)), np.float64)
        table = self._slots, len(self._slots) - 1, self._held, self._done
        self._count += credit_kernels()["give"](*table, given, len(given), how, *amounts)
        had, has = amounts
        is_higher = np.frexp(had)[1] != np.frexp(has)[1]
        risen = np.flatnonzero((has > 0.0) & ((had <= 0.0) | is_higher))
        return [keys[position] for position in risen.tolist()]

    def _place(self, key: int) -> int:
        given = np.array((key,), np.uint64)
        return credit_kernels()["place"](self._slots, len(self._slots) - 1, given)

    def _compile_if_large(self) -> None:
        if self._small is not None and len(self._small) > DICTIONARY_URLS:
            keys, held, done = self._arrays()
            self._small = None
            self._small_done = set()
            self._fill(keys, held, done)

    def _make_room(self, more: int) -> None:
        if self._count + more <= FULL * len(self._slots):
            return
        keys, held, done = self._arrays()
        if self._count + more > self._most:  # the poorest half is forgotten
            kept = np.argsort(held)[len(held) // 2 :]
            keys, held, done = keys[kept], held[kept], done[kept]
        self._fill(keys, held, done)

    def _arrays(self) -> tuple[NDArray[np.uint64], NDArray[np.float32], NDArray[np.uint8]]:
        """Return all URLs, their credit and whether they had their turn, in no order."""
        if self._small is not None:
            count = len(self._small)
            keys = np.fromiter(self._small.keys(), np.uint64, count)
            held = np.fromiter(self._small.values(), np.float32, count)
            done = np.fromiter((key in self._small_done for key in self._small), np.uint8, count)
            return keys, held, done
        taken = self._slots != 0
        return self._slots[taken], self._held[taken], self._done[taken]

    def _fill(
        self, keys: NDArray[np.uint64], held: NDArray[np.float32], done: NDArray[np.uint8]
    ) -> None:
        places = 1 << max(10, int(2 * len(keys) / FULL).bit_length())
        self._slots, self._held = np.zeros(places, np.uint64), np.zeros(places, np.float32)
        self._done = np.zeros(places, np.uint8)
        told = keys, len(keys), np.ascontiguousarray(held), np.ascontiguousarray(done)
        table = self._slots, places - 1, self._held, self._done
        credit_kernels()["fill"](*table, *told)
        self._count = len(keys)

    def keep_numbers(self, first: int, *numbers: float) -> None:
        """Keep numbers of the order's own in the next snapshot, from a position on."""
        self.numbers[first : first + len(numbers)] = numbers

    def snapshot(self) -> bytes:
        """Return everything as the bytes of a file."""
        keys, held, done = self._arrays()
        body = keys.astype("<u8").tobytes() + held.astype("<f4").tobytes() + done.tobytes()
        return _HEAD.pack(MAGIC, len(keys), xxhash.xxh3_64_intdigest(body), *self.numbers) + body

    def restore(self, data: bytes) -> bool:
        """Take a snapshot's credit over; False, and nothing changes, if it is damaged."""
        if len(data) < _HEAD.size:
            return False
        magic, count, digest, *numbers = _HEAD.unpack_from(data)
        body = data[_HEAD.size :]
        if (
            magic != MAGIC
            or len(body) != URL_BYTES * count
            or xxhash.xxh3_64_intdigest(body) != digest
        ):
            return False
        keys = np.frombuffer(body, "<u8", count)
        held = np.frombuffer(body, "<f4", count, 8 * count)
        done = np.frombuffer(body, np.uint8, count, 12 * count)
        self.numbers = list(numbers)
        if count <= DICTIONARY_URLS:
            self._small = dict(zip(keys.tolist(), held.tolist(), strict=True))
            self._small_done = set(keys[done != 0].tolist())
        else:
            self._small = None
            self._fill(keys, held, done)
        return True
