"""Main content: a page's tree without what a site puts around its content (ADR 63).

Authors mark most of it themselves: <main> and <nav>, ARIA roles, and classes that say navbar,
footer or sidebar. What is left of menus shows by its links: blocks at the start and at the end that
are made of nothing else. Last come lines of small print. No step walks the tree in Python.
"""

import re
from functools import lru_cache

from turbohtml import Document as Tree
from turbohtml import Element, Node

_AROUND = ("nav", "footer", "aside", "noscript", "button", "select", "textarea", "dialog")
_AROUND_ROLES = frozenset(
    {
        *("navigation", "banner", "contentinfo", "complementary"),
        *("search", "dialog", "alertdialog"),
    }
)
_NAMED = ("div", "ul", "table")
"""Blocks whose class and id are read, by tag, which is a lookup: of two elements in three that have
a class it colours a word of code. The id of a section is that of its heading."""
_PARTS = (
    "breadcrumb copyright cookie consent footer masthead navbar navfoot navhead navig nextprev"
    " newsletter pagination paginator prevnext sidebar sidenav skiplink sitemap topnav leftnav"
    " rightnav navlinks navlist catlinks printfooter sharing subscribe toplang bottomlang"
)
"""What the class or id of a block has in it, wherever in it, that is not content."""
_WORDS = (
    "ad ads advert advertisement banner crumbs foot menu nav outdated pager promo related share"
    " skip social sponsor sponsored toolbar widget widgets"
)
"""What it has as a word of its own."""
_AROUND_PARTS, _AROUND_WORDS = tuple(_PARTS.split()), frozenset(_WORDS.split())
_WORD = re.compile(r"[A-Z]?[a-z]+")
_ID_WORDS = 3
_KNOWN_NAMES, _NAME_CHARS = 10_000, 200
_MOST_SIZES = 200
"""Parts of a page whose text is measured: of a page made of nested menus that costs a square."""
_HEADERS = 20
_MOST_SHARE = 0.4
"""What holds more of a page's text than this is content, whatever it is called."""
_FEW_CHARS = 200
_EDGE_LINKS = 48
"""Links that are looked at from the start of a page, and from its end."""
_LINK_SHARE = 0.6
_INDEX_SHARE = 0.4
_MOST_LINKS = 100
_MANY_CHARS = 1_000
_CLIMB = 12
_STEP = "(?:prev(?:ious)?|up|next|home|top|back|contents|index)"
_SMALL_PRINT = re.compile(
    r"[\W_]*(?:©|\(c\) |copyright\b|all rights reserved|retrieved from|licensed under|skip to\b|"
    r"last (?:updated?|modified|revised|changed)|this page (?:was )?(?:last|is licensed)|"
    r"(?:created|made|built|generated|powered|hosted) (?:using|with|by|on)\b|(?:log|sign) in to\b|"
    r"[^.]{0,80}\buses? cookies|javascript is disabled|"
    rf"{_STEP}(?:\W+{_STEP}){{0,4}}\W*$)",
    re.IGNORECASE,
)
_MARK = re.compile(r"\[¶\]\([^()\s]*(?: \"[^\"\n]*\")?\)")
_SMALL_CHARS, _SMALL_LINES = 400, 8


def main_content(tree: Tree, text_chars: int, *, is_marked: bool = True) -> Node:
    """Return the part of a tree that is content, with the rest taken out of it.

    `text_chars` is the size of all its text without blanks: a part that has most of it is not taken
    away. `is_marked`: believe the author's <main> or <article>.
    """
    roles = tree.select("[role]")
    root = _marked(tree, roles) if is_marked else tree
    sizes = _Sizes(text_chars)
    around = [element for tag in _AROUND for element in root.find_all(tag)]
    if root is tree:
        around += [one for one in root.find_all("header")[:_HEADERS] if not one.find_all("h1")]
    around += [element for element in roles if element.attr("role") in _AROUND_ROLES]
    for element in around:
        if not sizes.is_most(element):
            element.decompose()
    for tag in _NAMED:
        for element in root.find_all(tag):
            said, mark = element.attr("class"), element.attr("id")
            is_around = (said and _is_around_class(said)) or (mark and _is_around_id(mark))
            if is_around and not sizes.is_most(element):
                element.decompose()
    if root is tree:
        _trim(tree, sizes)
    return root


def without_small_print(text: str) -> str:
    """Return a text without lines of small print at its start and its end."""
    text = text.strip()
    for _ in range(_SMALL_LINES):
        line = text[text.rfind("\n") + 1 :]
        if len(line) > _SMALL_CHARS or not _SMALL_PRINT.match(line):
            break
        text = text[: len(text) - len(line)].rstrip()
    for _ in range(_SMALL_LINES):
        line = text.partition("\n")[0] if "\n" in text[: _SMALL_CHARS + 1] else ""
        if not line or not _SMALL_PRINT.match(line):
            break
        text = text[len(line) :].lstrip("\n")
    return text


