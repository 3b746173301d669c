"""`python -m gossamer.testing`: the fake web on loopback, until Ctrl-C.

The first line of output is a JSON object: port, seeds and the address of every host.
"""

import argparse
import asyncio
import contextlib
import json
import sys
from pathlib import Path

import msgspec
import uvloop

from gossamer.testing.fakeweb import FakeWeb
from gossamer.testing.server import FakeServer, ServerOptions

_READY_HOSTS = 100
"""Hosts that are prepared before the first client connects."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("gossamer.testing", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hosts", type=int, default=20)
    parser.add_argument("--pages-per-host", type=int, default=100)
    parser.add_argument("--traps", action="store_true", help="link the traps")
    parser.add_argument("--faults", action="store_true", help="link the faults")
    parser.add_argument("--port", type=int, default=0, help="0 means any free port")
    parser.add_argument("--log", type=Path, help="log requests to this file, tab-separated")
    parser.add_argument("--web", help="the options that describe the web, as one JSON object")
    parser.add_argument("--warm", action="store_true", help="render the pages before listening")
    parser.add_argument(
        "--attached", action="store_true", help="stop when standard input is closed"
    )
    return parser.parse_args()


def _web(arguments: argparse.Namespace) -> FakeWeb:
    if arguments.web:
        return msgspec.json.decode(arguments.web, type=FakeWeb)
    return FakeWeb(
        seed=arguments.seed,
        hosts=arguments.hosts,
        pages_per_host=arguments.pages_per_host,
        with_traps=arguments.traps,
        with_faults=arguments.faults,
        port=arguments.port,
    )


async def _serve(web: FakeWeb, options: ServerOptions, *, is_attached: bool) -> None:
    async with FakeServer(web, options) as server:
        for index in range(min(web.hosts, _READY_HOSTS)):
            server.web.catalog.renderer(index)
        hello = {"port": server.port, "seeds": server.web.seeds, "resolve": server.resolve}
        sys.stdout.write(json.dumps(hello) + "\n")
        sys.stdout.flush()
        if is_attached:
            await asyncio.to_thread(sys.stdin.buffer.read)
        else:
            await asyncio.Event().wait()


def main() -> None:
    """Serve until Ctrl-C, or until standard input is closed."""
    arguments = _arguments()
    with contextlib.suppress(KeyboardInterrupt):
        web = _web(arguments)
        options = ServerOptions(port=web.port, log=arguments.log, is_warm=arguments.warm)
        uvloop.run(_serve(web, options, is_attached=arguments.attached))


if __name__ == "__main__":
    main()
