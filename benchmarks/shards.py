"""What a second shard brings: pages per second and CPU per page, 1 against N: `make bench-shards`.

Pairs of crawls of the local real web, one right after the other, the order changing from pair to
pair; the figures are medians of the pairs' ratios, because the machine drifts between pairs. Time
is the wall time of the whole command, start-up and end included; CPU is that of all processes. The
web server runs on the same cores: what the shards would gain if it ran elsewhere, and each had a
core, is told beside (`speedup_server_apart`), as is its own CPU. SHARDS, PAIRS and PAGES in the
environment change the defaults; 5,000 pages are enough for start-up (told beside) to weigh little.
"""

import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from measure import measured
from realweb import FLAGS, SEED, bring_up, html_kb_served, new_log, save, visits

SHARDS = int(os.environ.get("SHARDS", "2"))
PAIRS = int(os.environ.get("PAIRS", "5"))
PAGES = int(os.environ.get("PAGES", "5000"))
GOSSAMER = str(Path(sys.executable).parent / "gossamer")
AGENT = "gossamer-shards"
FLUSH_S = 0.5

Figures = dict[str, float]


def one_run(shards: int) -> Figures:
    """Crawl once; return its figures after checking that every page came once and was stored."""
    folder = Path(tempfile.mkdtemp(prefix="gossamer-bench-"))
    command = [GOSSAMER, "crawl", SEED, "--into", "crawl", *FLAGS, "--user-agent", AGENT, "--json"]
    command += ["--concurrency", "64", "--max-pages", str(PAGES), "--shards", str(shards)]
    served_s = server_cpu_s()
    try:
        new_log()
        took = measured(command, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert took.exit_code == 0, took
    served_s = server_cpu_s() - served_s
    status = json.loads(took.output.splitlines()[-1])
    assert PAGES <= status["pages"] < PAGES * 1.01, status
    time.sleep(FLUSH_S)
    asked = [visit for visit in visits(AGENT) if visit.target != "/robots.txt"]  # may be retried
    repeats = Counter((visit.host, visit.target) for visit in asked)
    assert max(repeats.values()) == 1, repeats.most_common(3)
    first, last = asked[0].at, asked[-1].at
    html_kb = html_kb_served(AGENT)
    return {
        "pages": status["pages"],
        "pages_per_s": status["pages"] / took.wall_s,
        "pages_per_s_without_start": status["pages"] / (last - first),
        "cpu_ms_per_page": 1e3 * took.cpu_s / status["pages"],
        "server_ms_per_page": 1e3 * served_s / status["pages"],
        "html_kb_per_page": html_kb / status["pages"],
        "us_per_kb": 1e6 * took.cpu_s / html_kb,
        "rss_mb": took.rss_mb,
        "others_cores": took.others_cores,
    }


def server_cpu_s() -> float:
    """Return the CPU that all processes of the web server have taken so far."""
    ticks = 0
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            name, _, rest = place.read_text().partition("(")[2].rpartition(")")
            if name == "nginx":
                ticks += sum(map(int, rest.split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def one_pair(number: int) -> dict[int, Figures]:
    """Crawl with one shard and with several, in an order that changes."""
    pair: dict[int, Figures] = {}
    for shards in (1, SHARDS) if number % 2 == 0 else (SHARDS, 1):
        pair[shards] = one_run(shards)
        told = "  ".join(f"{name} {value:.2f}" for name, value in pair[shards].items())
        print(f"pair {number + 1}, shards {shards}: {told}", flush=True)
    return pair


def ratios(pairs: list[dict[int, Figures]], name: str) -> list[float]:
    """Return, pair by pair, a figure of several shards over that of one."""
    return [round(pair[SHARDS][name] / pair[1][name], 3) for pair in pairs]


def ratio(pairs: list[dict[int, Figures]], name: str) -> float:
    """Return the median of the pairs' ratios."""
    return round(statistics.median(ratios(pairs, name)), 3)


def main() -> None:
    """Measure, print a table, keep the result."""
    bring_up()
    assert SHARDS > 1, "nothing to compare"
    pairs = [one_pair(number) for number in range(PAIRS)]
    arms = {
        shards: {
            name: round(statistics.median(pair[shards][name] for pair in pairs), 3)
            for name in pairs[0][1]
        }
        for shards in (1, SHARDS)
    }
    print(f"\n{'medians':28}{'1 shard':>12}{f'{SHARDS} shards':>12}{'ratio':>10}")
    for name in pairs[0][1]:
        one, many = arms[1][name], arms[SHARDS][name]
        times = ratio(pairs, name) if name != "others_cores" else float("nan")
        print(f"{name:28}{one:12.2f}{many:12.2f}{times:10.3f}")
    save(
        "shards",
        {
            "speedup": ratio(pairs, "pages_per_s"),
            "speedup_server_apart": round(SHARDS / ratio(pairs, "cpu_ms_per_page"), 3),
            "cpu_ratio": ratio(pairs, "cpu_ms_per_page"),
            "speedup_without_start": ratio(pairs, "pages_per_s_without_start"),
            "cpu_ratio_per_kb": ratio(pairs, "us_per_kb"),
            "speedup_pairs": ratios(pairs, "pages_per_s"),
            "cpu_ratio_pairs": ratios(pairs, "cpu_ms_per_page"),
            "shards": SHARDS,
            "pairs": PAIRS,
            "pages": PAGES,
            "one": arms[1],
            "many": arms[SHARDS],
            "time": "wall time of the whole command",
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
    )


if __name__ == "__main__":
    main()
