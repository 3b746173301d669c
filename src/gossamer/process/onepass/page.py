"""A page as rows instead of a tree: the Python side of `outline_kernels` and `text_kernels`.

`read_page` returns None for a page that only the tree can tell. What it returns answers the few
questions that the reader of HTML asks of a tree (`find_all`, `select`, `attr`), so that one code
reads both. A workspace of arrays serves one page at a time, and is lent to one thread at a time.
"""

import html.entities
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple, TypeAlias

from turbohtml import Namespace, parse
from turbohtml import Node as TreeNode

from gossamer.model import LinkKind, code_of
from gossamer.native import FREE
from gossamer.process.html_links import TEXT_CHARS, TEXT_NODES
from gossamer.process.labels import AD_BLOCKS, is_ad_id, is_ad_name
from gossamer.process.onepass import numbers, vocabulary
from gossamer.process.onepass.loading import Workspace, loader, natives

MOST_BYTES: Final = 8 * 1024 * 1024
"""Larger pages are read by the tree."""
ROW: Final = numbers.ROW
_WORD_BYTES: Final = 8
_NAME_SLOTS: Final = 512
_REFERENCE_SLOTS: Final = 8192
_HASH_MASK: Final = numbers.FROM_HASH
_NAMES: Final = vocabulary.TAGS
_TAG: Final = vocabulary.TAG_NUMBERS
_ATTRIBUTES: Final = vocabulary.ATTRIBUTES
_LISTS: Final = {"archive"}
"""Attributes that a tree tells as lists of words, of those that make links."""
_DOCTYPE: Final = re.compile(
    rb"\s*+(?:<!--.{0,4000}?-->\s*+|<\?[^>]{0,400}+>\s*+){0,9}+(<!doctype[^>]{0,400}+>)",
    re.IGNORECASE | re.DOTALL,
)
_MARK_BIT: Final = numbers.MARK_BIT
_MOST_MARKS: Final = 5
_T_A, _T_FIGURE = _TAG["a"], _TAG["figure"]
_FOREIGN: Final = numbers.FOREIGN


def _key(name: bytes) -> int:
    """Return by what a name is found: itself as a word if it is short, or its hash."""
    return int.from_bytes(name, "little") if len(name) < numbers.LONG_NAME else _hash(name)


def _hash(name: bytes) -> int:
    found = 0
    for letter in name:
        found = (found * 33 + letter) & _HASH_MASK
    return found


class _Names(NamedTuple):
    """A hash table for a kernel: slots, and the letters that they point to."""

    slots: bytes
    letters: bytes


def _names_of(names: Sequence[str]) -> _Names:
    slots = array("q", bytes(_WORD_BYTES * 4 * _NAME_SLOTS))
    letters = bytearray()
    for number, name in enumerate(names):
        if name:
            written = name.encode()
            key = h = _key(written)
            if len(written) < numbers.LONG_NAME:
                h = (key * numbers.WORD_FACTOR >> 16) & _HASH_MASK
            place = (h ^ (h >> 9)) % _NAME_SLOTS
            while slots[place * 4 + 3]:
                place = (place + 1) % _NAME_SLOTS
            slots[place * 4 : place * 4 + 4] = array("q", [key, number, len(letters), len(written)])
            letters += written
    return _Names(slots.tobytes(), bytes(letters))


def _references() -> _Names:
    slots = array("q", bytes(_WORD_BYTES * 3 * _REFERENCE_SLOTS))
    letters = bytearray()
    for name, meaning in html.entities.html5.items():
        h, written = _hash(name.encode()), meaning.encode()
        place = (h ^ (h >> 12)) % _REFERENCE_SLOTS
        while slots[place * 3]:
            place = (place + 1) % _REFERENCE_SLOTS
        slots[place * 3 : place * 3 + 3] = array("q", [h, len(letters), len(written)])
        letters += written
    return _Names(slots.tobytes(), bytes(letters))


