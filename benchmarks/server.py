"""How many plain pages does the fake web serve in a second of one core?

Every page is asked for once while the server has it to make (cold), then in rounds when it has it
ready (warm), over keep-alive connections from this process; gzip and chunked hosts included. The
server's CPU time is read from /proc, so that what else the machine does matters little.
"""

import os
import selectors
import socket
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from realweb import save

from gossamer.testing import FakeWeb, ServerProcess, read_log, serve_in_process

CONNECTIONS = 16
ROUNDS = 5
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def cpu_s(pid: int) -> float:
    """Return the CPU seconds that a process has used, its kernel time included."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def request(url: str) -> bytes:
    """Return the bytes that ask for a page."""
    parts = urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    head = f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\nUser-Agent: bench\r\n"
    return f"{head}Accept-Encoding: gzip\r\n\r\n".encode()


def ask_each(address: tuple[str, int], asks: list[bytes]) -> list[int]:
    """Ask for pages one by one, check each answer, and return the size of each."""
    sizes = []
    with socket.create_connection(address) as sock:
        for ask in asks:
            sock.sendall(ask)
            data = b""
            while not is_whole(data):
                data += sock.recv(1 << 18)
            assert data.startswith(b"HTTP/1.1 200 OK\r\n"), data[:200]
            sizes.append(len(data))
    return sizes


def is_whole(data: bytes) -> bool:
    """Tell whether an answer has arrived completely."""
    head, blank, body = data.partition(b"\r\n\r\n")
    if not blank:
        return False
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    return len(body) == int(length) if length else body.endswith(b"\r\n0\r\n\r\n")


def ask_all(address: tuple[str, int], asks: list[bytes], sizes: list[int]) -> int:
    """Ask for pages over several connections, one request at a time on each; return the bytes."""
    selector = selectors.DefaultSelector()
    todo = iter(zip(asks, sizes, strict=True))
    waiting: dict[socket.socket, int] = {}
    for _ in range(CONNECTIONS):
        sock = socket.create_connection(address)
        selector.register(sock, selectors.EVENT_READ)
        ask, waiting[sock] = next(todo)
        sock.sendall(ask)
    room, received = bytearray(1 << 20), 0
    while waiting:
        for key, _ in selector.select():
            sock = key.fileobj
            assert isinstance(sock, socket.socket)
            count = sock.recv_into(room)
            assert 0 < count <= waiting[sock], "an answer has another size than before"
            received += count
            waiting[sock] -= count
            if waiting[sock] == 0 and (following := next(todo, None)):
                ask, waiting[sock] = following
                sock.sendall(ask)
            elif waiting[sock] == 0:
                selector.unregister(sock)
                del waiting[sock]
                sock.close()
    selector.close()
    return received


def measure(server: ServerProcess, sizes: list[int]) -> dict[str, float]:
    """Return the figures of a cold pass and of the warm rounds."""
    pid, address = server.process.pid, ("127.0.0.1", server.port)
    asks = [request(url) for url in server.web.pages()]
    start_cpu = cpu_s(pid)
    assert ask_all(address, asks, sizes) == sum(sizes)
    cold_cpu = cpu_s(pid) - start_cpu
    start_cpu, start_at = cpu_s(pid), time.monotonic()
    for _ in range(ROUNDS):
        assert ask_all(address, asks, sizes) == sum(sizes)
    warm_s, warm_cpu = time.monotonic() - start_at, cpu_s(pid) - start_cpu
    served = ROUNDS * len(asks)
    visits = read_log(server.log)
    assert len(visits) == served + len(asks)
    assert all(visit.status == 200 for visit in visits)
    return {
        "pages_per_cpu_s": round(served / warm_cpu),
        "pages_per_s": round(served / warm_s),
        "cold_pages_per_cpu_s": round(len(asks) / cold_cpu),
        "kb_per_page": round(sum(sizes) / len(asks) / 1024, 1),
        "pages": served + len(asks),
    }


def main() -> None:
    """Measure, print a table, and end with one JSON object."""
    web = FakeWeb(seed=1, hosts=20, pages_per_host=100)
    with tempfile.TemporaryDirectory() as folder:
        with serve_in_process(web, Path(folder) / "first.tsv") as server:
            asks = [request(url) for url in server.web.pages()]
            sizes = ask_each(("127.0.0.1", server.port), asks)
            port = server.port
        # The same port, so that the links in the pages, and their sizes, are the same.
        with serve_in_process(web, Path(folder) / "visits.tsv", port=port) as server:
            figures = measure(server, sizes)
    for name, value in figures.items():
        print(f"{name:24} {value:>12,}")
    save("server", dict(figures))
    if figures["pages_per_cpu_s"] < 5000:
        sys.exit("the fake web serves fewer than 5,000 pages per CPU second")


if __name__ == "__main__":
    main()
