"""The JSON API: every question is a GET, every answer one object, errors too."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gossamer import HostLinks, HostTable, LinkGraph, Links, as_json
from gossamer.web.asked import Asked
from gossamer.web.door.turns import Busy
from gossamer.web.engine import Engine

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]

PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""Of pictures: their style is our own text, and nothing else in them can act."""
LIMIT = 100
_DIRECTIONS: Mapping[str, Literal["in", "out"] | None] = {"both": None, "in": "in", "out": "out"}
_encode = msgspec.json.Encoder(enc_hook=str).encode


class UnknownUrl(Struct, frozen=True, kw_only=True):
    """What is said of a URL that is not in the graph."""

    error: str = "unknown_url"
    detail: str
    nearest: list[str]
    """URLs that may be meant."""


class UnknownHost(Struct, frozen=True, kw_only=True):
    """What is said of a host that is not in the graph."""

    error: str = "unknown_host"
    detail: str


class Question(NamedTuple):
    """A question that is answered in a thread."""

    answer: Callable[[Engine, Asked], Struct | None]
    """None: one of the URLs is not known."""
    about: str
    urls: tuple[str, ...] = ()
    """The parameters that hold URLs."""


def api_routes(engine: Engine) -> list[Route]:
    """Return the routes of the API."""
    slow = [Route(place, _slow(engine, question)) for place, question in QUESTIONS.items()]
    return [
        Route("/api/links", _links(engine)),
        *slow,
        Route("/api", _contents),
        Route("/picture.svg", _picture(engine)),
        Route("/healthz", _healthz),
    ]


def json_response(answer: Struct | Mapping[str, object], status_code: int = 200) -> Response:
    """Return an answer as JSON."""
    facts = as_json(answer) if isinstance(answer, Struct) else answer
    return Response(_encode(facts), status_code, media_type="application/json")


def unknown_url(engine: Engine, urls: list[str]) -> UnknownUrl:
    """Return what to say when one of some URLs is not in the graph."""
    try:
        near = engine.slowly(lambda graph: [graph.nearest(url) for url in urls])
    except Busy:
        near = []
    detail = f"not in the graph: {' or '.join(urls)}"
    return UnknownUrl(detail=detail, nearest=[url for url in near if url])


def links_asked(graph: LinkGraph, url: str, asked: Asked) -> Links | None:
    """Return the links that were asked for."""
    return graph.links(
        url,
        direction=asked.one_of("direction", _DIRECTIONS),
        kinds=asked.many("kind"),
        limit=asked.count("limit", LIMIT),
        after=asked.text("after"),
    )


def _links(engine: Engine) -> Endpoint:
    """Return the answer to the one question that is asked a thousand times: in the loop."""

    async def answer(request: Request) -> Response:
        asked = Asked(request.query_params)
        url = asked.url("url")
        found = links_asked(engine.quick(), url, asked)
        if found is not None:
            return json_response(found)
        return json_response(await run_in_threadpool(unknown_url, engine, [url]), 404)

    return answer


def _slow(engine: Engine, question: Question) -> Endpoint:
    def in_thread(asked: Asked) -> Response:
        found = question.answer(engine, asked)
        if found is not None:
            return json_response(found, 404 if isinstance(found, UnknownHost) else 200)
        return json_response(unknown_url(engine, [asked.url(name) for name in question.urls]), 404)

    async def answer(request: Request) -> Response:
        return await run_in_threadpool(in_thread, Asked(request.query_params))

    return answer


def _picture(engine: Engine) -> Endpoint:
    def in_thread(url: str) -> Response:
        found = engine.slowly(lambda graph: graph.picture(url))
        if found is None:
            return json_response(unknown_url(engine, [url]), 404)
        headers = {"content-security-policy": PICTURE_POLICY}
        return Response(found.svg, headers=headers, media_type="image/svg+xml")

    async def answer(request: Request) -> Response:
        return await run_in_threadpool(in_thread, Asked(request.query_params).url("url"))

    return answer


def _path(engine: Engine, asked: Asked) -> Struct | None:
    start, end = asked.url("from"), asked.url("to")
    return engine.slowly(lambda graph: graph.path(start, end))


def _similar(engine: Engine, asked: Asked) -> Struct | None:
    url, most = asked.url("url"), asked.count("top", 20)
    by = asked.one_of("by", {name: name for name in LinkGraph.SIMILARITIES})
    return engine.slowly(lambda graph: graph.similar(url, by, most))


def _hosts(engine: Engine, asked: Asked) -> HostLinks | HostTable | UnknownHost:
    name, most = asked.text("host"), asked.count("top", LIMIT)
    if not name:
        return engine.hosts(most)
    found = engine.slowly(lambda graph: graph.host(name, most))
    return found or UnknownHost(detail=f"not in the graph: {name}")


def _why(engine: Engine, asked: Asked) -> Struct:
    url = asked.url("url")
    return engine.aside(lambda crawl: crawl.why(url))


async def _contents(_request: Request) -> Response:
    about = {place: question.about for place, question in QUESTIONS.items()}
    told = {
        "/api/search": "q=WORDS, like=URL (or POST a text), page=N, per_page=N, exact=0|1, "
        "without=PART (repeatable), facets=0|1, verbatim=0|1",
        "/api/links": "url=URL, direction=in|out|both, kind=K (repeatable), limit=N, after=URL",
    }
    return json_response({**told, **about, "/picture.svg": "url=URL", "/healthz": ""})


async def _healthz(_request: Request) -> Response:
    return json_response({"ok": True})


QUESTIONS: Mapping[str, Question] = {
    "/api/status": Question(lambda engine, _: engine.aside(lambda crawl: crawl.status()), ""),
    "/api/why": Question(_why, "url=URL"),
    "/api/rank": Question(lambda engine, asked: engine.ranked(asked.count("top", 20)), "top=N"),
    "/api/path": Question(_path, "from=URL, to=URL", ("from", "to")),
    "/api/like": Question(_similar, "url=URL, by=cocitation|coupling, top=N", ("url",)),
    "/api/hosts": Question(_hosts, "host=HOST, top=N"),
    "/api/components": Question(lambda engine, _: engine.components(), ""),
    "/api/graph": Question(lambda engine, _: engine.info(), ""),
}
