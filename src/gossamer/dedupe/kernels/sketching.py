"""The inner loops of near-duplicates: plain functions that `native` turns into machine code.

They take flat arrays (in machine code: bare pointers, so no bounds and no lengths) and numbers.
Every literal that meets a word is a np.uint64: mixed signed and unsigned arithmetic makes floats.

A record is 14 words of 64 bits: 0-7 the low byte of each of 64 bins, 8 SimHash, 9 exact hash,
10 title hash (0: none), 11 words | host << 32, 12 URL key, 13 moment in µs | whether it is a copy
<< 63.
An entry is a band's key << 27 | page number; key 0 is a band that others keep.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint64]
Ints: TypeAlias = NDArray[np.int64]
Bytes: TypeAlias = NDArray[np.uint8]

BINS, BANDS, RECORD = 64, 12, 14
"""Bins and bands of a sketch; words of a record."""
SHINGLE_WORDS = 3
SCRATCH = 200
NUMBER_BITS = 27

_0, _1, _7, _27, _32, _33 = (np.uint64(n) for n in (0, 1, 7, 27, 32, 33))
_6, _57, _58, _255 = (np.uint64(n) for n in (6, 57, 58, 255))
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_MIX_1, _MIX_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_B = np.uint64(0x9E3779B97F4A7C15)
_B_SQUARED = np.uint64((0x9E3779B97F4A7C15**2) & 0xFFFFFFFFFFFFFFFF)


def mix(x: np.uint64) -> np.uint64:
    """Return the murmur3 finaliser of a word."""
    x = (x ^ (x >> _33)) * _MIX_1
    x = (x ^ (x >> _33)) * _MIX_2
    return x ^ (x >> _33)


def form(text: Bytes, at: int, end: int) -> int:
    """Tell what begins at a byte from C2 on: 0 a letter, 2 or 3 the bytes of a separator, 1 a word.

    A word by itself is a character of three bytes: kana, or Chinese. What is cut off is a letter.
    """
    lead = text[at]
    if lead == 0xC2:
        return 2 if at + 1 < end else 0
    if lead < 0xE2 or at + 2 >= end:
        return 0
    second = text[at + 1]
    if lead == 0xE2:
        return 3 if second < 0xB0 else 0
    if lead <= 0xE9:
        return 3 if lead == 0xE3 and second == 0x80 else 1
    if lead != 0xEF:
        return 0
    if second == 0xBC:
        return 3 if text[at + 2] < 0x90 else 0
    return 3 if second in (0xBB, 0xB8, 0xBF) else 0


def tokens(text: Bytes, start: int, end: int, table: Words, words: Words) -> int:
    """Write the unmixed hash of each word; return how many there are.

    Without a branch per byte: the state before each byte is written to the next free place, which
    moves on when a word has just ended. `table` has 256 numbers, then 256 masks.
    """
    count = 0
    state, was = _0, _0
    at = start
    while at < end:
        byte = text[at]
        step = 0
        if byte >= 0xC2:
            step = form(text, at, end)
        if step == 0:
            mask = table[256 + byte]
            words[count] = state
            count += int(was > mask)
            state = (((state << _7) | (state >> _57)) ^ table[byte]) & mask
            was = mask
            at += 1
            continue
        words[count] = state
        count += int(was > _0)
        state, was = _0, _0
        if step == 1:
            for _ in range(3):
                state = ((state << _7) | (state >> _57)) ^ table[text[at]]
                at += 1
            words[count] = state
            count += 1
            state = _0
        else:
            at += step
    words[count] = state
    return count + int(was > _0)


def simhash(words: Words, count: int, planes: Words) -> np.uint64:
    """Return the SimHash of words by their frequency.

    The 64 counts stand upright: plane k holds bit k of each. Eight words at a time are added up
    before anything is carried beyond the third plane: a few operations per word for all 64 counts.
    """
    for plane in range(64):
        planes[plane] = _0
    one, two, four = _0, _0, _0
    n = 0
    while n + 8 <= count:
        one, x = add(one, words[n], words[n + 1])
        one, y = add(one, words[n + 2], words[n + 3])
        two, low = add(two, x, y)
        one, x = add(one, words[n + 4], words[n + 5])
        one, y = add(one, words[n + 6], words[n + 7])
        two, high = add(two, x, y)
        four, eight = add(four, low, high)
        carry(planes, 3, eight)
        n += 8
    planes[0], planes[1], planes[2] = one, two, four
    while n < count:
        carry(planes, 0, words[n])
        n += 1
    return majority(planes, count)


def add(a: np.uint64, b: np.uint64, c: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return sum and carry of three bits in each of 64 places."""
    half = a ^ b
    return half ^ c, (a & b) | (half & c)


