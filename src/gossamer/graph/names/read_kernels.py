"""The inner loops of a URL map's reader: search a key, spell a node's key.

Keys lie in buckets of 32, in order. A bucket's text is its first key and a zero, then for each
further key how many bytes of the one before to drop, the bytes that follow instead, and a zero. The
text is written in codes of 12 bits; a code stands for one of up to 4096 strings. 16 buckets make a
group; the first key of each group can be read as it is.

All is read from the one mapped `file`; `index` is a part of it: where each group starts (<< 16 |
number of its table of strings), where its first key ends, and for each bucket its checksum << 32 |
where it ends in the group. `strings` tells of each code: place in the file << 16 | length << 8 |
whether there is a zero in it. `shape` is described by `PLACES`. Index and strings were checked when
the file was opened. A bucket is checked here: a negative answer means that it is not as it was
written. Nothing outside the arrays is read, whatever the file says.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

PER_BUCKET = 32
PER_GROUP = 16
CODES = 4096
LONG_DROP = 0xE0
"""A byte from here on starts a number of three bytes."""

PLACES = ("keys", "buckets", "groups", "data", "data_end", "heads")
"""What `shape` holds: how many there are; then places in the file."""

Bytes: TypeAlias = NDArray[np.uint8]
Words: TypeAlias = NDArray[np.uint64]
Ints: TypeAlias = NDArray[np.int64]
Wanted: TypeAlias = tuple[Bytes, int, int]
"""A key: an array, from where, to where."""
Room: TypeAlias = tuple[Bytes, int, int]
"""Where to write: an array, from where, to where at most."""
Source: TypeAlias = tuple[int, int, int]
"""Where the strings of a bucket's table begin, where its codes lie, how many they are."""
Cursor: TypeAlias = tuple[int, int, int]
"""How many codes have been read, and what is left of the newest one's string: from, to."""

DAMAGED = -1
NO_ROOM = -2


def find(file: Bytes, index: Words, strings: Words, shape: Ints, key: Bytes, length: int) -> int:
    """Return 2 * the number of keys before this one, + 1 if it is there."""
    return _find(file, index, strings, shape, (key, 0, length))


def find_many(
    file: Bytes, index: Words, strings: Words, shape: Ints, keys: Bytes, size: int, out: Ints
) -> int:
    """Put what `find` returns for each key, each followed by a zero, into `out`."""
    start = number = 0
    while start < size:
        end = start
        while end < size and keys[end] != 0:
            end += 1
        found = _find(file, index, strings, shape, (keys, start, end))
        if found < 0:
            return found
        out[number] = found
        number += 1
        start = end + 1
    return number


def spell(
    file: Bytes, index: Words, strings: Words, shape: Ints, node: int, out: Bytes, room: int
) -> int:
    """Write a node's key; return its length, or -2 if there is no room."""
    return _spell(file, index, strings, shape, node, (out, 0, room))


def spell_many(
    file: Bytes,
    index: Words,
    strings: Words,
    shape: Ints,
    nodes: Ints,
    many: int,
    out: Bytes,
    room: int,
    done: Ints,
) -> int:
    """Write the keys of nodes, each followed by a zero, while there is room; return the bytes.

    `done[0]` is the number of nodes that have been served.
    """
    at = 0
    done[0] = 0
    for number in range(many):
        length = _spell(file, index, strings, shape, nodes[number], (out, at, room - 1))
        if length < 0:
            return at if length == NO_ROOM else length
        at += length + 1
        out[at - 1] = 0
        done[0] = number + 1
    return at


def spell_buckets(
    file: Bytes,
    index: Words,
    strings: Words,
    shape: Ints,
    first: int,
    last: int,
    out: Bytes,
    room: int,
    done: Ints,
) -> int:
    """Write all keys of buckets, each followed by a zero, while there is room; return the bytes.

    `done[0]` is the number of buckets that have been served.
    """
    at = 0
    done[0] = 0
    for bucket in range(first, last):
        end = _spell_bucket(file, index, strings, shape, bucket, (out, at, room - 1))
        if end < 0:
            return at if end == NO_ROOM else end
        at = end
        done[0] = bucket - first + 1
    return at


def checksum_of(file: Bytes, start: int, end: int) -> int:
    """Return 32 bits that depend on all bytes from `start` to `end`."""
    mixed = np.uint64(end - start) * np.uint64(0x9E3779B97F4A7C15)
    at = start
    while at + 8 <= end:
        word = np.uint64(file[at])
        word |= np.uint64(file[at + 1]) << np.uint64(8)
        word |= np.uint64(file[at + 2]) << np.uint64(16)
        word |= np.uint64(file[at + 3]) << np.uint64(24)
        word |= np.uint64(file[at + 4]) << np.uint64(32)
        word |= np.uint64(file[at + 5]) << np.uint64(40)
        word |= np.uint64(file[at + 6]) << np.uint64(48)
        word |= np.uint64(file[at + 7]) << np.uint64(56)
        mixed = (mixed ^ word) * np.uint64(0xD6E8FEB86659FD93)
        mixed ^= mixed >> np.uint64(32)
        at += 8
    while at < end:
        mixed = (mixed ^ np.uint64(file[at])) * np.uint64(0xD6E8FEB86659FD93)
        mixed ^= mixed >> np.uint64(32)
        at += 1
    return np.int64(mixed & np.uint64(0xFFFFFFFF))


