"""Everything on a fake site but its numbered pages.

That is: robots.txt, sitemaps and feeds, PDF, PNG and JSON files, pages in odd encodings,
near-copies, pages that moved, and traps without an end.
"""

import gzip
import json
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from functools import cache
from html import escape

from gossamer.testing.responses import CannedResponse, Headers, html_response, not_found, redirect
from gossamer.testing.site import SiteCatalog, SitePlan
from gossamer.testing.words import TOPICS, SeededRandom, sentence

_GIANT_LEAD_BYTES = 490 * 1024
_GIANT_TAIL_BYTES = 210 * 1024


@dataclass(frozen=True, slots=True)
class RobotsKind:
    """A kind of robots.txt: the response to `/robots.txt`, and the targets that it forbids."""

    response: Callable[[str], CannedResponse]
    """Makes the response; the argument is the `Sitemap:` line, or ""."""
    forbids: Callable[[str], bool]


def _text(rules: str, forbids: Callable[[str], bool]) -> RobotsKind:
    return RobotsKind(lambda sitemap: plain(rules + sitemap), forbids)


def plain(text: str) -> CannedResponse:
    """Return a robots.txt with this text."""
    return CannedResponse(headers=(("Content-Type", "text/plain"),), body=text.encode())


def _nothing(_target: str) -> bool:
    return False


def _everything(_target: str) -> bool:
    return True


def _private(target: str) -> bool:
    return target.startswith("/private/")


def _private_but_open(target: str) -> bool:
    return target.startswith("/private/") and not target.startswith("/private/open/")


def _sorted_or_print(target: str) -> bool:
    return "?sort=" in target or target.endswith(".print")


def _private_or_print(target: str) -> bool:
    return _private(target) or target == "/archive/first.print"


