"""`python -m laboratory.changing WEB LOG`: a changing web, until standard input ends.

WEB is JSON. The first line of output is a JSON object: the port.
"""

import asyncio
import json
import sys
from pathlib import Path

import uvloop

from gossamer.testing.server import FakeServer, ServerOptions
from laboratory.changing.web import ChangingWeb


async def _serve(web: ChangingWeb, log: Path) -> None:
    async with FakeServer(web, ServerOptions(log=log, cache_bytes=0)) as server:
        sys.stdout.write(json.dumps({"port": server.port}) + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.buffer.read)


if __name__ == "__main__":
    uvloop.run(_serve(ChangingWeb(**json.loads(sys.argv[1])), Path(sys.argv[2])))
