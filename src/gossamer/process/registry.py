"""Which processors read this document, and what they and its header say together, checked.

The notes of a processor may be whatever JSON can hold; that is checked where it is called.
"""

import logging
import re
from collections.abc import Sequence
from copy import copy
from importlib.metadata import EntryPoint
from math import isfinite
from typing import TYPE_CHECKING, Any

from msgspec import convert
from msgspec.structs import asdict, replace

from gossamer.config import MIB
from gossamer.log import describe_error, escape
from gossamer.machine import installed_points
from gossamer.model import EMBEDDED, Document, Extraction, Link, LinkColumns, LinkKind
from gossamer.process import detect
from gossamer.process.api import PlainLink, Processor, Tools, distinct_links
from gossamer.process.detect import clean
from gossamer.process.references import MAX_FINDS, directives, kind_of, refresh_url
from gossamer.urls import join_all

if TYPE_CHECKING:
    from turbohtml import Document as Tree

GROUP = "gossamer.processors"
HOSTILE_BYTES = 2 * MIB
"""A decoded body larger than this is read in the helper process: one page in 2,000. The tree of
misnested tags takes 100 times the size of the page."""
_MAX_ERROR_CHARS = 300
_REMEMBERED_TYPES = 1_000
_PARAMETER = re.compile(
    r""";\s*+(rel|as|type)\s*+=\s*+(?:"([^"]{0,200})"|([^";,\s]{0,200}))""", re.IGNORECASE
)
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
"""Directives with a value of their own after a colon; any other word before a colon is an agent."""
_RECORDED = frozenset({LinkKind.FORM, LinkKind.TEXT})


class Registry:
    """The processors of this crawl, by media type."""

    def __init__(self, processors: Sequence[Processor], tools: Tools) -> None:
        self.processors = tuple(processors)
        self.tools = tools
        self.given: tuple[Processor, ...] = ()
        """The last of the processors: those that were given by hand."""
        self.problems: tuple[str, ...] = ()
        """Plug-ins that could not be loaded, one line each."""
        self._readers_by_type: dict[str, tuple[Processor, ...]] = {}

    @classmethod
    def load(cls, tools: Tools, extra: Sequence[Processor] = ()) -> "Registry":
        """Return a registry of all installed processors, and of those given by hand."""
        loaded: list[Processor] = []
        problems: list[str] = []
        for point in installed_points(GROUP):
            found = _loaded(point)
            if isinstance(found, Processor):
                loaded.append(found)
            else:
                problems.append(found)
                logging.getLogger("gossamer").warning("processor.skipped %s", escape(found))
        registry = cls([*loaded, *extra], tools)
        registry.given = tuple(extra)
        registry.problems = tuple(problems)
        return registry

    def media_type(self, document: Document) -> str:
        """Return the media type to read a document as: declared, corrected by its first bytes."""
        return detect.media_type(document)

    def needs_helper(self, document: Document, media_type: str) -> bool:
        """Return True if a document is to be read where it can be killed: slow kind, or huge."""
        readers = self._readers(media_type)
        if any(reader.is_slow for reader in readers):
            return True
        return bool(readers) and len(document.body.decoded()) > HOSTILE_BYTES

    def read_large(self, document: Document, media_type: str) -> Extraction | None:
        """Return what is found in a document that is only too large, if that can be told safely.

        None if it takes a helper after all.
        """
        readers = self._readers(media_type)
        if len(readers) != 1 or readers[0].is_slow or not _is_ours(readers[0]):
            return None
        from gossamer.process import html  # noqa: PLC0415 - only when needed

        if readers[0] is not html.PROCESSOR:
            return None
        try:
            found = html.read_large(document, self.tools)
        except Exception:  # noqa: BLE001 -- the helper tells what is wrong with it
            return None
        return None if found is None else self._finished(found, document, media_type)

    def read(self, document: Document, media_type: str) -> Extraction:
        """Return what all processors of a type found in a document. Never raises."""
        found = self._gathered(None, self._readers(media_type), document)
        return self._finished(found, document, media_type)

    def read_rest(
        self, found: Extraction, document: Document, media_type: str, loaded: int
    ) -> Extraction | None:
        """Add what processors given by hand find, but for the first so many; None if none reads it.

        Those are the ones that no other process can load: the rest was found there.
        """
        rest = [reader for reader in self.given[loaded:] if reader.reads(media_type)]
        if not rest:
            return None
        return self._finished(self._gathered(found, rest, document), document, media_type)

    def _gathered(
        self, found: Extraction | None, readers: Sequence[Processor], document: Document
    ) -> Extraction | None:
        is_shared = not all(map(_is_ours, readers))
        if is_shared:
            document.parse_with(_parsed)
        for reader in readers:
            more = self._read_by(reader, document)
            # What a reader returned is its own: it may return the same again.
            found = copy(more) if found is None else _merged(found, more)
        if is_shared:
            document.parse_with(None)
        return found

    def _finished(
        self, found: Extraction | None, document: Document, media_type: str
    ) -> Extraction:
        found = Extraction() if found is None else found
        found.media_type = media_type
        self._add_header(found, document)
        _clean(found)
        return found

    def _readers(self, media_type: str) -> tuple[Processor, ...]:
        readers = self._readers_by_type.get(media_type)
        if readers is None:
            if len(self._readers_by_type) >= _REMEMBERED_TYPES:
                self._readers_by_type.clear()
            readers = tuple(p for p in self.processors if p.reads(media_type))
            self._readers_by_type[media_type] = readers
        return readers

    def _read_by(self, reader: Processor, document: Document) -> Extraction:
        try:
            found = reader.read(document, self.tools)
            if not isinstance(found, Extraction):
                raise TypeError(f"expected an Extraction, found {type(found).__name__}")  # noqa: TRY301 -- told as what it raised itself
            if not _is_ours(reader):
                found = _typed(found)
        except KeyboardInterrupt:
            raise
        except BaseException as crash:  # noqa: BLE001 -- strangers' code on strangers' bytes
            return _failed(reader, describe_error(crash), Extraction())
        if found.notes == {}:
            return found
        try:
            return replace(found, notes=checked_notes(found.notes))
        except NotJson as problem:
            return _failed(reader, str(problem), replace(found, notes={}))

    def _add_header(self, found: Extraction, document: Document) -> None:
        said = header_robots(document, self.tools.robots_agent)
        if said:
            found.robots = tuple(dict.fromkeys((*found.robots, *said)))
        raw, canonical = header_links(document)
        if raw:
            more = self.tools.links(document.url.text, raw)
            found.links = distinct_links([*found.links, *more])[: self.tools.process.max_links]
        if canonical and not found.canonical:
            target = join_all(document.url.text, [canonical], self.tools.urls)[0]
            found.canonical = target.text if target is not None else ""


