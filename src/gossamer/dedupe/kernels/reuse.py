"""The inner loops of text reuse: words of a text, phrases of given texts, where a page has them.

See `sketching` for what such functions may do. A word is the hash of its letters: odd, or even if
it has digits only or one letter, never 0; between two given texts lies a 0, which equals no word.
A phrase is `PHRASE` words in a row, and is known by the first place in the given texts that has it.
A block is (place in the page, place in the given texts, words): so many words in a row are equal.
"""

import numpy as np
from numpy.typing import NDArray

from gossamer.dedupe.kernels.sketching import Bytes, Ints, Words, mix

PHRASE = 5
"""Words: of a passage with one word in ten changed, .59 of its phrases of five words are left."""
BLOCK = 3
MOST_PLACES = 32
"""Of a phrase that the given texts have more often, so many places are tried."""
SKIPPED, LETTER, ALONE, DIGIT = 1, 2, 3, 6
"""What a character is, in the low bits of its kind; 0: it separates words."""
MORE_SHIFT = 3
"""The bits above say how many letters it stands for, besides the first: ﬁ is f and i."""

_0, _1, _3, _7, _57 = (np.uint64(n) for n in (0, 1, 3, 7, 57))
_B = np.uint64(0x9E3779B97F4A7C15)


def split_words(
    codes: NDArray[np.uint32], count: int, kinds: Bytes, numbers: Words, words: Words, spans: Ints
) -> int:
    """Write the hash of each word, and where it begins and ends; return how many there are."""
    found = 0
    state, start, end, letters = _0, 0, 0, 0
    is_inside, is_number = False, False
    for at in range(count):
        kind = kinds[codes[at]]
        what = kind & 3
        if what == SKIPPED:
            continue
        number = numbers[codes[at]]
        if what == LETTER:
            start = start if is_inside else at
            is_number = (is_number or not is_inside) and kind & DIGIT == DIGIT
            for _ in range(1 + (kind >> MORE_SHIFT)):
                state = (state << _7) | (state >> _57)
            state ^= number
            letters = letters + 1 if is_inside else 1
            is_inside, end = True, at + 1
            continue
        if is_inside:
            put_word(words, spans, found, hashed(state, is_number or letters == 1), start, end)
            found += 1
            state, is_inside = _0, False
        if what == ALONE:
            put_word(words, spans, found, mix(number) | _1, at, at + 1)
            found += 1
    if is_inside:
        put_word(words, spans, found, hashed(state, is_number or letters == 1), start, end)
        found += 1
    return found


def hashed(state: np.uint64, is_weak: bool) -> np.uint64:  # noqa: FBT001 - compiled
    """Return the hash of a word: odd, or even if it says little."""
    x = mix(state)
    return ((x | _3) ^ _1) if is_weak else x | _1


def put_word(words: Words, spans: Ints, at: int, word: np.uint64, start: int, end: int) -> None:
    """Write a word and where it is."""
    words[at] = word
    spans[2 * at] = start
    spans[2 * at + 1] = end


def phrase_hash(words: Words, at: int) -> np.uint64:
    """Return the hash of the phrase at a place."""
    x = words[at]
    for n in range(1, PHRASE):
        x = x * _B + words[at + n]
    return mix(x)


def has_end(words: Words, at: int) -> bool:
    """Return True if a text ends inside the phrase at a place."""
    ends = 0
    for n in range(PHRASE):
        ends += words[at + n] == _0
    return ends > 0


def equal_words(a: Words, at_a: int, count: int, b: Words, at_b: int) -> int:
    """Return how many words in a row are equal; `count` is the end of the first text."""
    n = 0
    while at_a + n < count and a[at_a + n] == b[at_b + n]:
        n += 1
    return n


def index_phrases(
    given: Words, count: int, slots: Ints, mask: int, firsts: Ints, following: Ints
) -> int:
    """Put every phrase of the given texts into the slots; return how many different ones there are.

    `slots` has a place + 1, `firsts` the place by which the phrase at a place is known, `following`
    another place + 1 of the same phrase. Behind the texts stand `PHRASE` zeros.
    """
    made = 0
    for at in range(count):
        firsts[at] = at
        following[at] = 0
        if has_end(given, at):
            continue
        slot = np.int64(phrase_hash(given, at) & np.uint64(mask))
        while slots[slot] and equal_words(given, at, at + PHRASE, given, slots[slot] - 1) < PHRASE:
            slot = (slot + 1) & mask
        if slots[slot] == 0:
            slots[slot] = at + 1
            made += 1
        else:
            first = slots[slot] - 1
            firsts[at] = first
            following[at] = following[first]
            following[first] = at + 1
    return made


