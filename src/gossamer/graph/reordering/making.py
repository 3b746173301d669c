"""A graph with better numbers: NEW.graph, NEW-t.graph, and NEW.order, which has the old ones."""

from pathlib import Path

import numpy as np

from gossamer.errors import ConfigError, CorruptFile
from gossamer.graph.answers import loaded, transposed
from gossamer.graph.build import ArcSorter
from gossamer.graph.bv import MADE, BVGraph, Coding, GraphWriter, beside, workshop
from gossamer.graph.reordering.layers import Tell, find_order
from gossamer.graph.rows import Adjacency, Ids

ORDER = ".order"
BACK = "-t"


def reorder(
    base: Path, new: Path, coding: Coding, seed: int = 1, tell: Tell = lambda _: None
) -> None:
    """Write a graph and its transpose with nodes numbered so that neighbours stand together."""
    if beside(base, ".urls").exists():
        raise ConfigError(
            f"{base} has names, which fix the order of its nodes: it cannot be reordered"
        )
    if not new.parent.is_dir() or new in _both_ways(base) or base in _both_ways(new):
        raise ConfigError(f"{new}: expected an existing folder and a name other than {base}")
    out = BVGraph.open(base)
    back = beside(base, BACK)
    inward: Adjacency = (
        BVGraph.open(back) if beside(back, ".properties").exists() else transposed(loaded(out))
    )
    order = find_order(out, inward, seed, tell)
    place = np.empty(out.nodes, np.uint32)
    place[order] = np.arange(out.nodes, dtype=np.uint32)
    with workshop(new) as work:
        made = work / MADE / new.name
        beside(made, ORDER).write_bytes(order.tobytes())
        _write(out, place, made, coding)
        _write(inward, place, made.with_name(made.name + BACK), coding)


def read_order(base: Path, nodes: int) -> Ids | None:
    """Return the number that each node had before it was reordered; None if it never was."""
    path = beside(base, ORDER)
    if not path.exists():
        return None
    order = np.fromfile(path, np.uint32)
    if len(order) != nodes or (nodes and int(order.max()) >= nodes):
        raise CorruptFile(path, 0, f"expected the old numbers of {nodes} nodes")
    return order


def _both_ways(base: Path) -> tuple[Path, Path]:
    return base, beside(base, BACK)


def _write(graph: Adjacency, place: Ids, base: Path, coding: Coding) -> None:
    """Write a graph with other numbers."""
    with ArcSorter(base.parent) as sorter:  # its files have no names
        for rows in graph.blocks():
            sorter.add(place[rows.sources()], place[rows.targets])
        writer = GraphWriter(base, coding)
        for rows in sorter.rows(graph.nodes):
            writer.add(rows)
        writer.close()
