"""References joined to a page's URL, in canonical form, with their keys. For `native`.

What is plain is done here: letters, digits and marks that no step of the canonical form changes,
perhaps escapes that stay, steps upwards first, an origin in front that is known. All else is left
to the full parser. Numbers are signed words that wrap; `shifted` is the logical shift.
"""

from collections.abc import MutableSequence, Sequence
from typing import TypeAlias

Bytes: TypeAlias = Sequence[int]
Buffer: TypeAlias = MutableSequence[int]
Numbers: TypeAlias = Sequence[int]
Places: TypeAlias = MutableSequence[int]

INLINED = False

COLUMN = 5
"""Row of a target: offset, length, key, origin, state. Of one that is left to the parser offset and
length are those of the reference without its fragment."""
NONE, JOINED, LEFT = 0, 1, 2
"""States: the reference names no page, it is joined, it is left to the parser."""
ORIGIN = 7
"""Row of an origin as someone wrote it: hash, number, ring point in place in a key, offset and
length as written, offset and length in canonical form."""
MOST_TRIES = 64
"""Origins that are looked at before one is called unknown."""
SHORTEST, LONGEST = 17, 240
"""Lengths of texts that `hashed` knows."""

IN_PATH, IN_QUERY, IN_AUTHORITY, IS_HEX, IS_UNRESERVED = 1, 2, 4, 8, 16
"""What a byte may be a part of; an escape of an unreserved character is to be decoded."""
SUSPECTS = 4096
"""Places of beginnings of three letters, behind the marks of the 256 bytes."""
PATH, FOLDER, ROOT, HOME, RING = 0, 1, 2, 3, 4
"""What is told of a base: the lengths of its path without query, of its folder and its origin, the
number of that and its ring point in place in a key."""

HASH_MASK = 0xFFFFFFFFFFFF
KEY_MASK = 0xFFFFFFFFFF
LOW = 0xFFFFFFFF
MIX = 0x165667919E3779F9
PRIME = 0x9E3779B185EBCA87 - (1 << 64)


def shifted(x: int, s: int) -> int:
    """Return a word without its lowest bits."""
    return (x >> s) & ((1 << (64 - s)) - 1)


def word(b: Bytes, i: int) -> int:
    """Return eight bytes as a word."""
    found = 0 + b[i]
    found |= (0 + b[i + 1]) << 8
    found |= (0 + b[i + 2]) << 16
    found |= (0 + b[i + 3]) << 24
    found |= (0 + b[i + 4]) << 32
    found |= (0 + b[i + 5]) << 40
    found |= (0 + b[i + 6]) << 48
    found |= (0 + b[i + 7]) << 56
    return found


def folded(a: int, b: int) -> int:
    """Return both halves of the product of two words, one exclusive-or the other."""
    low_low = (a & LOW) * (b & LOW)
    high_low = shifted(a, 32) * (b & LOW)
    low_high = (a & LOW) * shifted(b, 32)
    cross = shifted(low_low, 32) + (high_low & LOW) + low_high
    upper = shifted(high_low, 32) + shifted(cross, 32) + shifted(a, 32) * shifted(b, 32)
    return ((cross << 32) | (low_low & LOW)) ^ upper


def mixed(b: Bytes, i: int, secret: Bytes, s: int) -> int:
    """Return 16 bytes mixed with the secret."""
    return folded(word(b, i) ^ word(secret, s), word(b, i + 8) ^ word(secret, s + 8))


def finished(h: int) -> int:
    """Return the last step of a hash."""
    h ^= shifted(h, 37)
    h *= MIX
    return h ^ shifted(h, 32)


def hashed(b: Bytes, i: int, n: int, secret: Bytes) -> int:
    """Return XXH3 with seed 0 of 17 to 240 bytes."""
    found = n * PRIME
    if n <= 128:
        pairs = (n - 1) >> 5
        for k in range(pairs, -1, -1):
            found += mixed(b, i + 16 * k, secret, 32 * k)
            found += mixed(b, i + n - 16 * (k + 1), secret, 32 * k + 16)
        return finished(found)
    for k in range(8):
        found += mixed(b, i + 16 * k, secret, 16 * k)
    found = finished(found)
    for k in range(8, n >> 4):
        found += mixed(b, i + 16 * k, secret, 16 * (k - 8) + 3)
    return finished(found + mixed(b, i + n - 16, secret, 136 - 17))


