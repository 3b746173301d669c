"""The graph of a whole crawl: bits per link, what it costs, and is it right, also after a kill?

Crawls the real web, or takes the crawl in the folder CRAWL (its links archive is copied, nothing in
it is changed). Builds its graph in a process of its own and measures that. Compares all links, and
those of SAMPLE random URLs as they are asked for, with a plain reading of the archive. Then builds
again, from nothing, as a delta and as a fold, kills each KILLS / 3 times at a random moment,
finishes, and counts the links that are missing or too many.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from realweb import FLAGS, SEED, bring_up, save

from gossamer.graph.build import GraphFacts, GraphOptions, build_graph, graph_folder
from gossamer.graph.connectivity import Connectivity
from gossamer.graph.kinds import Kind, kind_of
from gossamer.graph.names import key_of
from gossamer.store import CrawlFolder, iter_links

CRAWL = os.environ.get("CRAWL", "")
SAMPLE = int(os.environ.get("SAMPLE", "1000"))
KILLS = int(os.environ.get("KILLS", "10"))
SEED_OF_CHANCE = 5
CHILD = """
import json, sys
from gossamer.graph.build import GraphOptions, build_graph
build_graph(sys.argv[1], GraphOptions(**json.loads(sys.argv[2])))
"""
WAYS: dict[str, dict[str, object]] = {
    "full": {"is_full": True},
    "delta": {"small_arcs": 0, "delta_share": 1.0},
    "fold": {"delta_share": 0},
}
CUT = 0.95
"""How much of the archive a graph knows that is brought up to date."""
SHARES = {"full": 0.95, "delta": 0.1, "fold": 0.3}
"""Of the CPU of a full build, up to which each way is killed."""
START_UP_S = 0.4
POLL_S = 0.002
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
WHOLE = {"is_full": True}

Arcs = NDArray[np.uint64]
Rows = dict[str, dict[str, Kind]]


class Expected(NamedTuple):
    """What a plain reading of the archive says."""

    out: Rows
    back: Rows
    names: list[str]
    """In the order of their keys."""
    arcs: Arcs
    """Source << 32 | target, ascending, by the names' places."""
    kinds: NDArray[np.uint8]


class Cost(NamedTuple):
    """What a build took."""

    cpu_s: float
    wall_s: float
    rss_mb: float


def copied(crawl: Path, into: Path) -> CrawlFolder:
    """Copy what a graph is built from."""
    folder = CrawlFolder(into)
    folder.archive.mkdir(parents=True)
    for name in CrawlFolder(crawl).archive_names(kind="links"):
        shutil.copy(crawl / "archive" / name.file_name, folder.archive)
    shutil.copy(crawl / "crawl.toml", into)
    return folder


def crawled(into: Path) -> Path:
    """Crawl the real web to its end."""
    bring_up()
    command = [sys.executable, "-m", "gossamer", "crawl", SEED, "--into", str(into), *FLAGS]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return into


def read_plainly(folder: CrawlFolder) -> Expected:
    """Return all links of an archive in which no URL has two records of a page."""
    out: Rows = {}
    for _, record in iter_links(folder):
        if record.outcome not in ("fetched", "redirected"):
            continue
        assert record.url not in out, f"{record.url} was fetched twice: not a plain crawl"
        is_nofollow = "nofollow" in record.robots or "none" in record.robots
        row = out.setdefault(record.url, {})
        for target, kind, _, rel in record.links:
            found = kind_of(kind, is_nofollow=is_nofollow or "nofollow" in rel.split())
            row[target] = row.get(target, Kind(0)) | found
    back: Rows = {}
    for source, row in out.items():
        for target, ways in row.items():
            back.setdefault(target, {})[source] = ways
    names = sorted({*out, *back}, key=key_of)
    number = {name: n for n, name in enumerate(names)}
    flat = [(number[s] << 32 | number[t], k) for s, row in out.items() for t, k in row.items()]
    flat.sort()
    arcs, kinds = zip(*flat, strict=True)
    return Expected(out, back, names, np.array(arcs, np.uint64), np.array(kinds, np.uint8))


def child(root: Path, options: Mapping[str, object]) -> subprocess.Popen[bytes]:
    """Start a build in a process of its own."""
    return subprocess.Popen([sys.executable, "-c", CHILD, str(root), json.dumps(options)])


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process that was not waited for yet."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def measured_build(root: Path) -> Cost:
    """Build from nothing; return what that took."""
    began = time.perf_counter()
    process = child(root, WHOLE)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    cpu_s = usage.ru_utime + usage.ru_stime
    return Cost(cpu_s, time.perf_counter() - began, usage.ru_maxrss / 1024)


def difference(root: Path, expected: Expected) -> int:
    """Return how many links are missing or too many, in the graph or in its transpose, or wrong."""
    graph = Connectivity.open(root)
    assert graph.stale == 0
    assert graph.nodes == len(expected.names)
    wrong = 0
    for way, ways in ((graph.out, graph.base.out_kinds), (graph.inn, graph.base.in_kinds)):
        parts, kinds = [], []
        for rows in ways.beside(way.blocks()):
            one, other = rows.sources().astype(np.uint64), rows.targets.astype(np.uint64)
            source, target = (one, other) if way is graph.out else (other, one)
            parts.append(source << np.uint64(32) | target)
            assert rows.kinds is not None
            kinds.append(rows.kinds)
        arcs = np.concatenate(parts)
        order = np.argsort(arcs)
        wrong += len(np.setxor1d(arcs, expected.arcs))
        if len(arcs) == len(expected.arcs):
            wrong += int((np.concatenate(kinds)[order] != expected.kinds).sum())
    return wrong


