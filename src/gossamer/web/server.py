"""The server process: a socket, and uvicorn on it."""

import errno
import resource
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import uvicorn

from gossamer import SearchIndex, StoreShards
from gossamer.errors import ConfigError
from gossamer.web.app import STATIC, make_app
from gossamer.web.door.guard import HEADERS, App, is_loopback
from gossamer.web.door.patience import OpenConnections, Patient
from gossamer.web.popular import MEMORY_MB
from gossamer.web.start import make_start_app

MOST_CONNECTIONS = 512
"""That are open; beyond, the one that was idle for longest is dropped."""
ASKED_AT_ONCE = 64
"""Places beside, for the case that none of the others is idle."""
SWITCH_S = 0.001
"""After which a thread that counts lets a page go first: a page takes turns some ten times."""
OTHER_DESCRIPTORS = 128
"""Kept for the index, the graph and whatever else is open."""


def connections_in(descriptors: int) -> int:
    """Return how many connections may be open with so many descriptors."""
    return min(MOST_CONNECTIONS, max(16, descriptors - ASKED_AT_ONCE - OTHER_DESCRIPTORS))


def serve(
    folder: Path | str | SearchIndex,
    host: str = "127.0.0.1",
    port: int = 8080,
    ready: Callable[[str], None] = lambda _: None,
    *,
    is_shard: bool = False,
    shards: StoreShards | None = None,
    has_query_log: bool = False,
    token: str = "",
    store: str = "",
    memory_mb: int = MEMORY_MB,
    is_building: Callable[[], bool] = lambda: False,
) -> None:
    """Serve a crawl's folder until told to stop; `ready` is told the address once it can be asked.

    What `open_search` returns can be served instead: a search page, of any places, without graph.
    Port 0 takes any that is free. `is_shard`: its index is a part of one on other machines;
    `shards`: of a store's, those that are here.
    `has_query_log`: queries are written down in `queries.jsonl` of the folder, without who asked.
    `token`: who logs in with it may change the crawl; without one, everybody on loopback may.
    `store`: the URL that the folder was brought from; nobody may change it then.
    `memory_mb`: so much of what is asked for often is kept in memory.
    `is_building` returns True while what is due is built: pages say so, the JSON API waits for it.
    """

    def app(*, is_local: bool) -> App:
        return make_app(
            folder,
            is_local=is_local,
            is_shard=is_shard,
            shards=shards,
            has_query_log=has_query_log,
            token=token,
            store=store,
            memory_mb=memory_mb,
            is_building=is_building,
        )

    _serve(app, host, port, ready)


def serve_crawls(
    folder: Path,
    host: str = "127.0.0.1",
    port: int = 8080,
    ready: Callable[[str], None] = lambda _: None,
    *,
    token: str = "",
) -> None:
    """Serve a list of the crawls below a folder, and a form that starts one, until told to stop.

    `token`: who logs in with it may start one; without it, everybody on loopback may.
    """

    def app(*, is_local: bool) -> App:
        return make_start_app(folder, STATIC, is_local=is_local, token=token)

    _serve(app, host, port, ready)


def _serve(made: Callable[..., App], host: str, port: int, ready: Callable[[str], None]) -> None:
    """Listen, make the application for who can reach it, and answer until told to stop."""
    listening = _listening(host, port)
    with listening:
        name = listening.getsockname()[0]
        shown = f"[{name}]" if ":" in name else name
        app = made(is_local=is_loopback(name))
        most = connections_in(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        others = OpenConnections(most)
        config = uvicorn.Config(
            app,
            loop="uvloop",
            http=partial(Patient, others=others),  # type: ignore[arg-type]  # it makes a protocol
            ws="none",
            lifespan="off",
            limit_concurrency=most + ASKED_AT_ONCE,
            access_log=False,
            log_level="warning",
            server_header=False,
            date_header=False,
            headers=[(name.decode(), value.decode()) for name, value in HEADERS],
        )
        sys.setswitchinterval(SWITCH_S)
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