def suspect_place(a: int, b: int, c: int) -> int:
    """Return where three letters, of either case, stand among the suspect beginnings."""
    return 256 + ((((a | 32) * 31 + (b | 32)) * 31 + (c | 32)) & (SUSPECTS - 1))


def is_suspect(b: Bytes, i: int, n: int, letters: Bytes) -> bool:
    """Return True if a parameter that begins at i could name a visit, by its first letters."""
    return n - i >= 3 and letters[suspect_place(0 + b[i], 0 + b[i + 1], 0 + b[i + 2])] != 0


def hash_of(b: Bytes, i: int, n: int) -> int:
    """Return the hash of an origin as written."""
    h = 0
    for k in range(i, i + n):
        h = (h * 33 + b[k]) & HASH_MASK
    return h


def origin_at(b: Bytes, i: int, n: int, slots: Numbers, names: Bytes, mask: int) -> int:
    """Return the place of an origin's row, as written in n bytes; -1 if it is not known."""
    h = hash_of(b, i, n)
    place = (h ^ (h >> 15)) & mask
    for _ in range(MOST_TRIES):
        row = place * ORIGIN
        if slots[row + 4] == 0:
            return -1
        if slots[row] == h and slots[row + 4] == n:
            is_same = True
            for k in range(n):
                if names[slots[row + 3] + k] != b[i + k]:
                    is_same = False
                    break
            if is_same:
                return row
        place = (place + 1) & mask
    return -1


def origin_end(b: Bytes, i: int, n: int, letters: Bytes) -> int:
    """Return where an origin of the web ends that begins at i; 0 if none does, -1 if it is odd."""
    if n - i < 9 or b[i] != 104 or b[i + 1] != 116 or b[i + 2] != 116 or b[i + 3] != 112:
        return 0
    at = i + 5 if b[i + 4] == 115 else i + 4
    if b[at] != 58 or b[at + 1] != 47 or b[at + 2] != 47:
        return 0
    at += 3
    while at < n and (letters[b[at]] & IN_AUTHORITY):
        at += 1
    return at if at == n or b[at] == 47 else -1


def escape_stays(b: Bytes, i: int, n: int, letters: Bytes) -> bool:
    """Return True if at i there is an escape that is in canonical form."""
    if n - i < 3 or not (letters[b[i + 1]] & IS_HEX and letters[b[i + 2]] & IS_HEX):
        return False
    high = (0 + b[i + 1]) - 48
    low = (0 + b[i + 2]) - 48
    high -= 7 if high > 9 else 0
    low -= 7 if low > 9 else 0
    return not letters[high * 16 + low] & IS_UNRESERVED


def copied(b: Bytes, i: int, n: int, rooted: int, letters: Bytes, to: Buffer, m: int) -> int:
    """Write a plain path and its query behind what ends at m; return where that ends, or -1."""
    part = IN_PATH
    last = 0 + to[m - 1]
    while i < n:
        c = 0 + b[i]
        if letters[c] & part:
            if part == IN_PATH:
                if c == 47:
                    rooted = 1
                elif (c == 46 or c == 40) and last == 47:
                    return -1  # a step, or a session id
            elif (c == 38 or c == 63) and is_suspect(b, i + 1, n, letters):
                return -1
        elif c == 63 and part == IN_PATH:
            if is_suspect(b, i + 1, n, letters):
                return -1
            part = IN_QUERY
            if i + 1 == n:
                return m  # a lone question mark
        elif not (c == 58 and rooted and part == IN_PATH) and not (
            c == 37 and escape_stays(b, i, n, letters)
        ):
            return -1
        to[m] = c
        m += 1
        last = c
        i += 1
    return m


def page_end(b: Bytes, i: int, n: int) -> int:
    """Return where a reference ends without its fragment."""
    while i < n and b[i] != 35:
        i += 1
    return i