def wrong_answers(root: Path, expected: Expected) -> int:
    """Return how many of the random URLs are answered wrongly, out or in."""
    graph = Connectivity.open(root)
    chosen = random.Random(SEED_OF_CHANCE).sample(expected.names, min(SAMPLE, len(expected.names)))
    wrong = 0
    for url in chosen:
        wrong += graph.links_out(url) != sorted(expected.out.get(url, {}).items())
        wrong += graph.links_in(url) != sorted(expected.back.get(url, {}).items())
    return wrong


def cut_archive(folder: CrawlFolder, share: float) -> dict[Path, bytes]:
    """Shorten the files of an archive; return what they were."""
    whole = {path: path.read_bytes() for path in folder.archive.iterdir()}
    for path, content in whole.items():
        path.write_bytes(content[: int(len(content) * share)])
    return whole


def killed_and_finished(folder: CrawlFolder, way: str, after_s: float) -> tuple[bool, GraphFacts]:
    """Kill a build that has used so much CPU; return whether it was hit, and what ended it."""
    shutil.rmtree(graph_folder(folder.root))
    whole = cut_archive(folder, CUT) if way != "full" else {}
    if whole:
        build_graph(folder.root)
    for path, content in whole.items():
        path.write_bytes(content)
    process = child(folder.root, WAYS[way])
    while process.poll() is None and cpu_s(process.pid) < after_s:
        time.sleep(POLL_S)
    is_killed = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    return is_killed, build_graph(folder.root, GraphOptions(delta_share=0))


def kill_often(folder: CrawlFolder, expected: Expected, full_s: float) -> tuple[int, int]:
    """Kill builds of all ways at random moments; return how many were hit, and all differences."""
    chance = random.Random(SEED_OF_CHANCE)
    hits = wrong = 0
    for n in range(KILLS):
        way = list(WAYS)[n % len(WAYS)]
        after_s = chance.uniform(START_UP_S, SHARES[way] * full_s)
        is_killed, facts = killed_and_finished(folder, way, after_s)
        found = difference(folder.root, expected)
        hits += is_killed
        wrong += found
        word = "killed" if is_killed else "had ended"
        print(
            f"{way:6} after {after_s:5.2f} s of CPU: {word}, then {facts.did}; {found} links differ"
        )
    return hits, wrong


def sizes(root: Path, arcs: int, nodes: int) -> dict[str, object]:
    """Return bits per link and bytes per URL of the files."""
    graph = graph_folder(root)

    def bits(*names: str) -> float:
        return round(sum((graph / name).stat().st_size for name in names) * 8 / arcs, 3)

    found: dict[str, object] = {}
    for way, base in (("out", "web"), ("in", "web-t")):
        found[f"bits_{way}"] = bits(f"{base}.graph")
        found[f"bits_{way}_with_offsets"] = bits(f"{base}.graph", f"{base}.offsets")
        found[f"bits_{way}_with_starts"] = bits(f"{base}.graph", f"{base}.starts")
        found[f"kind_bits_{way}"] = bits(f"{base}.kinds", f"{base}.kindstarts")
    found["url_bytes"] = round((graph / "web.urls").stat().st_size / nodes, 2)
    found["all_bytes"] = sum(path.stat().st_size for path in graph.iterdir())
    return found


def main() -> None:
    """Build, compare, kill, and tell."""
    with tempfile.TemporaryDirectory() as scratch:
        crawl = Path(CRAWL) if CRAWL else crawled(Path(scratch) / "crawl")
        folder = copied(crawl, Path(scratch) / "copy")
        build_graph(folder.root)  # so that the kernels are compiled
        cost = measured_build(folder.root)
        expected = read_plainly(folder)
        arcs, nodes = len(expected.arcs), len(expected.names)
        result: dict[str, object] = {
            "pages": len(expected.out),
            "urls": nodes,
            "links": arcs,
            "cpu_s": round(cost.cpu_s, 2),
            "cpu_us_per_link": round(cost.cpu_s / arcs * 1e6, 2),
            "wall_s": round(cost.wall_s, 2),
            "rss_mb": round(cost.rss_mb),
            **sizes(folder.root, arcs, nodes),
            "difference": difference(folder.root, expected),
            "sample": SAMPLE,
            "wrong_answers": wrong_answers(folder.root, expected),
        }
        for name, value in result.items():
            print(f"{name:24} {value:>14,}")
        hits, wrong = kill_often(folder, expected, cost.cpu_s)
        result |= {"kills": KILLS, "kills_that_hit": hits, "difference_after_kills": wrong}
    assert result["difference"] == result["wrong_answers"] == wrong == 0, result
    save("webgraph", result)


if __name__ == "__main__":
    main()
