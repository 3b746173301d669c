"""How much of the real web's importance a crawl of a part captures, by order: `make bench-capture`.

The whole local real web is crawled once (or FULL names a folder in which that was done); PageRank
of its pages is computed from the links archive. Then each order crawls PAGES of them from the hub
with one shard, really: sockets, host queues, leases, commits. The figure is the share of all
PageRank that its pages have, after 1, 2, 5, 10 and 20 % of the web. ORDERS names the orders.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from orders.graph import domains, from_edges, pagerank
from realweb import FLAGS, SEED, bring_up, save

from gossamer.store import CrawlFolder, iter_links

ORDERS = os.environ.get("ORDERS", "bfs best opic dfs").split()
PARTS = (1, 2, 5, 10, 20)
FULL = os.environ.get("FULL", "")
GOSSAMER = str(Path(sys.executable).parent / "gossamer")
FOLLOWED = frozenset({"a", "area", "frame", "redirect", "canonical"})

Ranks = dict[str, float]


def crawl(folder: Path, *words: str) -> None:
    """Crawl the real web into a folder."""
    command = [GOSSAMER, "crawl", SEED, "--into", str(folder), *FLAGS, "--json", *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    print(json.loads(done.stdout.splitlines()[-1])["pages"], "pages", *words)


def ranks_of(folder: Path) -> Ranks:
    """Return the PageRank of every page that a complete crawl has stored; their sum is 1."""
    pages: dict[str, int] = {}
    ends: list[tuple[str, str]] = []
    for _, record in iter_links(CrawlFolder(folder)):
        if record.outcome in {"fetched", "redirected"}:
            pages.setdefault(record.url, len(pages))
            targets = {row[0] for row in record.links if row[1] in FOLLOWED}
            ends += [(record.url, target) for target in targets]
    known = [(pages[one], pages[two]) for one, two in ends if two in pages]
    names = list(pages)
    graph = from_edges("realweb", np.array(known, np.int64).T, domains(names))
    assert graph.nodes <= len(names)
    rank = pagerank(graph)
    return dict(zip(names, rank.tolist(), strict=False))


def captured(folder: Path, ranks: Ranks) -> dict[str, float]:
    """Return the share of all PageRank that the first pages of a crawl have."""
    turns = [
        (record.at, record.url)
        for _, record in iter_links(CrawlFolder(folder))
        if record.outcome in {"fetched", "redirected"}
    ]
    worth: NDArray[np.float64] = np.array([ranks.get(url, 0.0) for _, url in sorted(turns)])
    sums = np.cumsum(worth)
    return {
        f"share_{part}": round(float(sums[min(len(sums), len(ranks) * part // 100) - 1]), 4)
        for part in PARTS
    }


def main() -> None:
    """Measure each order, print a table, keep the result."""
    bring_up()
    base = Path(tempfile.mkdtemp(prefix="gossamer-bench-"))
    result: dict[str, object] = {"python": platform.python_version()}
    try:
        if not FULL:
            crawl(base / "full")
        ranks = ranks_of(Path(FULL) if FULL else base / "full")
        result["pages"] = len(ranks)
        pages = len(ranks) * PARTS[-1] // 100
        best = np.cumsum(sorted(ranks.values(), reverse=True))
        ideal = {f"share_{part}": round(float(best[len(best) * part // 100]), 4) for part in PARTS}
        for order in ORDERS:
            words = ("--shards", "1", "--max-pages", str(pages), "--order", order)
            crawl(base / order, *words)
            result[order] = captured(base / order, ranks)
            print(order, result[order])
            shutil.rmtree(base / order)
        result["oracle"] = ideal
    finally:
        shutil.rmtree(base, ignore_errors=True)
    save("capture", result)


if __name__ == "__main__":
    main()
