"""The inner loop of chunk framing: plain functions that `native` turns into machine code.

They take flat arrays (in machine code: bare pointers, so no bounds and no lengths) and numbers.
They go over whole lines only, and stop before whatever `Dechunker` must decide about: the last
chunk, an error, a line that has not come whole.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Octets: TypeAlias = NDArray[np.uint8]

BARE_LF, MALFORMED = 1, 2
"""Bits of what was met: a line without CR, a size line that a strict reader rejects."""
SIZE_LINE, AFTER_CHUNK = 0, -1
"""What is expected; above zero stands how many bytes of a chunk are."""
MAX_DIGITS = 16
MAX_CHUNK_BYTES = 1 << 56
"""No chunk has come whole that is larger: such sizes are left to Python."""


def digit(octet: int) -> int:
    """Return the value of a hexadecimal digit, or -1."""
    if 48 <= octet <= 57:
        return octet - 48
    lower = octet | 32
    return lower - 87 if 97 <= lower <= 102 else -1


def is_token(octet: int) -> bool:
    """Return True if a byte may stand in a token (RFC 9110, section 5.6.2)."""
    if 48 <= octet <= 57 or 65 <= octet <= 90 or 94 <= octet <= 122:
        return True
    if octet in (33, 124, 126):
        return True
    return 35 <= octet <= 39 or octet in (42, 43, 45, 46)


def after_blanks(data: Octets, at: int, end: int) -> int:
    """Return where the first byte is that is no blank."""
    while at < end and (data[at] == 32 or data[at] == 9):
        at += 1
    return at


def after_token(data: Octets, at: int, end: int) -> int:
    """Return where a token that begins here ends; here, if none does."""
    while at < end and is_token(data[at]):
        at += 1
    return at


def after_value(data: Octets, at: int, end: int) -> int:
    """Return where the value of an extension ends, a token or a quoted string; -1 if it is none."""
    if at >= end or data[at] != 34:
        after = after_token(data, at, end)
        return after if after > at else -1
    at += 1
    while at < end and data[at] != 34:
        if data[at] == 92:
            at += 1
        if at >= end or data[at] == 13:
            return -1
        at += 1
    return at + 1 if at < end else -1


def has_strict_rest(data: Octets, at: int, end: int) -> bool:
    """Return True if extensions, and nothing else, follow a chunk size (RFC 9112, 7.1.1)."""
    while at < end:
        at = after_blanks(data, at, end)
        if at >= end or data[at] != 59:
            return False
        name = after_blanks(data, at + 1, end)
        at = after_token(data, name, end)
        if at == name:
            return False
        sign = after_blanks(data, at, end)
        if sign < end and data[sign] == 61:
            at = after_value(data, after_blanks(data, sign + 1, end), end)
            if at < 0:
                return False
    return True


def line_end(data: Octets, at: int, size: int) -> int:
    """Return where the next LF is, or -1."""
    while at < size:
        if data[at] == 10:
            return at
        at += 1
    return -1


def after_digits(data: Octets, at: int, end: int) -> int:
    """Return where the digits of a chunk size end; those beyond the sixteenth do not count."""
    end = min(end, at + MAX_DIGITS)
    while at < end and digit(data[at]) >= 0:
        at += 1
    return at


def chunk_size(data: Octets, at: int, end: int) -> int:
    """Return the number that digits spell; 0 if it is too large for any chunk."""
    value = 0
    while at < end and value < MAX_CHUNK_BYTES:
        value = value * 16 + digit(data[at])
        at += 1
    return value if at == end and value < MAX_CHUNK_BYTES else 0


def after_line(data: Octets, at: int, size: int, state: Ints) -> int:
    """Read the line at `at` into the state and return where the next thing begins; here, if none.

    State: what is expected, what was met.
    """
    newline = line_end(data, at, size)
    if newline < 0:
        return at
    is_bare = newline == at or data[newline - 1] != 13
    end = newline if is_bare else newline - 1
    if state[0] == AFTER_CHUNK:
        if end > at:
            return at
        state[0] = SIZE_LINE
    else:
        rest = after_digits(data, at, end)
        count = chunk_size(data, at, rest)
        if count == 0:
            return at
        state[0] = count
        if not has_strict_rest(data, rest, end):
            state[1] |= MALFORMED
    if is_bare:
        state[1] |= BARE_LF
    return newline + 1


def dechunk(data: Octets, size: int, out: Octets, state: Ints) -> int:
    """Copy the payload of chunks to `out`, and return how many bytes there are of it.

    State, read and written: what is expected, what was met, and where to begin.
    """
    at, written = state[2], 0
    while True:
        count = min(state[0], size - at)
        if count > 0:
            for i in range(count):
                out[written + i] = data[at + i]
            written += count
            at += count
            state[0] -= count
            if state[0] == 0:
                state[0] = AFTER_CHUNK
        if state[0] > 0:
            break
        after = after_line(data, at, size, state)
        if after == at:
            break
        at = after
    state[2] = at
    return written
