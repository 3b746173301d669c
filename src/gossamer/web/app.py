"""The application: routes, and what becomes of an error. Nothing here changes a crawl."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from gossamer.errors import ConfigError, GossamerError
from gossamer.web.api import api_routes, json_response
from gossamer.web.asked import BadQuery
from gossamer.web.engine import Busy, Engine, NoGraph
from gossamer.web.guard import App, Guard
from gossamer.web.pages import error_page, page_routes
from gossamer.web.shards import PREFIX, shard_routes

STATIC = Path(__file__).parent / "static"


def make_app(folder: Path, *, is_local: bool = True, is_shard: bool = False) -> App:
    """Return the server of a crawl's folder as an ASGI application.

    `is_local`: only requests that name a loopback host are answered, whoever sends them.
    `is_shard`: the shards of its index can be asked by a broker on another machine.
    """
    engine = Engine(folder)
    routes = [
        *api_routes(engine),
        *page_routes(engine),
        Mount("/static", StaticFiles(directory=STATIC)),
        *(shard_routes(folder) if is_shard else ()),
    ]
    told = _teller(folder)
    kinds = (BadQuery, Busy, NoGraph, GossamerError, OSError, MemoryError, HTTPException)
    handlers = dict.fromkeys(kinds, told)
    app = Starlette(routes=routes, exception_handlers=handlers)
    return Guard(app, is_local=is_local, posted=PREFIX if is_shard else None)


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
        case Busy():
            return 503, "busy"
        case HTTPException():
            return error.status_code, "not_found" if error.status_code == 404 else "http"  # noqa: PLR2004 - see RFC 9110
        case _:
            return 503, "cannot_answer"
