"""The inner loops of edge lists: lines of text to pairs of numbers, and back.

Plain Python over flat arrays; `gossamer.native` compiles it. Whoever calls guarantees the sizes.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Text: TypeAlias = NDArray[np.uint8]
Ids: TypeAlias = NDArray[np.uint32]
Ints: TypeAlias = NDArray[np.int64]

MOST_ID = 0xFFFF_FFFE
"""The largest number of a node: nodes are counted in 32 bits."""
GOOD, NO_NUMBER, ALONE, TOO_LARGE = 0, 1, 2, 3
"""How `parse_numbers` ends."""
LINES, PAIRS, TOP, PLACE = 0, 1, 2, 3
"""What it tells: whole lines read, pairs found, largest number, where the bad line starts."""
LINE_BYTES = 22
"""The longest line that `format_pairs` writes: two numbers of ten digits, a tab, an end."""

_NEWLINE, _BLANK, _ZERO, _NINE, _HASH, _PERCENT = 10, 32, 48, 57, 35, 37


def is_blank(byte: int) -> bool:
    """Return True if a byte parts words of a line."""
    return byte == _BLANK or (9 <= byte <= 13 and byte != _NEWLINE)


def skip_blanks(text: Text, at: int, length: int) -> int:
    """Return where the next word, or the end of the line, is."""
    while at < length and is_blank(int(text[at])):
        at += 1
    return at


def skip_line(text: Text, at: int, length: int) -> int:
    """Return where the next line begins."""
    while at < length and text[at] != _NEWLINE:
        at += 1
    return at + 1


def read_number(text: Text, at: int, length: int, told: Ints) -> int:
    """Read a number and leave it in `told[PLACE]`; return where it ends, or minus what is wrong."""
    value, start = 0, at
    while at < length and _ZERO <= text[at] <= _NINE:
        value = value * 10 + int(text[at]) - _ZERO
        if value > MOST_ID:
            return -TOO_LARGE
        at += 1
    ends_well = at >= length or text[at] == _NEWLINE or is_blank(int(text[at]))
    told[PLACE] = value
    return at if ends_well and at > start else -NO_NUMBER


def parse_numbers(text: Text, length: int, sources: Ids, targets: Ids, told: Ints) -> int:
    """Read lines `source target`; return how it ended. A bad line stops it.

    Blank lines, and those that begin with # or %, count as lines only. `sources` and `targets`
    need room for a pair per four bytes; `told[TOP]` holds the largest number so far, or -1.
    """
    at, lines, pairs, top, end = 0, 0, 0, told[TOP], GOOD
    while at < length:
        start = at
        at = skip_blanks(text, at, length)
        if at < length and text[at] != _NEWLINE and text[at] != _HASH and text[at] != _PERCENT:
            at = read_number(text, at, length, told)
            source = told[PLACE]
            if at > 0:
                at = skip_blanks(text, at, length)
                is_alone = at >= length or text[at] == _NEWLINE
                at = -ALONE if is_alone else read_number(text, at, length, told)
            if at < 0:
                end, told[PLACE] = -at, start
                break
            sources[pairs], targets[pairs] = source, told[PLACE]
            top = max(top, source, told[PLACE])
            pairs += 1
        at = skip_line(text, at, length)
        lines += 1
    told[LINES], told[PAIRS], told[TOP] = lines, pairs, top
    return end


def skip_word(text: Text, at: int, length: int) -> int:
    """Return where a word ends."""
    while at < length and text[at] != _NEWLINE and not is_blank(int(text[at])):
        at += 1
    return at


def find_words(text: Text, length: int, spans: Ints, told: Ints) -> int:
    """Find the first two words of each line: start, end, start, end; return how it ended.

    Lines without words, and those that begin with # or %, count as lines only. `spans` needs room
    for four numbers per line.
    """
    at, lines, pairs = 0, 0, 0
    while at < length:
        start = at
        at = skip_blanks(text, at, length)
        if at < length and text[at] != _NEWLINE and text[at] != _HASH and text[at] != _PERCENT:
            spans[4 * pairs] = at
            at = skip_word(text, at, length)
            spans[4 * pairs + 1] = at
            at = skip_blanks(text, at, length)
            spans[4 * pairs + 2] = at
            at = skip_word(text, at, length)
            spans[4 * pairs + 3] = at
            if spans[4 * pairs + 2] == at:
                told[LINES], told[PAIRS], told[PLACE] = lines, pairs, start
                return ALONE
            pairs += 1
        at = skip_line(text, at, length)
        lines += 1
    told[LINES], told[PAIRS] = lines, pairs
    return GOOD


def write_number(out: Text, at: int, value: int) -> int:
    """Write a number in digits; return where it ends."""
    digits, rest = 1, value
    while rest >= 10:
        rest //= 10
        digits += 1
    for place in range(at + digits - 1, at - 1, -1):
        out[place] = _ZERO + value % 10
        value //= 10
    return at + digits


def format_pairs(sources: Ids, targets: Ids, count: int, out: Text) -> int:
    """Write a line `source<tab>target` per pair; return how many bytes that took.

    `out` needs room for `LINE_BYTES` per pair.
    """
    at = 0
    for i in range(count):
        at = write_number(out, at, int(np.int64(sources[i])))
        out[at] = 9
        at = write_number(out, at + 1, int(np.int64(targets[i])))
        out[at] = _NEWLINE
        at += 1
    return at
