"""Sites: which hosts a fake web has, what kind of site each is, and the HTML of its pages.

A page costs a few hundred joins, not a few thousand draws: its paragraphs are steps of a walk
through a pool that its number starts, and so are its links.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import xxhash

from gossamer.testing import words
from gossamer.testing.responses import origin_of
from gossamer.testing.words import TOPICS, SeededRandom, sentence

_NAME = re.compile(r"h(\d{2,9})\.fake(\d{1,9})\.test")
_HOSTS_PER_DOMAIN = 4
_ADDRESSES_PER_NET = 250
_HEADLINES = 31
_SECTIONS = 5
_PATIENT_PAGES = 4
"""Pages of a host that asks for patience: enough to judge by, few enough to wait for."""

_KINDS = (
    *("open", "open", "disallow", "missing", "wildcards", "override", "groups", "mirror"),
    *("delay", "redirected", "open", "giant", "html", "empty", "own_group", "closed"),
    *("open", "mirror", "unreachable", "slow"),
)
_MIRROR_STEP = 6
"""A mirror repeats the host this many places before it."""
_LANGUAGES = ("en", "en", "en", "de", "en", "en", "fr", "en", "en", "es", "en", "en", "ja", "en")
_CODINGS = ((False, False), (True, False), (False, True), (True, True), (False, False))
_SITEMAPS = ("xml", "none", "index", "txt", "xml")


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePlan:
    """One host: what it is called, what it speaks of and how it behaves."""

    index: int
    name: str
    salt: int
    """What sets this site's draws apart from those of others."""
    source: int
    """The host whose bytes it serves: itself, unless it is a mirror."""
    title: str
    topic: str
    language: str
    robots: str
    sitemap: str
    gzip: bool
    chunked: bool
    wait_s: float
    pages: int
    has_extras: bool
    sections: tuple[str, ...]
    headlines: tuple[str, ...]
    slugs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WebPlan:
    """The list of hosts as a function of a seed; a host is worked out when it is asked for."""

    seed: int
    hosts: int
    pages_per_host: int
    address_count: int
    is_patient: bool
    """Leave out the hosts that keep a crawler waiting: slow ones, and those whose robots.txt
    cannot be had."""

    def name(self, index: int) -> str:
        """Return the name of a host."""
        return f"h{index:02d}.fake{index // _HOSTS_PER_DOMAIN}.test"

    def index(self, name: str) -> int | None:
        """Return the number of a host, or None if there is none of that name."""
        found = _NAME.fullmatch(name)
        if found is None:
            return None
        index = int(found[1])
        return index if index < self.hosts and self.name(index) == name else None

    def address(self, index: int) -> str:
        """Return the loopback address of a host; several hosts share one."""
        net, last = divmod(index % self.address_count, _ADDRESSES_PER_NET)
        return f"127.0.{net + 1}.{last + 1}"

    def kind(self, index: int) -> str:
        """Return what the host is there for: a kind of robots.txt, "mirror" or "slow"."""
        kind = _KINDS[index % len(_KINDS)]
        if kind in {"slow", "unreachable"} and self.is_patient:
            return "open"
        return kind

    def site(self, index: int) -> SitePlan:
        """Return the plan of a host."""
        kind = self.kind(index)
        if kind == "mirror":
            original = self.site(index - _MIRROR_STEP)
            return replace(original, index=index, name=self.name(index))
        return self._original(index, kind)

    def _original(self, index: int, kind: str) -> SitePlan:
        rng = SeededRandom(self.seed, "site", index)
        topic = rng.pick(tuple(words.TOPICS))
        headlines = tuple(words.title(topic, rng) for _ in range(_HEADLINES))
        gzip, chunked = _CODINGS[index % len(_CODINGS)]
        is_brief = kind in {"delay", "slow"}
        return SitePlan(
            index=index,
            name=self.name(index),
            salt=rng.number(),
            source=index,
            title=words.site_title(topic, rng),
            topic=topic,
            language=_LANGUAGES[index % len(_LANGUAGES)],
            robots="open" if kind == "slow" else kind,
            sitemap=_SITEMAPS[index % len(_SITEMAPS)],
            gzip=gzip,
            chunked=chunked,
            wait_s=0.3 if kind == "slow" else 0.0,
            pages=min(self.pages_per_host, _PATIENT_PAGES) if is_brief else self.pages_per_host,
            has_extras=not is_brief,
            sections=words.TOPICS[topic][:_SECTIONS],
            headlines=headlines,
            slugs=tuple(map(words.slug, headlines)),
        )


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
class PageLinks:
    """Where a page points: pages of the host it is read on, and pages of named hosts."""

    here: tuple[int, ...]
    fixed: tuple[tuple[int, int], ...]
    """Host and page numbers."""


