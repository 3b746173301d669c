"""The pages for people: a link explorer that needs no script. All text from the web is escaped."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TypeAlias

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gossamer.graph import host, like, links, path
from gossamer.web.api import link_wish, part, unknown_url
from gossamer.web.asked import Asked
from gossamer.web.engine import Engine, Facts
from gossamer.web.frame import address, field, frame, link_to, out_link, table, text

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
Drawing: TypeAlias = Callable[[Engine, Asked], Iterator[str]]
MOST_ALIKE, MOST_HOSTS = 10, 200


def explorer(engine: Engine) -> Endpoint:
    """Return the page of one URL's links."""
    return _page(engine, _explorer, "Links", "/links")


def page_routes(engine: Engine) -> list[Route]:
    """Return the routes of the pages."""
    return [
        Route("/links", explorer(engine)),
        Route("/ranks", _page(engine, _ranks, "Ranks", "/ranks")),
        Route("/hosts", _page(engine, _hosts, "Hosts", "/hosts")),
        Route("/path", _page(engine, _path, "Path", "/links")),
    ]


def _page(engine: Engine, draw: Drawing, title: str, section: str) -> Endpoint:
    def in_thread(asked: Asked) -> Response:
        page = frame(f"{title} · gossamer", draw(engine, asked), section=section)
        return Response(page, media_type="text/html")

    async def answer(request: Request) -> Response:
        return await run_in_threadpool(in_thread, Asked(request.query_params))

    return answer


def error_page(detail: str) -> str:
    """Return the page that says what went wrong."""
    return frame("Error · gossamer", [f'<p class="error">{text(detail)}</p>'])


def _explorer(engine: Engine, asked: Asked) -> Iterator[str]:
    url = asked.text("url").strip()
    yield f'<form action="/links">{field("url", url, "URL")}<button>Show its links</button></form>'
    if not url:
        yield from _welcome(engine)
        return
    wish = link_wish(asked)
    facts = engine.slowly(lambda graph: links(graph, url, wish))
    if facts is None:
        yield from _unknown(unknown_url(engine, [url]))
        return
    known = str(facts["url"])
    yield f"<h1>{text(known)}{out_link(known)}</h1>"
    yield f'<p class="note">{link_to("/api/why", "What is known of it", url=known)}</p>'
    source = address("/picture.svg", url=known)
    about = "A picture of the pages that link to it and of those that it links to"
    yield (
        f'<p><a href="{source}" title="In full size">'
        f'<img class="picture" src="{source}" alt="{about}"></a></p>'
    )
    yield '<div class="columns">'
    yield from _side(facts, "in", "Linked from")
    yield from _side(facts, "out", "Links to")
    yield "</div>"
    yield from _alike(engine, known)
    yield f'<h2>A way from here</h2><form action="/path">{field("from", known, "from")}'
    yield f"{field('to', '', 'to')}<button>Find the way</button></form>"


def _welcome(engine: Engine) -> Iterator[str]:
    facts = engine.info()
    told = ", ".join(f"{_int(facts, name):,} {name}" for name in ("nodes", "arcs"))
    yield f'<p class="note">{text(engine.folder.name)}: {told}.</p>'
    yield "<h2>Where to begin: the pages with the highest rank</h2>"
    yield _ranking(part(engine.ranked(), "pages", 15))


def _side(facts: Facts, name: str, title: str) -> Iterator[str]:
    shown, kinds = facts.get(name), facts.get(f"{name}_kinds")
    if not isinstance(shown, list) or not isinstance(kinds, list):
        return
    total = _int(facts, f"{name}_total")
    many = f"{total:,} {'page' if total == 1 else 'pages'}" if total else "no page"
    yield f"<section><h2>{title} {many}</h2><ul>"
    for url, words in zip(shown, kinds, strict=True):
        special = [word for word in words if word != "link"]
        mark = f' <span class="kind">{text(" ".join(special))}</span>' if special else ""
        yield f"<li>{link_to('/links', url, url=url)}{mark}{out_link(url)}</li>"
    yield "</ul>"
    if after := facts.get(f"{name}_after"):
        query = {"url": facts["url"], "direction": name, "after": after}
        yield f"<p>{link_to('/links', 'more', **query)}</p>"
    yield "</section>"