def climbed(base: Bytes, folder: int, origin: int, steps: int) -> int:
    """Return the length of a folder's text after some steps upwards, not above the root."""
    at = folder - 1
    while steps > 0 and at > origin:
        at -= 1
        while base[at] != 47:
            at -= 1
        steps -= 1
    return at + 1


def relative(
    b: Bytes, i: int, n: int, base: Bytes, about: Numbers, letters: Bytes, to: Buffer, m: int
) -> int:
    """Write a reference without an origin joined to a base; return where it ends, or -1."""
    size = about[FOLDER]
    rooted = 1
    if b[i] == 47:
        if i + 1 < n and b[i + 1] == 47:
            return -1
        size = about[ROOT]
    elif b[i] == 63:
        size = about[PATH]
    else:
        rooted = 0
        if n - i >= 2 and b[i] == 46 and b[i + 1] == 47:
            i += 2
            rooted = 1
        steps = 0
        while n - i >= 3 and b[i] == 46 and b[i + 1] == 46 and b[i + 2] == 47:
            i += 3
            steps += 1
        if steps:
            rooted = 1
            size = climbed(base, about[FOLDER], about[ROOT], steps)
        if i < n and (b[i] == 47 or b[i] == 63):
            return -1
    for k in range(size):
        to[m + k] = base[k]
    return copied(b, i, n, rooted, letters, to, m + size)


def behind_origin(
    b: Bytes,
    i: int,
    n: int,
    slots: Numbers,
    row: int,
    names: Bytes,
    letters: Bytes,
    to: Buffer,
    m: int,
) -> int:
    """Write an origin that is known and the path behind it at i; return where it ends, or -1."""
    size = slots[row + 6]
    for k in range(size):
        to[m + k] = names[slots[row + 5] + k]
    to[m + size] = 47
    if i == n:
        return m + size + 1
    return copied(b, i + 1, n, 1, letters, to, m + size + 1)


def joined(
    b: Bytes,
    i: int,
    n: int,
    base: Bytes,
    about: Numbers,
    letters: Bytes,
    slots: Numbers,
    names: Bytes,
    mask: int,
    to: Buffer,
    m: int,
    row: Places,
    c: int,
) -> int:
    """Write a reference as a canonical URL; return where it ends, or -1 if it is not plain.

    The number of its origin and its ring point are put into its row.
    """
    stop = origin_end(b, i, n, letters)
    if stop < 0:
        return -1
    if stop == 0:
        row[c + 2] = about[RING]
        row[c + 3] = about[HOME]
        return relative(b, i, n, base, about, letters, to, m)
    place = origin_at(b, i, stop - i, slots, names, mask)
    if place < 0:
        return -1
    row[c + 2] = slots[place + 2]
    row[c + 3] = slots[place + 1]
    return behind_origin(b, stop, n, slots, place, names, letters, to, m)


def join_references(
    b: Bytes,
    references: Numbers,
    count: int,
    stride: int,
    base: Bytes,
    about: Numbers,
    letters: Bytes,
    secret: Bytes,
    slots: Numbers,
    names: Bytes,
    mask: int,
    targets: Buffer,
    room: int,
    columns: Places,
    left: Places,
    out: Places,
) -> int:
    """Join references to a canonical URL of the web; list those that are left, return how many.

    A reference begins with its offset and its length.
    """
    m = 0
    asked = 0
    for r in range(count):
        i = references[r * stride]
        c = r * COLUMN
        n = page_end(b, i, i + references[r * stride + 1])
        columns[c + 4] = NONE
        if n == i:
            continue
        end = -1
        if n - i <= LONGEST and m + about[PATH] + 2 * LONGEST + 64 <= room:
            end = joined(b, i, n, base, about, letters, slots, names, mask, targets, m, columns, c)
        size = end - m
        if size < SHORTEST or size > LONGEST:
            columns[c] = i
            columns[c + 1] = n - i
            columns[c + 4] = LEFT
            left[asked] = r
            asked += 1
            continue
        columns[c] = m
        columns[c + 1] = size
        columns[c + 2] |= hashed(targets, m, size, secret) & KEY_MASK
        columns[c + 4] = JOINED
        m = end
    out[0] = m
    return asked
