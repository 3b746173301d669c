"""CPU of a fetch over a new TLS connection, and over one that resumes a session: `make bench-tls`.

Our own Fetcher, verification on, asks a server in another process, whose CPU is not counted. Every
host has an address of its own and closes after its answer, so that every fetch makes a connection.
The chain is the web's usual one: a P-256 certificate from an intermediate authority whose root is
one of the system's many. The server counts connections and resumed sessions, and both are asserted.
For calibration: the same fetch without TLS, and the bare handshakes of Python's own OpenSSL.
"""

import asyncio
import gc
import json
import os
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import cast

import uvloop
from realweb import save

from gossamer.clock import SystemClock
from gossamer.config import FetchConfig
from gossamer.fetch import Fetcher
from gossamer.model import Fetched, Url

HOSTS = 800
ROUNDS = 5
AT_ONCE = 16
BARE = 300
BODY = b"<p>hello</p>" * 170
HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
)
AUTHORITY = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n"
LEAF = "subjectAltName=DNS:*.bench.test\nextendedKeyUsage=serverAuth\n"


def openssl(*words: str) -> None:
    """Run the command that makes certificates."""
    command = shutil.which("openssl") or sys.exit("there is no openssl command")
    subprocess.run([command, *words], check=True, capture_output=True)


def make_chain(folder: Path) -> None:
    """Make chain.pem and leaf.key for a server, and bundle.pem, which a client trusts."""

    def path(name: str) -> str:
        return str(folder / name)

    for name, words in (("mid", AUTHORITY), ("leaf", LEAF)):
        (folder / f"{name}.ext").write_text(words)
    for name in ("root", "mid", "leaf"):
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path(f"{name}.key"))
    root = ["-key", path("root.key"), "-subj", "/CN=Bench Root", "-out", path("root.pem")]
    openssl("req", "-x509", "-new", "-days", "2", *root)
    for name, issuer in (("mid", "root"), ("leaf", "mid")):
        request = ["-key", path(f"{name}.key"), "-subj", f"/CN={name}", "-out", path("csr")]
        openssl("req", "-new", *request)
        by = ["-CA", path(f"{issuer}.pem"), "-CAkey", path(f"{issuer}.key"), "-CAcreateserial"]
        made = ["-extfile", path(f"{name}.ext"), "-out", path(f"{name}.pem")]
        openssl("x509", "-req", "-in", path("csr"), "-days", "2", *by, *made)
    texts = {name: (folder / f"{name}.pem").read_text() for name in ("root", "mid", "leaf")}
    (folder / "chain.pem").write_text(texts["leaf"] + texts["mid"])
    system = ssl.get_default_verify_paths().cafile
    (folder / "bundle.pem").write_text((Path(system).read_text() if system else "") + texts["root"])


def server_context(folder: Path) -> ssl.SSLContext:
    """Return what a server needs to speak https."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "chain.pem", folder / "leaf.key")
    return context


def address(host: int) -> str:
    """Return the address of a host."""
    return f"127.77.{host // 250}.{host % 250 + 1}"


class Desk(asyncio.Protocol):
    """Answers one request, then closes; counts connections and resumed sessions of the process."""

    connections = resumed = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count."""
        self.transport = cast("asyncio.Transport", transport)
        tls = transport.get_extra_info("ssl_object")
        Desk.connections += 1
        Desk.resumed += tls is not None and tls.session_reused

    def data_received(self, data: bytes) -> None:
        """Answer with a small page, or with the counts."""
        counts = f"{Desk.connections} {Desk.resumed}".encode()
        body = counts if data.startswith(b"GET /counts") else BODY
        self.transport.write(HEAD % len(body) + body)
        self.transport.close()


async def serve(folder: Path) -> None:
    """Serve on every host's address, with TLS on one port and without on another, until EOF."""
    loop = asyncio.get_running_loop()
    ports: list[int] = []
    for context in (server_context(folder), None):
        port = 0
        for host in range(HOSTS):
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((address(host), port))
            port = port or sock.getsockname()[1]
            await loop.create_server(Desk, sock=sock, ssl=context)
        ports.append(port)
    print(json.dumps(ports), flush=True)
    await asyncio.to_thread(sys.stdin.read)


