"""The web that golden crawls were made of: small, finite, and the same on every machine for ever.

Golden folders hold its URLs and its bytes, so nothing here may change what is served; a later
folder that needs something else brings a web of its own. The port is part of every URL and
therefore fixed. It lies below the ports that systems hand out by themselves.
"""

import hashlib
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

from gossamer.testing import CannedResponse, FakeServer, Request, serve_in_thread
from gossamer.testing.server import ServerOptions

PORT = 27183
SITES = ("www.amber", "docs.amber", "www.basalt", "blog.basalt", "www.cobalt", "www.dolomite")
SITES += ("www.emerald", "shop.emerald", "www.feldspar")
HOSTS = tuple(f"{site}.test" for site in SITES)
"""Six registrable domains: of two shards, each owns some."""
PAGES = 22
CHILDREN = 5
DOWN = "/flaky"
"""Answers 500 while a golden crawl is made, and 200 ever after."""
SLOW_PAGE = 8
SLOW = ("www.basalt.test", "www.dolomite.test", "www.feldspar.test")
"""Hosts of which a page keeps a crawler waiting while a golden crawl is made."""
_PORT_TRIES = 120
_TRY_S = 0.5
_WORDS = """
amber ash bay beach birch bridge brook cedar chalk clay cliff cloud coal coast copper coral
creek dawn delta dune dusk earth elm fern field fjord flint fog forest frost garden glade
glen granite grass gravel grove harbour heath hill ice iron island ivy lake larch lime loam
marsh meadow mist moor moss mud oak ocean peat pebble pine plain pond quartz rain reef ridge
river rock root salt sand shale shore silt slate snow spring stone storm stream thorn tide
valley vine wave well willow wind wood yew
"""


@dataclass(frozen=True)
class GoldenWeb:
    """Nine hosts that link to each other; what each answers is a table of targets."""

    is_down: bool = False
    is_pure: bool = False

    @property
    def addresses(self) -> dict[str, str]:
        """The loopback address of every host."""
        return {host: f"127.27.18.{number}" for number, host in enumerate(HOSTS, 1)}

    @property
    def listen_on(self) -> set[str]:
        """The addresses of all hosts."""
        return set(self.addresses.values())

    @property
    def seeds(self) -> tuple[str, ...]:
        """Where to start: from here everything can be reached."""
        return (url_of(HOSTS[0], "/"),)

    def pages(self) -> Iterable[str]:
        """Return the URLs that are worth having ready: none."""
        return ()

    def served_at(self, scheme: str, port: int) -> "GoldenWeb":
        """Return this web, which is served at one place only."""
        assert (scheme, port) == ("http", PORT)
        return self

    def respond(self, request: Request) -> CannedResponse:
        """Return the answer to a request."""
        return self.answer(request.host, request.target)

    def answer(self, host: str, target: str) -> CannedResponse:
        """Return what a host answers to a target."""
        return self._tables.get(host, {}).get(target) or _html("Not here", "", (), status=404)

    @cached_property
    def _tables(self) -> dict[str, dict[str, CannedResponse]]:
        tables = {host: _table(number, host) for number, host in enumerate(HOSTS)}
        if self.is_down:
            tables[HOSTS[1]][DOWN] = _html("Out of order", "", (), status=500)
            for host in SLOW:
                target = page_target(SLOW_PAGE)
                tables[host][target] = replace(tables[host][target], wait_s=18.0)
        return tables

    def wanted(self) -> dict[str, bytes]:
        """Return URL and content of all that a complete crawl stores as a page."""
        return {
            url_of(host, target): answer.body
            for host, table in self._tables.items()
            for target, answer in table.items()
            if answer.status == 200 and target not in {"/robots.txt", "/private/diary"}
        }


def url_of(host: str, target: str) -> str:
    """Return the URL of a target."""
    return f"http://{host}:{PORT}{target}"


def page_target(number: int) -> str:
    """Return the target of a numbered page: paths and queries, letters of other scripts too."""
    if number == 0:
        return "/"
    shapes = ("/stone/{}.html", "/find?item={}", "/weg/b%C3%A4ume/{}/", "/notes/{}")
    return shapes[number % len(shapes)].format(number)


def word_of(host: str, number: int) -> str:
    """Return the word that only one page contains."""
    return "gold" + hashlib.sha256(f"{host} {number}".encode()).hexdigest()[:12].translate(_LETTERS)


_LETTERS = str.maketrans("0123456789", "ghijklmnop")


def prose(salt: str, sentences: int = 14) -> str:
    """Return sentences of made-up prose."""
    words = _WORDS.split()
    dice = hashlib.shake_256(salt.encode()).digest(sentences * 10)
    rows = (dice[at : at + 10] for at in range(0, len(dice), 10))
    return " ".join(" ".join(words[b % len(words)] for b in row).capitalize() + "." for row in rows)


