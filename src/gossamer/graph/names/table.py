"""Table: up to 4096 strings, chosen from a sample, in which texts of URLs can be said shortly.

It begins with all bytes that occur. Then, again and again, the sample is said in as few strings as
possible, and the most frequent ones and the most frequent pairs of neighbours make the next table:
byte pair encoding, thousands of pairs at a time.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from gossamer.errors import Bug
from gossamer.graph.names import read_kernels, write_kernels
from gossamer.graph.names.read_kernels import CODES
from gossamer.native import Native

LONGEST = 32
"""Bytes of a string at most."""
ROUNDS = 10
LEAST_COUNT = 4
"""A string that the sample has less often does not pay for its place in the file."""
_PAIR_BITS = 12

_SIGNATURES = {
    "checksum_of": "Bnn",
    "front": "BInBI",
    "plant": "BInWn",
    "parse": "BnWnIUU",
    "pack": "BInWnIUUBI",
}


@cache
def natives() -> Native:
    """Return the compiled kernels of the writer; the first call loads or compiles them."""
    return Native((write_kernels, read_kernels), _SIGNATURES)


class Table:
    """Some strings, by code, ready to say texts in them."""

    def __init__(self, strings: list[bytes]) -> None:
        self.strings = strings
        self.lengths = np.array([len(string) for string in strings], np.int64)
        places = 1 << (2 * int(self.lengths.sum())).bit_length()
        self.trie = np.zeros(places, np.uint64)
        self.mask = places - 1
        pool = np.frombuffer(b"".join(strings), np.uint8)
        natives()["plant"](
            pool.ctypes.data,
            self.lengths.ctypes.data,
            len(strings),
            self.trie.ctypes.data,
            self.mask,
        )

    @classmethod
    def trained(cls, sample: NDArray[np.uint8], used: NDArray[np.int64]) -> "Table":
        """Return a table for texts like the sample, which hold no bytes but those `used`."""
        singles = [bytes((byte,)) for byte in used.tolist()]
        table = cls(singles)
        for turn in range(ROUNDS + 1):
            counts = _counted(table, sample, with_pairs=turn < ROUNDS)
            best = sorted(counts, key=lambda string: (-counts[string], string))
            table = cls(singles + best[: CODES - len(singles)])
        return table

    def codes(self, text: NDArray[np.uint8]) -> NDArray[np.uint32]:
        """Return the fewest codes that say a text."""
        costs = np.empty(len(text) + 1, np.uint32)
        codes = np.empty(len(text), np.uint32)
        many = natives()["parse"](
            text.ctypes.data,
            len(text),
            self.trie.ctypes.data,
            self.mask,
            self.lengths.ctypes.data,
            costs.ctypes.data,
            codes.ctypes.data,
        )
        if many < 0:
            raise Bug("a text holds a byte that its table does not know")
        return codes[:many]


def _counted(table: Table, sample: NDArray[np.uint8], *, with_pairs: bool) -> dict[bytes, int]:
    """Return how often longer strings, and pairs of neighbours, come in a sample."""
    codes = table.codes(sample)
    strings = table.strings
    single = np.bincount(codes, minlength=len(strings)).tolist()
    counts = {
        string: count
        for string, count in zip(strings, single, strict=True)
        if len(string) > 1 and count >= LEAST_COUNT
    }
    if not with_pairs:
        return counts
    pairs, often = np.unique(codes[:-1] << _PAIR_BITS | codes[1:], return_counts=True)
    enough = often >= LEAST_COUNT
    pairs, often = pairs[enough], often[enough]
    most = np.argsort(-often, kind="stable")[:CODES]
    for pair, count in zip(pairs[most].tolist(), often[most].tolist(), strict=True):
        string = strings[pair >> _PAIR_BITS] + strings[pair & (CODES - 1)]
        if len(string) <= LONGEST:
            counts[string] = max(counts.get(string, 0), count)
    return counts
