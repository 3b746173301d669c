"""From a graph to an edge list: a line per arc, with numbers or with names."""

from collections.abc import Iterator
from functools import cache

import numpy as np

from gossamer.graph.edges import text_kernels as kernels
from gossamer.graph.names import UrlMap
from gossamer.graph.rows import Adjacency, Rows
from gossamer.native import Native

BLOCK_ARCS = 1 << 18


@cache
def _native() -> Native:
    return Native((kernels,), {"format_rows": "nInUB"})


def number_lines(graph: Adjacency) -> Iterator[bytes]:
    """Yield the text `source<tab>target`, a line per arc, in pieces."""
    out = np.empty(0, np.uint8)
    for rows in graph.blocks(BLOCK_ARCS):
        room = kernels.LINE_BYTES * len(rows.targets)
        if len(out) < room:
            out = np.empty(room, np.uint8)
        offsets = np.ascontiguousarray(rows.offsets, np.int64)
        targets = np.ascontiguousarray(rows.targets, np.uint32)
        arrays = (offsets.ctypes.data, rows.nodes, targets.ctypes.data, out.ctypes.data)
        size = _native()["format_rows"](rows.first, *arrays)
        yield out[:size].tobytes()


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
