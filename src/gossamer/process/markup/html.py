"""HTML: one parse for links, anchor texts, title, text, language and directives."""

import re
from collections.abc import Iterator
from itertools import islice
from urllib.parse import unquote

from turbohtml import Document as Tree
from turbohtml import Namespace, parse

from gossamer.model import Document, Extraction, Link, LinkKind, Url
from gossamer.process import charset
from gossamer.process.api import RawLink, Tools, processor
from gossamer.process.language import language_of
from gossamer.process.markup import scan
from gossamer.process.markup.headers import directives
from gossamer.process.markup.links import SMALL_BYTES, links_of
from gossamer.urls import join_all

_ANCHOR = LinkKind.ANCHOR
_CANONICAL = LinkKind.CANONICAL
_TITLE_CHARS = 500
_HEADINGS = ("h1", "h2", "h3")
_MOST_HEADINGS, _HEADING_CHARS = 24, 160
"""Of each kind; a page of nothing but headings has none that says what it is about."""
_MAX_INNER_CHARS = 100_000
"""Markup inside of attributes that is read, all together."""
_FRAME = re.compile(
    rb"""<frame\s[^<>]{0,200}?src\s{0,9}=\s{0,9}["']?([^\s"'<>]{1,2000})""", re.IGNORECASE
)


def read(document: Document, tools: Tools) -> Extraction:
    """Return what an HTML page says and where it points."""
    tree = _parsed(document)
    if tree.find_all("template"):  # by index; `find` would walk the whole tree in vain
        tree.remove("template")
    base = _base_of(tree, document, tools)
    links = tools.links(base, _raw_links(tree, document.body.decoded()))
    text = tree.to_text()[: tools.process.max_text_chars]
    root = next(iter(tree.find_all("html")), None)
    return Extraction(
        title=_title_of(tree),
        headings=_headings_of(tree),
        text=text,
        language=language_of(text, (root.attr("lang") or "") if root else ""),
        canonical=_canonical_of(links),
        charset=(tree.encoding or charset.UTF_8).lower(),
        robots=_robots_of(tree, tools.robots_agent.lower()),
        links=links,
    )


def _parsed(document: Document) -> Tree:
    body = document.body.decoded()
    if 0 in body[:64]:
        text, _ = charset.decode(body, document.charset)
        return parse(text, positions=False)
    label = charset.known(document.charset)
    if label:
        return parse(body, encoding=label, positions=False)
    return parse(body, detect_encoding=True, positions=False)


def _raw_links(tree: Tree, body: bytes) -> list[RawLink]:
    found = links_of(tree, is_small=len(body) <= SMALL_BYTES)
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
        for match in islice(_FRAME.finditer(body), scan.MAX_FINDS):
            yield match[1].decode("utf-8", "replace"), LinkKind.FRAME, "", ""


def _base_of(tree: Tree, document: Document, tools: Tools) -> Url:
    for element in tree.find_all("base"):
        href = element.attr("href")
        if href is not None:
            return join_all(document.url, [href], tools.urls)[0] or document.url
    return document.url


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


def _robots_of(tree: Tree, agent: str) -> tuple[str, ...]:
    found: tuple[str, ...] = ()
    for element in tree.find_all("meta"):
        if (element.attr("name") or "").strip().lower() in {"robots", agent}:
            found += directives(element.attr("content") or "")
    return tuple(dict.fromkeys(found))


PROCESSOR = processor("text/html", "application/xhtml+xml", name="html")(read)
