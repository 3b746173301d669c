"""Captions of pictures: what the <figcaption> of a figure says, by the URLs of its pictures."""

from collections.abc import Iterator
from itertools import islice

from turbohtml import Document as Tree
from turbohtml import Element

from gossamer.model import Url
from gossamer.process.api import Tools
from gossamer.urls import join_all

MOST_CAPTIONS = 100
CAPTION_CHARS = 300
_NODES = 200
"""Of a figure that are looked at."""
_ABOVE = 4
"""A caption stands so many elements below its figure, at most."""


def captions_of(tree: Tree, base: Url, tools: Tools) -> dict[str, str]:
    """Return the captions of a page's pictures, by URL; the first of several holds."""
    found: list[tuple[str, str]] = []
    for element in islice(tree.find_all("figcaption"), MOST_CAPTIONS):
        said = " ".join(element.text[: 4 * CAPTION_CHARS].split())[:CAPTION_CHARS]
        figure = _figure_of(element)
        if said and figure is not None:
            found += [(source, said) for source in _sources(figure)]
    urls = join_all(base, [source for source, _ in found], tools.urls)
    captions: dict[str, str] = {}
    for url, (_, said) in zip(urls, found, strict=True):
        if url is not None and len(captions) < MOST_CAPTIONS:
            captions.setdefault(url.text, said)
    return captions


def _figure_of(element: Element) -> Element | None:
    above = element.parent
    for _ in range(_ABOVE):
        if not isinstance(above, Element):
            return None
        if above.tag == "figure":
            return above
        above = above.parent
    return None


def _sources(figure: Element) -> Iterator[str]:
    for node in islice(figure.descendants, _NODES):
        if isinstance(node, Element) and node.tag == "img":
            source = node.attr("src") or node.attr("data-src") or ""
            if source and not source.startswith("data:"):
                yield source
