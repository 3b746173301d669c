"""Is this version slower than another one, over sockets? CPU per page and per kB of HTML.

`make bench-cpu OLD=src` runs it, with OLD the `src` folder of another version: pairs of crawls of
the local real web from its hub with one shard, taking turns in going first; the figures are medians
of the pairs' ratios. Runs meet somewhat different pages, so that the kB is the better currency; a
replay (replay.py) meets the same ones. PAIRS and PAGES in the environment change the defaults.
Exits with 1 if the CPU per kB is above the aim.
"""

import os
import platform
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from cpu_orders import Figures, ms, us_per_kb
from realweb import commit_of, save

AIM = 1.05
PAIRS = int(os.environ.get("PAIRS", "5"))


def compare(old: Path, new: Path, one_run: Callable[[Path, Path], Figures]) -> None:
    """Measure pairs of two versions, print them, keep the result."""
    pairs: list[tuple[Figures, Figures]] = []
    arms = {"old": old, "new": new}
    for number in range(PAIRS):
        names = ("old", "new") if number % 2 == 0 else ("new", "old")
        base = Path(tempfile.mkdtemp(prefix="gossamer-bench-"))
        try:
            found = {name: one_run(base / name, arms[name]) for name in names}
        finally:
            shutil.rmtree(base, ignore_errors=True)
        pairs.append((found["old"], found["new"]))
        print(
            {name: f"{us_per_kb(run):.1f} us/kB, {ms(run):.3f} ms" for name, run in found.items()},
            flush=True,
        )
    per_kb = [us_per_kb(ours) / us_per_kb(theirs) for theirs, ours in pairs]
    per_page = [ms(ours) / ms(theirs) for theirs, ours in pairs]
    ratio = round(statistics.median(per_kb), 3)
    save(
        "cpu-versions",
        {
            "cpu_ratio_per_kb": ratio,
            "cpu_ratio_per_page": round(statistics.median(per_page), 3),
            "pairs": PAIRS,
            "pages": pairs[0][1]["pages"],
            "ratios_per_kb": [round(value, 3) for value in per_kb],
            "ratios_per_page": [round(value, 3) for value in per_page],
            "us_per_kb_old": round(statistics.median(us_per_kb(run) for run, _ in pairs), 2),
            "us_per_kb": round(statistics.median(us_per_kb(run) for _, run in pairs), 2),
            "cpu_ms_per_page_old": round(statistics.median(ms(run) for run, _ in pairs), 3),
            "cpu_ms_per_page": round(statistics.median(ms(run) for _, run in pairs), 3),
            "old": commit_of(old),
            "new": commit_of(new),
            "python": platform.python_version(),
        },
    )
    sys.exit(1 if ratio > AIM else 0)
