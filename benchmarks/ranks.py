"""What does it take to ask the graph as a whole? `make bench-ranks GRAPH=BASE`.

PageRank in memory, from the compressed stream, and by scipy's power iteration, interleaved, medians
of RUNS (5), on one core; sweeps until the error is surely below 1e-9 and 1e-11 (L1), and how far
the results are apart. Then components, the bow tie, HITS, harmonic centrality (its error against
exact values of NEAR (100) nodes), similar pages, the file of ranks. Last, what ranks are good for:
the share of all PageRank after 5 to 40 % of all pages when a crawl by `--order best` has the ranks
of an earlier one that ended after KNOWN (20) %, or of the whole graph: means of SETS (5) of seeds.
GRAPH is BASE.graph with BASE-t.graph; without it cnr-2000 beside this repository.
"""

import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from statistics import median

import numpy as np
import scipy.sparse
from order import captured, walks
from orders.classes import Best, replay
from orders.graph import Graph, blocks
from orders.informed import Informed, ranks_after
from realweb import REPOSITORY, save
from scipy.sparse import csgraph

from gossamer.graph.answers import (
    Likeness,
    RankPlan,
    bow_tie,
    harmonic,
    hits,
    pagerank,
    strong_components,
    weak_components,
)
from gossamer.graph.bv import BVGraph
from gossamer.graph.rows import Csr
from gossamer.ranks import RankFile, write_ranks

PUBLISHED = REPOSITORY.parent / "shared" / "graphs" / "cnr-2000"
BASE = Path(os.environ.get("GRAPH") or PUBLISHED)
RUNS = int(os.environ.get("RUNS") or 5)
NEAR = int(os.environ.get("NEAR") or 100)
KNOWN = int(os.environ.get("KNOWN") or 20)
HOST_IDS, IN_FLIGHT, LOOK_UPS, LIKE = 1024, 256, 100_000, 200
DAMPING = 0.85
Figures = dict[str, object]


def cpu_s(work: Callable[[], object]) -> float:
    """Return the CPU time of some work."""
    began = time.process_time()
    work()
    return time.process_time() - began


def by_scipy(inward: Csr, degrees: np.ndarray, error: float) -> tuple[np.ndarray, int]:
    """Return PageRank by power iteration, and how many it took."""
    nodes = inward.nodes
    ones = np.ones(inward.arcs)
    matrix = scipy.sparse.csr_matrix((ones, inward.targets, inward.offsets), shape=(nodes, nodes))
    share = np.divide(1.0, degrees, out=np.zeros(nodes), where=degrees > 0)
    is_dangling = degrees == 0
    rank, count, change = np.full(nodes, 1.0 / nodes), 0, 1.0
    while change * DAMPING / (1.0 - DAMPING) >= error:
        free = DAMPING * float(rank[is_dangling].sum()) + 1.0 - DAMPING
        new = DAMPING * (matrix @ (rank * share)) + free / nodes
        change, rank, count = float(np.abs(new - rank).sum()), new, count + 1
    return rank, count


def ranked(stream: BVGraph, out: Csr) -> Figures:
    """Return what PageRank costs in each way."""
    inward, degrees = stream.csr(), np.diff(out.offsets)
    found, streamed = pagerank(inward), pagerank(stream, RankPlan(memory_bytes=0))
    theirs, iterations = by_scipy(inward, degrees, 1e-12)
    _, to_e9 = by_scipy(inward, degrees, 1e-9)
    assert found.is_converged
    assert np.array_equal(found.scores, streamed.scores), "the ways differ"
    apart = float(np.abs(found.scores - theirs).sum())
    assert apart < 1e-9, f"{apart} from scipy's ranks"
    costs: dict[str, list[float]] = {"csr": [], "stream": [], "scipy": []}
    for _ in range(RUNS):
        costs["csr"].append(cpu_s(lambda: pagerank(inward)) / found.sweeps)
        costs["stream"].append(
            cpu_s(lambda: pagerank(stream, RankPlan(memory_bytes=0))) / found.sweeps
        )
        costs["scipy"].append(cpu_s(lambda: by_scipy(inward, degrees, 1e-12)) / iterations)
    return {
        "l1_from_scipy": apart,
        "sweeps_1e-9": pagerank(inward, RankPlan(error=1e-9)).sweeps,
        "sweeps_1e-11": found.sweeps,
        "scipy_iterations_1e-9": to_e9,
        **{f"{name}_ms_per_sweep": round(1e3 * median(took), 2) for name, took in costs.items()},
        "csr_s": round(median(costs["csr"]) * found.sweeps, 3),
        "stream_s": round(median(costs["stream"]) * found.sweeps, 3),
    }


