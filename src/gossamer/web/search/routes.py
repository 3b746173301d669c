"""Where one searches: the front page, pages of results, JSON, and how a browser can add us."""

from collections.abc import Awaitable, Callable, Iterable
from html import escape
from typing import NamedTuple, TypeAlias
from urllib.parse import quote

import msgspec
from msgspec.structs import replace
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gossamer import Answer, SearchKeywords
from gossamer.web.asked import Asked, BadQuery, accepted_languages
from gossamer.web.engine import Engine
from gossamer.web.frame import frame
from gossamer.web.search.images import thumbnail_route
from gossamer.web.search.narrowing import between
from gossamer.web.search.results import MOST_CHARS, PER_PAGE, Ways, front, no_index, results

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
MOST_PER_PAGE, MOST_PAGE = 100, 100
_TOO_LONG = f"the query is too long: what follows {MOST_CHARS:,} characters was left out"
MOST_POSTED_BYTES = 60 * 1024
_SWITCH = {"0": False, "1": True}
_encode = msgspec.json.Encoder().encode


class Around(NamedTuple):
    """What the search page must know of the rest of the server."""

    name: str
    """Of the folder."""
    has_graph: Callable[[], bool]
    has_archive: Callable[[], bool]
    links: Endpoint
    """The link explorer, which was the front page once: its addresses still lead to it."""

    def ways(self) -> Ways:
        """Return where a result leads beside the page itself."""
        known = (("links", "/links", self.has_graph()),)
        stored = (("details", "/page", self.has_archive()), ("copy", "/copy", self.has_archive()))
        return [(label, path) for label, path, is_there in known + stored if is_there]


def search_routes(engine: Engine, around: Around) -> list[Route]:
    """Return the routes of the search."""
    return [
        Route("/", _front(engine, around)),
        Route("/search", _results(engine, around)),
        Route("/api/search", _api(engine), methods=["GET", "POST"]),
        thumbnail_route(engine),
        Route("/opensearch.xml", _description),
        Route("/favicon.ico", _icon),
    ]


def _front(engine: Engine, around: Around) -> Endpoint:
    async def answer(request: Request) -> Response:
        if "url" in request.query_params:
            return await around.links(request)
        if request.query_params.get("q"):
            return await _results(engine, around)(request)
        return await run_in_threadpool(_front_page, engine, around)

    return answer


def _front_page(engine: Engine, around: Around) -> Response:
    """Return the page where one begins. An index elsewhere may have to be asked for its size."""
    pages, building = engine.indexed_pages(), engine.building()
    page = _page("gossamer", front(around.name, pages, building, has_graph=around.has_graph()))
    if building:
        page.headers["refresh"] = "2"
    return page


def _results(engine: Engine, around: Around) -> Endpoint:
    def in_thread(asked: Asked, languages: tuple[str, ...]) -> Response:
        question = asked.text("q").strip()[:MOST_CHARS]
        if engine.indexed_pages() is None and not engine.building():
            return _page("gossamer", no_index(around.name, has_graph=around.has_graph()), 503)
        if "from" in asked or "to" in asked:
            return _redirect(_between(question, asked.text("from"), asked.text("to")))
        keywords = _keywords(asked)
        if like := asked.text("like").strip():
            found = engine.search_like(_known(like), question, keywords)
            return _page(f"like {like} · gossamer", results(found, around.ways(), like))
        keywords["facets"] = True
        keywords["languages"] = languages
        answer = engine.search(question, keywords)
        if len(asked.text("q").strip()) > MOST_CHARS:
            answer = replace(answer, hints=[_TOO_LONG, *answer.hints])
        body = results(answer, around.ways())
        return _page(f"{question} · gossamer", body)

    async def answer(request: Request) -> Response:
        asked = Asked(request.query_params)
        if not asked.text("q").strip() and not asked.text("like").strip():
            return await run_in_threadpool(_front_page, engine, around)
        languages = accepted_languages(request.headers.get("accept-language", ""))
        return await run_in_threadpool(in_thread, asked, languages)

    return answer


def _api(engine: Engine) -> Endpoint:
    def in_thread(asked: Asked, posted: str) -> Response:
        like = posted or _known(asked.text("like").strip())
        found: Answer
        if like:
            found = engine.search_like(like, asked.text("q").strip(), _keywords(asked))
        else:
            found = engine.search(asked.words("q"), _keywords(asked))
        return Response(_encode(found), media_type="application/json")

    async def answer(request: Request) -> Response:
        posted = await _posted(request) if request.method == "POST" else ""
        return await run_in_threadpool(in_thread, Asked(request.query_params), posted)

    return answer


async def _posted(request: Request) -> str:
    """Return the text that pages shall be like. It is read as plain text, whatever it is."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_POSTED_BYTES:
            raise BadQuery(f"expected a text of at most {MOST_POSTED_BYTES} bytes")
    said = body.decode("utf-8", "replace").strip()
    if not said:
        raise BadQuery("expected a text in the body of the request")
    return said


def _known(like: str) -> str:
    if like and "://" not in like:
        raise BadQuery("like: expected the URL of a page or a stored image of the index")
    return like


def _keywords(asked: Asked) -> SearchKeywords:
    return SearchKeywords(
        page=asked.count("page", 1, MOST_PAGE),
        per_page=asked.count("per_page", PER_PAGE, MOST_PER_PAGE),
        exact=asked.one_of("exact", _SWITCH),
        without=asked.many("without"),
        facets=asked.one_of("facets", _SWITCH),
        verbatim=asked.one_of("verbatim", _SWITCH),
    )


def _between(query: str, first: str, last: str) -> str:
    try:
        return between(query, first.strip(), last.strip())
    except ValueError as error:
        raise BadQuery("from and to: expected a day such as 2026-01-31") from error


def _redirect(query: str) -> Response:
    return Response(status_code=303, headers={"location": f"/search?q={quote(query, safe='')}"})


def _page(title: str, body: Iterable[str], status: int = 200) -> Response:
    return Response(frame(title, body, section="/"), status, media_type="text/html")


async def _icon(_request: Request) -> Response:
    """Lead to the icon: a browser that shows a stored page asks for it by itself."""
    return Response(status_code=303, headers={"location": "/static/icon.svg"})


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
