"""The inner loops of the writer: words to numbers, numbers in order, lists of postings.

A *token* is a term (its number in this run) and a place: page << 32 | field << 28 | position.
Tokens come in the order of their places. A run is, in the order of the terms' hashes, a *piece* of
each term's list: the parts `pages` and `positions` that `read_kernels` describes, with no heading.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gossamer.search.fields import MAIN, TEXT_FIELDS, TITLE
from gossamer.search.terms.hash_kernels import FIRST, hashed, mixed
from gossamer.search.terms.read_kernels import (
    DAMAGED,
    FIELD_SHIFT,
    FIELDS,
    FIRST_FIELD,
    MOST_FIELDS,
    ONCE,
    PAGE_SHIFT,
    PER_BLOCK,
    POSITIONED,
    Bytes,
    Ints,
    integer,
    number,
)

Halves: TypeAlias = NDArray[np.uint32]
Words: TypeAlias = NDArray[np.uint64]

TOKENS, TERMS, TEXT_BYTES, MASK, BASE, SEPARATOR = range(6)
STATE_WORDS = 6
PIECE_WORDS = 4
LONGEST_POSITION = (1 << FIELD_SHIFT) - 1
SAID_IN = 1 << TEXT_FIELDS.index(TITLE) | 1 << TEXT_FIELDS.index(MAIN)
"""Fields that the vocabulary is made of: title and main content."""
SPARE = 32
"""Tallies of one list, while it is merged: its pages by field, and how far it has come."""
LAST, LIST_PAGES, PAGES_BYTES, SPOTS_BYTES = range(MOST_FIELDS, MOST_FIELDS + 4)


def take(
    text: Bytes,
    size: int,
    state: Ints,
    terms: Halves,
    places: Words,
    table: Words,
    numbers: Halves,
    hashes: Words,
    texts: Bytes,
    ends: Ints,
) -> int:
    """Append the tokens of a text; return how many. There is room for as many as it may have."""
    start = position = 0
    while start < size:
        end = start
        value = np.uint64(FIRST)
        while end < size and text[end] != state[SEPARATOR]:
            value = hashed(value, text[end])
            end += 1
        if end > start:
            value = mixed(value)
            slot = slot_of(table, state[MASK], value)
            if table[slot] == np.uint64(0):
                table[slot] = value
                numbers[slot] = state[TERMS]
                hashes[state[TERMS]] = value
                append(text, start, end, state, texts, ends)
            terms[state[TOKENS]] = numbers[slot]
            spot = min(position, LONGEST_POSITION)
            places[state[TOKENS]] = np.uint64(state[BASE] | spot)
            state[TOKENS] += 1
            position += 1
        start = end + 1
    return position


def slot_of(table: Words, mask: int, value: np.uint64) -> int:
    """Return where a hash is in a table, or would be."""
    slot = integer(value & np.uint64(mask))
    while table[slot] != np.uint64(0) and table[slot] != value:
        slot = slot + 1 & mask
    return slot


def append(text: Bytes, start: int, end: int, state: Ints, texts: Bytes, ends: Ints) -> None:
    """Keep the text of a new term."""
    used = state[TEXT_BYTES]
    for at in range(start, end):
        texts[used + at - start] = text[at]
    state[TEXT_BYTES] = used + end - start
    ends[state[TERMS]] = state[TEXT_BYTES]
    state[TERMS] += 1


def scatter(terms: Halves, places: Words, tokens: int, next_of: Ints, out: Words) -> int:
    """Put places where their terms' lists go on; they stay in their order. Return how many."""
    for token in range(tokens):
        term = terms[token]
        out[next_of[term]] = places[token]
        next_of[term] += 1
    return tokens


def pieces(places: Words, starts: Ints, terms: int, out: Bytes, about: Ints) -> int:
    """Write the piece of each term; return the bytes. There is room for 16 per token.

    `about` tells of each piece: where it starts, where its pages end, where it ends, its pages.
    """
    at = 0
    for term in range(terms):
        about[PIECE_WORDS * term] = at
        at, many = put_pages(places, starts[term], starts[term + 1], out, at)
        about[PIECE_WORDS * term + 1] = at
        at = put_positions(places, starts[term], starts[term + 1], out, at)
        about[PIECE_WORDS * term + 2] = at
        about[PIECE_WORDS * term + 3] = many
    return at


def put_pages(places: Words, start: int, end: int, out: Bytes, at: int) -> tuple[int, int]:
    """Write the pages of a term: gaps, fields, how often in each. Return where, and how many."""
    many, before = 0, -1
    while start < end:
        page = integer(places[start] >> np.uint64(PAGE_SHIFT))
        stop, bits, fields = start, 0, 0
        while stop < end and integer(places[stop] >> np.uint64(PAGE_SHIFT)) == page:
            bit = 1 << field_of(places[stop])
            fields += 0 if bits & bit else 1
            bits |= bit
            stop += 1
        at = put(out, at, page - before - 1)
        is_once = stop - start == fields
        at = put(out, at, bits << FIRST_FIELD | (ONCE if is_once else 0))
        if not is_once:
            at = put_counts(places, start, stop, out, at)
        before, start = page, stop
        many += 1
    return at, many


def put_counts(places: Words, start: int, stop: int, out: Bytes, at: int) -> int:
    """Write how often a term is in each of a page's fields in which it is."""
    first = start
    for token in range(start + 1, stop + 1):
        if token == stop or field_of(places[token]) != field_of(places[first]):
            at = put(out, at, token - first)
            first = token
    return at


