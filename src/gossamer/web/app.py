"""The application: routes, and what becomes of an error."""

from collections.abc import Awaitable, Callable, Iterator
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

from gossamer import QueryLog, SearchIndex, StoreShards
from gossamer.clock import SystemClock
from gossamer.errors import CannotGoOn, ConfigError, GossamerError
from gossamer.web.api import api_routes, json_response
from gossamer.web.asked import BadQuery
from gossamer.web.console import Actions, console_routes
from gossamer.web.console.actions import LOGIN_PATH, NotAllowed
from gossamer.web.console.actions import PATH as DO_PATH
from gossamer.web.details import detail_routes
from gossamer.web.door.guard import App, Guard, Receive, Scope, Send
from gossamer.web.door.metrics import Gauge, Meter
from gossamer.web.door.turns import Busy
from gossamer.web.engine import BeingBuilt, Engine, NoCrawl, NoGraph, NoIndex
from gossamer.web.frame import frame, text
from gossamer.web.pages import error_page, explorer, page_routes
from gossamer.web.popular import MEMORY_MB, MemoryFacts
from gossamer.web.search import Around, search_routes
from gossamer.web.shards import PREFIX, shard_routes

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
AFTER_BUILDS = (
    *("/api/search", "/api/links", "/api/rank", "/api/path", "/api/like", "/api/hosts"),
    *("/api/components", "/api/graph", PREFIX),
)
MOST_WAIT_S, LOOK_AGAIN_S = 60.0, 0.1
STATIC = Path(__file__).parent / "static"
_MISSING: dict[type[Exception], str] = {
    BeingBuilt: "being_built",
    NoGraph: "no_graph",
    NoIndex: "no_index",
}
_TOLD = (
    *(BadQuery, NotAllowed, Busy, BeingBuilt, NoCrawl, NoGraph, NoIndex),
    *(GossamerError, OSError, MemoryError, HTTPException),
)
"""Errors that become an answer."""


def make_app(
    served: Path | str | SearchIndex,
    *,
    is_local: bool = True,
    is_shard: bool = False,
    shards: StoreShards | None = None,
    has_query_log: bool = False,
    token: str = "",
    store: str = "",
    memory_mb: int = MEMORY_MB,
    is_building: Callable[[], bool] = lambda: False,
) -> App:
    """Return the server of a crawl's folder, or of an index, as an ASGI application.

    `is_local`: only requests that name a loopback host are answered, whoever sends them.
    `is_shard`: the shards of its index can be asked by a broker on another machine; of a store,
    the `shards` that are here.
    `has_query_log`: queries are written down in the folder, without who asked.
    `token`: who logs in with it may change the crawl; without one, everybody on loopback may.
    `store`: the URL that the folder was brought from; nobody may change it then.
    `memory_mb`: so much of what is asked for often is kept in memory.
    `is_building` returns True while what is due is built: pages say so, the JSON API waits for it.
    """
    folder = Path(served) if isinstance(served, str | Path) else None
    clock = SystemClock()
    if folder is None and (is_shard or has_query_log):
        raise ConfigError("an index of several places is neither offered as a shard nor logged")
    engine = Engine(
        served if isinstance(served, SearchIndex) else Path(served),
        QueryLog(folder) if folder is not None and has_query_log else None,
        is_building,
        memory_mb=memory_mb,
    )
    around = Around(
        name=engine.name,
        has_graph=engine.has_graph,
        has_archive=engine.has_archive,
        links=explorer(engine),
    )
    actions = Actions(is_local=is_local, token=token, store=store)
    routes = [
        *api_routes(engine),
        *page_routes(engine),
        *detail_routes(engine, actions),
        *search_routes(engine, around),
        *console_routes(engine, actions),
    ]
    offered = folder if is_shard else shards
    if offered is not None:
        routes += shard_routes(offered)
    meter = Meter(clock, [route.path for route in routes])
    metrics = Route("/metrics", _metrics(meter, engine))
    static = Mount("/static", StaticFiles(directory=STATIC))
    handlers = dict.fromkeys(_TOLD, _teller(engine))
    app = Starlette(routes=[*routes, metrics, static], exception_handlers=handlers)
    posted = ("/api/search", DO_PATH, LOGIN_PATH, *((PREFIX,) if offered is not None else ()))
    patient = waiting_for_builds(app, is_building, clock)
    return meter.counting(Guard(patient, is_local=is_local, posted=posted))


