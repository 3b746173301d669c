"""Characters of HTML as UTF-8: references, blanks, limits. For `native`."""

from collections.abc import MutableSequence, Sequence
from typing import TypeAlias

from gossamer.process.onepass.scanning_kernels import (
    is_space,
)

Bytes: TypeAlias = Sequence[int]
Buffer: TypeAlias = MutableSequence[int]
Numbers: TypeAlias = Sequence[int]
Places: TypeAlias = MutableSequence[int]

INLINED = False


NUMERIC = (
    *(0x20AC, 0x81, 0x201A, 0x192, 0x201E, 0x2026, 0x2020, 0x2021, 0x2C6, 0x2030, 0x160, 0x2039),
    *(0x152, 0x8D, 0x17D, 0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014),
    *(0x2DC, 0x2122, 0x161, 0x203A, 0x153, 0x9D, 0x17E, 0x178),
)
"""What the references to 0x80 to 0x9F mean."""


def put_word(b: Buffer, i: int, w: int) -> None:
    """Write eight bytes."""
    b[i] = w & 255
    b[i + 1] = (w >> 8) & 255
    b[i + 2] = (w >> 16) & 255
    b[i + 3] = (w >> 24) & 255
    b[i + 4] = (w >> 32) & 255
    b[i + 5] = (w >> 40) & 255
    b[i + 6] = (w >> 48) & 255
    b[i + 7] = (w >> 56) & 255


def put_character(code: int, to: Buffer, m: int) -> int:
    """Write a character as UTF-8; return how many bytes it takes."""
    if code < 0x80:
        to[m] = code
        return 1
    if code < 0x800:
        to[m] = 0xC0 | (code >> 6)
        to[m + 1] = 0x80 | (code & 63)
        return 2
    if code < 0x10000:
        to[m] = 0xE0 | (code >> 12)
        to[m + 1] = 0x80 | ((code >> 6) & 63)
        to[m + 2] = 0x80 | (code & 63)
        return 3
    to[m] = 0xF0 | (code >> 18)
    to[m + 1] = 0x80 | ((code >> 12) & 63)
    to[m + 2] = 0x80 | ((code >> 6) & 63)
    to[m + 3] = 0x80 | (code & 63)
    return 4


def reference(
    src: Bytes, at: int, n: int, attribute: int, to: Buffer, m: int, refs: Numbers, names: Bytes
) -> int:
    """Decode the reference at an ampersand; return bytes read * 16 + bytes written, 0 if none.

    Slots of `refs`: hash of the name, offset and length of what it means.
    """
    i = at + 1
    if i >= n:
        return 0
    if src[i] == 35:
        i += 1
        code = 0
        start = i
        if i < n and (src[i] | 32) == 120:
            i += 1
            start = i
            while i < n:
                c = (0 + src[i]) | 32
                if 48 <= src[i] <= 57:
                    d = (0 + src[i]) - 48
                elif 97 <= c <= 102:
                    d = c - 87
                else:
                    break
                if code < 0x200000:
                    code = code * 16 + d
                i += 1
        else:
            while i < n and 48 <= src[i] <= 57:
                if code < 0x200000:
                    code = code * 10 + (0 + src[i]) - 48
                i += 1
        if i == start:
            return 0
        if i < n and src[i] == 59:
            i += 1
        if code == 0 or code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            code = 0xFFFD
        elif 0x80 <= code <= 0x9F:
            code = NUMERIC[code - 0x80]
        return (i - at) * 16 + put_character(code, to, m)
    h = 0
    best_end = 0
    best = 0
    while i < n and i - at <= 33:
        c = 0 + src[i]
        if not (48 <= c <= 57 or 97 <= c <= 122 or 65 <= c <= 90 or c == 59):
            break
        h = (h * 33 + c) & 0xFFFFFFFFFFFF
        i += 1
        if c == 59 or i - at <= 7:  # names without a semicolon have at most six letters
            place = (h ^ (h >> 12)) & 8191
            while refs[place * 3] != 0:
                if refs[place * 3] == h:
                    best_end = i
                    best = place * 3
                    break
                place = (place + 1) & 8191
        if c == 59:
            break
    if best_end == 0:
        return 0
    if attribute and src[best_end - 1] != 59 and best_end < n:
        c = 0 + src[best_end]
        if c == 61 or 48 <= c <= 57 or 97 <= c <= 122 or 65 <= c <= 90:
            return 0
    offset = refs[best + 1]
    length = refs[best + 2]
    for k in range(length):
        to[m + k] = names[offset + k]
    return (best_end - at) * 16 + length


