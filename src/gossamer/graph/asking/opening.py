"""OpenedGraph: a graph with whatever belongs to it. A crawl's, or any BVGraph files."""

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gossamer.errors import ConfigError, CorruptFile
from gossamer.graph.answers import Mask, loaded, transposed
from gossamer.graph.asking.kinded import Kinded
from gossamer.graph.asking.row import ListRow, Naming, NodeRow, Row
from gossamer.graph.build import GraphManifest, read_manifest, whole_folder
from gossamer.graph.bv import SUFFIXES, BVGraph, KindsFile, beside
from gossamer.graph.connectivity import Connectivity
from gossamer.graph.kinds import ALL, Kind
from gossamer.graph.names import UrlMap
from gossamer.graph.rows import Adjacency, Places

Direction = Literal["in", "out"]
GRAPH, WEB, MANIFEST = "graph", "web", "manifest.json"
BACK = "-t"
_BATCH = 1 << 16


def has_graph(folder: Path | str) -> bool:
    """Return True if a crawl's folder has a graph."""
    return whole_folder(Path(folder)) is not None


def manifest_of(folder: Path | str) -> GraphManifest | None:
    """Return what the graph of a crawl's folder was built from; None without one."""
    place = whole_folder(Path(folder))
    return read_manifest(place) if place is not None else None


def base_of(place: Path | str) -> Path:
    """Return the common part of the names of a graph's files, given it or one of them."""
    place = Path(place)
    path = Path(place)
    return path.with_suffix("") if path.suffix in SUFFIXES else path


def opened(place: Path | str) -> "OpenedGraph":
    """Return the graph of a crawl's folder, or that of some files; a `ConfigError` without one."""
    place = Path(place)
    if has_graph(place):
        return OpenedGraph(place / GRAPH / WEB, place)
    if place.is_dir():
        raise ConfigError(f"{place} has no graph: run `gossamer build {place} graph`")
    base = base_of(place)
    if not beside(base, ".properties").exists():
        found = f"no such folder, and no {base.name}.properties"
        raise ConfigError(
            f"{place}: expected a crawl folder or the files of a graph; found {found}"
        )
    return OpenedGraph(base)


