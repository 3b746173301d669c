"""Features of a text and their weights: plain functions that `native` turns into machine code.

A feature is a run of three or four letters within a word, the word's edges included, a whole word,
or a single character where words are not spaced. It is known by a hash of 32 bits.
"""

from collections.abc import MutableSequence, Sequence
from typing import TypeAlias

Numbers: TypeAlias = Sequence[int]
Places: TypeAlias = MutableSequence[int]
Weights: TypeAlias = Sequence[float]

INLINED = True
SCRIPTS = 128
TABLE = 5
"""Row of a script's table: where its keys, first keys and weights begin, shift, languages."""
MOST_COLUMNS = 64
"""Languages of the largest table, which is the one that is asked most."""
IN_BUCKET = 4
FAR = 2400
"""Scores whose distance, squared, is so many times the number of known features may count in the
sum of probabilities: (12 * WEIGHT_STEPS) ** 2, and a little more."""
NEAR = 4
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


def main_script(counts: Numbers, parts: Weights) -> int:
    """Return the script of which a text has most; 0 if it has no letters."""
    script = 0
    most = 0.0
    for number in range(SCRIPTS):
        share = counts[number] * parts[number]
        if share > 0.0 and share >= most:
            script = number
            most = share
    return script


def known_rows(
    found: Places,
    owners: Numbers,
    size: int,
    script: int,
    keys: Numbers,
    keys_at: int,
    first: Numbers,
    first_at: int,
    shift: int,
) -> int:
    """Put in the place of features of one script the rows that they have in its table, from 1 on.

    Return how many are known. The keys are sorted, IN_BUCKET zeros follow them; `first` says for
    the upper bits of a hash where in them they begin. Of few keys that agree in these all are
    compared: three features in ten are not known, and no processor foresees which.
    """
    known = 0
    for i in range(size):
        key = found[i]
        bucket = first_at + (key >> shift)
        end = first[bucket + 1]
        at = first[bucket]
        k = keys_at + at
        row = (
            (at + 1) * (keys[k] == key)
            + (at + 2) * (keys[k + 1] == key)
            + (at + 3) * (keys[k + 2] == key)
            + (at + 4) * (keys[k + 3] == key)
        )
        at += IN_BUCKET
        while at < end:
            if keys[keys_at + at] == key:
                row = at + 1
                break
            at += 1
        found[known] = row
        known += (row > 0) & (row <= end) & (owners[i] == script)
    return known


def weigh(
    rows: Numbers, known: int, weights: Numbers, start: int, columns: int, scores: Places
) -> None:
    """Add up the weights of features, by language."""
    for column in range(columns):
        scores[column] = 0
    start -= columns
    i = 0
    while columns == MOST_COLUMNS and i + 4 <= known:
        a = start + rows[i] * MOST_COLUMNS
        b = start + rows[i + 1] * MOST_COLUMNS
        c = start + rows[i + 2] * MOST_COLUMNS
        d = start + rows[i + 3] * MOST_COLUMNS
        for column in range(MOST_COLUMNS):
            scores[column] += (
                weights[a + column]
                + weights[b + column]
                + weights[c + column]
                + weights[d + column]
            )
        i += 4
    while i < known:
        row = start + rows[i] * columns
        for column in range(columns):
            scores[column] += weights[row + column]
        i += 1


def scored(
    codes: Numbers,
    end: int,
    scripts: Numbers,
    known: int,
    parts: Weights,
    forced: int,
    tables: Numbers,
    keys: Numbers,
    first: Numbers,
    weights: Numbers,
    counts: Places,
    found: Places,
    owners: Places,
    scores: Places,
    out: Places,
) -> int:
    """Write the score of each language of a text's main script, or of a script that is named.

    Return that script, 0 if there is none. Of each script `tables` has where its keys, first keys
    and weights begin, the shift, and the number of languages, 0 if it has no table. To `out` go how
    many features are known, the best language, how many are near it, and from NEAR on their scores.
    """
    for number in range(SCRIPTS):
        counts[number] = 0
    size = hashes(codes, end, scripts, known, counts, found, owners)
    script = forced or main_script(counts, parts)
    row = script * TABLE
    columns = tables[row + 4]
    for place in range(NEAR):
        out[place] = 0
    if columns == 0 or size == 0:
        return script
    shift = tables[row + 3]
    many = known_rows(found, owners, size, script, keys, tables[row], first, tables[row + 1], shift)
    weigh(found, many, weights, tables[row + 2], columns, scores)
    best = 0
    for column in range(columns):
        if scores[column] > scores[best]:
            best = column
    near = 0
    for column in range(columns):
        behind = (0 + scores[best]) - scores[column]
        if behind * behind <= FAR * many:
            out[NEAR + near] = scores[column]
            near += 1
    out[0] = many
    out[1] = best
    out[2] = near
    return script
