"""The application: routes, and what becomes of an error."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from gossamer import QueryLog, SearchIndex
from gossamer.clock import SystemClock
from gossamer.errors import CannotGoOn, ConfigError, GossamerError
from gossamer.web.api import api_routes, json_response
from gossamer.web.asked import BadQuery
from gossamer.web.console import Actions, console_routes
from gossamer.web.console.actions import LOGIN_PATH, NotAllowed
from gossamer.web.console.actions import PATH as DO_PATH
from gossamer.web.details import detail_routes
from gossamer.web.door.guard import App, Guard
from gossamer.web.door.metrics import Gauge, Meter
from gossamer.web.door.turns import Busy
from gossamer.web.engine import Engine, NoCrawl, NoGraph, NoIndex
from gossamer.web.pages import error_page, explorer, page_routes
from gossamer.web.search import Around, search_routes
from gossamer.web.shards import PREFIX, shard_routes

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
STATIC = Path(__file__).parent / "static"
_TOLD = (
    *(BadQuery, NotAllowed, Busy, NoCrawl, NoGraph, NoIndex),
    *(GossamerError, OSError, MemoryError, HTTPException),
)
"""Errors that become an answer."""


def make_app(
    served: Path | str | SearchIndex,
    *,
    is_local: bool = True,
    is_shard: bool = False,
    has_query_log: bool = False,
    token: str = "",
) -> App:
    """Return the server of a crawl's folder, or of an index, as an ASGI application.

    `is_local`: only requests that name a loopback host are answered, whoever sends them.
    `is_shard`: the shards of its index can be asked by a broker on another machine.
    `has_query_log`: queries are written down in the folder, without who asked.
    `token`: who logs in with it may change the crawl; without one, everybody on loopback may.
    """
    folder = Path(served) if isinstance(served, str | Path) else None
    clock = SystemClock()
    if folder is None and (is_shard or has_query_log):
        raise ConfigError("an index of several places is neither offered as a shard nor logged")
    engine = Engine(
        served if isinstance(served, SearchIndex) else Path(served),
        QueryLog(folder) if folder is not None and has_query_log else None,
    )
    around = Around(
        name=engine.name,
        has_graph=engine.has_graph,
        has_archive=engine.has_archive,
        links=explorer(engine),
    )
    routes = [
        *api_routes(engine),
        *page_routes(engine),
        *detail_routes(engine),
        *search_routes(engine, around),
        *console_routes(engine, Actions(is_local=is_local, token=token)),
    ]
    if folder is not None and is_shard:
        routes += shard_routes(folder)
    meter = Meter(clock, [route.path for route in routes])
    metrics = Route("/metrics", _metrics(meter, engine))
    static = Mount("/static", StaticFiles(directory=STATIC))
    handlers = dict.fromkeys(_TOLD, _teller(engine))
    app = Starlette(routes=[*routes, metrics, static], exception_handlers=handlers)
    posted = ("/api/search", DO_PATH, LOGIN_PATH, *((PREFIX,) if is_shard else ()))
    return meter.counting(Guard(app, is_local=is_local, posted=posted))


def _metrics(meter: Meter, engine: Engine) -> Endpoint:
    def gauges() -> list[Gauge]:
        pages: int | None = 0
        missing = None
        with suppress(CannotGoOn):  # none of the index answers
            missing = engine.missing_shards()
            pages = engine.indexed_pages()
        return [
            Gauge("gossamer_index_pages", "Pages that can be searched.", pages),
            Gauge("gossamer_index_missing_shards", "Shards that do not answer.", missing),
            Gauge("gossamer_graph_nodes", "URLs of the graph.", engine.graph_nodes()),
        ]

    async def answer(_request: Request) -> Response:
        found = await run_in_threadpool(gauges)
        crawl = await run_in_threadpool(engine.metrics)
        return Response(meter.text(found) + crawl, media_type="text/plain; version=0.0.4")

    return answer


def _teller(engine: Engine) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Return what tells errors, without telling where on this machine folders lie."""

    async def told(request: Request, error: Exception) -> Response:
        """Return an error as what was asked for: a page, or JSON."""
        code, reason = _meaning(error)
        detail = error.detail if isinstance(error, HTTPException) else str(error)
        detail = engine.without_paths(detail)
        if request.url.path.startswith(("/api", "/healthz", "/picture")):
            return json_response({"error": reason, "detail": detail}, code)
        return Response(error_page(detail), code, media_type="text/html")

    return told


def _meaning(error: Exception) -> tuple[int, str]:
    match error:
        case BadQuery() | ConfigError():
            return 400, "bad_query"
        case NotAllowed():
            return 403, "not_allowed"
        case NoGraph():
            return 503, "no_graph"
        case NoIndex():
            return 503, "no_index"
        case NoCrawl():
            return 404, "no_crawl"
        case Busy():
            return 503, "busy"
        case HTTPException():
            return error.status_code, "not_found" if error.status_code == 404 else "http"  # noqa: PLR2004 - see RFC 9110
        case _:
            return 503, "cannot_answer"
