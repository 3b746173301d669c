"""The whole crawl on the built-in web, with 1 shard and with one per core: `make bench-macro`.

The server has its pages ready (warm) and runs on the same cores. Every run is the command line to
the same number of pages; the runs take turns, so that all see the same machine, and the figures
are medians. CPU is that of all Gossamer's processes, start-up included; time is that of the whole
command. RUNS and PAGES in the environment change the defaults.
"""

import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from realweb import save

from gossamer.testing import FakeWeb, ServerProcess, repeats, serve_in_process

PAGES = int(os.environ.get("PAGES", "4000"))
RUNS = int(os.environ.get("RUNS", "3"))
SHARDS = max(2, os.cpu_count() or 2)
OVERSHOOT = 1.02
"""Shards share out what is left of --max-pages, and may store a page or two more."""
GOSSAMER = str(Path(sys.executable).parent / "gossamer")

Figures = dict[str, float]


class NotWorkingError(Exception):
    """A run that did not do its work: the words of the command."""


def one_run(server: ServerProcess, shards: int) -> Figures:
    """Crawl once; return the figures after checking that the pages were stored, each once."""
    folder = Path(tempfile.mkdtemp(prefix="gossamer-bench-"))
    command = [GOSSAMER, "crawl", *server.web.seeds, "--into", str(folder / "crawl")]
    command += ["--scope", "any", "--allow-private", "--delay", "0", "--json"]
    command += ["--max-pages", str(PAGES), "--shards", str(shards)]
    for host, address in server.resolve.items():
        command += ["--resolve", f"{host}:{address}"]
    before, offset = resource.getrusage(resource.RUSAGE_CHILDREN), len(server.requests())
    began = time.perf_counter()
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    wall_s = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise NotWorkingError(f"--shards {shards}: exit {done.returncode}\n{done.stderr[-2000:]}")
    pages = json.loads(done.stdout.splitlines()[-1])["pages"]
    visits = server.requests()[offset:]
    if not PAGES <= pages <= PAGES * OVERSHOOT or repeats(visits):
        raise NotWorkingError(f"--shards {shards}: {pages} pages, repeated {repeats(visits)}")
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"pages_per_s": pages / wall_s, "pages_per_cpu_s": pages / cpu_s, "pages": pages}


def measure(server: ServerProcess) -> tuple[dict[int, list[Figures]], str]:
    """Return the figures of all runs by number of shards, and what went wrong, or ""."""
    runs: dict[int, list[Figures]] = {1: [], SHARDS: []}
    wrong = ""
    for number in range(RUNS):
        for shards in (1, SHARDS) if number % 2 else (SHARDS, 1):
            try:
                runs[shards].append(one_run(server, shards))
            except NotWorkingError as error:
                wrong = str(error)
                continue
            print(f"{shards} shards:", {k: round(v) for k, v in runs[shards][-1].items()})
    return runs, wrong


def median(runs: list[Figures], name: str) -> float:
    """Return the median of one figure over some runs."""
    return round(statistics.median(run[name] for run in runs), 1)


def main() -> None:
    """Measure, print a table, keep the result."""
    web = FakeWeb(seed=1, hosts=40, pages_per_host=150)
    with (
        tempfile.TemporaryDirectory(prefix="gossamer-bench-") as folder,
        serve_in_process(web, Path(folder) / "visits.tsv", is_warm=True) as server,
    ):
        runs, wrong = measure(server)
    if wrong:
        sys.exit(f"the work was not done: {wrong}")
    one, many = runs[1], runs[SHARDS]
    save(
        "macro",
        {
            "pages": PAGES,
            "runs": RUNS,
            "shards": SHARDS,
            "pages_per_cpu_s": median(one, "pages_per_cpu_s"),
            "pages_per_s": median(one, "pages_per_s"),
            "pages_per_cpu_s_sharded": median(many, "pages_per_cpu_s"),
            "pages_per_s_sharded": median(many, "pages_per_s"),
            "speedup": round(median(many, "pages_per_s") / median(one, "pages_per_s"), 2),
            "cpu_ratio": round(median(one, "pages_per_cpu_s") / median(many, "pages_per_cpu_s"), 3),
            "python": platform.python_version(),
        },
    )


if __name__ == "__main__":
    main()
