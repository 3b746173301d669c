"""The start page, its JSON, and the form that starts a crawl."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from gossamer.errors import ConfigError, GossamerError
from gossamer.log import counted
from gossamer.web.api import json_response
from gossamer.web.console.actions import LOGIN_PATH, Actions, NotAllowed, PostedForm, form_of
from gossamer.web.console.drawing import moment, size
from gossamer.web.console.routes import login_page
from gossamer.web.door.guard import App, Guard
from gossamer.web.door.turns import Busy
from gossamer.web.frame import field, frame, link_to, text
from gossamer.web.start.found import (
    MOST_CRAWLS,
    MOST_DEEP,
    CrawlCatalog,
    CrawlEntries,
    CrawlEntry,
)
from gossamer.web.start.starting import SCOPES, CrawlStarter, order_of

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
START_PATH = "/crawls/start"
SECTIONS = (("/", "Crawls"),)
_MOST_PAGES = "1000"
_CONTENTS = {
    "/api/crawls": "the crawls below the folder: name, state, pages, queued, archive_bytes, "
    "last_at, and the command that serves each",
    "/healthz": "",
}
_CODES: dict[type[Exception], tuple[int, str]] = {
    NotAllowed: (403, "not_allowed"),
    ConfigError: (400, "bad_query"),
    Busy: (503, "busy"),
}


def make_start_app(folder: Path, static: Path, *, is_local: bool, token: str = "") -> App:
    """Return the server of a start page: the crawls below a folder, and a form to start one.

    `is_local`: only requests that name a loopback host are answered, whoever sends them.
    `token`: who logs in with it may start one; without it, everybody on loopback may.
    """
    pages = StartPages(folder, Actions(is_local=is_local, token=token))
    routes = [
        Route("/", pages.page),
        Route("/api/crawls", pages.listed),
        Route("/api", _contents),
        Route("/healthz", _healthz),
        Route(START_PATH, pages.start, methods=["POST"]),
        Route(LOGIN_PATH, login_page(pages.actions, "/", SECTIONS), methods=["GET", "POST"]),
        Mount("/static", StaticFiles(directory=static)),
    ]
    told = (*_CODES, GossamerError, OSError, HTTPException)
    app = Starlette(routes=routes, exception_handlers=dict.fromkeys(told, pages.told))
    return Guard(app, is_local=is_local, posted=(START_PATH, LOGIN_PATH))


class StartPages:
    """Answers about the crawls below one folder."""

    def __init__(self, folder: Path, actions: Actions) -> None:
        self.actions = actions
        self._catalog = CrawlCatalog(folder)
        self._starter = CrawlStarter(self._catalog.root)

    async def page(self, request: Request) -> Response:
        """Answer with the start page."""
        told = self.actions.told(request.query_params.get("done", ""))
        return await self._drawn(request, PostedForm(b""), told=told)

    async def listed(self, _request: Request) -> Response:
        """Answer with the crawls as JSON."""
        return json_response(await run_in_threadpool(self._catalog.entries))

    async def start(self, request: Request) -> Response:
        """Start what a form of ours asks for; lead to the start page, or say what is wrong."""
        form = await form_of(request)
        self.actions.check(request, form)
        if not self.actions.may_write(request):
            raise NotAllowed("crawls can be looked at from here, not started")
        try:
            order = order_of(form)
            words = await run_in_threadpool(self._starter.start, order)
        except ConfigError as error:
            return await self._drawn(request, form, error=str(error))
        place = f"/?done={self.actions.note(words)}"
        return Response(status_code=303, headers={"location": place})

    async def told(self, request: Request, error: Exception) -> Response:
        """Answer with an error: a page, or JSON."""
        code, reason = _CODES.get(type(error), (503, "cannot_answer"))
        detail = error.detail if isinstance(error, HTTPException) else str(error)
        if isinstance(error, HTTPException):
            code, reason = error.status_code, "not_found" if error.status_code == 404 else "http"  # noqa: PLR2004 - see RFC 9110
        detail = self._catalog.without_paths(detail)
        if request.url.path.startswith(("/api", "/healthz")):
            return json_response({"error": reason, "detail": detail}, code)
        body = [f'<p class="error">{text(detail)}</p>']
        page = frame("Error · gossamer", body, sections=SECTIONS)
        return Response(page, code, media_type="text/html")

    async def _drawn(
        self, request: Request, form: PostedForm, *, told: str = "", error: str = ""
    ) -> Response:
        may_write = self.actions.may_write(request)

        def drawn() -> Response:
            body = [*self._messages(told, error), *self._crawls()]
            body += self._form(form) if may_write else self._read_only()
            title = f"Crawls in {self._name} · gossamer"
            page = frame(title, body, section="/", sections=SECTIONS)
            return Response(page, 400 if error else 200, media_type="text/html")

        return await run_in_threadpool(drawn)

    @property
    def _name(self) -> str:
        return self._catalog.without_paths(self._catalog.root.name) or "/"

    def _messages(self, told: str, error: str) -> Iterator[str]:
        if told:
            yield f'<p class="meant" role="status">{text(told)}</p>'
        if error:
            detail = text(self._catalog.without_paths(error))
            yield f'<p class="error" role="alert">{detail}</p>'

    def _crawls(self) -> Iterator[str]:
        found: CrawlEntries = self._catalog.entries()
        endings = self._starter.endings()
        crawls = found.crawls
        yield f"<h1>{counted(len(crawls), 'crawl')} in {text(self._name)}</h1>"
        if not found.complete:
            yield (
                f'<p class="hint">Shown are {MOST_CRAWLS} crawls at most, of {MOST_DEEP} levels of '
                "folders: there are more folders here.</p>"
            )
        entries = "".join("".join(_entry(one, endings.get(one.name, ""))) for one in crawls)
        yield f"<ul>{entries}</ul>" if crawls else ""

    def _form(self, form: PostedForm) -> Iterator[str]:
        yield f'<h2>Start a crawl</h2><form method="post" action="{START_PATH}">'
        yield f'<input type="hidden" name="secret" value="{text(self.actions.form_secret)}">'
        yield field("seeds", form.one("seeds"), "URLs to start from, with blanks between them")
        yield field("name", form.one("name"), "Name of its folder, which is new")
        yield '<label><span>Scope: what of the seeds it stays on</span><select name="scope">'
        yield "".join(
            f'<option value="{one}"{" selected" * (one == form.one("scope"))}>{one}</option>'
            for one in SCOPES
        )
        yield "</select></label>"
        most = form.one("max_pages") if form.one("secret") else _MOST_PAGES
        yield field("max_pages", most, "Most pages; empty: without end")
        yield "<button>Start</button></form>"

    def _read_only(self) -> Iterator[str]:
        login = f" {link_to(LOGIN_PATH, 'Log in')} to start one." if self.actions.has_login else ""
        yield f'<p class="note">Crawls can be looked at from here, not started.{login}</p>'


def _entry(one: CrawlEntry, ending: str) -> Iterator[str]:
    facts = [one.state]
    if one.pages is not None:
        facts += [counted(one.pages, "page"), f"{one.queued or 0:,} queued"]
        facts.append(size(one.archive_bytes or 0))
    if one.last_at:
        facts.append(f"last activity {moment(one.last_at)}")
    yield f'<li><h2>{text(one.name)}</h2><p class="facts">'
    yield "".join(f"<span>{text(fact)}</span>" for fact in facts)
    yield "</p>"
    for words in (one.detail, ending and f"It ended: {ending}"):
        if words:
            yield f'<p class="note">{text(words)}</p>'
    yield f"<p>To open it: <code>{text(one.serve)}</code></p></li>"


async def _contents(_request: Request) -> Response:
    return json_response(_CONTENTS)


async def _healthz(_request: Request) -> Response:
    return json_response({"ok": True})
