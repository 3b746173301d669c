"""The inner loops of telling main content from what surrounds it. `content` says by what rules.

Texts are UTF-8, with a few bytes more behind them. Of each line: where it begins and ends, what it
is, and how many words it has. `known` is a power of two of places for hashes of what links say, and
of headings, which have a bit turned; 0 is free.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[np.uint8]
Words: TypeAlias = NDArray[np.uint64]
Ints: TypeAlias = NDArray[np.int64]
Span: TypeAlias = tuple[int, int]
Measures: TypeAlias = tuple[int, int, int, int, int, np.uint64]

INLINED = True
LINE = 4
"""Numbers of a line: beginning, end, kind, words."""
BLANK, SHORT, LINK, GOOD, HEAD, NOTICE = range(6)
"""Nothing; some words; what links say; sentences or code; a heading; small print."""
EDGE = 15
"""Lines at either end that are small print if they say so."""
RUN, BARE_RUN = 6, 12
"""Lines of links in a row that are a menu, even amid content; short lines where no links are known.
"""
REACH = 12
"""Short lines before and after content that belong to it, at most."""
LONG_WORDS, SENTENCE_WORDS, BARE_WORDS = 12, 6, 4
_0, _1 = np.uint64(0), np.uint64(1)
_29 = np.uint64(29)
_EVEN = np.uint64(0xFFFFFFFFFFFFFFFE)
_PRIME, _START = np.uint64(0x100000001B3), np.uint64(0xCBF29CE484222325)


def without_mark(text: Bytes, at: int, end: int) -> int:
    """Return where a line begins behind its space and the mark of a list."""
    while at < end and text[at] <= 0x20:
        at += 1
    start = at
    if at < end and (text[at] == 0x2A or text[at] == 0x2D):
        at += 1
    else:
        while at < end and 0x30 <= text[at] <= 0x39:
            at += 1
        at = at + 1 if start < at < end and text[at] == 0x2E else start
    if start < at < end and text[at] > 0x20:
        return start
    while at < end and text[at] <= 0x20:
        at += 1
    return at


def hashed(text: Bytes, start: int, end: int) -> np.uint64:
    """Return a hash of a text's bytes but for spaces."""
    x = _START
    for at in range(start, end):
        if text[at] > 0x20:
            x = (x ^ np.uint64(text[at])) * _PRIME
    return x ^ (x >> _29)


def find(known: Words, mask: int, x: np.uint64) -> int:
    """Return the place of a hash, or the free one where it belongs."""
    place = int(np.int64(x >> np.uint64(7))) & mask
    while known[place] != _0 and known[place] != x:
        place = (place + 1) & mask
    return place


def learn(text: Bytes, start: int, end: int, known: Words, mask: int, is_head: int) -> int:
    """Remember each line of a text; return how many."""
    count, at = 0, start
    while at < end:
        stop = at
        while stop < end and text[stop] != 0x0A:
            stop += 1
        x = hashed(text, without_mark(text, at, stop), stop)
        x = (x & _EVEN) ^ np.uint64(2 * is_head)
        if 2 * count < mask:
            known[find(known, mask, x | _1)] = x | _1
            count += 1
        at = stop + 1
    return count


def is_known(x: np.uint64, known: Words, mask: int, is_head: int) -> bool:
    """Return True if a link, or a heading, says just what has this hash."""
    x = (x & _EVEN) ^ np.uint64(2 * is_head)
    return bool(known[find(known, mask, x | _1)] != _0)


def linked_bytes(text: Bytes, span: Span, known: Words, mask: int) -> int:
    """Return how many bytes of a line, spaces apart, are what links say: pieces of it, or all.

    Pieces stand apart by two spaces or a stroke.
    """
    at, end = span
    linked = 0
    while at < end:
        start, many = at, 0
        while at < end and text[at] != 0x7C:
            if text[at] <= 0x20 and (at + 1 >= end or text[at + 1] <= 0x20):
                break
            many += text[at] > 0x20
            at += 1
        if many and is_known(hashed(text, start, at), known, mask, 0):
            linked += many
        at += 1
    return linked


def is_mark(text: Bytes, at: int, end: int) -> bool:
    """Return True if a byte is a mark of sentences: one at the end of a word, or a Chinese one."""
    byte = text[at]
    if byte in (0x2E, 0x21, 0x3F, 0x2C, 0x3A, 0x3B):
        return bool(at + 1 >= end or text[at + 1] <= 0x20)
    if byte == 0xE3:
        return bool(text[at + 1] == 0x80 and 0x81 <= text[at + 2] <= 0x82)
    return bool(byte == 0xEF and text[at + 1] == 0xBC and text[at + 2] in (0x81, 0x8C, 0x9F))


