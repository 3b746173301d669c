"""Details of a page and its stored copy. Crawled markup is never run: no script, no request."""

import re
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from typing import TypeAlias

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gossamer import LinkList, Page, Why
from gossamer.web.asked import Asked, BadQuery
from gossamer.web.engine import Engine
from gossamer.web.frame import field, frame, lines, link_to, out_link, text

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
COPY_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""Of stored HTML: an origin of its own, without scripts, forms and requests; only its own inline
styles and pictures are shown."""
MOST_LINKS = 50
MOST_EDITIONS = 20
MOST_TEXT_CHARS = 2_000_000
"""Of a text that is shown as a page."""
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9][A-Za-z0-9_.:\-]{0,39})", re.IGNORECASE)
_YEAR_10000 = 253_402_300_800


def detail_routes(engine: Engine) -> list[Route]:
    """Return the routes of details and stored copies."""
    return [Route("/page", _details(engine)), Route("/copy", _copy(engine))]


def _details(engine: Engine) -> Endpoint:
    def in_thread(url: str) -> Response:
        why = engine.aside(lambda crawl: crawl.why(url)) if engine.has_archive() else None
        links = None
        if engine.has_graph():
            links = engine.slowly(
                lambda graph: graph.links(url, direction="in", kinds=[], limit=MOST_LINKS)
            )
        known = links is not None or (why is not None and why.depth is not None)
        body = _drawn(url, why, links.incoming if links else None)
        page = frame(f"{url} · gossamer", body)
        return Response(page, 200 if known else 404, media_type="text/html")

    async def answer(request: Request) -> Response:
        return await run_in_threadpool(in_thread, Asked(request.query_params).url("url"))

    return answer


def _drawn(url: str, why: Why | None, incoming: LinkList | None) -> Iterator[str]:
    known = (why.canonical if why is not None else None) or url
    yield f'<form action="/page">{field("url", url, "URL")}<button>Show details</button></form>'
    yield f"<h1>{text(known)}{out_link(known)}</h1>"
    if why is None:
        yield '<p class="note">This index was not crawled here: its pages are not stored.</p>'
    else:
        yield f'<p class="explained">{text(why.explanation)}</p>'
        yield f'<p class="facts">{"".join(_ways(known, why))}</p>'
        rows = "".join(f"<dt>{name}</dt><dd>{told}</dd>" for name, told in _rows(why))
        yield f'<dl class="known">{rows}</dl>'
        yield from _editions(known, why)
    if incoming is not None:
        yield from _linked_from(known, incoming)


def _ways(url: str, why: Why) -> Iterator[str]:
    """Give where to go from here."""
    if why.page is not None:
        yield link_to("/copy", "stored text", url=url)
        yield link_to("/copy", "stored source", url=url, form="source")
        yield link_to("/copy", "stored page", url=url, form="page")
    yield link_to("/links", "links", url=url)
    yield link_to("/api/why", "as JSON", url=url)


def _rows(why: Why) -> Iterator[tuple[str, str]]:
    """Give what is known of a URL, the most important first."""
    yield "State", text(f"{why.state} ({why.reason})" if why.reason else why.state)
    yield from _told("Detail", why.detail)
    yield from _pointers(why)
    yield from _told("Labels", ", ".join(why.labels))
    if why.rank is not None:
        yield "Rank", text(f"{why.rank:.3g} times the mean")
    yield from _verdicts(why)
    for visit in reversed(why.visits):
        told = f"{_moment(visit.at)}: {visit.state}"
        status = f", HTTP {visit.status}" if visit.status else ""
        yield "Visited", text(f"{told}{status} {visit.reason}".strip())


def _pointers(why: Why) -> Iterator[tuple[str, str]]:
    """Give the other pages that it has to do with."""
    others = [("Found on", why.via), ("Redirects to", why.target), ("Same content as", why.copy_of)]
    if why.near is not None:
        others.append(("Nearly the same as", why.near.original))
    for name, other in others:
        if other:
            yield name, link_to("/page", other, url=other)
    if why.depth is not None:
        yield "Depth", text(f"{why.depth:,}" if why.depth else "0 (a seed)")


def _verdicts(why: Why) -> Iterator[tuple[str, str]]:
    if why.robots is not None:
        verdict = "allowed" if why.robots.allowed else "forbidden"
        rule = f" by line {why.robots.number}: {why.robots.line}" if why.robots.line else ""
        yield "robots.txt", text(verdict + rule)
    if why.filter is not None:
        yield "Filter", text(f"{why.filter.reason} {why.filter.detail}".strip())
    if why.next_at is not None:
        yield "Next request", text(f"{_moment(why.next_at)} {why.next_reason}".strip())


def _told(name: str, value: str) -> Iterator[tuple[str, str]]:
    if value:
        yield name, text(value)


def _editions(url: str, why: Why) -> Iterator[str]:
    """Give the contents that a page had, the newest first."""
    if why.editions_total < 2:  # noqa: PLR2004 -- one is the page itself
        return
    yield f"<h2>{why.editions_total:,} editions</h2><ul>"
    for one in reversed(why.editions[-MOST_EDITIONS:]):
        label = f"{_moment(one.at)} (edition {one.number})"
        yield f"<li>{link_to('/copy', label, url=url, edition=one.number)}</li>"
    yield "</ul>"


def _linked_from(url: str, row: LinkList) -> Iterator[str]:
    many = f"{row.total:,} {'page' if row.total == 1 else 'pages'}" if row.total else "no page"
    yield f"<h2>Linked from {many}</h2><ul>"
    for other in row.urls:
        yield f"<li>{link_to('/page', other, url=other)}{out_link(other)}</li>"
    yield "</ul>"
    if row.total > len(row.urls):
        yield f"<p>{link_to('/links', 'all of them', url=url, direction='in')}</p>"


def _copy(engine: Engine) -> Endpoint:
    def in_thread(asked: Asked) -> Response:
        url, number = asked.url("url"), asked.text("edition")
        edition = asked.count("edition", 1) if number else None
        draw = asked.one_of("form", _FORMS)
        if not engine.has_archive():
            raise HTTPException(404, "this index was not crawled here: its pages are not stored")
        page = engine.aside(lambda crawl: crawl.page(url, edition=edition))
        if page is None:
            raise HTTPException(404, f"no copy is stored of {url}")
        return draw(page)

    async def answer(request: Request) -> Response:
        return await run_in_threadpool(in_thread, Asked(request.query_params))

    return answer


def _as_text(page: Page) -> Response:
    return Response(
        frame(f"{page.title or page.url} · gossamer", _text_page(page)), 200, None, "text/html"
    )


def _text_page(page: Page) -> Iterator[str]:
    stored = page.text()
    yield f"<h1>{lines(page.title) if page.title else text(page.url)}</h1>"
    yield f'<p class="crumbs">{text(page.url)}{out_link(page.url)}</p>'
    day = _moment(page.fetched_at)
    yield f'<p class="note">The text of this page as it was stored on {text(day)}.</p>'
    yield f'<p class="facts">{link_to("/page", "details", url=page.url)}'
    yield f"{link_to('/copy', 'source', url=page.url, form='source')}"
    if _plain_type(page) in _HTML:
        yield link_to("/copy", "page", url=page.url, form="page")
    yield "</p>"
    if not stored.strip():
        yield '<p class="note">No text was found in it.</p>'
        return
    yield f'<div class="copy" dir="auto">{lines(stored[:MOST_TEXT_CHARS])}</div>'
    if len(stored) > MOST_TEXT_CHARS:
        yield f'<p class="note">Only the first {MOST_TEXT_CHARS:,} characters are shown.</p>'


def _as_source(page: Page) -> Response:
    """Return the source as plain text; what is none, as a file."""
    kind = _plain_type(page)
    is_text = kind.startswith("text/") or kind in _HTML or kind.endswith(("xml", "json"))
    if not is_text:
        headers = {"content-disposition": "attachment", "content-security-policy": COPY_POLICY}
        return Response(page.body(), 200, headers, "application/octet-stream")
    headers = {"content-security-policy": COPY_POLICY}
    headers["content-type"] = f"text/plain; charset={_charset(page)}"
    return Response(page.body(), 200, headers)


def _as_page(page: Page) -> Response:
    """Return stored HTML as a page that can do nothing."""
    if _plain_type(page) not in _HTML:
        raise BadQuery(f"form: expected text or source, since {page.url} is no HTML page")
    headers = {"content-security-policy": COPY_POLICY}
    headers["content-type"] = f"text/html; charset={_charset(page)}"
    return Response(page.body(), 200, headers)


_FORMS: dict[str, Callable[[Page], Response]] = {
    "text": _as_text,
    "source": _as_source,
    "page": _as_page,
}


def _plain_type(page: Page) -> str:
    return page.media_type.partition(";")[0].strip().lower()


def _charset(page: Page) -> str:
    """Return the encoding that the server or the page's own head names; UTF-8 if none does."""
    found = _CHARSET.search(page.header("content-type"))
    found = found or _CHARSET.search(page.body()[:1024].decode("latin-1"))
    return found[1].lower() if found else "utf-8"


def _moment(at: float) -> str:
    if not 0 < at < _YEAR_10000:
        return "an unknown day"
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
