"""The server process: a socket, and uvicorn on it."""

import errno
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from gossamer.errors import ConfigError
from gossamer.web.app import make_app
from gossamer.web.door.guard import HEADERS, is_loopback
from gossamer.web.door.patience import Patient

MOST_CONNECTIONS = 512


def serve(
    folder: Path | str,
    host: str = "127.0.0.1",
    port: int = 8080,
    ready: Callable[[str], None] = lambda _: None,
    *,
    is_shard: bool = False,
) -> None:
    """Serve a crawl's folder until told to stop; `ready` is told the address once it can be asked.

    Port 0 takes any that is free. `is_shard`: its index is a part of one on other machines.
    """
    listening = _listening(host, port)
    with listening:
        name = listening.getsockname()[0]
        shown = f"[{name}]" if ":" in name else name
        app = make_app(folder, is_local=is_loopback(name), is_shard=is_shard)
        config = uvicorn.Config(
            app,
            loop="uvloop",
            http=Patient,  # type: ignore[arg-type]  # it has the methods of a protocol
            ws="none",
            lifespan="off",
            limit_concurrency=MOST_CONNECTIONS,
            access_log=False,
            log_level="warning",
            server_header=False,
            date_header=False,
            headers=[(name.decode(), value.decode()) for name, value in HEADERS],
        )
        ready(f"http://{shown}:{listening.getsockname()[1]}/")
        uvicorn.Server(config).run(sockets=[listening])


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError) as error:
        raise ConfigError(f"--host: expected an address of this machine, found {host!r}") from error
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind(place)
        made.listen(1024)
    except OSError as error:
        made.close()
        flag = f"--host {host}" if error.errno == errno.EADDRNOTAVAIL else f"--port {port}"
        raise ConfigError(f"{flag}: {error.strerror}: give another one") from error
    return made
