"""Lists of pages, joined and packed: what travels from shard to shard."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.errors import CannotGoOn
from gossamer.search.terms.compiled import natives
from gossamer.search.terms.set_kernels import WITHOUT
from gossamer.search.terms.words import Pages, Scores

__all__ = ["WITHOUT", "Tally", "common", "joined", "packed", "unpacked"]

_MOST_BYTES = 10


class Tally(NamedTuple):
    """Pages, ascending; what each has scored so far; how many conditions it has met."""

    pages: Pages
    scores: Scores
    seen: NDArray[np.uint8]


def joined(one: Tally, pages: Pages, scores: Scores, least: int) -> Tally:
    """Return pages that have met at least so many conditions; or those of the first alone."""
    room = len(one.pages) + (0 if least == WITHOUT else len(pages))
    out = Tally(np.empty(room, np.int64), np.empty(room, np.float64), np.empty(room, np.uint8))
    kept = natives()["join"](
        *(column.ctypes.data for column in one),
        len(one.pages),
        pages.ctypes.data,
        scores.ctypes.data,
        len(pages),
        least,
        *(column.ctypes.data for column in out),
    )
    return Tally(out.pages[:kept], out.scores[:kept], out.seen[:kept])


def common(one: Pages, other: Pages) -> Pages:
    """Return what two ascending lists have in common."""
    out = np.empty(min(len(one), len(other)), np.int64)
    sizes = (one.ctypes.data, len(one), other.ctypes.data, len(other))
    return out[: natives()["common"](*sizes, out.ctypes.data)]


def packed(values: Pages) -> bytes:
    """Return ascending numbers in few bytes."""
    out = np.empty(_MOST_BYTES * len(values), np.uint8)
    size = natives()["pack"](values.ctypes.data, len(values), out.ctypes.data)
    return out[:size].tobytes()


def unpacked(content: bytes, limit: int) -> Pages:
    """Return numbers below a limit from their bytes."""
    out = np.empty(len(content), np.int64)
    found = natives()["unpack"](content, len(content), limit, out.ctypes.data)
    if found < 0:
        raise CannotGoOn("a message between term shards is damaged; try again")
    return out[:found]