def _loaded(point: EntryPoint) -> Processor | str:
    """Return the processor that an entry point names, or one line that says why there is none."""
    try:
        found: object = point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as crash:  # noqa: BLE001 -- a stranger's package may fail in any way
        return f"{point.name} ({point.value}) cannot be loaded: {describe_error(crash)}"
    if not isinstance(found, Processor):
        return f"{point.name} ({point.value}) is a {type(found).__name__}, not a processor"
    return found


def _failed(reader: Processor, what: str, found: Extraction) -> Extraction:
    """Return what is left of what a processor found, and what was wrong with it."""
    name, what = clean(reader.name), clean(what)[:_MAX_ERROR_CHARS]
    return replace(
        found,
        errors=(*found.errors, f"{name}: {what}"[:_MAX_ERROR_CHARS]),
        user_errors={} if _is_ours(reader) else {name: what},
    )


def _parsed(document: Document) -> "Tree":
    """Return the tree of a page; of one that could take all memory, that of its start."""
    from gossamer.process.html import SHARED_BYTES, parsed  # noqa: PLC0415 - only when needed

    return parsed(document.body.decoded()[:SHARED_BYTES], document.charset)


def _is_ours(reader: Processor) -> bool:
    return str(getattr(reader.read, "__module__", "")).startswith("gossamer.")


def _typed(found: Extraction) -> Extraction:
    """Return what a stranger's processor found, every field of its type; else ValidationError.

    Its constructor does not look, and a title that is a number would cost the page later on. (4 us)
    """
    said = {**asdict(found), "notes": {}}
    if isinstance(found.links, LinkColumns):  # it has asked our own reader
        said["links"] = list(found.links)
    return replace(convert(said, Extraction), notes=found.notes)


def _merged(first: Extraction, second: Extraction) -> Extraction:
    """Return both as one: the first that says something wins, links and notes are gathered."""
    return Extraction(
        title=first.title or second.title,
        headings=first.headings or second.headings,
        text=first.text or second.text,
        spans=first.spans if first.text else second.spans,
        language=first.language or second.language,
        canonical=first.canonical or second.canonical,
        description=first.description or second.description,
        charset=first.charset or second.charset,
        robots=tuple(dict.fromkeys((*first.robots, *second.robots))),
        links=distinct_links([*first.links, *second.links]) if first.links else second.links,
        is_shell=(first.is_shell and not second.text) or (second.is_shell and not first.text),
        notes={**second.notes, **first.notes},
        errors=first.errors + second.errors,
        user_errors={**second.user_errors, **first.user_errors},
    )


