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


def find(file: Bytes, index: Words, known: Words, key: Bytes, length: int) -> int:
    """Return 2 * the number of keys before this one, + 1 if it is there."""
    return _find(file, index, known, (key, 0, length))


def find_many(file: Bytes, index: Words, known: Words, keys: Bytes, size: int, out: Ints) -> int:
    """Put what `find` returns for each key, each followed by a zero, into `out`."""
    start = number = 0
    while start < size:
        end = start
        while end < size and keys[end] != 0:
            end += 1
        found = _find(file, index, known, (keys, start, end))
        if found < 0:
            return found
        out[number] = found
        number += 1
        start = end + 1
    return number


def spell(file: Bytes, index: Words, known: Words, node: int, out: Bytes, room: int) -> int:
    """Write a node's key; return its length, or -2 if there is no room."""
    return _spell(file, index, known, node, (out, 0, room))


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


def checksum_of(file: Bytes, start: int, end: int) -> int:
    """Return 32 bits that depend on all bytes from `start` to `end`."""
    mixed = np.uint64(end - start) * np.uint64(0x9E3779B97F4A7C15)
    at = start
    while at + 8 <= end:
        mixed = (mixed ^ _eight(file, at)) * np.uint64(0xD6E8FEB86659FD93)
        mixed ^= mixed >> np.uint64(32)
        at += 8
    while at < end:
        mixed = (mixed ^ np.uint64(file[at])) * np.uint64(0xD6E8FEB86659FD93)
        mixed ^= mixed >> np.uint64(32)
        at += 1
    return np.int64(mixed & np.uint64(0xFFFFFFFF))


def _eight(file: Bytes, at: int) -> np.uint64:
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


def _find(file: Bytes, index: Words, known: Words, wanted: Wanted) -> int:
    """Return 2 * the number of keys before the wanted one, + 1 if it is there."""
    group = _group_of(file, index, known, wanted)
    if group < 0:
        return 0
    if not _is_sound(file, index, known, group):
        return DAMAGED
    start, end = _head(index, known, group)
    same = _same(file, start, end, wanted)
    shared = (end - start, same)
    low = group * PARTS
    high = min(low + PARTS, (np.int64(known[0]) + PER_PART - 1) >> PART_BITS)
    while high - low > 1:  # the first key of `low` is not above the wanted one, that of `high` is
        middle = (low + high) >> 1
        found = _find_in(file, known, _source(file, index, known, middle), 1, shared, wanted)
        if found == 0:
            high = middle
        else:
            low = middle
    many = min(PER_PART, np.int64(known[0]) - low * PER_PART)
    found = _find_in(file, known, _source(file, index, known, low), many, shared, wanted)
    return found if found < 0 else found + 2 * PER_PART * low


def _group_of(file: Bytes, index: Words, known: Words, wanted: Wanted) -> int:
    """Return the last group whose first key is not above the wanted one; -1 if there is none."""
    low, high = -1, np.int64(known[1])
    while high - low > 1:
        middle = (low + high) >> 1
        start, end = _head(index, known, middle)
        same = _same(file, start, end, wanted)
        place = wanted[1] + same
        if start + same < end and (place == wanted[2] or file[start + same] > wanted[0][place]):
            high = middle
        else:
            low = middle
    return low


def _head(index: Words, known: Words, group: int) -> tuple[int, int]:
    """Return from where to where in the file the first key of a group lies."""
    heads = np.int64(known[3])
    ends = np.int64(known[1]) + 1 + group
    start = heads + np.int64(index[ends - 1]) if group else heads
    return start, heads + np.int64(index[ends])


def _same(file: Bytes, start: int, end: int, wanted: Wanted) -> int:
    """Return how many bytes of the file are as wanted; there are eight more behind both."""
    keys, first, stop = wanted
    many = min(end - start, stop - first)
    at = 0
    while at < many:
        unlike = _eight(file, start + at) ^ _eight(keys, first + at)
        if unlike != np.uint64(0):
            return min(many, at + (leading_zeros(unlike) >> 3))
        at += 8
    return many


