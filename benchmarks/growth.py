"""Does a crawl slow down as it grows? `make bench-growth URLS=100000000`.

CPU per page with 100 k, 1 M, 10 M and 100 M known URLs, up to URLS (1 M unless told): the real
wheel, stations, state and archive, and a fetcher that answers from memory. A page has 60 links, 48
drawn uniformly from the known URLs. States are made in bulk and kept in GROWTH_DIR. At the largest
size also: memory, disk, pauses while all seen runs are merged and the whole state is compacted, and
the time from a start after kill -9 to the first request with nothing of the state in any cache.
Pauses are wall time; `own` is without waiting for a core that others kept busy. Those of cold
rounds, which wait for the disk, are told apart.
"""

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from grown.ingest import make_state
from grown.shard import evict
from realweb import REPOSITORY, save

URLS = int(os.environ.get("URLS") or 1_000_000)
FOLDER = Path(os.environ.get("GROWTH_DIR") or Path(tempfile.gettempdir()) / "growth")
ROUNDS = int(os.environ.get("ROUNDS") or 4)
SIZES = (100_000, 1_000_000, 10_000_000, 100_000_000)
SLICES = 4
PAGES = 500
WARM = {"pages": PAGES}
COLD_PAGES = 3000
"""After every byte of the state has left the system's cache: more of them would dilute the cost."""
WARM_UP_PAGES = 10_000
"""Until the caches are about as full as in a crawl that came so far by itself."""


class Child:
    """A process with one shard on a working copy of a state."""

    def __init__(self, urls: int, seed: int, *, is_fresh: bool = True, **seen: int) -> None:
        self.urls = urls
        self.state = FOLDER / f"work-{urls}" / "state" / "00"
        if is_fresh:
            working_copy(FOLDER / str(urls), self.state.parents[1])
        self.began = time.perf_counter()
        command = [sys.executable, "-m", "grown.shard", str(self.state.parents[1])]
        self._process = subprocess.Popen(
            [*command, str(urls), str(seed), json.dumps(seen)],
            cwd=Path(__file__).parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self, **order: object) -> None:
        """Give an order."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """Return the next result."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the shard with {self.urls:,} URLs died"
        result: dict[str, Any] = json.loads(line)
        return result

    def do(self, **order: object) -> dict[str, Any]:
        """Give an order and return its result."""
        self.tell(**order)
        return self.hear()

    def kill(self) -> None:
        """End the process as a power switch would."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def end(self) -> None:
        """Let the shard close."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait() == 0


def working_copy(made: Path, folder: Path) -> None:
    """Copy a state into a crawl folder; what RocksDB and seen never change is linked."""
    shutil.rmtree(folder, ignore_errors=True)

    def copy(source: str, target: str) -> None:
        if source.endswith((".sst", ".keys")):
            os.link(source, target)
        else:
            shutil.copy(source, target)

    shutil.copytree(made, folder / "state" / "00", copy_function=copy)


def measure_rounds(sizes: list[int]) -> dict[int, list[dict[str, Any]]]:
    """Return warm and cold slices of every size; sizes take turns, slice by slice.

    In each round all shards start anew, so that they are equally old and none outgrows its size.
    """
    slices: dict[int, list[dict[str, Any]]] = {size: [] for size in sizes}
    for number in range(1, ROUNDS + 1):
        children = [Child(size, number) for size in sizes]
        for child in children:
            assert child.hear()["known"] == child.urls // 12 * 12
            child.do(pages=WARM_UP_PAGES, files="warm", is_warm_up=True)
        for files in ["warm"] * SLICES + ["cold"]:
            for child in children:
                order = {"pages": COLD_PAGES, "files": "cold"}
                result = {"files": files, **child.do(**order if files == "cold" else WARM)}
                slices[child.urls].append(result)
                line = (f"{name} {show(value)}" for name, value in result.items())
                print(f"{child.urls:>11,}", *line, flush=True)
        for child in children:
            child.end()
    return slices


def show(value: object) -> str:
    """Return a value for people."""
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def cpu_us(slices: list[dict[str, Any]], files: str) -> list[float]:
    """Return CPU per page of each slice: of the loop, and the mean of all other threads."""
    pages = sum(one["pages"] for one in slices)
    others_us = sum(one["others_us"] * one["pages"] for one in slices) / pages
    return [one["loop_us"] + others_us for one in slices if one["files"] == files]


def ratio(small: list[dict[str, Any]], large: list[dict[str, Any]], files: str) -> float:
    """Return how much more CPU a page costs: the median over neighbouring slices."""
    pairs = zip(cpu_us(large, files), cpu_us(small, files), strict=True)
    return round(statistics.median(one / other for one, other in pairs), 3)


