"""The inner loops of the analysis: words of UTF-8 texts, and the terms of known words.

They read as `words.words_of` does. Texts are whole UTF-8.

`index` says for each 256 code points which page of `fates` tells what they are: kind << 24 | the
character in its place. Page 0 is not known yet, page 1 was asked for and is not known yet either,
page 3 are the first 256 characters. A token is a word's place in the arena or, with its highest
bit set, one or two characters of a script without spaces. The arena has of each word: its bytes and
language, the place of its term (<< 8 | bytes), and its bytes, in words of eight. Slots, a
power of two: the upper bits of a word's hash and, below them, its place in the arena; 0 is free.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[np.uint8]
Halves: TypeAlias = NDArray[np.uint32]
Words: TypeAlias = NDArray[np.uint64]
Ints: TypeAlias = NDArray[np.int64]
Tables: TypeAlias = tuple[Halves, Halves, Ints]
Memory: TypeAlias = tuple[Words, Words, Ints, Ints, Words, Words]
"""Slots, arena, missed, state, key, tokens."""
Span: TypeAlias = tuple[int, int]

INLINED = True
LONGEST = 64
"""Bytes of a word."""
MASK, ROOM, LANGUAGE, MOST, USED, KNOWN, MISSED, WANTED, SEED = range(9)
"""Places of `state`: of the slots, words of the arena, the language, most tokens of a field; words
used of the arena, words known, those without a term yet; whether a page of `fates` is wanted."""
FULL = -1
LETTER, SOLID, IGNORED, JOINT, APOSTROPHE = 1, 2, 3, 4, 5
FIRST = 3 * 256
"""Where the first 256 characters are told of."""
_0, _8, _21, _29, _33 = (np.uint64(n) for n in (0, 8, 21, 29, 33))
_MIX = np.uint64(0xFF51AFD7ED558CCD)
_PAIR = np.uint64(1 << 63)
_POINT = np.uint64(0x1FFFFF)
_PLACE = np.uint64((1 << 28) - 1)
_TAG = np.uint64(0xFFFFFFFFF0000000)
_SMALL_A, _SMALL_Z = np.uint64(0x61), np.uint64(0x7A)
_PLUSES, _SHARP = np.uint64(0x2B2B00), np.uint64(0x2300)


def mix(x: np.uint64) -> np.uint64:
    """Return a word with all its bits mixed."""
    x = (x ^ (x >> _33)) * _MIX
    return x ^ (x >> _29)


def fate(text: Bytes, at: int, tables: Tables) -> tuple[int, int]:
    """Return what a character is, as `fates` tell it, and where the next one begins."""
    index, fates, state = tables
    byte = int(text[at])
    if byte < 0x80:
        return int(fates[FIRST + byte]), at + 1
    point, size = (byte & 0x1F) << 6 | (int(text[at + 1]) & 0x3F), 2
    if byte >= 0xF0:
        point = (byte & 0x07) << 18 | (int(text[at + 1]) & 0x3F) << 12
        point |= (int(text[at + 2]) & 0x3F) << 6 | (int(text[at + 3]) & 0x3F)
        size = 4
    elif byte >= 0xE0:
        point = (byte & 0x0F) << 12 | (int(text[at + 1]) & 0x3F) << 6 | (int(text[at + 2]) & 0x3F)
        size = 3
    point = min(point, 0x10FFFF)
    page = int(index[point >> 8])
    if page <= 1:
        index[point >> 8] = 1
        state[WANTED] = 1
    return int(fates[page * 256 + (point & 255)]), at + size


def seen(text: Bytes, at: int, end: int, tables: Tables) -> tuple[int, int]:
    """Return the next character that counts, 0 at the end, and where the one behind it begins."""
    while at < end:
        entry, at = fate(text, at, tables)
        if entry >> 24 != IGNORED:
            return entry, at
    return 0, at


def push(key: Words, word: np.uint64, size: int, byte: int) -> tuple[np.uint64, int]:
    """Add a byte to a key; `word` are its last bytes, less than eight."""
    word |= np.uint64(byte) << np.uint64((size & 7) << 3)
    size += 1
    if size & 7 == 0:
        key[(size >> 3) - 1] = word
        word = _0
    return word, size


def push_point(key: Words, word: np.uint64, size: int, point: int) -> tuple[np.uint64, int, bool]:
    """Add a character to a key, if there is room; tell whether there is none."""
    if point < 0x80:
        if size == LONGEST:
            return word, size, True
        word, size = push(key, word, size, point)
        return word, size, False
    more = 2 if point < 0x800 else 3 if point < 0x10000 else 4
    if size + more > LONGEST:
        return word, size, True
    lead = 0xC0 if more == 2 else 0xE0 if more == 3 else 0xF0
    word, size = push(key, word, size, lead | point >> 6 * (more - 1))
    for rest in range(more - 2, -1, -1):
        word, size = push(key, word, size, 0x80 | ((point >> 6 * rest) & 0x3F))
    return word, size, False


def read_letters(
    text: Bytes, span: Span, tables: Tables, key: Words, joint: int
) -> tuple[int, int, bool]:
    """Put a run of letters into the key; return where it ends, its bytes, and whether it is cut.

    With a `joint`, the span is a name: its parts are put in with that between them.
    """
    at, end = span
    word, size, is_cut = _0, 0, False
    fates = tables[1]
    while at < end and size < LONGEST and text[at] < 0x80:
        entry = int(fates[FIRST + text[at]])
        if entry >> 24 != LETTER:
            break
        word, size = push(key, word, size, entry & 0x7F)
        at += 1
    while at < end:
        entry, after = fate(text, at, tables)
        kind, point = entry >> 24, entry & 0xFFFFFF
        if kind != LETTER:
            if kind == JOINT and joint:
                after = behind_joints(text, after, end, tables)
            elif kind == IGNORED or (kind == APOSTROPHE and joint):
                at = after
                continue
            else:
                break
        if not is_cut:
            word, size, is_cut = push_point(key, word, size, point)
        at = after
    key[size >> 3] = word
    return at, size, is_cut


def behind_joints(text: Bytes, at: int, end: int, tables: Tables) -> int:
    """Return the end of a row of joints, of which the first is past."""
    entry, after = seen(text, at, end, tables)
    while entry >> 24 == JOINT:
        at = after
        entry, after = seen(text, at, end, tables)
    return at


def shortened(text: Bytes, span: Span, tables: Tables, letter: int) -> int:
    """Return where an apostrophe and this last letter of a word end; 0 if there are none."""
    entry, at = seen(text, span[0], span[1], tables)
    if entry >> 24 != APOSTROPHE:
        return 0
    entry, at = seen(text, at, span[1], tables)
    if entry & 0xFFFFFF != letter:
        return 0
    entry, _ = seen(text, at, span[1], tables)
    return 0 if entry >> 24 == LETTER else at


def look_up(key: Words, size: int, memory: Memory) -> int:
    """Return the place of a word in the arena, where it is put if it was not known; or FULL."""
    slots, arena, missed, state = memory[0], memory[1], memory[2], memory[3]
    words = (size + 7) >> 3
    head = np.uint64(size) | np.uint64(state[LANGUAGE]) << _8
    x = np.uint64(state[SEED]) ^ head
    for n in range(words):
        x = mix(x ^ key[n])
    x = mix(x)
    mask = state[MASK]
    slot = np.int64(x) & mask
    x &= _TAG
    while slots[slot] != _0:
        if slots[slot] & _TAG == x:
            place = int(np.int64(slots[slot] & _PLACE))
            if is_word(arena, place, head, key, words):
                return place
        slot = (slot + 1) & mask
    place = int(state[USED])
    if place + 2 + words > state[ROOM] or 2 * state[KNOWN] > mask:
        return FULL
    slots[slot] = x | np.uint64(place)
    arena[place], arena[place + 1] = head, _0
    for n in range(words):
        arena[place + 2 + n] = key[n]
    state[USED] = place + 2 + words
    state[KNOWN] += 1
    missed[state[MISSED]] = place
    state[MISSED] += 1
    return place


def is_word(arena: Words, place: int, head: np.uint64, key: Words, words: int) -> bool:
    """Return True if this place of the arena has this word."""
    if arena[place] != head:
        return False
    same = 0
    while same < words and arena[place + 2 + same] == key[same]:
        same += 1
    return same == words


def add(tokens: Words, count: int, place: int) -> int:
    """Add a token; return how many there are, or FULL."""
    if place < 0 or count < 0:
        return FULL
    tokens[count] = np.uint64(place)
    return count + 1


def add_part(
    text: Bytes, span: Span, tables: Tables, memory: Memory, count: int
) -> tuple[int, int, int]:
    """Add a word; return where it ends, how many tokens there are, and its bytes."""
    key = memory[4]
    at, size, is_cut = read_letters(text, span, tables, key, 0)
    after = shortened(text, (at, span[1]), tables, 0x74)
    if after:
        at = after
        if not is_cut:
            last, size, _ = push_point(key, key[size >> 3], size, 0x74)
            key[size >> 3] = last
    return at, add(memory[5], count, look_up(key, size, memory)), size


def add_word(
    text: Bytes, span: Span, tables: Tables, memory: Memory, count: int
) -> tuple[int, int]:
    """Add the words of a run of letters and joints; return where it ends and how many tokens.

    Most are one word with nothing special behind it, for which little needs to be looked at; most
    of these are English letters with a space behind them.
    """
    at, end = span
    fates, key = tables[1], memory[4]
    word, size = _0, 0
    while at < end and size < LONGEST and text[at] < 0x80:
        entry = int(fates[FIRST + text[at]])
        if entry >> 24 != LETTER:
            if size > 1 and entry >> 24 == 0:
                key[size >> 3] = word
                return at, add(memory[5], count, look_up(key, size, memory))
            break
        word, size = push(key, word, size, entry & 0x7F)
        at += 1
    at, size, _ = read_letters(text, span, tables, memory[4], 0)
    entry, _ = seen(text, at, span[1], tables)
    if size > 1 and (entry >> 24 == 0 or entry >> 24 == SOLID):
        return at, add(memory[5], count, look_up(memory[4], size, memory))
    return add_name(text, span, tables, memory, count)


def add_name(
    text: Bytes, span: Span, tables: Tables, memory: Memory, count: int
) -> tuple[int, int]:
    """Add what may be a name of several parts; return where it ends and how many tokens."""
    start, end = span
    at, count, size = add_part(text, span, tables, memory, count)
    if size == 1:
        count = add_sharp(text, (at, end), tables, memory, count)
    parts, stop = 1, at
    while True:
        entry, after = seen(text, at, end, tables)
        if entry >> 24 != JOINT:
            stop = max(at, shortened(text, (at, end), tables, 0x73))
            break
        stop = behind_joints(text, after, end, tables)
        entry, _ = seen(text, stop, end, tables)
        if entry >> 24 != LETTER:
            break
        at, count, _ = add_part(text, (stop, end), tables, memory, count)
        parts += 1
    if parts > 1:
        _, size, _ = read_letters(text, (start, at), tables, memory[4], 0x5F)
        count = add(memory[5], count, look_up(memory[4], size, memory))
    return stop, count


def add_sharp(text: Bytes, span: Span, tables: Tables, memory: Memory, count: int) -> int:
    """Add c++ or c# if that is what stands behind the letter in the key; return how many tokens."""
    key = memory[4]
    letter = key[0]
    entry, after = seen(text, span[0], span[1], tables)
    size = 2
    if entry & 0xFFFFFF == 0x2B:
        entry, _ = seen(text, after, span[1], tables)
        size = 3
    elif entry & 0xFFFFFF != 0x23:
        return count
    if (size == 3 and entry & 0xFFFFFF != 0x2B) or letter < _SMALL_A or letter > _SMALL_Z:
        return count
    key[0] = letter | (_PLUSES if size == 3 else _SHARP)
    return add(memory[5], count, look_up(key, size, memory))


