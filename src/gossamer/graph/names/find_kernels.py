"""The inner loops of a search: which node has this key, or before which one would it be?

What is searched is described in `read_kernels`. A wanted key has eight bytes more behind it.
"""

from gossamer.graph.names.read_kernels import (
    DAMAGED,
    PART_BITS,
    PARTS,
    PER_PART,
    Bytes,
    Cursor,
    Ints,
    Source,
    Wanted,
    Words,
    dropped_next,
    head_of,
    integer,
    is_sound,
    same_bytes,
    source_of,
    string_of,
)


def find(file: Bytes, index: Words, known: Words, key: Bytes, length: int) -> int:
    """Return 2 * the number of keys before this one, + 1 if it is there."""
    return _find(file, index, known, (key, 0, length))


def find_many(
    file: Bytes, index: Words, known: Words, keys: Bytes, size: int, out: Ints, many: int
) -> int:
    """Put what `find` returns for each key, each followed by a zero, into `out`; return how many.

    There are eight bytes more behind the keys.
    """
    start = number = 0
    while start < size and number < many:
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


def _find(file: Bytes, index: Words, known: Words, wanted: Wanted) -> int:
    """Return 2 * the number of keys before the wanted one, + 1 if it is there."""
    group = _group_of(file, index, known, wanted)
    if group < 0:
        return 0
    if not is_sound(file, index, known, group):
        return DAMAGED
    start, end = head_of(index, known, group)
    same = same_bytes(file, start, end, wanted)
    shared = (end - start, same)
    low = group * PARTS
    high = min(low + PARTS, (integer(known[0]) + PER_PART - 1) >> PART_BITS)
    while high - low > 1:  # the first key of `low` is not above the wanted one, that of `high` is
        middle = (low + high) >> 1
        found = _find_in(file, known, source_of(file, index, known, middle), 1, shared, wanted)
        if found == 0:
            high = middle
        else:
            low = middle
    many = min(PER_PART, integer(known[0]) - low * PER_PART)
    found = _find_in(file, known, source_of(file, index, known, low), many, shared, wanted)
    return found if found < 0 else found + 2 * PER_PART * low


def _group_of(file: Bytes, index: Words, known: Words, wanted: Wanted) -> int:
    """Return the last group whose first key is not above the wanted one; -1 if there is none."""
    low, high = -1, integer(known[1])
    while high - low > 1:
        middle = (low + high) >> 1
        start, end = head_of(index, known, middle)
        same = same_bytes(file, start, end, wanted)
        place = wanted[1] + same
        if start + same < end and (place == wanted[2] or file[start + same] > wanted[0][place]):
            high = middle
        else:
            low = middle
    return low


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
        dropped, cursor = dropped_next(file, known, source, cursor)
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
        same = same_bytes(file, at, stop, (keys, place, end))
        at += same
        place += same
        if at < stop:
            return place, integer(file[at]), (used, at + 1, stop)
        if used == source[2]:
            return place, -1, (used, at, stop)
        _, at, stop = string_of(file, known, source, used)
        used += 1


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
        zero, at, stop = string_of(file, known, source, used)
        used += 1
        if zero:
            return passed + zero - 1, (used, at + zero, stop)
        passed += stop - at
    return passed, (used, stop, stop)
