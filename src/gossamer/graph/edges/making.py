"""From an edge list to a graph: any text with two words per line becomes BVGraph files."""

from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

from gossamer.errors import ConfigError
from gossamer.graph.build import ArcSorter
from gossamer.graph.bv import MADE, SUFFIXES, BVGraph, Coding, GraphWriter, beside, workshop
from gossamer.graph.edges.lines import kept
from gossamer.graph.edges.reading import (
    has_numbers,
    nodes_by_word,
    number_pairs,
    word_pairs,
)
from gossamer.graph.names import NameSorter, UrlMap, UrlMapWriter, keys_of
from gossamer.graph.rows import Rows

Tell = Callable[[str], None]

SPARSE = 100
"""Numbers more than so many times the edges are not numbers of nodes, but names."""
SPARSE_FROM = 1_000_000
"""Nodes of a graph that is never called sparse."""
_TELL_EVERY_LINES = 1 << 22


class EdgeOptions(Struct, frozen=True, kw_only=True):
    """How a graph is made of an edge list."""

    nodes: int | None = None
    """At least so many nodes; None: as many as the largest number asks for."""
    has_names: bool | None = None
    """Words are names even if they look like numbers; None: the first edge decides."""
    has_transpose: bool = True
    memory_bytes: int = 1 << 30
    coding: Coding = Coding()


class MadeGraph(Struct, frozen=True, kw_only=True):
    """What an edge list has become."""

    base: str
    lines: int
    edges: int
    """As given, copies included."""
    nodes: int
    arcs: int
    has_names: bool


def from_edges(
    name: str, base: Path, options: EdgeOptions, tell: Tell = lambda _: None
) -> MadeGraph:
    """Make BASE.graph and its companions of a text, BASE-t.graph too; and BASE.urls of names.

    `name` is a path or `-`. Files appear when all is done; those of an earlier run are replaced.
    """
    if base.name in {"", ".", ".."} or not base.parent.is_dir():
        raise ConfigError(f"{base}: expected an existing folder and a name for the graph in it")
    if any(Path(name) == beside(base, suffix) for suffix in SUFFIXES):
        raise ConfigError(
            f"{name} would be overwritten by a file of the graph: choose another name"
        )
    with workshop(base) as work:
        return _Making(work / MADE / base.name, options, tell).run(kept(name, work), name)


class _Making:
    """One graph on its way."""

    def __init__(self, base: Path, options: EdgeOptions, tell: Tell) -> None:
        self._base = base
        self._work = base.parent.parent
        self._options = options
        self._tell = tell
        self._lines = 0
        self._edges = 0

    def run(self, source: str, name: str) -> MadeGraph:
        """Make all files."""
        options = self._options
        has_names = not has_numbers(source) if options.has_names is None else options.has_names
        if has_names and options.nodes is not None:
            raise ConfigError(
                f"--nodes cannot be used with named nodes: {name} has names, and they are counted"
            )
        with self._sorter() as sorter:
            nodes = self._add_words(source, sorter) if has_names else self._add(source, sorter)
            if not has_names:
                nodes = self._checked(nodes, name)
            self._tell(f"{self._edges:,} edges of {nodes:,} nodes read, encoding")
            arcs = self._write(self._base, sorter.rows(nodes))
        if options.has_transpose:
            self._tell(f"{arcs:,} arcs encoded, turning them around")
            self._write_transpose(nodes)
        return MadeGraph(
            base=str(self._base.name),
            lines=self._lines,
            edges=self._edges,
            nodes=nodes,
            arcs=arcs,
            has_names=has_names,
        )

    def _add(self, source: str, sorter: ArcSorter) -> int:
        """Sort the edges of a text of numbers; return how many nodes they ask for."""
        nodes = 0
        for pairs in number_pairs(source):
            sorter.add(pairs.sources, pairs.targets)
            self._count(pairs.lines, len(pairs.sources))
            nodes = pairs.nodes
        return nodes

    def _add_words(self, source: str, sorter: ArcSorter) -> int:
        """Sort the edges of a text of names, which are numbered in their order, and keep those."""
        path = self._base.with_name(f"{self._base.name}.urls")
        names = NameSorter(self._work, self._options.memory_bytes // 2)
        for pairs in word_pairs(source):
            names.add(keys_of([_text(word) for word in set(pairs.words)]))
            self._tell_lines(pairs.lines)
        writer = UrlMapWriter(path)
        for keys in names.merged():
            writer.add(keys)
        writer.close()
        known = UrlMap.open(path)
        self._tell(f"{len(known):,} names numbered")
        for pairs in word_pairs(source):
            words = list(set(pairs.words))
            nodes = known.nodes([_text(word) for word in words])
            numbers = nodes_by_word(pairs.words, dict(zip(words, nodes.tolist(), strict=True)))
            sorter.add(numbers[0::2], numbers[1::2])
            self._count(pairs.lines, len(numbers) // 2)
        return len(known)

    def _checked(self, nodes: int, name: str) -> int:
        """Return how many nodes the graph gets; refuse what was not meant."""
        wanted = self._options.nodes
        if wanted is not None and nodes > wanted:
            raise ConfigError(f"{name}: --nodes is {wanted}, but an edge has node {nodes - 1}")
        if wanted is None and nodes > max(SPARSE_FROM, SPARSE * self._edges):
            raise ConfigError(
                f"{name}: node numbers up to {nodes - 1:,}, but only {self._edges:,} edges: "
                "use --names if the numbers are names, or --nodes to allow so many nodes"
            )
        return wanted if wanted is not None else nodes

    def _write_transpose(self, nodes: int) -> None:
        with self._sorter() as sorter:
            for rows in BVGraph.open(self._base).blocks():
                sorter.add(rows.targets, rows.sources())
            self._write(self._base.with_name(f"{self._base.name}-t"), sorter.rows(nodes))

    def _write(self, base: Path, blocks: Iterable[Rows]) -> int:
        """Encode rows in order; return how many arcs they have."""
        writer = GraphWriter(base, self._options.coding)
        for rows in blocks:
            writer.add(rows)
        return writer.close().arcs

    def _sorter(self) -> ArcSorter:
        return ArcSorter(self._work, self._options.memory_bytes // 2)

    def _count(self, lines: int, edges: int) -> None:
        self._edges += edges
        self._tell_lines(lines)

    def _tell_lines(self, lines: int) -> None:
        if lines // _TELL_EVERY_LINES > self._lines // _TELL_EVERY_LINES:
            self._tell(f"{lines:,} lines read")
        self._lines = lines


def _text(word: bytes) -> str:
    """Return a name as text; bytes that are no UTF-8 come back as they were."""
    return word.decode("utf-8", "surrogateescape")
