"""The shards of an index for a broker on another machine: msgpack over POST."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gossamer import BadMessage, ShardServer, StoreShards
from gossamer.errors import GossamerError

PREFIX = "/shard/"
AT_ONCE = 8
"""Questions that are answered at a time, in threads of their own: whoever asks in a browser does
not wait for those of a broker."""


def shard_routes(of: Path | StoreShards) -> list[Route]:
    """Return the routes of the shards of a crawl's index, or of those of a store that are here."""
    offered = ShardServer(of) if isinstance(of, Path) else of
    threads = ThreadPoolExecutor(AT_ONCE, "gossamer-shard")

    async def answer(request: Request) -> Response:
        shard, name = request.path_params.get("shard", ""), request.path_params.get("name", "")
        try:
            body = await _body(request)
            loop = asyncio.get_running_loop()
            content = await loop.run_in_executor(threads, offered.answer, shard, name, body)
        except BadMessage as error:
            return _said(400, str(error))
        except GossamerError as error:
            said = str(error)
            return _said(503, said.replace(str(of), of.name) if isinstance(of, Path) else said)
        return Response(content, media_type="application/msgpack")

    return [
        Route(PREFIX, answer, methods=["POST"]),
        Route(PREFIX + "{shard}/{name}", answer, methods=["POST"]),
    ]


async def _body(request: Request) -> bytes:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > ShardServer.most_request_bytes:
            raise BadMessage(f"a question has at most {ShardServer.most_request_bytes} bytes")
    return body


def _said(code: int, detail: str) -> Response:
    content = msgspec.json.encode({"error": "shard", "detail": detail})
    return Response(content, code, media_type="application/json")
