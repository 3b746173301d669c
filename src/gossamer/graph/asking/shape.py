"""The graph as a whole: its size and coding, and its components."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from gossamer.errors import CorruptFile
from gossamer.graph.answers import (
    Components,
    bow_tie,
    strong_components,
    weak_components,
)
from gossamer.graph.asking.opening import BACK, OpenedGraph
from gossamer.graph.build import GraphManifest, check_files
from gossamer.graph.bv import SUFFIXES, BVGraph, beside
from gossamer.graph.kinds import ALL, Kind
from gossamer.graph.rows import Adjacency

_LARGEST = 10


class CodingFacts(Struct, frozen=True, kw_only=True):
    """How the links of one direction are compressed."""

    bits_per_link: float
    bits_per_link_with_offsets: float
    bits_per_link_with_starts: float
    window: int
    max_ref: int
    min_interval: int
    zeta: int
    bytes: dict[str, int]
    """Sizes of the files, by suffix."""


class GraphInfo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Size, coding and degrees of a graph. As JSON, fields that are None are absent."""

    nodes: int
    arcs: int
    base: str
    """The common part of the names of its files."""
    out: CodingFacts
    bits_per_link: float
    incoming: CodingFacts | None = field(name="in", default=None)
    degree_max: int
    degree_mean: float
    dangling: int
    """Nodes without links."""
    kinds: dict[str, int] | None = None
    """Links of each kind."""
    names_bytes_per_node: float | None = None
    hosts: int | None = None
    pages: int | None = None
    """Of a crawl: nodes that are pages whose links are known. So are all fields below."""
    generation: int | None = None
    redirects: str | None = None
    canonical: str | None = None
    delta_pages: int | None = None
    delta_arcs: int | None = None
    archive_bytes: int | None = None
    """Of the links archive."""
    archive_bytes_covered: int | None = None
    """As much of it is in the graph."""
    checked: bool | None = None
    """All files were read and found whole."""


class ComponentSizes(Struct, frozen=True, kw_only=True):
    """How many components there are, and the sizes of the largest."""

    count: int
    largest: list[int]


class BowTieSizes(Struct, frozen=True, kw_only=True):
    """Nodes by their place in the bow tie (Broder et al. 2000)."""

    core: int
    """In the largest strongly connected component."""
    into: int
    """Leading to the core."""
    out_of: int
    """Reached from the core."""
    tendrils: int
    """Connected with the core, but neither leading there nor reached from it."""
    apart: int


class GraphComponents(Struct, frozen=True, kw_only=True):
    """Strongly and weakly connected components, and the bow tie."""

    nodes: int
    strong: ComponentSizes
    weak: ComponentSizes
    bow_tie: BowTieSizes


def info(graph: OpenedGraph, *, is_checked: bool = False) -> GraphInfo:
    """Return what a graph is: numbers, bits per link, coding, degrees, sizes of files.

    `is_checked`: all of it is read before; a `CorruptFile` says what is damaged.
    """
    if is_checked:
        check(graph)
    out, back = _direction(graph.base), graph.base.with_name(graph.base.name + BACK)
    degrees = _degrees(graph.out)
    found = GraphInfo(
        nodes=graph.out.nodes,
        arcs=graph.out.arcs,
        base=str(graph.base),
        out=out,
        bits_per_link=out.bits_per_link,
        incoming=_direction(back) if beside(back, ".properties").exists() else None,
        degree_max=degrees.most,
        degree_mean=graph.out.arcs / max(graph.out.nodes, 1),
        dangling=degrees.dangling,
        kinds=degrees.kinds or None,
        checked=is_checked or None,
    )
    if graph.names is not None:
        size = graph.names_path.stat().st_size
        found = replace(
            found,
            names_bytes_per_node=size / max(len(graph.names), 1),
            hosts=sum(map(bool, graph.hosts()[0])),
        )
    return found if graph.crawl is None else _of_crawl(found, graph.crawl.manifest, graph.base)


