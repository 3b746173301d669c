"""The text of a stored page in the form that an export asks for.

plain     the text that was extracted when the page was stored
main      plain text of the main content, without navigation, headers, footers and small print
markdown  the main content as Markdown: headings, lists, tables, code, links
html      the source as text, decoded as the crawl decoded it
"""

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from gossamer.process.detect import clean, decode
from gossamer.urls import whatwg

if TYPE_CHECKING:
    from turbohtml import Document as Tree
    from turbohtml import Markdown, Node

TextKind: TypeAlias = Literal["plain", "markdown", "main", "html"]
TEXT_KINDS: tuple[TextKind, ...] = ("plain", "markdown", "main", "html")
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
MAX_TREE_BYTES = 2 * 1024 * 1024
"""Of a page that is parsed here: a tree takes up to 100 times its page. Of a larger one the text
that was extracted is given, which a process that can be killed has made."""
_BASE = re.compile("https?://")
_NOT_BELOW = frozenset({"/", ".", "?", ")"})
_RELATIVE = re.compile(r"//|/|\?|(?:\.{1,2}/)+|")
"""How a reference begins that leads elsewhere: //host, /path, ?query, ../ and ./, or not at all."""
_EDIT_LINKS = "span.mw-editsection"
_FOLDERS = 256
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

    text = ""
    for is_marked in (True, False):
        tree = parsed(body, charset, has_lines=False)
        if not plain:
            plain = tree.text
        text = _written(tree, kind, url, plain, is_marked=is_marked)
        if len(text) > min(_FEW_CHARS, _LEAST_SHARE * len(plain)):
            break
    return clean(text)


def _written(tree: "Tree", kind: TextKind, url: str, plain: str, *, is_marked: bool) -> str:
    from gossamer.process import main_content as content  # noqa: PLC0415 - with the parser

    base = tree.base_url(url) if tree.find_all("base") else url  # the first takes 40 us
    if "[edit" in plain:
        tree.remove(_EDIT_LINKS)
    main = content.main_content(tree, content.solid_chars(plain), is_marked=is_marked)
    text = main.to_text() if kind == "main" else _markdown(main, base)
    return content.without_small_print(content.without_marks(text))


def _markdown(main: "Node", base: str) -> str:
    """Return a part of a page as Markdown with absolute links.

    The renderer puts the folder of the page before every relative reference. Where that is wrong,
    it is put right in the text: to join all links in the tree takes as long as to render it.
    """
    folder = (whatwg(".", base) or "") if _BASE.match(base) else ""
    text = main.to_markdown(_below(folder))
    return _put_right(text, folder, base) if folder else text


def _put_right(text: str, folder: str, base: str) -> str:
    """Return a text with the references joined that the renderer has put behind a folder."""
    below = f"]({folder}"
    before, *behind = text.split(below)
    parts, known = [before], dict[str, str]()
    for rest in behind:
        if rest[:1] not in _NOT_BELOW:
            parts += (below, rest)
            continue
        found = _RELATIVE.match(rest)
        said = found[0] if found is not None else ""
        if not said and rest[0] == ".":  # a name that begins so
            parts += (below, rest)
            continue
        start = known.get(said)
        if start is None:
            start = known[said] = f"]({_joined(said, folder, base)}"
        parts += (start, rest[len(said) :])
    return "".join(parts)


def _joined(said: str, folder: str, base: str) -> str:
    """Return what stands for the beginning of a reference that leads elsewhere than below."""
    scheme, _, rest = folder.partition("//")
    host, _, path = rest.partition("/")
    match said:
        case "":
            return base.partition("#")[0]
        case "//":
            return f"{scheme}//"
        case "/":
            return f"{scheme}//{host}/"
        case "?":
            return f"{base.partition('#')[0].partition('?')[0]}?"
        case steps:
            parents, ups = path.split("/")[:-1], steps.count("../")
            return f"{scheme}//{host}/{'/'.join((*parents[: max(len(parents) - ups, 0)], ''))}"


@lru_cache(_FOLDERS)
def _below(folder: str) -> "Markdown":
    from turbohtml import Markdown  # noqa: PLC0415 - with the parser

    return Markdown(links=Markdown.Links(base_url=folder))
