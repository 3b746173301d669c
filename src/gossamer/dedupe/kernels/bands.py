"""The inner loops of looking up: candidates by band, the verdict on a pair, and runs of entries.

See `sketching` for records and entries. Slots: a power of two of places for entries, of all
bands together, at most half of them taken; 0 is a free place.
"""

import numpy as np

from gossamer.dedupe.kernels.sketching import BANDS, NUMBER_BITS, RECORD, Ints, Words, mix

MOST_PER_KEY = 32
"""Entries of one band key: more are not put in, or a generated site would fill a key."""
NEAR_BINS, NEAR_BITS, LEAST_WORDS = 39, 6, 100
"""What *near* asks for: equal bins, unequal SimHash bits at most, and words to judge by at all."""
SHORTER, LONGER = 17, 20
"""The shorter text has at least 17/20 of the longer one's words."""
SIMILAR, DUPLICATE, EXACT = 1, 2, 3
COPY = np.uint64(1 << 63)
"""In a record's last word: it is a copy of an older page."""
LABEL = 6
"""Words of a label: copy's key, original's key, copy's moment, level | bins << 8 | host << 32 (the
copy's), copy's title hash, original's moment."""

_0, _1, _2, _4, _32, _56 = (np.uint64(n) for n in (0, 1, 2, 4, 32, 56))
_KEY = np.uint64(NUMBER_BITS)
_NUMBER = np.uint64((1 << NUMBER_BITS) - 1)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_MOMENT = np.uint64((1 << 63) - 1)
_LANES = np.uint64(0x0101010101010101)
_SEVENS = np.uint64(0x7F7F7F7F7F7F7F7F)
_FIVES, _THREES, _FS = (np.uint64(n * 0x0101010101010101) for n in (0x55, 0x33, 0x0F))
_NEAR_BITS = np.uint64(NEAR_BITS)


def ones(x: np.uint64) -> np.uint64:
    """Return how many bits are set."""
    x = x - ((x >> _1) & _FIVES)
    x = (x & _THREES) + ((x >> _2) & _THREES)
    x = (x + (x >> _4)) & _FS
    return (x * _LANES) >> _56


def verdict(records: Words, a: int, b: int) -> int:
    """Return level | equal bins << 8 of two records, given by the places where they begin."""
    words_a = int(np.int64(records[a + 11] & _LOW_HALF))
    words_b = int(np.int64(records[b + 11] & _LOW_HALF))
    has_title = records[a + 10] != _0 and records[a + 10] == records[b + 10]
    if words_a == words_b and records[a + 9] == records[b + 9]:
        # A few words are soon the same: the title must say the same too.
        return (EXACT if words_a >= LEAST_WORDS or has_title else SIMILAR) | 64 << 8
    shorter, longer = min(words_a, words_b), max(words_a, words_b)
    if shorter < LEAST_WORDS or shorter * LONGER < longer * SHORTER:
        return 0
    if ones(records[a + 8] ^ records[b + 8]) > _NEAR_BITS:
        return 0
    equal = _0
    for i in range(8):
        x = records[a + i] ^ records[b + i]
        equal += ones(~(((x & _SEVENS) + _SEVENS) | x | _SEVENS))
    bins = int(np.int64(equal))
    if bins < NEAR_BINS:
        return 0
    return (DUPLICATE if has_title else SIMILAR) | bins << 8


def judge_many(records: Words, pairs: Ints, count: int, out: Ints) -> int:
    """Write the verdict on each pair of records; return how many pairs are at all alike."""
    alike = 0
    for n in range(count):
        out[n] = verdict(records, pairs[2 * n] * RECORD, pairs[2 * n + 1] * RECORD)
        alike += out[n] != 0
    return alike


def is_older(records: Words, a: int, b: int) -> bool:
    """Return True if the first of two records is the older page; between twins, the key decides."""
    at_a, at_b = records[a + 13] & _MOMENT, records[b + 13] & _MOMENT
    return bool(at_a < at_b or (at_a == at_b and records[a + 12] < records[b + 12]))


def insert(bands: Words, count: int, first: int, slots: Words, mask: int) -> int:
    """Put the entries of pages, numbered from `first`, into the slots; return how many went in."""
    taken = 0
    for n in range(count):
        for band in range(BANDS):
            key = bands[n * BANDS + band]
            if key == _0:
                continue
            alike = 0
            place = np.int64(mix((key >> _KEY) + np.uint64(band)) & np.uint64(mask))
            while slots[place] != _0 and alike < MOST_PER_KEY:
                alike += slots[place] >> _KEY == key >> _KEY
                place = (place + 1) & mask
            if alike < MOST_PER_KEY:
                slots[place] = key | np.uint64(first + n)
                taken += 1
    return taken


