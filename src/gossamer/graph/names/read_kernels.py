"""The inner loops of a URL map's reader: search a key, spell a node's key.

Keys lie in groups of 256, in order, and a group in parts of 8. The first key of each group can be
read as it is (its *head*). A part's text is, for each key, how many bytes to drop from the end of
the one before (for the first key of a part: from the group's head), the bytes that follow instead,
and a zero. A text is written in codes of 12 bits; a code stands for one of up to 4096 strings.

All is read from the one mapped `file`, of which `index` is a part: for each group and one more its
place << 16 | number of its table of strings; then for each group where its head ends; then for each
its checksum. A group begins with the places of its parts but the first, counted from its own; in 2
bytes each, or in 4 if the group has more than 65,535. `known` begins with the shape of the map: the
numbers of keys and groups, the places of data and heads, and of the words behind all tables. Then
it tells of each code of each table: place in the file << 16 | length << 8 | behind which byte there
is a zero. Then there is a bit for each group that has been checked.

Index and tables were checked when the file was opened; a group is checked when it is first used.
A negative answer means that it is not as it was written. Nothing outside the arrays is read or
written, whatever the file says.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gossamer.native import leading_zeros

PART_BITS, GROUP_BITS = 4, 8
PER_PART, PER_GROUP = 1 << PART_BITS, 1 << GROUP_BITS
PARTS_BITS = GROUP_BITS - PART_BITS
PARTS = 1 << PARTS_BITS
CODES = 4096
LONG_DROP = 0xE0
"""A byte from here on starts a number of three bytes."""
SMALL_GROUP = 0xFFFF
SHAPE_WORDS = 8
SPELL_ROOM = 1024
"""For one key: most are shorter, and what Python hands over has to be cleared first."""

Bytes: TypeAlias = NDArray[np.uint8]
Words: TypeAlias = NDArray[np.uint64]
Ints: TypeAlias = NDArray[np.int64]
Wanted: TypeAlias = tuple[Bytes, int, int]
"""A key: an array, from where, to where."""
Room: TypeAlias = tuple[Bytes, int, int]
"""Where to write: an array, from where, to where at most."""
Source: TypeAlias = tuple[int, int, int]
"""Where the strings of a part's table begin, where its codes lie, how many they are."""
Cursor: TypeAlias = tuple[int, int, int]
"""How many codes have been read, and what is left of the newest one's string: from, to."""

DAMAGED = -1
NO_ROOM = -2


def spell(file: Bytes, index: Words, known: Words, node: int, out: Bytes) -> int:
    """Write a node's key into `SPELL_ROOM` bytes; return its length, or -2 if there is no room."""
    return _spell(file, index, known, node, (out, 0, SPELL_ROOM))


