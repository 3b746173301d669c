"""The hash of a term: which of the shards has it, and where there."""

import numpy as np

from gossamer.search.terms.read_kernels import Bytes, integer

FIRST = 0xCBF29CE484222325


def hash_of(text: Bytes, size: int) -> int:
    """Return the hash of a term, as 64 bits of a signed number."""
    value = np.uint64(FIRST)
    for at in range(size):
        value = hashed(value, text[at])
    return integer(mixed(value))


def hashed(value: np.uint64, byte: np.uint8) -> np.uint64:
    """Return a hash (FNV-1a) with one more byte."""
    return (value ^ np.uint64(byte)) * np.uint64(0x100000001B3)


def mixed(value: np.uint64) -> np.uint64:
    """Return a hash whose high bits, too, depend on all of it; never 0."""
    value = (value ^ (value >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    value = (value ^ (value >> np.uint64(29))) * np.uint64(0xC4CEB9FE1A85EC53)
    value ^= value >> np.uint64(32)
    return value if value != np.uint64(0) else np.uint64(1)
