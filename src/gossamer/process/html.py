"""HTML: one parse for links, anchor texts, title, text, language and directives.

turbohtml keeps an index of elements by tag: asking for one tag costs next to nothing, asking for
an attribute on any tag walks the tree (15 us a page), asking for several tags at once is dearest.
It also remembers only some twenty compiled selectors. Hence the shape of the second half, which
finds the links: tables by tag, few selectors, and no selector where a tag will do.
"""

import re
from collections.abc import Iterator
from itertools import islice
from urllib.parse import unquote

import msgspec
from turbohtml import Doctype, Element, Namespace, Text, parse
from turbohtml import Document as Tree

from gossamer.model import Document, Extraction, Link, LinkKind, Url
from gossamer.process.api import FRAGMENT_CHARS, RawLink, Tools, processor
from gossamer.process.captions import captions_of
from gossamer.process.detect import UTF_8, beyond_web, declared_in, decode, known
from gossamer.process.labels import is_shell, marked_text
from gossamer.process.language import language_of
from gossamer.process.references import (
    MAX_FINDS,
    css_urls,
    directives,
    kind_of,
    refresh_url,
    script_urls,
    srcset_urls,
)
from gossamer.urls import join_all

_ANCHOR = LinkKind.ANCHOR
_CANONICAL = LinkKind.CANONICAL
_TITLE_CHARS = 500
_HEADINGS = ("h1", "h2", "h3")
_MOST_HEADINGS, _HEADING_CHARS = 24, 160
"""Of each kind; a page of nothing but headings has none that says what it is about."""
_START_BYTES = 1024 * 1024
SHARED_BYTES = 2 * 1024 * 1024
"""Of a larger page processors of others share the tree of its start; links are those of all."""
_MAX_INNER_CHARS = 100_000
"""Markup inside of attributes that is read, all together."""
_ISO_2022_KR = b"\x1b$)C"
"""At the start of a page in that encoding (RFC 1557), which browsers refuse."""
_FRAME = re.compile(
    rb"""<frame\s[^<>]{0,200}?src\s{0,9}=\s{0,9}["']?([^\s"'<>]{1,2000})""", re.IGNORECASE
)


def read(document: Document, tools: Tools) -> Extraction:
    """Return what an HTML page says and where it points; of one too large to be read, its start."""
    body = document.body.decoded()
    try:
        return _read(document, body, tools)
    except MemoryError:
        if len(body) <= _START_BYTES:
            raise
    found = _read(document, body[:_START_BYTES], tools)
    found.errors = (f"html: out of memory: only the first {_START_BYTES} bytes were read",)
    return found


def _read(document: Document, body: bytes, tools: Tools) -> Extraction:
    tree = document.shared_tree() if len(body) <= SHARED_BYTES else None
    if tree is None:
        tree = parsed(body, document.charset)
    if tree.find_all("template"):  # by index; `find` would walk the whole tree in vain
        tree.remove("template")
    base = base_of(tree, document.url, tools)
    styled = tree.select(_MARKED)
    links = tools.links(base, _raw_links(tree, body, styled))
    root = next(iter(tree.find_all("html")), None)
    robots, description = _meta_of(tree, tools.robots_agent.lower())
    captions = captions_of(tree, base, tools) if tree.find_all("figcaption") else {}
    found = Extraction(
        title=_title_of(tree),
        description=description,
        headings=_headings_of(tree),
        canonical=_canonical_of(links),
        charset=(tree.encoding or UTF_8).lower(),
        robots=robots,
        links=links,
        notes={"captions": captions} if captions else {},
    )
    # Last, since it changes the tree for a moment, and what is found by tag after that takes long.
    found.text, found.spans = text, _ = marked_text(tree, styled, tools.process.max_text_chars)
    said = (root.attr("lang") if root else "") or document.header("content-language")
    found.language = language_of(text, said)
    found.is_shell = is_shell(tree, text, links)
    return found


def parsed(body: bytes, declared: str, *, has_lines: bool = True) -> Tree:
    """Return the tree of a page, decoded as its server, then the page, then its bytes say."""
    label = known(declared)
    is_odd = 0 in body[:64] or _ISO_2022_KR in body[:64]
    if is_odd or (declared and not label and beyond_web(declared, body)):
        text, _ = decode(body, declared)
        return parse(text, positions=has_lines)
    if label:
        return parse(body, encoding=label, positions=has_lines)
    named = declared_in(body)
    if beyond_web(named, body):
        text, _ = decode(body, named)
        return parse(text, positions=has_lines)
    return parse(body, detect_encoding=True, positions=has_lines)