def add_pairs(
    text: Bytes, span: Span, tables: Tables, tokens: Words, count: int
) -> tuple[int, int]:
    """Add a run of a script without spaces; return where it ends and how many tokens."""
    at, end = span
    entry, after = seen(text, at, end, tables)
    before, many = _0, 0
    while entry >> 24 == SOLID:
        point = np.uint64(entry & 0xFFFFFF)
        if many:
            tokens[count] = _PAIR | before << _21 | point
            count += 1
        before = point
        many += 1
        at = after
        entry, after = seen(text, at, end, tables)
    if many == 1:
        tokens[count] = _PAIR | before << _21
        count += 1
    return at, count


def scan(
    text: Bytes,
    spans: Ints,
    fields: int,
    index: Halves,
    fates: Halves,
    slots: Words,
    arena: Words,
    missed: Ints,
    state: Ints,
    key: Words,
    tokens: Words,
    ends: Ints,
) -> int:
    """Write the tokens of some fields, and where those of each end; return how many, or FULL.

    `spans` are beginnings and ends of the fields. There is room for as many tokens as the text has
    bytes, for nine words in the key and as many misses as there are slots.
    """
    tables = (index, fates, state)
    memory = (slots, arena, missed, state, key, tokens)
    count = 0
    for field in range(fields):
        at, end = spans[2 * field], spans[2 * field + 1]
        last = count + state[MOST]
        while at < end and count < last:
            entry, after = fate(text, at, tables)
            if entry >> 24 == LETTER:
                at, count = add_word(text, (at, end), tables, memory, count)
                if count < 0:
                    return FULL
            elif entry >> 24 == SOLID:
                at, count = add_pairs(text, (at, end), tables, tokens, count)
            else:
                at = after
        count = min(count, last)
        ends[field] = count
    return count