def _alike(engine: Engine, url: str) -> Iterator[str]:
    found = engine.slowly(lambda graph: like(graph, url, "cocitation", MOST_ALIKE))
    pages = found["pages"] if found else []
    if isinstance(pages, list) and pages:
        yield "<h2>Pages like this one (linked from the same pages)</h2><ul>"
        for one in pages:
            yield f"<li>{link_to('/links', one['url'], url=one['url'])}{out_link(one['url'])}</li>"
        yield "</ul>"


def _ranks(engine: Engine, asked: Asked) -> Iterator[str]:
    facts = engine.ranked()
    yield "<h1>The highest ranks</h1>"
    yield f'<p class="note">PageRank, {_int(facts, "sweeps")} sweeps.</p>'
    yield _ranking(part(facts, "pages", asked.count("top", 100)))


def _ranking(pages: list[Facts]) -> str:
    rows = (
        (f"{number}", f"{one['rank']:.3%}", link_to("/links", one["url"], url=one["url"]))
        for number, one in enumerate(pages, 1)
    )
    return table(rows, ("", "rank", "page"))


def _hosts(engine: Engine, asked: Asked) -> Iterator[str]:
    name = asked.text("host")
    if not name:
        facts = engine.hosts()
        yield f"<h1>{_int(facts, 'total'):,} hosts</h1>"
        yield _host_table(
            part(facts, "hosts", asked.count("top", 200)), ("urls", "links_in", "links_out")
        )
        return
    found = engine.slowly(lambda graph: host(graph, name, MOST_HOSTS))
    if found is None:
        yield f'<p class="error">not in the graph: {text(name)}</p>'
        return
    urls, inside = _int(found, "urls"), _int(found, "inside")
    told = f"{urls:,} URL{'s' * (urls != 1)}, {inside:,} link{'s' * (inside != 1)} between them."
    yield f'<h1>{text(name)}</h1><p class="note">{told}</p><div class="columns">'
    for side, title in (("in", "Linked from"), ("out", "Links to")):
        yield f"<section><h2>{title}</h2>"
        yield f"{_host_table(part(found, side, MOST_HOSTS), ('links',))}</section>"
    yield "</div>"


def _host_table(found: list[Facts], columns: tuple[str, ...]) -> str:
    rows = (
        (link_to("/hosts", one["host"], host=one["host"]), *(f"{one[name]:,}" for name in columns))
        for one in found
    )
    return table(rows, ("host", *(name.replace("_", " ") for name in columns)))


def _path(engine: Engine, asked: Asked) -> Iterator[str]:
    start, end = asked.text("from").strip(), asked.text("to").strip()
    yield f'<form action="/path">{field("from", start, "from")}{field("to", end, "to")}'
    yield "<button>Find the way</button></form>"
    if not start or not end:
        return
    facts = engine.slowly(lambda graph: path(graph, start, end))
    if facts is None:
        yield from _unknown(unknown_url(engine, [start, end]))
        return
    steps = facts["path"]
    if not isinstance(steps, list) or not steps:
        why = "Too far: the search was given up." if facts["gave_up"] else "No links lead there."
        yield f'<p class="error">{why}</p>'
        return
    yield f"<h1>{_hops(facts)}</h1><ol>"
    yield from (f"<li>{link_to('/links', url, url=url)}{out_link(url)}</li>" for url in steps)
    yield "</ol>"


def _hops(facts: Facts) -> str:
    hops = _int(facts, "hops")
    return f"{hops:,} link{'s' * (hops != 1)}"


def _unknown(facts: Facts) -> Iterator[str]:
    yield f'<p class="error">{text(facts["detail"])}'
    near = facts["nearest"]
    for url in near if isinstance(near, list) else ():
        yield f"<br>Did you mean {link_to('/links', url, url=url)}?"
    yield "</p>"


def _int(facts: Mapping[str, object], name: str) -> int:
    value = facts.get(name, 0)
    return value if isinstance(value, int) else 0