def waiting_for_builds(app: App, is_building: Callable[[], bool], clock: SystemClock) -> App:
    """Return an application whose JSON answers wait a while for what is being built first.

    A program would take an answer from before for the whole; pages tell how far it is.
    """

    async def waiting(scope: Scope, receive: Receive, send: Send) -> None:
        until = clock.steady() + MOST_WAIT_S
        if scope.get("path", "").startswith(AFTER_BUILDS):
            while is_building() and clock.steady() < until:
                await clock.sleep(LOOK_AGAIN_S)
        await app(scope, receive, send)

    return waiting


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
            Gauge("gossamer_index_lag_bytes", "Archived, not indexed yet.", engine.index_lag()),
            Gauge("gossamer_graph_nodes", "URLs of the graph.", engine.graph_nodes()),
            *_memory(engine),
        ]

    async def answer(_request: Request) -> Response:
        found = await run_in_threadpool(gauges)
        crawl = await run_in_threadpool(engine.metrics)
        return Response(meter.text(found) + crawl, media_type="text/plain; version=0.0.4")

    return answer


def _memory(engine: Engine) -> Iterator[Gauge]:
    """Yield what memory answered, by kind of content."""
    whole = MemoryFacts(engine.kept_hits, engine.kept_misses, 0, 0)
    kinds = {"whole": whole, "stored": engine.stored.facts(), "search": engine.answered.facts()}
    hits, misses = "gossamer_cache_hits_total", "gossamer_cache_misses_total"
    for kind, one in kinds.items():
        yield Gauge(hits, "Answers that memory gave.", one.hits, "counter", f'kind="{kind}"')
    for kind, one in kinds.items():
        about = "Answers that memory could have given, had they been there."
        yield Gauge(misses, about, one.misses, "counter", f'kind="{kind}"')
    for kind in ("stored", "search"):
        about, labels = "What memory holds of content.", f'kind="{kind}"'
        yield Gauge("gossamer_cache_bytes", about, kinds[kind].bytes, labels=labels)


def _teller(engine: Engine) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Return what tells errors, without telling where on this machine folders lie."""

    async def told(request: Request, error: Exception) -> Response:
        """Return an error as what was asked for: a page, or JSON."""
        code, reason = _meaning(error)
        detail = error.detail if isinstance(error, HTTPException) else str(error)
        detail = engine.without_paths(detail)
        headers = {"retry-after": "2"} if isinstance(error, BeingBuilt) else {}
        if request.url.path.startswith(("/api", "/healthz", "/picture")):
            told = json_response({"error": reason, "detail": detail}, code)
            told.headers.update(headers)
            return told
        if headers:  # the browser asks again by itself
            body = [f'<p class="hint" role="status">{text(detail)}</p>']
            page = frame("Being built · gossamer", body)
            return Response(page, code, {**headers, "refresh": "2"}, media_type="text/html")
        return Response(error_page(detail), code, media_type="text/html")

    return told


def _meaning(error: Exception) -> tuple[int, str]:
    match error:
        case BadQuery() | ConfigError():
            return 400, "bad_query"
        case NotAllowed():
            return 403, "not_allowed"
        case BeingBuilt() | NoGraph() | NoIndex():
            return 503, _MISSING[type(error)]
        case NoCrawl():
            return 404, "no_crawl"
        case Busy():
            return 503, "busy"
        case HTTPException():
            return error.status_code, "not_found" if error.status_code == 404 else "http"  # noqa: PLR2004 - see RFC 9110
        case _:
            return 503, "cannot_answer"
