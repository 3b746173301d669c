"""HTML: one reading for links, anchor texts, title, text, language and directives.

A page is read in one pass over its bytes (`read_rows`), or by its tree (`read_tree`) if that pass
cannot tell all of it: ADR 73.
"""

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple
from urllib.parse import unquote

from turbohtml import Document as Tree
from turbohtml import Element, Namespace, parse
from turbohtml.detect import detect

from gossamer.model import Document, Extraction, Link, LinkKind, Url, targets_of
from gossamer.process.api import RawLink, Tools, processor
from gossamer.process.captions import captions_of
from gossamer.process.detect import UTF_8, beyond_web, declared_in, decode, known
from gossamer.process.html_links import (
    MARKED,
    SMALL_BYTES,
    anchors,
    chosen_anchors,
    links_of,
    others,
)
from gossamer.process.labels import is_shell, marked_text, may_be_shell
from gossamer.process.language import language_of
from gossamer.process.onepass import (
    MOST_BYTES,
    NO_ROWS,
    FlatPage,
    Lent,
    link_columns,
    marked_rows,
    page_in,
)
from gossamer.process.page_view import ElementView, PageView
from gossamer.process.references import (
    MAX_FINDS,
    directives,
    script_urls,
)
from gossamer.urls import join_all

_ANCHOR = LinkKind.ANCHOR
_CANONICALS = frozenset({LinkKind.CANONICAL})
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
_NUL_BYTES: Final = 64
_LIKE_ASCII: Final = ("utf-8", "windows-", "iso-8859-", "koi8-", "euc-", "gb", "big5", "macintosh")
"""How encodings begin in which what is ASCII throughout means the same."""
_CHARSET: Final = re.compile(r"charset\s*+=\s*+([^\s\"';]++)\s*+(?:;|\Z)", re.IGNORECASE)
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
    if tree is None and (found := read_rows(document, body, tools)) is not None:
        return found
    return read_tree(document, body, tools, tree)


def read_large(document: Document, tools: Tools) -> Extraction | None:
    """Return what a page says whose tree could take all memory; None if only that can tell.

    Rows take little memory of any page, and a time that grows with its size only.
    """
    return read_rows(document, document.body.decoded(), tools)


def read_rows(document: Document, body: bytes, tools: Tools) -> Extraction | None:
    """Return what a page says, read in one pass without a tree; None if that cannot tell."""
    source = utf_8_source(body, document.charset)
    if source is None or len(source.body) > MOST_BYTES:
        return None
    try:
        lent = Lent(len(source.body))
    except MemoryError:
        return None
    with lent as workspace:
        page = None
        try:
            page = page_in(source.body, workspace)
            encoding = encoding_told(page, source) if page is not None else None
            if page is None or encoding is None:
                return None
            return _told(page, source.body, encoding, document, tools)
        except UnicodeError:
            return None
        finally:
            if page is not None:
                page.close()


def _told(
    page: FlatPage, body: bytes, encoding: str, document: Document, tools: Tools
) -> Extraction | None:
    styled = [one for one in page.elements if not _MARKING.isdisjoint(one.attrs)]
    base = base_of(page, document.url, tools)
    found = others(page, styled)
    found += _inner_links(page)
    links = _links_in(page, body, base, found, tools)
    marked = marked_rows(page, styled, tools.process.max_text_chars)
    if marked is None:
        return None
    is_suspect = may_be_shell(page, marked.text, links)
    if is_suspect and len(body) > SHARED_BYTES:
        return None
    root = next(iter(page.find_all("html")), None)
    robots, description = _meta_of(page, tools.robots_agent.lower())
    title, headings = _title_and_headings(page)
    said = (root.attr("lang") if root else "") or document.header("content-language")
    return Extraction(
        title=title,
        description=description,
        headings=headings,
        canonical=_canonical_of(links),
        charset=encoding,
        robots=robots,
        links=links,
        text=marked.text,
        spans=marked.spans,
        language=language_of(marked.text, said),
        is_shell=is_suspect and is_shell(parsed(body, UTF_8, has_lines=False), marked.text, links),
    )


def _title_and_headings(page: FlatPage) -> tuple[str, tuple[str, ...]]:
    """Return what `_title_of` and `_headings_of` return."""
    asked = [
        (one.event, 4 * _HEADING_CHARS, _HEADING_CHARS)
        for name in _HEADINGS
        for one in page.find_all(name)[:_MOST_HEADINGS]
    ]
    titles = [one for one in page.find_all("title") if one.namespace is Namespace.HTML][:1]
    asked += [(one.event, 4 * _TITLE_CHARS, _TITLE_CHARS) for one in titles]
    found = page.texts_of(asked)
    title = found.pop() if titles else ""
    return title, tuple(dict.fromkeys(filter(None, found)))


_MARKING = frozenset({"onclick", "style", "hidden", "ping"})


def _links_in(
    page: FlatPage, body: bytes, base: Url, found: list[RawLink], tools: Tools
) -> Sequence[Link]:
    """Return the anchors of a page, and the other links that were found: as columns if possible."""
    is_small = len(body) <= SMALL_BYTES
    rows = page.anchor_rows(is_small=is_small, every=False)
    scripts = page.scripts_among(rows)
    if not rows.is_partial and not any(script_urls(href) for _, href in scripts):
        for place, _ in scripts:
            page.drop_anchor(place)
        more = found if rows.total > len(scripts) else _with_frames(page, body, found)
        links = link_columns(page, base, rows, more, tools)
        if links is not None:
            return links
    raw = _with_frames(page, body, _all_anchors_of(page, is_small=is_small) + found)
    links = link_columns(page, base, NO_ROWS, raw, tools)
    return tools.links(base, raw) if links is None else links


