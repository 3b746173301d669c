"""The routes of the console: what is asked, and the page that answers it."""

import shutil
import textwrap
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import islice
from typing import NamedTuple, TypeAlias
from urllib.parse import quote

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gossamer import (
    Changes,
    CopyClusters,
    CrawledHost,
    HostDetails,
    OpenCrawl,
    PageChange,
    QueryLog,
    QueryReport,
    Status,
    UrlCounts,
)
from gossamer.clock import SystemClock
from gossamer.log import counted
from gossamer.web.asked import Asked
from gossamer.web.console import drawing
from gossamer.web.console.actions import (
    ACTIONS,
    COOKIE,
    LOGIN_PATH,
    PATH,
    Actions,
    NotAllowed,
    form_of,
)
from gossamer.web.console.drawing import (
    HOST_COLUMNS,
    SCRIPT_POLICY,
    as_of,
    being_counted,
    page_link,
)
from gossamer.web.console.kept import KeptAnswers
from gossamer.web.engine import Engine
from gossamer.web.frame import SECTIONS, address, diff_line, field, frame, link_to, table, text

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


class ConsoleRequest(NamedTuple):
    """What a page of the console is drawn for."""

    asked: Asked
    may_write: bool
    """Who looks at it may change the crawl."""


Drawing: TypeAlias = Callable[[ConsoleRequest], Iterator[str]]
PER_PAGE = 100
MOST_HOSTS = 20_000
"""That are kept for the table: those with the most URLs."""
MOST_LISTED = 10_000
MOST_VALUE_CHARS = 120
MOST_CHANGES, MOST_CLUSTERS, MOST_MEMBERS, MOST_LINES = 500, 200, 20, 20
_encode = msgspec.json.Encoder().encode