def check(graph: OpenedGraph) -> None:
    """Read a graph whole, in both directions; raise `CorruptFile` if it is not what it should be.

    That of a crawl has seals: no turned bit is overlooked. Others must have the links they claim.
    """
    if graph.crawl is not None:
        check_files(graph.base.parent, graph.crawl.manifest, None)
    back = graph.base.with_name(graph.base.name + BACK)
    has_back = beside(back, ".properties").exists()
    for one in (graph.out, graph.inward) if has_back else (graph.out,):
        arcs = sum(len(rows.targets) for rows in one.blocks())
        if arcs != graph.out.arcs:
            path = beside(graph.base if one is graph.out else back, ".graph")
            raise CorruptFile(path, 0, f"expected {graph.out.arcs} links, found {arcs}")


def _direction(base: Path) -> CodingFacts:
    coding = BVGraph.open(base).properties
    sizes = {
        suffix.lstrip("."): beside(base, suffix).stat().st_size
        for suffix in SUFFIXES
        if beside(base, suffix).exists()
    }
    arcs = max(coding.arcs, 1)
    bits = sizes.get("graph", 0) * 8
    return CodingFacts(
        bits_per_link=bits / arcs,
        bits_per_link_with_offsets=(bits + sizes.get("offsets", 0) * 8) / arcs,
        bits_per_link_with_starts=(bits + sizes.get("starts", 0) * 8) / arcs,
        window=coding.window,
        max_ref=coding.max_ref,
        min_interval=coding.min_interval,
        zeta=coding.zeta_k,
        bytes=sizes,
    )


class _Degrees(NamedTuple):
    most: int
    dangling: int
    kinds: dict[str, int]


def _degrees(graph: Adjacency) -> _Degrees:
    """Return what degrees there are, and how many links of each kind, from one pass."""
    most, dangling, kinds = 0, 0, np.zeros(256, np.int64)
    for rows in graph.blocks():
        degrees = np.diff(rows.offsets)
        most = max(most, int(degrees.max(initial=0)))
        dangling += int((degrees == 0).sum())
        if rows.kinds is not None:
            kinds += np.bincount(rows.kinds, minlength=len(kinds))
    return _Degrees(most, dangling, _by_kind(kinds))


def _by_kind(counts: NDArray[np.int64]) -> dict[str, int]:
    sets = np.arange(len(counts))
    found = {
        name.lower(): int(counts[sets & kind > 0].sum()) for name, kind in Kind.__members__.items()
    }
    return {name: count for name, count in found.items() if count}


def _of_crawl(found: GraphInfo, manifest: GraphManifest, base: Path) -> GraphInfo:
    archive = base.parent.parent / "archive"
    sizes = {path.name: path.stat().st_size for path in archive.glob("links-*.warc.gz")}
    covered = sum(min(manifest.covered.get(name, 0), size) for name, size in sizes.items())
    return replace(
        found,
        pages=manifest.pages,
        generation=manifest.generation,
        redirects=manifest.redirects,
        canonical=manifest.canonical,
        delta_pages=manifest.delta_pages,
        delta_arcs=manifest.delta_arcs,
        archive_bytes=sum(sizes.values()),
        archive_bytes_covered=covered,
    )


def components(graph: OpenedGraph, kinds: int = ALL) -> GraphComponents:
    """Return the components of a graph: strongly and weakly connected, and the bow tie."""
    tie = bow_tie(graph.out, kinds)
    return GraphComponents(
        nodes=graph.out.nodes,
        strong=_sizes(strong_components(graph.out, kinds)),
        weak=_sizes(weak_components(graph.out, kinds)),
        bow_tie=BowTieSizes(
            core=tie.core,
            into=tie.into,
            out_of=tie.out_of,
            tendrils=tie.tendrils,
            apart=tie.apart,
        ),
    )


def _sizes(found: Components) -> ComponentSizes:
    return ComponentSizes(count=len(found.sizes), largest=found.sizes[:_LARGEST].tolist())
