"""Does one slow host cost another? Good ones beside bad ones: `make bench-slow-hosts`.

A server on loopback, a 127/8 address and a name for each host. Good hosts answer at once. Hanging
ones accept the connection and never answer; dripping ones send a byte a second. Every crawl lasts
LASTS_S; with the usual concurrency and with 64, the good hosts are crawled alone, beside as many
hanging and beside as many dripping ones, in turn; and once beside five times as many hanging hosts
as the usual concurrency. The seeds are shuffled, so that a crawl does not know which hosts are
good. Judged by the server's log: pages of good hosts per second, from the crawl's first request on.
HOSTS, LASTS_S, ROUNDS and CONCURRENCY (in the place of the usual one) change the defaults.
"""

import asyncio
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import median
from typing import NamedTuple

from realweb import save

from gossamer.config import Config

HOSTS = int(os.environ.get("HOSTS", "300"))
LASTS_S = float(os.environ.get("LASTS_S", "60"))
ROUNDS = int(os.environ.get("ROUNDS", "1"))
USUAL = int(os.environ.get("CONCURRENCY", str(Config().concurrency)))
FEW = 64
FLOOD = 5
"""Times as many hanging hosts as there are slots."""
GAP_S = 2.0
EARLY = 0.95
PAGES = 200
"""Of a good host: more than a crawl can get."""
DRIP_S = 1.0
FLUSH_S = 0.2
MIB = 2**20

_REQUEST = re.compile(rb"GET (\S+) HTTP/1.1\r\nHost: ([a-z0-9.-]+)", re.IGNORECASE)
_DRIP_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n\r\n"


class Visit(NamedTuple):
    """A request as the server saw it."""

    at: float
    host: str
    target: str


class Server(asyncio.Protocol):
    """One connection: how it behaves is in the name of the host that is asked for."""

    log: list[str]
    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the way back."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.received = b""

    def data_received(self, data: bytes) -> None:
        """Answer a request that has come whole, or do not."""
        self.received += data
        if not self.received.endswith(b"\r\n\r\n"):
            return
        asked = _REQUEST.match(self.received)
        assert asked is not None, self.received
        self.received = b""
        target, host = (part.decode() for part in asked.groups())
        self.log.append(f"{time.time()} {host} {target}\n")
        if host.startswith("good"):
            self.transport.write(answer(host, target))
        elif host.startswith("drip"):
            self.transport.write(_DRIP_HEAD)
            self.drip()

    def drip(self) -> None:
        """Send a byte, and another one later."""
        if not self.transport.is_closing():
            self.transport.write(b"x")
            asyncio.get_running_loop().call_later(DRIP_S, self.drip)


def answer(host: str, target: str) -> bytes:
    """Return what a good host says."""
    if target == "/robots.txt":
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    links = "".join(f'<a href="/{n}">{n}</a>' for n in range(PAGES)) if target == "/" else ""
    body = f"<title>{host}{target}</title><p>{host} says {target}</p>{links}".encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def serve(log: Path) -> None:
    """Serve until the process is ended; the first line of the log is the port."""
    Server.log = []
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Server, "0.0.0.0", 0, backlog=4096)
    with log.open("w") as file:
        file.write(f"{server.sockets[0].getsockname()[1]}\n")
        while True:
            file.flush()
            await asyncio.sleep(FLUSH_S)
            lines, Server.log = Server.log, []
            file.writelines(lines)


@contextmanager
def served(folder: Path) -> Iterator[tuple[int, Path]]:
    """Serve in a process of its own; give the port and the log."""
    log = folder / "server.log"
    process = subprocess.Popen([sys.executable, __file__, "serve", str(log)])
    try:
        while not (log.exists() and log.read_bytes().endswith(b"\n")):
            assert process.poll() is None, "the server has ended"
            time.sleep(FLUSH_S)
        yield int(log.read_text()), log
    finally:
        process.kill()
        process.wait()


class Crawled(NamedTuple):
    """What came of a crawl."""

    pages_per_s: float
    hosts: int
    """Good ones that a page was had of."""
    last_s: float
    """When the last of them had its first request."""
    bad_requests: int
    cpu_ms_per_page: float
    rss_mb: float
    growth_mb: float
    """Of the most memory, from the first half of the crawl to the second."""


def names(kind: str, count: int, net: int) -> dict[str, str]:
    """Return hosts of a kind, and an address for each."""
    return {f"{kind}{n}.test": f"127.{net}.{n // 250}.{n % 250 + 1}" for n in range(count)}