def measure_pauses(urls: int) -> dict[str, dict[str, Any]]:
    """Return rounds during which all runs are merged into one, and all rows compacted."""
    runs = len(list((FOLDER / str(urls) / "seen").glob("*.keys")))
    child = Child(urls, 101, run_keys=2 * urls, fan_in=max(2, runs))
    child.hear()
    results = {}
    if runs > 1:
        results["merge"] = child.do(pages=3000 + urls // 5000, is_long=True)
        print("merge", {key: show(value) for key, value in results["merge"].items()}, flush=True)
        assert results["merge"]["others_us"] * results["merge"]["pages"] > 0.01 * urls
        assert child.do(pages=3000)["runs"] == 1, "the merge was not done in time"
    results["compaction"] = child.do(pages=3000 + urls // 20_000, is_long=True, compact=True)
    print("compact", {key: show(value) for key, value in results["compaction"].items()}, flush=True)
    child.end()
    return results


def measure_restart(urls: int) -> float:
    """Return seconds from a start after kill -9 to the first request, all files cold."""
    child = Child(urls, 102)
    child.hear()
    child.do(pages=PAGES)
    child.tell(pages=20 * PAGES)
    time.sleep(3.0)
    child.kill()
    evict(child.state)
    child = Child(urls, 103, is_fresh=False)
    child.tell(pages=100)
    child.hear()
    first_at = child.hear()["first_at"]
    child.kill()
    return float(first_at) - child.began


def disk_bytes(state: Path) -> tuple[int, int]:
    """Return the bytes of seen runs and of everything else in a state."""
    seen = sum(path.stat().st_size for path in (state / "seen").iterdir())
    others = sum(path.stat().st_size for path in state.iterdir() if path.is_file())
    return seen, others


def main() -> None:
    """Measure, print a table, keep the result."""
    sizes = sorted({size for size in SIZES if size < URLS} | {URLS})
    for size in sizes:
        make_state(FOLDER / str(size), size)
    rounds = measure_rounds(sizes)
    largest = sizes[-1]
    known = rounds[largest][-1]["known"]
    seen_bytes, other_bytes = disk_bytes(FOLDER / f"work-{largest}" / "state" / "00")
    pauses = measure_pauses(largest)
    restart_s = measure_restart(largest)
    table = {
        size: {
            "cpu_us_warm": round(statistics.median(cpu_us(of_size, "warm")), 1),
            "cpu_us_cold": round(statistics.median(cpu_us(of_size, "cold")), 1),
            "cpu_ratio_warm": ratio(rounds[sizes[0]], of_size, "warm"),
            "cpu_ratio_cold": ratio(rounds[sizes[0]], of_size, "cold"),
            "rss_mb": round(max(r["rss_mb"] for r in of_size), 1),
            "mapped_mb": round(max(r["mapped_mb"] for r in of_size), 1),
            "longest_pause_ms": round(max(r["pause_ms"] for r in of_size), 1),
            "longest_own_pause_ms": round(max(r["own_pause_ms"] for r in of_size), 1),
        }
        for size, of_size in rounds.items()
    }
    print(f"{'known URLs':>12}", *(f"{name:>18}" for name in table[largest]))
    for size, row in table.items():
        print(f"{size:>12,}", *(f"{value:>18}" for value in row.values()))
    every = [*(r for r in rounds[largest] if r["files"] == "warm"), *pauses.values()]
    cold = [r for r in rounds[largest] if r["files"] == "cold"]
    result = {
        "urls": largest,
        "cpu_ratio": table[largest]["cpu_ratio_warm"],
        "cpu_ratio_cold": table[largest]["cpu_ratio_cold"],
        "cold_pages": COLD_PAGES,
        "rss_mb": round(max(r["rss_mb"] for r in every), 1),
        "mapped_mb": round(max(r["mapped_mb"] for r in every), 1),
        "seen_bytes_per_url": round(seen_bytes / known, 2),
        "frontier_bytes_per_url": round(other_bytes / known, 2),
        "longest_pause_ms": round(max(r["pause_ms"] for r in every), 1),
        "longest_own_pause_ms": round(max(r["own_pause_ms"] for r in every), 1),
        "longest_cold_pause_ms": round(max(r["pause_ms"] for r in cold), 1),
        "own_pauses_ms": {name: round(r["own_pause_ms"], 1) for name, r in pauses.items()},
        "restart_s": round(restart_s, 2),
        "sizes": table,
    }
    for size in sizes:
        shutil.rmtree(FOLDER / f"work-{size}", ignore_errors=True)
    save("growth" if largest >= kept_urls() else "growth-quick", result)


def kept_urls() -> int:
    """Return how many URLs the kept result is about: a quick run shall not replace a large one."""
    path = REPOSITORY / "benchmarks" / "results" / "growth.json"
    return int(json.loads(path.read_text())["urls"]) if path.exists() else 0


if __name__ == "__main__":
    main()
