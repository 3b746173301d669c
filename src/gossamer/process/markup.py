"""Markup: what a link checker wants of a stored page and the crawl does not keep.

Every link with its line and its fragment (the crawl keeps the first to each target), the ids that
fragments may name, the resources that a browser loads, and parse errors. A page is parsed again
for it, so this is for the pages that are asked about.
"""

import re
from collections.abc import Callable, Container, Iterator
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import unquote

from msgspec import Struct

from gossamer.config import UrlConfig
from gossamer.model import LinkKind, Url
from gossamer.process.api import FRAGMENT_CHARS, Tools, placed_links
from gossamer.process.detect import decode
from gossamer.process.references import srcset_urls
from gossamer.process.rendering import MAX_TREE_BYTES
from gossamer.process.stylesheets import css_urls
from gossamer.urls import join_all, url_flaw

if TYPE_CHECKING:
    from turbohtml import Document as Tree
    from turbohtml import Element

MOST_ERRORS = 200
"""Parse errors of one page that are told."""
MOST_REFERENCES = 20_000
WRITTEN_CHARS = 500
"""So much is told of a reference that is no URL."""
_DATA = re.compile(r"\s*(?:data|javascript|mailto|blob):", re.IGNORECASE)
"""References that hold what they name: they lead nowhere, however long they are."""
_DIRECTIVE = ":~:"
"""Before what a browser is to highlight: no part of the name of a place."""
_LOADED: dict[str, tuple[tuple[str, LinkKind], ...]] = {
    "img": (("src", LinkKind.IMAGE),),
    "script": (("src", LinkKind.SCRIPT),),
    "iframe": (("src", LinkKind.FRAME),),
    "frame": (("src", LinkKind.FRAME),),
    "video": (("src", LinkKind.MEDIA), ("poster", LinkKind.IMAGE)),
    "audio": (("src", LinkKind.MEDIA),),
    "source": (("src", LinkKind.MEDIA),),
    "track": (("src", LinkKind.MEDIA),),
    "embed": (("src", LinkKind.MEDIA),),
    "object": (("data", LinkKind.MEDIA),),
    "input": (("src", LinkKind.IMAGE),),
}
"""Attributes whose resource a browser fetches with the page."""
_LOADED_RELS = frozenset({"stylesheet", "icon", "apple-touch-icon", "manifest", "modulepreload"})


class MarkupError(Struct, frozen=True, gc=False):
    """A parse error, by its name in the HTML standard."""

    line: int
    column: int
    """From 1, as the line."""
    code: str
    tag: str = ""
    """What is not closed (<b>), or closes nothing (</b>)."""


class PlacedReference(Struct, frozen=True, gc=False):
    """A reference in a page's source."""

    target: str
    """Absolute, without its fragment."""
    kind: LinkKind
    line: int
    text: str = ""
    fragment: str = ""
    """Behind the #, as written."""
    column: int = 0
    """From 1; 0 if it is not known."""


class PageMarkup:
    """A page's source, parsed again. What it is asked for is looked up then."""

    def __init__(self, tree: "Tree", url: Url, tools: Tools, *, is_small: bool) -> None:
        self._tree = tree
        self._is_small = is_small
        """The text of links in each other may be read as often as they are."""
        self.errors = _errors_of(tree)
        """Errors of the tokenizer, the first of them."""
        if tree.find_all("template"):
            tree.remove("template")
        self._base = _base_of(tree, url, tools)
        self._tools = tools

    @property
    def ids(self) -> frozenset[str]:
        """Return what a fragment may name."""
        named = [element.attr("name") or "" for element in self._tree.select("a[name]")]
        found = [element.attr("id") or "" for element in self._tree.select("[id]")]
        return frozenset(found + named)

    @property
    def fragments(self) -> list[PlacedReference]:
        """Return the links with a fragment, those to the page itself included."""
        return _fragments_of(self._tree, self._base, self._tools.urls, is_small=self._is_small)

    @property
    def resources(self) -> list[PlacedReference]:
        """Return what a browser loads with the page."""
        return _resources_of(self._tree, self._base, self._tools.urls)

    def references(self, targets: Container[str]) -> list[PlacedReference]:
        """Return every place that leads to one of some targets, in the order of their lines."""

        def target_of(_: str, url: Url | None) -> str:
            return url.text if url is not None and url.text in targets else ""

        return self._references(target_of)

    @property
    def malformed(self) -> list[PlacedReference]:
        """Return the places whose reference is no URL, as it is written (`url_flaw` says why)."""
        base = self.base

        def target_of(written: str, _: Url | None) -> str:
            may_be = ":" in written or "//" in written or "\\" in written
            is_bad = may_be and not _DATA.match(written) and url_flaw(written, base) is not None
            return written.strip()[:WRITTEN_CHARS] if is_bad else ""

        return self._references(target_of)

    @property
    def base(self) -> str:
        """Return what references are relative to."""
        return self._base.text

    def _references(self, target_of: Callable[[str, Url | None], str]) -> list[PlacedReference]:
        urls = self._tools.urls
        return _references_to(target_of, self._tree, self._base, urls, is_small=self._is_small)

    @property
    def upgrades(self) -> bool:
        """Return True if the page asks browsers to fetch by https what it names by http."""
        return any(map(_upgrades, self._tree.find_all("meta")))