def shaped(inward: BVGraph, out: Csr) -> Figures:
    """Return what the other answers about a whole graph cost."""
    matrix = scipy.sparse.csr_matrix(
        (np.ones(out.arcs), out.targets, out.offsets), shape=(out.nodes, out.nodes)
    )
    strong, tie = strong_components(out), bow_tie(out)
    count, _ = csgraph.connected_components(matrix, connection="strong")
    assert count == len(strong.sizes)
    weak_components(out)
    hits(out)
    near = harmonic(inward)
    chosen = Random(1).sample(range(out.nodes), NEAR)
    exact = np.array([nearness(matrix.T, node) for node in chosen])
    off = np.abs(near.scores[chosen] - exact)[exact > 0] / exact[exact > 0]
    return {
        "components": count,
        "components_s": round(cpu_s(lambda: strong_components(out)), 4),
        "scipy_components_s": round(
            cpu_s(lambda: csgraph.connected_components(matrix, connection="strong")), 4
        ),
        "weak_s": round(cpu_s(lambda: weak_components(out)), 4),
        "core": tie.core,
        "into": tie.into,
        "out_of": tie.out_of,
        "hits_s": round(cpu_s(lambda: hits(out)), 3),
        "harmonic_s": round(cpu_s(lambda: harmonic(inward)), 3),
        "harmonic_rounds": near.rounds,
        "harmonic_error": round(float(np.sqrt(np.mean(off**2))), 4),
        "harmonic_error_told": round(near.error, 4),
    }


def nearness(inward: scipy.sparse.csc_matrix, node: int) -> float:
    """Return the exact harmonic centrality of a node, as scipy finds it."""
    hops = csgraph.dijkstra(inward, indices=node, unweighted=True)
    return float((1.0 / hops[(hops > 0) & np.isfinite(hops)]).sum())


def looked_up(out: BVGraph, inward: BVGraph) -> Figures:
    """Return what single questions cost: pages like a page, and the rank of a URL."""
    like, random = Likeness(out, inward), Random(2)
    nodes = [random.randrange(out.nodes) for _ in range(LIKE)]
    like.cocited(nodes[0], random)
    took = [cpu_s(partial(like.cocited, node, random)) for node in nodes]
    keys = np.random.default_rng(1).integers(0, 2**63, out.nodes).astype(np.uint64)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ranks"
        count = write_ranks(path, keys, np.ones(len(keys)))
        size = path.stat().st_size
        file = RankFile.open(path)
        asked = keys[:LOOK_UPS].tolist()
        one_s = cpu_s(lambda: [file.of(key) for key in asked]) / len(asked)
        batches = [asked[start : start + 64] for start in range(0, len(asked), 64)]
        many_s = cpu_s(lambda: [file.of_all(batch) for batch in batches]) / len(asked)
    return {
        "like_ms": round(1e3 * median(took), 3),
        "like_worst_ms": round(1e3 * max(took), 2),
        "rank_file_bytes_per_url": round(size / count, 3),
        "rank_look_up_us": round(1e6 * one_s, 2),
        "rank_look_up_in_64s_us": round(1e6 * many_s, 2),
    }


def crawled(out: Csr, rank: np.ndarray) -> Figures:
    """Return what a crawl captures of all PageRank when it has ranks."""
    hosts = blocks(out.nodes, HOST_IDS)
    graph = Graph(BASE.name, out.offsets, out.targets.astype(np.int32), hosts)
    rows: dict[str, list[list[float]]] = {"none": [], "partial": [], "whole": []}
    for walk in walks(graph):
        plain, _ = replay(walk, Best(walk), IN_FLIGHT)
        rows["none"].append(captured(plain, rank))
        partial = ranks_after(graph, plain[: graph.nodes * KNOWN // 100])
        for name, ranks in (("partial", partial), ("whole", rank * graph.nodes)):
            rule = Best(walk)
            order, _ = replay(walk, Informed(rule, rule.credit, ranks), IN_FLIGHT)
            rows[name].append(captured(order, rank))
    return {
        name: {
            f"share_{p}": round(float(m), 4) for p, m in zip((5, 10, 20, 40), means, strict=True)
        }
        for name, means in ((name, np.mean(found, axis=0)) for name, found in rows.items())
    }


def main() -> None:
    """Ask everything, print a line each, and keep the figures."""
    assert BASE.with_name(f"{BASE.name}-t.properties").exists(), f"no {BASE}.graph and -t.graph"
    compressed, inward = BVGraph.open(BASE), BVGraph.open(BASE.with_name(f"{BASE.name}-t"))
    out = compressed.csr()
    figures: Figures = {"graph": BASE.name, "nodes": out.nodes, "arcs": out.arcs}
    figures |= ranked(inward, out)
    figures |= shaped(inward, out)
    figures |= looked_up(compressed, inward)
    figures["with_ranks"] = crawled(out, pagerank(inward).scores)
    for name, value in figures.items():
        print(f"{name:28}{value}")
    save("ranks", figures)


if __name__ == "__main__":
    main()
