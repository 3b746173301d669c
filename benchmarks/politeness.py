"""Is it polite, and is politeness free? 100,000 hosts, a gap of a second: `make bench-politeness`.

Two crawls of a crowd of small sites on the built-in web, each host with a name and a 127/8 address
of its own: one leaves every host alone for a second, the other (`--delay 0`) shows what the machine
can do. They take turns, so that both see the same machine, and every turn is the same number of
pages. In its turns the polite crawl is stopped, or killed with -9, half-way, and goes on. Judged by
the servers' own logs: gaps over all of it, restarts included, and pages per second of each turn
from its first request to its last. HOSTS, PAGES (of a turn) and ROUNDS in the environment change
the defaults.
"""

import json
import os
import platform
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from laboratory.crowd import Crowd, CrowdProcess, serve_crowd
from realweb import save

from gossamer.testing import (
    LoggedRequest,
    hits,
    most_connections,
    read_log,
    short_gaps,
    smallest_gap,
)

HOSTS = int(os.environ.get("HOSTS", "100000"))
PAGES = int(os.environ.get("PAGES", "20000"))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
WARM_PAGES = 3000
"""Enough to have found all hosts; not timed, since there is less to choose from at first."""
FEW = 200
GAP_S = 1.0
SHARE = 0.9
CONCURRENCY = 64
POLL_S = 0.02
ROBOTS = "/robots.txt"
ENDINGS = (signal.SIGTERM, signal.SIGKILL)
"""How the polite crawl's turns are broken off half-way, in turn."""


@dataclass(kw_only=True)
class Arm:
    """One crawl that takes turns with others: its web, its folder, and what its turns took."""

    name: str
    delay_s: float
    web: CrowdProcess
    folder: Path
    visits: list[list[LoggedRequest]] = field(default_factory=list)
    """By run."""
    cpu_s: float = 0.0
    restarts_s: list[float] = field(default_factory=list)
    """From the start of a process to its first request."""

    def run(self, pages: int, ending: int | None = None, at_visits: int = 0) -> None:
        """Crawl until so many pages are stored in all; or break it off after some requests."""
        offset = self.web.log.stat().st_size
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began_at = time.time()
        with self.folder.with_suffix(".err").open("a+") as words:
            process = subprocess.Popen(
                self.command(pages), stdout=subprocess.PIPE, stderr=words, text=True
            )
        while ending is not None and process.poll() is None and self.lines(offset) < at_visits:
            time.sleep(POLL_S)
        if ending is not None:
            assert process.poll() is None, f"{self.name}: ended before it could be broken off"
            process.send_signal(ending)
        told, _ = process.communicate()
        if process.returncode != {None: 0, signal.SIGTERM: 3}.get(ending, -9):
            sys.exit(f"exit {process.returncode}: {self.folder.with_suffix('.err').read_text()}")
        if process.returncode == 0:
            stored = json.loads(told.splitlines()[-1])["pages"]
            assert stored == pages, f"{self.name}: {stored} pages, expected {pages}"
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.cpu_s += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.visits.append(read_log(self.web.log, offset))
        self.restarts_s.append(self.visits[-1][0].at - began_at)

    def command(self, pages: int) -> list[str]:
        """Return the words that start the crawl, or go on with it."""
        knobs = self.folder.with_suffix(".toml")
        knobs.write_text(f'[fetch]\nnameservers = ["{self.web.nameserver}"]\n')
        gossamer = str(Path(sys.executable).parent / "gossamer")
        words = [gossamer, "crawl", *self.web.crowd.seeds, "--into", str(self.folder)]
        words += ["--config", str(knobs), "--scope", "any", "--allow", "*.test", "--allow-private"]
        words += ["--delay", str(self.delay_s), "--concurrency", str(CONCURRENCY), "--shards", "1"]
        return [*words, "--no-sitemaps", "--max-pages", str(pages), "--json"]

    def lines(self, offset: int) -> int:
        """Return how many requests the log has beyond an offset."""
        with self.web.log.open("rb") as log:
            log.seek(offset)
            return log.read().count(b"\n")

    def pages(self) -> int:
        """Return how many pages were asked for in the timed runs."""
        return sum(visit.target != ROBOTS for visits in self.visits[1:] for visit in visits)

    def pages_per_s(self) -> float:
        """Return pages asked for per second of the timed runs, their start-up left out."""
        return self.pages() / sum(visits[-1].at - visits[0].at for visits in self.visits[1:])

    def all_visits(self) -> list[LoggedRequest]:
        """Return every request, the untimed ones too."""
        return [visit for visits in self.visits for visit in visits]

    def figures(self) -> dict[str, float]:
        """Return what this crawl took."""
        visits = self.all_visits()
        return {
            "pages": self.pages(),
            "requests": len(visits),
            "hosts_asked": len({visit.host for visit in visits}),
            "connections": len({(visit.connection_id) for visit in visits}),
            "pages_per_s": round(self.pages_per_s(), 1),
            "cpu_ms_per_page": round(1e3 * self.cpu_s / self.pages(), 3),
        }


