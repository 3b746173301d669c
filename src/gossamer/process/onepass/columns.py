"""The links of a page as columns: joined by one kernel, written as rows of JSON by another."""

from array import array
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

from gossamer.model import EMBEDDED, LINK_KINDS, LinkArrays, LinkColumns, Url, code_of
from gossamer.native import FREE
from gossamer.process.api import (
    FRAGMENT_CHARS,
    MAX_HREF_CHARS,
    MAX_LINKS_CHARS,
    RawLink,
    Tools,
    placed_links,
)
from gossamer.process.onepass import numbers
from gossamer.process.onepass.loading import Workspace
from gossamer.process.onepass.page import LOOK, AnchorRows, FlatPage
from gossamer.process.onepass.row_kernels import KIND_ROOM
from gossamer.urls import FEW

_REFERENCE: Final = numbers.REFERENCE
_ALWAYS_FIT: Final = 1_000
"""So many links may be joined to a base of any length (`Tools.links`)."""
_START_BYTES: Final = 1_000
"""Of a reference: more than any origin has."""


@cache
def _kind_names() -> bytes:
    names = bytearray()
    for kind in LINK_KINDS:
        name = kind.value.encode()
        names += name + bytes(KIND_ROOM - 1 - len(name)) + bytes([len(name)])
    return bytes(names)


_PARTS: Final = sum(1 << code for code, kind in enumerate(LINK_KINDS) if kind in EMBEDDED)


class Written(NamedTuple):
    """How much of a workspace is taken by references, and by their letters."""

    total: int
    href_bytes: int
    text_bytes: int
    rel_bytes: int


def link_columns(
    page: FlatPage, base: Url, anchors: AnchorRows, others: Sequence[RawLink], tools: Tools
) -> LinkColumns | None:
    """Return the links of a page; None if they are to be made one by one.

    `anchors` are in the page's workspace; others follow them.
    """
    work = page.work
    start = Written(anchors.total, anchors.href_bytes, anchors.text_bytes, anchors.rel_bytes)
    written = _amended(page, start, anchors) if anchors.looks else start
    if written is not None and others:
        written = _put(work, written, others)
    if written is None or written.total > tools.process.max_links:
        return None
    chars = written.href_bytes + written.total * len(base.text)
    if written.total > _ALWAYS_FIT and chars > MAX_LINKS_CHARS:
        return None
    return _joined(work, base, written.total, tools)


def _amended(page: FlatPage, written: Written, anchors: AnchorRows) -> Written | None:
    """Put right what the kernel does not know of links: texts, capital letters, scripts."""
    work = page.work
    rows, text_end, rel_end = work.references.view, written.text_bytes, written.rel_bytes
    for place in anchors.places(LOOK):
        text = page.looked_up(work.kept.view[place * numbers.KEPT]).encode()
        row = place * _REFERENCE
        if text_end + len(text) >= work.text.room:
            return None
        work.text.view[text_end : text_end + len(text)] = text
        rows[row + 3], rows[row + 4] = text_end, len(text)
        text_end += len(text)
    for place in anchors.places(numbers.REL_WIDE):
        row = place * _REFERENCE
        at, size = rows[row + 5], rows[row + 6]
        rel = work.rels.view[at : at + size].decode().lower().encode()
        if rel_end + len(rel) >= work.rels.room:
            return None
        work.rels.view[rel_end : rel_end + len(rel)] = rel
        rows[row + 5], rows[row + 6] = rel_end, len(rel)
        rel_end += len(rel)
    return written._replace(text_bytes=text_end, rel_bytes=rel_end)


