"""The inner loops of a term shard: which pages have a term, how much that counts, and where.

A list of postings lies in `data` as its writer put it there:

heading    numbers: pages, pages by field (`FIELDS` of them), bytes of the part `pages`
blocks     if there is more than one: of each its last page, and where its postings and its
           positions end, in 4 bytes each
pages      of each page: gap to the one before; the fields in bits, from `FIRST_FIELD` on; how often
           in each (left out, and bit `ONCE` set, where that is once)
positions  of each page and each field that knows them: gaps, the first one counted from 0

Numbers have 7 bits to a byte, the lowest first; bit 7 says that there is more. `head` is what the
heading says, and where the parts lie; see `heading`. A negative answer means that the list is not
as it was written. Nothing outside the arrays is read or written, whatever the list says.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gossamer.search.fields import POSITIONED as WITH_POSITIONS
from gossamer.search.fields import TEXT_FIELDS

Bytes: TypeAlias = NDArray[np.uint8]
Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Place: TypeAlias = tuple[int, int, int, int]
"""Where one is in a list: postings passed, the newest page, next byte of pages, of positions."""

DAMAGED = -1
WORDED = len(TEXT_FIELDS)
FIELDS = WORDED + 1
"""The fields with words, and one for what a page is (its sites, language and types)."""
MOST_FIELDS = 16
POSITIONED = sum(1 << place for place, name in enumerate(TEXT_FIELDS) if name in WITH_POSITIONS)
"""Fields that know where their words stand."""
ONCE, FIRST_FIELD = 1, 1
PER_BLOCK = 128
BLOCK_BYTES = 12
FIELD_SHIFT, PAGE_SHIFT = 28, 32
"""A place in a text: page << 32 | field << 28 | position."""

MANY, HAVING = 0, 1
BLOCKS, BLOCKS_AT, PAGES_AT, PAGES_END, END, LIMIT, HEAD_WORDS = range(FIELDS + 1, FIELDS + 8)


def integer(word: np.integer) -> int:
    """Return a number of an array as one that can be reckoned with."""
    return int(np.int64(word))


def number(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return the number at a place, and the place behind it; -1 if there is none."""
    value = shift = 0
    while at < end and shift < 63:
        byte = integer(data[at])
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    return DAMAGED, at


def half(data: Bytes, at: int) -> int:
    """Return a number of four bytes."""
    value = 0
    for shift in range(4):
        value |= integer(data[at + shift]) << (8 * shift)
    return value


def heading(data: Bytes, start: int, end: int, limit: int, head: Ints) -> int:
    """Read the heading of a list of pages below a limit into `head`; return how many there are."""
    at = start
    for place in range(FIELDS + 2):
        value, at = number(data, at, end)
        if value < 0:
            return DAMAGED
        head[place if place <= FIELDS else PAGES_END] = value
    many = integer(head[MANY])
    if many < 1 or many > limit:
        return DAMAGED
    blocks = (many + PER_BLOCK - 1) // PER_BLOCK
    head[BLOCKS], head[BLOCKS_AT] = blocks, at
    head[PAGES_AT] = at + (blocks * BLOCK_BYTES if blocks > 1 else 0)
    head[END], head[LIMIT] = end, limit
    if head[PAGES_AT] > end or head[PAGES_END] > end - head[PAGES_AT]:
        return DAMAGED
    head[PAGES_END] += head[PAGES_AT]
    return many


def hits(
    data: Bytes,
    head: Ints,
    wanted: Ints,
    many: int,
    mask: int,
    norms: Bytes,
    lengths: Floats,
    weights: Floats,
    pages: Ints,
    scores: Floats,
) -> int:
    """Write the pages that have a term in some fields, and what it counts there; return how many.

    Only those that are wanted, unless `many` is negative. There is room for all that may be found.
    """
    found = next_wanted = 0
    place = (0, -1, head[PAGES_AT], head[PAGES_END])
    while place[0] < head[MANY] and (many < 0 or next_wanted < many):
        if many >= 0 and place[0] % PER_BLOCK == 0:
            place = sought(data, head, wanted[next_wanted], place)
        page, bits, at = posting(data, head, place)
        if page < 0:
            return DAMAGED
        while next_wanted < many and wanted[next_wanted] < page:
            next_wanted += 1
        is_hit = many < 0 or (next_wanted < many and wanted[next_wanted] == page)
        score, at = worth(data, head, bits, at, (page * WORDED, norms, lengths, weights))
        if at < 0:
            return DAMAGED
        if is_hit:
            next_wanted += 1
        if is_hit and bits >> FIRST_FIELD & mask != 0:
            pages[found], scores[found] = page, score
            found += 1
        place = (place[0] + 1, page, at, place[3])
    return found