@dataclass(frozen=True, slots=True)
class OtherSites:
    """What a site knows of the others."""

    hosts: int
    url: Callable[[int, int], str]
    pages: Callable[[int], int]
    name: Callable[[int], str]


class PageRenderer:
    """Renders the pages of one site. Pure: the same number gives the same bytes."""

    def __init__(
        self, site: SitePlan, pool: list[bytes], others: OtherSites, home_links: list[str]
    ) -> None:
        self.site = site
        self._pool = pool
        self._mean_bytes = sum(map(len, pool)) // len(pool) + len(_PARAGRAPH_END)
        self._others = others
        self._home_links = home_links
        self._nav = self._make_nav()
        self._feet = self._make_feet()
        self._kept: dict[int, bytes] = {}
        self._kept_elsewhere: dict[tuple[int, int], bytes] = {}

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

    def refs(self, number: int) -> PageLinks:
        """Return the pages that a page links to, as the renderer writes them."""
        local = self._walk(number)
        here = [n for k, n in enumerate(local) if k % _LINK_FORMS != _LINK_FORMS - 1]
        own = [n for k, n in enumerate(local) if k % _LINK_FORMS == _LINK_FORMS - 1]
        fixed = [(self.site.source, n) for n in own] + self._fixed(number)
        nav = range(min(_CHILDREN, self.site.pages))
        return PageLinks((*nav, *self._children(number), *here), tuple(fixed))

    def render(self, number: int, token: str, *, is_copy: bool = False) -> bytes:
        """Return the HTML of a page; a near-copy has another title and another first paragraph."""
        draw = self._draw(number)
        depth = self.path(number).count("/") - 1
        headline = self.headline(number) + (" (a copy)" if is_copy else "")
        anchors = self._anchors(number, depth)
        anchors += [self._anchor_elsewhere(where) for where in self._fixed(number)]
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
        others = self._others
        count = 2 + draw % 9
        near = [(self.site.source + 1 + k % _NEIGHBOURS) % others.hosts for k in range(count)]
        pages = [(j, (draw + 17 * k) % others.pages(j)) for k, j in enumerate(near)]
        homes = [((draw >> 8) * (k + 1) % others.hosts, 0) for k in range(count)]
        return pages + homes + self._directory(number)

    def _directory(self, number: int) -> list[tuple[int, int]]:
        """Return the homes that this page lists; the first site's pages list all hosts."""
        if self.site.source != 0:
            return []
        hosts = self._others.hosts
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
            href = self._others.url(self.site.source, number)
        else:
            href = self.path(number) + _FRAGMENTS[form]
        return f'{_LEADS[form]} <a class="ref" href="{href}">{self.headline(number)}</a>.'.encode()

    def _anchor_elsewhere(self, where: tuple[int, int]) -> bytes:
        kept = self._kept_elsewhere.get(where)
        if kept is None:
            if len(self._kept_elsewhere) > _KEPT_ANCHORS:
                self._kept_elsewhere.clear()
            url, name = self._others.url(*where), self._others.name(where[0])
            kept = f'Elsewhere: <a class="out" href="{url}">{name}</a>.'.encode()
            self._kept_elsewhere[where] = kept
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
        home_links = self._home_links if number == 0 else []
        rows += [f'<li><a href="{href}">{href}</a></li>\n' for href in home_links]
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


