"""Links as columns, and as the rows of JSON that the links archive holds. For `native`."""

from collections.abc import MutableSequence, Sequence
from typing import TypeAlias

from gossamer.process.onepass.character_kernels import put_word
from gossamer.process.onepass.numbers import (
    HIGH,
    NO_ROOM,
    ONES,
    REFERENCE,
    TARGET,
    TARGET_JOINED,
    TOO_ALIKE,
)
from gossamer.process.onepass.scanning_kernels import has, word

Bytes: TypeAlias = Sequence[int]
Buffer: TypeAlias = MutableSequence[int]
Numbers: TypeAlias = Sequence[int]
Places: TypeAlias = MutableSequence[int]

INLINED = False

KIND_ROOM = 16
"""Bytes for the name of a kind; the last one is its length."""


def quoted(b: Bytes, i: int, n: int, to: Buffer, m: int) -> int:
    """Write n bytes of UTF-8 from i on as a string of JSON; return where it ends."""
    to[m] = 34
    m += 1
    k = i
    end = i + n
    while k < end:
        while k + 8 <= end:
            w = word(b, k)
            if ((w - 32 * ONES) & ~w & HIGH) | has(w, 34) | has(w, 92):
                break
            put_word(to, m, w)
            m += 8
            k += 8
        stop = min(end, k + 8)
        while k < stop:
            c = 0 + b[k]
            k += 1
            if c >= 32 and c != 34 and c != 92:
                to[m] = c
                m += 1
                continue
            m = escaped(c, to, m)
    to[m] = 34
    return m + 1


def escaped(c: int, to: Buffer, m: int) -> int:
    """Write a character that JSON does not have in a string; return where it ends."""
    to[m] = 92
    m += 1
    if c == 34 or c == 92:
        to[m] = c
    elif c == 10:
        to[m] = 110
    elif c == 9:
        to[m] = 116
    elif c == 13:
        to[m] = 114
    elif c == 8:
        to[m] = 98
    elif c == 12:
        to[m] = 102
    else:
        to[m] = 117
        to[m + 1] = 48
        to[m + 2] = 48
        to[m + 3] = 48 + (c >> 4)
        to[m + 4] = 48 + (c & 15) if c & 15 < 10 else 87 + (c & 15)
        m += 4
    return m + 1


def is_kept(
    r: int,
    references: Numbers,
    columns: Numbers,
    targets: Bytes,
    table: Places,
    mask: int,
) -> int:
    """Return 1 for the first link of its kind to a target, 0 for another, TOO_ALIKE if unsure."""
    kind = references[r * REFERENCE + 2]
    row = r * TARGET
    key = columns[row + 2]
    size = columns[row + 1]
    place = (key ^ (key >> 21) ^ (kind * 0x9E3779B1)) & mask
    for _ in range(256):
        o = table[place]
        if o < 0:
            table[place] = r
            return 1
        other = o * TARGET
        if columns[other + 2] == key and columns[other + 1] == size:
            if references[o * REFERENCE + 2] == kind:
                is_same = True
                for q in range(size):
                    if targets[columns[row] + q] != targets[columns[other] + q]:
                        is_same = False
                        break
                if is_same:
                    return 0
        place = (place + 1) & mask
    return TOO_ALIKE


def write_rows(
    texts: Bytes,
    rels: Bytes,
    references: Numbers,
    count: int,
    columns: Numbers,
    targets: Bytes,
    names: Bytes,
    parts: int,
    table: Places,
    mask: int,
    rows: Buffer,
    room: int,
    pages: Buffer,
    ends: Places,
    kinds: Buffer,
    keys: Places,
    origins: Places,
    lines: Places,
    kept: Places,
    out: Places,
) -> int:
    """Write each target once per kind; return how many rows, or less than 0.

    `parts` has a bit for each kind that makes no page. `kept` gets the references with a fragment
    and their places. Out: bytes of rows, of pages, how many fragments.
    """
    for k in range(mask + 1):
        table[k] = -1
    m = 1
    w = 0
    n = 0
    f = 0
    rows[0] = 91
    for r in range(count):
        row = r * TARGET
        if columns[row + 4] != TARGET_JOINED:
            continue
        found = is_kept(r, references, columns, targets, table, mask)
        if found < 0:
            return found
        if found == 0:
            continue
        c = r * REFERENCE
        start = columns[row]
        size = columns[row + 1]
        if m + 6 * (size + references[c + 4] + references[c + 6]) + 64 > room:
            return NO_ROOM
        if n:
            rows[m] = 44
            m += 1
        ends[2 * n] = m
        rows[m] = 91
        m = quoted(targets, start, size, rows, m + 1)
        kind = references[c + 2]
        rows[m] = 44
        m = quoted(names, kind * KIND_ROOM, names[kind * KIND_ROOM + KIND_ROOM - 1], rows, m + 1)
        rows[m] = 44
        m = quoted(texts, references[c + 3], references[c + 4], rows, m + 1)
        rows[m] = 44
        m = quoted(rels, references[c + 5], references[c + 6], rows, m + 1)
        rows[m] = 93
        m += 1
        ends[2 * n + 1] = m
        kinds[n] = kind
        keys[n] = columns[row + 2]
        origins[n] = columns[row + 3]
        lines[n] = references[c + 7]
        if references[c + 8]:
            kept[2 * f] = r
            kept[2 * f + 1] = n
            f += 1
        if ((parts >> kind) & 1) == 0:
            pages[w] = 10
            w += 1
            for q in range(start, start + size):
                pages[w] = targets[q]
                w += 1
        n += 1
    rows[m] = 93
    out[0] = m + 1
    out[1] = w
    out[2] = f
    return n