def _clean(found: Extraction) -> None:
    """Make every string encodable: an archive must not fail on a lone surrogate."""
    found.title = clean(found.title)
    found.description = clean(found.description)
    if clean(found.text) is not found.text:
        found.text, found.spans = clean(found.text), {}
    if clean(said := "".join(found.headings)) is not said:
        found.headings = tuple(map(clean, found.headings))
    if isinstance(found.links, LinkColumns):
        return  # it is of UTF-8
    texts = "".join([link.text for link in found.links])
    if clean(texts) is not texts:
        found.links = [
            Link(link.target, link.kind, clean(link.text), link.rel, link.line, link.fragment)
            for link in found.links
        ]


MAX_DEPTH = 32
"""Of lists and objects in each other; what holds itself is deeper."""
_LEAST, _MOST = -(2**63), 2**64 - 1
"""Whole numbers beyond these are read back by few programs as what they were."""


class NotJson(ValueError):
    """A note that a JSON file cannot hold, with its place."""


def checked_notes(notes: object) -> dict[str, Any]:
    """Return notes made of plain values alone; raise `NotJson` for anything else.

    A tuple becomes a list, a text or a number of a class of its own a plain one.
    """
    if type(notes) is not dict:
        raise NotJson(f"notes: expected a dict, found {_kind(notes)}")
    return _object(notes, "notes", 0)


def _value(value: object, where: str, depth: int) -> Any:  # noqa: ANN401 -- any JSON value
    match value:
        case None | bool():
            return value
        case str():
            return _text(value, where)
        case int() | float():
            return _number(value, where)
        case list() | tuple() | dict():
            return _inside(value, where, depth + 1)
        case _:
            raise NotJson(f"{where}: expected a value that JSON has, found {_kind(value)}")


def _text(value: str, where: str) -> str:
    text = str(value)
    if clean(text) is not text:
        raise NotJson(f"{where}: expected text that UTF-8 can hold, found a lone surrogate")
    return text


def _number(value: int | float, where: str) -> int | float:  # noqa: PYI041 -- they differ here
    if not isinstance(value, int):
        if not isfinite(value):
            raise NotJson(f"{where}: expected a finite number, found {value}")
        return float(value)
    if not _LEAST <= value <= _MOST:
        raise NotJson(f"{where}: expected a whole number of at most 64 bits")
    return int(value)


def _inside(value: list[Any] | tuple[Any, ...] | dict[Any, Any], where: str, depth: int) -> Any:  # noqa: ANN401 -- a list or an object
    if depth > MAX_DEPTH:
        raise NotJson(f"{where[:60]}…: expected at most {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return _object(value, where, depth)
    return [_value(item, f"{where}[{n}]", depth) for n, item in enumerate(value)]


def _object(value: dict[Any, Any], where: str, depth: int) -> dict[str, Any]:
    for key in value:
        if not isinstance(key, str):
            raise NotJson(f"{where}: expected names that are text, found {_kind(key)}")
    return {
        _text(key, where): _value(item, f"{where}[{key!r}]", depth) for key, item in value.items()
    }


def _kind(value: object) -> str:
    return f"a value of type {type(value).__name__}"


def header_links(document: Document) -> tuple[list[PlainLink], str]:
    """Return the links in a document's header, and the canonical reference among them or ""."""
    found: list[PlainLink] = []
    for name, value in document.headers:
        if name == "link":
            found += _link_field(value)
        elif name == "refresh" and (href := refresh_url(value)):
            found.append((href, LinkKind.REFRESH, "", ""))
    canonical = next((href for href, _, _, rel in found if "canonical" in rel.split()), "")
    return found, canonical


def _link_field(value: str) -> list[PlainLink]:
    found: list[PlainLink] = []
    for piece in value.split("<")[1:MAX_FINDS]:
        href, closed, parameters = piece.partition(">")
        if closed:
            said = {m[1].lower(): m[2] or m[3] or "" for m in _PARAMETER.finditer(parameters)}
            rel = said.get("rel", "").lower()
            kind = kind_of(rel, said.get("as", ""), said.get("type", ""))
            if kind is not None:
                kept = kind if kind in EMBEDDED or kind in _RECORDED else LinkKind.HEADER
                found.append((href.strip(), kept, "", rel))
    return found


def header_robots(document: Document, agent: str) -> tuple[str, ...]:
    """Return the X-Robots-Tag directives that are addressed to everybody or to us."""
    found: list[str] = []
    for name, value in document.headers:
        if name == "x-robots-tag":
            addressee = ""
            for word in directives(value):
                before, colon, after = word.partition(":")
                directive = word
                if colon and before.strip() not in _VALUED:
                    addressee, directive = before.strip(), after.strip()
                if directive and addressee in {"", "*", agent.lower()}:
                    found.append(directive)
    return tuple(found)
