"""The shards of an index for a broker on another machine: msgpack over POST."""

from pathlib import Path

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gossamer.errors import GossamerError
from gossamer.search import MOST_REQUEST_BYTES, BadMessage, Offered

PREFIX = "/shard/"


def shard_routes(folder: Path) -> list[Route]:
    """Return the routes of the shards of a crawl's index."""
    offered = Offered(folder)

    async def answer(request: Request) -> Response:
        shard, name = request.path_params.get("shard", ""), request.path_params.get("name", "")
        try:
            body = await _body(request)
            content = await run_in_threadpool(offered.answer, shard, name, body)
        except BadMessage as error:
            return _said(400, str(error))
        except GossamerError as error:
            return _said(503, str(error).replace(str(folder), folder.name))
        return Response(content, media_type="application/msgpack")

    return [
        Route(PREFIX, answer, methods=["POST"]),
        Route(PREFIX + "{shard}/{name}", answer, methods=["POST"]),
    ]


async def _body(request: Request) -> bytes:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_REQUEST_BYTES:
            raise BadMessage(f"a question has at most {MOST_REQUEST_BYTES} bytes")
    return body


def _said(code: int, detail: str) -> Response:
    content = msgspec.json.encode({"error": "shard", "detail": detail})
    return Response(content, code, media_type="application/json")