def _find(file: Bytes, index: Words, strings: Words, shape: Ints, wanted: Wanted) -> int:
    """Return 2 * the number of keys before the wanted one, + 1 if it is there."""
    group = _group_of(file, index, shape, wanted)
    if group < 0:
        return 0
    low = group * PER_GROUP
    high = min(low + PER_GROUP, shape[1])
    end = high
    while high - low > 1:  # the first key of `low` is not above the wanted one, that of `high` is
        middle = (low + high) // 2
        if _head_is_above(file, strings, _source(index, shape, middle), wanted):
            high = middle
        else:
            low = middle
    found = _find_in(file, index, strings, shape, low, wanted)
    # The heads that led here were not checked. If they lied, the wanted key is before this bucket,
    # or behind it, where the head of the next one decides.
    if found == 0 or (found == 2 * PER_BUCKET and high < end and not _is_sound(file, index, shape, high)):
        return DAMAGED
    return found if found < 0 else found + 2 * PER_BUCKET * low


def _group_of(file: Bytes, index: Words, shape: Ints, wanted: Wanted) -> int:
    """Return the last group whose first key is not above the wanted one; -1 if there is none."""
    low, high = -1, shape[2]
    while high - low > 1:
        middle = (low + high) // 2
        start = np.int64(index[shape[2] + middle - 1]) if middle else np.int64(0)
        end = np.int64(index[shape[2] + middle])
        if _is_above(file, shape[5] + start, shape[5] + end, wanted):
            high = middle
        else:
            low = middle
    return low


def _is_above(file: Bytes, start: int, end: int, wanted: Wanted) -> bool:
    """Tell whether the bytes of the file sort behind the wanted key."""
    keys, at, stop = wanted
    while start < end and at < stop and file[start] == keys[at]:
        start += 1
        at += 1
    return start < end and (at == stop or file[start] > keys[at])


def _head_is_above(file: Bytes, strings: Words, source: Source, wanted: Wanted) -> bool:
    """Tell whether the first key of a bucket sorts behind the wanted key."""
    keys, at, stop = wanted
    byte, cursor = _next(file, strings, source, (0, 0, 0))
    while byte > 0 and at < stop and byte == keys[at]:
        byte, cursor = _next(file, strings, source, cursor)
        at += 1
    return byte > 0 and (at == stop or byte > keys[at])


