"""Does a graph cost the same per link, however large it is? `make bench-edges ARCS=100000000`.

Makes lists of links up (1 M, 10 M and ARCS different ones, 100 M if not told), as lines of two
numbers in random order, some of them copies: heavy tails of out-degrees and of hosts' sizes; two
links of five go to the first pages of the own host, as menus do, a third to pages nearby, the
others to hosts drawn by Zipf's law. Then `gossamer graph from-edges` compresses each, with its
transpose, in a process that is measured from outside. The transpose must have the same links, and
`to-edges`, measured too, lines that make the same graph. CPU per link is without the start of the
process, which is measured with a short list.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from measure import Measured, measured
from numpy.typing import NDArray
from realweb import save

from gossamer.graph.bv import BVGraph
from gossamer.graph.edges import pair_lines

Ints = NDArray[np.int64]

ARCS = int(os.environ.get("ARCS") or 100_000_000)
MEMORY = os.environ.get("MEMORY") or "1GiB"
ARCS_PER_NODE = 15
LINES_PER_ARC = 1.4
SHORT = 1000
PIECE = 4_000_000
LIMIT_S = 1500.0
GOSSAMER = [sys.executable, "-m", "gossamer"]


class MadeUp:
    """A web of so many links."""

    def __init__(self, arcs: int) -> None:
        self.nodes = max(arcs // ARCS_PER_NODE, 640)
        draw = np.random.default_rng(arcs)
        sizes = np.minimum(draw.zipf(1.5, self.nodes // 8), self.nodes // 30 + 1) * 8
        count = int(np.searchsorted(np.cumsum(sizes), self.nodes)) + 1
        self._firsts = np.minimum(np.concatenate([[0], np.cumsum(sizes[:count])]), self.nodes)
        self._popular = draw.permutation(len(self._firsts) - 1)
        self._draw = draw

    def piece(self, count: int) -> tuple[Ints, Ints]:
        """Return so many links, in no order."""
        draw, firsts = self._draw, self._firsts
        host = np.searchsorted(firsts, draw.integers(0, self.nodes, count), side="right") - 1
        width = np.diff(firsts)
        sources = firsts[host] + np.floor(width[host] * draw.random(count) ** 1.5).astype(np.int64)
        kind = draw.random(count)
        away = self._popular[(draw.zipf(1.3, count) - 1) % len(self._popular)]
        goal = np.where(kind < 0.75, host, away)
        inside = np.floor(width[goal] * draw.random(count) ** 3).astype(np.int64)
        near = sources - firsts[host] + draw.integers(-1, 2, count) * draw.zipf(1.6, count) % 5000
        near = np.clip(near, 0, width[host] - 1)
        menu = np.minimum(draw.integers(0, 12, count), width[host] - 1)
        inside = np.where(kind < 0.4, menu, np.where(kind < 0.75, near, inside))
        return sources.astype(np.int64), (firsts[goal] + inside).astype(np.int64)


def write_lines(path: Path, arcs: int) -> int:
    """Write a list of so many different links; return how many lines that takes."""
    web, lines = MadeUp(arcs), int(arcs * LINES_PER_ARC)
    with path.open("wb") as file:
        for start in range(0, lines, PIECE):
            sources, targets = web.piece(min(PIECE, lines - start))
            file.write(pair_lines(sources.astype(np.uint32), targets.astype(np.uint32)))
    return lines


def checked(base: Path) -> tuple[int, int]:
    """Return links and a sum over all of them, of a graph and, turned round, of its transpose."""
    sums = []
    for suffix, is_turned in (("", False), ("-t", True)):
        total = 0
        graph = BVGraph.open(base.with_name(base.name + suffix))
        for rows in graph.blocks():
            ends = (rows.targets, rows.sources()) if is_turned else (rows.sources(), rows.targets)
            source, target = (end.astype(np.uint64) for end in ends)
            mixed = (source * np.uint64(0x9E3779B97F4A7C15)) ^ (
                target * np.uint64(0xC2B2AE3D27D4EB4F)
            )
            total += int(
                (mixed * np.uint64(0x165667B19E3779F9) >> np.uint64(8)).sum(dtype=np.uint64)
            )
        sums.append((graph.arcs, total % 2**64))
    assert sums[0] == sums[1], "the transpose has other links"
    return sums[0]


def round_trip(base: Path, folder: Path) -> float:
    """Return the CPU that `to-edges` takes; assert that its lines make the same graph."""
    text = folder / "back.txt"
    back = measured(
        [*GOSSAMER, "graph", "to-edges", str(base), "--output", str(text)], folder, limit_s=LIMIT_S
    )
    assert back.exit_code == 0, back.errors
    again = folder / "again"
    subprocess.run(
        [*GOSSAMER, "graph", "from-edges", str(text), str(again), "--memory", MEMORY],
        check=True,
        capture_output=True,
    )
    for suffix in (".graph", "-t.graph"):
        one, other = (path.with_name(path.name + suffix) for path in (base, again))
        assert one.stat().st_size == other.stat().st_size
    text.unlink()
    return back.cpu_s


def made(text: Path, base: Path) -> Measured:
    """Let the command make a graph."""
    command = [*GOSSAMER, "graph", "from-edges", str(text), str(base), "--memory", MEMORY, "--json"]
    found = measured(command, base.parent, limit_s=LIMIT_S)
    assert found.exit_code == 0, found.errors
    return found


def start_cpu_s(folder: Path) -> float:
    """Return what the command takes for a short list."""
    write_lines(folder / "short.txt", SHORT)
    return min(made(folder / "short.txt", folder / "short").cpu_s for _ in range(3))


def figures(arcs: int, folder: Path) -> dict[str, Any]:
    """Return what a list of so many links costs."""
    text, base = folder / "edges.txt", folder / "web"
    start_s = start_cpu_s(folder)
    lines = write_lines(text, arcs)
    making = made(text, base)
    told = json.loads(making.output.splitlines()[-1])
    kept, _ = checked(base)
    assert (told["edges"], told["arcs"]) == (lines, kept)
    assert kept >= arcs, f"only {kept:,} different links"
    size = {way: base.with_name(f"web{way}.graph").stat().st_size * 8 / kept for way in ("", "-t")}
    found = {
        "lines": lines,
        "arcs": kept,
        "nodes": told["nodes"],
        "cpu_us_per_arc": round((making.cpu_s - start_s) / kept * 1e6, 3),
        "wall_s": round(making.wall_s, 1),
        "cpu_s": round(making.cpu_s, 1),
        "rss_mb": round(making.rss_mb),
        "bits_out": round(size[""], 3),
        "bits_in": round(size["-t"], 3),
        "others_cores": round(making.others_cores, 2),
    }
    found["to_edges_cpu_s"] = round(round_trip(base, folder), 1)
    text.unlink()
    return found


def main() -> None:
    """Make graphs of growing size, print a line each, and keep the figures."""
    rows = []
    for arcs in sorted({min(1_000_000, ARCS), min(10_000_000, ARCS), ARCS}):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(figures(arcs, Path(folder)))
        if len(rows) == 1:
            print("".join(f"{name:>16}" for name in rows[0]))
        print("".join(f"{value:16,}" for value in rows[-1].values()), flush=True)
    # Of a million the start of the process is a third, and its noise would hide what is asked.
    ratio = rows[-1]["cpu_us_per_arc"] / rows[-2 if len(rows) > 1 else -1]["cpu_us_per_arc"]
    result = {"sizes": rows, "cpu_ratio": round(ratio, 3), "rss_mb": rows[-1]["rss_mb"]}
    save("edges", {**result, "arcs": ARCS, "memory": MEMORY})


if __name__ == "__main__":
    sys.exit(main())