def _is_sound(file: Bytes, index: Words, known: Words, group: int) -> bool:
    """Tell whether a group is as it was written; the first time by reading it whole."""
    place = np.int64(known[4]) + (group >> 6)
    bit = np.uint64(1) << np.uint64(group & 63)
    if known[place] & bit:
        return True
    start = np.int64(index[group] >> np.uint64(16))
    end = np.int64(index[group + 1] >> np.uint64(16))
    told = np.int64(index[2 * np.int64(known[1]) + 1 + group])
    if checksum_of(file, start, end) != told:
        return False
    known[place] |= bit
    return True


def _source(file: Bytes, index: Words, known: Words, part: int) -> Source:
    """Return where the codes of a part of a sound group lie; none if that is not inside of it."""
    group, number = part >> PARTS_BITS, part & (PARTS - 1)
    word = np.int64(index[group])
    start, stop = word >> 16, np.int64(index[group + 1] >> np.uint64(16))
    first = group * PARTS
    many = min(PARTS, ((np.int64(known[0]) + PER_PART - 1) >> PART_BITS) - first)
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
    low = np.int64(file[at]) | np.int64(file[at + 1]) << 8
    if width == 2:
        return low
    return low | np.int64(file[at + 2]) << 16 | np.int64(file[at + 3]) << 24


def _string(file: Bytes, known: Words, source: Source, used: int) -> Cursor:
    """Return behind which byte of a code's string is a zero, and from where to where it lies."""
    at = source[1] + (used >> 1) * 3
    if used & 1:
        code = np.int64(file[at + 1]) >> 4 | np.int64(file[at + 2]) << 4
    else:
        code = np.int64(file[at]) | (np.int64(file[at + 1]) & 15) << 8
    word = np.int64(known[source[0] + code])
    start = word >> 16
    return word & 0xFF, start, start + (word >> 8 & 0xFF)


def _next(file: Bytes, known: Words, source: Source, cursor: Cursor) -> tuple[int, Cursor]:
    """Return the next byte of a part's text, -1 behind its end; and where to go on."""
    used, at, stop = cursor
    while at == stop:
        if used == source[2]:
            return -1, cursor
        _, at, stop = _string(file, known, source, used)
        used += 1
    return np.int64(file[at]), (used, at + 1, stop)


def _dropped(file: Bytes, known: Words, source: Source, cursor: Cursor) -> tuple[int, Cursor]:
    """Return how many bytes the next key drops, -1 behind the end; and where to go on."""
    number, cursor = _next(file, known, source, cursor)
    if number >= LONG_DROP:
        middle, cursor = _next(file, known, source, cursor)
        last, cursor = _next(file, known, source, cursor)
        number = (number - LONG_DROP) << 16 | middle << 8 | last
    return number, cursor


def _passed(file: Bytes, known: Words, source: Source, cursor: Cursor) -> tuple[int, Cursor]:
    """Return how many bytes come before the next zero; and where to go on behind it."""
    used, at, stop = cursor
    passed = 0
    while at < stop:
        at += 1
        if file[at - 1] == 0:
            return passed, (used, at, stop)
        passed += 1
    while used < source[2]:
        zero, at, stop = _string(file, known, source, used)
        used += 1
        if zero:
            return passed + zero - 1, (used, at + zero, stop)
        passed += stop - at
    return passed, (used, stop, stop)


def _compared(
    file: Bytes, known: Words, source: Source, cursor: Cursor, wanted: Wanted
) -> tuple[int, int, int, Cursor]:
    """Compare the next key with the wanted one, from where they may differ; go on behind it.

    Return its order (below 0, 0, above 0), the bytes that are the same, and all its bytes.
    """
    place, byte, cursor = _matched(file, known, source, cursor, wanted)
    same = place - wanted[1]
    if byte <= 0:
        return (0 if place == wanted[2] else -1), same, same, cursor
    if place == wanted[2] or byte > wanted[0][place]:
        return 1, same, same, cursor
    more, cursor = _passed(file, known, source, cursor)
    return -1, same, same + 1 + more, cursor