def put_point(out: Bytes, at: int, point: int) -> int:
    """Write a character of three bytes or four, unless it is 0; return where the next one goes."""
    if point == 0:
        return at
    if point < 0x10000:
        out[at] = 0xE0 | point >> 12
        at += 1
    else:
        out[at] = 0xF0 | point >> 18
        out[at + 1] = 0x80 | ((point >> 12) & 0x3F)
        at += 2
    out[at] = 0x80 | ((point >> 6) & 0x3F)
    out[at + 1] = 0x80 | (point & 0x3F)
    return at + 2


def put_term(out: Bytes, at: int, term: int, letters: Bytes) -> int:
    """Write the term at a place of the arena; return where the next one goes."""
    start, size = (term >> 8) << 3, term & 255
    for i in range(16):  # a fixed number is copied at once; most words are no longer
        out[at + i] = letters[start + i]
    for i in range(16, size):
        out[at + i] = letters[start + i]
    return at + size


def spell(
    tokens: Words, ends: Ints, fields: int, arena: Words, letters: Bytes, out: Bytes, room: int
) -> int:
    """Write the terms of some fields, a space behind each; return the bytes, or FULL.

    `letters` are the bytes of the arena, and 16 more. Where tokens of a field end becomes where
    its terms do.
    """
    at, n = 0, 0
    for field in range(fields):
        while n < ends[field]:
            if at + LONGEST + 2 > room:
                return FULL
            token, start = tokens[n], at
            n += 1
            if token >= _PAIR:
                at = put_point(out, at, int(np.int64((token >> _21) & _POINT)))
                at = put_point(out, at, int(np.int64(token & _POINT)))
            else:
                at = put_term(out, at, int(np.int64(arena[np.int64(token) + 1])), letters)
            if at > start:
                out[at] = 0x20
                at += 1
        ends[field] = at
    return at