def is_sign(text: Bytes, at: int, start: int) -> bool:
    """Return True if a byte is a sign of code: a semicolon, =, a brace, or that of a call."""
    byte = text[at]
    if byte == 0x28:
        return bool(at > start and text[at - 1] > 0x2F)
    return bool(byte in (0x3B, 0x3D, 0x7B, 0x7D))


def measured(text: Bytes, span: Span, rare: Bytes) -> Measures:
    """Return words, marks of sentences, signs of code, bytes without spaces, gaps and hash.

    Gaps are between pieces of a line that may be links. `rare` are bytes that ask for a closer
    look: few of most texts.
    """
    at, end = span
    words, marks, signs, many, wide, gaps = 0, 0, 0, 0, 0, 0
    was_space, x = True, _START
    while at < end:
        byte = text[at]
        if byte <= 0x20:
            gaps += was_space
            was_space = True
            at += 1
            continue
        x = (x ^ np.uint64(byte)) * _PRIME
        words += was_space
        many += 1
        was_space = False
        if rare[byte]:
            words += byte == 0xA0 and text[at - 1] == 0xC2 and at > span[0]
            wide += byte >= 0xE3
            gaps += byte == 0x7C
            signs += is_sign(text, at, span[0])
            marks += is_mark(text, at, end)
        at += 1
    return words + wide // 2, marks, signs, many, gaps, x ^ (x >> _29)


def kind_of(
    text: Bytes, span: Span, known: Words, mask: int, has_links: int, rare: Bytes
) -> tuple[int, int]:
    """Return what a line is by itself, and its words."""
    start, end = without_mark(text, span[0], span[1]), span[1]
    words, marks, signs, many, gaps, x = measured(text, (start, end), rare)
    if many == 0:
        return BLANK, 0
    if is_known(x, known, mask, 1):
        return HEAD, words
    if is_known(x, known, mask, 0):
        return LINK, words
    if has_links and gaps and 2 * linked_bytes(text, (start, end), known, mask) >= many:
        return LINK, words
    if words >= LONG_WORDS or (marks and words >= SENTENCE_WORDS) or (signs and many > signs):
        return GOOD, words
    if not has_links and words <= BARE_WORDS and marks == 0:
        return LINK, words
    return SHORT, words


def lines_of(
    text: Bytes, span: Span, known: Words, mask: int, has_links: int, rare: Bytes, lines: Ints
) -> int:
    """Write what each line of a text is; return how many there are."""
    at, end = span
    count = 0
    while at < end:
        stop = at
        while stop < end and text[stop] != 0x0A:
            stop += 1
        kind, words = kind_of(text, (at, stop), known, mask, has_links, rare)
        lines[LINE * count] = at
        lines[LINE * count + 1] = stop
        lines[LINE * count + 2] = kind
        lines[LINE * count + 3] = words
        count += 1
        at = stop + 1
    return count


def is_small_print(text: Bytes, span: Span, signs: Words, mask: int) -> bool:
    """Return True if two words of a line are those of notices about rights, cookies, scripts.

    Each of those words has a bit of its own; one word that is enough has two.
    """
    at, end = span
    found = _0
    x = _START
    while at <= end:
        byte = int(text[at]) if at < end else 0x20
        if 0x41 <= byte <= 0x5A:
            byte += 0x20
        if byte >= 0x80 or 0x61 <= byte <= 0x7A:
            x = (x ^ np.uint64(byte)) * _PRIME
        elif x != _START:
            found |= signs[mask + 1 + find(signs, mask, x | _1)]
            x = _START
        at += 1
    return bool(found & (found - _1) != _0)


def find_notices(text: Bytes, lines: Ints, count: int, signs: Words, mask: int, step: int) -> int:
    """Note small print among the first lines that say something, or the last; return how many."""
    n = 0 if step > 0 else count - 1
    left, found = EDGE, 0
    while left > 0 and 0 <= n < count:
        if lines[LINE * n + 2] != BLANK:
            left -= 1
            if lines[LINE * n + 2] in (GOOD, SHORT):
                span = (lines[LINE * n], lines[LINE * n + 1])
                if is_small_print(text, span, signs, mask):
                    lines[LINE * n + 2] = NOTICE
                    found += 1
        n += step
    return found


def next_kind(lines: Ints, count: int, n: int) -> int:
    """Return what the next line is that says something; BLANK if there is none."""
    n += 1
    while n < count and lines[LINE * n + 2] == BLANK:
        n += 1
    return int(lines[LINE * n + 2]) if n < count else BLANK


