"""save_ranks: what pages are worth, as a file for those who do not know the graph."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from gossamer.graph.answers.picked import Floats, Mask
from gossamer.ranks import write_ranks
from gossamer.urls import fingerprint_of


def save_ranks(
    path: Path, urls: Iterable[str], scores: Floats, universe: Mask | None = None
) -> int:
    """Write the ranks of URLs, in the order of their nodes; return how many there are.

    In the file 1.0 is the mean of all nodes of the universe (None: all). Others are left out.
    """
    inside = np.ones(len(scores), np.bool_) if universe is None else universe
    count = int(inside.sum())
    keys = np.fromiter((fingerprint_of(url) for url in urls), np.uint64, len(scores))
    return write_ranks(path, keys[inside], scores[inside] * count)