def find_blocks(
    page: Words, count: int, given: Words, slots: Ints, mask: int, following: Ints, blocks: Ints
) -> int:
    """Write the blocks that a page has in common with given texts, in its order; return how many.

    From each place on the longest is taken; of several, the one that goes on where the last ended.
    Blocks of the page may overlap by less than a phrase.
    """
    made, at, expected = 0, 0, -1
    while at + PHRASE <= count:
        slot = np.int64(phrase_hash(page, at) & np.uint64(mask))
        place, best, longest, tried = 0, -1, 0, 0
        while slots[slot] and place == 0:
            if equal_words(page, at, at + PHRASE, given, slots[slot] - 1) == PHRASE:
                place = slots[slot]
            slot = (slot + 1) & mask
        while place and tried < MOST_PLACES:
            equal = equal_words(page, at, count, given, place - 1)
            is_nearer = abs(place - 1 - expected) < abs(best - expected)
            if equal > longest or (equal == longest and is_nearer):
                best, longest = place - 1, equal
            place = following[place - 1]
            tried += 1
        if longest == 0:
            at += 1
            continue
        blocks[BLOCK * made] = at
        blocks[BLOCK * made + 1] = best
        blocks[BLOCK * made + 2] = longest
        made += 1
        expected = best + longest
        at += longest - PHRASE + 1
    return made


def most_within(blocks: Ints, count: int, window: int) -> int:
    """Return how many words of a page lie in blocks, in the stretch of it that has the most.

    A stretch goes from the beginning of a block over at most so many words; the last block counts
    in full.
    """
    best, total, first, covered = 0, 0, 0, 0
    for n in range(count):
        start = blocks[BLOCK * n]
        end = start + blocks[BLOCK * n + 2]
        total += end - max(start, covered)
        covered = end
        while blocks[BLOCK * first] + window < start:
            behind = blocks[BLOCK * first] + blocks[BLOCK * first + 2]
            behind = min(behind, blocks[BLOCK * (first + 1)])
            total -= behind - blocks[BLOCK * first]
            first += 1
        best = max(best, total)
    return best


def count_phrases(
    blocks: Ints,
    count: int,
    firsts: Ints,
    page: int,
    host: int,
    last: Ints,
    by_page: Ints,
    by_host: NDArray[np.uint32],
    mask: int,
) -> int:
    """Count each phrase of a page's blocks once, for all pages and for those of its host.

    Counts by host share places: they are never too low. `last` has the last page of each phrase.
    """
    made = 0
    for n in range(count):
        start = blocks[BLOCK * n + 1]
        for at in range(start, start + blocks[BLOCK * n + 2] - PHRASE + 1):
            first = firsts[at]
            if last[first] != page:
                last[first] = page
                by_page[first] += 1
                by_host[
                    np.int64(mix(np.uint64(host) + np.uint64(first) * _B) & np.uint64(mask))
                ] += np.uint32(1)
                made += 1
    return made


def count_by_text(
    page: Words,
    count: int,
    given: Words,
    slots: Ints,
    mask: int,
    following: Ints,
    texts: Ints,
    host: int,
    most: int,
    most_of_host: int,
    by_page: Ints,
    by_host: NDArray[np.uint32],
    host_mask: int,
    hits: Ints,
) -> int:
    """Count the phrases of a page that each given text has: all of them, and those that are rare.

    `texts` has the text of each place, `hits` two counts for each text. A phrase is rare if not
    more pages have it than `most`, and not more of this host than its limit.
    """
    made = 0
    for at in range(count - PHRASE + 1):
        slot = np.int64(phrase_hash(page, at) & np.uint64(mask))
        place = 0
        while slots[slot] and place == 0:
            if equal_words(page, at, at + PHRASE, given, slots[slot] - 1) == PHRASE:
                place = slots[slot]
            slot = (slot + 1) & mask
        if place == 0:
            continue
        key = mix(np.uint64(host) + np.uint64(place - 1) * _B) & np.uint64(host_mask)
        is_common = by_page[place - 1] > most or by_host[np.int64(key)] > most_of_host
        tried = 0
        while place and tried < MOST_PLACES:
            hits[2 * texts[place - 1]] += 1
            hits[2 * texts[place - 1] + 1] += 0 if is_common else 1
            place = following[place - 1]
            tried += 1
        made += 1
    return made
