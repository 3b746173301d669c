"""What does a crawl by a cluster cost on one machine? `make bench-cluster`.

Crawls of the local real web by two shards take turns: without a store, with one, and as
`--cluster local` (processes of their own that speak TLS) with the same store. What a crawl costs is
the CPU of all its processes. Its start is a crawl of a few pages; per page is what the rest took.
PAIRS and PAGES change the defaults. Exits with 1 if the aim is missed.
"""

import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

from measure import measured
from realweb import FLAGS, SEED, bring_up, save

PAIRS = int(os.environ.get("PAIRS") or 5)
PAGES = int(os.environ.get("PAGES") or 3000)
FEW = 20
SHARDS = 2
ARMS = ("local", "stored", "cluster")
LIMIT_S = 600.0


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


def main() -> None:
    """Measure the arms in turns, and compare the medians of their ratios."""
    bring_up()
    os.environ["GOSSAMER_CLUSTER"] = str(Path(tempfile.mkdtemp()) / "cluster")
    starts = {arm: statistics.median(cpu_s(arm, FEW) for _ in range(3)) for arm in ARMS}
    taken: dict[str, list[float]] = {arm: [] for arm in ARMS}
    for _ in range(PAIRS):
        for arm in ARMS:
            taken[arm].append(cpu_s(arm, PAGES))
        print({arm: round(taken[arm][-1], 2) for arm in ARMS}, flush=True)

    def ratio(above: str, below: str, *, with_start: bool) -> float:
        """Return the median of what one arm costs beside another one in the same turn."""
        less = {arm: 0.0 if with_start else start for arm, start in starts.items()}
        pairs = zip(taken[above], taken[below], strict=True)
        return round(statistics.median((a - less[above]) / (b - less[below]) for a, b in pairs), 3)

    save(
        "cluster",
        {
            "pages": PAGES,
            "shards": SHARDS,
            "pairs": PAIRS,
            "load": round(os.getloadavg()[0], 1),
            "start_cpu_s": {arm: round(start, 2) for arm, start in starts.items()},
            "cpu_s": {arm: [round(one, 2) for one in found] for arm, found in taken.items()},
            "cpu_ratio": ratio("cluster", "stored", with_start=False),
            "cpu_ratio_with_start": ratio("cluster", "stored", with_start=True),
            "store_ratio": ratio("stored", "local", with_start=False),
            "over_local": ratio("cluster", "local", with_start=False),
            "over_local_with_start": ratio("cluster", "local", with_start=True),
        },
    )


if __name__ == "__main__":
    main()
