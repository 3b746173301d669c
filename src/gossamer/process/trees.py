"""The tree of a stored page, for those who ask it by selectors."""

from typing import TYPE_CHECKING

from gossamer.config import ProcessConfig, UrlConfig
from gossamer.model import Link
from gossamer.process.api import Tools
from gossamer.process.rendering import MAX_TREE_BYTES

if TYPE_CHECKING:
    from turbohtml import Document as Tree


def page_tree(body: bytes, charset: str = "") -> "Tree":
    """Return the tree of a page, read as HTML; of one of more than 2 MiB, that of its start.

    `charset` is what the server declared, "" if nothing.
    """
    from gossamer.process.html import parsed  # noqa: PLC0415 - the parser, only when it is needed

    return parsed(body[:MAX_TREE_BYTES], charset)


def tree_links(tree: "Tree", url: str) -> list[Link]:
    """Return the links of a page, absolute and in canonical form, each target once per kind."""
    from gossamer.process.html_links import links_of  # noqa: PLC0415 - with the parser

    tools = Tools(urls=UrlConfig(), process=ProcessConfig(), robots_agent="")
    return tools.links(tree.base_url(url), links_of(tree))