def find_menus(lines: Ints, count: int, least: int) -> int:
    """Take what stands between links for one, and a few links amid content for content.

    Return how many lines are in menus: so many in a row, whatever is blank between them.
    """
    before, start, many, found = BLANK, 0, 0, 0
    for n in range(count + 1):
        kind = lines[LINE * n + 2] if n < count else SHORT
        if kind == BLANK:
            continue
        if kind == SHORT and before == LINK and next_kind(lines, count, n) == LINK:
            kind = lines[LINE * n + 2] = LINK
        if kind == LINK:
            start = n if many == 0 else start
            many += 1
        else:
            if before == LINK and many < least and amid(lines, count, start, n):
                for i in range(start, n):
                    lines[LINE * i + 2] = SHORT if lines[LINE * i + 2] == LINK else BLANK
            else:
                found += many
            many = 0
        before = kind
    return found


def amid(lines: Ints, count: int, start: int, end: int) -> bool:
    """Return True if there is content before and behind some lines."""
    first, last = edges(lines, count)
    return first < start and end <= last


def edges(lines: Ints, count: int) -> Span:
    """Return the first and the last line of sentences or code; -1 and -2 if there is none.

    A heading with words behind it that are no link does as well.
    """
    first = 0
    while first < count and not is_anchor(lines, count, first):
        first += 1
    last = count - 1
    while last >= 0 and not is_anchor(lines, count, last):
        last -= 1
    return (first, last) if last >= 0 else (-1, -2)


def is_anchor(lines: Ints, count: int, n: int) -> bool:
    """Return True if a line is content by itself."""
    kind = lines[LINE * n + 2]
    if kind != HEAD:
        return bool(kind == GOOD)
    kind = next_kind(lines, count, n)
    return bool(kind in (SHORT, GOOD))


def reached(lines: Ints, count: int, n: int, step: int) -> int:
    """Return the furthest line before or behind content that belongs to it.

    Before it that is the heading, if there is one.
    """
    far, left = n, REACH
    kind = lines[LINE * n + 2]
    n += step
    while 0 <= n < count and left > 0 and (step > 0 or kind != HEAD):
        kind = lines[LINE * n + 2]
        if kind in (LINK, NOTICE):
            break
        if kind != BLANK:
            far = n
            left -= 1
        n += step
    return far


def copied(text: Bytes, start: int, end: int, out: Bytes, at: int) -> int:
    """Copy some bytes; return where the next ones go."""
    for n in range(start, end):
        out[at + n - start] = text[n]
    return at + end - start


def put_lines(
    text: Bytes, lines: Ints, count: int, span: Span, wanted: int, out: Bytes, at: int
) -> int:
    """Copy the lines that are main content (1), or those that are not (0); return where it ends.

    Without any content that is told by sentences, it is what is neither link nor small print.
    """
    first, last = span
    for n in range(count):
        kind = lines[LINE * n + 2]
        if kind == BLANK:
            continue
        is_main = kind not in (LINK, NOTICE) and (first < 0 or first <= n <= last)
        if is_main == (wanted == 1):
            at = copied(text, lines[LINE * n], lines[LINE * n + 1], out, at)
            out[at] = 0x0A
            at += 1
    return at


def arrange(
    text: Bytes, spans: Ints, rare: Bytes, known: Words, signs: Words, lines: Ints, out: Bytes
) -> int:
    """Write a prefix of the text as it is, then main content, then the rest; return where it ends.

    `spans` are the ends of prefix, links, headings and text; masks of `known` and `signs`; then
    comes where main content ends. There is room for a line per line break, and a byte more each.
    """
    prefix, links, heads, end = spans[0], spans[1], spans[2], spans[3]
    mask = spans[4]
    has_links = learn(text, prefix, links, known, mask, 0)
    learn(text, links, heads, known, mask, 1)
    count = lines_of(text, (heads, end), known, mask, has_links, rare, lines)
    find_notices(text, lines, count, signs, spans[5], 1)
    find_notices(text, lines, count, signs, spans[5], -1)
    find_menus(lines, count, RUN if has_links else BARE_RUN)
    first, last = edges(lines, count)
    if first >= 0:
        first, last = reached(lines, count, first, -1), reached(lines, count, last, 1)
    at = copied(text, 0, prefix, out, 0)
    middle = put_lines(text, lines, count, (first, last), 1, out, at)
    if middle == at:
        middle = put_lines(text, lines, count, (first, last), 0, out, at)
        spans[6] = middle
        return middle
    spans[6] = middle
    return put_lines(text, lines, count, (first, last), 0, out, middle)
