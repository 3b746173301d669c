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
from gossamer.testing.server import FakeServer, Setting

_READY_HOSTS = 100
"""Hosts whose words are found before the first client comes."""


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("gossamer.testing", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hosts", type=int, default=20)
    parser.add_argument("--pages-per-host", type=int, default=100)
    parser.add_argument("--traps", action="store_true", help="link the traps")
    parser.add_argument("--faults", action="store_true", help="link the faults")
    parser.add_argument("--port", type=int, default=0, help="0 takes one from the system")
    parser.add_argument("--log", type=Path, help="write visits here, tab-separated")
    parser.add_argument("--web", help="all of the above that describes the web, as JSON")
    parser.add_argument("--warm", action="store_true", help="make the pages before listening")
    parser.add_argument("--attached", action="store_true", help="end when standard input ends")
    return parser.parse_args()


def _web(options: argparse.Namespace) -> FakeWeb:
    if options.web:
        return msgspec.json.decode(options.web, type=FakeWeb)
    return FakeWeb(
        seed=options.seed,
        hosts=options.hosts,
        pages_per_host=options.pages_per_host,
        with_traps=options.traps,
        with_faults=options.faults,
        port=options.port,
    )


async def _serve(web: FakeWeb, setting: Setting, *, is_attached: bool) -> None:
    async with FakeServer(web, setting) as server:
        for index in range(min(web.hosts, _READY_HOSTS)):
            server.web.atlas.press(index)
        hello = {"port": server.port, "seeds": server.web.seeds, "resolve": server.resolve}
        sys.stdout.write(json.dumps(hello) + "\n")
        sys.stdout.flush()
        if is_attached:
            await asyncio.to_thread(sys.stdin.buffer.read)
        else:
            await asyncio.Event().wait()


def main() -> None:
    """Serve until told to stop."""
    options = _options()
    with contextlib.suppress(KeyboardInterrupt):
        web = _web(options)
        setting = Setting(port=web.port, log=options.log, is_warm=options.warm)
        uvloop.run(_serve(web, setting, is_attached=options.attached))


if __name__ == "__main__":
    main()
