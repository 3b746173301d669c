"""How long does the server take for a row of links? `make bench-serve`.

The graph is that of a crawl of the real web (CRAWL names a folder that has one; else PAGES pages
are crawled). Random URLs of it are asked for over one connection that is kept open, in both
directions. Every answer is compared with the graph itself.
"""

import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

import numpy as np
from realweb import FLAGS, SEED, bring_up, save

from gossamer.graph import LinkOptions, OpenedGraph, build_graph, has_graph, links, opened

CRAWL = os.environ.get("CRAWL", "")
PAGES = int(os.environ.get("PAGES", "5000"))
REQUESTS = int(os.environ.get("REQUESTS", "20000"))
WARM_UP = 500
CHECKED_EVERY = 20
ROUNDS = 20
"""On a machine that others use, the round with the lowest p99 tells what the server does."""


def folder_of(place: Path) -> Path:
    """Return the folder of a crawl with a graph."""
    folder = Path(CRAWL) if CRAWL else place / "crawl"
    if not CRAWL:
        bring_up()
        words = [SEED, "--into", str(folder), "--max-pages", str(PAGES), *FLAGS, "--json"]
        run = [sys.executable, "-m", "gossamer", "crawl", *words]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not has_graph(folder):
        build_graph(folder)
    return folder


class Line:
    """A connection that is kept open: one request, one answer."""

    def __init__(self, address: str) -> None:
        place = urlsplit(address)
        self._host = place.netloc
        self._socket = socket.create_connection((place.hostname, place.port or 80))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def get(self, path: str) -> bytes:
        """Return the body of an answer."""
        self._socket.sendall(f"GET {path} HTTP/1.1\r\nHost: {self._host}\r\n\r\n".encode())
        data = self._socket.recv(1 << 16)
        while b"\r\n\r\n" not in data:
            data += self._socket.recv(1 << 16)
        head, _, body = data.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        while len(body) < length:
            body += self._socket.recv(1 << 20)
        return body


def ask(line: Line, graph: OpenedGraph, asked: list[tuple[str, str]]) -> tuple[list[float], int]:
    """Ask for rows one after another; return the seconds of each and how many links came."""
    took, count = [], 0
    for number, (url, direction) in enumerate(asked):
        path = f"/api/links?url={quote(url, safe='')}&direction={direction}"
        began = time.perf_counter()
        body = line.get(path)
        took.append(time.perf_counter() - began)
        found = json.loads(body)[direction]
        count += len(found)
        if number % CHECKED_EVERY == 0:
            wish = LinkOptions(direction="in" if direction == "in" else "out", limit=100)
            expected = links(graph, url, wish)
            assert expected is not None, url
            row = expected.incoming if direction == "in" else expected.outgoing
            assert row is not None, url
            assert found == row.urls, url
    return took, count


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Serve, ask, tell."""
    with tempfile.TemporaryDirectory() as place:
        folder = folder_of(Path(place))
        graph = opened(folder)
        draw = random.Random(1)
        pages = (
            np.flatnonzero(graph.pages) if graph.pages is not None else np.arange(graph.out.nodes)
        )
        urls = graph.words(np.array(draw.choices(pages.tolist(), k=REQUESTS + WARM_UP)))
        asked = [(url, draw.choice(("in", "out"))) for url in urls]
        command = [sys.executable, "-m", "gossamer", "serve", str(folder), "--port", "0"]
        with subprocess.Popen(
            [*command, "--json", "--no-build"], stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdout is not None
            line = Line(json.loads(server.stdout.readline())["address"])
            ask(line, graph, asked[:WARM_UP])
            before_s, began = cpu_s(server.pid), time.perf_counter()
            took, count = ask(line, graph, asked[WARM_UP:])
            wall_s, busy_s = time.perf_counter() - began, cpu_s(server.pid) - before_s
            server.terminate()
    tell(graph, took, {"links": count, "wall_s": wall_s, "server_cpu_s": busy_s})


def tell(graph: OpenedGraph, took: list[float], told: dict[str, float]) -> None:
    """Print the table and keep the figures."""
    p50, p90, p99, p999 = (float(one) * 1e3 for one in np.percentile(took, [50, 90, 99, 99.9]))
    rounds = np.array_split(np.array(took), ROUNDS)
    rows = {
        "p99_quiet_ms": min(float(np.percentile(one, 99)) for one in rounds) * 1e3,
        "p50_ms": p50,
        "p90_ms": p90,
        "p99_ms": p99,
        "p999_ms": p999,
        "max_ms": max(took) * 1e3,
        "requests_per_s": len(took) / sum(took),
        "cpu_us_per_request": told["server_cpu_s"] / len(took) * 1e6,
    }
    about = {
        "requests": len(took),
        "links_per_row": told["links"] / len(took),
        "nodes": graph.out.nodes,
        "arcs": graph.out.arcs,
    }
    print(f"{about['requests']:,} rows of {graph.out.nodes:,} nodes, {graph.out.arcs:,} arcs;")
    print(f"{about['links_per_row']:.1f} links per row, at most 100\n")
    for name, value in rows.items():
        print(f"{name:20} {value:12,.3f}")
    save("serve", {**rows, **about})


if __name__ == "__main__":
    main()
