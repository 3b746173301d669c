"""One host to its end, against an asyncio script that keeps gzip records: `make bench-one-host`.

CPU of all processes, start-up included, in turns; the ratio is the median of RUNS rounds.
"""

import os
import shutil
import statistics
import tempfile
from pathlib import Path

from measure import measured
from realweb import bring_up, save
from versus.arms import ARMS, ONE_HOST, Arm, claimed_pages, gossamer
from versus.installed import peer_python

RUNS = int(os.environ.get("RUNS") or 5)
SCRIPT = next(arm for arm in ARMS if arm.name == "asyncio script, gzip")


def cpu_s(arm: Arm) -> float:
    """Let an arm crawl the host in an empty folder; return its CPU seconds."""
    folder = Path(tempfile.mkdtemp(prefix="gossamer-bench-"))
    try:
        took = measured(arm.command(ONE_HOST, f"one-host-{os.getpid()}"), folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert took.exit_code == 0, took
    assert claimed_pages(took.output) >= ONE_HOST.pages, took.output
    return took.cpu_s


def main() -> None:
    """Measure, keep the result."""
    bring_up()
    peer_python()
    cpu_s(gossamer(1))  # what it compiles or writes once
    rounds = []
    for number in range(RUNS):
        arms = [gossamer(1), SCRIPT] if number % 2 == 0 else [SCRIPT, gossamer(1)]
        found = {arm.name: round(cpu_s(arm), 3) for arm in arms}
        rounds.append(found)
        print(found, flush=True)
    ratios = [found[gossamer(1).name] / found[SCRIPT.name] for found in rounds]
    save("one-host", {"ratio": round(statistics.median(ratios), 3), "rounds": rounds})


if __name__ == "__main__":
    main()