def crawl(folder: Path, concurrency: int, kind: str, count: int) -> Crawled:
    """Crawl the good hosts beside so many of a kind, for a while."""
    hosts = names("good", HOSTS, 1) | names(kind, count, 2)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with served(folder) as (port, log):
        seeds = [f"http://{host}:{port}/" for host in hosts]
        Random(7).shuffle(seeds)
        knobs = folder / "knobs.toml"
        lines = [f'"{host}" = "{address}"' for host, address in hosts.items()]
        knobs.write_text("[fetch.resolve]\n" + "\n".join(lines) + "\n")
        gossamer = str(Path(sys.executable).parent / "gossamer")
        words = [gossamer, "crawl", *seeds, "--into", str(folder / "crawl"), "--config", str(knobs)]
        words += ["--allow-net", "127.0.0.0/8", "--delay", str(GAP_S), "--no-sitemaps"]
        words += ["--concurrency", str(concurrency), "--shards", "1", "--json"]
        words += ["--max-time", str(LASTS_S)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with (folder / "errors").open("w") as errors:
            process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True)
        memory = list(memory_of(process))
        told, _ = process.communicate()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert process.returncode == 0, (folder / "errors").read_text()
        time.sleep(2 * FLUSH_S)
        visits = read_visits(log)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return judged(visits, memory, cpu_s, json.loads(told.splitlines()[-1])["pages"])


def memory_of(process: subprocess.Popen[str]) -> Iterator[float]:
    """Yield the memory of a process four times a second, in MiB, until it ends."""
    statm = Path(f"/proc/{process.pid}/statm")
    while process.poll() is None:
        try:
            pages = int(statm.read_text().split()[1])
        except (OSError, IndexError):
            break
        yield pages * resource.getpagesize() / MIB
        time.sleep(0.25)


def read_visits(log: Path) -> list[Visit]:
    """Return the requests in a log, in order."""
    rows = [line.split() for line in log.read_text().splitlines()[1:]]
    return [Visit(float(at), host, target) for at, host, target in rows]


def judged(visits: list[Visit], memory: list[float], cpu_s: float, pages: int) -> Crawled:
    """Return the figures of a crawl, after its work was checked."""
    began_at, half = visits[0].at, len(memory) // 2
    good = [visit for visit in visits if visit.host.startswith("good")]
    in_time = [visit for visit in good if visit.at < began_at + LASTS_S]
    asked = [visit for visit in in_time if visit.target != "/robots.txt"]
    by_host: dict[str, list[float]] = {}
    for visit in visits:
        by_host.setdefault(visit.host, []).append(visit.at)
    gaps = [after - before for moments in by_host.values() for before, after in pairwise(moments)]
    assert min(gaps, default=GAP_S) >= EARLY * GAP_S, f"a gap of {min(gaps)} s"
    assert len({(visit.host, visit.target) for visit in good}) == len(good), "a page asked twice"
    assert 0.9 * len(asked) <= pages <= len(good), f"{pages} pages stored, {len(asked)} asked for"
    firsts = [min(moments) for host, moments in by_host.items() if host.startswith("good")]
    assert len(firsts) == HOSTS, f"{len(firsts)} good hosts of {HOSTS} were asked"
    return Crawled(
        pages_per_s=round(len(asked) / LASTS_S, 1),
        hosts=len({visit.host for visit in asked}),
        last_s=round(max(firsts) - began_at, 1),
        bad_requests=len(visits) - len(good),
        cpu_ms_per_page=round(1e3 * cpu_s / max(1, pages), 2),
        rss_mb=round(max(memory)),
        growth_mb=round(max(memory[half:]) - max(memory[:half]), 1),
    )


def alone(name: str) -> str:
    """Return the name of the runs without slow hosts that others are compared with."""
    return f"{name.partition('_')[0]}_alone"


def main() -> None:
    """Let the crawls take turns, and compare."""
    runs: dict[str, list[Crawled]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            for slots, label in ((USUAL, "usual"), (FEW, "few")):
                for kind, count in (("alone", 0), ("hang", HOSTS), ("drip", HOSTS)):
                    runs.setdefault(f"{label}_{kind}", []).append(
                        crawl(Path(folder) / "web", slots, kind, count)
                    )
                    print(number, slots, kind, runs[f"{label}_{kind}"][-1], flush=True)
            flood = crawl(Path(folder) / "web", USUAL, "hang", FLOOD * USUAL)
            runs.setdefault("usual_flood", []).append(flood)
            print(number, USUAL, "flood", flood, flush=True)
    speed = {name: median(run.pages_per_s for run in found) for name, found in runs.items()}
    memory = {name: max(run.rss_mb for run in found) for name, found in runs.items()}
    shares = {
        name: round(value / speed[alone(name)], 3)
        for name, value in speed.items()
        if not name.endswith("alone")
    }
    result: dict[str, object] = {
        "hosts": HOSTS,
        "concurrency": USUAL,
        "few": FEW,
        "flood_hosts": FLOOD * USUAL,
        "seconds": LASTS_S,
        "runs": {name: [run._asdict() for run in found] for name, found in runs.items()},
        "extra_mb": max(memory[name] - memory[alone(name)] for name in memory),
        **{f"{name}_share": share for name, share in shares.items()},
        "smallest_share": min(shares.values()),
    }
    save("slow-hosts", result)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(serve(Path(sys.argv[2])))
    else:
        main()