_SENTENCES = 2000
_OWN_SENTENCES = 600
_PARAGRAPHS = 1511
"""A prime, so that a walk of any stride visits all."""
_PER_PARAGRAPH = 5
_PER_HEADING = 6


@dataclass(slots=True)
class SiteCatalog:
    """Hosts, their URLs and what prints their pages."""

    plan: WebPlan
    scheme: str
    port: int
    hazards: list[str]
    """What the first host's home links to besides: traps and faults, when asked for."""
    extras: list[str]
    """What every host's home links to besides pages."""
    _sites: dict[int, SitePlan] = field(default_factory=dict)
    _renderers: dict[int, PageRenderer] = field(default_factory=dict)
    _sentences: dict[str, list[str]] = field(default_factory=dict)
    _pools: dict[tuple[str, str], list[bytes]] = field(default_factory=dict)

    def url(self, index: int, target: str) -> str:
        """Return the URL of a target on a host."""
        return origin_of(self.scheme, self.plan.name(index), self.port) + target

    def token(self, index: int, name: int | str) -> str:
        """Return the word that only one page contains; `name` is its number or its path."""
        mark = name if isinstance(name, int) else "x" + "".join(filter(str.isalnum, name))
        return f"tok{self.plan.seed}h{index}p{mark}"

    def site(self, index: int) -> SitePlan:
        """Return the plan of a host."""
        found = self._sites.get(index)
        if found is None:
            found = self._sites[index] = self.plan.site(index)
        return found

    def renderer(self, index: int) -> PageRenderer:
        """Return the renderer of a host's pages; a mirror uses that of its original."""
        source = self.site(index).source
        found = self._renderers.get(source)
        if found is None:
            site = self.site(source)
            pool = self._pool(site.topic, site.language)
            found = self._renderers[source] = PageRenderer(
                site, pool, self._others(), self._home_links(site)
            )
        return found

    def _others(self) -> OtherSites:
        return OtherSites(
            hosts=self.plan.hosts,
            url=self.page_url,
            pages=lambda index: self.site(index).pages,
            name=self.plan.name,
        )

    def page_url(self, index: int, number: int) -> str:
        """Return the URL of a numbered page."""
        return self.url(index, self.renderer(index).path(number) if number else "/")

    def _pool(self, topic: str, language: str) -> list[bytes]:
        """Return paragraphs that are partly about a topic; other topics' share the rest."""
        found = self._pools.get((topic, language))
        if found is None:
            rng = SeededRandom(self.plan.seed, "pool", topic, language)
            own = [sentence(topic, language, rng) for _ in range(_OWN_SENTENCES)]
            found = _paragraphs(own + self._common(language), rng)
            self._pools[topic, language] = found
        return found

    def _common(self, language: str) -> list[str]:
        found = self._sentences.get(language)
        if found is None:
            rng = SeededRandom(self.plan.seed, "common", language)
            topics = tuple(TOPICS)
            made = [sentence(rng.pick(topics), language, rng) for _ in range(_SENTENCES)]
            found = self._sentences[language] = made
        return found

    def _home_links(self, site: SitePlan) -> list[str]:
        extras = self.extras if site.has_extras else []
        return extras + (self.hazards if site.index == 0 else [])


def _paragraphs(said: list[str], rng: SeededRandom) -> list[bytes]:
    """Return paragraphs that lack only their closing tag; some begin with a heading."""
    made = []
    for k in range(_PARAGRAPHS):
        text = " ".join([rng.pick(said) for _ in range(_PER_PARAGRAPH)])
        heading = "" if k % _PER_HEADING else f"<h2>{rng.pick(said).rstrip('.')}</h2>\n"
        made.append(f'{heading}<p class="prose">{text} '.encode())
    return made