def _with_frames(page: PageView[ElementView], body: bytes, found: list[RawLink]) -> list[RawLink]:
    """Return links, and frames that were dropped if the page has nothing else to go on with."""
    if found and found[0][1] is _ANCHOR:
        return found
    return [*found, *_misplaced_frames(page, body)]


def _all_anchors_of(page: FlatPage, *, is_small: bool) -> list[RawLink]:
    """Return what `anchors` returns of a tree."""
    told = page.anchors(is_small=is_small)

    def text_and_line(place: int) -> tuple[str, int]:
        is_told = place not in told.looks
        text = told.texts[place] if is_told else page.looked_up(told.events[place])
        return text, told.lines[place]

    return chosen_anchors(told.hrefs, told.rels.__getitem__, text_and_line)


def read_tree(
    document: Document, body: bytes, tools: Tools, tree: Tree | None = None
) -> Extraction:
    """Return what a page says, by its tree; that may be given, if it has been made already."""
    if tree is None:
        tree = parsed(body, document.charset)
    if tree.find_all("template"):  # by index; `find` would walk the whole tree in vain
        tree.remove("template")
    base = base_of(tree, document.url, tools)
    styled = tree.select(MARKED)
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
    found += _inner_links(tree)
    return _with_frames(tree, body, found)


def _inner_links(page: PageView[ElementView]) -> Iterator[RawLink]:
    """Return the links of the markup that a page keeps in attributes."""
    room = _MAX_INNER_CHARS
    for inner in filter(None, _inner_pages(page)):
        yield from links_of(parse(inner[:room], positions=False))
        room -= min(room, len(inner))
        if not room:
            break


def _inner_pages(page: PageView[ElementView]) -> Iterator[str]:
    """Return the markup that a page keeps in attributes: frames, drawings, reading views."""
    for element in page.find_all("iframe"):
        yield element.attr("srcdoc") or ""
    for element in page.find_all("meta"):
        content = element.attr("content") or ""
        if "<" in content:
            yield content
    for element in page.find_all("img"):
        source = element.attr("src") or ""
        if source.startswith("data:image/svg+xml,"):
            yield unquote(source.partition(",")[2])


def _misplaced_frames(tree: PageView[ElementView], body: bytes) -> Iterator[RawLink]:
    """Return frames that the parser dropped because something came before their set."""
    if not tree.find_all("frameset"):
        for match in islice(_FRAME.finditer(body), MAX_FINDS):
            yield match[1].decode("utf-8", "replace"), LinkKind.FRAME, "", ""


def base_of(tree: PageView[ElementView], own: Url, tools: Tools) -> Url:
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


def _title_of(tree: PageView[ElementView]) -> str:
    for element in tree.find_all("title"):
        if element.namespace is Namespace.HTML:
            return " ".join(element.text[: 4 * _TITLE_CHARS].split())[:_TITLE_CHARS]
    return ""


def _headings_of(tree: PageView[ElementView]) -> tuple[str, ...]:
    """Return what stands above the parts of a page: the greatest headings first, each once."""
    found = [
        " ".join(element.text[: 4 * _HEADING_CHARS].split())[:_HEADING_CHARS]
        for name in _HEADINGS
        for element in islice(tree.find_all(name), _MOST_HEADINGS)
    ]
    return tuple(dict.fromkeys(filter(None, found)))


def _canonical_of(links: Sequence[Link]) -> str:
    return next(iter(targets_of(links, _CANONICALS)), "")


def _meta_of(tree: PageView[ElementView], agent: str) -> tuple[tuple[str, ...], str]:
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


class Utf8Source(NamedTuple):
    """The bytes of a page as UTF-8, and what they were."""

    body: bytes
    encoding: str
    is_certain: bool
    """What the page itself declares changes nothing."""


@lru_cache(256)
def _canonical(label: str) -> str:
    """Return the name of the encoding that a label means; "" if it means none."""
    try:
        return (parse(b"", encoding=label).encoding or "").lower()
    except LookupError:
        return ""


def utf_8_source(body: bytes, declared: str) -> Utf8Source | None:
    """Return a page as UTF-8, decoded as its server, then the page, then its bytes say."""
    head = body[:_NUL_BYTES]
    if 0 in head or _ISO_2022_KR in head or head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return None
    label = known(declared)
    if not label and (beyond_web(declared, body) or beyond_web(declared_in(body), body)):
        return None
    if body.startswith(BOM_UTF8):
        return Utf8Source(body[len(BOM_UTF8) :], UTF_8, is_certain=True)
    encoding = _canonical(label) if label else (detect(body).encoding or "windows-1252").lower()
    if encoding == UTF_8 or (body.isascii() and encoding.startswith(_LIKE_ASCII)):
        return Utf8Source(body, encoding, bool(label))
    try:
        text = body.decode(f"whatwg-{encoding}", "replace")
    except LookupError:
        return None
    return Utf8Source(text.encode(), encoding, bool(label))


def encoding_told(page: FlatPage, source: Utf8Source) -> str | None:
    """Return the encoding of a page, by what it declares itself; None if it is not in that."""
    if source.is_certain:
        return source.encoding
    for element in page.find_all("meta"):
        label = element.attr("charset")
        if label is None and (element.attr("http-equiv") or "").lower() == "content-type":
            content = element.attr("content") or ""
            if "charset" in content.lower():
                found = _CHARSET.search(content)
                if found is None:
                    return None
                label = found[1]
        if label is not None:
            encoding = _canonical(label.strip())
            if encoding == source.encoding:
                return encoding
            is_same = source.body.isascii() and encoding.startswith(_LIKE_ASCII)
            return encoding if is_same and encoding != "" else None
    return source.encoding


PROCESSOR = processor("text/html", "application/xhtml+xml", name="html")(read)
