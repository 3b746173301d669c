"""What is asked for again comes from memory: how long do stored copies and searches take?

`make bench-popular`. The crawl is one of the real web with an index (CRAWL names a folder that has
one; else PAGES pages are crawled). ASKED pages are asked for in four forms, and as many queries,
the titles of pages, each three times: the first time they come from the disk, then from memory.
The answers of all three must be alike. The other arm is `--memory-mb 0`, in which nothing is kept.
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from urllib.parse import quote

import numpy as np
from realweb import FLAGS, SEED, bring_up, save
from serve import Line

import gossamer

CRAWL = os.environ.get("CRAWL", "")
PAGES = int(os.environ.get("PAGES", "3000"))
ASKED = int(os.environ.get("ASKED", "300"))
ROUNDS = 3
FORMS = ("text", "page", "markdown", "source")
GOSSAMER = [sys.executable, "-m", "gossamer"]
_TOOK = re.compile(rb"[\d.,]+ ?(?:ms|s)\b|key=[0-9a-f]+")
"""What differs between two answers of one kind: the time they took, and what signs an address."""

Times = dict[tuple[str, int], list[float]]


def folder_of(place: Path) -> Path:
    """Return the folder of a crawl with an index."""
    folder = Path(CRAWL) if CRAWL else place / "crawl"
    if not CRAWL:
        bring_up()
        words = [SEED, "--into", str(folder), "--max-pages", str(PAGES), *FLAGS, "--json"]
        quiet = subprocess.DEVNULL
        subprocess.run([*GOSSAMER, "crawl", *words], check=True, stdout=quiet, stderr=quiet)
    crawl = gossamer.open(folder)
    if not crawl.has_index():
        crawl.build_index()
    crawl.close()
    return folder


def asked_of(folder: Path) -> dict[str, list[str]]:
    """Return the paths that are asked for, by kind."""
    rng = random.Random(22)
    crawl = gossamer.open(folder)
    pages = [one for one in crawl.pages() if one.media_type == "text/html" and one.title]
    chosen = rng.sample(pages, min(ASKED, len(pages)))
    crawl.close()
    found = {
        form: [f"/copy?form={form}&url={quote(one.url, safe='')}" for one in chosen]
        for form in FORMS
    }
    found["search"] = [f"/search?q={quote(one.title[:60], safe='')}" for one in chosen]
    return found


def ask(line: Line, asked: dict[str, list[str]]) -> Times:
    """Ask for everything ROUNDS times; return the seconds by kind and round."""
    took: Times = defaultdict(list)
    for kind, paths in asked.items():
        before: list[bytes] = []
        for turn in range(ROUNDS):
            bodies = []
            for path in paths:
                began = time.perf_counter()
                body = line.get(path)
                took[kind, turn].append(time.perf_counter() - began)
                bodies.append(_TOOK.sub(b"", body))
            assert not before or bodies == before, kind
            before = bodies
    return took


def arm(folder: Path, asked: dict[str, list[str]], memory_mb: int) -> tuple[Times, str]:
    """Serve with so much memory; return how long the answers took, and the metrics."""
    flags = ["--port", "0", "--json", "--no-build", "--memory-mb", str(memory_mb)]
    command = [*GOSSAMER, "serve", str(folder), *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        line = Line(json.loads(server.stdout.readline())["address"])
        line.get("/search?q=warm")
        took = ask(line, asked)
        metrics = line.get("/metrics").decode()
        server.terminate()
    return took, metrics


def main() -> None:
    """Measure both arms, and keep the result."""
    with tempfile.TemporaryDirectory(prefix="popular-") as place:
        folder = folder_of(Path(place))
        asked = asked_of(folder)
        arms = {name: arm(folder, asked, size) for name, size in (("memory", 256), ("disk", 0))}
    result: dict[str, object] = {"asked": sum(map(len, asked.values()))}
    print(f"{'':10} {'':8} {'p50 ms':>8} {'p99 ms':>8}")
    for kind in asked:
        for name, (took, _) in arms.items():
            again = [one for turn in range(1, ROUNDS) for one in took[kind, turn]]
            p50, p99 = (float(one) * 1e3 for one in np.percentile(again, [50, 99]))
            print(f"{kind:10} {name:8} {p50:8.2f} {p99:8.2f}")
            result |= {
                f"{kind}_{name}_p50_ms": round(p50, 3),
                f"{kind}_{name}_p99_ms": round(p99, 3),
            }
    counted = dict(
        line.rsplit(" ", 1)
        for line in arms["memory"][1].splitlines()
        if line.startswith("gossamer_cache")
    )
    for kind in ("stored", "search"):
        hits, misses = (
            int(counted[f'gossamer_cache_{name}_total{{kind="{kind}"}}'])
            for name in ("hits", "misses")
        )
        result[f"{kind}_hit_rate"] = round(hits / (hits + misses), 3)
    print({name: value for name, value in result.items() if name.endswith("rate")})
    save("popular", result)


if __name__ == "__main__":
    main()
