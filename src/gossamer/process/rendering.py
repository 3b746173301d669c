"""The text of a stored page in the form that an export asks for.

plain     the text that was extracted when the page was stored
main      plain text of the main content, without navigation, headers, footers and small print
markdown  the main content as Markdown: headings, lists, tables, code, links
html      the source as text, decoded as the crawl decoded it
"""

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from gossamer.process.detect import clean, decode
from gossamer.urls import whatwg

if TYPE_CHECKING:
    from turbohtml import Document as Tree
    from turbohtml import Element, Markdown, Node

TextKind: TypeAlias = Literal["plain", "markdown", "main", "html"]
TEXT_KINDS: tuple[TextKind, ...] = ("plain", "markdown", "main", "html")
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
MAX_TREE_BYTES = 2 * 1024 * 1024
"""Of a page that is parsed here: a tree takes up to 100 times its page. Of a larger one the text
that was extracted is given, which a process that can be killed has made."""
_BASE = re.compile("https?://")
_ELSEWHERE = '[href^="/"],[href^="."],[href^="?"],[href^=" "],[href=""]'
"""References that are not simply below the folder of their page."""
_FEW_CHARS, _LEAST_SHARE = 200, 0.1
"""Less than both of a page's text is a part that its author marked as main, and left empty."""


def page_text(
    kind: TextKind,
    body: bytes,
    *,
    media_type: str = "text/html",
    charset: str = "",
    plain: str = "",
    url: str = "",
    max_chars: int = 10_000_000,
) -> str:
    """Return the text of a page in one of four forms; of what is no HTML, what was extracted.

    `media_type` is that which was found, `charset` that which the server declared (both may be "");
    `plain` is the extracted text, `url` what relative links are joined to. Never raises.
    """
    if kind == "plain":
        return plain[:max_chars]
    if media_type not in HTML_TYPES:
        return "" if kind == "html" else plain[:max_chars]
    if kind == "html":
        return clean(decode(body, charset)[0])[:max_chars]
    if len(body) > MAX_TREE_BYTES:
        return plain[:max_chars]
    return _rendered(body, charset, kind, url, plain)[:max_chars]


def _rendered(body: bytes, charset: str, kind: TextKind, url: str, plain: str) -> str:
    from gossamer.process.html import parsed  # noqa: PLC0415 - the parser, only when it is needed
    from gossamer.process.main_content import without_small_print  # noqa: PLC0415 - with it

    text = ""
    for is_marked in (True, False):
        tree = parsed(body, charset, has_lines=False)
        if not plain:
            plain = tree.text
        text = without_small_print(_written(tree, kind, url, plain, is_marked=is_marked))
        if len(text) > min(_FEW_CHARS, _LEAST_SHARE * len(plain)):
            break
    return clean(text)


def _written(tree: "Tree", kind: TextKind, url: str, plain: str, *, is_marked: bool) -> str:
    from gossamer.process.main_content import main_content, solid_chars  # noqa: PLC0415 - so

    base = tree.base_url(url)
    main = main_content(tree, solid_chars(plain), is_marked=is_marked)
    return main.to_text() if kind == "main" else main.to_markdown(_with_links(main, base))


def _with_links(main: "Node", base: str) -> "Markdown":
    """Return how to write links: below the folder of the page, but for those that point elsewhere.

    The renderer puts the folder before a relative reference. Those for which that is wrong (one in
    thirty) are joined in the tree; to rewrite all of them takes as long as to render the page.
    """
    from turbohtml import Markdown  # noqa: PLC0415 - with the parser

    if not _BASE.match(base):
        return Markdown()
    for element in main.select(_ELSEWHERE):
        _join(element, "href", base)
    for element in main.find_all("img"):
        _join(element, "src", base)
    return Markdown(links=Markdown.Links(base_url=whatwg(".", base) or ""))


def _join(element: "Element", attribute: str, base: str) -> None:
    said = element.attr(attribute)
    joined = whatwg(said, base) if said is not None else None
    if joined is not None:
        element.attrs[attribute] = joined