def _raw_links(tree: Tree, body: bytes, marked: list[Element]) -> list[RawLink]:
    found = anchors(tree, is_small=len(body) <= SMALL_BYTES) + others(tree, marked)
    room = _MAX_INNER_CHARS
    for inner in _inner_pages(tree):
        found += links_of(parse(inner[:room], positions=False))
        room -= min(room, len(inner))
        if not room:
            break
    if not found or found[0][1] is not _ANCHOR:
        found += _misplaced_frames(tree, body)
    return found


def _inner_pages(tree: Tree) -> Iterator[str]:
    """Return the markup that a page keeps in attributes: frames, drawings, reading views."""
    for element in tree.find_all("iframe"):
        yield element.attr("srcdoc") or ""
    for element in tree.find_all("meta"):
        content = element.attr("content") or ""
        if "<" in content:
            yield content
    for element in tree.find_all("img"):
        source = element.attr("src") or ""
        if source.startswith("data:image/svg+xml,"):
            yield unquote(source.partition(",")[2])


def _misplaced_frames(tree: Tree, body: bytes) -> Iterator[RawLink]:
    """Return frames that the parser dropped because something came before their set."""
    if not tree.find_all("frameset"):
        for match in islice(_FRAME.finditer(body), MAX_FINDS):
            yield match[1].decode("utf-8", "replace"), LinkKind.FRAME, "", ""


def base_of(tree: Tree, own: Url, tools: Tools) -> Url:
    """Return what references are relative to: the first <base href>, if it can be a base.

    One of data:, javascript: or another scheme that web pages have no base in would take every link
    of the page.
    """
    for element in tree.find_all("base"):
        href = element.attr("href")
        if href is not None:
            base = join_all(own, [href], tools.urls)[0]
            is_base = base is not None and base.scheme in {"http", "https", "ftp", own.scheme}
            return base if base is not None and is_base else own
    return own


def _title_of(tree: Tree) -> str:
    for element in tree.find_all("title"):
        if element.namespace is Namespace.HTML:
            return " ".join(element.text[: 4 * _TITLE_CHARS].split())[:_TITLE_CHARS]
    return ""


def _headings_of(tree: Tree) -> tuple[str, ...]:
    """Return what stands above the parts of a page: the greatest headings first, each once."""
    found = [
        " ".join(element.text[: 4 * _HEADING_CHARS].split())[:_HEADING_CHARS]
        for name in _HEADINGS
        for element in islice(tree.find_all(name), _MOST_HEADINGS)
    ]
    return tuple(dict.fromkeys(filter(None, found)))


def _canonical_of(links: list[Link]) -> str:
    for link in links:
        if link.kind is _CANONICAL:
            return link.target.text
    return ""


def _meta_of(tree: Tree, agent: str) -> tuple[tuple[str, ...], str]:
    """Return what the page asks of robots, and how it describes itself."""
    found: tuple[str, ...] = ()
    described = ""
    for element in tree.find_all("meta"):
        name = (element.attr("name") or element.attr("property") or "").strip().lower()
        if name in {"robots", agent}:
            found += directives(element.attr("content") or "")
        elif name in _DESCRIPTIONS and (name == "description" or not described):
            described = element.attr("content") or described
    return tuple(dict.fromkeys(found)), " ".join(described[:_DESCRIPTION_CHARS].split())


_DESCRIPTIONS = frozenset({"description", "og:description"})
_DESCRIPTION_CHARS = 1_000


SMALL_BYTES = 256 * 1024
"""A page of this size may have all of each link's text read: nested links cost half a second."""
_TEXT_CHARS = 200
_TEXT_NODES = 48
"""Nodes of a link that are looked at for its text on larger pages, so that none costs a square."""
_DATA = LinkKind.DATA
_MAX_JSON_NODES = 5_000

