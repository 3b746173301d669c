"""Pages on their way, packed and unpacked: a byte or two and four for the score."""

import numpy as np

from gossamer.errors import CannotGoOn
from gossamer.search.terms.sets import Tally, packed, unpacked
from gossamer.search.terms.wire import Accumulators


def no_pages() -> Tally:
    """Return a tally of nothing."""
    return Tally(np.empty(0, np.int64), np.empty(0, np.float64), np.empty(0, np.uint8))


def load_of(tally: Tally) -> Accumulators:
    """Return a tally packed."""
    if not len(tally.pages):
        return Accumulators()
    is_even = bool((tally.seen == tally.seen[0]).all())
    return Accumulators(
        packed(tally.pages),
        tally.scores.astype("<f4").tobytes() if tally.scores.any() else b"",
        (tally.seen[:1] if is_even else tally.seen).tobytes(),
    )


def tally_of(load: Accumulators, limit: int) -> Tally:
    """Return a tally of pages below a limit; raise `CannotGoOn` if it makes no sense."""
    if not load.pages:
        return no_pages()
    pages = unpacked(load.pages, limit)
    scores = np.frombuffer(load.scores, "<f4").astype(np.float64)
    seen = np.frombuffer(load.seen, np.uint8)
    if not len(scores):
        scores = np.zeros(len(pages), np.float64)
    if len(seen) == 1:
        seen = np.full(len(pages), seen[0], np.uint8)
    if not len(pages) == len(scores) == len(seen):
        raise CannotGoOn("a message between term shards is damaged; try again")
    return Tally(pages, scores, seen)
