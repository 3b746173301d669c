"""Details of a page and its stored copies. Crawled markup is never run: no script, no request."""

import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from typing import TypeAlias
from urllib.parse import quote, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gossamer import LinkList, Page, Why, page_text
from gossamer.errors import CannotGoOn
from gossamer.web.asked import Asked, BadQuery
from gossamer.web.console import SCRIPT, SCRIPT_POLICY, Actions, KeptAnswers
from gossamer.web.engine import Engine
from gossamer.web.frame import address, diff_line, field, frame, lines, link_to, out_link, text
from gossamer.web.popular import SentContent

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
COPY_POLICY = (
    "sandbox; default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""Of stored HTML: an origin of its own, without scripts, forms and requests to others; styles and
pictures come from the archive."""
FRAME_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; frame-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
"""Of our page around it."""
STORED_PATH = "/stored"
MOST_LINKS = 50
MOST_EDITIONS = 20
MOST_TEXT_CHARS = 2_000_000
"""Of a text that is shown as a page."""
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9][A-Za-z0-9_.:\-]{0,39})", re.IGNORECASE)
_YEAR_10000 = 253_402_300_800


def detail_routes(engine: Engine, actions: Actions) -> list[Route]:
    """Return the routes of details and stored copies."""
    stored = StoredFiles(engine)
    return [
        Route("/page", _details(engine, actions)),
        Route("/copy", _copy(engine, stored)),
        Route("/diff", _difference(engine)),
        Route(STORED_PATH, stored.route),
    ]


class StoredFiles:
    """Styles, pictures and fonts of stored pages, from the archive.

    A stored page has an origin of its own, and so could be any other site's: its references carry a
    key that only this server can make.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._secret = secrets.token_bytes(32)

    def address_of(self, url: str) -> str:
        """Return the address of what is stored of a URL."""
        return f"{STORED_PATH}?url={quote(url, safe='')}&key={self._key(url)}"

    def _key(self, url: str) -> str:
        return hmac.new(self._secret, url.encode("utf-8", "replace"), sha256).hexdigest()[:32]

    def html(self, page: Page) -> str:
        """Return a stored page whose references lead into the archive."""
        return self._engine.crawl.console.replayed(page, self.address_of)

    async def route(self, request: Request) -> Response:
        """Answer with a stored file."""
        return await run_in_threadpool(self._answer, Asked(request.query_params))

    def _answer(self, asked: Asked) -> Response:
        url = asked.url("url")
        if not hmac.compare_digest(asked.text("key"), self._key(url)):
            raise HTTPException(403, "this address is not one of this server's pages")
        return _popular(self._engine, (STORED_PATH, url), lambda: self._found(url))

    def _found(self, url: str) -> Response:
        page = self._engine.aside(lambda crawl: crawl.page(url))
        if page is None:
            raise HTTPException(404, f"no copy is stored of {url}")
        kind = _plain_type(page)
        headers = {"content-security-policy": COPY_POLICY}
        if kind in _HTML:
            place = f"/copy?form=page&url={quote(url, safe='')}"
            return Response(status_code=303, headers={**headers, "location": place})
        headers["cross-origin-resource-policy"] = "cross-origin"
        headers["access-control-allow-origin"] = "null"
        if kind == "text/css":
            return Response(self.html(page), 200, headers, "text/css; charset=utf-8")
        if not kind.startswith(("image/", "font/")):
            raise HTTPException(404, f"{url} is neither a style, a picture nor a font")
        return Response(page.body(), 200, headers, kind)


def _details(engine: Engine, actions: Actions) -> Endpoint:
    kept = KeptAnswers()

    def explained(url: str) -> Why | None:
        """Return what is known of a URL; None if that takes longer than a page should."""
        why = engine.aside(lambda crawl: crawl.console.why_at_once(url))
        if why is not None:
            return why
        found = kept.of(url, lambda: engine.crawl.why(url))
        if found.error:
            raise CannotGoOn(found.error)
        return found.answer if isinstance(found.answer, Why) else None

    def in_thread(url: str, told: str, *, may_write: bool) -> Response:
        why = explained(url) if engine.has_archive() else None
        if why is None and engine.has_archive():
            return _being_looked_for(url)
        links = None
        if engine.has_graph():
            links = engine.slowly(
                lambda graph: graph.links(url, direction="in", kinds=[], limit=MOST_LINKS)
            )
        known = links is not None or (why is not None and why.depth is not None)
        body = [f'<p class="meant" role="status">{text(told)}</p>'] if told else []
        body += _drawn(url, why, links.incoming if links else None)
        if why is not None and why.canonical is not None and may_write:
            body += _buttons(actions, why.canonical, why)
        page = frame(f"{url} · gossamer", body)
        return Response(page, 200 if known else 404, media_type="text/html")

    async def answer(request: Request) -> Response:
        asked = Asked(request.query_params).url("url")
        told = actions.told(request.query_params.get("done", ""))
        may_write = actions.may_write(request)
        return await run_in_threadpool(lambda: in_thread(asked, told, may_write=may_write))

    return answer


def _being_looked_for(url: str) -> Response:
    """Return a page that asks again: who links a URL that was never queued, the archive says."""
    body = (
        f"<h1>{text(url)}</h1>"
        '<p class="note" role="status" data-again>Never queued. Whether a stored page links to it '
        "is being looked for: it appears here in a moment; without scripts, load the page again."
        f"</p>{SCRIPT}"
    )
    headers = {"content-security-policy": SCRIPT_POLICY}
    return Response(frame(f"{url} · gossamer", [body]), 200, headers, "text/html")


def _buttons(actions: Actions, url: str, why: Why) -> Iterator[str]:
    """Give what can be done about a URL."""
    back = f"/page?url={quote(url, safe='')}"
    yield '<div class="buttons">'
    if why.state in {"failed", "refused"}:
        yield actions.button("retry", "Retry", back, url=url)
    if why.state == "held":
        yield actions.button("trust", "Trust", back, pattern=url)
    if why.filter is None or why.filter.reason != "dropped":
        yield actions.button("drop", "Drop", back, pattern=url)
    yield "</div>"


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
        yield link_to("/copy", "stored copy", url=url, form="view")
        yield link_to("/copy", "stored text", url=url)
        yield link_to("/copy", "Markdown", url=url, form="markdown")
        yield link_to("/copy", "header", url=url, form="header")
        yield link_to("/copy", "stored source", url=url, form="source")
    yield link_to("/links", "links", url=url)
    if host := urlsplit(url).hostname:
        yield link_to("/crawl/host", "host", host=host)
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
        line = link_to("/copy", label, url=url, edition=one.number, form="view")
        if one.number > 1:
            before = one.number - 1
            line += f" {link_to('/diff', 'what changed', url=url, before=before, after=one.number)}"
        yield f"<li>{line}</li>"
    yield "</ul>"


def _linked_from(url: str, row: LinkList) -> Iterator[str]:
    many = f"{row.total:,} {'page' if row.total == 1 else 'pages'}" if row.total else "no page"
    yield f"<h2>Linked from {many}</h2><ul>"
    for other in row.urls:
        yield f"<li>{link_to('/page', other, url=other)}{out_link(other)}</li>"
    yield "</ul>"
    if row.total > len(row.urls):
        yield f"<p>{link_to('/links', 'all of them', url=url, direction='in')}</p>"


def _difference(engine: Engine) -> Endpoint:
    """Return the page of what has changed between two editions."""

    def in_thread(asked: Asked) -> Response:
        url, before, after = asked.url("url"), asked.count("before", 1), asked.count("after", 2)
        if not engine.has_archive():
            raise HTTPException(404, "this index was not crawled here: its pages are not stored")
        found = engine.aside(lambda crawl: crawl.diff(url, before, after))
        lines = "\n".join(map(diff_line, found.lines[2:]))
        body = (
            f"<h1>{link_to('/page', url, url=url)}</h1>"
            f'<p class="note">Edition {before} of {text(_moment(found.before.at))}, and edition '
            f"{after} of {text(_moment(found.after.at))}.</p>"
            + (f'<pre class="diff">{lines}</pre>' if found.lines else "<p>Their texts are one.</p>")
        )
        return Response(frame(f"{url} · gossamer", [body]), media_type="text/html")

    async def answer(request: Request) -> Response:
        return await run_in_threadpool(in_thread, Asked(request.query_params))

    return answer


def _copy(engine: Engine, stored: StoredFiles) -> Endpoint:
    def in_thread(asked: Asked) -> Response:
        url, number = asked.url("url"), asked.text("edition")
        edition = asked.count("edition", 1) if number else None
        draw = asked.one_of("form", _FORMS)
        if not engine.has_archive():
            raise HTTPException(404, "this index was not crawled here: its pages are not stored")

        def found() -> Response:
            page = engine.aside(lambda crawl: crawl.page(url, edition=edition))
            if page is None:
                raise HTTPException(404, f"no copy is stored of {url}")
            return draw(page, stored, edition)

        return _popular(engine, ("/copy", asked.text("form"), url, number), found)

    async def answer(request: Request) -> Response:
        return await run_in_threadpool(in_thread, Asked(request.query_params))

    return answer


def _popular(engine: Engine, key: tuple[str, ...], find: Callable[[], Response]) -> Response:
    """Return what is stored, from memory if it was asked for before and nothing has changed."""
    names = sum(map(len, key))
    kept = engine.stored.of(
        key,
        engine.content_stamp(),
        lambda: SentContent.of(find()),
        lambda sent: len(sent.body) + names,
    )
    return kept.response()


def _as_text(page: Page, _: StoredFiles, __: int | None) -> Response:
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


def _as_source(page: Page, _: StoredFiles, __: int | None) -> Response:
    """Return the source as plain text; what is none, as a file."""
    kind = _plain_type(page)
    is_text = kind.startswith("text/") or kind in _HTML or kind.endswith(("xml", "json"))
    if not is_text:
        headers = {"content-disposition": "attachment", "content-security-policy": COPY_POLICY}
        return Response(page.body(), 200, headers, "application/octet-stream")
    headers = {"content-security-policy": COPY_POLICY}
    headers["content-type"] = f"text/plain; charset={_charset(page)}"
    return Response(page.body(), 200, headers)


def _as_page(page: Page, stored: StoredFiles, _: int | None) -> Response:
    """Return stored HTML as a page that can do nothing."""
    if _plain_type(page) not in _HTML:
        raise BadQuery(f"form: expected text or source, since {page.url} is no HTML page")
    headers = {"content-security-policy": COPY_POLICY}
    return Response(stored.html(page), 200, headers, "text/html; charset=utf-8")


def _as_view(page: Page, stored: StoredFiles, edition: int | None) -> Response:
    """Return a page of ours with the stored one in a frame; what is no HTML as its text."""
    if _plain_type(page) not in _HTML:
        return _as_text(page, stored, edition)
    day, url = text(_moment(page.fetched_at)), page.url
    source = address("/copy", url=url, form="page", edition=edition)
    body = (
        f"<h1>{lines(page.title) if page.title else text(url)}</h1>"
        f'<p class="crumbs">{text(url)}{out_link(url)}</p>'
        f'<p class="note">This page as it was stored on {day}, without scripts.</p>'
        f'<p class="facts">{link_to("/page", "details", url=url)}'
        f"{link_to('/copy', 'text', url=url, edition=edition)}"
        f"{link_to('/copy', 'source', url=url, form='source', edition=edition)}</p>"
        f'<iframe class="stored" sandbox title="The stored page" src="{source}"></iframe>'
    )
    headers = {"content-security-policy": FRAME_POLICY}
    return Response(frame(f"{page.title or url} · gossamer", [body]), 200, headers, "text/html")


def _as_header(page: Page, _: StoredFiles, __: int | None) -> Response:
    """Return the header as it was sent."""
    headers = {"content-security-policy": COPY_POLICY}
    return Response(page.head, 200, headers, "text/plain; charset=latin-1")


def _as_markdown(page: Page, _: StoredFiles, __: int | None) -> Response:
    """Return the page as Markdown."""
    headers = {"content-security-policy": COPY_POLICY}
    kind, plain = _plain_type(page), page.text()
    found = page_text("markdown", page.body(), media_type=kind, plain=plain, url=page.url)
    return Response(found, 200, headers, "text/plain; charset=utf-8")


_FORMS: dict[str, Callable[[Page, StoredFiles, int | None], Response]] = {
    "text": _as_text,
    "view": _as_view,
    "header": _as_header,
    "markdown": _as_markdown,
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
