"""Hosts that share addresses, and a judge of the gaps that a crawl leaves at each of them.

A log says when a request was read, not when it was sent. So probes are sent to the same server all
the time, on a connection that is open, at moments that are known. A gap is too short if it is
shorter than promised by more than the worst delay of the probes in the seconds around it.
"""

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple

from gossamer.testing import FakeServer, LoggedRequest, ScriptedWeb

PROBE, PROBE_ADDRESS = "probe.test", "127.0.8.1"
PROBE_S = 0.05
AROUND_S = 2.0


class AddressGap(NamedTuple):
    """The time between two requests to one address, and how late requests were read then."""

    seconds: float
    late_s: float


def sharing_web(hosts: int, pages: int, addresses: int) -> ScriptedWeb:
    """Make small hosts that share so many addresses, and one for the probes."""
    web = ScriptedWeb()
    for number in range(hosts):
        host = web.host(f"h{number:02d}-site.test", f"127.0.9.{1 + number % addresses}")
        paths = [f"/p{page}" for page in range(pages)]
        host.page("/", text=f"{number}", links=paths)
        for path in paths:
            host.page(path, text=f"{number} {path}")
    web.host(PROBE, PROBE_ADDRESS).page("/")
    return web


def asked(server: FakeServer[ScriptedWeb]) -> list[LoggedRequest]:
    """Return the requests of the crawl in the order they were read."""
    return sorted((v for v in server.requests if v.host != PROBE), key=lambda v: v.at)


@contextmanager
def probing(server: FakeServer[ScriptedWeb]) -> Iterator[None]:
    """Send a request every now and then that says when it was due, from another process."""
    child = os.fork()
    if child == 0:
        _probe(server.web.port)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _probe(port: int) -> None:
    try:
        with socket.create_connection((PROBE_ADDRESS, port)) as line:
            while True:
                due_at = time.time() + PROBE_S
                time.sleep(PROBE_S)
                line.sendall(f"GET /?{due_at:.6f} HTTP/1.1\r\nHost: {PROBE}\r\n\r\n".encode())
                line.recv(65536)
    finally:
        os._exit(0)


def lateness(server: FakeServer[ScriptedWeb]) -> list[tuple[float, float]]:
    """Return when each probe was read, and how long after its moment."""
    probes = [v for v in server.requests if v.host == PROBE]
    return [(v.at, max(0.0, v.at - float(v.target.partition("?")[2]))) for v in probes]


def address_gaps(server: FakeServer[ScriptedWeb]) -> list[AddressGap]:
    """Return the times between any two requests of a crawl to one address."""
    late, visits, found = lateness(server), asked(server), []
    for address in {server.web.addresses[v.host] for v in visits}:
        moments = [v.at for v in visits if server.web.addresses[v.host] == address]
        for before, after in pairwise(moments):
            around = [by for at, by in late if before - AROUND_S < at < after + AROUND_S]
            found.append(AddressGap(after - before, max(around, default=0.0)))
    return found


def too_short(gaps: list[AddressGap], promised_s: float) -> list[AddressGap]:
    """Return the gaps that are shorter than promised by more than requests were late."""
    return [gap for gap in gaps if gap.seconds < promised_s - gap.late_s]
