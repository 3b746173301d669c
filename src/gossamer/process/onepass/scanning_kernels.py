"""Where names, comments, scripts and lines of HTML begin and end. For `native`."""

from collections.abc import MutableSequence, Sequence
from typing import TypeAlias

from gossamer.native import leading_zeros
from gossamer.process.onepass.numbers import (
    A_CLASS,
    A_ID,
    A_STYLE,
    FROM_HASH,
    HIGH,
    LONG_NAME,
    LOW_BITS,
    MOST_NAME,
    ONES,
    OTHERS,
    T_DIV,
    WORD_FACTOR,
)

Bytes: TypeAlias = Sequence[int]
Numbers: TypeAlias = Sequence[int]
Places: TypeAlias = MutableSequence[int]

INLINED = False


def word(b: Bytes, i: int) -> int:
    """Return eight bytes as one word; LLVM makes one load of it."""
    found = 0 + b[i]
    found |= (0 + b[i + 1]) << 8
    found |= (0 + b[i + 2]) << 16
    found |= (0 + b[i + 3]) << 24
    found |= (0 + b[i + 4]) << 32
    found |= (0 + b[i + 5]) << 40
    found |= (0 + b[i + 6]) << 48
    found |= (0 + b[i + 7]) << 56
    return found


def has(w: int, c: int) -> int:
    """Return something but 0 if a byte of the word is c; rarely else."""
    y = w ^ (c * ONES)
    return (y - ONES) & ~y & HIGH


def first_in(found: int) -> int:
    """Return which byte of a word is the first that `has` found."""
    return (63 - leading_zeros(found & -found)) >> 3


def is_space(c: int) -> bool:
    """Return True for the blanks of HTML."""
    return c == 32 or c == 10 or c == 9 or c == 13 or c == 12


def is_letter(c: int) -> bool:
    """Return True for a letter of ASCII."""
    return 97 <= c <= 122 or 65 <= c <= 90


def small(w: int) -> int:
    """Return eight bytes with small letters for the capital ones of ASCII."""
    low = w & LOW_BITS
    capital = (low + 0x3F * ONES) & ~(low + 0x25 * ONES) & ~w & HIGH
    return w | ((capital >> 2) & (0x20 * ONES))


def name_word(src: Bytes, start: int, end: int, n: int) -> int:
    """Return a name of up to eight letters as one word, in small letters; zeros follow it."""
    if start + 8 <= n:
        w = word(src, start)
        size = end - start
        return small(w & ((1 << (8 * size)) - 1) if size < 8 else w)
    w = 0
    for i in range(start, end):
        w |= (0 + src[i]) << (8 * (i - start))
    return small(w)


def number_of(src: Bytes, start: int, end: int, n: int, slots: Numbers, names: Bytes) -> int:
    """Return the number of a name: from the table, or made of its letters; -1 if it is too long.

    Slots: the name as a word, or its hash if it is a long one, number, offset, length; as many as a
    power of two. The source has n bytes.
    """
    size = end - start
    if size < LONG_NAME:
        w = name_word(src, start, end, n)
        h = hash_of_word(w)
        place = (h ^ (h >> 9)) & 511
        while slots[place * 4 + 3] != 0:
            if slots[place * 4] == w and slots[place * 4 + 3] == size:
                return slots[place * 4 + 1]
            place = (place + 1) & 511
        return OTHERS + ((h << 7) | size)
    if size > MOST_NAME:
        return -1
    h = 0
    for i in range(start, end):
        c = 0 + src[i]
        if 65 <= c <= 90:
            c += 32
        h = (h * 33 + c) & FROM_HASH
    place = (h ^ (h >> 9)) & 511
    while slots[place * 4 + 3] != 0:
        base = place * 4
        if slots[base] == h and slots[base + 3] == size:
            at = slots[base + 2]
            same = True
            for i in range(size):
                c = 0 + src[start + i]
                if 65 <= c <= 90:
                    c += 32
                if names[at + i] != c:
                    same = False
                    break
            if same:
                return slots[base + 1]
        place = (place + 1) & 511
    return OTHERS + ((h << 7) | size)


def hash_of_word(w: int) -> int:
    """Return a hash of a short name."""
    return ((w * WORD_FACTOR) >> 16) & FROM_HASH


def lines_between(src: Bytes, start: int, end: int) -> int:
    """Return how many line feeds are there."""
    found = 0
    i = start
    while i + 64 <= end:
        some = 0
        for k in range(64):
            some += src[i + k] == 10
        found += some
        i += 64
    while i + 8 < end:
        w = word(src, i) ^ (10 * ONES)
        # 128 in each byte that is zero, and in no other
        zeros = ~(((w & LOW_BITS) + LOW_BITS) | w | LOW_BITS)
        found += (((zeros >> 7) & ONES) * ONES >> 56) & 255
        i += 8
    while i < end:
        if src[i] == 10:
            found += 1
        i += 1
    return found


