"""The web that grown states know: URL number i is a pure function of i.

Page p led to twelve URLs, numbers 12 p to 12 p + 11: eight on its own host, four on others. Hosts
are drawn by a power law; a URL is about 74 bytes long, ten of them random letters and digits.
"""

from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

HOSTS = 150_000
FLAT_HOSTS = 100
"""Hosts at the top of the power law that are about alike: the largest has 1 in 730 of all URLs."""
NEW, OWN = 12, 8
"""URLs that a page leads to, and those of them that are on its own host."""
ROWS = 1 + NEW - OWN
"""Queue rows per page: one for its own host, one for each other URL."""
RANDOM_CHARS = 10
PATH_BYTES = 120
TLDS = ("com", "org", "net", "de", "co.uk", "info", "fr", "io")

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
_SYLLABLES = ("al", "ber", "con", "dor", "el", "fin", "gar", "hol", "in", "jun", "ker", "lan")
_ENDS = ("ding", "er", "ford", "ian", "ket", "lor", "mond", "nes", "port", "ry", "stone", "ton")
_LETTERS = np.frombuffer(b"0123456789abcdefghijklmnopqrstuvwxyz", np.uint8)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MUL_1, _MUL_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class Names(NamedTuple):
    """Texts one after another: what compiled code can read."""

    data: Bytes
    ends: Ints


def flat(texts: list[str]) -> Names:
    """Return texts one after another, and where each ends."""
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return Names(np.frombuffer("".join(texts).encode(), np.uint8), ends)


@cache
def words() -> Names:
    """Return 144 words."""
    return flat([first + end for first in _SYLLABLES for end in _ENDS])


@cache
def host_names() -> tuple[str, ...]:
    """Return the name of every host."""
    return tuple(
        f"www.{_SYLLABLES[n % 12]}{_ENDS[n // 12 % 12]}-{_SYLLABLES[n // 5 % 12]}{n:x}."
        f"{TLDS[n % len(TLDS)]}"
        for n in range(HOSTS)
    )


@njit(cache=True)
def mix(number: int) -> np.uint64:
    """Return 64 well-mixed bits of a number."""
    bits = (np.uint64(number) + np.uint64(1)) * _GOLDEN
    bits = (bits ^ (bits >> np.uint64(30))) * _MUL_1
    bits = (bits ^ (bits >> np.uint64(27))) * _MUL_2
    return bits ^ (bits >> np.uint64(31))


@njit(cache=True)
def draw_host(bits: np.uint64) -> int:
    """Return the host that random bits stand for: rank r with weight 1 / (r + FLAT_HOSTS)."""
    share = np.float64(bits >> np.uint64(11)) / np.float64(1 << 53)
    rank = FLAT_HOSTS * ((HOSTS + FLAT_HOSTS) / FLAT_HOSTS) ** share - FLAT_HOSTS
    return min(np.int64(rank), HOSTS - 1)


@njit(cache=True)
def host_of_row(row: int) -> int:
    """Return the host of a queue row."""
    page, place = row // ROWS, row % ROWS
    if place == 0:
        return draw_host(mix(page ^ 0x5A5A5A5A5A5A))
    return draw_host(mix((page * NEW + OWN + place - 1) ^ 0x3C3C3C3C3C3C))


@njit(cache=True)
def hosts_of_rows(count: int) -> NDArray[np.int32]:
    """Return the hosts of the first queue rows."""
    hosts = np.empty(count, np.int32)
    for n in range(count):
        hosts[n] = host_of_row(n)
    return hosts


@njit(cache=True)
def write_path(out: Bytes, at: int, seed: int, data: Bytes, ends: Ints) -> int:
    """Write the path that a seed stands for; return its end."""
    bits = mix(seed)
    for part in range(4):
        out[at] = 45 if part > 1 else 47
        at += 1
        word = (bits >> np.uint64(8 * part)) % np.uint64(len(ends))
        start = ends[word - np.uint64(1)] if word else 0
        for place in range(start, ends[word]):
            out[at] = data[place]
            at += 1
    out[at] = 45
    at += 1
    bits = mix(seed ^ 0x1111111111111)
    for _ in range(RANDOM_CHARS):
        out[at] = _LETTERS[bits % np.uint64(36)]
        bits //= np.uint64(36)
        at += 1
    for letter in (46, 104, 116, 109, 108):
        out[at] = letter
        at += 1
    return at


@njit(cache=True)
def write_origin(out: Bytes, at: int, host: int, data: Bytes, ends: Ints) -> int:
    """Write the origin of a host; return its end."""
    for letter in (104, 116, 116, 112, 115, 58, 47, 47):
        out[at] = letter
        at += 1
    for place in range(ends[host - 1] if host else 0, ends[host]):
        out[at] = data[place]
        at += 1
    return at


@njit(cache=True)
def write_texts(
    numbers: Ints, host_data: Bytes, host_ends: Ints, data: Bytes, ends: Ints
) -> tuple[Bytes, Ints]:
    """Return the texts of URLs by their numbers, one after another, and where each ends."""
    out = np.empty(len(numbers) * (PATH_BYTES + 60), np.uint8)
    stops = np.empty(len(numbers), np.int64)
    at = 0
    for n in range(len(numbers)):
        number = numbers[n]
        page, place = number // NEW, number % NEW
        row = page * ROWS + max(0, place - OWN + 1)
        at = write_origin(out, at, host_of_row(row), host_data, host_ends)
        at = write_path(out, at, number, data, ends)
        stops[n] = at
    return out[:at], stops


@cache
def _names() -> tuple[Bytes, Ints, Bytes, Ints]:
    return (*flat(list(host_names())), *words())


def texts_of(numbers: Ints) -> list[str]:
    """Return the texts of URLs by their numbers."""
    data, stops = write_texts(numbers, *_names())
    whole = data.tobytes().decode()
    return [whole[a:b] for a, b in pairwise([0, *stops.tolist()])]