class Client:
    """A Fetcher of ours, and the server it asks."""

    def __init__(self, scheme: str, port: int) -> None:
        self.scheme = scheme
        self.port = port
        self.fetcher = Fetcher(FetchConfig(allow_net=("127.0.0.0/8",)), SystemClock())

    async def ask(self, host: int, target: str = "/page") -> bytes:
        """Return one answer's body."""
        name = f"h{host}.bench.test"
        origin = f"{self.scheme}://{name}:{self.port}"
        outcome = await self.fetcher.fetch(
            Url(origin + target, name, origin, host), (address(host),)
        )
        assert isinstance(outcome, Fetched), outcome
        body = outcome.document.body.decoded()
        outcome.document.body.close()
        return body

    async def ask_some(self, hosts: Iterator[int]) -> None:
        """Ask one host after the other."""
        for host in hosts:
            assert await self.ask(host) == BODY

    async def us_per_fetch(self) -> tuple[float, int, int]:
        """Ask every host once; return the CPU per fetch, and what the server counted."""
        before = (await self.ask(0, "/counts")).split()
        began = time.process_time()
        hosts = iter(range(HOSTS))
        await asyncio.gather(*(self.ask_some(hosts) for _ in range(AT_ONCE)))
        cpu_s = time.process_time() - began
        after = (await self.ask(0, "/counts")).split()
        made, resumed = (int(new) - int(old) for new, old in zip(after, before, strict=True))
        assert made == HOSTS + 1, f"{made} connections for {HOSTS + 1} fetches"
        return 1e6 * cpu_s / HOSTS, made - 1, resumed


async def measure(ports: list[int]) -> dict[str, float]:
    """Return the medians over rounds of: no TLS, new sessions, resumed sessions."""
    found: dict[str, list[float]] = {"plain": [], "new": [], "resumed": [], "share": []}
    for _ in range(ROUNDS):
        gc.collect()
        plain, client = Client("http", ports[1]), Client("https", ports[0])
        await client.ask(0, "/counts")  # the authorities are read here, once
        found["plain"].append((await plain.us_per_fetch())[0])
        new_us, _, resumed = await client.us_per_fetch()
        assert resumed <= 2, "a session was resumed that nobody could know"
        found["new"].append(new_us)
        resumed_us, made, resumed = await client.us_per_fetch()
        assert resumed >= 0.97 * made, f"{resumed} of {made} sessions were resumed"
        found["resumed"].append(resumed_us)
        found["share"].append(min(1.0, resumed / made))
        print({name: round(values[-1], 2) for name, values in found.items()})
        for one in (plain, client):
            await one.fetcher.close()
    return {name: statistics.median(values) for name, values in found.items()}


class Bare:
    """Handshakes in memory between Python's own OpenSSL and itself: how quick this machine is."""

    def __init__(self, folder: Path) -> None:
        self.client_context = ssl.create_default_context(cafile=folder / "bundle.pem")
        self.server_context = server_context(folder)
        self.session: ssl.SSLSession | None = None

    def us_per_handshake(self, *, is_resumed: bool) -> float:
        """Return the client's share of one handshake."""
        to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
        session = self.session if is_resumed else None
        began = time.process_time()
        client = self.client_context.wrap_bio(
            to_client, to_server, server_hostname="h0.bench.test", session=session
        )
        spent_s = time.process_time() - began
        server = self.server_context.wrap_bio(to_server, to_client, server_side=True)
        waiting = [client, server]
        while waiting:
            for side in tuple(waiting):
                began = time.process_time()
                with suppress(ssl.SSLWantReadError):
                    side.do_handshake()
                    waiting.remove(side)
                spent_s += time.process_time() - began if side is client else 0.0
        server.write(b"!")
        client.read(1)  # the tickets come before it
        assert client.session_reused == is_resumed
        self.session = client.session
        return 1e6 * spent_s

    def medians(self) -> tuple[float, float]:
        """Return the medians of full and of resumed handshakes."""
        full, resumed = (
            statistics.median(self.us_per_handshake(is_resumed=again) for _ in range(BARE))
            for again in (False, True)
        )
        return full, resumed


def main() -> None:
    """Measure, print a table, keep the result."""
    with tempfile.TemporaryDirectory(prefix="gossamer-tls-") as name:
        folder = Path(name)
        make_chain(folder)
        command = [sys.executable, __file__, "serve", name]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert server.stdout is not None
        assert server.stdin is not None
        ports = json.loads(server.stdout.readline())
        os.environ["SSL_CERT_FILE"] = str(folder / "bundle.pem")
        found = uvloop.run(measure(ports))
        server.stdin.close()
        server.wait()
        full_us, resumed_us = Bare(folder).medians()
    save(
        "tls",
        {
            "us_per_new_connection": round(found["new"]),
            "us_per_resumed": round(found["resumed"]),
            "resumed_to_new": round(found["resumed"] / found["new"], 3),
            "us_per_plain_connection": round(found["plain"]),
            "new_to_bare": round((found["new"] - found["plain"]) / full_us, 3),
            "resumed_to_bare": round((found["resumed"] - found["plain"]) / resumed_us, 3),
            "resumed_share": round(found["share"], 3),
            "bare_handshake_us": round(full_us),
            "bare_resumed_us": round(resumed_us),
            "hosts": HOSTS,
            "rounds": ROUNDS,
            "python_openssl": ssl.OPENSSL_VERSION,
        },
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        uvloop.run(serve(Path(sys.argv[2])))
    else:
        main()
