"""How small is the graph, and how fast? `make bench-graph GRAPH=BASE`.

Encodes a web graph and its transpose with WebGraph's default parameters and with others, decodes
what was written, and asserts that all links are there again. GRAPH: BASE.graph and
BASE.properties (BASE-t beside it, or it is made); without it cnr-2000 beside this repository. Of
RUNS (7) runs the median is taken, on one core, files written and read included. Bits per link are
those of the .graph file, as published figures are; `starts` and `offsets` are told apart.
`successors_us` is the time of one random row within a kernel, `successors_python_us` that of one
call from Python, which returns an array.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from orders.graph import power_law
from realweb import REPOSITORY, save

from gossamer.graph.bv import SMALLEST, UNBOUNDED, BVGraph, Coding, GraphWriter, beside
from gossamer.graph.rows import Csr

PUBLISHED = REPOSITORY.parent / "shared" / "graphs" / "cnr-2000"
RUNS = int(os.environ.get("RUNS") or 7)
ASKED = 20_000
CODINGS = {
    "default": Coding(),
    "W7 looking ahead": Coding(is_optimal=True),
    "W16 looking ahead": Coding(window=16, is_optimal=True),
    "W32 R8 looking ahead": Coding(window=32, max_ref=8, is_optimal=True),
    "W32 R16 looking ahead": Coding(
        window=32, max_ref=16, min_interval=3, zeta_k=2, is_optimal=True
    ),
    "smallest": SMALLEST,
    "W7 any chain": Coding(max_ref=UNBOUNDED),
    "W64 any chain": Coding(window=64, max_ref=UNBOUNDED, min_interval=3, zeta_k=2),
}


def seconds(work: Callable[[], object], runs: int = RUNS) -> float:
    """Return the median CPU time of some runs, after one that loads what is compiled."""
    work()
    took = []
    for _ in range(runs):
        began = time.process_time()
        work()
        took.append(time.process_time() - began)
    return median(took)


def transposed(graph: Csr) -> Csr:
    """Return the graph with all links turned round."""
    sources = np.repeat(np.arange(graph.nodes, dtype=np.uint32), np.diff(graph.offsets))
    order = np.argsort(graph.targets, kind="stable")
    counts = np.bincount(graph.targets, minlength=graph.nodes)
    return Csr(np.concatenate(([0], np.cumsum(counts))).astype(np.int64), sources[order])


def graphs() -> tuple[str, Csr, Csr]:
    """Return the graph that was asked for, or the best one there is, and its transpose."""
    base = Path(os.environ.get("GRAPH") or PUBLISHED)
    if beside(base, ".properties").exists():
        graph = BVGraph.open(base).csr()
        other = base.with_name(base.name + "-t")
        has_other = beside(other, ".properties").exists()
        return base.name, graph, BVGraph.open(other).csr() if has_other else transposed(graph)
    made = power_law(200_000, 1024, seed=1)
    graph = Csr(made.offsets, made.targets.astype(np.uint32))
    return "made up", graph, transposed(graph)


def encoded(graph: Csr, base: Path, coding: Coding) -> None:
    """Write a graph."""
    writer = GraphWriter(base, coding)
    for rows in graph.blocks():
        writer.add(rows)
    writer.close()


def figures(graph: Csr, base: Path, coding: Coding, runs: int) -> dict[str, float]:
    """Return what a coding takes, having asserted that all links are there again."""
    encode_s = seconds(lambda: encoded(graph, base, coding), runs)
    found = BVGraph.open(base)
    again = found.csr()
    assert np.array_equal(again.offsets, graph.offsets)
    assert np.array_equal(again.targets, graph.targets)
    decode_s = seconds(found.csr, runs)
    nodes = np.random.default_rng(1).integers(0, graph.nodes, ASKED)
    offsets, targets = found.rows_of(nodes)
    kernel_s = seconds(lambda: found.rows_of(nodes), runs)
    one_by_one = nodes.tolist()
    python_s = seconds(lambda: [found.successors(node) for node in one_by_one], runs)
    assert all(
        np.array_equal(targets[offsets[i] : offsets[i + 1]], graph.successors(node))
        and np.array_equal(found.successors(node), graph.successors(node))
        for i, node in enumerate(one_by_one)
    )
    size = {
        name: beside(base, name).stat().st_size * 8 for name in (".graph", ".starts", ".offsets")
    }
    return {
        "bits": round(size[".graph"] / graph.arcs, 4),
        "starts_bits": round(size[".starts"] / graph.arcs, 4),
        "offsets_bits": round(size[".offsets"] / graph.arcs, 4),
        "encode_marcs_s": round(graph.arcs / encode_s / 1e6, 2),
        "decode_marcs_s": round(graph.arcs / decode_s / 1e6, 2),
        "successors_us": round(kernel_s / ASKED * 1e6, 3),
        "successors_python_us": round(python_s / ASKED * 1e6, 3),
    }


def main() -> None:
    """Measure each coding in both directions, print a line each, and keep the figures."""
    name, out, inn = graphs()
    print(f"{name}: {out.nodes:,} nodes, {out.arcs:,} links, median of {RUNS} runs")
    columns = ("bits", "starts", "offsets", "encode", "decode", "row us", "Python us")
    print(f"{'coding':24}{'':4}" + "".join(f"{column:>10}" for column in columns))
    codings: dict[str, dict[str, dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for title, coding in CODINGS.items():
            runs = RUNS if title == "default" else min(RUNS, 3)
            codings[title] = {}
            for way, graph in (("out", out), ("in", inn)):
                found = figures(graph, Path(folder) / "web", coding, runs)
                codings[title][way] = found
                line = "".join(f"{value:10.3f}" for value in found.values())
                print(f"{title:24}{way:4}{line}", flush=True)
    plain = codings["default"]["out"]
    result: dict[str, Any] = {
        "graph": name,
        "nodes": out.nodes,
        "arcs": out.arcs,
        "bits_out": plain["bits"],
        "bits_in": codings["default"]["in"]["bits"],
        "bits_smallest": codings["smallest"]["out"]["bits"],
        "bits_smallest_in": codings["smallest"]["in"]["bits"],
        **{key: value for key, value in plain.items() if key != "bits"},
        "codings": codings,
    }
    save("graph", result)


if __name__ == "__main__":
    sys.exit(main())
