"""Codes of bits, most significant bit first: what BVGraph files are made of. Compiled.

All positions are in bits. `peek` reads up to eight bytes past a position: a stream is
padded. Values stay below 2^48, so a code fits into the 57 bits of one peek, or is refused.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gossamer.native import leading_zeros

Bytes: TypeAlias = NDArray[np.uint8]
Words: TypeAlias = NDArray[np.uint64]
Ints: TypeAlias = NDArray[np.int64]
Ids: TypeAlias = NDArray[np.uint32]
Floats: TypeAlias = NDArray[np.float64]

UNARY, GAMMA, DELTA, ZETA = 0, 1, 2, 3
REFUSED = -1
"""The value of a code that no sound file has."""
PEEKED, MOST_BITS = 57, 48
_1 = np.uint64(1)


def number(word: np.uint64) -> int:
    """Return a word as a signed number."""
    return int(np.int64(word))


def peek(stream: Bytes, pos: int) -> np.uint64:
    """Return the 57 bits at a position as the upper bits of a word; what follows them is noise."""
    at = pos >> 3
    word = np.uint64(stream[at]) << np.uint64(56)
    word |= np.uint64(stream[at + 1]) << np.uint64(48)
    word |= np.uint64(stream[at + 2]) << np.uint64(40)
    word |= np.uint64(stream[at + 3]) << np.uint64(32)
    word |= np.uint64(stream[at + 4]) << np.uint64(24)
    word |= np.uint64(stream[at + 5]) << np.uint64(16)
    word |= np.uint64(stream[at + 6]) << np.uint64(8)
    word |= np.uint64(stream[at + 7])
    return word << np.uint64(pos & 7)


def read_unary(stream: Bytes, pos: int, end: int) -> tuple[int, int]:
    """Return how many zeros stand before the next one, and the position after it."""
    count = 0
    while pos <= end:
        zeros = leading_zeros(peek(stream, pos))
        if zeros < PEEKED:
            return count + zeros, pos + zeros + 1
        count += PEEKED
        pos += PEEKED
    return REFUSED, pos


def read_gamma(stream: Bytes, pos: int) -> tuple[int, int]:
    """Return a number in Elias' gamma code, and the position after it."""
    word = peek(stream, pos)
    zeros = leading_zeros(word)
    if zeros > 28:
        return read_long_gamma(stream, pos, zeros)
    return number(word >> np.uint64(63 - 2 * zeros)) - 1, pos + 2 * zeros + 1


def read_long_gamma(stream: Bytes, pos: int, zeros: int) -> tuple[int, int]:
    """Return a number of up to 48 bits in gamma code: its two halves are read one by one."""
    if zeros > MOST_BITS:
        return REFUSED, pos + PEEKED
    word = peek(stream, pos + zeros)
    return number(word >> np.uint64(63 - zeros)) - 1, pos + 2 * zeros + 1


def read_delta(stream: Bytes, pos: int) -> tuple[int, int]:
    """Return a number in Elias' delta code, and the position after it."""
    bits, pos = read_gamma(stream, pos)
    if bits < 0 or bits > MOST_BITS:
        return REFUSED, pos
    word = (peek(stream, pos) >> _1) | (_1 << np.uint64(63))
    return number(word >> np.uint64(63 - bits)) - 1, pos + bits


def read_zeta(stream: Bytes, pos: int, k: int) -> tuple[int, int]:
    """Return a number in Boldi and Vigna's zeta code, and the position after it."""
    word = peek(stream, pos)
    h = leading_zeros(word)
    bits = h * k + k - 1
    if h + bits + 2 > PEEKED:
        return REFUSED, pos + PEEKED
    rest = (word << np.uint64(h)) << _1
    low = number((rest >> _1) >> np.uint64(63 - bits))
    left = 1 << (h * k)
    if low < left:
        return low + left - 1, pos + h + 1 + bits
    return number(rest >> np.uint64(63 - bits)) - 1, pos + h + 2 + bits


def read_code(code: int, stream: Bytes, pos: int, end: int, k: int) -> tuple[int, int]:
    """Return a number in the code that a part of the file is written in."""
    if code == GAMMA:
        return read_gamma(stream, pos)
    if code == UNARY:
        return read_unary(stream, pos, end)
    if code == DELTA:
        return read_delta(stream, pos)
    return read_zeta(stream, pos, k)


def write_bits(words: Words, pos: int, value: int, count: int) -> int:
    """Put a value of so many bits at a position of words that are zero there."""
    at = pos >> 6
    room = 64 - (pos & 63)
    if count <= room:
        words[at] |= np.uint64(value) << np.uint64(room - count)
    else:
        over = count - room
        words[at] |= np.uint64(value) >> np.uint64(over)
        words[at + 1] |= np.uint64(value) << np.uint64(64 - over)
    return pos + count


def write_unary(words: Words, pos: int, value: int) -> int:
    """Put zeros and a one; return the position after them."""
    pos += value
    words[pos >> 6] |= _1 << np.uint64(63 - (pos & 63))
    return pos + 1


def write_gamma(words: Words, pos: int, value: int) -> int:
    """Put a number in gamma code; return the position after it."""
    bits = 63 - leading_zeros(np.uint64(value + 1))
    return write_bits(words, pos + bits, value + 1, bits + 1)


def write_zeta(words: Words, pos: int, value: int, k: int) -> int:
    """Put a number in zeta code; return the position after it."""
    top = 63 - leading_zeros(np.uint64(value + 1))
    h = top // k
    pos = write_unary(words, pos, h)
    if top > h * k:
        return write_bits(words, pos, value + 1, h * k + k)
    if h * k + k == 1:
        return pos
    return write_bits(words, pos, value + 1 - (1 << (h * k)), h * k + k - 1)