def take_turns(free: Arm, polite: Arm, few: Arm) -> None:
    """Let the crawls take turns, after a run of each that finds the hosts."""
    for arm in (free, polite, few):
        arm.run(WARM_PAGES)
        arm.cpu_s = 0.0
    few.run(WARM_PAGES + PAGES)
    for number in range(1, ROUNDS + 1):
        pages = WARM_PAGES + number * PAGES
        for arm in (free, polite) if number % 2 else (polite, free):
            ending = ENDINGS[number % len(ENDINGS)] if arm is polite else None
            if ending is not None:
                arm.run(pages, ending, at_visits=PAGES // 2)
            arm.run(pages)
        print(
            f"round {number}: {free.pages_per_s():.0f} pages/s free, "
            f"{polite.pages_per_s():.0f} polite",
            flush=True,
        )


def status_of(folder: Path) -> dict[str, float]:
    """Return what a stopped crawl says of itself, and how long it took to say it."""
    gossamer = str(Path(sys.executable).parent / "gossamer")
    began = time.perf_counter()
    told = subprocess.run(
        [gossamer, "status", str(folder), "--json"], check=True, capture_output=True, text=True
    ).stdout
    took_s = time.perf_counter() - began
    return {**json.loads(told.splitlines()[-1]), "took_s": took_s}


def arms(base: Path) -> Iterator[Arm]:
    """Start a web for each crawl: equal ones for the two that are compared."""
    crowd = Crowd(seed=1, hosts=HOSTS, pages_per_host=3, fan=320)
    few = Crowd(seed=1, hosts=FEW, pages_per_host=4 * (WARM_PAGES + PAGES) // FEW, slow_every=0)
    for name, delay_s, web in (("free", 0.0, crowd), ("polite", GAP_S, crowd), ("few", 0.0, few)):
        served = serve_crowd(web, base / f"{name}.tsv")
        yield Arm(name=name, delay_s=delay_s, web=served, folder=base / name)


def judged(free: Arm, polite: Arm, few: Arm) -> dict[str, object]:
    """Return the result."""
    status = status_of(polite.folder)
    assert status["hosts"] == HOSTS, status
    asked = polite.all_visits()
    again = [target for (_, target), n in hits(asked).items() for _ in range(n - 1)]
    kills = sum(ENDINGS[n % len(ENDINGS)] is signal.SIGKILL for n in range(1, ROUNDS + 1))
    pages_again = len(again) - again.count(ROBOTS)
    assert pages_again <= kills * CONCURRENCY, f"{pages_again} pages were asked for twice"
    bound = min(HOSTS / GAP_S, free.pages_per_s())
    return {
        "hosts": HOSTS,
        "gap_s": GAP_S,
        "short_gaps": short_gaps(asked, GAP_S),
        "smallest_gap_s": round(smallest_gap(asked), 4),
        "throughput_share": round(polite.pages_per_s() / bound, 3),
        "restarts": len(polite.visits) - 1,
        "kills": kills,
        "pages_repeated": pages_again,
        "robots_repeated": again.count(ROBOTS),
        "most_connections_of_a_host": most_connections(asked),
        "start_s": round(max(polite.restarts_s), 2),
        "status_s": round(status["took_s"], 2),
        "rss_mb": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024),
        "cpu_ratio_to_few_hosts": round(
            (polite.cpu_s / polite.pages()) / (few.cpu_s / few.pages()), 2
        ),
        "free": free.figures(),
        "polite": polite.figures(),
        f"few ({FEW} hosts)": few.figures(),
        "python": platform.python_version(),
    }


def main() -> None:
    """Measure, print a table, keep the result."""
    base = Path(tempfile.mkdtemp(prefix="gossamer-bench-"))
    free, polite, few = crawls = list(arms(base))
    try:
        take_turns(free, polite, few)
        result = judged(free, polite, few)
    finally:
        for arm in crawls:
            arm.web.stop()
        shutil.rmtree(base, ignore_errors=True)
    for arm in crawls:
        print(f"{arm.name:8}", "  ".join(f"{k} {v:,}" for k, v in arm.figures().items()))
    save("politeness", result)
    if result["short_gaps"] or float(str(result["throughput_share"])) < SHARE:
        sys.exit(f"expected no short gap and a share of {SHARE}")


if __name__ == "__main__":
    main()