def _matched(
    file: Bytes, known: Words, source: Source, cursor: Cursor, wanted: Wanted
) -> tuple[int, int, Cursor]:
    """Return where a part's text and the wanted key differ: how far the key goes, and the byte.

    The byte is 0 at the end of a key of the part, -1 behind all; go on behind it.
    """
    keys, place, end = wanted
    used, at, stop = cursor
    while True:
        same = _same(file, at, stop, (keys, place, end))
        at += same
        place += same
        if at < stop:
            return place, np.int64(file[at]), (used, at + 1, stop)
        if used == source[2]:
            return place, -1, (used, at, stop)
        _, at, stop = _string(file, known, source, used)
        used += 1


def _find_in(
    file: Bytes, known: Words, source: Source, many: int, shared: tuple[int, int], wanted: Wanted
) -> int:
    """Return 2 * the number of a part's keys before the wanted one, + 1 if it is there.

    `same` bytes of the newest key are as wanted, and what follows them is less. A key that keeps
    more than these is less as well; one that keeps fewer is greater. `shared` is the length of the
    group's head, and how much of that is as wanted.
    """
    keys, start, stop = wanted
    length, same = shared
    cursor = (0, 0, 0)
    for number in range(many):
        dropped, cursor = _dropped(file, known, source, cursor)
        kept = length - dropped
        if dropped < 0 or kept < same:
            return 2 * number if 0 <= kept <= length else DAMAGED
        if kept > same:
            more, cursor = _passed(file, known, source, cursor)
        else:
            order, new, more, cursor = _compared(
                file, known, source, cursor, (keys, start + same, stop)
            )
            if order >= 0:
                return 2 * number + (1 if order == 0 else 0)
            same += new
        length = kept + more
    return 2 * many


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
        zero, at, stop = _string(file, known, source, used)
        used += 1


def _copied(file: Bytes, start: int, end: int, room: Room) -> int:
    """Write bytes as they are, eight at a time; return where they end, -2 if there is no room."""
    out, place, stop = room
    if end - start + 8 > stop - place:
        return NO_ROOM
    for at in range(0, end - start, 8):
        word = _eight(file, start + at)
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


def _spell(file: Bytes, index: Words, known: Words, node: int, room: Room) -> int:
    """Write a node's key; return its length, or -2 if there is no room."""
    group = node >> GROUP_BITS
    if not _is_sound(file, index, known, group):
        return DAMAGED
    out, first, stop = room
    start, end = _head(index, known, group)
    at = _copied(file, start, end, room)
    source = _source(file, index, known, node >> PART_BITS)
    cursor = (0, 0, 0)
    for _ in range((node & (PER_PART - 1)) + 1):
        if at < 0:
            return at
        dropped, cursor = _dropped(file, known, source, cursor)
        if dropped < 0 or dropped > at - first:
            return DAMAGED
        at, cursor = _written(file, known, source, cursor, (out, at - dropped, stop))
    return at - first if at >= 0 else at


def _spell_part(file: Bytes, index: Words, known: Words, part: int, room: Room) -> int:
    """Write all keys of a part, each with a zero; return the end, or -2 if there is no room."""
    if not _is_sound(file, index, known, part >> PARTS_BITS):
        return DAMAGED
    out, at, stop = room
    start, end = _head(index, known, part >> PARTS_BITS)
    source = _source(file, index, known, part)
    cursor = (0, 0, 0)
    for number in range(min(PER_PART, np.int64(known[0]) - part * PER_PART)):
        dropped, cursor = _dropped(file, known, source, cursor)
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
