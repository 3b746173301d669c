"""Where one searches: the front page, pages of results, JSON, and how a browser can add us."""

from collections.abc import Awaitable, Callable, Iterable
from html import escape
from typing import NamedTuple, TypeAlias

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gossamer import Answer
from gossamer.web.asked import Asked, SearchOptions
from gossamer.web.engine import Engine
from gossamer.web.frame import frame
from gossamer.web.search.results import MOST_CHARS, PER_PAGE, front, no_index, results

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
MOST_PER_PAGE, MOST_PAGE = 100, 100
_encode = msgspec.json.Encoder().encode


class Around(NamedTuple):
    """What the search page must know of the rest of the server."""

    name: str
    """Of the folder."""
    has_graph: Callable[[], bool]
    links: Endpoint
    """The link explorer, which was the front page once: its addresses still lead to it."""


def search_routes(engine: Engine, around: Around) -> list[Route]:
    """Return the routes of the search."""
    return [
        Route("/", _front(engine, around)),
        Route("/search", _results(engine, around)),
        Route("/api/search", _api(engine)),
        Route("/opensearch.xml", _description),
    ]


def _front(engine: Engine, around: Around) -> Endpoint:
    async def answer(request: Request) -> Response:
        if "url" in request.query_params:
            return await around.links(request)
        if request.query_params.get("q"):
            return await _results(engine, around)(request)
        body = front(around.name, engine.crawl.indexed_pages(), has_graph=around.has_graph())
        return _page("gossamer", body)

    return answer


def _results(engine: Engine, around: Around) -> Endpoint:
    def in_thread(asked: Asked) -> Response:
        question = _cut(asked.text("q").strip())
        if engine.crawl.indexed_pages() is None:
            return _page("gossamer", no_index(around.name, has_graph=around.has_graph()), 503)
        body = results(engine.search(question, _options(asked)), has_graph=around.has_graph())
        return _page(f"{question} · gossamer", body)

    async def answer(request: Request) -> Response:
        asked = Asked(request.query_params)
        if not asked.text("q").strip():
            return _page(
                "gossamer", front(around.name, engine.crawl.indexed_pages(), has_graph=True)
            )
        return await run_in_threadpool(in_thread, asked)

    return answer


def _api(engine: Engine) -> Endpoint:
    def in_thread(asked: Asked) -> Response:
        found: Answer = engine.search(_cut(asked.words("q")), _options(asked))
        return Response(_encode(found), media_type="application/json")

    async def answer(request: Request) -> Response:
        return await run_in_threadpool(in_thread, Asked(request.query_params))

    return answer


def _cut(question: str) -> str:
    """Return as much of a question as is read, and a character that tells that there was more.

    A page of results repeats its question in a hundred links.
    """
    return question[: MOST_CHARS + 1]


def _options(asked: Asked) -> SearchOptions:
    return SearchOptions(
        page=asked.count("page", 1, MOST_PAGE),
        per_page=asked.count("per_page", PER_PAGE, MOST_PER_PAGE),
        exact=asked.one_of("exact", {"0": False, "1": True}),
        without=asked.many("without"),
    )


def _page(title: str, body: Iterable[str], status: int = 200) -> Response:
    return Response(frame(title, body, section="/"), status, media_type="text/html")


async def _description(request: Request) -> Response:
    """Tell a browser how to ask (OpenSearch 1.1)."""
    here = escape(str(request.base_url), quote=True)
    body = (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">'
        "<ShortName>gossamer</ShortName><Description>Search what was crawled</Description>"
        "<InputEncoding>UTF-8</InputEncoding>"
        f'<Image type="image/svg+xml">{here}static/icon.svg</Image>'
        f'<Url type="text/html" template="{here}search?q={{searchTerms}}"/>'
        f'<Url type="application/json" template="{here}api/search?q={{searchTerms}}"/>'
        "</OpenSearchDescription>\n"
    )
    return Response(body, media_type="application/opensearchdescription+xml")
