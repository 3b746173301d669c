"""Content: what a page is about, apart from what surrounds it on every page of its site.

A line is content if it has sentences or code, and is not mostly what links say. Short lines belong
to content that they stand next to; so do a few links amid content, as lists of an API are. Many
links in a row are a menu. The first and last lines may be small print: rights, cookies, scripts.
Where nothing is known of links, rows of very short lines take their part.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from gossamer.native import Native
from gossamer.search.analysis import content_kernels
from gossamer.search.analysis.content_kernels import LINE, Words

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
_MOST_LINKS = 1 << 15


class Arranged(NamedTuple):
    """A text with its main content first."""

    text: bytes
    """As it was up to the prefix; then main content, then the rest, and PADDING."""
    middle: int
    """Where main content ends."""
    end: int
    """Where the rest ends."""


@cache
def natives() -> Native:
    """Return the compiled kernel; the first call loads it, or has it compiled."""
    return Native((content_kernels,), {"arrange": "BIWWIB"})


class Arranger:
    """Puts main content first. For one thread at a time."""

    def __init__(self, *, is_plain: bool = False) -> None:
        self._arrange = None if is_plain else natives()["arrange"]
        """None: in Python, which takes a thousand times as long and says the same."""
        self._signs = _signs()
        self._known = np.zeros(256, np.uint64)
        self._lines = np.zeros(LINE * 1024, np.int64)
        self._spans = np.zeros(8, np.int64)
        self._out = np.zeros(1 << 16, np.uint8)

    def arranged(self, prefix: bytes, links: Sequence[str], heads: bytes, text: bytes) -> Arranged:
        """Return prefix and text, with main content first."""
        said = "\n".join(links[:_MOST_LINKS]).encode("utf-8", "replace")
        whole = b"".join((prefix, said, heads, text, PADDING))
        mask = self._make_room(len(links) + heads.count(b"\n"), text.count(b"\n"), len(whole))
        links_end = len(prefix) + len(said)
        heads_end = links_end + len(heads)
        ends = (len(prefix), links_end, heads_end, heads_end + len(text))
        self._spans[:6] = (*ends, mask, _SIGNS - 1)
        arrays = (
            np.frombuffer(whole, np.uint8),
            *(self._spans, self._known, self._signs, self._lines, self._out),
        )
        if self._arrange is not None:
            end = self._arrange(*(array.ctypes.data for array in arrays))
        else:
            with np.errstate(over="ignore"):
                end = int(content_kernels.arrange(*arrays))
        return Arranged(self._out[:end].tobytes() + PADDING, int(self._spans[6]), end)

    def _make_room(self, names: int, breaks: int, size: int) -> int:
        """Have room for so many links and headings, lines and bytes; return the mask of places."""
        places = 1 << (4 * names + 16).bit_length()
        if places > len(self._known):
            self._known = np.zeros(places, np.uint64)
        self._known[:places] = 0
        if LINE * (breaks + 2) > len(self._lines):
            self._lines = np.zeros(2 * LINE * (breaks + 2), np.int64)
        if size + 16 > len(self._out):
            self._out = np.zeros(2 * size, np.uint8)
        return places - 1


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
