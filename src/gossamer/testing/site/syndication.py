"""Syndication: feeds (RSS, Atom, JSON) and sitemaps (xml, index, gz, txt) of a list of pages."""

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

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
