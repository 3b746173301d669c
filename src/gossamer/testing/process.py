"""Serve a fake web elsewhere: in a process or a thread of its own; and certificates for https."""

import asyncio
import contextlib
import json
import shutil
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from gossamer.errors import CannotGoOn
from gossamer.testing.answer import Web
from gossamer.testing.fakeweb import FakeWeb
from gossamer.testing.server import FakeServer, Setting
from gossamer.testing.visits import Visit, read_log

W = TypeVar("W", bound=Web)

_STOP_S = 10.0


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A fake web in a process of its own. It ends with `stop`, or when this process ends."""

    process: subprocess.Popen[bytes]
    web: FakeWeb
    """The web as it is served: with its port."""
    log: Path

    @property
    def port(self) -> int:
        """The port on all its addresses."""
        return self.web.port

    @property
    def resolve(self) -> dict[str, str]:
        """The address of every host, as a crawler's `--resolve` table."""
        return self.web.addresses

    def visits(self) -> list[Visit]:
        """Return what was asked so far."""
        return read_log(self.log)

    def stop(self) -> None:
        """End the process and wait for it."""
        stop_attached(self.process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start_attached(
    command: list[str], cwd: Path | None = None
) -> tuple[subprocess.Popen[bytes], dict[str, Any]]:
    """Start a server of ours that ends with its standard input; return what it says first."""
    process = subprocess.Popen(  # noqa: S603 - our own module, arguments made here
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=cwd,
    )
    line = process.stdout.readline() if process.stdout else b""
    if not line:
        process.wait(_STOP_S)
        raise CannotGoOn(f"{command[2]} did not start: exit code {process.returncode}")
    return process, json.loads(line)


def stop_attached(process: subprocess.Popen[bytes]) -> None:
    """End a server of ours and wait for it."""
    if process.stdin is not None:
        process.stdin.close()
    process.wait(_STOP_S)
    if process.stdout is not None:
        process.stdout.close()


def serve_in_process(
    web: FakeWeb, log: Path, *, port: int = 0, is_warm: bool = False
) -> ServerProcess:
    """Start a fake web in a process of its own and return when it listens.

    The log is tab-separated, appended to, and each line is written before its answer is sent.
    With `is_warm` the pages are made beforehand, as far as the cache holds them.
    """
    wish = json.dumps({**asdict(web), "port": port})
    command = [sys.executable, "-m", "gossamer.testing", "--web", wish, "--log", str(log)]
    command += ["--attached", *(["--warm"] if is_warm else [])]
    process, hello = start_attached(command)
    return ServerProcess(process, web.placed("http", hello["port"]), log)


@contextlib.contextmanager
def serve_in_thread(web: W, setting: Setting | None = None) -> Iterator[FakeServer[W]]:
    """Serve any web, scripted ones too, from a thread: for tests that run a command and wait."""
    server = FakeServer(web, setting)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="fakeweb", daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result()
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@dataclass(frozen=True, slots=True)
class Certificate:
    """A self-signed certificate for some hosts; a client trusts it by naming `file` as its CA."""

    file: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """Return what a server needs to speak https."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.file, self.key)
        return context


def make_certificate(folder: Path, hosts: list[str], days: int = 2) -> Certificate | None:
    """Make a certificate with the `openssl` command; None where there is none."""
    command = shutil.which("openssl")
    if command is None:
        return None
    made = Certificate(folder / "fakeweb.pem", folder / "fakeweb.key")
    names = ",".join(f"DNS:{host}" for host in hosts)
    subprocess.run(  # noqa: S603 - the command is looked up, its arguments are made here
        [
            *(command, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-keyout", str(made.key), "-out", str(made.file), "-days", str(days)),
            *("-subj", "/CN=fakeweb", "-addext", f"subjectAltName={names}"),
        ],
        check=True,
        capture_output=True,
    )
    return made
