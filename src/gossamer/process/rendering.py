"""The text of a stored page in the form that an export asks for.

plain     the text that was extracted when the page was stored
main      plain text of the main content, without navigation, headers, footers and small print
markdown  the main content as Markdown: headings, lists, tables, code, links
html      the source as text, decoded as the crawl decoded it
"""

from contextlib import suppress
from typing import TYPE_CHECKING, Literal, TypeAlias

from gossamer.process.detect import clean, decode

if TYPE_CHECKING:
    from turbohtml import Document as Tree

TextKind: TypeAlias = Literal["plain", "markdown", "main", "html"]
TEXT_KINDS: tuple[TextKind, ...] = ("plain", "markdown", "main", "html")
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
MAX_TREE_BYTES = 2 * 1024 * 1024
"""Of a page that is parsed here: a tree takes up to 100 times its page. Of a larger one the text
that was extracted is given, which a process that can be killed has made."""


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
    from gossamer.process.html import parsed  # noqa: PLC0415 - the parser, only when it is needed

    return clean(_rendered(parsed(body, charset), kind, url))[:max_chars]


def _rendered(tree: "Tree", kind: TextKind, url: str) -> str:
    main = tree.main_content() or tree
    if kind == "main":
        return main.to_text()
    with suppress(ValueError):
        main.resolve_links(tree.base_url(url))
    return main.to_markdown()