def sought(data: Bytes, head: Ints, target: int, place: Place) -> Place:
    """Return where the block begins that may have a page, if that is further on."""
    low, high = place[0] // PER_BLOCK, head[BLOCKS] - 1
    if low >= high or half(data, head[BLOCKS_AT] + low * BLOCK_BYTES) >= target:
        return place
    low += 1
    while low < high:
        middle = (low + high) // 2
        if half(data, head[BLOCKS_AT] + middle * BLOCK_BYTES) < target:
            low = middle + 1
        else:
            high = middle
    before = head[BLOCKS_AT] + (low - 1) * BLOCK_BYTES
    at = head[PAGES_AT] + half(data, before + 4)
    return low * PER_BLOCK, half(data, before), at, head[PAGES_END] + half(data, before + 8)


def posting(data: Bytes, head: Ints, place: Place) -> tuple[int, int, int]:
    """Return the next page of a list, its fields in bits, and where its counts are."""
    gap, at = number(data, place[2], head[PAGES_END])
    page = place[1] + gap + 1
    if gap < 0 or page >= head[LIMIT]:
        return DAMAGED, 0, at
    bits, at = number(data, at, head[PAGES_END])
    return (page, bits, at) if bits >= 0 else (DAMAGED, 0, at)


def worth(
    data: Bytes, head: Ints, bits: int, at: int, scale: tuple[int, Bytes, Floats, Floats]
) -> tuple[float, int]:
    """Return what a posting counts, and the place behind it; -1 if it is damaged."""
    row, norms, lengths, weights = scale
    score = 0.0
    for field in range(FIELDS):
        if bits >> (field + FIRST_FIELD) & 1:
            often = 1
            if bits & ONCE == 0:
                often, at = number(data, at, head[PAGES_END])
                if often < 0:
                    return score, DAMAGED
            if field < WORDED and weights[field] != 0.0:
                norm = lengths[field * 256 + integer(norms[row + field])]
                score += weights[field] * often / (often + norm)
    return score, at


def starts(
    data: Bytes, head: Ints, wanted: Ints, many: int, shift: int, out: Ints, room: int
) -> int:
    """Write where rows may begin that have a term at a place; return how many, room or not.

    Only in wanted pages, unless `many` is negative.
    """
    found = next_wanted = 0
    place = (0, -1, head[PAGES_AT], head[PAGES_END])
    while place[0] < head[MANY] and (many < 0 or next_wanted < many):
        if many >= 0 and place[0] % PER_BLOCK == 0:
            place = sought(data, head, wanted[next_wanted], place)
        page, bits, at = posting(data, head, place)
        if page < 0:
            return DAMAGED
        while next_wanted < many and wanted[next_wanted] < page:
            next_wanted += 1
        is_hit = many < 0 or (next_wanted < many and wanted[next_wanted] == page)
        base = (page if is_hit else -1, bits, shift)
        at, spot, found = spots(data, head, base, (at, place[3], found), (out, room))
        if at < 0:
            return DAMAGED
        if is_hit:
            next_wanted += 1
        place = (place[0] + 1, page, at, spot)
    return found


def spots(
    data: Bytes,
    head: Ints,
    base: tuple[int, int, int],
    cursor: tuple[int, int, int],
    into: tuple[Ints, int],
) -> tuple[int, int, int]:
    """Pass one page's counts and positions; write these if the page is hit (not negative)."""
    page, bits, shift = base
    at, spot, found = cursor
    out, room = into
    for field in range(FIELDS):
        if bits >> (field + FIRST_FIELD) & 1:
            often = 1
            if bits & ONCE == 0:
                often, at = number(data, at, head[PAGES_END])
            if often < 0:
                return DAMAGED, spot, found
            area = page << PAGE_SHIFT | field << FIELD_SHIFT
            position = 0
            for _ in range(often if POSITIONED >> field & 1 else 0):
                gap, spot = number(data, spot, head[END])
                position += gap
                if gap < 0 or position >> FIELD_SHIFT:
                    return DAMAGED, spot, found
                found = noted(out, room, found, (page, area, position - shift))
    return at, spot, found


def noted(out: Ints, room: int, found: int, spot: tuple[int, int, int]) -> int:
    """Write where a row may begin, if that is in a page that is hit; return how many there are."""
    page, area, start = spot
    if page < 0 or start < 0:
        return found
    if found < room:
        out[found] = area | start
    return found + 1