def script_end(src: Bytes, i: int, n: int) -> int:
    """Return where the end tag of a script stands, by the rules of old comments in scripts."""
    escaped = 0
    while i < n:
        c = src[i]
        if c != 60 and c != 45:
            dash = 45 if escaped else 60
            while i + 8 < n:
                w = word(src, i)
                found = has(w, 60) | has(w, dash)
                if found:
                    i += first_in(found)
                    break
                i += 8
            c = src[i]
        if c == 60:
            if (
                escaped == 0
                and i + 3 < n
                and src[i + 1] == 33
                and src[i + 2] == 45
                and src[i + 3] == 45
            ):
                escaped = 1
                i += 2  # its dashes may be those of the end: <!-->
                continue
            k = i + 1
            closing = k < n and src[k] == 47
            if closing:
                k += 1
            if k + 6 < n and is_script(src, k):
                e = src[k + 6]
                if is_space(e) or e == 47 or e == 62:
                    if closing and escaped != 2:
                        return i
                    if closing:
                        escaped = 1
                    elif escaped == 1:
                        escaped = 2
                    i = k + 6
                    continue
        elif c == 45 and escaped != 0 and i + 2 < n and src[i + 1] == 45:
            k = i + 2
            while k < n and src[k] == 45:
                k += 1
            if k < n and src[k] == 62:
                escaped = 0
            i = k
            continue
        i += 1
    return n


def is_script(src: Bytes, k: int) -> bool:
    """Return True if the name of a script stands there."""
    return (
        (src[k] | 32) == 115
        and (src[k + 1] | 32) == 99
        and (src[k + 2] | 32) == 114
        and (src[k + 3] | 32) == 105
        and (src[k + 4] | 32) == 112
        and (src[k + 5] | 32) == 116
    )


def is_doctype(src: Bytes, i: int, n: int) -> bool:
    """Return True if a doctype stands there."""
    return (
        n - i >= 7
        and (src[i] | 32) == 100
        and (src[i + 1] | 32) == 111
        and (src[i + 2] | 32) == 99
        and (src[i + 3] | 32) == 116
        and (src[i + 4] | 32) == 121
        and (src[i + 5] | 32) == 112
        and (src[i + 6] | 32) == 101
    )


def end_of(src: Bytes, i: int, n: int, start: int, length: int) -> int:
    """Return where the end tag of the element whose name stands at `start` is; n if nowhere."""
    while i < n:
        while i + 8 < n:
            found = has(word(src, i), 60)
            if found:
                i += first_in(found)
                break
            i += 8
        if src[i] == 60 and i + length + 2 < n and src[i + 1] == 47:
            same = True
            for k in range(length):
                if (src[i + 2 + k] | 32) != (src[start + k] | 32):
                    same = False
                    break
            if same:
                c = src[i + 2 + length]
                if is_space(c) or c == 47 or c == 62:
                    return i
        i += 1
    return n


def comment_end(src: Bytes, k: int, n: int) -> int:
    """Return where a comment ends whose text begins at k."""
    if k < n and src[k] == 62:
        return k + 1
    if k + 1 < n and src[k] == 45 and src[k + 1] == 62:
        return k + 2
    while k < n:
        while k + 8 < n:
            found = has(word(src, k), 45)
            if found:
                k += first_in(found)
                break
            k += 8
        if src[k] == 45 and k + 1 < n and src[k + 1] == 45:
            k += 2
            while k < n and src[k] == 45:
                k += 1
            if k < n and src[k] == 62:
                return k + 1
            if k + 1 < n and src[k] == 33 and src[k + 1] == 62:
                return k + 2
            continue
        k += 1
    return n


def matters(src: Bytes, attr: int, tag: int, at: int, length: int) -> bool:
    """Return True if a style may hide or load something, or a class or an id may name an ad."""
    if attr == A_STYLE:
        for q in range(at, at + length):
            c = src[q] | 32
            if src[q] == 40 or src[q] == 38:
                return True
            if c == 105 and q + 3 < at + length and (src[q + 1] | 32) == 115:
                d = src[q + 2] | 32
                if d == 112 or d == 105:  # disp, visi
                    return True
        return False
    if attr == A_ID and tag == T_DIV:
        for q in range(at, at + length - 1):
            if ((src[q] | 32) == 97 and (src[q + 1] | 32) == 100) or src[q] == 38:  # ad
                return True
        return False
    if attr == A_CLASS or attr == A_ID:
        before = 32
        for q in range(at, at + length - 1):
            c = 0 + src[q]
            if c == 38:
                return True
            if (c | 32) == 97 and (src[q + 1] | 32) == 100 and (c == 65 or not is_letter(before)):
                return True
            if (c | 32) == 115 and (src[q + 1] | 32) == 112 and q + 8 < at + length:
                if (src[q + 2] | 32) == 111 and (src[q + 3] | 32) == 110:  # spon
                    return True
            before = c
        return False
    return True


def blank_until(src: Bytes, i: int, n: int) -> int:
    """Return where the next byte is that is no blank."""
    while i < n and is_space(src[i]):
        i += 1
    return i
