"""Do all shards together keep the gap of an address, and is it free? `make bench-addresses`.

Twenty small hosts on 1, 2 and 4 addresses of 127/8, crawled by 1, 2 and 8 shards with the usual
delays: a second per host, a quarter of one per address. Each crawl is killed with -9 after a third
of its requests and goes on; after two thirds one of its shards is killed. Then twenty hosts with an
address each, by 1 and by 8 shards: the time between two requests to one host must not depend on
the number of shards. Judged by the server's log, as `laboratory.addresses` says.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import median

from laboratory.addresses import (
    PROBE,
    address_gaps,
    asked,
    lateness,
    probing,
    sharing_web,
    too_short,
)
from realweb import save

from gossamer.testing import FakeServer, ScriptedWeb, serve_in_thread

HOSTS = 20
PAGES = 2
GAP_S = 0.25
ADDRESSES = (1, 2, 4)
SHARDS = (1, 2, 8)
POLL_S = 0.005
PATIENCE_S = 240.0


def command(server: FakeServer[ScriptedWeb], folder: Path, shards: int) -> list[str]:
    """Return the words that start a crawl, or go on with it."""
    names = [name for name in server.web.addresses if name != PROBE]
    words = [sys.executable, "-m", "gossamer", "crawl", *(server.web.host(n).url() for n in names)]
    words += [
        "--into",
        str(folder),
        "--scope",
        "host",
        "--allow-net",
        "127.0.0.0/8",
        "--no-sitemaps",
    ]
    for name in names:
        words += ["--resolve", f"{name}:{server.web.addresses[name]}"]
    return [*words, "--shards", str(shards), "--json"]


def wait_for(server: FakeServer[ScriptedWeb], count: int, process: subprocess.Popen[str]) -> None:
    """Wait until the server has read so many requests."""
    deadline = time.monotonic() + PATIENCE_S
    while len(asked(server)) < count:
        assert process.poll() is None, "the crawl ended early"
        assert time.monotonic() < deadline, "the crawl does not go on"
        time.sleep(POLL_S)


def start(words: list[str]) -> subprocess.Popen[str]:
    """Start a command; what it says to people is not wanted."""
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def crawl(server: FakeServer[ScriptedWeb], folder: Path, shards: int, *, is_killed: bool) -> None:
    """Crawl to the end, with kills on the way."""
    words = command(server, folder, shards)
    whole = HOSTS * (PAGES + 2)
    if is_killed:
        process = start(words)
        wait_for(server, whole // 3, process)
        process.kill()
        process.communicate()
    process = start(words)
    if is_killed and shards > 1:
        wait_for(server, 2 * whole // 3, process)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGKILL)
    told, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, told
    status = json.loads(told.splitlines()[-1])
    assert status["pages"] == HOSTS * (PAGES + 1), status


def judged(server: FakeServer[ScriptedWeb]) -> dict[str, float]:
    """Return what the log says of the gaps of addresses."""
    gaps, visits = address_gaps(server), asked(server)
    return {
        "requests": len(visits),
        "seconds": round(visits[-1].at - visits[0].at, 2),
        "gaps": len(gaps),
        "too_short": len(too_short(gaps, GAP_S)),
        "below_gap": sum(gap.seconds < GAP_S for gap in gaps),
        "smallest_ms": round(1e3 * min(gap.seconds for gap in gaps), 1),
        "latest_probe_ms": round(1e3 * max(by for _, by in lateness(server)), 1),
    }


def host_interval_s(server: FakeServer[ScriptedWeb]) -> float:
    """Return the usual time between two requests to one host."""
    visits = asked(server)
    hosts = {v.host for v in visits}
    moments = ([v.at for v in visits if v.host == host] for host in hosts)
    return median(b - a for of_host in moments for a, b in pairwise(of_host))


def main() -> None:
    """Measure, print a table, keep the result."""
    base = Path(tempfile.mkdtemp(prefix="gossamer-bench-"))
    shared: dict[str, dict[str, float]] = {}
    own: dict[str, dict[str, float]] = {}
    try:
        for addresses in ADDRESSES:
            for shards in SHARDS:
                name = f"{addresses} addresses, {shards} shards"
                with (
                    serve_in_thread(sharing_web(HOSTS, PAGES, addresses)) as server,
                    probing(server),
                ):
                    crawl(server, base / name.replace(" ", ""), shards, is_killed=True)
                    shared[name] = judged(server)
                print(name, shared[name], flush=True)
        for shards in (1, 8):
            with serve_in_thread(sharing_web(HOSTS, PAGES, HOSTS)) as server:
                crawl(server, base / f"own{shards}", shards, is_killed=False)
                visits = asked(server)
                own[f"{shards} shards"] = {
                    "host_interval_s": round(host_interval_s(server), 3),
                    "seconds": round(visits[-1].at - visits[0].at, 2),
                }
            print("own addresses,", shards, "shards", own[f"{shards} shards"], flush=True)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    result: dict[str, object] = {
        "hosts": HOSTS,
        "gap_s": GAP_S,
        "too_short": sum(found["too_short"] for found in shared.values()),
        "host_interval_ratio": round(
            own["8 shards"]["host_interval_s"] / own["1 shards"]["host_interval_s"], 3
        ),
        "shared": shared,
        "own": own,
    }
    save("addresses", result)


if __name__ == "__main__":
    main()
