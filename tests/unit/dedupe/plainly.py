"""The sketch of a text said once more, in plain Python: slow, and by another hand than the kernels.

It follows the description: words, word hash, SimHash, shingles, bins, exact hash, bands.
"""

import re
from typing import NamedTuple

import xxhash

ALL = (1 << 64) - 1
B = 0x9E3779B97F4A7C15
WORD = re.compile(
    "[\u3040-\u9fff]|[0-9A-Za-z\u00c0-\u1fff\u2c00-\u2fff\ua000-\ufdff\ufe40-\ufebf\uff10-\uffbf"
    "\U00010000-\U0010ffff]+"
)


class Plain(NamedTuple):
    words: int
    simhash: int
    exact: int
    bins: list[int]
    bands: list[int]


def words_of(text: str) -> list[str]:
    return WORD.findall(text)


def mix(x: int) -> int:
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & ALL
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & ALL
    return x ^ x >> 33


def word_hash(word: str, seed: int) -> int:
    state = 0
    for byte in re.sub("[A-Z]", lambda one: one[0].lower(), word).encode():
        number = xxhash.xxh3_64_intdigest(bytes((byte,)), seed=seed)
        state = (state << 7 | state >> 57) & ALL ^ number
    return mix(state)


def shingles_of(hashes: list[int]) -> list[int]:
    if len(hashes) < 3:
        x = len(hashes)
        for word in hashes:
            x = (x * B + word) & ALL
        return [mix(x)]
    triples = zip(hashes, hashes[1:], hashes[2:], strict=False)
    return [mix((a * B * B + b * B + c) & ALL) for a, b, c in triples]


def exact_of(shingles: list[int], words: int) -> int:
    x = 0
    for shingle in shingles:
        x = (x * B + shingle) & ALL
    return mix(x ^ words)


def bins_of(shingles: list[int]) -> list[int]:
    least: dict[int, int] = {}
    for shingle in shingles:
        place = shingle >> 58
        least[place] = min(least.get(place, ALL), shingle << 6 & ALL)
    values = []
    for place in range(64):
        if place in least:
            values.append(least[place] >> 32)
            continue
        turn = 1
        while (source := mix((place * B + turn) & ALL) >> 58) not in least:
            turn += 1
        values.append(mix((least[source] + (turn << 32)) & ALL) >> 32)
    return values


def simhash_of(hashes: list[int]) -> int:
    result = 0
    for bit in range(64):
        twice = 2 * sum(word >> bit & 1 for word in hashes)
        if twice > len(hashes) or (twice == len(hashes) and bit & 1):
            result |= 1 << bit
    return result


def band_of(values: list[int], band: int) -> int:
    a, b, c, d = values[4 * band : 4 * band + 4]
    x = mix(((a << 32 | b) + (band + 1) * B) & ALL)
    return mix((x + (c << 32 | d)) & ALL) >> 27


def plain_sketch(text: str, seed: int) -> Plain:
    hashes = [word_hash(word, seed) for word in words_of(text)]
    if not hashes:
        return Plain(0, 0, 0, [0] * 64, [0] * 12)
    shingles = shingles_of(hashes)
    values = bins_of(shingles)
    return Plain(
        len(hashes),
        simhash_of(hashes),
        exact_of(shingles, len(hashes)),
        [value & 255 for value in values],
        [band_of(values, band) for band in range(12)],
    )
