"""How long do pages of the console take beside a crawl at full speed? `make bench-console`.

One shard crawls the real web without a delay; `gossamer serve` has its pages asked for in turn,
each kind ASKED times, while the overview's figures are asked for every two seconds as its script
does. Of each page: the wall time; how much of it server and crawl waited for a core (the run delay
of /proc/PID/schedstat: on a machine that others use that is most of it); the server's CPU; and the
CPU that the crawl counts for its answers, as a share of its own. With OLD=src (another version's
source folder) both versions take turns, ROUNDS times each.
"""

import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import numpy as np
from realweb import FLAGS, SEED, bring_up, save

import gossamer

OLD = os.environ.get("OLD", "")
ROUNDS = int(os.environ.get("ROUNDS", "1"))
ASKED = int(os.environ.get("ASKED", "12"))
FIRST_PAGES = int(os.environ.get("FIRST_PAGES", "1500"))
"""So many are stored before the first question."""
LIVE_S, PATIENCE_S = 2.0, 300.0
TICKS = os.sysconf("SC_CLK_TCK")
_ANSWERED = re.compile(r"^gossamer_crawl_control_cpu_seconds_total (\S+)", re.MULTILINE)


class Served(NamedTuple):
    """One page that was asked for."""

    kind: str
    wall_s: float
    server_wait_s: float
    crawl_wait_s: float
    cpu_s: float


class Process:
    """What the kernel counts of a process."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def waited_s(self) -> float:
        """Return how long its threads have waited for a core."""
        return sum(int(one[1]) for one in self._schedules()) / 1e9

    def ran_s(self) -> float:
        """Return how long its threads have run."""
        return sum(int(one[0]) for one in self._schedules()) / 1e9

    def _schedules(self) -> Iterator[list[str]]:
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            try:
                yield (task / "schedstat").read_text().split()
            except OSError:  # the thread has ended
                continue


class Line:
    """A connection that is kept open: one request, one answer."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._line = HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE_S)

    def get(self, path: str) -> bytes:
        """Return the body of an answer; a URL that was never met is 404."""
        self._line.request("GET", path)
        answer = self._line.getresponse()
        body = answer.read()
        assert answer.status in {200, 404}, (path, answer.status, body[:500])
        return body


def crawl_pid(folder: Path) -> int:
    """Return the process that listens at a crawl's control socket."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(folder / "control.sock"))
        found = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int(struct.unpack("3i", found)[0])


def environment(source: str) -> dict[str, str]:
    """Return the environment in which the commands are those of a source folder."""
    return {**os.environ, "PYTHONPATH": source} if source else dict(os.environ)


@contextmanager
def running(words: list[str], source: str, **options: int) -> "Iterator[subprocess.Popen[str]]":
    """Run a command until the block ends."""
    command = [sys.executable, "-m", "gossamer", *words]
    with subprocess.Popen(command, text=True, env=environment(source), **options) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE_S)


def asked_of(folder: Path) -> dict[str, list[str]]:
    """Return the paths that are asked for, by kind of page."""
    draw = random.Random(115)
    crawl = gossamer.open(folder)
    rows = [*islice(crawl.urls(states=["archived"], anchors=False), 2000)]
    queued = [*islice(crawl.urls(states=["queued"], anchors=False), 200)]
    crawl.close()
    urls = [quote(one.url, safe="") for one in draw.sample(rows, min(ASKED, len(rows)))]
    hosts = sorted({one.url.split("/")[2].partition(":")[0] for one in rows})
    plain = ("", "/problems", "/urls?state=failed", "/hosts", "/changes", "/copies", "/seeds")
    return {
        **{f"crawl{path}": [f"/crawl{path}"] * ASKED for path in (*plain, "/rules")},
        "host": [f"/crawl/host?host={one}" for one in draw.sample(hosts, min(ASKED, len(hosts)))],
        "stored URL": [f"/page?url={one}" for one in urls],
        "queued URL": [f"/page?url={quote(one.url, safe='')}" for one in queued[:ASKED]],
        "never met": [f"/page?url={quote(f'{SEED}none/{n}', safe='')}" for n in range(ASKED)],
        "stored copy": [f"/copy?form=page&url={one}" for one in urls],
    }


def wait_for(folder: Path) -> None:
    """Wait until a crawl has stored some pages."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if (folder / "control.sock").exists():
            status = gossamer.open(folder).status()
            if status.running and status.pages >= FIRST_PAGES:
                return
        time.sleep(0.5)
    sys.exit("the crawl does not come to speed")


