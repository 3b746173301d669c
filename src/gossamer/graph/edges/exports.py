"""A graph for other programs: SciPy, NumPy, NetworkX, GraphML, JSON, lines of names."""

import json
from collections.abc import Callable, Iterator, Mapping
from html import escape
from pathlib import Path
from types import ModuleType
from typing import IO, Any
from zipfile import ZipFile

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from gossamer.errors import ConfigError
from gossamer.graph.edges.writing import name_lines, number_lines
from gossamer.graph.kinds import kind_names
from gossamer.graph.names import UrlMap
from gossamer.graph.rows import Adjacency, Csr, Rows
from gossamer.log import escape as without_controls

MOST_SMALL_ARCS = 1_000_000
"""Formats that hold a node or an edge in hundreds of bytes are for graphs of at most so many."""
_INT32 = np.iinfo(np.int32).max


def to_scipy(graph: Adjacency) -> Any:  # noqa: ANN401 - SciPy has no types
    """Return a graph as `scipy.sparse.csr_array`: row i has ones where node i links to."""
    sparse = _library("scipy.sparse")
    whole = Csr.of(graph)
    index = _index_type(graph)
    ones = np.ones(whole.arcs, np.int32)
    parts = (ones, whole.targets.astype(index), whole.offsets.astype(index))
    return sparse.csr_array(parts, shape=(graph.nodes, graph.nodes))


def to_networkx(graph: Adjacency, names: UrlMap | None = None) -> Any:  # noqa: ANN401 - see above
    """Return a graph as `networkx.DiGraph`; nodes are numbers, or names where there are names."""
    networkx = _library("networkx")
    _small(graph, "networkx")
    made = networkx.DiGraph()
    called = names.urls(np.arange(graph.nodes)) if names is not None else range(graph.nodes)
    made.add_nodes_from(called)
    for rows in graph.blocks():
        pairs = zip(rows.sources().tolist(), rows.targets.tolist(), strict=True)
        made.add_edges_from((called[a], called[b]) for a, b in pairs)
    return made


def export(graph: Adjacency, names: UrlMap | None, how: str, path: Path) -> None:
    """Write a graph to a file in one of the `FORMATS`."""
    if how not in FORMATS:
        raise ConfigError(f"--to: expected one of {', '.join(FORMATS)}, found {how!r}")
    FORMATS[how](graph, names, path)


def _to_npz(graph: Adjacency, _names: UrlMap | None, path: Path) -> None:
    """Write what `scipy.sparse.load_npz` reads, block by block."""
    index = _index_type(graph)
    with ZipFile(path, "w") as bundle:
        _put(bundle, "format", np.array(b"csr"))
        _put(bundle, "shape", np.array([graph.nodes, graph.nodes], np.int64))
        offsets = np.zeros(graph.nodes + 1, np.int64)
        with _member(bundle, "indices", index, graph.arcs) as member:
            for rows in _with_degrees(graph, offsets):
                member.write(rows.targets.astype(index).tobytes())
        _put(bundle, "indptr", np.cumsum(offsets).astype(index))
        with _member(bundle, "data", np.dtype(np.int32), graph.arcs) as member:
            ones = np.ones(1 << 18, np.int32)
            for start in range(0, graph.arcs, len(ones)):
                member.write(ones[: graph.arcs - start].tobytes())


def _to_numpy(graph: Adjacency, _names: UrlMap | None, path: Path) -> None:
    """Write `offsets` and `targets`: row i is targets[offsets[i]:offsets[i + 1]]."""
    with ZipFile(path, "w") as bundle:
        offsets = np.zeros(graph.nodes + 1, np.int64)
        with _member(bundle, "targets", np.dtype(np.uint32), graph.arcs) as member:
            for rows in _with_degrees(graph, offsets):
                member.write(rows.targets.tobytes())
        _put(bundle, "offsets", np.cumsum(offsets))


def _to_graphml(graph: Adjacency, names: UrlMap | None, path: Path) -> None:
    _small(graph, "graphml")
    with path.open("w", encoding="utf-8") as file:
        file.writelines(_graphml(graph, names))


def _graphml(graph: Adjacency, names: UrlMap | None) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    yield '<key id="url" for="node" attr.name="url" attr.type="string"/>\n'
    yield '<key id="kinds" for="edge" attr.name="kinds" attr.type="string"/>\n'
    yield '<graph edgedefault="directed">\n'
    for node, name in _named_nodes(graph, names):
        url = f'<data key="url">{escape(without_controls(name))}</data>' if name else ""
        yield f'<node id="{node}">{url}</node>\n'
    for source, target, kinds in _edges(graph):
        told = f'<data key="kinds">{" ".join(kind_names(kinds))}</data>' if kinds else ""
        yield f'<edge source="{source}" target="{target}">{told}</edge>\n'
    yield "</graph>\n</graphml>\n"