def decoded(
    src: Bytes, start: int, end: int, kind: int, to: Buffer, m: int, refs: Numbers, names: Bytes
) -> int:
    """Write a stretch of source as characters; return where that ends. Kind 2 has no references."""
    i = start
    while i < end:
        c = src[i]
        if c == 38 and kind != 2:
            got = reference(src, i, end, kind, to, m, refs, names)
            if got != 0:
                m += got & 15
                i += got >> 4
                continue
        elif c == 13:
            if i + 1 >= end or src[i + 1] != 10:
                to[m] = 10
                m += 1
            i += 1
            continue
        to[m] = c
        m += 1
        i += 1
    return m


def is_blank(
    src: Bytes, start: int, end: int, refs: Numbers, names: Bytes, scratch: Buffer
) -> bool:
    """Return True if a text is nothing but blanks."""
    i = start
    while i < end:
        c = src[i]
        if c == 38:
            got = reference(src, i, end, 0, scratch, 0, refs, names)
            if got & 15 != 1 or not is_space(scratch[0]):
                return False
            i += got >> 4
            continue
        if not is_space(c):
            return False
        i += 1
    return True


def characters(b: Bytes, start: int, end: int) -> int:
    """Return how many characters some bytes are."""
    found = 0
    for i in range(start, end):
        found += (0 + b[i]) & 0xC0 != 0x80
    return found


def blank(b: Bytes, i: int, n: int) -> int:
    """Return the bytes of a character that str.split takes for a blank; 0 if it is none."""
    c = b[i]
    if c < 128:
        return 1 if c == 32 or 9 <= c <= 13 or 28 <= c <= 31 else 0
    if c == 0xC2 and i + 1 < n:
        return 2 if b[i + 1] == 0xA0 or b[i + 1] == 0x85 else 0
    if c == 0xE2 and i + 2 < n:
        d = b[i + 2]
        if b[i + 1] == 0x80:
            return 3 if d <= 0x8A or d == 0xA8 or d == 0xA9 or d == 0xAF else 0
        return 3 if b[i + 1] == 0x81 and d == 0x9F else 0
    if c == 0xE3 and i + 2 < n:
        return 3 if b[i + 1] == 0x80 and b[i + 2] == 0x80 else 0
    if c == 0xE1 and i + 2 < n:
        return 3 if b[i + 1] == 0x9A and b[i + 2] == 0x80 else 0
    return 0


def squeeze(b: Bytes, i: int, n: int, to: Buffer, m: int, within: int, most: int) -> int:
    """Write up to `most` of the characters within the first so many, blanks in a row as one."""
    read = 0
    written = 0
    gap = 0
    while i < n and read < within and written < most:
        size = blank(b, i, n)
        read += 1
        if size > 0:
            gap = 1 if written > 0 else 0
            i += size
            continue
        if gap:
            to[m] = 32
            m += 1
            written += 1
            gap = 0
            if written >= most:
                break
        c = b[i]
        size = 1
        if c >= 0xF0:
            size = 4
        elif c >= 0xE0:
            size = 3
        elif c >= 0xC0:
            size = 2
        for k in range(size):
            to[m + k] = b[i + k]
        m += size
        i += size
        written += 1
    return m