class _Tables(NamedTuple):
    """What the kernels look up."""

    tags: _Names
    attributes: _Names
    references: _Names
    properties: bytes
    wanted: bytes


@cache
def _tables() -> _Tables:
    return _Tables(
        _names_of(_NAMES),
        _names_of(_ATTRIBUTES),
        _references(),
        array("q", vocabulary.properties()).tobytes(),
        array("q", vocabulary.wanted()).tobytes(),
    )


class _Doctype(NamedTuple):
    """What a doctype says."""

    quirks: int
    nodes: tuple[TreeNode, ...]


@lru_cache(256)
def _doctype(source: bytes) -> _Doctype:
    tree = parse(source + b"<p><table>", encoding="utf-8")
    is_quirky = bool(tree.select("p table"))
    return _Doctype(int(is_quirky), tuple(node for node in tree.children)[:1])


Attributes: TypeAlias = dict[str, str | list[str] | None]


class _Said(NamedTuple):
    """What a start tag says."""

    attrs: Attributes
    attr: Callable[[str], str | None]
    """Returns the value of an attribute as one text."""


_SAYS_NOTHING: Final = _Said({}, dict[str, str]().get)
_REMEMBERED_TAGS, _REMEMBERED_BYTES = 4096, 400
_attributes: dict[tuple[int, bytes], _Said] = {}
"""Of elements by number and start tag: the pages of a site have most of their heads in common."""


class PageElement:
    """An element of a page that is told: those of some names, and those with some attributes."""

    __slots__ = ("_page", "attr", "attrs", "event", "source_line", "tag")

    def __init__(self, page: "FlatPage", tag: str, event: int, line: int, said: _Said) -> None:
        self._page = page
        self.tag = tag
        self.event = event
        self.source_line = line
        self.attrs, self.attr = said

    @property
    def namespace(self) -> Namespace:
        """Return whether it is one of HTML or of SVG."""
        return Namespace.SVG if self._page.is_foreign(self.event) else Namespace.HTML

    @property
    def text(self) -> str:
        """Return all text inside of the element."""
        return self._page.text_of(self.event)

    def find_all(self, tag: str) -> "list[PageElement]":
        """Return the elements of a name inside of this one."""
        end = self._page.end_of(self.event)
        return [one for one in self._page.find_all(tag) if self.event < one.event < end]


def _names_ad(element: PageElement) -> bool:
    """Return True if a block is selected by class or id; some that name no ad are not told.

    Whether a name that is not told selects a block that the other makes an ad, only a tree knows.
    """
    name, own = element.attr("class") or "", element.attr("id") or ""
    if "ad" in name or "spons" in name or "ad" in own:
        return True
    if is_ad_name(name) or is_ad_id(own):
        raise UnicodeError
    return False


class PageAnchors(NamedTuple):
    """The links that a reader can click on, as columns."""

    events: list[int]
    hrefs: list[str]
    """As written, with the fragment."""
    texts: list[str]
    rels: list[str]
    lines: list[int]
    looks: frozenset[int]
    """Places of those whose text has to be looked at."""


LOOK: Final = 1


class AnchorRows(NamedTuple):
    """Links that a reader can click on, as rows in a workspace."""

    total: int
    href_bytes: int
    text_bytes: int
    rel_bytes: int
    looks: list[int]
    """What is to be done about each; empty if nothing is."""
    is_partial: bool = False
    """Every link has to be asked for: some are not to be followed."""

    def places(self, what: int) -> list[int]:
        """Return the places of those about which something is to be done."""
        return [place for place, look in enumerate(self.looks) if look & what]


NO_ANCHORS: Final = PageAnchors([], [], [], [], [], frozenset())
NO_ROWS: Final = AnchorRows(0, 0, 0, 0, [])


