"""Where each row starts, as Elias and Fano would keep it: about seven bits per row. Compiled.

Ascending numbers: the lowest bits of each stand side by side, the rest are the places of ones in a
row of bits; the place of every 64th one is noted. All of it is one array of words: 0 a mark, 1 how
many numbers, 2 how many low bits, 3 and 4 where high bits and noted places begin, 5 its length in
words, 6 a checksum, 7 the bound of the numbers; then low bits, high bits, places.
"""

import numpy as np

from gossamer.graph.bv.kernels.bit_kernels import (
    DELTA,
    Bytes,
    Ints,
    Words,
    number,
    read_delta,
    read_gamma,
)

HEAD = 8
NOTED = 64
_1 = np.uint64(1)
_FIVES, _THREES, _FS, _ONES = (np.uint64(n * 0x0101010101010101) for n in (0x55, 0x33, 0x0F, 0x01))


def ones_in_bytes(word: np.uint64) -> np.uint64:
    """Return how many ones each byte of a word has together with those below it."""
    word = word - ((word >> _1) & _FIVES)
    word = (word & _THREES) + ((word >> np.uint64(2)) & _THREES)
    word = (word + (word >> np.uint64(4))) & _FS
    return word * _ONES


def place_in_word(word: np.uint64, rank: int) -> int:
    """Return where the one stands that has so many ones below it."""
    sums = ones_in_bytes(word)
    shift, below = 0, 0
    while shift < 56:
        upto = number((sums >> np.uint64(shift)) & np.uint64(255))
        if upto > rank:
            break
        below = upto
        shift += 8
    rest = word >> np.uint64(shift)
    place = shift
    while place < 63:
        if number(rest & _1) == 1:
            if below == rank:
                break
            below += 1
        rest = rest >> _1
        place += 1
    return place


def start_of(starts: Words, index: int) -> int:
    """Return one of the numbers; -1 if there is none."""
    if index < 0 or index >= number(starts[1]):
        return -1
    bits, high, noted = number(starts[2]), number(starts[3]), number(starts[4])
    place = number(starts[noted + (index >> 6)])
    left = index & 63
    at = high + (place >> 6)
    if place < 0 or at >= noted:
        return -1
    word = (starts[at] >> np.uint64(place & 63)) << np.uint64(place & 63)
    count = number(ones_in_bytes(word) >> np.uint64(56))
    while count <= left and at < noted:
        left -= count
        at += 1
        word = starts[at]
        count = number(ones_in_bytes(word) >> np.uint64(56))
    upper = ((at - high) << 6) + place_in_word(word, left) - index
    if bits == 0:
        return upper
    bit = index * bits
    low = HEAD + (bit >> 6)
    value = starts[low] >> np.uint64(bit & 63)
    if (bit & 63) + bits > 64:
        value |= starts[low + 1] << np.uint64(64 - (bit & 63))
    return (upper << bits) | number(value & ((_1 << np.uint64(bits)) - _1))


def put_starts(starts: Words, index: int, values: Ints, count: int) -> int:
    """Put the next numbers, which ascend; return how many are there now, or -1."""
    last = number(starts[7])
    if index + count > number(starts[1]):
        return -1
    bits, high, noted = number(starts[2]), number(starts[3]), number(starts[4])
    mask = (1 << bits) - 1
    for i in range(count):
        value = values[i]
        if value < 0 or value > last:
            return -1
        place = (value >> bits) + index
        starts[high + (place >> 6)] |= _1 << np.uint64(place & 63)
        if index & 63 == 0:
            starts[noted + (index >> 6)] = np.uint64(place)
        if bits > 0:
            bit = index * bits
            low = np.uint64(value & mask)
            starts[HEAD + (bit >> 6)] |= low << np.uint64(bit & 63)
            if (bit & 63) + bits > 64:
                starts[HEAD + (bit >> 6) + 1] |= low >> np.uint64(64 - (bit & 63))
        index += 1
    return index


def read_starts(stream: Bytes, state: Ints, out: Ints, count: int) -> int:
    """Read numbers that are kept as gaps; return how many, or -1.

    state: 0 the bit position, 1 the number before (both moved on), 2 the end, 3 the code.
    """
    pos, value, end, code = state[0], state[1], state[2], state[3]
    for i in range(count):
        if pos >= end:
            return -1
        gap, pos = read_delta(stream, pos) if code == DELTA else read_gamma(stream, pos)
        if gap < 0:
            return -1
        value += gap
        out[i] = value
    state[0], state[1] = pos, value
    return count


def starts_of(starts: Words, indexes: Ints, count: int, out: Ints) -> int:
    """Write some of the numbers; return how many."""
    for i in range(count):
        out[i] = start_of(starts, indexes[i])
    return count