def _table(number: int, host: str) -> dict[str, CannedResponse]:
    """Return all that a host answers with, by target."""
    table = {page_target(page): _page(number, host, page) for page in range(PAGES)}
    table |= {
        "/old": _moved("/notes/3"),
        "/out": _moved(url_of(HOSTS[(number + 1) % len(HOSTS)], "/notes/7")),
        "/gone": _html("Gone", "", (), status=410),
        "/closed": _html("Closed", "", (), status=403),
        "/data.json": _file(f'{{"host": "{host}"}}', "application/json"),
        "/plain.txt": _file(prose(f"plain {host}"), "text/plain; charset=utf-8"),
    }
    match number % 3:
        case 0:
            rules = f"User-agent: *\nDisallow: /private/\nSitemap: {url_of(host, '/sitemap.xml')}\n"
            table["/robots.txt"] = _file(rules, "text/plain")
            table["/private/diary"] = _html("Diary", "not for you", ())
            table["/sitemap.xml"] = _sitemap(host)
            table["/unlinked"] = _html("Only in the sitemap", prose(f"unlinked {host}"), ())
        case 1:
            table[DOWN] = _html("In order again", prose(f"flaky {host}"), ())
            table["/same"] = _html("The same everywhere", prose("the same"), ())
        case _:
            table["/same"] = _html("The same everywhere", prose("the same"), ())
            table["/nearly"] = _html("Nearly the same", prose("nearly", 60) + f" {host}.", ())
            table["/feed.xml"] = _feed(host)
    return table


def _page(number: int, host: str, page: int) -> CannedResponse:
    """Return a numbered page; the home also links to all that is no numbered page."""
    first = page * CHILDREN + 1
    links = [page_target(n) for n in range(first, min(first + CHILDREN, PAGES))]
    links += [url_of(HOSTS[(number + 1 + page) % len(HOSTS)], page_target((page * 7) % PAGES))]
    links += [url_of(HOSTS[(number + 4) % len(HOSTS)], page_target((page * 3 + 1) % PAGES))]
    if page == 0:
        links += ["/old", "/out", "/gone", "/closed", "/missing", "/data.json", "/plain.txt"]
        links += ["/archive.zip", "http://elsewhere.example/", "mailto:nobody@golden.test"]
        links += (["/private/diary"], [DOWN, "/same"], ["/same", "/nearly", "/feed.xml"])[
            number % 3
        ]
        links += [url_of(other, "/") for other in HOSTS]
    text = f"{prose(f'{host} {page}')} {word_of(host, page)}."
    answer = _html(f"{host.split('.')[1].capitalize()}, page {page}", text, links)
    return CannedResponse(
        headers=answer.headers, body=answer.body, gzip=page % 4 == 1, chunked=page % 5 == 2
    )


def _html(title: str, text: str, links: Iterable[str], *, status: int = 200) -> CannedResponse:
    anchors = "".join(f'<p>See <a href="{link}">{link}</a></p>\n' for link in links)
    body = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{title}</title></head>\n"
        f"<body><h1>{title}</h1>\n<p>{text}</p>\n{anchors}</body></html>\n"
    )
    kind = ("Content-Type", "text/html; charset=utf-8")
    return CannedResponse(status=status, headers=(kind,), body=body.encode())


def _file(text: str, kind: str) -> CannedResponse:
    return CannedResponse(headers=(("Content-Type", kind),), body=text.encode())


def _moved(to: str) -> CannedResponse:
    return CannedResponse(status=302, headers=(("Location", to), ("Content-Type", "text/html")))


def _sitemap(host: str) -> CannedResponse:
    rows = "".join(f"<url><loc>{url_of(host, t)}</loc></url>" for t in ("/unlinked", "/notes/3"))
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return _file(f'<?xml version="1.0"?><urlset xmlns="{space}">{rows}</urlset>', "application/xml")


def _feed(host: str) -> CannedResponse:
    items = "".join(
        f"<item><title>{n}</title><link>{url_of(host, page_target(n))}</link></item>"
        for n in (3, 5)
    )
    return _file(
        f'<?xml version="1.0"?><rss version="2.0"><channel><title>News of {host}</title>'
        f"<link>{url_of(host, '/')}</link>{items}</channel></rss>",
        "application/rss+xml",
    )


@contextmanager
def served(web: GoldenWeb) -> Iterator[FakeServer[GoldenWeb]]:
    """Serve the web at its port; wait a minute for another run of these tests to leave it."""
    for left in reversed(range(_PORT_TRIES)):
        try:
            context = serve_in_thread(web, ServerOptions(port=PORT))
            server = context.__enter__()
        except OSError as problem:
            if not left:
                raise AssertionError(
                    f"port {PORT} on 127.0.0.1 or 127.27.18.0/24 is taken ({problem}); golden "
                    "folders hold URLs with that port, so whoever has it must end first"
                ) from problem
            time.sleep(_TRY_S)
            continue
        break
    try:
        yield server
    finally:
        context.__exit__(None, None, None)
