"""A recording of a part of the local real web: every answer of some of its hosts, as sent.

It is closed: a crawl from its seeds ends by itself, with the same pages in any order. Hosts of the
web that are not recorded forbid everything in robots.txt, so that links to them are remembered and
queued, as in any crawl, but not asked for.
"""

import random
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

REQUEST = "GET {target} HTTP/1.1\r\nHost: {authority}\r\nAccept-Encoding: gzip\r\n{close}\r\n"
CLOSE = "Connection: close\r\n"
FORBIDDEN = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 26\r\n\r\n"
FORBIDDEN += b"User-agent: *\nDisallow: /\n"
OPEN_ROBOTS = ("open", "404")
RECEIVE_BYTES = 1 << 20


class Recording(Struct):
    """What is needed to play a crawl back."""

    addresses: dict[str, str]
    """Of every host of the web."""
    hosts: list[str]
    """Those that are recorded."""
    seeds: list[str]
    answers: dict[str, bytes]
    """URL → status line, header lines and body, chunk framing and content coding included."""

    def save(self, path: Path) -> None:
        """Write it to a file."""
        path.write_bytes(msgspec.msgpack.encode(self))


def load(path: Path) -> Recording:
    """Read a recording."""
    return msgspec.msgpack.decode(path.read_bytes(), type=Recording)


def begin(web: dict[str, Any], pages: int, dice: random.Random) -> Recording:
    """Return a recording without answers, of hosts that hold about so many pages together."""
    every = web["hosts"]
    free = sorted(name for name, host in every.items() if host["robots"] in OPEN_ROBOTS)
    dice.shuffle(free)
    chosen: list[str] = []
    held = 0
    for name in free:
        if held < pages and len(every[name]["pages"]) <= pages / 10:
            chosen.append(name)
            held += len(every[name]["pages"])
    return Recording(
        addresses={name: host["ip"] for name, host in every.items()},
        hosts=chosen,
        seeds=[f"http://{name}:{web['port']}/" for name in chosen],
        answers={},
    )


def record(recording: Recording, url: str) -> bytes:
    """Ask the web for a URL and keep the answer."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host not in recording.hosts:
        return FORBIDDEN
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    words = REQUEST.format(target=target, authority=parts.netloc, close=CLOSE)
    pieces = []
    with socket.create_connection((recording.addresses[host], parts.port or 80)) as line:
        line.sendall(words.encode())
        while piece := line.recv(RECEIVE_BYTES):
            pieces.append(piece)
    recording.answers[url] = b"".join(pieces)
    return recording.answers[url]
