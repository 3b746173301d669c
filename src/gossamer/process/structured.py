"""Structured data that a page carries: JSON-LD, microdata, OpenGraph.

What is broken is left out, and so is what is too large: one bad block costs nothing but itself.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from gossamer.process.detect import clean

if TYPE_CHECKING:
    from turbohtml import Document as Tree
    from turbohtml import MicrodataItem

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
MAX_CHARS = 200_000
"""Of all structured data of a page, as JSON."""
_MOST_ITEMS = 1_000
_MOST_DEPTH = 16


def structured_data(
    tree: "Tree", url: str = "", max_chars: int = MAX_CHARS
) -> dict[str, JsonValue]:
    """Return what a page says of itself for machines; only the parts that it has.

    `json_ld` is a list of its blocks; `microdata` one of items with type, id and properties, each
    of which is a list; `opengraph` has names without their og:. Addresses are absolute, given a
    URL, but for those in JSON-LD, which are as written.
    """
    base = url or None
    found: dict[str, JsonValue] = {}
    room = max_chars
    for name, values in (("json_ld", _json_ld(tree)), ("microdata", _microdata(tree, base))):
        kept: list[JsonValue] = []
        for value in values:
            size = _size(value)
            if size <= room:
                room -= size
                kept.append(value)
        if kept:
            found[name] = kept
    graph = _opengraph(tree, base)
    if graph and _size(graph) <= room:
        found["opengraph"] = {**graph}
    return found


def structured_json(
    body: bytes, *, media_type: str = "text/html", charset: str = "", url: str = ""
) -> str:
    """Return the structured data of a page as JSON; "" if it has none, or is no HTML."""
    from gossamer.process.html import parsed  # noqa: PLC0415 - the parser, only when it is needed
    from gossamer.process.rendering import HTML_TYPES, MAX_TREE_BYTES  # noqa: PLC0415 - so

    if media_type not in HTML_TYPES or not _may_have(body):
        return ""
    found = structured_data(parsed(body[:MAX_TREE_BYTES], charset, has_lines=False), url)
    return msgspec.json.encode(found).decode() if found else ""


def _may_have(body: bytes) -> bool:
    """Return False if a page cannot have any: it is not parsed then. (UTF-16 always may.)"""
    return b"ld+json" in body or b"itemscope" in body or b"og:" in body or b"\0" in body[:64]


def _json_ld(tree: "Tree") -> Iterator[Any]:
    with suppress(ValueError, RecursionError):
        yield from tree.json_ld()[:_MOST_ITEMS]


def _microdata(tree: "Tree", base: str | None) -> Iterator[dict[str, Any]]:
    with suppress(ValueError, RecursionError):
        for item in tree.microdata(base)[:_MOST_ITEMS]:
            yield _item(item, 0)


def _item(item: "MicrodataItem", depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {"type": item.type} if item.type else {}
    if item.id:
        found["id"] = item.id
    found["properties"] = {
        clean(name): [
            clean(value) if isinstance(value, str) else _item(value, depth + 1)
            for value in values[:_MOST_ITEMS]
            if isinstance(value, str) or depth < _MOST_DEPTH
        ]
        for name, values in item.properties.items()
    }
    return found


def _opengraph(tree: "Tree", base: str | None) -> dict[str, str]:
    try:
        return {clean(name): clean(value) for name, value in tree.opengraph(base).items()}
    except ValueError:
        return {clean(name): clean(value) for name, value in tree.opengraph().items()}


def _size(value: object) -> int:
    """Return how long a value is as JSON; more than there is room for if it cannot be written."""
    try:
        return len(msgspec.json.encode(value))
    except (msgspec.MsgspecError, RecursionError, OverflowError, UnicodeError, TypeError):
        return 1 << 62
