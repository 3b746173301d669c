"""Items: what rules find on stored pages; and one page in hand, with its tree."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from gossamer.api.crawls import OpenCrawl, run
from gossamer.config import Config
from gossamer.errors import ConfigError

if TYPE_CHECKING:
    from turbohtml import Document as Tree
    from turbohtml import Element

    from gossamer.model import Link
    from gossamer.process import ItemRules, TextKind
    from gossamer.report import Page, Why
    from gossamer.tables import ItemStream


def extract_items(
    folder: Path | str,
    rules: "Path | str | ItemRules",
    *,
    url: str | Iterable[str] = (),
    limit: int = 0,
) -> "ItemStream":
    """Return what rules find on the stored pages of a crawl: an iterator that counts along.

    `rules` is a TOML file, or rules that were read. `url`: only pages that these patterns name
    (as `--allow` has them). `limit`: only so many items; 0: all. Each page is read as of its last
    visit; nothing is fetched.
    """
    from gossamer.process import ItemRules, read_item_rules
    from gossamer.tables import ItemStream

    if limit < 0:
        raise ConfigError(f"limit: expected 0 or more, found {limit}")
    read = rules if isinstance(rules, ItemRules) else read_item_rules(rules)
    patterns = (url,) if isinstance(url, str) else tuple(url)
    return ItemStream(Path(folder), read, url=patterns, limit=limit)


class ParsedPage(Struct, frozen=True):
    """A stored page with its tree, for looking at it by hand."""

    page: "Page"
    tree: Any
    """A `turbohtml.Document`: `select`, `select_one`, `xpath`, `find_all`; the page as HTML."""
    links: "list[Link]"
    """Its links, absolute and in canonical form."""
    text: str
    """The text that was extracted when it was stored."""

    def css(self, selector: str) -> "list[Element]":
        """Return the elements that a CSS selector names."""
        tree: Tree = self.tree
        return tree.select(selector)

    def xpath(self, expression: str) -> Any:  # noqa: ANN401 -- elements, texts or a number
        """Return what an XPath expression gives: elements, texts, a number, a truth value."""
        tree: Tree = self.tree
        return tree.xpath(expression)

    def markdown(self) -> str:
        """Return the main content as Markdown."""
        return self._rendered("markdown")

    def main(self) -> str:
        """Return the main content as plain text."""
        return self._rendered("main")

    def _rendered(self, kind: "TextKind") -> str:
        from gossamer.process import page_text

        page = self.page
        body, charset = page.body(), charset_of(page)
        return page_text(
            kind,
            body,
            media_type=page.media_type,
            charset=charset,
            plain=self.text,
            url=page.url,
        )


def parsed_page(page: "Page") -> ParsedPage:
    """Return a stored page with its tree; of one of more than 2 MiB that of its start."""
    from gossamer.process import page_tree, tree_links

    tree = page_tree(page.body(), charset_of(page))
    return ParsedPage(page, tree, tree_links(tree, page.url), page.text())


def fetch_page(url: str, into: Path | str, *, allow_net: Sequence[str] = ()) -> "ParsedPage | Why":
    """Fetch one page as a crawl does it: robots.txt, address guard and limits; or say why not.

    Redirects are followed. `into` is a new folder, which has then a crawl of this one page.
    """
    run(
        [url],
        into,
        config=Config(),
        max_pages=1,
        max_depth=0,
        scope="any",
        sitemaps=False,
        shards=1,
        allow_net=allow_net,
    )
    crawl = OpenCrawl(into)
    page = next(crawl.pages(), None)
    return crawl.why(url) if page is None else parsed_page(page)


def charset_of(page: "Page") -> str:
    """Return the charset that the server declared; "" if it did not."""
    found = _CHARSET.search(page.header("content-type"))
    return found[1].lower() if found is not None else ""


_CHARSET = re.compile("charset\\s*=\\s*[\"']?([\\w.:-]+)", re.IGNORECASE)