@cache
def _giant_text() -> str:
    filler = "# a comment that goes on for longer than anybody cares to read\n"
    lead = filler * (_GIANT_LEAD_BYTES // len(filler))
    tail = filler * (_GIANT_TAIL_BYTES // len(filler))
    return f"User-agent: *\n{lead}Disallow: /private/\n{tail}"


def _giant(sitemap: str) -> CannedResponse:
    return plain(sitemap + _giant_text())


ROBOTS: dict[str, RobotsKind] = {
    "open": _text("User-agent: *\nDisallow:\n", _nothing),
    "missing": RobotsKind(lambda _: not_found(), _nothing),
    "empty": _text("", _nothing),
    "disallow": _text("User-agent: *\nDisallow: /private/\n", _private),
    "delay": _text("User-agent: *\nCrawl-delay: 1\nDisallow: /private/\n", _private),
    "closed": _text("User-agent: *\nDisallow: /\n", _everything),
    "unreachable": RobotsKind(
        lambda _: html_response("<h1>Back soon</h1>", status=503), _everything
    ),
    "redirected": RobotsKind(lambda _: redirect("/robots-moved.txt", 301), _private),
    "wildcards": _text(
        "User-agent: *\nDisallow: /*.print$\nDisallow: /*?sort=\n", _sorted_or_print
    ),
    "override": _text(
        "\ufeffuser-agent:*\r\ndisallow: /private/ # not yours\r\nallow: /private/open/\r\n",
        _private_but_open,
    ),
    "groups": _text(
        "User-agent: otherbot\nUser-agent: gossamer\nDisallow: /private/\n\n"
        "User-agent: *\nDisallow: /\n\n"
        "User-agent: Gossamer/2.0\nDisallow: /archive/first.print$\n\n",
        _private_or_print,
    ),
    "giant": RobotsKind(_giant, _private),
    "html": RobotsKind(
        lambda _: html_response("<html><h1>Welcome</h1><p>Disallow nothing, dear guest.</html>"),
        _nothing,
    ),
    "own_group": _text(
        "User-agent: *\nDisallow: /\n\nUser-agent: gossamer\nDisallow: /private/\n", _private
    ),
}


_DAY = "2024-03-01"


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """One page as a feed or a sitemap names it."""

    url: str
    title: str


def rss(site: str, entries: Sequence[FeedEntry]) -> bytes:
    """Return an RSS 2.0 feed."""
    items = "".join(
        f"<item><title>{escape(entry.title)}</title><link>{escape(entry.url)}</link>"
        f"<guid>{escape(entry.url)}</guid></item>\n"
        for entry in entries
    )
    head = f'<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"><channel><title>{site}'
    return f"{head}</title>\n{items}</channel></rss>\n".encode()


def atom(site: str, entries: Sequence[FeedEntry]) -> bytes:
    """Return an Atom feed."""
    items = "".join(
        f'<entry><title>{escape(entry.title)}</title><link href="{escape(entry.url)}"/>'
        f"<id>{escape(entry.url)}</id><updated>{_DAY}T00:00:00Z</updated></entry>\n"
        for entry in entries
    )
    head = '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">'
    return f"{head}<title>{site}</title>\n{items}</feed>\n".encode()


def json_feed(site: str, entries: Sequence[FeedEntry]) -> bytes:
    """Return a JSON Feed 1.1."""
    items = [{"id": e.url, "url": e.url, "title": e.title} for e in entries]
    feed = {"version": "https://jsonfeed.org/version/1.1", "title": site, "items": items}
    return json.dumps(feed).encode()


def urlset(entries: Sequence[FeedEntry]) -> bytes:
    """Return a sitemap."""
    rows = "".join(
        f"<url><loc>{escape(entry.url)}</loc><lastmod>{_DAY}</lastmod></url>\n" for entry in entries
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{rows}</urlset>\n'
    ).encode()


def sitemap_index(urls: Sequence[str]) -> bytes:
    """Return an index of sitemaps."""
    rows = "".join(f"<sitemap><loc>{escape(url)}</loc></sitemap>\n" for url in urls)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{rows}'
        "</sitemapindex>\n"
    ).encode()


def urllist(entries: Sequence[FeedEntry]) -> bytes:
    """Return a sitemap in plain text."""
    return "".join(f"{entry.url}\n" for entry in entries).encode()


def zipped(body: bytes) -> bytes:
    """Return a body as a .gz file, the same each time."""
    return gzip.compress(body, 6, mtime=0)


Maker = Callable[[str, Sequence[FeedEntry]], bytes]

FEEDS: dict[str, tuple[str, Maker]] = {
    "/feed.xml": ("application/rss+xml", rss),
    "/atom.xml": ("application/atom+xml", atom),
    "/feed.json": ("application/feed+json", json_feed),
}


def _whole(_origin: str, entries: Sequence[FeedEntry]) -> bytes:
    return urlset(entries)


def _index(origin: str, _entries: Sequence[FeedEntry]) -> bytes:
    return sitemap_index([f"{origin}/sitemap-1.xml.gz", f"{origin}/sitemap-2.txt"])


def _first_half(_origin: str, entries: Sequence[FeedEntry]) -> bytes:
    return zipped(urlset(entries[: (len(entries) + 1) // 2]))


def _second_half(_origin: str, entries: Sequence[FeedEntry]) -> bytes:
    return urllist(entries[(len(entries) + 1) // 2 :])


def _list(_origin: str, entries: Sequence[FeedEntry]) -> bytes:
    return urllist(entries)


SITEMAPS: dict[str, dict[str, tuple[str, Maker]]] = {
    "none": {},
    "xml": {"/sitemap.xml": ("application/xml", _whole)},
    "txt": {"/sitemap.txt": ("text/plain", _list)},
    "index": {
        "/sitemap.xml": ("text/xml", _index),
        "/sitemap-1.xml.gz": ("application/gzip", _first_half),
        "/sitemap-2.txt": ("text/plain", _second_half),
    },
}
"""By kind of sitemap: path, then media type and maker. The first path is what robots.txt names."""


_PNG_SIDE = 32
_PAGE = (
    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
    b" /Resources << /Font << /F1 5 0 R >> >> /Annots [6 0 R] >>"
)


def pdf(title: str, lines: list[str], link: str) -> bytes:
    """Return a one-page PDF with some lines of text and one link."""
    text = "".join(f"({_pdf_text(line)}) Tj T*\n" for line in [title, *lines])
    stream = f"BT /F1 12 Tf 14 TL 50 780 Td\n{text}ET".encode("latin-1", "replace")
    uri = _pdf_text(link)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        _PAGE,
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Type /Annot /Subtype /Link /Rect [50 700 300 800] /Border [0 0 0]"
        f" /A << /S /URI /URI ({uri}) >> >>".encode("latin-1", "replace"),
        f"<< /Title ({_pdf_text(title)}) >>".encode("latin-1", "replace"),
    ]
    return _pdf_file(objects)


def _pdf_text(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def _pdf_file(objects: list[bytes]) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    return bytes(out + trailer % (len(objects) + 1, len(objects), start))


def png(rng: SeededRandom) -> bytes:
    """Return a PNG of 32 by 32 pixels, in random colours."""
    red, green, blue = (rng.below(256) for _ in range(3))
    rows = bytearray()
    for y in range(_PNG_SIDE):
        rows.append(0)
        for x in range(_PNG_SIDE):
            rows += bytes(((red + 7 * x) % 256, (green + 7 * y) % 256, (blue + x * y) % 256))
    header = struct.pack(">IIBBBBB", _PNG_SIDE, _PNG_SIDE, 8, 2, 0, 0, 0)
    body = zlib.compress(bytes(rows), 9)
    chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", body), _chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + check


def json_page(title: str, token: str, links: list[str]) -> bytes:
    """Return a JSON document that mentions some URLs."""
    rows = [{"row": number, "see": link} for number, link in enumerate(links)]
    return json.dumps({"title": title, "token": token, "rows": rows}, indent=1).encode()


_EPOCH_S = 1_600_000_000
_DATES = 1500
_FEED_ENTRIES = 20
_SITEMAP_ENTRIES = 50_000

HTML_EXTRAS = (
    *("/private/ledger.html", "/private/open/notice.html", "/archive/list?sort=title"),
    *("/archive/first.print", "/archive/first.print.html", "/odd/latin-1.html"),
    *("/odd/shift-jis.html", "/odd/broken.html", "/copies/1.html", "/copies/2.html"),
)
OTHER_EXTRAS = (
    *("/old/1", "/old/2", "/old/3", "/old/4", "/gone/404", "/gone/410", "/files/report.pdf"),
    *("/img/chart.png", "/data/table.json", "/feed.xml", "/atom.xml", "/feed.json"),
)


def has_copy(site: SitePlan, path: str) -> bool:
    """Return True if a site is large enough to have this near-copy, or the path is none."""
    return not path.startswith("/copies/") or int(path[len("/copies/")]) < site.pages


def served(
    catalog: SiteCatalog, site: SitePlan, body: bytes, about: tuple[str, str]
) -> CannedResponse:
    """Return a body as the site serves its files: coded, framed and dated.

    `about` is what tells this file from others, and its media type.
    """
    mark, kind = about
    return CannedResponse(
        headers=(("Content-Type", kind), *_validators(catalog.plan.seed, site, mark)),
        body=body,
        gzip=site.gzip,
        chunked=site.chunked,
        wait_s=site.wait_s,
    )


def _validators(seed: int, site: SitePlan, mark: str) -> Headers:
    version = SeededRandom(seed, "version", site.source, mark).number()
    return (("Last-Modified", _date(version % _DATES)), ("ETag", f'"{version:016x}"'))


@cache
def _date(number: int) -> str:
    return formatdate(_EPOCH_S + number * 86_400, usegmt=True)


def extra_response(catalog: SiteCatalog, site: SitePlan, target: str) -> CannedResponse:
    """Return the response to everything that is not a numbered page."""
    if target.startswith("/robots"):
        return _robots(catalog, site, target)
    listed = FEEDS.get(target) or SITEMAPS[site.sitemap].get(target)
    if listed is not None:
        kind, make = listed
        name = site.title if target in FEEDS else catalog.url(site.source, "")
        return served(catalog, site, make(name, _entries(catalog, site, target)), (target, kind))
    file = _FILES.get(target)
    if file is not None and has_copy(site, target):
        kind, make_body = file
        return served(catalog, site, make_body(catalog, site), (target, kind))
    return _old(catalog, site, target)


def _robots(catalog: SiteCatalog, site: SitePlan, target: str) -> CannedResponse:
    paths = list(SITEMAPS[site.sitemap])
    line = f"Sitemap: {catalog.url(site.source, paths[0])}\n" if paths else ""
    if target == "/robots-moved.txt" and site.robots == "redirected":
        return plain(f"User-agent: *\nDisallow: /private/\n{line}")
    return ROBOTS[site.robots].response(line) if target == "/robots.txt" else not_found()


def _entries(catalog: SiteCatalog, site: SitePlan, target: str) -> list[FeedEntry]:
    renderer = catalog.renderer(site.index)
    count = min(site.pages, _FEED_ENTRIES if target in FEEDS else _SITEMAP_ENTRIES)
    return [FeedEntry(catalog.page_url(site.source, n), renderer.headline(n)) for n in range(count)]


def _old(catalog: SiteCatalog, site: SitePlan, target: str) -> CannedResponse:
    """Return what became of pages that are no longer where they were."""
    if target == "/gone/410":
        return html_response("<title>Gone</title><h1>Gone for good</h1>", status=410)
    renderer = catalog.renderer(site.index)
    neighbour = (site.source + 1) % catalog.plan.hosts
    moved = {
        "/old/1": (renderer.path(site.pages - 1), 301),
        "/old/2": (f"..{renderer.path(min(1, site.pages - 1))}", 302),
        "/old/3": (catalog.url(neighbour, "/"), 308),
        "/old/4": ("/old/1", 307),
    }.get(target)
    return redirect(*moved) if moved else not_found()


def _short_page(path: str, title: str) -> Callable[[SiteCatalog, SitePlan], bytes]:
    def make(catalog: SiteCatalog, site: SitePlan) -> bytes:
        token = catalog.token(site.source, path)
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f"</head><body><h1>{title}</h1><p>{site.title} files this under {token}.</p>"
            '<p><a href="/">Home</a></p></body></html>\n'
        ).encode()

    return make


def _latin_1(catalog: SiteCatalog, site: SitePlan) -> bytes:
    token = catalog.token(site.source, "/odd/latin-1.html")
    text = f"<title>Déjà vu</title><p>Crème brûlée à la carte: {token}. <a href=/>Façade</a>"
    return text.encode("latin-1")


def _shift_jis(catalog: SiteCatalog, site: SitePlan) -> bytes:
    token = catalog.token(site.source, "/odd/shift-jis.html")
    text = (
        '<meta http-equiv="content-type" content="text/html; charset=shift_jis">'
        f"<title>古い灯台</title><p>静かな路地は初雪を待っている。{token} <a href='/'>家</a>"
    )
    return text.encode("shift_jis")


def _broken(catalog: SiteCatalog, site: SitePlan) -> bytes:
    token = catalog.token(site.source, "/odd/broken.html")
    return (
        f"<title>Broken<body><table><p>{token}<a href=/ ><b>home<td></p><i><a href='/'>home</b>"
        "<!-- never closed <div"
    ).encode()


def _copy(number: int) -> Callable[[SiteCatalog, SitePlan], bytes]:
    def make(catalog: SiteCatalog, site: SitePlan) -> bytes:
        token = catalog.token(site.source, f"/copies/{number}.html")
        return catalog.renderer(site.index).render(min(number, site.pages - 1), token, is_copy=True)

    return make


def _pdf(catalog: SiteCatalog, site: SitePlan) -> bytes:
    rng = SeededRandom(catalog.plan.seed, "pdf", site.source)
    lines = [sentence(site.topic, "en", rng) for _ in range(8)]
    token = catalog.token(site.source, "/files/report.pdf")
    return pdf(f"A report by {site.title}", [*lines, token], catalog.url(site.source, "/"))


def _png(catalog: SiteCatalog, site: SitePlan) -> bytes:
    return png(SeededRandom(catalog.plan.seed, "png", site.source))


def _json(catalog: SiteCatalog, site: SitePlan) -> bytes:
    token = catalog.token(site.source, "/data/table.json")
    return json_page(site.title, token, [catalog.url(site.source, "/")])


def _style(_catalog: SiteCatalog, _site: SitePlan) -> bytes:
    return b"body { font: 1rem/1.5 serif; background: url(/img/chart.png) }\n"


_TITLES = {
    "/private/ledger.html": "The private ledger",
    "/private/open/notice.html": "A public notice",
    "/private/unfollowed.html": "For members",
    "/archive/list?sort=title": "The archive by title",
    "/archive/first.print": "The first issue, to print",
    "/archive/first.print.html": "The first issue, to read",
}

_FILES: dict[str, tuple[str, Callable[[SiteCatalog, SitePlan], bytes]]] = {
    **{path: ("text/html", _short_page(path, title)) for path, title in _TITLES.items()},
    "/odd/latin-1.html": ("text/html; charset=utf-8", _latin_1),
    "/odd/shift-jis.html": ("text/html; charset=iso-8859-1", _shift_jis),
    "/odd/broken.html": ("text/html", _broken),
    "/copies/1.html": ("text/html", _copy(1)),
    "/copies/2.html": ("text/html", _copy(2)),
    "/files/report.pdf": ("application/pdf", _pdf),
    "/img/chart.png": ("image/png", _png),
    "/data/table.json": ("application/json", _json),
    "/style.css": ("text/css", _style),
}


TRAPS: tuple[str, ...] = (
    "/trap/calendar/2024/01",
    "/trap/session/index?sid=start",
    "/trap/loop/a/b/",
    "/trap/maze/",
    "/trap/facets?colour=red",
)
"""The ways in."""

_MAZE_DOORS = 10
_YEAR_MONTHS = 12
_DAYS = 28
_WORDS = sorted({word for words in TOPICS.values() for word in words})
_FACETS = ("colour", "size", "age", "maker", "shelf")


def trap(target: str) -> CannedResponse:
    """Return the response to a target under /trap/."""
    name = target.removeprefix("/trap/").partition("/")[0].partition("?")[0]
    make = _MAKERS.get(name)
    return make(target) if make else not_found()


def _page(title: str, hrefs: list[str]) -> CannedResponse:
    links = "\n".join(f'<li><a href="{href}">{href}</a></li>' for href in hrefs)
    return html_response(
        f"<!doctype html><title>{title}</title><h1>{title}</h1>\n<ul>\n{links}\n</ul>\n"
    )


def _calendar(target: str) -> CannedResponse:
    parts = target.split("/")[3:]
    if not all(part.isdigit() for part in parts) or len(parts) not in (2, 3):
        return not_found()
    months = int(parts[0]) * _YEAR_MONTHS + int(parts[1]) - 1
    nearby = [divmod(months + step, _YEAR_MONTHS) for step in (1, -1)]
    here = f"/trap/calendar/{int(parts[0])}/{int(parts[1]):02d}"
    days = [f"{here}/{day:02d}" for day in range(1, _DAYS + 1)]
    turns = [f"/trap/calendar/{year}/{month + 1:02d}" for year, month in nearby]
    return _page(f"Calendar, {'-'.join(parts)}", turns + days)


def _session(target: str) -> CannedResponse:
    rng = SeededRandom(target)
    doors = ("index", "basket", "news")
    return _page(
        "Your session", [f"/trap/session/{door}?sid={rng.number():016x}" for door in doors]
    )


def _loop(target: str) -> CannedResponse:
    return _page("Round and round", ["a/b/", "b/a/", f"{target.rstrip('/')}/a/"])


def _maze(target: str) -> CannedResponse:
    rng = SeededRandom(target)
    doors = [f"{target.rstrip('/')}/{rng.pick(_WORDS)}" for _ in range(_MAZE_DOORS)]
    babble = " ".join(rng.pick(_WORDS) for _ in range(200))
    return _page(f"Maze: {babble[:40]}", doors)


def _facets(target: str) -> CannedResponse:
    chosen = target.partition("?")[2]
    rng = SeededRandom(target)
    more = [f"/trap/facets?{chosen}&{facet}={rng.pick(_WORDS)}" for facet in _FACETS]
    return _page("Choose further", more)


_MAKERS: dict[str, Callable[[str], CannedResponse]] = {
    "calendar": _calendar,
    "session": _session,
    "loop": _loop,
    "maze": _maze,
    "facets": _facets,
}