def arm(source: str) -> tuple[list[Served], float]:
    """Ask for all pages beside a crawl; return them, and the crawl's share for its answers."""
    with tempfile.TemporaryDirectory(prefix="console-") as place:
        folder, quiet = Path(place) / "crawl", subprocess.DEVNULL
        crawling = ["crawl", SEED, "--into", str(folder), "--shards", "1", *FLAGS, "--json"]
        serving = ["serve", str(folder), "--port", "0", "--json", "--no-build", "--memory-mb", "0"]
        with running(crawling, source, stdout=quiet, stderr=quiet):
            wait_for(folder)
            with running(serving, source, stdout=subprocess.PIPE, stderr=quiet) as server:
                assert server.stdout is not None
                line = Line(json.loads(server.stdout.readline())["address"])
                crawl = Process(crawl_pid(folder))
                return measured(line, Process(server.pid), crawl, asked_of(folder))


def measured(
    line: Line, server: Process, crawl: Process, asked: dict[str, list[str]]
) -> tuple[list[Served], float]:
    """Return the pages, and the share of the crawl's CPU that its answers took."""
    for kind in asked:  # what is loaded once
        line.get(asked[kind][0])
    stop, other = Event(), Line(line.address)

    def refresh() -> None:
        while not stop.wait(LIVE_S):
            other.get("/crawl/live")

    Thread(target=refresh, daemon=True).start()
    found, ran_s, told_s = [], crawl.ran_s(), answered_s(line)
    for turn in range(ASKED):
        for kind, paths in asked.items():
            if turn >= len(paths):
                continue
            before = server.waited_s(), crawl.waited_s(), server.ran_s()
            began = time.perf_counter()
            line.get(paths[turn])
            wall_s = time.perf_counter() - began
            after = server.waited_s(), crawl.waited_s(), server.ran_s()
            parts = (b - a for a, b in zip(before, after, strict=True))
            found.append(Served(kind, wall_s, *parts))
            time.sleep(0.05)
    stop.set()
    share = (answered_s(line) - told_s) / (crawl.ran_s() - ran_s)
    return found, share


def answered_s(line: Line) -> float:
    """Return the CPU that the crawl has spent on answers, as it counts it."""
    told = _ANSWERED.search(line.get("/metrics").decode())
    return float(told[1]) if told else 0.0


def summary(name: str, pages: list[Served]) -> dict[str, float]:
    """Print how long each kind of page took; return the figures of all."""
    kinds: dict[str, list[Served]] = defaultdict(list)
    for one in pages:
        kinds[one.kind].append(one)
    print(f"{name:20}{'p50 ms':>8}{'p95':>8}{'less waits p50':>16}{'p95':>8}{'CPU ms':>8}")
    for kind, some in (*kinds.items(), ("all", pages)):
        wall = np.array([one.wall_s for one in some]) * 1e3
        own = np.array([one.wall_s - one.server_wait_s - one.crawl_wait_s for one in some]) * 1e3
        cpu = np.mean([one.cpu_s for one in some]) * 1e3
        figures = [*np.percentile(wall, [50, 95]), *np.percentile(own.clip(0.0), [50, 95]), cpu]
        print("{:20}{:8.1f}{:8.1f}{:16.1f}{:8.1f}{:8.1f}".format(kind, *figures))
    names = ("p50_ms", "p95_ms", "own_p50_ms", "own_p95_ms", "cpu_ms")
    return {label: round(float(value), 1) for label, value in zip(names, figures, strict=True)}


def main() -> None:
    """Measure, and keep the result."""
    bring_up()
    arms = {"before": OLD, "now": ""} if OLD else {"now": ""}
    pages: dict[str, list[Served]] = defaultdict(list)
    shares: dict[str, list[float]] = defaultdict(list)
    for _ in range(ROUNDS):
        for name, source in arms.items():
            some, share = arm(source)
            pages[name] += some
            shares[name].append(share)
            print(f"load {os.getloadavg()[0]:.1f}", flush=True)
    result: dict[str, object] = {}
    for name in arms:
        prefix = "" if name == "now" else f"{name}_"
        result |= {f"{prefix}{key}": value for key, value in summary(name, pages[name]).items()}
        result[f"{prefix}share"] = round(float(np.mean(shares[name])), 5)
    result |= {"asked": len(pages["now"]), "load": round(os.getloadavg()[0], 1)}
    save("console", result)


if __name__ == "__main__":
    main()
