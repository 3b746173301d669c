"""The JSON API: every question is a GET, every answer one object, errors too."""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, TypeAlias

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gossamer.graph import (
    LIKENESS,
    Direction,
    LinkWish,
    around,
    components,
    draw,
    host,
    like,
    links,
    nearest,
    path,
    read_kinds,
)
from gossamer.report import as_json, status, why
from gossamer.web.asked import Asked
from gossamer.web.door.turns import Busy
from gossamer.web.engine import Engine, Facts

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]

PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""Of pictures: their style is our own text, and nothing else in them can act."""
LIMIT = 100
_DIRECTIONS: Mapping[str, Direction | None] = {"both": None, "in": "in", "out": "out"}
_encode = msgspec.json.Encoder(enc_hook=str).encode


class Question(NamedTuple):
    """A question that is answered in a thread."""

    answer: Callable[[Engine, Asked], Facts | None]
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


def json_response(facts: Mapping[str, object], status_code: int = 200) -> Response:
    """Return facts as JSON."""
    return Response(_encode(facts), status_code, media_type="application/json")


def unknown_url(engine: Engine, urls: list[str]) -> Facts:
    """Return what to say when one of some URLs is not in the graph."""
    try:
        near = engine.slowly(lambda graph: [nearest(graph, url) for url in urls])
    except Busy:
        near = []
    detail = f"not in the graph: {' or '.join(urls)}"
    return {"error": "unknown_url", "detail": detail, "nearest": [url for url in near if url]}


def link_wish(asked: Asked) -> LinkWish:
    """Return which links were asked for."""
    return LinkWish(
        direction=asked.one_of("direction", _DIRECTIONS),
        kinds=read_kinds(asked.many("kind")),
        limit=asked.count("limit", LIMIT),
        after=asked.text("after"),
    )


def part(facts: Facts, name: str, most: int) -> list[Facts]:
    """Return the first of a list of answers."""
    found = facts[name]
    return found[:most] if isinstance(found, list) else []


def _links(engine: Engine) -> Endpoint:
    """Return the answer to the one question that is asked a thousand times: in the loop."""

    async def answer(request: Request) -> Response:
        asked = Asked(request.query_params)
        url = asked.url("url")
        facts = links(engine.quick(), url, link_wish(asked))
        if facts is not None:
            return json_response(facts)
        return json_response(await run_in_threadpool(unknown_url, engine, [url]), 404)

    return answer


def _slow(engine: Engine, question: Question) -> Endpoint:
    def in_thread(asked: Asked) -> Response:
        facts = question.answer(engine, asked)
        if facts is not None:
            return json_response(facts, 404 if "error" in facts else 200)
        return json_response(unknown_url(engine, [asked.url(name) for name in question.urls]), 404)

    async def answer(request: Request) -> Response:
        return await run_in_threadpool(in_thread, Asked(request.query_params))

    return answer


def _picture(engine: Engine) -> Endpoint:
    def in_thread(url: str) -> Response:
        found = engine.slowly(lambda graph: around(graph, url))
        if found is None:
            return json_response(unknown_url(engine, [url]), 404)
        headers = {"content-security-policy": PICTURE_POLICY}
        return Response(draw(found), headers=headers, media_type="image/svg+xml")

    async def answer(request: Request) -> Response:
        return await run_in_threadpool(in_thread, Asked(request.query_params).url("url"))

    return answer


def _ranked(engine: Engine, asked: Asked) -> Facts:
    facts = engine.ranked()
    return facts | {"pages": part(facts, "pages", asked.count("top", 20))}


def _path(engine: Engine, asked: Asked) -> Facts | None:
    start, end = asked.url("from"), asked.url("to")
    return engine.slowly(lambda graph: path(graph, start, end))


def _like(engine: Engine, asked: Asked) -> Facts | None:
    url, most = asked.url("url"), asked.count("top", 20)
    by = asked.one_of("by", {name: name for name in LIKENESS})
    return engine.slowly(lambda graph: like(graph, url, by, most))


def _hosts(engine: Engine, asked: Asked) -> Facts:
    name, most = asked.text("host"), asked.count("top", LIMIT)
    if name:
        found = engine.slowly(lambda graph: host(graph, name, most))
        return found or {"error": "unknown_host", "detail": f"not in the graph: {name}"}
    facts = engine.hosts()
    return facts | {"hosts": part(facts, "hosts", most)}


def _why(engine: Engine, asked: Asked) -> Facts:
    url = asked.url("url")
    return engine.aside(lambda folder: as_json(why(folder, url)))


async def _contents(_request: Request) -> Response:
    about = {place: question.about for place, question in QUESTIONS.items()}
    told = {
        "/api/search": "q=WORDS, page=N, per_page=N, exact=0|1, without=PART (repeatable)",
        "/api/links": "url=URL, direction=in|out|both, kind=K (repeatable), limit=N, after=URL",
    }
    return json_response({**told, **about, "/picture.svg": "url=URL", "/healthz": ""})


async def _healthz(_request: Request) -> Response:
    return json_response({"ok": True})


QUESTIONS: Mapping[str, Question] = {
    "/api/status": Question(
        lambda engine, _: engine.aside(lambda folder: as_json(status(folder))), ""
    ),
    "/api/why": Question(_why, "url=URL"),
    "/api/rank": Question(_ranked, "top=N"),
    "/api/path": Question(_path, "from=URL, to=URL", ("from", "to")),
    "/api/like": Question(_like, "url=URL, by=cocitation|coupling, top=N", ("url",)),
    "/api/hosts": Question(_hosts, "host=HOST, top=N"),
    "/api/components": Question(lambda engine, _: engine.once("components", components), ""),
    "/api/graph": Question(lambda engine, _: engine.info(), ""),
}