def spell_many(
    file: Bytes,
    index: Words,
    known: Words,
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
        length = _spell(file, index, known, nodes[number], (out, at, room - 1))
        if length < 0:
            return at if length == NO_ROOM else length
        at += length + 1
        out[at - 1] = 0
        done[0] = number + 1
    return at


def spell_parts(
    file: Bytes,
    index: Words,
    known: Words,
    first: int,
    last: int,
    out: Bytes,
    room: int,
    done: Ints,
) -> int:
    """Write all keys of parts, each followed by a zero, while there is room; return the bytes.

    `done[0]` is the number of parts that have been served.
    """
    at = 0
    done[0] = 0
    for part in range(first, last):
        end = _spell_part(file, index, known, part, (out, at, room - 1))
        if end < 0:
            return at if end == NO_ROOM else end
        at = end
        done[0] = part - first + 1
    return at


def _spell(file: Bytes, index: Words, known: Words, node: int, room: Room) -> int:
    """Write a node's key; return its length, or -2 if there is no room."""
    group = node >> GROUP_BITS
    if not is_sound(file, index, known, group):
        return DAMAGED
    out, first, stop = room
    start, end = head_of(index, known, group)
    at = _copied(file, start, end, room)
    source = source_of(file, index, known, node >> PART_BITS)
    cursor = (0, 0, 0)
    for _ in range((node & (PER_PART - 1)) + 1):
        if at < 0:
            return at
        dropped, cursor = dropped_next(file, known, source, cursor)
        if dropped < 0 or dropped > at - first:
            return DAMAGED
        at, cursor = _written(file, known, source, cursor, (out, at - dropped, stop))
    return at - first if at >= 0 else at


def _spell_part(file: Bytes, index: Words, known: Words, part: int, room: Room) -> int:
    """Write all keys of a part, each with a zero; return the end, or -2 if there is no room."""
    if not is_sound(file, index, known, part >> PARTS_BITS):
        return DAMAGED
    out, at, stop = room
    start, end = head_of(index, known, part >> PARTS_BITS)
    source = source_of(file, index, known, part)
    cursor = (0, 0, 0)
    for number in range(min(PER_PART, integer(known[0]) - part * PER_PART)):
        dropped, cursor = dropped_next(file, known, source, cursor)
        if dropped < 0 or dropped > end - start:
            return DAMAGED
        begin = at
        origin = out if number else file
        at = _copied(origin, start, end - dropped, (out, at, stop))
        if at >= 0:
            at, cursor = _written(file, known, source, cursor, (out, at, stop))
        if at < 0:
            return at
        out[at] = 0
        start, end, at = begin, at, at + 1
    return at


def _written(
    file: Bytes, known: Words, source: Source, cursor: Cursor, room: Room
) -> tuple[int, Cursor]:
    """Write the bytes up to the next zero; return where they end, and where to go on behind it."""
    out, place, end = room
    used, at, stop = cursor
    zero = 0
    while at + zero < stop and file[at + zero] != 0:
        zero += 1
    zero = zero + 1 if at + zero < stop else 0
    while True:
        place = _copied(file, at, at + zero - 1 if zero else stop, (out, place, end))
        if zero or place < 0:
            return place, (used, at + zero, stop)
        if used == source[2]:
            return DAMAGED, cursor
        zero, at, stop = string_of(file, known, source, used)
        used += 1


def _copied(file: Bytes, start: int, end: int, room: Room) -> int:
    """Write bytes as they are, eight at a time; return where they end, -2 if there is no room."""
    out, place, stop = room
    if end - start + 8 > stop - place:
        return NO_ROOM
    for at in range(0, end - start, 8):
        word = eight_bytes(file, start + at)
        to = place + at
        out[to] = np.uint8(word >> np.uint64(56))
        out[to + 1] = np.uint8(word >> np.uint64(48) & np.uint64(0xFF))
        out[to + 2] = np.uint8(word >> np.uint64(40) & np.uint64(0xFF))
        out[to + 3] = np.uint8(word >> np.uint64(32) & np.uint64(0xFF))
        out[to + 4] = np.uint8(word >> np.uint64(24) & np.uint64(0xFF))
        out[to + 5] = np.uint8(word >> np.uint64(16) & np.uint64(0xFF))
        out[to + 6] = np.uint8(word >> np.uint64(8) & np.uint64(0xFF))
        out[to + 7] = np.uint8(word & np.uint64(0xFF))
    return place + end - start


def integer(word: np.unsignedinteger) -> int:
    """Return a number of an array as one that can be reckoned with."""
    return int(np.int64(word))


def eight_bytes(file: Bytes, at: int) -> np.uint64:
    """Return eight bytes, the first in the highest place; one instruction for the machine."""
    return (
        np.uint64(file[at]) << np.uint64(56)
        | np.uint64(file[at + 1]) << np.uint64(48)
        | np.uint64(file[at + 2]) << np.uint64(40)
        | np.uint64(file[at + 3]) << np.uint64(32)
        | np.uint64(file[at + 4]) << np.uint64(24)
        | np.uint64(file[at + 5]) << np.uint64(16)
        | np.uint64(file[at + 6]) << np.uint64(8)
        | np.uint64(file[at + 7])
    )


def checksum_of(file: Bytes, start: int, end: int) -> int:
    """Return 32 bits that depend on all bytes from `start` to `end`."""
    mixed = np.uint64(end - start) * np.uint64(0x9E3779B97F4A7C15)
    at = start
    while at + 8 <= end:
        mixed = (mixed ^ eight_bytes(file, at)) * np.uint64(0xD6E8FEB86659FD93)
        mixed ^= mixed >> np.uint64(32)
        at += 8
    while at < end:
        mixed = (mixed ^ np.uint64(file[at])) * np.uint64(0xD6E8FEB86659FD93)
        mixed ^= mixed >> np.uint64(32)
        at += 1
    return integer(mixed & np.uint64(0xFFFFFFFF))


def is_sound(file: Bytes, index: Words, known: Words, group: int) -> bool:
    """Return True if a group is as it was written; the first time by reading it whole."""
    place = integer(known[4]) + (group >> 6)
    bit = np.uint64(1) << np.uint64(group & 63)
    if known[place] & bit:
        return True
    start = integer(index[group] >> np.uint64(16))
    end = integer(index[group + 1] >> np.uint64(16))
    told = integer(index[2 * integer(known[1]) + 1 + group])
    if checksum_of(file, start, end) != told:
        return False
    known[place] |= bit
    return True


def head_of(index: Words, known: Words, group: int) -> tuple[int, int]:
    """Return from where to where in the file the first key of a group lies."""
    heads = integer(known[3])
    ends = integer(known[1]) + 1 + group
    start = heads + integer(index[ends - 1]) if group else heads
    return start, heads + integer(index[ends])


def same_bytes(file: Bytes, start: int, end: int, wanted: Wanted) -> int:
    """Return how many bytes of the file are as wanted; there are eight more behind both."""
    keys, first, stop = wanted
    many = min(end - start, stop - first)
    at = 0
    while at < many:
        unlike = eight_bytes(file, start + at) ^ eight_bytes(keys, first + at)
        if unlike != np.uint64(0):
            return min(many, at + (leading_zeros(unlike) >> 3))
        at += 8
    return many


def source_of(file: Bytes, index: Words, known: Words, part: int) -> Source:
    """Return where the codes of a part of a sound group lie; none if that is not inside of it."""
    group, number = part >> PARTS_BITS, part & (PARTS - 1)
    word = integer(index[group])
    start, stop = word >> 16, integer(index[group + 1] >> np.uint64(16))
    first = group * PARTS
    many = min(PARTS, ((integer(known[0]) + PER_PART - 1) >> PART_BITS) - first)
    width = 2 if stop - start <= SMALL_GROUP else 4
    begin = start + width * (many - 1)
    end = stop
    if begin > stop:
        return 0, 0, 0
    if number + 1 < many:
        end = start + _number(file, start + width * number, width)
    if number:
        begin = start + _number(file, start + width * (number - 1), width)
    if begin < start or end > stop or end < begin:
        return 0, 0, 0
    return SHAPE_WORDS + (word & 0xFFFF) * CODES, begin, (end - begin) * 2 // 3


def _number(file: Bytes, at: int, width: int) -> int:
    """Return a number of 2 or 4 bytes."""
    low = integer(file[at]) | integer(file[at + 1]) << 8
    if width == 2:
        return low
    return low | integer(file[at + 2]) << 16 | integer(file[at + 3]) << 24


def string_of(file: Bytes, known: Words, source: Source, used: int) -> Cursor:
    """Return behind which byte of a code's string is a zero, and from where to where it lies."""
    at = source[1] + (used >> 1) * 3
    if used & 1:
        code = integer(file[at + 1]) >> 4 | integer(file[at + 2]) << 4
    else:
        code = integer(file[at]) | (integer(file[at + 1]) & 15) << 8
    word = integer(known[source[0] + code])
    start = word >> 16
    return word & 0xFF, start, start + (word >> 8 & 0xFF)


def next_byte(file: Bytes, known: Words, source: Source, cursor: Cursor) -> tuple[int, Cursor]:
    """Return the next byte of a part's text, -1 behind its end; and where to go on."""
    used, at, stop = cursor
    while at == stop:
        if used == source[2]:
            return -1, cursor
        _, at, stop = string_of(file, known, source, used)
        used += 1
    return integer(file[at]), (used, at + 1, stop)


def dropped_next(file: Bytes, known: Words, source: Source, cursor: Cursor) -> tuple[int, Cursor]:
    """Return how many bytes the next key drops, -1 behind the end; and where to go on."""
    number, cursor = next_byte(file, known, source, cursor)
    if number >= LONG_DROP:
        middle, cursor = next_byte(file, known, source, cursor)
        last, cursor = next_byte(file, known, source, cursor)
        number = (number - LONG_DROP) << 16 | middle << 8 | last
    return number, cursor