def carry(planes: Words, plane: int, bits: np.uint64) -> None:
    """Add one to the counts of the places whose bit is set, from a plane on."""
    while bits != _0:
        before = planes[plane]
        planes[plane] = before ^ bits
        bits &= before
        plane += 1


def majority(planes: Words, count: int) -> np.uint64:
    """Return the bits that are set in more than half of the words; on a tie, the odd ones."""
    top = 0
    while count >> top:
        top += 1
    result = _0
    words = np.uint64(count)
    for bit in range(64):
        twice = _0
        for plane in range(top):
            twice |= ((planes[plane] >> np.uint64(bit)) & _1) << np.uint64(plane + 1)
        if twice > words or (twice == words and bit & 1):
            result |= _1 << np.uint64(bit)
    return result


def shingled(words: Words, count: int, shingles: Words) -> int:
    """Write a hash for each three words in a row, or one for all; return how many."""
    if count < SHINGLE_WORDS:
        x = np.uint64(count)
        for n in range(count):
            x = x * _B + words[n]
        shingles[0] = mix(x)
        return 1
    for n in range(count - 2):
        shingles[n] = mix(words[n] * _B_SQUARED + words[n + 1] * _B + words[n + 2])
    return count - 2


def exact(shingles: Words, count: int, words: int) -> np.uint64:
    """Return the hash of all shingles in order."""
    x = _0
    for n in range(count):
        x = x * _B + shingles[n]
    return mix(x ^ np.uint64(words))


def least(shingles: Words, count: int, scratch: Words) -> None:
    """Write the 32-bit value of each bin (scratch 136-199): the least shingle of it (72-135).

    An empty bin borrows from one that is not, mixed, so that bins of short pages are not alike.
    """
    for b in range(72, 136):
        scratch[b] = _ALL
    for n in range(count):
        shingle = shingles[n]
        b = 72 + int(np.int64(shingle >> _58))
        scratch[b] = min(scratch[b], shingle << _6)
    for b in range(BINS):
        value = scratch[72 + b]
        source, turn = value, _0
        while source == _ALL:
            turn += _1
            source = scratch[72 + np.int64(mix(np.uint64(b) * _B + turn) >> _58)]
            value = mix(source + (turn << _32))
        scratch[136 + b] = value >> _32


def sketch_one(
    words: Words, count: int, shingles: Words, scratch: Words, records: Words, bands: Words, n: int
) -> None:
    """Write what a text's words say of it: SimHash, exact hash, bins, bands."""
    at = n * RECORD
    for i in range(count):
        words[i] = mix(words[i])
    records[at + 8] = simhash(words, count, scratch)
    made = shingled(words, count, shingles)
    records[at + 9] = exact(shingles, made, count)
    least(shingles, made, scratch)
    for b in range(BINS):
        records[at + b // 8] |= (scratch[136 + b] & _255) << np.uint64(8 * (b & 7))
    for band in range(BANDS):
        b = 136 + 4 * band
        x = mix(((scratch[b] << _32) | scratch[b + 1]) + np.uint64(band + 1) * _B)
        x = mix(x + ((scratch[b + 2] << _32) | scratch[b + 3]))
        bands[n * BANDS + band] = (x >> _27) << _27


def simhash_of(
    text: Bytes, size: int, table: Words, words: Words, planes: Words, found: Words
) -> int:
    """Write the SimHash of a text's pairs of words; return how many words it has.

    Of single words the small ones decide, and those of all long texts are the same.
    """
    count = tokens(text, 0, size, table, words)
    before = _0
    for n in range(count):
        word = words[n]
        words[n] = mix(before * _B + word)
        before = word
    found[0] = simhash(words, count, planes)
    return count


def sketch_many(
    text: Bytes,
    spans: Ints,
    count: int,
    table: Words,
    words: Words,
    shingles: Words,
    scratch: Words,
    records: Words,
    bands: Words,
) -> int:
    """Write words 0 to 11 of the record, and the bands, of each text and title in turn.

    `spans` are 2 * count + 1 offsets into `text`: text, title, text, ... There must be room for
    half as many words and shingles as the longest has bytes, and four.
    """
    for n in range(count):
        start, middle, end = spans[2 * n], spans[2 * n + 1], spans[2 * n + 2]
        at = n * RECORD
        for i in range(12):
            records[at + i] = _0
            bands[n * BANDS + i] = _0
        found = tokens(text, middle, end, table, words)
        if found:
            for i in range(found):
                words[i] = mix(words[i])
            records[at + 10] = exact(shingles, shingled(words, found, shingles), found) | _1
        found = tokens(text, start, middle, table, words)
        records[at + 11] = np.uint64(found)
        if found:
            sketch_one(words, found, shingles, scratch, records, bands, n)
    return count
