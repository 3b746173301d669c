"""Extras: all that a site has besides its numbered pages: files, feeds, oddities, moved pages."""

from collections.abc import Callable
from email.utils import formatdate
from functools import cache

from gossamer.testing.answer import Answer, Headers, html_answer, not_found, redirect
from gossamer.testing.site.atlas import Atlas
from gossamer.testing.site.media import json_page, pdf, png
from gossamer.testing.site.plan import Site
from gossamer.testing.site.robots import KINDS, plain
from gossamer.testing.site.syndication import FEEDS, SITEMAPS, FeedEntry
from gossamer.testing.site.words import Dice, sentence

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


def has_copy(site: Site, path: str) -> bool:
    """Tell whether a site is large enough to have this near-copy, or the path is none."""
    return not path.startswith("/copies/") or int(path[len("/copies/")]) < site.pages


def served(atlas: Atlas, site: Site, body: bytes, about: tuple[str, str]) -> Answer:
    """Return a body as the site serves its files: coded, framed and dated.

    `about` is what tells this file from others, and its media type.
    """
    mark, kind = about
    return Answer(
        headers=(("Content-Type", kind), *_validators(atlas.plan.seed, site, mark)),
        body=body,
        gzip=site.gzip,
        chunked=site.chunked,
        wait_s=site.wait_s,
    )


def _validators(seed: int, site: Site, mark: str) -> Headers:
    version = Dice(seed, "version", site.source, mark).number()
    return (("Last-Modified", _date(version % _DATES)), ("ETag", f'"{version:016x}"'))


@cache
def _date(number: int) -> str:
    return formatdate(_EPOCH_S + number * 86_400, usegmt=True)


def extra_answer(atlas: Atlas, site: Site, target: str) -> Answer:
    """Return the answer to everything that is not a numbered page."""
    if target.startswith("/robots"):
        return _robots(atlas, site, target)
    listed = FEEDS.get(target) or SITEMAPS[site.sitemap].get(target)
    if listed is not None:
        kind, make = listed
        name = site.title if target in FEEDS else atlas.url(site.source, "")
        return served(atlas, site, make(name, _entries(atlas, site, target)), (target, kind))
    file = _FILES.get(target)
    if file is not None and has_copy(site, target):
        kind, make_body = file
        return served(atlas, site, make_body(atlas, site), (target, kind))
    return _old(atlas, site, target)


def _robots(atlas: Atlas, site: Site, target: str) -> Answer:
    paths = list(SITEMAPS[site.sitemap])
    line = f"Sitemap: {atlas.url(site.source, paths[0])}\n" if paths else ""
    if target == "/robots-moved.txt" and site.robots == "redirected":
        return plain(f"User-agent: *\nDisallow: /private/\n{line}")
    return KINDS[site.robots].answer(line) if target == "/robots.txt" else not_found()


def _entries(atlas: Atlas, site: Site, target: str) -> list[FeedEntry]:
    press = atlas.press(site.index)
    count = min(site.pages, _FEED_ENTRIES if target in FEEDS else _SITEMAP_ENTRIES)
    return [FeedEntry(atlas.page_url(site.source, n), press.headline(n)) for n in range(count)]


def _old(atlas: Atlas, site: Site, target: str) -> Answer:
    """Return what became of pages that are no longer where they were."""
    if target == "/gone/410":
        return html_answer("<title>Gone</title><h1>Gone for good</h1>", status=410)
    press = atlas.press(site.index)
    neighbour = (site.source + 1) % atlas.plan.hosts
    moved = {
        "/old/1": (press.path(site.pages - 1), 301),
        "/old/2": (f"..{press.path(min(1, site.pages - 1))}", 302),
        "/old/3": (atlas.url(neighbour, "/"), 308),
        "/old/4": ("/old/1", 307),
    }.get(target)
    return redirect(*moved) if moved else not_found()


def _short_page(path: str, title: str) -> Callable[[Atlas, Site], bytes]:
    def make(atlas: Atlas, site: Site) -> bytes:
        token = atlas.token(site.source, path)
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f"</head><body><h1>{title}</h1><p>{site.title} files this under {token}.</p>"
            '<p><a href="/">Home</a></p></body></html>\n'
        ).encode()

    return make


def _latin_1(atlas: Atlas, site: Site) -> bytes:
    token = atlas.token(site.source, "/odd/latin-1.html")
    text = f"<title>Déjà vu</title><p>Crème brûlée à la carte: {token}. <a href=/>Façade</a>"
    return text.encode("latin-1")


def _shift_jis(atlas: Atlas, site: Site) -> bytes:
    token = atlas.token(site.source, "/odd/shift-jis.html")
    text = (
        '<meta http-equiv="content-type" content="text/html; charset=shift_jis">'
        f"<title>古い灯台</title><p>静かな路地は初雪を待っている。{token} <a href='/'>家</a>"
    )
    return text.encode("shift_jis")


def _broken(atlas: Atlas, site: Site) -> bytes:
    token = atlas.token(site.source, "/odd/broken.html")
    return (
        f"<title>Broken<body><table><p>{token}<a href=/ ><b>home<td></p><i><a href='/'>home</b>"
        "<!-- never closed <div"
    ).encode()


def _copy(number: int) -> Callable[[Atlas, Site], bytes]:
    def make(atlas: Atlas, site: Site) -> bytes:
        token = atlas.token(site.source, f"/copies/{number}.html")
        return atlas.press(site.index).render(min(number, site.pages - 1), token, is_copy=True)

    return make


def _pdf(atlas: Atlas, site: Site) -> bytes:
    dice = Dice(atlas.plan.seed, "pdf", site.source)
    lines = [sentence(site.topic, "en", dice) for _ in range(8)]
    token = atlas.token(site.source, "/files/report.pdf")
    return pdf(f"A report by {site.title}", [*lines, token], atlas.url(site.source, "/"))


def _png(atlas: Atlas, site: Site) -> bytes:
    return png(Dice(atlas.plan.seed, "png", site.source))


def _json(atlas: Atlas, site: Site) -> bytes:
    token = atlas.token(site.source, "/data/table.json")
    return json_page(site.title, token, [atlas.url(site.source, "/")])


def _style(_atlas: Atlas, _site: Site) -> bytes:
    return b"body { font: 1rem/1.5 serif; background: url(/img/chart.png) }\n"


_TITLES = {
    "/private/ledger.html": "The private ledger",
    "/private/open/notice.html": "A public notice",
    "/private/unfollowed.html": "For members",
    "/archive/list?sort=title": "The archive by title",
    "/archive/first.print": "The first issue, to print",
    "/archive/first.print.html": "The first issue, to read",
}

_FILES: dict[str, tuple[str, Callable[[Atlas, Site], bytes]]] = {
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