_IMAGE_ATTRIBUTES = {
    "src": LinkKind.IMAGE,
    "data-src": LinkKind.IMAGE,
    "data-original": LinkKind.IMAGE,
    "data-lazy-src": LinkKind.IMAGE,
    "data-lazy": LinkKind.IMAGE,
    "data-url": LinkKind.IMAGE,
    "lowsrc": LinkKind.IMAGE,
    "dynsrc": LinkKind.MEDIA,
    "longdesc": LinkKind.DATA,
}
_PLACES: dict[str, dict[str, LinkKind]] = {
    "area": {"href": LinkKind.AREA, "ping": LinkKind.FORM},
    "iframe": {"src": LinkKind.FRAME, "data-src": LinkKind.FRAME, "longdesc": LinkKind.DATA},
    "frame": {"src": LinkKind.FRAME, "longdesc": LinkKind.DATA},
    "base": {"href": LinkKind.DATA},
    "head": {"profile": LinkKind.DATA},
    "html": {"manifest": LinkKind.MEDIA},
    "img": _IMAGE_ATTRIBUTES,
    "image": {"href": LinkKind.IMAGE, "src": LinkKind.IMAGE, "xlink:href": LinkKind.IMAGE},
    "use": {"href": LinkKind.IMAGE, "xlink:href": LinkKind.IMAGE},
    "source": {"src": LinkKind.MEDIA, "data-src": LinkKind.MEDIA},
    "video": {"src": LinkKind.MEDIA, "poster": LinkKind.IMAGE, "data-src": LinkKind.MEDIA},
    "audio": {"src": LinkKind.MEDIA, "data-src": LinkKind.MEDIA},
    "track": {"src": LinkKind.MEDIA},
    "bgsound": {"src": LinkKind.MEDIA},
    "embed": {"src": LinkKind.MEDIA},
    "object": {"data": LinkKind.MEDIA, "codebase": LinkKind.DATA, "archive": LinkKind.MEDIA},
    "applet": {"codebase": LinkKind.DATA, "archive": LinkKind.MEDIA},
    "input": {"src": LinkKind.IMAGE, "formaction": LinkKind.FORM},
    "button": {"formaction": LinkKind.FORM, "data-href": LinkKind.DATA},
    "form": {"action": LinkKind.FORM},
    "isindex": {"action": LinkKind.FORM},
    "body": {"background": LinkKind.IMAGE},
    "blockquote": {"cite": LinkKind.DATA},
    "q": {"cite": LinkKind.DATA},
    "ins": {"cite": LinkKind.DATA},
    "del": {"cite": LinkKind.DATA},
    "import": {"implementation": LinkKind.SCRIPT},
}
"""Tag, then attribute, then the kind of link it makes."""
_NOT_ELSEWHERE = ("data:", "#")
_SETS = {"srcset": LinkKind.IMAGE, "data-srcset": LinkKind.IMAGE, "imagesrcset": LinkKind.IMAGE}
_SELECTED: tuple[tuple[str, str, LinkKind], ...] = (
    ("table[background]", "background", LinkKind.IMAGE),
    ("td[background]", "background", LinkKind.IMAGE),
    ("th[background]", "background", LinkKind.IMAGE),
    ("tr[data-href]", "data-href", LinkKind.DATA),
)
"""Attributes of elements that a page has by the hundred."""
_MARKED = ":is([onclick], [style], [hidden], [ping])"
"""What may stand on any element: one walk of the tree for all."""
_PARAMETERS = frozenset({"data", "filename", "movie", "ref", "src", "url"})
"""Parameters of an <object> that name what it shows."""
_META = {
    "og:url": LinkKind.DATA,
    "og:image": LinkKind.IMAGE,
    "og:image:url": LinkKind.IMAGE,
    "og:image:secure_url": LinkKind.IMAGE,
    "og:video": LinkKind.MEDIA,
    "og:video:url": LinkKind.MEDIA,
    "og:audio": LinkKind.MEDIA,
    "twitter:url": LinkKind.DATA,
    "twitter:image": LinkKind.IMAGE,
    "twitter:image:src": LinkKind.IMAGE,
    "twitter:player": LinkKind.MEDIA,
    "msapplication-config": LinkKind.MEDIA,
    "msapplication-starturl": LinkKind.DATA,
    "msapplication-tileimage": LinkKind.IMAGE,
    "thumbnail": LinkKind.IMAGE,
    "url": LinkKind.DATA,
}
_DATA_KEYS = {
    "url": LinkKind.DATA,
    "mainEntityOfPage": LinkKind.DATA,
    "item": LinkKind.DATA,
    "relatedLink": LinkKind.DATA,
    "significantLink": LinkKind.DATA,
    "discussionUrl": LinkKind.DATA,
    "sameAs": LinkKind.DATA,
    "contentUrl": LinkKind.MEDIA,
    "embedUrl": LinkKind.MEDIA,
    "image": LinkKind.IMAGE,
    "logo": LinkKind.IMAGE,
    "thumbnailUrl": LinkKind.IMAGE,
}


