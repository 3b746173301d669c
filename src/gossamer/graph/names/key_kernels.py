"""The inner loop of `keys_of`: many URLs to keys, by the same rules as `key_of`.

A URL is `text[start:end]`. What is no canonical web address gets the key of other texts.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[np.uint8]
Span: TypeAlias = tuple[int, int]

DOT, SLASH, COLON, ZERO, NINE = 46, 47, 58, 48, 57
TILDE, OPEN, CLOSE, S = 126, 91, 93, 115


def to_keys(text: Bytes, size: int, out: Bytes) -> int:
    """Write the key of each URL; all, here and there, are followed by a zero. Return the bytes.

    There is room for twice as many bytes and five more for each URL.
    """
    start = at = 0
    while start < size:
        end = start
        while end < size and text[end] != 0:
            end += 1
        stop = _web_key(text, start, end, out, at)
        if stop < 0:
            stop = _other_key(text, start, end, out, at)
        out[stop] = 0
        at = stop + 1
        start = end + 1
    return at


def _web_key(text: Bytes, start: int, end: int, out: Bytes, at: int) -> int:
    """Write the key of a web address; return where it ends, -1 if it is none."""
    secure = _is_secure(text, start, end)
    if secure < 0:
        return -1
    host = start + 7 + secure
    slash = host
    while slash < end and text[slash] != SLASH:
        slash += 1
    colon = _host_end(text, host, slash)
    if slash == end or colon < 0 or not _is_port(text, colon, slash, secure):
        return -1
    at = _put_host(text, host, colon, out, at)
    at = _put_port(text, colon, slash, secure, out, at)
    high = 0
    for place in range(slash, end):
        high |= int(np.int64(text[place]))
        out[at] = text[place]
        at += 1
    return at if high < 128 else -1


def _is_secure(text: Bytes, start: int, end: int) -> int:
    """Return 1 for https://, 0 for http://, -1 for others; there is one more byte at least."""
    if end - start < 9 or text[start] != 104 or text[start + 1] != 116:
        return -1
    if text[start + 2] != 116 or text[start + 3] != 112:
        return -1
    secure = 1 if text[start + 4] == S else 0
    at = start + 4 + secure
    is_so = text[at] == COLON and text[at + 1] == SLASH and text[at + 2] == SLASH
    return secure if is_so else -1


def _host_end(text: Bytes, start: int, end: int) -> int:
    """Return where a host ends that stands before a port or a slash; -1 if it is none."""
    if start < end and text[start] == OPEN:
        return _literal_end(text, start, end)
    at = start
    while at < end and text[at] != COLON:
        if not _is_of_name(text[at]):
            return -1
        at += 1
    last = at - 1 if at > start and text[at - 1] == DOT else at
    return at if last > start and text[last - 1] != DOT else -1


def _literal_end(text: Bytes, start: int, end: int) -> int:
    """Return where an address in brackets ends; -1 if it is none with a colon."""
    colons = 0
    at = start + 1
    while at < end and text[at] != CLOSE:
        colons += 1 if text[at] == COLON else 0
        if not (_is_digit(text[at]) or text[at] in (COLON, DOT) or 97 <= text[at] <= 102):
            return -1
        at += 1
    if at == end or not colons or (at + 1 < end and text[at + 1] != COLON):
        return -1
    return at + 1


def _is_of_name(byte: int) -> bool:
    return 97 <= byte <= 122 or _is_digit(byte) or byte in (DOT, 45, 95)


def _is_digit(byte: int) -> bool:
    return ZERO <= byte <= NINE


def _is_port(text: Bytes, colon: int, end: int, secure: int) -> bool:
    """Return True if there is no port, or one that may be written there."""
    if colon == end:
        return True
    if not 2 <= end - colon <= 6 or text[colon + 1] == ZERO:
        return False
    port = 0
    for at in range(colon + 1, end):
        if not _is_digit(text[at]):
            return False
        port = port * 10 + int(np.int64(text[at])) - ZERO
    return port != (443 if secure else 80)


def _put(text: Bytes, start: int, end: int, out: Bytes, at: int) -> int:
    """Write a part of the text as it is; return where it ends."""
    for place in range(start, end):
        out[at] = text[place]
        at += 1
    return at


def _put_host(text: Bytes, start: int, end: int, out: Bytes, at: int) -> int:
    """Write a host with its labels reversed; an address as it is, in brackets."""
    if text[start] == OPEN:
        return _put(text, start, end, out, at)
    if _is_address(text, start, end):
        out[at] = OPEN
        at = _put(text, start, end, out, at + 1)
        out[at] = CLOSE
        return at + 1
    last = end
    while last >= start:
        first = last
        while first > start and text[first - 1] != DOT:
            first -= 1
        at = _put(text, first, last, out, at)
        if first > start:
            out[at] = DOT
            at += 1
        last = first - 1
    return at


def _is_address(text: Bytes, start: int, end: int) -> bool:
    """Return True if a host is four numbers with dots between them."""
    dots = digits = 0
    for at in range(start, end):
        if text[at] == DOT and digits:
            dots += 1
            digits = 0
        elif _is_digit(text[at]):
            digits += 1
        else:
            return False
    return dots == 3 and digits > 0


def _put_port(text: Bytes, colon: int, end: int, secure: int, out: Bytes, at: int) -> int:
    """Write a port as keys have it."""
    at = _put(text, colon, end, out, at)
    if colon == end and not secure:
        out[at], out[at + 1], out[at + 2] = COLON, 56, ZERO
        at += 3
    if colon < end and secure:
        out[at] = S
        at += 1
    return at


def _other_key(text: Bytes, start: int, end: int, out: Bytes, at: int) -> int:
    """Write the key of any text."""
    out[at] = TILDE
    at += 1
    for place in range(start, end):
        out[at] = text[place]
        at += 1
        if text[place] == 1:
            out[at] = 2
            at += 1
    return at
