"""Content: what a page is about, apart from what surrounds it on every page of its site.

A line is content if it has sentences or code, and is not mostly what links say. Short lines belong
to content that they stand next to; so do a few links amid content, as lists of an API are. Many
links in a row are a menu. The first and last lines may be small print: rights, cookies, scripts.
Where nothing is known of links, rows of very short lines take their part.
"""

from collections.abc import Iterable
from functools import cache
from itertools import islice
from operator import gt
from typing import NamedTuple

import numpy as np

from gossamer.native import Native
from gossamer.search.analysis import content_kernels
from gossamer.search.analysis.content_kernels import LINE, Bytes, Words

PADDING = bytes(4)
"""Behind every text, so that a kernel that looks ahead reads what is ours."""
_ENOUGH = "copyright © trademark trademarks urheberrecht"
_HINTS = (
    "cookie cookies consent consents accept agree privacy policy preferences gdpr rights reserved"
    " licensed license licence terms disclaimer imprint impressum javascript disabled enable"
    " browser subscribe newsletter skip navigation"
)
"""Words of small print: one of the first, or two of the others, tell a line of it."""
_SIGNS = 256
_SPARE = 16
_MOST_LINKS = 1 << 15


class Arranged(NamedTuple):
    """A text with its main content first. It lasts until the next one is made."""

    text: Bytes
    """As it was up to the prefix; then main content, then the rest, and some bytes more."""
    middle: int
    """Where main content ends."""
    end: int
    """Where the rest ends."""


@cache
def natives() -> Native:
    """Return the compiled kernel; the first call loads it, or has it compiled."""
    return Native((content_kernels,), {"arrange": "BIBWWIB"})


class Arranger:
    """Puts main content first. For one thread at a time."""

    def __init__(self, *, is_plain: bool = False) -> None:
        self._arrange = None if is_plain else natives()["arrange"]
        """None: in Python, which takes a thousand times as long and says the same."""
        self._spans, self._rare, self._signs = np.zeros(8, np.int64), _rare(), _signs()
        self._known = np.zeros(256, np.uint64)
        self._lines = np.zeros(LINE * 1024, np.int64)
        self._out = np.zeros(1 << 16, np.uint8)
        self._find()

    def arranged(self, prefix: bytes, links: Iterable[str], heads: bytes, text: bytes) -> Arranged:
        """Return prefix and text, with main content first."""
        said = "\n".join(islice(links, _MOST_LINKS)).encode("utf-8", "replace")
        whole = b"".join((prefix, said, heads, text, PADDING))
        links_end = len(prefix) + len(said)
        heads_end = links_end + len(heads)
        names = said.count(b"\n") + heads.count(b"\n")
        mask = self._make_room(names, text.count(b"\n"), len(whole))
        end = heads_end + len(text)
        self._spans[:6] = (len(prefix), links_end, heads_end, end, mask, _SIGNS - 1)
        if self._arrange is not None:
            end = self._arrange(whole, *self._places)
        else:
            with np.errstate(over="ignore"):
                end = int(content_kernels.arrange(np.frombuffer(whole, np.uint8), *self._arrays))
        return Arranged(self._out, int(self._spans[6]), end)

    def _find(self) -> None:
        """Remember where all arrays are."""
        self._arrays = (
            *(self._spans, self._rare, self._known),
            *(self._signs, self._lines, self._out),
        )
        self._places = tuple(array.ctypes.data for array in self._arrays)

    def _make_room(self, names: int, breaks: int, size: int) -> int:
        """Have room for so many links and headings, lines and bytes; return the mask of places."""
        places = 1 << (4 * names + 16).bit_length()
        needed = (places, LINE * (breaks + 2), size + _SPARE)
        if any(map(gt, needed, (len(self._known), len(self._lines), len(self._out)))):
            self._known = np.zeros(2 * needed[0], np.uint64)
            self._lines = np.zeros(2 * needed[1], np.int64)
            self._out = np.zeros(2 * needed[2], np.uint8)
            self._find()
        self._known[:places] = 0
        return places - 1


def _rare() -> Bytes:
    """Return which bytes ask for a closer look: marks, signs of code, and what is not Latin."""
    table = np.zeros(256, np.uint8)
    table[[*b"|;={}(.!?,:", 0xA0, *range(0xE3, 0x100)]] = 1
    return table


def _signs() -> Words:
    """Return the table of words of small print: places by hash, then the bits of each."""
    table = np.zeros(2 * _SIGNS, np.uint64)
    hints = {word: 4 << n for n, word in enumerate(_HINTS.split())}
    for word, bits in (dict.fromkeys(_ENOUGH.split(), 3) | hints).items():
        x = 0xCBF29CE484222325
        for byte in word.encode():
            x = ((x ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
        x |= 1
        place = (x >> 7) & (_SIGNS - 1)
        while table[place]:
            place = (place + 1) & (_SIGNS - 1)
        table[place], table[_SIGNS + place] = x, bits
    return table
