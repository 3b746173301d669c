"""The application: routes, and what becomes of an error. Nothing here changes a crawl."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from gossamer.clock import SystemClock
from gossamer.errors import ConfigError, GossamerError
from gossamer.web.api import api_routes, json_response
from gossamer.web.asked import BadQuery
from gossamer.web.door.guard import App, Guard
from gossamer.web.door.metrics import Gauge, Meter
from gossamer.web.door.turns import Busy
from gossamer.web.engine import Engine, NoGraph, NoIndex
from gossamer.web.pages import error_page, explorer, page_routes
from gossamer.web.search import Around, search_routes
from gossamer.web.shards import PREFIX, shard_routes

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
STATIC = Path(__file__).parent / "static"
_TOLD = (BadQuery, Busy, NoGraph, NoIndex, GossamerError, OSError, MemoryError, HTTPException)
"""Errors that become an answer."""


def make_app(folder: Path | str, *, is_local: bool = True, is_shard: bool = False) -> App:
    """Return the server of a crawl's folder as an ASGI application.

    `is_local`: only requests that name a loopback host are answered, whoever sends them.
    `is_shard`: the shards of its index can be asked by a broker on another machine.
    """
    folder = Path(folder)
    engine, clock = Engine(folder), SystemClock()
    around = Around(
        name=folder.resolve().name,
        has_graph=engine.crawl.has_graph,
        links=explorer(engine),
    )
    routes = [*api_routes(engine), *page_routes(engine), *search_routes(engine, around)]
    if is_shard:
        routes += shard_routes(folder)
    meter = Meter(clock, [route.path for route in routes])
    metrics = Route("/metrics", _metrics(meter, engine))
    static = Mount("/static", StaticFiles(directory=STATIC))
    handlers = dict.fromkeys(_TOLD, _teller(folder))
    app = Starlette(routes=[*routes, metrics, static], exception_handlers=handlers)
    posted = PREFIX if is_shard else None
    return meter.counting(Guard(app, is_local=is_local, posted=posted))


def _metrics(meter: Meter, engine: Engine) -> Endpoint:
    async def answer(_request: Request) -> Response:
        pages, nodes = engine.crawl.indexed_pages(), engine.crawl.graph_nodes()
        gauges = [
            Gauge("gossamer_index_pages", "Pages that can be searched.", pages),
            Gauge("gossamer_graph_nodes", "URLs of the graph.", nodes),
        ]
        return Response(meter.text(gauges), media_type="text/plain; version=0.0.4")

    return answer


def _teller(folder: Path) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Return what tells errors, without telling where on this machine the folder lies."""
    places = [str(folder.absolute()), str(folder.resolve())]
    name = folder.resolve().name

    async def told(request: Request, error: Exception) -> Response:
        """Return an error as what was asked for: a page, or JSON."""
        code, reason = _meaning(error)
        detail = error.detail if isinstance(error, HTTPException) else str(error)
        for place in places:
            detail = detail.replace(place, name)
        if request.url.path.startswith(("/api", "/healthz", "/picture")):
            return json_response({"error": reason, "detail": detail}, code)
        return Response(error_page(detail), code, media_type="text/html")

    return told


def _meaning(error: Exception) -> tuple[int, str]:
    match error:
        case BadQuery() | ConfigError():
            return 400, "bad_query"
        case NoGraph():
            return 503, "no_graph"
        case NoIndex():
            return 503, "no_index"
        case Busy():
            return 503, "busy"
        case HTTPException():
            return error.status_code, "not_found" if error.status_code == 404 else "http"  # noqa: PLR2004 - see RFC 9110
        case _:
            return 503, "cannot_answer"