def links_of(tree: Tree, *, is_small: bool = False) -> list[RawLink]:
    """Return every link of a page as written, anchors first."""
    return anchors(tree, is_small=is_small) + others(tree)


def others(tree: Tree, marked: list[Element] | None = None) -> list[RawLink]:
    """Return the links of a page that are not <a href>; `marked` is what _MARKED selects."""
    marked = tree.select(_MARKED) if marked is None else marked
    found: list[RawLink] = []
    find_all = tree.find_all
    for tag, attributes in _PLACES.items():
        for element in find_all(tag):
            _placed(element, attributes, found)
    for selector, attribute, kind in _SELECTED:
        found += [
            (_said(e, attribute), kind, "", "", e.source_line or 0, "")
            for e in tree.select(selector)
        ]
    found += [
        (_said(e, "ping"), LinkKind.FORM, "", "", e.source_line or 0, "")
        for e in marked
        if e.tag == "a" and e.attr("ping") is not None
    ]
    for element in find_all("link"):
        _link_element(element, found)
    for element in find_all("meta"):
        found += _meta(element)
    found += _in_scripts(tree, marked)
    found += _in_styles(tree, marked)
    found += _in_objects(tree)
    return found


def anchors(tree: Tree, *, is_small: bool = False) -> list[RawLink]:
    """Return the page's <a href>, each reference once; one that may be followed comes first."""
    text_of = whole_text if is_small else first_text
    elements = tree.select("a[href]")
    hrefs = [element.attr("href") or "" for element in elements]
    # Three links in four repeat a reference: only the first of each is looked at more closely.
    first = dict(zip(reversed(hrefs), range(len(hrefs) - 1, -1, -1), strict=True))
    pages: dict[str, RawLink] = {}
    followable: dict[str, int] | None = None
    has_rel = bool(tree.select("a[rel]"))
    for place in sorted(first.values()):
        element, href = elements[place], hrefs[place]
        page = href.partition("#")[0] if "#" in href else href
        if not page or (page in pages and "nofollow" not in pages[page][3]):
            continue
        if page[0] in "jJ" and page[:11].lower() == "javascript:":
            line = element.source_line or 0
            pages |= {url: (url, _DATA, "", "", line, "") for url in script_urls(href)}
            continue
        rel = (element.attr("rel") or "").lower() if has_rel else ""
        if "nofollow" in rel:
            if followable is None:
                followable = _followable(elements, hrefs)
            chosen = followable.get(page, place)
            element, href = elements[chosen], hrefs[chosen]
            rel = (element.attr("rel") or "").lower()
        fragment = href[len(page) + 1 :][:FRAGMENT_CHARS] if page is not href else ""
        line = element.source_line or 0
        pages[page] = (page, _ANCHOR, text_of(element), rel, line, fragment)
    return list(pages.values())


def _followable(elements: list[Element], hrefs: list[str]) -> dict[str, int]:
    """Return, by page, the first link to it that is not marked nofollow."""
    places: dict[str, int] = {}
    for place, href in enumerate(hrefs):
        page = href.partition("#")[0]
        if page not in places and "nofollow" not in (elements[place].attr("rel") or "").lower():
            places[page] = place
    return places


def whole_text(element: Element) -> str:
    """Return the text of a link, its blanks as one each, up to a limit."""
    raw = element.text
    if len(raw) <= _TEXT_CHARS and raw.isprintable() and "  " not in raw:
        return raw.strip() or first_text(element)
    return " ".join(raw[: 2 * _TEXT_CHARS].split())[:_TEXT_CHARS]


def first_text(element: Element) -> str:
    """Return the text of a link, as far as a bounded number of nodes has it."""
    raw = "".join(_words(element))
    return " ".join(raw[: 2 * _TEXT_CHARS].split())[:_TEXT_CHARS]


def _words(element: Element) -> Iterator[str]:
    for node in islice(element.descendants, _TEXT_NODES):
        if type(node) is Text:
            yield node.data
        elif type(node) is Element and node.tag == "img":
            yield node.attr("alt") or ""


def _said(element: Element, name: str) -> str:
    return element.attr(name) or ""


def _placed(element: Element, attributes: dict[str, LinkKind], found: list[RawLink]) -> None:
    alt = " ".join(_said(element, "alt").split())[:_TEXT_CHARS] if element.tag == "img" else ""
    for name, said in element.attrs.copy().items():
        kind = attributes.get(name)
        if kind is not None:
            value = " ".join(said) if isinstance(said, list) else said
            if value and not value.startswith(_NOT_ELSEWHERE):
                found.append((value, kind, alt, "", element.source_line or 0, ""))
        elif name in _SETS and isinstance(said, str):
            line = element.source_line or 0
            found += [(href, _SETS[name], alt, "", line, "") for href in srcset_urls(said)]


