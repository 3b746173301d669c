"""The graph as a whole: its size and coding, and its components."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gossamer.errors import CorruptFile
from gossamer.graph.answers import (
    Components,
    bow_tie,
    strong_components,
    weak_components,
)
from gossamer.graph.asking.opening import BACK, Opened
from gossamer.graph.build import Manifest, check_files
from gossamer.graph.bv import SUFFIXES, BVGraph, beside
from gossamer.graph.kinds import ALL, Kind
from gossamer.graph.rows import Adjacency

Facts = dict[str, object]
_LARGEST = 10


def info(graph: Opened) -> Facts:
    """Return what a graph is: numbers, bits per link, coding, degrees, sizes of files."""
    facts: Facts = {"nodes": graph.out.nodes, "arcs": graph.out.arcs, "base": str(graph.base)}
    facts["out"] = way = _direction(graph.base)
    facts["bits_per_link"] = way["bits_per_link"]
    back = graph.base.with_name(graph.base.name + BACK)
    if beside(back, ".properties").exists():
        facts["in"] = _direction(back)
    facts |= _degrees(graph.out)
    if graph.names is not None:
        size = graph.names_path.stat().st_size
        facts["names_bytes_per_node"] = size / max(len(graph.names), 1)
        facts["hosts"] = sum(map(bool, graph.hosts()[0]))
    if graph.crawl is None:
        return facts
    return facts | _of_crawl(graph.crawl.manifest, graph.base)


def check(graph: Opened) -> None:
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


def _direction(base: Path) -> Facts:
    coding = BVGraph.open(base).properties
    sizes = {
        suffix.lstrip("."): beside(base, suffix).stat().st_size
        for suffix in SUFFIXES
        if beside(base, suffix).exists()
    }
    arcs = max(coding.arcs, 1)
    bits = sizes.get("graph", 0) * 8
    found: Facts = {
        "bits_per_link": bits / arcs,
        "bits_per_link_with_offsets": (bits + sizes.get("offsets", 0) * 8) / arcs,
        "bits_per_link_with_starts": (bits + sizes.get("starts", 0) * 8) / arcs,
        "window": coding.window,
        "max_ref": coding.max_ref,
        "min_interval": coding.min_interval,
        "zeta": coding.zeta_k,
        "bytes": sizes,
    }
    return found


def _degrees(graph: Adjacency) -> Facts:
    """Return what degrees there are, and how many links of each kind, from one pass."""
    most, dangling, kinds = 0, 0, np.zeros(256, np.int64)
    for rows in graph.blocks():
        degrees = np.diff(rows.offsets)
        most = max(most, int(degrees.max(initial=0)))
        dangling += int((degrees == 0).sum())
        if rows.kinds is not None:
            kinds += np.bincount(rows.kinds, minlength=len(kinds))
    facts: Facts = {
        "degree_max": most,
        "degree_mean": graph.arcs / max(graph.nodes, 1),
        "dangling": dangling,
    }
    return facts | ({"kinds": _by_kind(kinds)} if kinds.any() else {})


def _by_kind(counts: NDArray[np.int64]) -> dict[str, int]:
    sets = np.arange(len(counts))
    found = {
        name.lower(): int(counts[sets & kind > 0].sum()) for name, kind in Kind.__members__.items()
    }
    return {name: count for name, count in found.items() if count}


def _of_crawl(manifest: Manifest, base: Path) -> Facts:
    archive = base.parent.parent / "archive"
    sizes = {path.name: path.stat().st_size for path in archive.glob("links-*.warc.gz")}
    covered = sum(min(manifest.covered.get(name, 0), size) for name, size in sizes.items())
    return {
        "pages": manifest.pages,
        "generation": manifest.generation,
        "redirects": manifest.redirects,
        "canonical": manifest.canonical,
        "delta_pages": manifest.delta_pages,
        "delta_arcs": manifest.delta_arcs,
        "archive_bytes": sum(sizes.values()),
        "archive_bytes_covered": covered,
    }


def components(graph: Opened, kinds: int = ALL) -> Facts:
    """Return how the graph hangs together: strongly, weakly, and as a bow tie."""
    tie = bow_tie(graph.out, kinds)
    parts = ("core", "into", "out_of", "tendrils", "apart")
    return {
        "nodes": graph.out.nodes,
        "strong": _sizes(strong_components(graph.out, kinds)),
        "weak": _sizes(weak_components(graph.out, kinds)),
        "bow_tie": {name: getattr(tie, name) for name in parts},
    }


def _sizes(found: Components) -> Facts:
    return {"count": len(found.sizes), "largest": found.sizes[:_LARGEST].tolist()}
