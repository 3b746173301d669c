"""The pages for people: a link explorer that needs no script. All text from the web is escaped."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeAlias

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gossamer import HostRow, HostWeight, LinkList, RankedPage
from gossamer.web.api import UnknownUrl, links_asked, unknown_url
from gossamer.web.asked import Asked
from gossamer.web.engine import Engine
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
    found = engine.slowly(lambda graph: links_asked(graph, url, asked))
    if found is None:
        yield from _unknown(unknown_url(engine, [url]))
        return
    known = found.url
    yield f"<h1>{text(known)}{out_link(known)}</h1>"
    yield f'<p class="note">{link_to("/page", "Details", url=known)}</p>'
    source = address("/picture.svg", url=known)
    about = "A picture of the pages that link to it and of those that it links to"
    yield (
        f'<p><a href="{source}" title="In full size">'
        f'<img class="picture" src="{source}" alt="{about}"></a></p>'
    )
    yield '<div class="columns">'
    yield from _side(known, "in", found.incoming)
    yield from _side(known, "out", found.outgoing)
    yield "</div>"
    yield from _alike(engine, known)
    yield f'<h2>A path from here</h2><form action="/path">{field("from", known, "from")}'
    yield f"{field('to', '', 'to')}<button>Find the path</button></form>"


def _welcome(engine: Engine) -> Iterator[str]:
    info = engine.info()
    told = f"{info.nodes:,} nodes, {info.arcs:,} arcs"
    yield f'<p class="note">{text(engine.name)}: {told}.</p>'
    yield "<h2>Where to begin: the pages with the highest rank</h2>"
    yield _ranking(engine.ranked(15).pages)


def _side(url: str, name: str, row: LinkList | None) -> Iterator[str]:
    if row is None:
        return
    many = f"{row.total:,} {'page' if row.total == 1 else 'pages'}" if row.total else "no page"
    title = "Linked from" if name == "in" else "Links to"
    yield f"<section><h2>{title} {many}</h2><ul>"
    for other, kinds in zip(row.urls, row.kinds, strict=True):
        special = [word for word in kinds if word != "link"]
        mark = f' <span class="kind">{text(" ".join(special))}</span>' if special else ""
        yield f"<li>{link_to('/links', other, url=other)}{mark}{out_link(other)}</li>"
    yield "</ul>"
    if row.after:
        query = {"url": url, "direction": name, "after": row.after}
        yield f"<p>{link_to('/links', 'more', **query)}</p>"
    yield "</section>"


def _alike(engine: Engine, url: str) -> Iterator[str]:
    found = engine.slowly(lambda graph: graph.similar(url, "cocitation", MOST_ALIKE))
    if found is not None and found.pages:
        yield "<h2>Pages like this one (linked from the same pages)</h2><ul>"
        for one in found.pages:
            yield f"<li>{link_to('/links', one.url, url=one.url)}{out_link(one.url)}</li>"
        yield "</ul>"


def _ranks(engine: Engine, asked: Asked) -> Iterator[str]:
    found = engine.ranked(asked.count("top", 100))
    yield "<h1>The highest ranks</h1>"
    yield f'<p class="note">PageRank, {found.sweeps or 0} sweeps.</p>'
    yield _ranking(found.pages)


def _ranking(pages: list[RankedPage]) -> str:
    rows = (
        (f"{number}", f"{one.rank:.3%}", link_to("/links", one.url, url=one.url))
        for number, one in enumerate(pages, 1)
    )
    return table(rows, ("", "rank", "page"))


def _hosts(engine: Engine, asked: Asked) -> Iterator[str]:
    name = asked.text("host")
    if not name:
        listed = engine.hosts(asked.count("top", MOST_HOSTS))
        yield f"<h1>{listed.total:,} {'host' if listed.total == 1 else 'hosts'}</h1>"
        yield _host_table(listed.hosts, ("urls", "links_in", "links_out"))
        return
    found = engine.slowly(lambda graph: graph.host(name, MOST_HOSTS))
    if found is None:
        yield f'<p class="error">not in the graph: {text(name)}</p>'
        return
    urls, inside = found.urls, found.inside
    told = f"{urls:,} URL{'s' * (urls != 1)}, {inside:,} link{'s' * (inside != 1)} between them."
    yield f'<h1>{text(name)}</h1><p class="note">{told}</p><div class="columns">'
    for side, title in ((found.incoming, "Linked from"), (found.outgoing, "Links to")):
        yield f"<section><h2>{title}</h2>{_host_table(side, ('links',))}</section>"
    yield "</div>"


def _host_table(found: Sequence[HostRow | HostWeight], columns: tuple[str, ...]) -> str:
    rows = (
        (
            link_to("/hosts", one.host, host=one.host),
            *(f"{getattr(one, name):,}" for name in columns),
        )
        for one in found
    )
    return table(rows, ("host", *(name.replace("_", " ") for name in columns)))


def _path(engine: Engine, asked: Asked) -> Iterator[str]:
    start, end = asked.text("from").strip(), asked.text("to").strip()
    yield f'<form action="/path">{field("from", start, "from")}{field("to", end, "to")}'
    yield "<button>Find the path</button></form>"
    if not start or not end:
        return
    found = engine.slowly(lambda graph: graph.path(start, end))
    if found is None:
        yield from _unknown(unknown_url(engine, [start, end]))
        return
    if not found.path:
        why = "Too far: the search was given up." if found.gave_up else "No links lead there."
        yield f'<p class="error">{why}</p>'
        return
    hops = found.hops or 0
    yield f"<h1>{hops:,} link{'s' * (hops != 1)}</h1><ol>"
    yield from (f"<li>{link_to('/links', url, url=url)}{out_link(url)}</li>" for url in found.path)
    yield "</ol>"


def _unknown(said: UnknownUrl) -> Iterator[str]:
    yield f'<p class="error">{text(said.detail)}'
    for url in said.nearest:
        yield f"<br>Did you mean {link_to('/links', url, url=url)}?"
    yield "</p>"