def _link_element(element: Element, found: list[RawLink]) -> None:
    rel = _said(element, "rel").lower()
    kind = kind_of(rel, _said(element, "as").lower(), _said(element, "type").lower())
    if kind is not None:
        href, line = _said(element, "href"), element.source_line or 0
        found.append((href, kind, _said(element, "hreflang"), rel, line, ""))
    images = element.attr("imagesrcset")
    if images:
        line = element.source_line or 0
        found += [(href, LinkKind.IMAGE, "", "", line, "") for href in srcset_urls(images)]


def _meta(element: Element) -> Iterator[RawLink]:
    content = element.attr("content")
    if not content:
        return
    line = element.source_line or 0
    equivalent = _said(element, "http-equiv").lower()
    if equivalent == "refresh":
        yield refresh_url(content), LinkKind.REFRESH, "", "", line, ""
    elif equivalent == "content-security-policy":
        _, _, after = content.partition("report-uri ")
        hrefs = after.partition(";")[0].split()
        yield from ((href, LinkKind.FORM, "", "", line, "") for href in hrefs)
    else:
        name = element.attr("property") or element.attr("name") or _said(element, "itemprop")
        kind = _META.get(name.lower())
        if kind is not None:
            yield content, kind, "", "", line, ""


def _in_scripts(tree: Tree, marked: list[Element]) -> Iterator[RawLink]:
    for element in tree.find_all("script"):
        source = element.attr("src") or element.attr("href") or element.attr("xlink:href")
        line = element.source_line or 0
        if source:
            yield source, LinkKind.SCRIPT, "", "", line, ""
        elif "ld+json" in _said(element, "type"):
            for href, kind in _in_json_text(element.text):
                yield href, kind, "", "", line, ""
        else:
            for href in script_urls(element.text):
                yield href, LinkKind.DATA, "", "", line, ""
    handlers = [(element, _said(element, "onload")) for element in tree.find_all("body")]
    handlers += [(element, code) for element in marked if (code := element.attr("onclick"))]
    for element, code in handlers:
        for href in script_urls(code):
            yield href, LinkKind.DATA, "", "", element.source_line or 0, ""


def _in_styles(tree: Tree, marked: list[Element]) -> Iterator[RawLink]:
    styles = [(element, element.text) for element in tree.find_all("style")]
    named = [(element, _said(element, "style")) for element in marked]
    styles += [(element, style) for element, style in named if "url(" in style.lower()]
    for element, style in styles:
        for href in css_urls(style):
            yield href, LinkKind.CSS, "", "", element.source_line or 0, ""


def _in_objects(tree: Tree) -> Iterator[RawLink]:
    for element in tree.find_all("param"):
        if _said(element, "name").lower() in _PARAMETERS:
            yield _said(element, "value"), LinkKind.MEDIA, "", "", element.source_line or 0, ""
    for node in islice(tree.children, 4):
        if isinstance(node, Doctype) and node.system_id and "://" not in node.system_id:
            yield node.system_id, LinkKind.DATA, "", ""
    if tree.find_all("svg"):
        for element in tree.select("[xlink\\:href]"):
            if element.tag == "a":
                href, line = _said(element, "xlink:href"), element.source_line or 0
                yield href, LinkKind.ANCHOR, first_text(element), "", line, ""


def _in_json_text(text: str) -> Iterator[tuple[str, LinkKind]]:
    try:
        data: object = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return
    yield from _in_json(data)


def _in_json(data: object) -> Iterator[tuple[str, LinkKind]]:
    waiting: list[tuple[str, object]] = [("", data)]
    for _ in range(_MAX_JSON_NODES):
        if not waiting:
            return
        key, value = waiting.pop()
        match value:
            case dict():
                waiting += [(str(name), inner) for name, inner in value.items()]
                if key == "item" and isinstance(value.get("@id"), str):
                    waiting.append((key, value["@id"]))
            case list():
                waiting += [(key, inner) for inner in value]
            case str() if key in _DATA_KEYS:
                yield value, _DATA_KEYS[key]
            case _:
                pass


PROCESSOR = processor("text/html", "application/xhtml+xml", name="html")(read)