def probe(bands: Words, count: int, slots: Words, mask: int, pairs: Ints, room: int) -> int:
    """Write page << 27 | candidate for each entry with a page's key, while there is room.

    Return how many.
    """
    found = 0
    for n in range(count):
        for band in range(BANDS):
            key = bands[n * BANDS + band]
            if key == _0:
                continue
            place = np.int64(mix((key >> _KEY) + np.uint64(band)) & np.uint64(mask))
            while slots[place] != _0:
                if slots[place] >> _KEY == key >> _KEY and found < room:
                    pairs[found] = n << NUMBER_BITS | np.int64(slots[place] & _NUMBER)
                    found += 1
                place = (place + 1) & mask
    return found


def search(bands: Words, count: int, run: Words, places: Ints, shift: int, pairs: Ints) -> int:
    """Write page << 27 | candidate for each entry of a run with a page's key; return how many.

    `places` are, for each band, those of its directory and of its entries in the run. Place t of a
    directory has the number of the first entry whose bits from `shift` on are t or more. All pages
    go through each step together: what they read lies far apart, and does not depend on the others,
    so that the processor waits for many reads at once.
    """
    found = 0
    for band in range(BANDS):
        directory, entries = places[2 * band], places[2 * band + 1]
        for n in range(count):
            top = directory + np.int64(bands[n * BANDS + band] >> np.uint64(shift))
            pairs[found + n] = np.int64(run[top])
        last = found
        for n in range(count):
            key = bands[n * BANDS + band]
            top = directory + np.int64(key >> np.uint64(shift))
            low, high = entries + np.int64(run[top]), entries + np.int64(run[top + 1])
            end = high
            while low < high:
                middle = (low + high) >> 1
                is_below = run[middle] < key
                low = middle + 1 if is_below else low
                high = high if is_below else middle
            end = min(end, low + MOST_PER_KEY)
            while low < end and run[low] >> _KEY == key >> _KEY and key != _0:
                pairs[last] = n << NUMBER_BITS | np.int64(run[low] & _NUMBER)
                last += 1
                low += 1
        found = last
    return found


def merge(a: Words, count_a: int, b: Words, count_b: int, out: Words) -> int:
    """Merge two sorted arrays into one."""
    at_a, at_b = 0, 0
    while at_a < count_a and at_b < count_b:
        is_a = a[at_a] <= b[at_b]
        out[at_a + at_b] = a[at_a] if is_a else b[at_b]
        at_b += not is_a
        at_a += is_a
    while at_a < count_a:
        out[at_a + at_b] = a[at_a]
        at_a += 1
    while at_b < count_b:
        out[at_a + at_b] = b[at_b]
        at_b += 1
    return count_a + count_b


def direct(entries: Words, count: int, shift: int, directory: Ints, size: int) -> int:
    """Write the directory of a sorted array: size places and one more."""
    at = 0
    for n in range(count):
        top = np.int64(entries[n] >> np.uint64(shift))
        while at <= top:
            directory[at] = n
            at += 1
    while at <= size:
        directory[at] = count
        at += 1
    return at


def label(records: Words, copy: int, original: int, told: int, out: Words, at: int) -> None:
    """Write that a page is a copy of, or similar to, an older one, and note it in its record."""
    out[at] = records[copy + 12]
    out[at + 1] = records[original + 12]
    out[at + 2] = records[copy + 13] & _MOMENT
    out[at + 3] = np.uint64(told) | ((records[copy + 11] >> _32) << _32)
    out[at + 4] = records[copy + 10]
    out[at + 5] = records[original + 13] & _MOMENT
    if told & 255 >= DUPLICATE:
        records[copy + 13] |= COPY


def settle(records: Words, pairs: Ints, count: int, labels: Words) -> int:
    """Decide what pages are to their candidates; return how many labels were written.

    `pairs` are (page, candidate), by page. The original is the older one of a pair, so all shards
    agree on it whichever they meet first. Among several, the highest level counts, then the oldest.
    A copy is nobody's original, or a chain of small changes would have no end.
    """
    made, i = 0, 0
    while i < count:
        me = pairs[2 * i] * RECORD
        best, best_told = me, 0
        while i < count and pairs[2 * i] * RECORD == me:
            other = pairs[2 * i + 1] * RECORD
            i += 1
            if records[other + 13] >= COPY or records[other + 12] == records[me + 12]:
                continue
            told = verdict(records, me, other)
            level = told & 255
            if level == 0:
                continue
            if is_older(records, me, other):
                label(records, other, me, told, labels, made * LABEL)
                made += 1
            elif level > best_told & 255 or (
                level == best_told & 255 and is_older(records, other, best)
            ):
                best, best_told = other, told
        if best_told:
            label(records, me, best, best_told, labels, made * LABEL)
            made += 1
    return made
