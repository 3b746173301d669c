"""From a graph to an edge list: a line per arc, with numbers or with names."""

from collections.abc import Iterator
from functools import cache

import numpy as np

from gossamer.graph.edges import text_kernels as kernels
from gossamer.graph.names import UrlMap
from gossamer.graph.rows import Adjacency, Ids, Rows
from gossamer.native import Native

BLOCK_ARCS = 1 << 18


@cache
def _native() -> Native:
    return Native((kernels,), {"format_pairs": "UUnB"})


def number_lines(graph: Adjacency, order: Ids | None = None) -> Iterator[bytes]:
    """Yield the text `source<tab>target`, a line per arc, in pieces.

    `order`: the numbers to tell instead, one for each node.
    """
    for rows in graph.blocks(BLOCK_ARCS):
        sources, targets = rows.sources(), rows.targets
        if order is not None:
            sources, targets = order[sources], order[targets]
        yield pair_lines(sources, targets)


def pair_lines(sources: Ids, targets: Ids) -> bytes:
    """Return a line per pair of numbers."""
    out = np.empty(kernels.LINE_BYTES * len(sources), np.uint8)
    pairs = [np.ascontiguousarray(one, np.uint32) for one in (sources, targets)]
    places = (one.ctypes.data for one in pairs)
    return out[: _native()["format_pairs"](*places, len(sources), out.ctypes.data)].tobytes()


def name_lines(graph: Adjacency, names: UrlMap) -> Iterator[bytes]:
    """Yield the same with names instead of numbers."""
    for rows in graph.blocks(BLOCK_ARCS):
        yield _named(rows, names)


def _named(rows: Rows, names: UrlMap) -> bytes:
    nodes, places = np.unique(rows.targets, return_inverse=True)
    words = np.array(names.urls(nodes), object)
    degrees = np.diff(rows.offsets)
    linking = np.flatnonzero(degrees)
    heads = np.array(names.urls(linking + rows.first), object)
    sources = np.repeat(heads, degrees[linking])
    lines = [f"{a}\t{b}\n" for a, b in zip(sources, words[places], strict=True)]
    return "".join(lines).encode("utf-8", "surrogateescape")
