"""Features of a text and their weights: plain functions that `native` turns into machine code.

A feature is a run of three or four letters within a word, the word's edges included, a whole word,
or a single character where words are not spaced. It is known by a hash of 32 bits.
"""

from collections.abc import MutableSequence, Sequence
from typing import TypeAlias

Numbers: TypeAlias = Sequence[int]
Places: TypeAlias = MutableSequence[int]

INLINED = True
NO_LETTER = 0
WHOLE = 64
"""Scripts from here on tell the language by themselves, or by single characters."""
EDGE = 32
LONGEST = 24
TOP = 0xFFFFFFFF


def mixed(h: int, code: int) -> int:
    """Return a hash with one more character in it."""
    h = ((h ^ code) * 0x9E3779B1) & TOP
    return h ^ (h >> 15)


def hashes(
    codes: Numbers,
    end: int,
    scripts: Numbers,
    known: int,
    counts: Places,
    found: Places,
    owners: Places,
) -> int:
    """Write the hash and the script of every feature, count letters by script, return how many.

    `scripts` has the script of every character below `known`; the rest is left out.
    """
    at = 0
    size = 0
    while at < end:
        script = scripts[codes[at]] if codes[at] < known else NO_LETTER
        if script == NO_LETTER:
            at += 1
            continue
        start = at
        while at < end and codes[at] < known and scripts[codes[at]] == script:
            at += 1
        counts[script] += at - start
        if script >= WHOLE:
            for i in range(start, at):
                found[size] = mixed(1, codes[i])
                owners[size] = script
                size += 1
            continue
        before = EDGE
        word = 7
        for i in range(start, at):
            code = codes[i]
            after = codes[i + 1] if i + 1 < at else EDGE
            three = mixed(mixed(mixed(3, before), code), after)
            found[size] = three
            owners[size] = script
            size += 1
            if i + 1 < at:
                last = codes[i + 2] if i + 2 < at else EDGE
                found[size] = mixed(three, last)
                owners[size] = script
                size += 1
            before = code
            if i - start < LONGEST:
                word = mixed(word, code)
        if at - start > 1:
            found[size] = word
            owners[size] = script
            size += 1
    return size


def weigh(
    found: Numbers,
    owners: Numbers,
    size: int,
    script: int,
    keys: Numbers,
    first: Numbers,
    shift: int,
    weights: Numbers,
    columns: int,
    scores: Places,
) -> int:
    """Add up the weights of the features of one script by language; return how many were known.

    `keys` is sorted; `first` says for the upper bits of a hash where in it they begin.
    """
    known = 0
    for i in range(size):
        if owners[i] != script:
            continue
        key = found[i]
        at = first[key >> shift]
        end = first[(key >> shift) + 1]
        while at < end and keys[at] < key:
            at += 1
        if at < end and keys[at] == key:
            known += 1
            row = at * columns
            for column in range(columns):
                scores[column] += weights[row + column]
    return known