def _source(index: Words, shape: Ints, bucket: int) -> Source:
    """Return where the codes of a bucket lie; none if that were outside of the data."""
    word = np.int64(index[bucket // PER_GROUP])
    start = word >> 16
    ends = 2 * shape[2] + bucket
    begin = start
    if bucket % PER_GROUP:
        begin += np.int64(index[ends - 1] & np.uint64(0xFFFFFFFF))
    end = start + np.int64(index[ends] & np.uint64(0xFFFFFFFF))
    if begin < shape[3] or end > shape[4] or end < begin:
        return 0, 0, 0
    return (word & 0xFFFF) * CODES, begin, (end - begin) * 2 // 3


def _is_sound(file: Bytes, index: Words, shape: Ints, bucket: int) -> bool:
    """Tell whether a bucket is as it was written."""
    _, begin, codes = _source(index, shape, bucket)
    told = np.int64(index[2 * shape[2] + bucket] >> np.uint64(32))
    return checksum_of(file, begin, begin + (codes * 3 + 1) // 2) == told


def _string(file: Bytes, strings: Words, source: Source, used: int) -> Cursor:
    """Return whether the string of a code has a zero, and from where to where in the file it is."""
    at = source[1] + used // 2 * 3
    if used & 1:
        code = np.int64(file[at + 1]) >> 4 | np.int64(file[at + 2]) << 4
    else:
        code = np.int64(file[at]) | (np.int64(file[at + 1]) & 15) << 8
    word = np.int64(strings[source[0] + code])
    start = word >> 16
    return word & 1, start, start + (word >> 8 & 0xFF)


def _next(file: Bytes, strings: Words, source: Source, cursor: Cursor) -> tuple[int, Cursor]:
    """Return the next byte of a bucket's text, -1 behind its end; and where to go on."""
    used, at, stop = cursor
    while at == stop:
        if used == source[2]:
            return -1, cursor
        _, at, stop = _string(file, strings, source, used)
        used += 1
    return np.int64(file[at]), (used, at + 1, stop)


def _dropped(file: Bytes, strings: Words, source: Source, cursor: Cursor) -> tuple[int, Cursor]:
    """Return how many bytes the next key drops, -1 behind the end; and where to go on."""
    number, cursor = _next(file, strings, source, cursor)
    if number >= LONG_DROP:
        middle, cursor = _next(file, strings, source, cursor)
        last, cursor = _next(file, strings, source, cursor)
        number = (number - LONG_DROP) << 16 | middle << 8 | last
    return number, cursor


def _passed(file: Bytes, strings: Words, source: Source, cursor: Cursor) -> tuple[int, Cursor]:
    """Return how many bytes come before the next zero; and where to go on behind it."""
    used, at, stop = cursor
    passed = 0
    while True:
        while at < stop:
            at += 1
            if file[at - 1] == 0:
                return passed, (used, at, stop)
            passed += 1
        has_zero = 0
        while not has_zero:  # most strings are passed without a look at their bytes
            passed += stop - at
            if used == source[2]:
                return passed, (used, stop, stop)
            has_zero, at, stop = _string(file, strings, source, used)
            used += 1


def _compared(
    file: Bytes, strings: Words, source: Source, cursor: Cursor, wanted: Wanted
) -> tuple[int, int, int, Cursor]:
    """Compare the next key with the wanted one, from where they may differ; go on behind it.

    Return its order (below 0, 0, above 0), the bytes that are the same, and all its bytes.
    """
    keys, at, stop = wanted
    byte, cursor = _next(file, strings, source, cursor)
    while byte > 0 and at < stop and byte == keys[at]:
        at += 1
        byte, cursor = _next(file, strings, source, cursor)
    same = at - wanted[1]
    if byte <= 0:
        return (0 if at == stop else -1), same, same, cursor
    if at == stop or byte > keys[at]:
        return 1, same, same, cursor
    more, cursor = _passed(file, strings, source, cursor)
    return -1, same, same + 1 + more, cursor


def _find_in(
    file: Bytes, index: Words, strings: Words, shape: Ints, bucket: int, wanted: Wanted
) -> int:
    """Return 2 * the number of a bucket's keys before the wanted one, + 1 if it is there.

    `same` bytes of the newest key are as wanted, and what follows them is less. A key that keeps
    more than these is less as well; one that keeps fewer is greater.
    """
    if not _is_sound(file, index, shape, bucket):
        return DAMAGED
    keys, start, stop = wanted
    source = _source(index, shape, bucket)
    order, same, length, cursor = _compared(file, strings, source, (0, 0, 0), wanted)
    many = min(PER_BUCKET, shape[0] - bucket * PER_BUCKET)
    number = 0
    while order < 0:
        number += 1
        if number == many:
            return 2 * many
        dropped, cursor = _dropped(file, strings, source, cursor)
        kept = length - dropped
        if dropped < 0 or kept < same:
            return 2 * number if 0 <= kept <= length else DAMAGED
        if kept > same:
            more, cursor = _passed(file, strings, source, cursor)
        else:
            order, new, more, cursor = _compared(
                file, strings, source, cursor, (keys, start + same, stop)
            )
            same += new
        length = kept + more
    return 2 * number + (1 if order == 0 else 0)


def _written(
    file: Bytes, strings: Words, source: Source, cursor: Cursor, room: Room
) -> tuple[int, Cursor]:
    """Write the bytes up to the next zero; return where they end, and where to go on behind it."""
    out, at, end = room
    byte, cursor = _next(file, strings, source, cursor)
    while byte > 0:
        if at >= end:
            return NO_ROOM, cursor
        out[at] = byte
        at += 1
        byte, cursor = _next(file, strings, source, cursor)
    return (at if byte == 0 else DAMAGED), cursor


def _spell(file: Bytes, index: Words, strings: Words, shape: Ints, node: int, room: Room) -> int:
    """Write a node's key; return its length, or -2 if there is no room."""
    bucket = node // PER_BUCKET
    if not _is_sound(file, index, shape, bucket):
        return DAMAGED
    out, start, end = room
    source = _source(index, shape, bucket)
    at, cursor = _written(file, strings, source, (0, 0, 0), room)
    for _ in range(node % PER_BUCKET):
        if at < 0:
            return at
        dropped, cursor = _dropped(file, strings, source, cursor)
        if dropped < 0 or dropped > at - start:
            return DAMAGED
        at, cursor = _written(file, strings, source, cursor, (out, at - dropped, end))
    return at - start if at >= 0 else at


def _spell_bucket(
    file: Bytes, index: Words, strings: Words, shape: Ints, bucket: int, room: Room
) -> int:
    """Write all keys of a bucket, each with a zero; return the end, or -2 if there is no room."""
    if not _is_sound(file, index, shape, bucket):
        return DAMAGED
    out, start, end = room
    source = _source(index, shape, bucket)
    at, cursor = _written(file, strings, source, (0, 0, 0), room)
    for _ in range(min(PER_BUCKET, shape[0] - bucket * PER_BUCKET) - 1):
        if at < 0:
            return at
        dropped, cursor = _dropped(file, strings, source, cursor)
        kept = at - start - dropped
        if dropped < 0 or kept < 0:
            return DAMAGED
        if at + 1 + kept > end:
            return NO_ROOM
        out[at] = 0
        for place in range(kept):
            out[at + 1 + place] = out[start + place]
        start = at + 1
        at, cursor = _written(file, strings, source, cursor, (out, start + kept, end))
    if at >= 0:
        out[at] = 0
        at += 1
    return at
