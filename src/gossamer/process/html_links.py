"""Links of an HTML page: where its elements name them.

turbohtml keeps an index of elements by tag: asking for one tag costs next to nothing, asking for
an attribute on any tag walks the tree (15 us a page), asking for several tags at once is dearest.
It also remembers only some twenty compiled selectors. Hence tables by tag, few selectors, and no
selector where a tag will do.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import msgspec
from turbohtml import Doctype, Element, Text
from turbohtml import Document as Tree

from gossamer.model import LinkKind
from gossamer.process.api import FRAGMENT_CHARS, RawLink
from gossamer.process.page_view import ElementView, PageView
from gossamer.process.references import (
    kind_of,
    refresh_url,
    script_urls,
    srcset_urls,
)
from gossamer.process.stylesheets import css_urls, may_refer

_ANCHOR = LinkKind.ANCHOR
SMALL_BYTES = 256 * 1024
"""A page of this size may have all of each link's text read: nested links cost half a second."""
TEXT_CHARS = 200
TEXT_NODES = 48
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
PLACES: dict[str, dict[str, LinkKind]] = {
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
_NO_BASE = re.compile(r"[\s\0-\x20]*(?:javascript|vbscript|about|blob|mailto|tel):", re.IGNORECASE)
"""A base that is ignored is no link either."""
_SETS = {"srcset": LinkKind.IMAGE, "data-srcset": LinkKind.IMAGE, "imagesrcset": LinkKind.IMAGE}
_SELECTED: tuple[tuple[str, str, LinkKind], ...] = (
    ("table[background]", "background", LinkKind.IMAGE),
    ("td[background]", "background", LinkKind.IMAGE),
    ("th[background]", "background", LinkKind.IMAGE),
    ("tr[data-href]", "data-href", LinkKind.DATA),
)
"""Attributes of elements that a page has by the hundred."""
MARKED = ":is([onclick], [style], [hidden], [ping])"
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


def others(
    page: PageView[ElementView], marked: Sequence[ElementView] | None = None
) -> list[RawLink]:
    """Return the links of a page that are not <a href>; `marked` is what MARKED selects."""
    marked = page.select(MARKED) if marked is None else marked
    found: list[RawLink] = []
    find_all = page.find_all
    for tag, attributes in PLACES.items():
        for element in find_all(tag):
            _placed(element, attributes, found)
    for selector, attribute, kind in _SELECTED:
        found += [
            (_said(e, attribute), kind, "", "", e.source_line or 0, "")
            for e in page.select(selector)
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
    found += _in_scripts(page, marked)
    found += _in_styles(page, marked)
    found += _in_objects(page)
    return found


def anchors(tree: Tree, *, is_small: bool = False) -> list[RawLink]:
    """Return the page's <a href>, each reference once; one that may be followed comes first."""
    text_of = whole_text if is_small else first_text
    elements = tree.select("a[href]")
    hrefs = [element.attr("href") or "" for element in elements]
    has_rel = bool(tree.select("a[rel]"))

    def rel_of(place: int) -> str:
        return (elements[place].attr("rel") or "").lower() if has_rel else ""

    def text_and_line(place: int) -> tuple[str, int]:
        return text_of(elements[place]), elements[place].source_line or 0

    return chosen_anchors(hrefs, rel_of, text_and_line)


def chosen_anchors(
    hrefs: list[str], rel_of: Callable[[int], str], text_and_line: Callable[[int], tuple[str, int]]
) -> list[RawLink]:
    """Return one link for each page that is referred to, of all in the order of the source."""
    # Three links in four repeat a reference: only the first of each is looked at more closely.
    first = dict(zip(reversed(hrefs), range(len(hrefs) - 1, -1, -1), strict=True))
    pages: dict[str, RawLink] = {}
    followable: dict[str, int] | None = None
    for place in sorted(first.values()):
        chosen, href = place, hrefs[place]
        page = href.partition("#")[0] if "#" in href else href
        if not page or (page in pages and "nofollow" not in pages[page][3]):
            continue
        if page[0] in "jJ" and page[:11].lower() == "javascript:":
            line = text_and_line(place)[1]
            pages |= {url: (url, _DATA, "", "", line, "") for url in script_urls(href)}
            continue
        rel = rel_of(place)
        if "nofollow" in rel:
            if followable is None:
                followable = _followable(hrefs, rel_of)
            chosen = followable.get(page, place)
            href, rel = hrefs[chosen], rel_of(chosen)
        fragment = href[len(page) + 1 :][:FRAGMENT_CHARS] if page is not href else ""
        text, line = text_and_line(chosen)
        pages[page] = (page, _ANCHOR, text, rel, line, fragment)
    return list(pages.values())


def _followable(hrefs: list[str], rel_of: Callable[[int], str]) -> dict[str, int]:
    """Return, by page, the first link to it that is not marked nofollow."""
    places: dict[str, int] = {}
    for place, href in enumerate(hrefs):
        page = href.partition("#")[0]
        if page not in places and "nofollow" not in rel_of(place):
            places[page] = place
    return places


def whole_text(element: Element) -> str:
    """Return the text of a link, its blanks as one each, up to a limit."""
    raw = element.text
    if len(raw) <= TEXT_CHARS and raw.isprintable() and "  " not in raw:
        return raw.strip() or first_text(element)
    return " ".join(raw[: 2 * TEXT_CHARS].split())[:TEXT_CHARS]


def first_text(element: Element) -> str:
    """Return the text of a link, as far as a bounded number of nodes has it."""
    raw = "".join(_words(element))
    return " ".join(raw[: 2 * TEXT_CHARS].split())[:TEXT_CHARS]


def _words(element: Element) -> Iterator[str]:
    for node in islice(element.descendants, TEXT_NODES):
        if type(node) is Text:
            yield node.data
        elif type(node) is Element and node.tag == "img":
            yield node.attr("alt") or ""


def _said(element: ElementView, name: str) -> str:
    return element.attr(name) or ""


def _placed(element: ElementView, attributes: dict[str, LinkKind], found: list[RawLink]) -> None:
    alt = " ".join(_said(element, "alt").split())[:TEXT_CHARS] if element.tag == "img" else ""
    for name, said in dict(element.attrs).items():
        kind = attributes.get(name)
        if kind is not None:
            value = " ".join(said) if isinstance(said, list) else said
            is_ignored = element.tag == "base" and _NO_BASE.match(value or "")
            if value and not value.startswith(_NOT_ELSEWHERE) and not is_ignored:
                found.append((value, kind, alt, "", element.source_line or 0, ""))
        elif name in _SETS and isinstance(said, str):
            line = element.source_line or 0
            found += [(href, _SETS[name], alt, "", line, "") for href in srcset_urls(said)]


def _link_element(element: ElementView, found: list[RawLink]) -> None:
    rel = _said(element, "rel").lower()
    kind = kind_of(rel, _said(element, "as").lower(), _said(element, "type").lower())
    if kind is not None:
        href, line = _said(element, "href"), element.source_line or 0
        found.append((href, kind, _said(element, "hreflang"), rel, line, ""))
    images = element.attr("imagesrcset")
    if images:
        line = element.source_line or 0
        found += [(href, LinkKind.IMAGE, "", "", line, "") for href in srcset_urls(images)]


def _meta(element: ElementView) -> Iterator[RawLink]:
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


def _in_scripts(tree: PageView[ElementView], marked: Sequence[ElementView]) -> Iterator[RawLink]:
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


def _in_styles(tree: PageView[ElementView], marked: Sequence[ElementView]) -> Iterator[RawLink]:
    styles = [(element, element.text) for element in tree.find_all("style")]
    named = [(element, _said(element, "style")) for element in marked]
    styles += [(element, style) for element, style in named if may_refer(style)]
    for element, style in styles:
        for href in css_urls(style):
            yield href, LinkKind.CSS, "", "", element.source_line or 0, ""


def _in_objects(tree: PageView[ElementView]) -> Iterator[RawLink]:
    for element in tree.find_all("param"):
        if _said(element, "name").lower() in _PARAMETERS:
            yield _said(element, "value"), LinkKind.MEDIA, "", "", element.source_line or 0, ""
    for node in islice(tree.children, 4):
        if isinstance(node, Doctype) and node.system_id and "://" not in node.system_id:
            yield node.system_id, LinkKind.DATA, "", ""
    if tree.find_all("svg"):
        for element in tree.select("[xlink\\:href]"):
            if element.tag == "a" and isinstance(element, Element):
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
