"""Do the graphs of shards say what one graph would? `make bench-graph-shards`.

Three machines (process groups on loopback) crawl PAGES (6,000) pages of the real web with SHARDS
(6) shards into a store of files. Its graph is built shard by shard, each by a process of its own
whose memory is that of a shard, and once as one graph of everything from a restored folder. Links
of SAMPLE (1,000) URLs in both directions, and the PageRank of all URLs, are compared. Then three
processes build and rank a copy at once, and KILLS (10) of those that build, and as many of those
that rank, are killed at random moments; what the last one leaves is compared again.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from fleet_costs import GOSSAMER
from fleet_run import LONG_S, SHARDS, Machine, brought_up, members, said
from realweb import FLAGS, SEED, bring_up, save

import gossamer

PAGES = int(os.environ.get("PAGES", "6000"))
SAMPLE = int(os.environ.get("SAMPLE", "1000"))
KILLS = int(os.environ.get("KILLS", "10"))
STORE = os.environ.get("STORE", "")
"""The folder of a store that was crawled before, if not empty: nothing is crawled then."""
MACHINES = 3
LONGEST_S = 8.0
"""A kill comes no later than so long after the start of those that it may meet."""
ALONE = """
import json, resource, sys
from gossamer.cli.main import exit_code
code = exit_code(sys.argv[1:])
use = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"peak_mb": use.ru_maxrss / 1024, "cpu_s": use.ru_utime + use.ru_stime}))
sys.exit(code)
"""
"""Run in a process of its own: a child's memory would be that of the largest of all children."""


def main() -> None:
    """Crawl, build both, compare, kill, compare, and keep the result."""
    if not STORE:
        bring_up()
    with tempfile.TemporaryDirectory(prefix="graph-shards-") as folder:
        place = Path(folder)
        os.environ["GOSSAMER_CACHE"] = str(place / "cache")
        if STORE:
            shutil.copytree(STORE, place / "store")
        else:
            crawl(place, pages=PAGES, shards=SHARDS)
        url, one = f"file://{place / 'store'}", place / "one"
        said("restore", url, "--into", str(one))
        empty = run(["--version"])
        whole = [run(words) for words in (["build", str(one), "graph"], ["rank", str(one)])]
        builds = [run(["build", url, "graph", "--shard", str(n)]) for n in range(SHARDS)]
        ranked = run(["rank", url])
        result = compare(url, one)
        facts = result.pop("facts")
        result |= {
            "shards": SHARDS,
            "one_peak_mb": round(max(r["peak_mb"] for r in whole)),
            "empty_peak_mb": round(empty["peak_mb"]),
            "shard_peak_mb": round(max(r["peak_mb"] for r in builds)),
            "rank_peak_mb": round(ranked["peak_mb"]),
            "one_cpu_s": [round(r["cpu_s"], 1) for r in whole],
            "shards_cpu_s": [round(sum(r["cpu_s"] for r in builds), 1), round(ranked["cpu_s"], 1)],
            "start_cpu_s": round(empty["cpu_s"], 2),
            "node_share": round(sum(one.all_nodes for one in facts) / result["nodes"], 3),
            "largest_nodes": max(one.all_nodes for one in facts),
            "sent_bytes": size(place / "store", "anchors"),
            "parts_bytes": size(place / "store", "graph"),
            "links_bytes": sum(p.stat().st_size for p in (one / "archive").glob("links-*")),
        }
        result |= after_kills(place, one)
    save("graph-shards", result)


def crawl(place: Path, *, pages: int, shards: int) -> None:
    """Crawl with three machines."""
    (place / "store").mkdir()
    machines: list[Machine] = brought_up(place)
    try:
        command = [*GOSSAMER, "crawl", SEED, *FLAGS, "--cluster", "auto", "--json"]
        command += ["--store", f"file://{place / 'store'}", "--into", str(place / "coordinator")]
        command += ["--shards", str(shards), "--max-pages", str(pages)]
        variables = {**os.environ, "GOSSAMER_CLUSTER": str(machines[0].home)}
        subprocess.run(
            command, check=True, env=variables, timeout=LONG_S, stdout=subprocess.DEVNULL
        )
    finally:
        for machine in machines:
            for pid in members(machine.pid):
                os.kill(pid, 9)