class FlatPage:
    """A page in a workspace: gone when the workspace serves the next one."""

    def __init__(
        self, body: bytes, work: Workspace, count: int, nodes: tuple[TreeNode, ...]
    ) -> None:
        self._body = body
        self.work = work
        self._count = count
        self._events = work.events.view
        self.children = nodes
        """The doctype, if there is one."""
        elements, _, self._anchor_count = work.out.view[:3]
        self._by_tag: dict[str, list[PageElement]] = {}
        self.elements: list[PageElement] = []
        self._read_elements(elements)

    def close(self) -> None:
        """Forget the elements: they know the page, and would wait with it for the collector."""
        self.elements.clear()
        self._by_tag.clear()

    def _read_elements(self, count: int) -> None:
        rows = self.work.elements.view[: numbers.ELEMENT * count].tolist()
        events, body = self._events, self._body
        by_tag, elements = self._by_tag, self.elements
        words = iter(rows)
        self.cells_of_code: set[int] = set()
        for event, tag, first, size, line, is_in_cell in zip(*[words] * 6, strict=True):
            said = _SAYS_NOTHING
            if size:
                source = tag, body[events[event * ROW + 1] : events[event * ROW + 2]]
                said = _attributes.get(source) or self._attributes(source, first, size)
            name = _NAMES[tag] if tag < vocabulary.OTHERS else ""
            element = PageElement(self, name, event, line, said)
            elements.append(element)
            if name in by_tag:
                by_tag[name].append(element)
            else:
                by_tag[name] = [element]
            if is_in_cell:
                self.cells_of_code.add(event)

    def _attributes(self, source: tuple[int, bytes], first: int, size: int) -> _Said:
        """Return the attributes of an element, and remember them by its number and start tag."""
        body, end = self._body, numbers.ATTRIBUTE * (first + size)
        words = iter(self.work.attributes.view[numbers.ATTRIBUTE * first : end].tolist())
        texts: dict[str, str] = {}
        attrs: Attributes = {}
        for number, at, length, is_odd in zip(*[words] * 4, strict=True):
            name, end = _ATTRIBUTES[number], at + length
            value = self.characters(at, end, 1) if is_odd else body[at:end].decode()
            is_list = name in _LISTS
            texts[name] = " ".join(value.split()) if is_list else value
            attrs[name] = value.split() if is_list else value
        found = _Said(attrs, texts.get)
        if len(source[1]) <= _REMEMBERED_BYTES:
            if len(_attributes) >= _REMEMBERED_TAGS:
                _attributes.clear()
            _attributes[source] = found
        return found

    def characters(self, start: int, end: int, kind: int) -> str:
        """Return a stretch of source as characters: of a text (0), an attribute (1), or raw (2)."""
        work, references = self.work, _tables().references
        if 2 * (end - start) + 64 > work.scratch.room:
            raise UnicodeError
        size = natives()["characters_of"]["characters_of"](
            self._body, start, end, kind, references.slots, references.letters, work.scratch
        )
        return work.scratch.view[:size].decode()

    def is_foreign(self, event: int) -> bool:
        """Return True if an element is one of SVG."""
        return self._events[event * ROW] >= _FOREIGN

    def end_of(self, event: int) -> int:
        """Return the event that ends an element."""
        return self._events[event * ROW + 3]

    def parent_of(self, event: int) -> int:
        """Return the event of the element around an element."""
        return self._events[event * ROW + 4]

    def tag_of(self, event: int) -> int:
        """Return the number of an element's name."""
        return self._events[event * ROW]

    def find_all(self, tag: str) -> list[PageElement]:
        """Return the elements of a name, as far as elements of that name are told."""
        return self._by_tag.get(tag, [])

    def select(self, selector: str) -> list[PageElement]:
        """Return elements by one of the selectors that links are found with: `name[attribute]`."""
        if selector == AD_BLOCKS:
            return [one for one in self.find_all("div") if _names_ad(one)]
        tag, _, name = selector.rstrip("]").partition("[")
        return [one for one in self.find_all(tag) if name in one.attrs]

    def events_inside(self, event: int, tags: frozenset[int]) -> list[int]:
        """Return the events of some elements inside of another."""
        end = self.end_of(event)
        numbers = self._events[event * ROW : end * ROW : ROW]
        return [event + n for n, number in enumerate(numbers.tolist()) if n and number in tags]

    def pieces_of(self, event: int) -> Iterator[tuple[int, str]]:
        """Yield the texts inside of an element, with their events."""
        rows = self._events
        for one in range(event + 1, self.end_of(event)):
            kind = rows[one * ROW]
            if kind in {numbers.TEXT, numbers.RAW_TEXT}:
                start, end = rows[one * ROW + 1], rows[one * ROW + 2]
                source = self._body[start:end]
                if b"\r" in source or (kind == numbers.TEXT and b"&" in source):
                    yield one, self.characters(start, end, 0 if kind == numbers.TEXT else 2)
                else:
                    yield one, source.decode()

    def text_of(self, event: int) -> str:
        """Return all text inside of an element."""
        return "".join([text for _, text in self.pieces_of(event)])

    def texts_of(self, asked: Sequence[tuple[int, int, int]]) -> list[str]:
        """Return the texts of elements, blanks as one each.

        Asked are events, within how many characters, and up to how many of these.
        """
        if not asked:
            return []
        work = self.work
        wanted = array("q", [number for one in asked for number in one])
        kernel = work.kernel("element_texts", _for_texts)
        size = kernel(self._body, wanted.tobytes(), len(asked))
        if size < 0:
            raise UnicodeError
        return work.text.view[: size - 1].decode().split("\0")

    def words_of(self, event: int, most: int) -> Iterator[str]:
        """Yield the texts and the alternative texts among the first nodes in an element."""
        images = {image.event: image.attr("alt") or "" for image in self.find_all("img")}
        texts_by_event = dict(self.pieces_of(event))
        seen = 0
        for one in range(event + 1, self.end_of(event)):
            if self._events[one * ROW] == numbers.CLOSE:
                continue
            seen += 1
            if seen > most:
                return
            if one in texts_by_event:
                yield texts_by_event[one]
            elif one in images:
                yield images[one]

    def looked_up(self, event: int) -> str:
        """Return the text of a link by its first nodes, images included."""
        raw = "".join(self.words_of(event, TEXT_NODES))
        return " ".join(raw[: 2 * TEXT_CHARS].split())[:TEXT_CHARS]

    def anchors(self, *, is_small: bool) -> PageAnchors:
        """Return every link that a reader can click on."""
        found = self.anchor_rows(is_small=is_small, every=True)
        if not found.total:
            return NO_ANCHORS
        work = self.work
        kept = work.kept.view[: numbers.KEPT * found.total].tolist()
        return PageAnchors(
            kept[:: numbers.KEPT],
            work.hrefs.view[: found.href_bytes - 1].decode().split("\0"),
            work.text.view[: found.text_bytes - 1].decode().split("\0"),
            work.rels.view[: found.rel_bytes - 1].decode().lower().split("\0"),
            kept[4 :: numbers.KEPT],
            frozenset(found.places(LOOK)),
        )

    def scripts_among(self, rows: AnchorRows) -> list[tuple[int, str]]:
        """Return the references among anchors that are scripts, with their places."""
        found: list[tuple[int, str]] = []
        references, hrefs = self.work.references.view, self.work.hrefs.view
        for place in rows.places(numbers.IS_SCRIPT):
            row = place * numbers.REFERENCE
            end = references[row] + references[row + 1] + 1 + references[row + 8]
            href = hrefs[references[row] : end].decode()
            if href[:11].lower() == "javascript:":
                found.append((place, href.rstrip("\0")))
        return found

    def drop_anchor(self, place: int) -> None:
        """Have an anchor that was found lead nowhere."""
        self.work.references.view[place * numbers.REFERENCE + 1] = 0

    def anchor_rows(self, *, is_small: bool, every: bool) -> AnchorRows:
        """Have the first link to each page written into the workspace, or every one."""
        work = self.work
        slots = 1 << max((2 * self._anchor_count).bit_length(), 6)
        if slots > len(work.table.view):
            raise UnicodeError
        kernel = work.kernel("link_texts", _for_links)
        count = kernel(self._body, self._anchor_count, int(is_small), int(every), slots - 1)
        if count == numbers.SEE_ALL:
            return NO_ROWS._replace(is_partial=True)
        if count < 0:
            raise UnicodeError
        if not count:
            return NO_ROWS
        hrefs, texts, rels = work.out.view[:3]
        looks = work.kept.view[2 : numbers.KEPT * count : numbers.KEPT].tolist()
        return AnchorRows(count, hrefs, texts, rels, looks if any(looks) else [])

    def mark(self, event: int, kind: int) -> bool:
        """Have a sign of a kind (1 to 3) put around what an element holds; False if it has many."""
        at = event * ROW + 5
        marks = self._events[at] >> _MARK_BIT
        if marks >> (2 * (_MOST_MARKS - 1)):
            return False
        own = self._events[at] & ((1 << _MARK_BIT) - 1)
        self._events[at] = own | (marks << 2 | kind) << _MARK_BIT
        return True

    def add_words(self, event: int, at: int, size: int) -> None:
        """Have words of the side buffer put behind an image or before a table."""
        self._events[event * ROW + 5] |= at << numbers.LENGTH_BITS | size + 1

    def laid_out(self, side: bytes) -> tuple[str, list[tuple[int, int]]]:
        """Return the text of the page, and where in it code stands."""
        work = self.work
        count = work.kernel("layout", _for_layout)(self._body, self._count, side)
        if count < 0:
            raise UnicodeError
        start, end = work.out.view[:2]
        spans = work.spans.view[: 2 * count].tolist()
        return work.text.view[start:end].decode(), list(zip(spans[::2], spans[1::2], strict=True))