def put_positions(places: Words, start: int, end: int, out: Bytes, at: int) -> int:
    """Write the positions of a term, where they are known."""
    before, position = np.uint64(0), 0
    for token in range(start, end):
        area = places[token] >> np.uint64(FIELD_SHIFT)
        if token == start or area != before:
            position = 0
        before = area
        if POSITIONED >> field_of(places[token]) & 1:
            here = integer(places[token]) & LONGEST_POSITION
            at = put(out, at, here - position)
            position = here
    return at


def field_of(place: np.uint64) -> int:
    """Return the field of a place."""
    return integer(place >> np.uint64(FIELD_SHIFT)) & (MOST_FIELDS - 1)


def put(out: Bytes, at: int, value: int) -> int:
    """Write a number, 7 bits to a byte; return the place behind it."""
    while value > 127:
        out[at] = value & 127 | 128
        value >>= 7
        at += 1
    out[at] = value
    return at + 1


def merge(
    data: Bytes,
    about: Ints,
    lists: Ints,
    many: int,
    numbers: Ints,
    tally: Ints,
    parts: Bytes,
    room: int,
    blocks: Halves,
    out: Bytes,
    ends: Ints,
) -> int:
    """Write whole lists from their pieces, pages numbered anew; return the bytes.

    List `n` has the pieces from `lists[n]` on. `ends` tells where it ends, and of how many pages it
    is in one of the fields `SAID_IN`, the larger one. `numbers` has -1 for pages that are gone.
    `parts` is room for the parts of one list: pages, and from `room` on positions.
    """
    at = 0
    for place in range(many):
        for word in range(SPARE):
            tally[word] = 0
        tally[LAST] = -1
        for piece in range(lists[place], lists[place + 1]):
            if not add_piece(data, about, piece, numbers, (tally, parts, room, blocks)):
                return DAMAGED
        if tally[LIST_PAGES] > 0:
            at = put_list(tally, parts, room, blocks, (out, at))
        ends[2 * place], ends[2 * place + 1] = at, 0
        for field in range(FIELDS):
            if SAID_IN >> field & 1:
                ends[2 * place + 1] = max(ends[2 * place + 1], tally[field])
    return at


def add_piece(
    data: Bytes, about: Ints, piece: int, numbers: Ints, whole: tuple[Ints, Bytes, int, Halves]
) -> bool:
    """Add the postings of a piece to a list; tell whether they are sound."""
    tally = whole[0]
    at, spot = about[PIECE_WORDS * piece], about[PIECE_WORDS * piece + 1]
    pages_end, end = spot, about[PIECE_WORDS * piece + 2]
    page = -1
    for _ in range(about[PIECE_WORDS * piece + 3]):
        gap, counts = number(data, at, pages_end)
        if gap < 0 or counts >= pages_end:
            return False
        page += gap + 1
        at, positions = passed(data, counts, pages_end)
        stop = spot
        while positions > 0 and stop < end:
            positions -= 1 if data[stop] < 128 else 0
            stop += 1
        if at < 0 or positions > 0:
            return False
        if numbers[page] >= 0:
            tally[LIST_PAGES] += 1
            add_posting(data, (counts, at, spot, stop), numbers[page], whole)
        spot = stop
    return True


def passed(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return the place behind a page's fields and counts (-1: damaged), and its positions."""
    bits, at = number(data, at, end)
    if bits < 0:
        return DAMAGED, 0
    positions = 0
    for field in range(FIELDS):
        if bits >> (field + FIRST_FIELD) & 1:
            often = 1
            if bits & ONCE == 0:
                often, at = number(data, at, end)
            if often < 0:
                return DAMAGED, 0
            positions += often if POSITIONED >> field & 1 else 0
    return at, positions


def add_posting(
    data: Bytes,
    source: tuple[int, int, int, int],
    page: int,
    whole: tuple[Ints, Bytes, int, Halves],
) -> None:
    """Append a posting to the parts of a list, and a block if one is full."""
    tally, parts, room, blocks = whole
    counts, counts_end, spot, stop = source
    at = put(parts, tally[PAGES_BYTES], page - tally[LAST] - 1)
    for place in range(counts, counts_end):
        parts[at] = data[place]
        at += 1
    bits, _ = number(data, counts, counts_end)
    for field in range(FIELDS):
        tally[field] += bits >> (field + FIRST_FIELD) & 1
    for place in range(spot, stop):
        parts[room + tally[SPOTS_BYTES] + place - spot] = data[place]
    tally[LAST], tally[PAGES_BYTES] = page, at
    tally[SPOTS_BYTES] += stop - spot
    block = 3 * ((tally[LIST_PAGES] - 1) // PER_BLOCK)
    blocks[block], blocks[block + 1], blocks[block + 2] = page, at, tally[SPOTS_BYTES]


def put_list(tally: Ints, parts: Bytes, room: int, blocks: Halves, into: tuple[Bytes, int]) -> int:
    """Write a list: heading, blocks, pages, positions. Return the place behind it."""
    out, at = into
    at = put(out, at, tally[LIST_PAGES])
    for field in range(FIELDS):
        at = put(out, at, tally[field])
    at = put(out, at, tally[PAGES_BYTES])
    if tally[LIST_PAGES] > PER_BLOCK:
        for word in range(3 * ((tally[LIST_PAGES] + PER_BLOCK - 1) // PER_BLOCK)):
            value = integer(blocks[word])
            for shift in range(4):
                out[at + shift] = value >> (8 * shift) & 255
            at += 4
    for place in range(tally[PAGES_BYTES]):
        out[at + place] = parts[place]
    at += integer(tally[PAGES_BYTES])
    for place in range(tally[SPOTS_BYTES]):
        out[at + place] = parts[room + place]
    return at + integer(tally[SPOTS_BYTES])