class ConsolePages:
    """Answers with the pages of one crawl."""

    def __init__(self, engine: Engine, actions: Actions) -> None:
        self._engine = engine
        self._actions = actions
        self._kept = KeptAnswers()
        self._clock = SystemClock()

    @property
    def _crawl(self) -> OpenCrawl:
        return self._engine.crawl

    def status(self) -> Status:
        """Return the status; that of a crawl which does not run may be some seconds old."""
        return self._engine.status()

    def live(self) -> Response:
        """Return the texts of the overview as JSON."""
        texts = drawing.live_texts(self.status(), self._disk_free(), self._engine.building())
        return Response(_encode(texts), media_type="application/json")

    def _disk_free(self) -> int:
        return shutil.disk_usage(self._crawl.folder).free

    def overview(self, seen: ConsoleRequest) -> Iterator[str]:
        """Give how the crawl does, and the buttons to steer it."""
        status, now = self.status(), self._clock.wall()
        yield f"<h1>{text(self._engine.name)}</h1>"
        if seen.may_write:
            yield '<div class="buttons">'
            if status.paused == "on_request":
                yield self._actions.button("resume", "Resume", "/crawl")
            else:
                yield self._actions.button("pause", "Pause", "/crawl")
            if status.running:
                yield self._actions.button("stop", "Stop", "/crawl")
            yield "</div>"
        history = self._crawl.console.history()
        yield f'<p class="note" data-live="building">{text(self._engine.building())}</p>'
        yield from drawing.overview(status, history, self._disk_free(), now)
        yield drawing.SCRIPT

    def hosts(self, seen: ConsoleRequest) -> Iterator[str]:
        """Give the hosts of the crawl."""
        words, page = seen.asked.text("q").strip().lower(), seen.asked.count("page", 1)
        sort = seen.asked.one_of("sort", {name: name for name in ("pages", *HOST_COLUMNS)})
        yield '<h1>Hosts</h1><form action="/crawl/hosts">'
        yield f"{field('q', words, 'Part of a name')}<button>Show</button></form>"
        found = self._kept.of("hosts", self._largest_hosts)
        if not isinstance(found.answer, list):
            yield being_counted(found.error)
            return
        rows: list[CrawledHost] = [one for one in found.answer if words in one.host]
        rows.sort(key=lambda one: _sort_key(one, sort), reverse=sort != "host")
        first = (page - 1) * PER_PAGE
        yield f'<p class="note">{counted(len(rows), "host")}. As of {drawing.moment(found.at)}.</p>'
        shown = rows[first : first + PER_PAGE]
        yield from drawing.hosts(shown, len(rows), sort, words, page, PER_PAGE)

    def _largest_hosts(self) -> list[CrawledHost]:
        return nlargest(MOST_HOSTS, self._crawl.hosts(), key=lambda one: one.pages + one.queued)

    def host(self, seen: ConsoleRequest) -> Iterator[str]:
        """Give what is known of a host."""
        name = seen.asked.text("host").strip()
        yield f"<h1>{text(name)}</h1>"
        kept = self._kept.of(f"host {name}", lambda: self._crawl.console.host(name))
        found = kept.answer
        if not isinstance(found, HostDetails):
            none = f'<p class="error">No URL of {text(name)} was queued.</p>'
            yield none if kept.at else being_counted(kept.error)
            return
        back = address("/crawl/host", host=name).replace("&amp;", "&")
        if seen.may_write:
            yield '<div class="buttons">'
            yield self._actions.button("block", "Block", back, pattern=name)
            yield self._actions.button("trust", "Trust", back, pattern=name)
            yield self._actions.button("drop", "Drop", back, pattern=name)
            yield self._actions.button("retry", "Retry its failures", back, host=name)
            yield f"{self._actions.opening('delay', back, host=name)}"
            yield f"{field('delay_s', '', 'Delay in seconds')}<button>Slow down</button></form>"
            yield "</div>"
        yield as_of(kept.at)
        yield from drawing.host_page(found, self._clock.wall())
        notes = [one for one in self.status().traps if name in one.unit]
        if notes:
            rows = ((text(one.unit), f"{one.held:,}", text(one.detail)) for one in notes)
            yield f"<h2>Suspected traps</h2>{table(rows, ('part', 'held', 'why'))}"

    def problems(self, seen: ConsoleRequest) -> Iterator[str]:
        """Give what went wrong, by state and reason."""
        yield "<h1>Problems</h1>"
        status = self.status()
        for note in sorted(status.traps, key=lambda one: -one.held):
            if note.held:
                yield f'<div class="hint">{counted(note.held, "URL")} of {text(note.unit)} '
                why = note.detail.removeprefix(f"{note.unit} is ")
                if seen.may_write:  # the button says so
                    why = why.partition("; gossamer trust ")[0]
                yield f"{'is' if note.held == 1 else 'are'} held: {text(why)}"
                if seen.may_write and note.pattern:
                    yield self._actions.button(
                        "trust", "Trust", "/crawl/problems", pattern=note.pattern
                    )
                yield "</div>"
        found = self._kept.of("problems", self._crawl.url_counts)
        if not isinstance(found.answer, UrlCounts):
            yield being_counted(found.error)
            return
        yield as_of(found.at)
        yield from drawing.problems(found.answer, status)

    def urls(self, seen: ConsoleRequest) -> Iterator[str]:
        """Give the URLs of one state, reason and host."""
        state, reason, host = (
            seen.asked.text(name).strip() for name in ("state", "reason", "host")
        )
        page = seen.asked.count("page", 1, MOST_LISTED // PER_PAGE)
        told = " · ".join(filter(None, (state or "all", reason, host)))
        yield f"<h1>{text(told)}</h1>"
        query = {"state": state, "reason": reason, "host": host}
        if seen.may_write and state in {"failed", "refused"} and (reason or host):
            back = address("/crawl/urls", **query).replace("&amp;", "&")
            yield '<div class="buttons">'
            yield self._actions.button("retry", "Retry these", back, reason=reason, host=host)
            yield "</div>"
        name = f"urls {state} {reason} {host} {page}"
        found = self._kept.of(name, lambda: self._urls(state, reason, host, page))
        if not isinstance(found.answer, list):
            yield being_counted(found.error)
            return
        yield as_of(found.at)
        yield from drawing.urls(found.answer[:PER_PAGE])
        has_more = len(found.answer) > PER_PAGE and page * PER_PAGE < MOST_LISTED
        yield from drawing.paging("/crawl/urls", page, has_more=has_more, **query)

    def _urls(self, state: str, reason: str, host: str, page: int) -> object:
        rows = self._crawl.urls(
            states=[state] if state else (),
            reasons=[reason] if reason else (),
            host=host,
            anchors=False,
        )
        first = (page - 1) * PER_PAGE
        return [*islice(rows, first, first + PER_PAGE + 1)]

    def changes(self, seen: ConsoleRequest) -> Iterator[str]:
        """Give the pages that are new, have changed, are gone or back."""
        since = seen.asked.text("since").strip() or "7 days ago"
        yield '<h1>Changes</h1><form action="/crawl/changes">'
        yield f"{field('since', since, 'Since')}<button>Show</button></form>"
        found = self._kept.of(f"changes {since}", lambda: self._changes(since))
        if not isinstance(found.answer, list):
            yield being_counted(found.error)
            return
        yield as_of(found.at)
        rows: list[PageChange] = found.answer
        for one in rows:
            yield f'<article class="change"><h2><span class="kind">{one.kind}</span> '
            yield f"{page_link(one.url)}</h2>"
            yield f'<p class="note">{drawing.moment(one.at)} {text(one.title)}</p>'
            if one.lines:
                yield f"<pre>{_diff(one.lines[:MOST_LINES])}</pre>"
            yield "</article>"
        if not rows:
            yield '<p class="note">Nothing was new, and nothing has changed.</p>'

    def _changes(self, since: str) -> object:
        changes: Changes = self._crawl.changes(since)
        found = nlargest(MOST_CHANGES, changes, key=lambda one: one.at)
        return [one for one in found if one.kind != "new"] + [
            one for one in found if one.kind == "new"
        ]

    def copies(self, _: ConsoleRequest) -> Iterator[str]:
        """Give clusters of near-duplicates."""
        yield "<h1>Copies</h1>"
        found = self._kept.of("copies", self._crawl.copies)
        if not isinstance(found.answer, CopyClusters):
            yield being_counted(found.error)
            return
        yield as_of(found.at)
        told = ", ".join(f"{count:,} {level}" for level, count in found.answer.pages.items())
        yield f'<p class="note">{text(told)}</p>'
        for cluster in found.answer.clusters[:MOST_CLUSTERS]:
            yield f"<section><h2>{page_link(cluster.original)}</h2><ul>"
            for member in cluster.members[:MOST_MEMBERS]:
                mark = f'<span class="kind">{text(member.level)}</span>'
                yield f"<li>{page_link(member.url)} {mark}</li>"
            yield "</ul>"
            if more := len(cluster.members) - MOST_MEMBERS:
                yield f'<p class="note">and {more:,} more</p>' * (more > 0)
            yield "</section>"

    def queries(self, _: ConsoleRequest) -> Iterator[str]:
        """Give what was searched for, and not found."""
        yield "<h1>Queries without result</h1>"
        found = self._kept.of("queries", lambda: QueryLog(self._crawl.folder).report(100))
        if not isinstance(found.answer, QueryReport) or not found.answer.queries:
            yield (
                being_counted(found.error)
                if found.error
                else (
                    '<p class="note">No query was written down: <code>gossamer serve DIR '
                    "--query-log</code> keeps them, without who asked.</p>"
                )
            )
            return
        report = found.answer
        told = f"{counted(report.queries, 'query', 'queries')}, {report.without_results:,} of them "
        yield f'<p class="note">{told}without a result.</p>'
        rows = (
            (link_to("/search", one.query, q=one.query), f"{one.count:,}") for one in report.empty
        )
        yield table(rows, ("query", "times"))

    def seeds(self, seen: ConsoleRequest) -> Iterator[str]:
        """Give the seeds, and a form to add some."""
        config = self._crawl.config()
        yield f"<h1>{counted(len(config.seeds), 'seed')}</h1>"
        if seen.may_write:
            yield self._actions.opening("add", "/crawl/seeds")
            yield field("seeds", "", "URLs, with blanks between them")
            yield field("label", "", "Label, if any")
            yield '<label><span>Scope</span><select name="scope">'
            names = ("", "any", "domain", "host", "prefix")
            yield "".join(f'<option value="{n}">{n or "that of the crawl"}</option>' for n in names)
            yield "</select></label><button>Add</button></form>"
        rows = (
            (page_link(seed), text(config.seed_labels.get(seed, "")))
            for seed in config.seeds[:MOST_LISTED]
        )
        yield table(rows, ("seed", "labels"))

    def rules(self, seen: ConsoleRequest) -> Iterator[str]:
        """Give what is dropped, what is trusted, and the settings that are obeyed at once."""
        config, back = self._crawl.config(), "/crawl/rules"
        yield "<h1>Rules</h1><h2>Dropped</h2>"
        yield '<p class="note">Never fetched, and left out of index, graph and tables.</p>'
        if seen.may_write:
            yield self._actions.opening("drop", back)
            given = seen.asked.text("pattern").strip()
            yield f"{field('pattern', given, 'Host or URL pattern')}<button>Drop</button></form>"
        undo = ("Undo" if seen.may_write else "",)
        rows = (
            (text(one), *(self._actions.button("undrop", name, back, pattern=one) for name in undo))
            if seen.may_write
            else (text(one),)
            for one in config.filter.drop
        )
        yield (
            table(rows, ("pattern", *("" for _ in undo)))
            if config.filter.drop
            else '<p class="note">None.</p>'
        )
        if config.traps.trust:
            yield f"<h2>Trusted</h2>{table((text(one),) for one in config.traps.trust)}"
        yield "<h2>Settings that are obeyed at once</h2>"
        settings = self._crawl.console.settings()
        if seen.may_write:
            yield self._actions.opening("set", back)
            yield _one_of("name", "Setting", (one.name for one in settings))
            yield f"{field('value', '', 'Value; empty: the default')}<button>Set</button></form>"
        yield '<dl class="known settings">'
        for one in settings:
            value = text(
                textwrap.shorten(one.value, MOST_VALUE_CHARS, placeholder=" ...") or "none"
            )
            yield f'<dt>{text(one.name)}</dt><dd>{value}<br><span class="note">{text(one.about)}'
            yield "</span></dd>"
        yield "</dl>"


def _one_of(name: str, about: str, choices: Iterable[str]) -> str:
    """Return a line of a form with some choices."""
    options = "".join(f"<option>{text(choice)}</option>" for choice in choices)
    return f'<label><span>{text(about)}</span><select name="{name}">{options}</select></label>'


def _diff(lines: Sequence[str]) -> str:
    """Return lines of a difference, marked as removed or added."""
    return "\n".join(map(diff_line, lines))


def _sort_key(one: CrawledHost, column: str) -> tuple[float, str]:
    value = getattr(one, column)
    return (0.0, value) if isinstance(value, str) else (float(value or 0.0), one.host)


def console_routes(engine: Engine, actions: Actions) -> list[Route]:
    """Return the routes of the console."""
    pages = ConsolePages(engine, actions)

    def page(path: str, title: str, draw: Drawing, policy: str = "") -> Route:
        def in_thread(seen: ConsoleRequest, told: str) -> Response:
            body = [drawing.parts(path), *_told(told), *draw(seen)]
            if not seen.may_write:
                body.append(_read_only(actions))
            made = frame(f"{title} · gossamer", body, section="/crawl")
            again = drawing.BEING_COUNTED in body
            headers = {"content-security-policy": policy or SCRIPT_POLICY * again}
            if not headers["content-security-policy"]:
                headers = {}
            return Response(made, 200, headers, "text/html")

        async def answer(request: Request) -> Response:
            told = actions.told(request.query_params.get("done", ""))
            seen = ConsoleRequest(Asked(request.query_params), actions.may_write(request))
            return await run_in_threadpool(in_thread, seen, told)

        return Route(path, answer)

    async def live(_request: Request) -> Response:
        return await run_in_threadpool(pages.live)

    return [
        page("/crawl", engine.name, pages.overview, SCRIPT_POLICY),
        page("/crawl/hosts", "Hosts", pages.hosts),
        page("/crawl/host", "Host", pages.host),
        page("/crawl/problems", "Problems", pages.problems),
        page("/crawl/urls", "URLs", pages.urls),
        page("/crawl/changes", "Changes", pages.changes),
        page("/crawl/copies", "Copies", pages.copies),
        page("/crawl/queries", "Queries", pages.queries),
        page("/crawl/seeds", "Seeds", pages.seeds),
        page("/crawl/rules", "Rules", pages.rules),
        Route("/crawl/images", _images),
        Route("/crawl/live", live),
        Route(PATH, _doing(engine, actions), methods=["POST"]),
        Route(LOGIN_PATH, login_page(actions), methods=["GET", "POST"]),
    ]


def _told(words: str) -> Iterator[str]:
    if words:
        yield f'<p class="meant" role="status">{text(words)}</p>'


def _read_only(actions: Actions) -> str:
    login = f" {link_to(LOGIN_PATH, 'Log in')} to change it." if actions.has_login else ""
    return f'<p class="note">{text(actions.why_not())}{login}</p>'


async def _images(_request: Request) -> Response:
    """Lead to the images of the index."""
    return Response(status_code=303, headers={"location": "/search?q=type%3Aimage"})


def _doing(engine: Engine, actions: Actions) -> Endpoint:
    """Return what does what a form asks for."""

    async def answer(request: Request) -> Response:
        form = await form_of(request)
        actions.check(request, form)
        if not actions.may_write(request):
            raise NotAllowed(actions.why_not())
        do = ACTIONS.get(form.one("action"))
        if do is None:
            raise NotAllowed("there is no such action")
        words = await run_in_threadpool(lambda: engine.changing(lambda crawl: do(crawl, form)))
        number = actions.note(words)
        mark = "&" if "?" in form.back else "?"
        place = f"{quote(form.back, safe='/?&=%:+~.,-')}{mark}done={number}"
        return Response(status_code=303, headers={"location": place})

    return answer


def login_page(
    actions: Actions, home: str = "/crawl", sections: Sequence[tuple[str, str]] = SECTIONS
) -> Endpoint:
    """Return the page on which one logs in with the server's token; `home` follows it."""

    async def answer(request: Request) -> Response:
        if request.method == "POST":
            form = await form_of(request)
            actions.check(request, form)
            cookie = actions.cookie_for(form.one("token"))
            headers = {
                "location": home,
                "set-cookie": f"{COOKIE}={cookie}; Path=/; HttpOnly; SameSite=Strict"
                + ("; Secure" if request.url.scheme == "https" else ""),
            }
            return Response(status_code=303, headers=headers)
        secret = text(actions.form_secret)
        body = (
            f'<h1>Log in</h1><form method="post" action="{LOGIN_PATH}">'
            f'<input type="hidden" name="secret" value="{secret}">'
            '<label><span>Token of this server</span><input type="password" name="token" '
            'autocomplete="current-password"></label><button>Log in</button></form>'
        )
        made = frame("Log in · gossamer", [body], section="/crawl", sections=sections)
        return Response(made, media_type="text/html")

    return answer