def run(words: list[str]) -> dict[str, float]:
    """Run a command in a process of its own; return its memory and CPU."""
    command = [sys.executable, "-c", ALONE, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG_S, check=False)
    if done.returncode:
        sys.exit(f"{words}: {done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(url: str, one: Path) -> dict[str, Any]:
    """Return what the graphs of shards say differently from one graph."""
    graph, parts = gossamer.open_graph(one), gossamer.StoredLinkGraph.find(url)
    assert parts is not None
    expected = graph.rank(top=0, not_fetched=True)
    found = parts.rank(top=0, not_fetched=True)
    ranks = {page.url: page.rank for page in expected.pages}
    of_parts = {page.url: page.rank for page in found.pages}
    assert of_parts.keys() == ranks.keys()
    urls = random.Random(23).sample(sorted(ranks), min(SAMPLE, len(ranks)))
    rows = [(graph.links(url), parts.links(url)) for url in urls]
    return {
        "facts": parts.parts(),
        "pages": parts.pages,
        "nodes": parts.nodes,
        "arcs": parts.arcs,
        "counts_differ": int((parts.nodes, parts.arcs) != (graph.nodes, graph.arcs)),
        "sample": len(urls),
        "compared_links": sum(a.incoming.total + a.outgoing.total for a, _ in rows),
        "different_urls": sum(a != b for a, b in rows),
        "rank_difference": max(abs(of_parts[one] / ranks[one] - 1.0) for one in ranks),
        "sweeps": found.sweeps,
        "one_sweeps": expected.sweeps,
    }


def after_kills(place: Path, one: Path) -> dict[str, Any]:
    """Kill builders and rankers of a copy; return what differs in the end."""
    store, dice = place / "copy", random.Random(7)
    shutil.copytree(place / "store", store)
    url, kills = f"file://{store}", 0
    for verb, made in (
        (["build", url, "graph"], ("*/graph", "*/anchors")),
        (["rank", url], ("*/graph/*/rank-*",)),
    ):
        mine = 0
        while mine < KILLS:
            if any(store.glob(f"{made[0]}/whole")) or any(store.glob(f"{made[0]}/*/whole")):
                for path in [path for pattern in made for path in store.glob(pattern)]:
                    shutil.rmtree(path)
            machines = [started(verb, place / f"cache-{n}") for n in range(MACHINES)]
            time.sleep(dice.uniform(0.5, LONGEST_S))
            victims = dice.sample(machines, dice.choice((1, MACHINES)))
            mine += sum(victim.poll() is None for victim in victims)
            for victim in victims:
                victim.kill()
            if len(victims) < MACHINES:
                victims[0].wait()  # its claims are seen to be those of a dead process
                for machine in machines:
                    if machine.wait(timeout=LONG_S) and machine not in victims:
                        sys.exit(f"{verb} ended with {machine.returncode}")
        kills += mine
        said(*verb)
    found = compare(url, one)
    return {
        "kills": kills,
        "different_urls_after_kills": found["different_urls"] + found["counts_differ"],
        "rank_difference_after_kills": found["rank_difference"],
    }


def started(verb: list[str], cache: Path) -> "subprocess.Popen[bytes]":
    """Start a machine that takes part."""
    variables = {**os.environ, "GOSSAMER_CACHE": str(cache)}
    return subprocess.Popen(
        [*GOSSAMER, *verb], env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def size(store: Path, name: str) -> int:
    """Return how many bytes some objects of a store have."""
    return sum(p.stat().st_size for p in store.glob(f"*/{name}/**/*") if p.is_file())


if __name__ == "__main__":
    main()
