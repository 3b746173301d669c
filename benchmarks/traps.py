"""Does a crawl endure traps, and is nothing honest mistaken for one? `make bench-traps`.

Crawls of honest sites of 1,000 pages with five traps (a word maze, paths that go round, a calendar,
session ids, a domain that makes up hosts), as folders of the honest host and as hosts of their own,
with the traps that the rules were made with and with others that were written afterwards. Then
archives of 10,000 numbered pages, and a part of the real web, on which every stop is a false one.
Judged by the server's log. PAGES (of an archive) and REAL_PAGES (0 leaves the real web out) in the
environment change the defaults.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from laboratory.snares import ServedSnares, SnareWeb, serve_snares
from realweb import FLAGS, SEED, bring_up, save

PAGES = int(os.environ.get("PAGES", "10000"))
REAL_PAGES = int(os.environ.get("REAL_PAGES", "20000"))
HONEST_PAGES = 1000
PER_INDEX = 100
FEW = 50
"""Honest pages around an archive."""
HONEST = ("woven", "worded", "tree")
FIRST = ("flat", "loop", "calendar", "shop")
SECOND = ("tarpit", "listing", "events", "portal")
ARCHIVES = ("indexed", "index_chain", "chained", "dated")
LIMIT_S = 900


class Endured(NamedTuple):
    """What the server saw of one crawl."""

    honest: int
    requests: int
    by_snare: Counter[str]
    status: dict[str, object]

    @property
    def share(self) -> float:
        """Return the share of all requests that went to traps."""
        return sum(self.by_snare.values()) / self.requests


def crawl(seed: str, folder: Path, *flags: str) -> dict[str, object]:
    """Crawl to the end and return the status."""
    command = [sys.executable, "-m", "gossamer", "crawl", seed, "--into", str(folder), *FLAGS]
    done = subprocess.run(
        [*command, "--shards", "1", "--json", *flags],
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT_S,
    )
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def endure(web: SnareWeb) -> Endured:
    """Crawl a web of snares."""
    with serve_snares(web) as served, tempfile.TemporaryDirectory() as place:
        knobs = Path(place) / "knobs.toml"
        knobs.write_text(f'[fetch]\nnameservers = ["{served.nameserver}"]\n')
        status = crawl(served.web.seeds[0], Path(place) / "crawl", "--config", str(knobs))
        assert status["finished"], "the crawl did not end by itself"
        return judged(served, status)


def judged(served: ServedSnares, status: dict[str, object]) -> Endured:
    """Count what the server saw."""
    visits = served.server.requests
    snares = Counter(served.web.snare_of(visit.host, visit.target) for visit in visits)
    honest = {
        visit.target
        for visit in visits
        if visit.status == 200 and not served.web.snare_of(visit.host, visit.target)
    }
    del snares[""]
    return Endured(len(honest), len(visits), snares, status)


def s5() -> dict[str, float]:
    """Run all crawls with traps; return the worst of each figure."""
    runs: list[Endured] = []
    print(f"{'honest':8} {'traps':8} {'places':8} {'honest':>7} {'traps':>6} {'share':>6}  by trap")
    for honest in HONEST:
        for name, snares in (("first", FIRST), ("second", SECOND)):
            for are_hosts in (False, True):
                web = SnareWeb(honest=honest, snares=snares, are_hosts=are_hosts)
                run = endure(web)
                runs.append(run)
                places = "hosts" if are_hosts else "folders"
                told = ", ".join(f"{snare} {n}" for snare, n in run.by_snare.most_common())
                traps = sum(run.by_snare.values())
                figures = f"{run.honest:7} {traps:6} {run.share:6.3f}"
                print(f"{honest:8} {name:8} {places:8} {figures}  {told}")
    return {
        "honest_coverage": min(run.honest for run in runs) / HONEST_PAGES,
        "trap_share": max(run.share for run in runs),
        "most_per_trap_host": max(max(run.by_snare.values()) for run in runs),
    }


def archives() -> float:
    """Crawl archives beside traps; return the least share of their pages that was had."""
    shares = []
    for kind in ARCHIVES:
        web = SnareWeb(honest="tree", honest_pages=FEW, archive=kind, archive_pages=PAGES)
        expected = FEW + PAGES
        if kind.startswith("index"):
            expected += 1 + -(-PAGES // PER_INDEX)
        run = endure(web)
        shares.append(min(1.0, run.honest / expected))
        print(f"archive {kind:12} {run.honest} of {expected}")
    return min(shares)


def false_stops() -> int:
    """Crawl a part of the real web; return how many parts of it were closed."""
    with tempfile.TemporaryDirectory() as place:
        status = crawl(SEED, Path(place) / "crawl", "--max-pages", str(REAL_PAGES))
    notes = status["traps"]
    assert isinstance(notes, list)
    closed = [note for note in notes if note["reason"]]
    for note in closed:
        print(f"closed on the real web: {note['detail']}")
    print(f"real web: {status['pages']} pages, {len(closed)} stops, {len(notes)} looked at")
    return len(closed)


def main() -> None:
    """Measure, print, and keep the result."""
    if REAL_PAGES:
        bring_up()  # fails now, not after an hour, where the real web is missing
    result: dict[str, object] = {**s5(), "archive_pages": PAGES, "archive_coverage": archives()}
    if REAL_PAGES:
        result |= {"real_pages": REAL_PAGES, "false_stops_realweb": false_stops()}
    save("traps", result)


if __name__ == "__main__":
    main()