def without_marks(text: str) -> str:
    """Return a text without the signs that documentation puts behind headings, as links to them."""
    if "\N{PILCROW SIGN}" not in text:
        return text
    return _MARK.sub("\N{PILCROW SIGN}", text).replace("\N{PILCROW SIGN}\n", "\n")


def _marked(tree: Tree, roles: list[Element]) -> Node:
    """Return what the author marked as the main part; the whole tree if there is no such part."""
    found = tree.find_all("main") or [one for one in roles if one.attr("role") == "main"]
    if len(found) != 1:
        found = tree.find_all("article")
    return found[0] if len(found) == 1 else tree


class _Sizes:
    """How large parts of a page are. Each answer may walk the whole tree, so it gives only some."""

    def __init__(self, text_chars: int) -> None:
        self.text_chars = text_chars
        self._left = _MOST_SIZES
        self._shares: dict[Node, float] = {}
        self._lists: dict[Node, bool] = {}

    def is_most(self, element: Element) -> bool:
        """Return True if a part has most of a page's text, and is no menu beside a text."""
        self._left -= 1
        if self._left < 0:
            return True
        chars = solid_chars(element.text)
        if chars <= max(_MOST_SHARE * self.text_chars, _FEW_CHARS):
            return False
        return self.text_chars - chars < _MANY_CHARS or _link_share(element, chars) < _LINK_SHARE

    def link_share(self, element: Element) -> float:
        """Return how much of the text of a part is in links; 0 for one that has most of it."""
        share = self._shares.get(element)
        if share is None:
            self._left -= 1
            chars = solid_chars(element.text) if self._left >= 0 else self.text_chars
            is_small = self._left >= 0 and chars <= _MOST_SHARE * self.text_chars
            share = self._shares[element] = _link_share(element, chars) if is_small else 0.0
        return share

    def has_links(self, element: Element) -> bool:
        """Return True if a part has more than one link."""
        found = self._lists.get(element)
        if found is None:
            found = self._lists[element] = len(element.select("a[href]")) > 1
        return found


@lru_cache(_KNOWN_NAMES)
def _is_around_class(name: str) -> bool:
    """Return True if a class names what is around content."""
    return _names_around(_words(name))


@lru_cache(_KNOWN_NAMES)
def _is_around_id(name: str) -> bool:
    """Return True if an id names what is around content: that of a heading is the heading."""
    words = _words(name)
    return len(words) <= _ID_WORDS and _names_around(words)


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name[:_NAME_CHARS])]


def _names_around(words: list[str]) -> bool:
    return not _AROUND_WORDS.isdisjoint(words) or any(
        part in word for word in words for part in _AROUND_PARTS
    )


def _trim(tree: Tree, sizes: _Sizes) -> None:
    """Take blocks of links off the start and the end of a page, unless it is a list of links."""
    links = tree.find_all("a")
    some = links[:: len(links) // _MOST_LINKS + 1]
    inside = sum([len(link.text) for link in some]) * len(links)
    if inside > _INDEX_SHARE * sizes.text_chars * len(some):
        return
    for edge in (links[:_EDGE_LINKS], links[: -_EDGE_LINKS - 1 : -1]):
        found: list[Node] = []
        for link in edge:
            block = _link_block(link, sizes)
            if block is None:
                break
            if not found or block != found[-1]:
                found.append(block)
        for block in found:
            block.decompose()


def _link_block(link: Element, sizes: _Sizes) -> Node | None:
    """Return the largest block around a link that is made of links; None if there is none."""
    best: Node | None = None
    node: Node | None = link.parent
    for _ in range(_CLIMB):
        if not isinstance(node, Element) or node.tag in {"body", "html"}:
            break
        if sizes.link_share(node) < _LINK_SHARE:
            break
        if node.tag in _CONTAINERS and sizes.has_links(node):
            best = node
        node = node.parent
    return best


_CONTAINERS = frozenset({"div", "section", "ul", "ol", "table", "td", "center", "font", "p"})


def _link_share(node: Element, chars: int) -> float:
    """Return how much of the text of a part is in links; `chars` is how long it is."""
    links = node.select("a[href]")
    some = links[:: len(links) // _MOST_LINKS + 1]
    inside = sum([len(link.text) for link in some]) * len(links) / max(len(some), 1)
    return inside / max(chars, 1)


def solid_chars(text: str) -> int:
    """Return how many characters a text has apart from blanks."""
    return len(text) - text.count(" ")
