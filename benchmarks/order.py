"""Which order captures most PageRank, soonest? `make bench-order GRAPH=BASE`.

Replays orders over a web graph: BASE.graph and BASE.properties in WebGraph's format, or a file with
a link per line (two numbers or two URLs); without GRAPH cnr-2000 beside this repository if it is
there, else a graph that is made up. SETS times (5) SEEDS pages (10) with at least 5 links are
drawn; when nothing is left a crawl jumps to a page at random. A graph without URLs has a host per
HOST_IDS (1,024) ids. Printed: the share of all PageRank after 5, 10, 20 and 40 % of all pages, the
CPU per link of the whole replay, and the share of fetches lost in an endless trap behind a seed.

`ours` is the rule of `--order best`, `opic_crawl` that of `--order opic`, through 16 classes with
IN_FLIGHT (256) fetches under way. Exact queues: `opic` (credit at the seeds), `opic_lambda`
(adaptive, each page brings a unit), `backlinks`, and `oracle_frontier`, which knows the PageRank of
all pages that wait, but not what lies behind them. `oracle` may fetch what it likes.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from orders.classes import Best, Breadth, Opic, replay
from orders.exact import BACKLINKS, GIVEN, OPIC, OPIC_LAMBDA, replay_exact
from orders.graph import Graph, Scores, load, pagerank, power_law
from orders.partial import replay_partial
from orders.web import Walk
from realweb import REPOSITORY, save

Replay: TypeAlias = Callable[[Walk], tuple[NDArray[np.int64], int]]

PUBLISHED = REPOSITORY.parent / "shared" / "graphs" / "cnr-2000"
SETS = int(os.environ.get("SETS") or 5)
SEEDS = int(os.environ.get("SEEDS") or 10)
HOST_IDS = int(os.environ.get("HOST_IDS") or 1024)
IN_FLIGHT = int(os.environ.get("IN_FLIGHT") or 256)
FIRST_SET = int(os.environ.get("FIRST_SET") or 0)
"""Another number gives other seeds: those of 1000 and more were used to choose the rule."""
SEED_LINKS = 5
MADE_UP_NODES = 100_000
PERCENTS = (5, 10, 20, 40)
TRAP_PERCENT = 20
TRAPS = {"trap_20": 0, "cross_trap_20": 20}
"""Links of a trap page to known pages of the trap, by the figure's name."""


def chosen_graph() -> Graph:
    """Return the graph that was asked for, or the best one there is."""
    if asked := os.environ.get("GRAPH"):
        return load(Path(asked), HOST_IDS)
    if PUBLISHED.with_name(PUBLISHED.name + ".properties").exists():
        return load(PUBLISHED, HOST_IDS)
    return power_law(MADE_UP_NODES, HOST_IDS, seed=1)


def walks(graph: Graph) -> list[Walk]:
    """Return a walk per seed set, to the last point of interest."""
    eligible = np.flatnonzero(np.diff(graph.offsets) >= SEED_LINKS)
    assert len(eligible) >= SEEDS, f"only {len(eligible)} pages have {SEED_LINKS} links"
    fetches = graph.nodes * PERCENTS[-1] // 100
    found = []
    for number in range(FIRST_SET, FIRST_SET + SETS):
        draw = np.random.default_rng(number)
        seeds = draw.choice(eligible, SEEDS, replace=False)
        starts = np.concatenate([seeds, draw.permutation(graph.nodes)]).astype(np.int32)
        found.append(Walk(graph, starts, SEEDS, fetches))
    return found


def policies(rank: Scores) -> dict[str, Replay]:
    """Return the orders by name."""
    chance = np.random.default_rng(0).random(len(rank))
    return {
        "bfs": lambda walk: replay(walk, Breadth(), IN_FLIGHT),
        "random": lambda walk: replay_exact(walk, GIVEN, chance),
        "backlinks": lambda walk: replay_exact(walk, BACKLINKS),
        "opic": lambda walk: replay_exact(walk, OPIC),
        "opic_lambda": lambda walk: replay_exact(walk, OPIC_LAMBDA),
        "opic_crawl": lambda walk: replay(walk, Opic(walk), IN_FLIGHT),
        "partial_pagerank": replay_partial,
        "ours": lambda walk: replay(walk, Best(walk), IN_FLIGHT),
        "oracle_frontier": lambda walk: replay_exact(walk, GIVEN, rank),
        "oracle": lambda walk: (np.argsort(-rank)[: walk.fetches], 0),
    }


def captured(order: NDArray[np.int64], rank: Scores) -> list[float]:
    """Return the share of PageRank after each of the percentages."""
    assert len(np.unique(order)) == len(order), "a page was fetched twice"
    sums = np.cumsum(rank[order])
    return [float(sums[len(rank) * percent // 100 - 1]) for percent in PERCENTS]


def judged(run: Replay, graph: Graph, rank: Scores) -> dict[str, float]:
    """Return an order's figures: means over the seed sets."""
    run(walks(graph)[0]._replace(fetches=1))  # compiled code is loaded
    rows, links, cpu_s = [], 0, 0.0
    for walk in walks(graph):
        began = time.process_time()
        order, seen = run(walk)
        cpu_s += time.process_time() - began
        links += seen
        rows.append(captured(order, rank))
    means = np.mean(rows, axis=0)
    figures = {f"share_{p}": round(float(m), 4) for p, m in zip(PERCENTS, means, strict=True)}
    figures["sd_10"] = round(float(np.std(rows, axis=0)[1]), 4)
    return {**figures, "ns_per_link": round(1e9 * cpu_s / links, 1) if links else 0.0}


def trapped(run: Replay, graph: Graph, cross: int) -> float:
    """Return the share of fetches spent in a trap to which a seed links."""
    fetches = graph.nodes * TRAP_PERCENT // 100
    spent = []
    for walk in walks(graph):
        baited = graph.with_link(int(walk.starts[0]), graph.nodes)
        order, _ = run(walk._replace(graph=baited, fetches=fetches, cross=cross))
        spent.append(float(np.mean(order >= graph.nodes)))
    return round(float(np.mean(spent)), 4)


def main() -> None:
    """Replay every order, print a line each, and keep the figures."""
    graph = chosen_graph()
    rank = pagerank(graph)
    print(
        f"{graph.name}: {graph.nodes:,} pages, {graph.links:,} links, {SETS} sets of {SEEDS} seeds"
    )
    names = [*(f"{p} %" for p in PERCENTS), "sd 10 %", "ns/link", "trap", "cross"]
    print(f"{'order':18}" + "".join(f"{name:>9}" for name in names))
    result: dict[str, object] = {
        "graph": graph.name,
        "nodes": graph.nodes,
        "links": graph.links,
        "seeds": SEEDS,
        "sets": SETS,
        "in_flight": IN_FLIGHT,
    }
    for name, run in policies(rank).items():
        figures = judged(run, graph, rank)
        if name in {"bfs", "opic", "opic_lambda", "opic_crawl", "ours"}:
            figures |= {figure: trapped(run, graph, cross) for figure, cross in TRAPS.items()}
        result[name] = figures
        print(f"{name:18}" + "".join(f"{value:9.3f}" for value in figures.values()), flush=True)
    save("order", result)


if __name__ == "__main__":
    sys.exit(main())
