"""What an order costs: CPU per kB of HTML against breadth first, arms alternating.

`make bench-cpu ORDER=best` runs it: pairs of crawls of the local real web with one shard, one right
after the other; the figure is the median of the pairs' ratios. Orders meet different pages, so the
currency is the kB, not the page. PAIRS and PAGES in the environment change the defaults.
"""

import os
import platform
import shutil
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

from realweb import save

PAIRS = int(os.environ.get("PAIRS", "5"))

Figures = dict[str, float]
Run = Callable[[Path, str], Figures]


def compare(order: str, one_run: Run) -> None:
    """Measure pairs of bfs and an order, print them, keep the result."""
    pairs: list[tuple[Figures, Figures]] = []
    base = Path(tempfile.mkdtemp(prefix="gossamer-bench-"))
    try:
        for number in range(PAIRS):
            names = ("bfs", order) if number % 2 == 0 else (order, "bfs")
            found = {name: one_run(base / f"{name}{number}", name) for name in names}
            pairs.append((found["bfs"], found[order]))
            print({name: f"{us_per_kb(run):.1f} us/kB" for name, run in found.items()})
            for name in names:
                shutil.rmtree(base / f"{name}{number}", ignore_errors=True)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    ratios = [us_per_kb(ours) / us_per_kb(bfs) for bfs, ours in pairs]
    save(
        f"cpu-{order}",
        {
            "order": order,
            "pairs": PAIRS,
            "cpu_ratio_per_kb": round(statistics.median(ratios), 3),
            "ratios": [round(ratio, 3) for ratio in ratios],
            "us_per_kb_bfs": round(statistics.median(us_per_kb(bfs) for bfs, _ in pairs), 2),
            "us_per_kb": round(statistics.median(us_per_kb(ours) for _, ours in pairs), 2),
            "cpu_ms_per_page_bfs": round(statistics.median(ms(bfs) for bfs, _ in pairs), 3),
            "cpu_ms_per_page": round(statistics.median(ms(ours) for _, ours in pairs), 3),
            "python": platform.python_version(),
        },
    )


def us_per_kb(run: Figures) -> float:
    """Return the CPU per kB of HTML that the server sent."""
    return 1e6 * run["cpu_s"] / run["html_kb"]


def ms(run: Figures) -> float:
    """Return the CPU per page."""
    return 1e3 * run["cpu_s"] / run["pages"]