def _put(work: Workspace, written: Written, links: Sequence[RawLink]) -> Written | None:
    """Write links behind those that are in a workspace; None if there is no room for them."""
    count, href_end, text_end, rel_end = written
    at, said, named = href_end, text_end, rel_end
    hrefs: list[bytes] = []
    texts: list[bytes] = []
    rels: list[bytes] = []
    rows: list[int] = []
    for href, kind, text, rel, line, fragment in placed_links(links):
        page, behind = href, fragment
        if "#" in href:
            page, _, behind = href.partition("#")
        letters, words, names = page.encode(), text.encode(), rel.encode()
        size, text_size, rel_size, more = len(letters), len(words), len(names), b""
        hrefs.append(letters)
        if behind:
            more = behind.encode()
            hrefs.append(b"#%b" % more)
        texts.append(words)
        rels.append(names)
        rows += (at, size, code_of(kind), said, text_size, named, rel_size, line, len(more))
        at += size + (1 + len(more) if behind else 0)
        said += text_size
        named += rel_size
    end = Written(count + len(links), at, said, named)
    has_room = (
        end.href_bytes < work.hrefs.room
        and end.text_bytes < work.text.room
        and end.rel_bytes < work.rels.room
        and end.total <= work.most_rows
    )
    if not has_room:
        return None
    work.hrefs.view[href_end : end.href_bytes] = b"".join(hrefs)
    work.text.view[text_end : end.text_bytes] = b"".join(texts)
    work.rels.view[rel_end : end.rel_bytes] = b"".join(rels)
    work.references.view[count * _REFERENCE : end.total * _REFERENCE] = array("q", rows)
    return end


def _joined(work: Workspace, base: Url, count: int, tools: Tools) -> LinkColumns | None:
    joiner, hrefs = work.links.joiner, work.hrefs.view
    given = (base, work.hrefs, work.references, count, _REFERENCE)
    left = joiner.join(*given)
    if left is not None and len(left) > FEW:
        starts = (hrefs[at : at + min(size, _START_BYTES)] for _, at, size in left)
        written = (start.decode(errors="replace") for start in starts)
        if joiner.learn_from(base, written, tools.urls):
            left = joiner.join(*given)
    if left is None:
        return None
    for place, at, size in left:
        href = hrefs[at : at + size].decode()
        fits = len(href) <= MAX_HREF_CHARS
        if not joiner.put(place, joiner.ask(base, href, tools.urls) if fits else None):
            return None
    slots = 1 << max((2 * count).bit_length(), 6)
    if slots > len(work.table.view):
        return None
    links, out = work.links, work.out.view
    kept = work.kernel("write_rows", _for_rows)(count, slots - 1)
    if kept < 0:
        return None
    size, page_bytes, fragments = out[:3].tolist()
    keys = array("Q", links.keys.view[:kept].tobytes())
    return LinkColumns(
        LinkArrays(
            rows=links.rows.view[:size],
            ends=memoryview(links.ends.view[: 2 * kept].tobytes()).cast("q"),
            kinds=links.kinds.view[:kept],
            keys=keys.tolist(),
            origins=links.origins.view[:kept].tolist(),
            places=joiner.places,
            lines=links.lines.view[:kept].tolist(),
            fragments=_fragments(work, fragments),
            pages=links.pages.view[:page_bytes],
        )
    )


def _for_rows(work: Workspace) -> Sequence[object]:
    links = work.links
    return (
        *(work.text, work.rels, work.references, FREE, links.joiner.columns, links.joiner.targets),
        *(_kind_names(), _PARTS, work.table, FREE, links.rows, links.rows.room, links.pages),
        *(links.ends, links.kinds, links.keys, links.origins, links.lines, work.kept, work.out),
    )


def _fragments(work: Workspace, count: int) -> dict[int, str]:
    """Return the fragments of links that are kept, by their places."""
    found: dict[int, str] = {}
    kept = iter(work.kept.view[: 2 * count].tolist())
    rows, hrefs = work.references.view, work.hrefs.view
    for reference, place in zip(kept, kept, strict=True):
        row = reference * _REFERENCE
        start = rows[row] + rows[row + 1] + 1
        found[place] = hrefs[start : start + rows[row + 8]].decode()[:FRAGMENT_CHARS]
    return found