def read_markup(body: bytes, charset: str, url: Url, tools: Tools) -> PageMarkup | None:
    """Return the source of a page, parsed; None if it is too large for that."""
    if len(body) > MAX_TREE_BYTES:
        return None
    from gossamer.process.html import parsed  # noqa: PLC0415 - only when needed
    from gossamer.process.html_links import SMALL_BYTES  # noqa: PLC0415 - only when needed

    return PageMarkup(parsed(body, charset), url, tools, is_small=len(body) <= SMALL_BYTES)


def _base_of(tree: "Tree", url: Url, tools: Tools) -> Url:
    from gossamer.process.html import base_of  # noqa: PLC0415 - as above

    return base_of(tree, url, tools)


def _references_to(
    target_of: Callable[[str, Url | None], str],
    tree: "Tree",
    base: Url,
    urls: UrlConfig,
    *,
    is_small: bool,
) -> list[PlacedReference]:
    """Return the references that have a target, which is told from what is written and its URL."""
    from gossamer.process.html_links import first_text, others, whole_text  # noqa: PLC0415 - as above

    text_of = whole_text if is_small else first_text
    elements = list(islice(tree.select("a[href]"), MOST_REFERENCES))
    pages = [(one.attr("href") or "").partition("#")[0] for one in elements]
    found = [
        PlacedReference(
            target,
            LinkKind.ANCHOR,
            element.source_line or 0,
            text_of(element),
            column=_column(element),
        )
        for url, page, element in zip(join_all(base, pages, urls), pages, elements, strict=True)
        if page and (target := target_of(page, url))
    ]
    raw = placed_links(one for one in others(tree)[:MOST_REFERENCES] if one[0])
    written = [one[0].partition("#")[0] for one in raw]
    joined = join_all(base, written, urls)
    found += dict.fromkeys(  # src and srcset of one element often name the same
        PlacedReference(target, kind, line, text)
        for url, page, (_, kind, text, _, line, _) in zip(joined, written, raw, strict=True)
        if page and (target := target_of(page, url))
    )
    return sorted(found, key=lambda one: (one.line, one.column))


def _column(element: "Element") -> int:
    at = element.source_col
    return 0 if at is None else at + 1


def _errors_of(tree: "Tree") -> list[MarkupError]:
    found = islice(tree.errors, MOST_ERRORS)
    return [MarkupError(one.line, one.col + 1, one.code) for one in found]


_VOID = frozenset(
    [
        "area",
        "base",
        "basefont",
        "bgsound",
        "br",
        "col",
        "command",
        "embed",
        "frame",
        "hr",
        "image",
        "img",
        "input",
        "keygen",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
    ]
)
_OPTIONAL = frozenset(
    [
        "html",
        "head",
        "body",
        "p",
        "li",
        "dt",
        "dd",
        "rb",
        "rt",
        "rtc",
        "rp",
        "optgroup",
        "option",
        "colgroup",
        "caption",
        "thead",
        "tbody",
        "tfoot",
        "tr",
        "td",
        "th",
        "plaintext",
        "noscript",
    ]
)
"""Elements whose end tag may be left out; noscript is text where scripts run."""
_IMPLIED = frozenset({"html", "head", "body", "tbody", "colgroup", "noscript"})
"""Elements whose start tag may be left out: their end tag is never stray."""


def nesting_errors(body: bytes, charset: str) -> list[MarkupError]:
    """Return elements that are not closed and end tags that close nothing, the first of them.

    The parser says where each element ends in the source. Foreign content (SVG, MathML) is left
    out: the tokenizer alone reads it differently.
    """
    from turbohtml import parse  # noqa: PLC0415 - as above

    if len(body) > MAX_TREE_BYTES:
        return []
    text, _ = decode(body, charset)
    tree = parse(text, source_locations=True, allow_declarative_shadow_roots=False)
    found = [*_unclosed(tree), *_stray(text, tree)]
    return sorted(found, key=lambda one: (one.line, one.column))[:MOST_ERRORS]