def _to_json(graph: Adjacency, names: UrlMap | None, path: Path) -> None:
    """Write NetworkX's node-link form (`networkx.node_link_graph(data, edges="edges")`)."""
    _small(graph, "json")
    nodes = [
        {"id": node} | ({"url": name} if name else {}) for node, name in _named_nodes(graph, names)
    ]
    edges = [
        {"source": source, "target": target} | ({"kinds": kind_names(kinds)} if kinds else {})
        for source, target, kinds in _edges(graph)
    ]
    data = {"directed": True, "multigraph": False, "graph": {}, "nodes": nodes, "edges": edges}
    path.write_text(json.dumps(data), encoding="utf-8")


def _to_edges(graph: Adjacency, names: UrlMap | None, path: Path) -> None:
    with path.open("wb") as file:
        file.writelines(name_lines(graph, names) if names else number_lines(graph))


def _to_urls(graph: Adjacency, names: UrlMap | None, path: Path) -> None:
    """Write the name of node n in line n + 1."""
    if names is None:
        raise ConfigError("--to urls: this graph has no names, only numbers")
    with path.open("wb") as file:
        for _, name in _named_nodes(graph, names):
            file.write(name.encode("utf-8", "surrogateescape") + b"\n")


FORMATS: Mapping[str, Callable[[Adjacency, UrlMap | None, Path], None]] = {
    "npz": _to_npz,
    "numpy": _to_numpy,
    "graphml": _to_graphml,
    "json": _to_json,
    "edges": _to_edges,
    "urls": _to_urls,
}
"""SciPy's CSR, plain arrays, two that NetworkX reads, and two that everything reads."""


def _library(name: str) -> ModuleType:
    from importlib import import_module  # noqa: PLC0415 - optional libraries are loaded by name

    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ConfigError(f"{package} is not installed: pip install {package}") from error


def _small(graph: Adjacency, how: str) -> None:
    if graph.arcs > MOST_SMALL_ARCS or graph.nodes > MOST_SMALL_ARCS:
        raise ConfigError(
            f"--to {how} is limited to {MOST_SMALL_ARCS:,} nodes and arcs, and this graph has "
            f"{graph.nodes:,} nodes and {graph.arcs:,} arcs: use npz or numpy"
        )


def _index_type(graph: Adjacency) -> np.dtype[Any]:
    """Return the type that SciPy itself would take."""
    return np.dtype(np.int32 if max(graph.nodes, graph.arcs) <= _INT32 else np.int64)


def _with_degrees(graph: Adjacency, degrees: NDArray[np.int64]) -> Iterator[Rows]:
    """Yield all rows, and note the degree of node n at n + 1."""
    for rows in graph.blocks():
        degrees[rows.first + 1 : rows.first + rows.nodes + 1] = np.diff(rows.offsets)
        yield rows


def _put(bundle: ZipFile, name: str, array: NDArray[Any]) -> None:
    with bundle.open(f"{name}.npy", "w", force_zip64=True) as member:
        npy.write_array(member, array, allow_pickle=False)


def _member(bundle: ZipFile, name: str, kind: np.dtype[Any], length: int) -> IO[bytes]:
    """Return an array's file within a bundle, its header written, for whoever adds the rest."""
    member = bundle.open(f"{name}.npy", "w", force_zip64=True)
    described = npy.dtype_to_descr(kind)
    about = {"descr": described, "fortran_order": False, "shape": (length,)}
    npy.write_array_header_1_0(member, about)
    return member


def _named_nodes(graph: Adjacency, names: UrlMap | None) -> Iterator[tuple[int, str]]:
    for start in range(0, graph.nodes, 1 << 16):
        nodes = np.arange(start, min(start + (1 << 16), graph.nodes))
        called = names.urls(nodes) if names is not None else [""] * len(nodes)
        yield from zip(nodes.tolist(), called, strict=True)


def _edges(graph: Adjacency) -> Iterator[tuple[int, int, int]]:
    for rows in graph.blocks():
        kinds = rows.kinds if rows.kinds is not None else np.zeros(len(rows.targets), np.uint8)
        columns = (rows.sources().tolist(), rows.targets.tolist(), kinds.tolist())
        yield from zip(*columns, strict=True)
