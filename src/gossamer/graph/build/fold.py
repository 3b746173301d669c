"""Fold: a graph and what is new -> the graph of both, numbered anew, in both directions.

Rows of the old graph are read in order, without those that were replaced; the new links join them
in the sorter. A full build is the same over no graph at all.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gossamer.graph.build.jumps import Jumps
from gossamer.graph.build.merging import Merged, alone, merge_names
from gossamer.graph.build.news import Arcs, Fresh
from gossamer.graph.build.sorting import ArcSorter
from gossamer.graph.build.whole import NAMES, TRANSPOSED, WEB, Base, write_pages
from gossamer.graph.bv import BVGraph, Coding, GraphWriter, KindsFile, KindsWriter
from gossamer.graph.kinds import Kind
from gossamer.graph.names import UrlMap, UrlMapWriter
from gossamer.graph.rows import Ids

MERGED = "merged.urls"


class Folding(Struct, frozen=True, kw_only=True):
    """How a graph is to be written."""

    coding: Coding = Coding()
    followed: Kind = Kind(0)
    """Links of these kinds stand for where they lead."""
    memory_bytes: int = 512 << 20


class Folded(Struct, frozen=True, kw_only=True):
    """What was written."""

    nodes: int
    arcs: int
    pages: int


def fold(base: Base | None, fresh: Fresh, into: Path, how: Folding) -> Folded:
    """Write the graph of a base, if there is one, and what is new."""
    work = fresh.names.parent
    union = _Union(base, fresh, how.followed)
    nodes = _write_names(union, into / NAMES)
    share = how.memory_bytes // 2
    with ArcSorter(work, share) as out, ArcSorter(work, share) as inn:
        for sources, targets, kinds in union.old_arcs():
            out.add(sources, targets, kinds)
        for targets, sources, kinds in union.old_arcs_back():
            inn.add(targets, sources, kinds)
        for sources, targets, kinds in union.new_arcs():
            out.add(sources, targets, kinds)
            inn.add(targets, sources, kinds)
        arcs = _write_rows(out, nodes, into / WEB, how.coding)
        _write_rows(inn, nodes, into / TRANSPOSED, how.coding)
    is_page = union.is_page if union.final is None else union.is_page[union.is_used]
    write_pages(into, is_page)
    return Folded(nodes=nodes, arcs=arcs, pages=int(is_page.sum()))


class _Union:
    """A base and what is new, in common numbers: which nodes are pages, which are used at all."""

    def __init__(self, base: Base | None, fresh: Fresh, followed: Kind) -> None:
        self._base = base
        self._fresh = fresh
        self.merged: Merged = (
            alone(fresh.names, fresh.nodes)
            if base is None
            else merge_names(base.names, UrlMap.open(fresh.names), fresh.names.with_name(MERGED))
        )
        self._replaced = self._replaced_rows()
        self._has_replaced = bool(self._replaced.any())
        self.is_page = self._pages()
        self._jumps: Jumps | None = None
        if followed:
            self._jumps = Jumps(self.merged.nodes, followed, self._arcs_as_found())
        self.final: Ids | None = None
        """Number of each node when those that nobody links to are left out; None if none is."""
        self.is_used = self.is_page
        if self._has_replaced or followed or not fresh.is_lean:
            self.is_used = self._used()
            self.final = (np.cumsum(self.is_used) - 1).astype(np.uint32)

    def old_arcs(self) -> Iterator[Arcs]:
        """Yield the links of the base that still hold, as (source, target, kinds)."""
        if self._base is not None:
            yield from self._numbered(
                self._old(self._base.out, self._base.out_kinds, is_back=False)
            )

    def old_arcs_back(self) -> Iterator[Arcs]:
        """Yield the same as (target, source, kinds), in the order of targets."""
        if self._base is not None:
            yield from self._numbered(self._old(self._base.inn, self._base.in_kinds, is_back=True))

    def new_arcs(self) -> Iterator[Arcs]:
        """Yield the new links as (source, target, kinds)."""
        yield from self._numbered(self._new())

    def _numbered(self, arcs: Iterator[Arcs]) -> Iterator[Arcs]:
        for one, other, kinds in arcs:
            if self.final is None:
                yield one, other, kinds
            else:
                yield self.final[one], self.final[other], kinds

    def _old(self, graph: BVGraph, kinds: KindsFile, *, is_back: bool) -> Iterator[Arcs]:
        of_old = self.merged.of_old
        for rows in kinds.beside(graph.blocks()):
            sources, targets, ways = rows.sources(), rows.targets, rows.kinds
            if ways is None:
                continue
            if self._has_replaced:
                keep = np.flatnonzero(~self._replaced[targets if is_back else sources])
                sources, targets, ways = sources[keep], targets[keep], ways[keep]
            yield of_old[sources], of_old[targets], ways

    def _new(self) -> Iterator[Arcs]:
        for arcs in self._arcs_as_found():
            yield arcs if self._jumps is None else self._jumps.followed(arcs)

    def _arcs_as_found(self) -> Iterator[Arcs]:
        of_new = self.merged.of_new
        for sources, targets, kinds in self._fresh.arcs():
            yield of_new[sources], of_new[targets], kinds

    def _replaced_rows(self) -> NDArray[np.bool_]:
        """Tell of each node of the base whether it is a page that has a newer row."""
        replaced = np.zeros(len(self.merged.of_old), np.bool_)
        known = self.merged.old_of_new[self._fresh.sources]
        replaced[known[known >= 0]] = True
        return replaced if self._base is None else replaced & self._base.pages()

    def _pages(self) -> NDArray[np.bool_]:
        is_page = np.zeros(self.merged.nodes, np.bool_)
        if self._base is not None:
            is_page[self.merged.of_old[self._base.pages() & ~self._replaced]] = True
        fresh = self._fresh
        is_page[self.merged.of_new[fresh.sources[fresh.is_page]]] = True
        return is_page

    def _used(self) -> NDArray[np.bool_]:
        is_used = self.is_page.copy()
        if self._base is not None:
            for _, targets, _ in self._old(self._base.out, self._base.out_kinds, is_back=False):
                is_used[targets] = True
        for _, targets, _ in self._new():
            is_used[targets] = True
        return is_used


def _write_names(union: _Union, path: Path) -> int:
    """Put the names of all nodes that are used into their place; return how many they are."""
    if union.final is None:
        union.merged.names.replace(path)
        return union.merged.nodes
    writer = UrlMapWriter(path)
    start = 0
    for keys in UrlMap.open(union.merged.names).keys(0):
        used = np.flatnonzero(union.is_used[start : start + len(keys)])
        start += len(keys)
        writer.add([keys[n] for n in used.tolist()])
    writer.close()
    return int(union.is_used.sum())


def _write_rows(sorter: ArcSorter, nodes: int, base: Path, coding: Coding) -> int:
    """Write a graph and its kinds; return how many links it has."""
    graph, kinds = GraphWriter(base, coding), KindsWriter(base)
    for rows in sorter.rows(nodes):
        if rows.kinds is None:  # nothing was added
            rows = rows._replace(kinds=np.empty(0, np.uint8))  # noqa: PLW2901 -- the same, named
        graph.add(rows)
        kinds.add(rows)
    kinds.close()
    return graph.close().arcs
