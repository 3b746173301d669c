"""What does a crawl by a cluster cost on one machine? `make bench-cluster`.

Short crawls of the local real web by two shards take turns: without a store, with one, and as
`--cluster local` (processes of their own that speak TLS) with the same store. What a crawl costs is
the CPU of all its processes, user and system. Its start is a crawl of a few pages; per page is what
the rest took. Told are the median over the turns, and the quartiles. Where Ray is installed, a
crawl on it tells what Ray's own processes took beside ours. PAIRS and PAGES change the defaults.
Exits with 1 if the aim is missed.
"""

import importlib.util
import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import ray_share
from measure import measured
from realweb import FLAGS, SEED, bring_up, save

PAIRS = int(os.environ.get("PAIRS") or 12)
PAGES = int(os.environ.get("PAGES") or 1000)
FEW = 20
SHARDS = 2
ARMS = ("local", "stored", "cluster")
LIMIT_S = 600.0


class Spread(NamedTuple):
    """A ratio over all turns."""

    low: float
    """The first quartile."""
    median: float
    high: float


def cpu_s(arm: str, pages: int) -> float:
    """Return the CPU that a crawl of so many pages takes."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        store.mkdir()
        words = [
            sys.executable,
            "-m",
            "gossamer",
            "crawl",
            SEED,
            *FLAGS,
            "--json",
            "--into",
            "into",
        ]
        words += ["--max-pages", str(pages), "--shards", str(SHARDS)]
        words += ["--store", f"file://{store}"] if arm != "local" else []
        words += ["--cluster", "local"] if arm == "cluster" else []
        found = measured(words, Path(folder), limit_s=LIMIT_S)
    if found.exit_code:
        sys.exit(f"{arm}: exit code {found.exit_code}: {found.errors[-500:]}")
    assert json.loads(found.output.splitlines()[-1])["pages"] == pages
    return found.cpu_s


def share_of_ray() -> dict[str, float]:
    """Return what Ray's own processes and ours take for a crawl on Ray; nothing without it."""
    if importlib.util.find_spec("ray") is None:
        print("Ray is not installed (make test-ray does it): its share is not told")
        return {}
    folder = Path(tempfile.mkdtemp(prefix="gossamer-ray-"))
    try:
        with ray_share.cluster("ray", folder) as leaders:
            cpu, _ = ray_share.crawled(leaders, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    ours = sum(taken for kind, taken in cpu.items() if kind in ray_share.OURS)
    rays = sum(cpu.values()) - ours
    print(f"on Ray: {rays:.2f} s of CPU by Ray's processes, {ours:.2f} s by ours", flush=True)
    return {"pages": ray_share.PAGES, "ray_cpu_s": round(rays, 2), "our_cpu_s": round(ours, 2)}


def main() -> None:
    """Measure the arms in turns, each first in its turn as often; compare the ratios."""
    bring_up()
    os.environ["GOSSAMER_CLUSTER"] = str(Path(tempfile.mkdtemp()) / "cluster")
    starts = {arm: statistics.median(cpu_s(arm, FEW) for _ in range(5)) for arm in ARMS}
    taken: dict[str, list[float]] = {arm: [] for arm in ARMS}
    for turn in range(PAIRS):
        for place in range(len(ARMS)):
            arm = ARMS[(turn + place) % len(ARMS)]
            taken[arm].append(cpu_s(arm, PAGES))
        print({arm: round(taken[arm][-1], 2) for arm in ARMS}, flush=True)

    def ratio(above: str, below: str, *, with_start: bool) -> Spread:
        """Return what one arm costs beside another one in the same turn."""
        less = {arm: 0.0 if with_start else start for arm, start in starts.items()}
        pairs = zip(taken[above], taken[below], strict=True)
        found = [(a - less[above]) / (b - less[below]) for a, b in pairs]
        return Spread(*(round(one, 3) for one in statistics.quantiles(found, method="inclusive")))

    spreads = {
        "cpu_ratio": ratio("cluster", "stored", with_start=False),
        "cpu_ratio_with_start": ratio("cluster", "stored", with_start=True),
        "store_ratio": ratio("stored", "local", with_start=False),
        "over_local": ratio("cluster", "local", with_start=False),
        "over_local_with_start": ratio("cluster", "local", with_start=True),
    }
    for name, spread in spreads.items():
        print(f"{name}: {spread.median} ({spread.low} to {spread.high})")
    save(
        "cluster",
        {
            "pages": PAGES,
            "shards": SHARDS,
            "pairs": PAIRS,
            "load": round(os.getloadavg()[0], 1),
            "start_cpu_s": {arm: round(start, 2) for arm, start in starts.items()},
            "cpu_s": {arm: [round(one, 2) for one in found] for arm, found in taken.items()},
            **{name: spread.median for name, spread in spreads.items()},
            "quartiles": {name: [spread.low, spread.high] for name, spread in spreads.items()},
            "ray": share_of_ray(),
        },
    )


if __name__ == "__main__":
    main()
