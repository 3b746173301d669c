"""`python -m laboratory.crowd CROWD LOG`: a crowd and its names, until standard input ends.

CROWD is JSON. The first line of output is a JSON object: the port, and the name server's address.
"""

import asyncio
import json
import sys
from pathlib import Path

import msgspec
import uvloop

from gossamer.testing.server import FakeServer, ServerOptions
from laboratory.crowd.names import NameServer
from laboratory.crowd.web import Crowd


async def _serve(crowd: Crowd, log: Path) -> None:
    names = NameServer(crowd.address_of)
    async with FakeServer(crowd, ServerOptions(port=crowd.port, log=log, cache_bytes=0)) as server:
        hello = {"port": server.port, "nameserver": await names.open()}
        sys.stdout.write(json.dumps(hello) + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.buffer.read)
        names.close()


if __name__ == "__main__":
    uvloop.run(_serve(msgspec.json.decode(sys.argv[1], type=Crowd), Path(sys.argv[2])))