class OpenedGraph:
    """A graph in both directions, its names and kinds.

    The files of a crawl's are all opened at once: a build may put others in their place.
    """

    def __init__(self, base: Path, root: Path | None = None) -> None:
        self.base = base
        last = base.with_name(MANIFEST)
        self._last = str(last if last.exists() else beside(base, ".properties"))
        self._stamp = _stamp(self._last)  # before they are opened: what comes later is newer
        self.crawl = Connectivity.open(root) if root is not None else None
        """Of a crawl: what knows its newest pages, too."""
        self.has_kinds = self.crawl is not None or beside(base, ".kinds").exists()

    def is_current(self) -> bool:
        """Return True if the files are still those that were opened."""
        return self._stamp == _stamp(self._last)

    @cached_property
    def out(self) -> Adjacency:
        """Return the links of each node."""
        if self.crawl is not None:
            return Kinded(self.crawl.out, self.crawl.base.out_kinds)
        return _graph(self.base)

    @cached_property
    def inward(self) -> Adjacency:
        """Return the links into each node: from files, or turned around in memory."""
        if self.crawl is not None:
            return Kinded(self.crawl.inn, self.crawl.base.in_kinds)
        back = self.base.with_name(self.base.name + BACK)
        if beside(back, ".properties").exists():
            found = _graph(back)
            if (found.nodes, found.arcs) != (self.out.nodes, self.out.arcs):
                told = f"not the transpose of {self.base.name}: it has other numbers of nodes, arcs"
                raise CorruptFile(beside(back, ".properties"), 0, told)
            return found
        return transposed(loaded(self.out))

    @cached_property
    def names(self) -> UrlMap | None:
        """Return the names of nodes, if they have names; a transpose shares those of its graph."""
        if self.crawl is not None:
            return self.crawl.names
        path = self.names_path
        if not path.exists():
            return None
        found = UrlMap.open(path)
        if len(found) != self.out.nodes:
            told = f"expected the names of {self.out.nodes} nodes, found {len(found)}"
            raise CorruptFile(path, 0, told)
        return found

    @property
    def names_path(self) -> Path:
        """Return the file of the names, which need not exist."""
        own = beside(self.base, ".urls")
        shared = beside(self.base.with_name(self.base.name.removesuffix(BACK)), ".urls")
        return own if own.exists() else shared

    @cached_property
    def pages(self) -> Mask | None:
        """Return which nodes are pages whose links are known; None: that is not known."""
        if self.crawl is not None:
            return self.crawl.base.pages()
        path = beside(self.base, ".pages")
        if not path.exists():
            return None
        bits = np.fromfile(path, np.uint8)
        return np.unpackbits(bits, count=self.out.nodes).view(np.bool_)

    @cached_property
    def _hosts(self) -> tuple[Sequence[str], Places]:
        if self.names is None:
            raise ConfigError(f"{self.base} has no URLs as names, so it has no hosts")
        names, bounds = self.names.hosts()
        return names, bounds[:-1]

    def hosts(self) -> tuple[Sequence[str], Places]:
        """Return all hosts and the first node of each; what is no web address is of host ""."""
        return self._hosts

    def host_starts(self) -> Places | None:
        """Return the first node of each host; None without names."""
        return self._hosts[1] if self.names is not None else None

    def web_nodes(self) -> int:
        """Return how many nodes of a crawl are web addresses: others (mailto and such) are last.

        Whatever the nodes of other graphs are called, all of them count.
        """
        if self.pages is None:
            return self.out.nodes
        names, firsts = self.hosts()
        return int(firsts[-1]) if names and not names[-1] else self.out.nodes

    def spelled(self, word: str) -> str:
        """Return a URL as the graph has it, known or not."""
        return self.crawl.spelled(word) if self.crawl is not None else word

    def node(self, word: str) -> int | None:
        """Return the node of a name, or of a number where nodes have no names."""
        if self.names is not None:
            node = self.names.node(word)
            return self.names.node(self.spelled(word)) if node is None else node
        return int(word) if word.isdecimal() and int(word) < self.out.nodes else None

    def words(self, nodes: Sequence[int] | NDArray[np.integer]) -> list[str]:
        """Return the names of nodes, or their numbers."""
        if self.names is not None:
            return self.names.urls(nodes)
        return [str(node) for node in nodes]

    def all_words(self) -> Iterator[str]:
        """Yield the names of all nodes in order."""
        for start in range(0, self.out.nodes, _BATCH):
            yield from self.words(range(start, min(start + _BATCH, self.out.nodes)))

    def row(self, word: str, direction: Direction, kinds: int = ALL) -> Row | None:
        """Return the links of a URL, those out of it or into it; None if it is not known."""
        if self.crawl is not None and self.crawl.stale:
            ask = self.crawl.links_in if direction == "in" else self.crawl.links_out
            found = ask(word, Kind(kinds))
            return ListRow(found) if found is not None else None
        node = self.node(word)
        if node is None:
            return None
        graph = self.inward if direction == "in" else self.out
        targets = graph.successors(node)
        ways = graph.kinds_of(node, len(targets)) if isinstance(graph, Kinded) else None
        if ways is not None and kinds & ALL != ALL:
            wanted = np.flatnonzero(ways & np.uint8(kinds))
            targets, ways = targets[wanted], ways[wanted]
        return NodeRow(targets, ways, Naming(self.words, self.node))

    def indegrees(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Return how many links there are to each of some URLs; 0 for those not known."""
        if self.names is None:
            nodes = np.array([int(word) for word in words], np.int64)
        else:
            nodes = self.names.nodes(words)
        found = np.zeros(len(nodes), np.int64)
        known = np.flatnonzero(nodes >= 0)
        found[known] = [_degree(self.inward, node) for node in nodes[known].tolist()]
        return found


def _graph(base: Path) -> Adjacency:
    graph = BVGraph.open(base)
    if beside(base, ".kinds").exists():
        return Kinded(graph, KindsFile(base, graph.nodes))
    return graph


def _degree(graph: Adjacency, node: int) -> int:
    return (
        graph.outdegree(node)
        if isinstance(graph, BVGraph | Kinded)
        else len(graph.successors(node))
    )


def _stamp(last: str) -> tuple[int, int]:
    """Return what changes when a graph's files, of which this is the last, are replaced."""
    try:
        status = os.stat(last)  # noqa: PTH116 - for each request; a `Path` takes longer than this
    except OSError:
        return (0, 0)
    return status.st_ino, status.st_mtime_ns