def page_in(body: bytes, work: Workspace) -> FlatPage | None:
    """Read a page whose bytes are UTF-8, or ASCII; None if the tree has to read it."""
    if 0 in body or not loader.is_ready():
        return None
    if b"\r" in body and body.count(b"\r") != body.count(b"\r\n"):
        return None  # a line that ends as none does today
    found = _DOCTYPE.match(body)
    doctype = _doctype(found[1]) if found is not None else _Doctype(-1, ())
    count = work.kernel("outline", _for_outline)(body, len(body), doctype.quirks)
    if count < 0:
        return None
    return FlatPage(body, work, count, doctype.nodes)


def _for_outline(work: Workspace) -> Sequence[object]:
    tables = _tables()
    return (
        *(FREE, FREE, FREE, tables.tags.slots, tables.tags.letters, tables.properties),
        *(tables.attributes.slots, tables.attributes.letters, tables.wanted, work.stack),
        *(work.formats, work.events, work.most_events, work.elements, work.attributes),
        *(work.anchors, work.most_rows, work.out),
    )


def _for_links(work: Workspace) -> Sequence[object]:
    references = _tables().references
    return (
        *(FREE, work.events, work.anchors, FREE, FREE, FREE, references.slots),
        *(references.letters, work.table, FREE, work.hrefs, work.hrefs.room, work.text),
        *(work.text.room, work.rels, work.scratch, work.kept, code_of(LinkKind.ANCHOR)),
        *(work.references, work.out),
    )


def _for_texts(work: Workspace) -> Sequence[object]:
    references = _tables().references
    return (
        *(FREE, work.events, FREE, FREE, references.slots, references.letters, work.text),
        *(work.text.room, work.scratch, work.scratch.room),
    )


def _for_layout(work: Workspace) -> Sequence[object]:
    tables = _tables()
    return (
        *(FREE, work.events, FREE, tables.properties, tables.references.slots),
        *(tables.references.letters, FREE, work.frames, work.cells, work.most_cells, work.widths),
        *(work.text, work.text.room, work.scratch, work.spans, work.most_spans, work.out),
    )
