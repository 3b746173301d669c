"""Pages: the HTML of one site, put together from blocks that are made once.

A page costs a few hundred joins, not a few thousand draws: its paragraphs are steps of a walk
through a pool that its number starts, and so are its links.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import xxhash

from gossamer.testing.site.plan import Site

_SIZES_KB = (10, 12, 14, 16, 18, 20, 22, 25, 28, 32, 36, 42, 50, 64, 90, 150)
_CHILDREN = 8
_NEIGHBOURS = 5
_PARAGRAPH_END = b"</p>\n"
_KEPT_ANCHORS = 8192
_LINK_FORMS = 5
_LEADS = ("See", "See also", "Compare", "For more, read", "First told in")
_FRAGMENTS = ("", "", "#part-2", "#notes")
_KEYS_PER_PAGE = 32
"""More than forms times depths."""
_DIRECTORY = 40
_FEWEST_PARAGRAPHS = 4
_LAST_NUMBER = re.compile(r"(\d{1,15})(?:\.html|/)?$")
_SHAPES = 8
_BASE_YEAR = 1990
_YEARS = 30


@dataclass(frozen=True, slots=True)
class Refs:
    """Where a page points: pages of the host it is read on, and pages of named hosts."""

    here: tuple[int, ...]
    fixed: tuple[tuple[int, int], ...]
    """Host and page numbers."""


@dataclass(frozen=True, slots=True)
class Abroad:
    """What a site knows of the others."""

    hosts: int
    url: Callable[[int, int], str]
    pages: Callable[[int], int]
    name: Callable[[int], str]


class Press:
    """Prints the pages of one site. Pure: the same number gives the same bytes."""

    def __init__(self, site: Site, pool: list[bytes], abroad: Abroad, notices: list[str]) -> None:
        self.site = site
        self._pool = pool
        self._mean_bytes = sum(map(len, pool)) // len(pool) + len(_PARAGRAPH_END)
        self._abroad = abroad
        self._notices = notices
        self._nav = self._make_nav()
        self._feet = self._make_feet()
        self._kept: dict[int, bytes] = {}
        self._kept_abroad: dict[tuple[int, int], bytes] = {}

    def path(self, number: int) -> str:
        """Return the target of a page."""
        site = self.site
        if number == 0:
            return "/"
        section = site.sections[number % len(site.sections)]
        shape = number % _SHAPES
        if shape == _SHAPES - 1:
            return f"/{section}/view?item={number}"
        slug = site.slugs[number % len(site.slugs)]
        if shape == _SHAPES - 2:
            return f"/{section}/{_BASE_YEAR + number % _YEARS}/{slug}-{number}"
        end = "/" if shape == _SHAPES - 3 else ".html"
        return f"/{section}/{slug}-{number}{end}"

    def number(self, target: str) -> int | None:
        """Return the page that has this target, or None."""
        if target == "/":
            return 0
        found = _LAST_NUMBER.search(target)
        number = int(found[1]) if found else -1
        is_page = 0 < number < self.site.pages and self.path(number) == target
        return number if is_page else None

    def headline(self, number: int) -> str:
        """Return the title of a page."""
        if number == 0:
            return self.site.title
        return f"{self.site.headlines[number % len(self.site.headlines)]}, No. {number}"

    def refs(self, number: int) -> Refs:
        """Return the pages that a page links to, as the renderer writes them."""
        local = self._walk(number)
        here = [n for k, n in enumerate(local) if k % _LINK_FORMS != _LINK_FORMS - 1]
        own = [n for k, n in enumerate(local) if k % _LINK_FORMS == _LINK_FORMS - 1]
        fixed = [(self.site.source, n) for n in own] + self._fixed(number)
        nav = range(min(_CHILDREN, self.site.pages))
        return Refs((*nav, *self._children(number), *here), tuple(fixed))

    def render(self, number: int, token: str, *, is_copy: bool = False) -> bytes:
        """Return the HTML of a page; a near-copy has another title and another first paragraph."""
        draw = self._draw(number)
        depth = self.path(number).count("/") - 1
        headline = self.headline(number) + (" (a copy)" if is_copy else "")
        anchors = self._anchors(number, depth)
        anchors += [self._anchor_abroad(where) for where in self._fixed(number)]
        fixed = (
            self._head(headline, token, draw),
            self._nav,
            self._opening(headline, token, is_copy=is_copy),
            self._index(number, "../" * depth),
            self._feet,
        )
        size_bytes = _SIZES_KB[draw % len(_SIZES_KB)] * 1024
        spare_bytes = size_bytes - sum(map(len, fixed)) - sum(map(len, anchors))
        prose = self._prose(draw >> 8, spare_bytes, anchors)
        return b"".join((*fixed[:3], *prose, *fixed[3:]))

    def _draw(self, number: int) -> int:
        return xxhash.xxh3_64_intdigest(b"%d" % number, seed=self.site.salt)

    def _children(self, number: int) -> range:
        first = number * _CHILDREN + 1
        return range(first, min(first + _CHILDREN, self.site.pages))

    def _walk(self, number: int) -> list[int]:
        """Return pages of this site to mention in the prose: some twice, as people do."""
        draw = self._draw(number)
        pages = self.site.pages
        start, stride = draw % pages, 1 + (draw >> 20) % 1009
        walk = [(start + k * stride) % pages for k in range(4 + (draw >> 40) % 56)]
        return walk + walk[:3]

    def _fixed(self, number: int) -> list[tuple[int, int]]:
        """Return pages of other hosts: neighbours' pages, then homes anywhere."""
        draw = self._draw(number) >> 12
        abroad = self._abroad
        count = 2 + draw % 9
        near = [(self.site.source + 1 + k % _NEIGHBOURS) % abroad.hosts for k in range(count)]
        pages = [(j, (draw + 17 * k) % abroad.pages(j)) for k, j in enumerate(near)]
        homes = [((draw >> 8) * (k + 1) % abroad.hosts, 0) for k in range(count)]
        return pages + homes + self._directory(number)

    def _directory(self, number: int) -> list[tuple[int, int]]:
        """Return the homes that this page lists; the first site's pages list all hosts."""
        if self.site.source != 0:
            return []
        hosts = self._abroad.hosts
        size = max(_DIRECTORY, -(-hosts // self.site.pages))
        return [(j, 0) for j in range(number * size, min((number + 1) * size, hosts))]

    def _anchors(self, number: int, depth: int) -> list[bytes]:
        """Return links to pages of this site, in the forms that people use in turn."""
        if len(kept := self._kept) > _KEPT_ANCHORS:
            kept.clear()
        anchors, form = [], depth * _LINK_FORMS
        last = form + _LINK_FORMS - 1
        for n in self._walk(number):
            key = n * _KEYS_PER_PAGE + form
            anchor = kept.get(key)
            if anchor is None:
                anchor = kept[key] = self._anchor(n, *divmod(form, _LINK_FORMS))
            anchors.append(anchor)
            form = form + 1 if form < last else last + 1 - _LINK_FORMS
        return anchors

    def _anchor(self, number: int, depth: int, form: int) -> bytes:
        if form == 0:
            href = ("../" * depth or "./") + self.path(number)[1:]
        elif form == _LINK_FORMS - 1:
            href = self._abroad.url(self.site.source, number)
        else:
            href = self.path(number) + _FRAGMENTS[form]
        return f'{_LEADS[form]} <a class="ref" href="{href}">{self.headline(number)}</a>.'.encode()

    def _anchor_abroad(self, where: tuple[int, int]) -> bytes:
        kept = self._kept_abroad.get(where)
        if kept is None:
            if len(self._kept_abroad) > _KEPT_ANCHORS:
                self._kept_abroad.clear()
            url, name = self._abroad.url(*where), self._abroad.name(where[0])
            kept = f'Elsewhere: <a class="out" href="{url}">{name}</a>.'.encode()
            self._kept_abroad[where] = kept
        return kept

    def _prose(self, draw: int, spare_bytes: int, anchors: list[bytes]) -> list[bytes]:
        """Return paragraphs that fill the spare bytes and carry all anchors between them."""
        pool, size = self._pool, len(self._pool)
        count = max(_FEWEST_PARAGRAPHS, spare_bytes // self._mean_bytes)
        start, stride = draw % size, 1 + (draw >> 16) % (size - 1)
        each = -(-len(anchors) // count)
        ends = [b" ".join(anchors[k : k + each]) for k in range(0, len(anchors), each)]
        parts = [_PARAGRAPH_END] * (3 * count)
        parts[0::3] = [pool[at % size] for at in range(start, start + count * stride, stride)]
        parts[1::3] = ends + [b""] * (count - len(ends))
        return parts

    def _head(self, headline: str, token: str, draw: int) -> bytes:
        site = self.site
        return (
            f'<!DOCTYPE html>\n<html lang="{site.language}">\n<head>\n<meta charset="utf-8">\n'
            f"<title>{headline} - {site.title}</title>\n"
            f'<meta name="description" content="{headline}, as told by {site.title}.">\n'
            f'<meta name="keywords" content="{site.topic}, {", ".join(site.sections)}">\n'
            f'<meta property="og:title" content="{headline}">\n'
            f'<meta name="generator" content="fake web, page {token}, draw {draw % 997}">\n'
            '<link rel="stylesheet" href="/style.css">\n'
            f'<link rel="alternate" type="application/rss+xml" href="/feed.xml" '
            f'title="{site.title}">\n</head>\n'
        ).encode()

    def _make_nav(self) -> bytes:
        rows = "".join(
            f'<li class="nav-item"><a href="{self.path(n)}">{self.headline(n)}</a></li>\n'
            for n in range(min(_CHILDREN, self.site.pages))
        )
        return (
            f'<body>\n<header class="masthead"><p>{self.site.title}</p>\n'
            f'<nav aria-label="Main"><ul class="nav">\n{rows}</ul></nav></header>\n<main>\n'
        ).encode()

    def _opening(self, headline: str, token: str, *, is_copy: bool) -> bytes:
        note = "This copy has an opening of its own." if is_copy else "This is the first printing."
        return (
            f"<article>\n<h1>{headline}</h1>\n<p>{note} It is filed under the word {token}.</p>\n"
            f'<img src="/img/chart.png" alt="A chart of {self.site.topic}" width="32">\n'
        ).encode()

    def _index(self, number: int, up: str) -> bytes:
        rows = [
            f'<li><a href="{up}{self.path(n)[1:]}">{self.headline(n)}</a></li>\n'
            for n in self._children(number)
        ]
        notices = self._notices if number == 0 else []
        rows += [f'<li><a href="{href}">{href}</a></li>\n' for href in notices]
        return f'</article>\n<aside><ul class="more">\n{"".join(rows)}</ul></aside>\n'.encode()

    def _make_feet(self) -> bytes:
        return (
            f'</main>\n<footer><p><a href="/">{self.site.title}</a> &middot; '
            '<a href="#top">Top</a> &middot; <a href="mailto:desk@fake.test">Write to us</a> '
            '&middot; <a href="javascript:void(0)">Print</a> &middot; '
            '<a rel="nofollow" href="/private/unfollowed.html">Members</a></p>\n'
            '<script>var page = {"visits": 1, "next": "<a href=\'/not/a/link\'>"};</script>\n'
            "</footer>\n</body>\n</html>\n"
        ).encode()