def _unclosed(tree: "Tree") -> Iterator[MarkupError]:
    from turbohtml import Namespace  # noqa: PLC0415 - as above

    for element in tree.select("*"):
        where, tag = element.source_location, element.tag
        if where is None or where.end_tag is not None or tag in _VOID or tag in _OPTIONAL:
            continue
        if element.namespace is Namespace.HTML:
            at = where.start_tag
            yield MarkupError(at.start_line, at.start_col + 1, "unclosed-element", f"<{tag}>")


def _stray(text: str, tree: "Tree") -> Iterator[MarkupError]:
    from turbohtml import TokenType, tokenize  # noqa: PLC0415 - as above

    known = [(one.tag, one.source_location) for one in tree.select("*")]
    spans = [
        (tag, (at.start_tag.start_line, at.start_tag.start_col), (end.start_line, end.start_col))
        for tag, at in known
        if at is not None and (end := at.end_tag) is not None
    ]
    closed = {end for _, _, end in spans}
    foreign = [(start, end) for tag, start, end in spans if tag in {"svg", "math"}][::-1]
    until = (0, 0)
    for token in tokenize(text):
        at = (token.line, token.col)
        while foreign and foreign[-1][0] < at:
            until = max(until, foreign.pop()[1])
        is_end = token.type is TokenType.END_TAG and token.tag not in _IMPLIED
        if is_end and at not in closed and at > until:
            yield MarkupError(token.line, token.col + 1, "stray-end-tag", f"</{token.tag}>")


def is_named(fragment: str, ids: frozenset[str]) -> bool:
    """Return True if a fragment leads somewhere in a page with some ids.

    The top of a page has names of its own; what begins with / or ! is a route that a script
    interprets; and a text directive names no place but words.
    """
    name = fragment.partition(_DIRECTIVE)[0]
    if not name or name.lower() == "top" or name[0] in "/!":
        return True
    return name in ids or unquote(name) in ids


def _fragments_of(
    tree: "Tree", base: Url, urls: UrlConfig, *, is_small: bool
) -> list[PlacedReference]:
    from gossamer.process.html_links import first_text, whole_text  # noqa: PLC0415 - as above

    elements = islice(tree.select('a[href*="#"], area[href*="#"]'), MOST_REFERENCES)
    split = [(one, *(one.attr("href") or "").strip().partition("#")[::2]) for one in elements]
    targets = join_all(base, [page for _, page, _ in split], urls)
    text_of = whole_text if is_small else first_text
    found: list[PlacedReference] = []
    for target, (element, page, fragment) in zip(targets, split, strict=True):
        kind = LinkKind.AREA if element.tag == "area" else LinkKind.ANCHOR
        where = base if not page else target
        if fragment and where is not None:
            line, said = element.source_line or 0, fragment[: 2 * FRAGMENT_CHARS]
            found.append(PlacedReference(where.text, kind, line, text_of(element), said))
    return found


def _resources_of(tree: "Tree", base: Url, urls: UrlConfig) -> list[PlacedReference]:
    raw = list(islice(_loaded(tree), MOST_REFERENCES))
    targets = join_all(base, [href for href, _, _ in raw], urls)
    return [
        PlacedReference(target.text, kind, line)
        for target, (_, kind, line) in zip(targets, raw, strict=True)
        if target is not None
    ]


def _loaded(tree: "Tree") -> Iterator[tuple[str, LinkKind, int]]:
    for tag, attributes in _LOADED.items():
        for element in tree.find_all(tag):
            line = element.source_line or 0
            for name, kind in attributes:
                if value := element.attr(name):
                    yield value, kind, line
            for href in srcset_urls(element.attr("srcset") or ""):
                yield href, LinkKind.IMAGE, line
    for element in tree.find_all("link"):
        rels = set((element.attr("rel") or "").lower().split())
        if rels & _LOADED_RELS and (named := element.attr("href")):
            kind = LinkKind.STYLE if "stylesheet" in rels else LinkKind.MEDIA
            yield named, kind, element.source_line or 0
    yield from _in_styles(tree)


def _in_styles(tree: "Tree") -> Iterator[tuple[str, LinkKind, int]]:
    for element in tree.find_all("style"):
        for href in css_urls(element.text):
            yield href, LinkKind.CSS, element.source_line or 0
    for element in tree.select('[style*="url(" i], [style*="image-set(" i]'):
        for href in css_urls(element.attr("style") or ""):
            yield href, LinkKind.CSS, element.source_line or 0


def _upgrades(element: "Element") -> bool:
    is_policy = (element.attr("http-equiv") or "").lower() == "content-security-policy"
    return is_policy and "upgrade-insecure-requests" in (element.attr("content") or "").lower()
