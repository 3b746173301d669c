"""How to add a media type: write a function from a document to an extraction, and register it.

    from gossamer.process import Tools, processor

    def read(document: Document, tools: Tools) -> Extraction: ...

    PROCESSOR = processor("text/csv", name="csv")(read)

Name it in your package's entry points, group "gossamer.processors", and install the package.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from functools import reduce
from importlib import import_module
from typing import Final, TypeAlias

from msgspec import Struct

from gossamer.config import MIB, ProcessConfig, UrlConfig
from gossamer.model import Document, Extraction, Link, LinkKind, Url
from gossamer.urls import join_all

MAX_HREF_CHARS = 8192
MAX_LINKS_CHARS = 16 * MIB
"""Of all links of a document together, once they are absolute."""
_MANY_LINKS = 1_000
"""Longer references are no links but data in disguise."""

PlainLink: TypeAlias = tuple[str, LinkKind, str, str]
"""A link as written: reference, kind, text, rel."""
PlacedLink: TypeAlias = tuple[str, LinkKind, str, str, int, str]
"""A link as written, its line and its fragment."""
RawLink: TypeAlias = PlainLink | PlacedLink
_PLAIN: Final = 4
FRAGMENT_CHARS = 200
"""So much of a fragment is kept."""


class Tools(Struct, frozen=True, kw_only=True):
    """What a processor may use besides the document."""

    urls: UrlConfig
    process: ProcessConfig
    robots_agent: str
    """Our product token: robots directives addressed to it apply to us."""

    def links(self, base: str | Url, found: Iterable[RawLink]) -> list[Link]:
        """Return the links that were found, absolute, canonical, each target once per kind.

        `base` is the text of the address to join them to, or the address of the document itself.
        """
        kept = placed_links(found)
        hrefs = [raw[0] for raw in kept]
        if not _is_tidy(hrefs, self.process.max_links):
            kept = _distinct(kept, self.process.max_links)
            hrefs = [raw[0] for raw in kept]
        if len(hrefs) > _MANY_LINKS:
            room = _room_for(hrefs, len(base if isinstance(base, str) else base.text))
            kept, hrefs = kept[:room], hrefs[:room]
        return _first_links(join_all(base, hrefs, self.urls), kept)


def placed_links(found: Iterable[RawLink]) -> list[PlacedLink]:
    """Return links with a line and a fragment, which few readers tell."""
    return [(*raw, 0, "") if len(raw) == _PLAIN else raw for raw in found]


def _room_for(hrefs: list[str], base_chars: int) -> int:
    """Return how many of some references may be joined to a base of so many characters.

    A base of 2,000 characters would make 100 MB of the 50,000 links of a page of a megabyte.
    """
    room = MAX_LINKS_CHARS
    for number, href in enumerate(hrefs):
        room -= base_chars + len(href)
        if room < 0:
            return number
    return len(hrefs)


def _is_tidy(hrefs: list[str], limit: int) -> bool:
    """Return True if no reference needs a second look: none is empty, long or cut short."""
    return (
        len(hrefs) <= limit
        and all(hrefs)
        and max(map(len, hrefs), default=0) <= MAX_HREF_CHARS
        and "#" not in "".join(hrefs)
    )


def _distinct(found: Iterable[PlacedLink], limit: int) -> list[PlacedLink]:
    """Return each reference once per kind, without its fragment, up to a limit.

    Links come in runs of one kind, so a set per kind is looked up rarely: an enum hashes slowly.
    """
    seen_by_kind: dict[LinkKind, set[str]] = {}
    last: LinkKind | None = None
    seen: set[str] = set()
    kept: list[PlacedLink] = []
    for href, kind, text, rel, line, fragment in found:
        page = href.partition("#")[0] if "#" in href else href
        if kind is not last:
            seen, last = seen_by_kind.setdefault(kind, set()), kind
        if page and page not in seen and len(page) <= MAX_HREF_CHARS:
            seen.add(page)
            behind = fragment if page is href else href[len(page) + 1 :][:FRAGMENT_CHARS]
            kept.append((page, kind, text, rel, line, behind))
            if len(kept) >= limit:
                break
    return kept


def _first_links(targets: Iterable[Url | None], found: Iterable[PlacedLink]) -> list[Link]:
    """Return each target once per kind: the first link to it."""
    seen_by_kind: dict[LinkKind, set[str]] = {}
    last: LinkKind | None = None
    seen: set[str] = set()
    kept: list[Link] = []
    for target, (_, kind, text, rel, line, fragment) in zip(targets, found, strict=True):
        if target is None:
            continue
        if kind is not last:
            seen, last = seen_by_kind.setdefault(kind, set()), kind
        if target.text not in seen:
            seen.add(target.text)
            kept.append(Link(target, kind, text, rel, line, fragment))
    return kept


def distinct_links(links: list[Link]) -> list[Link]:
    """Return each target once per kind: the first link to it."""
    first: dict[tuple[LinkKind, str], Link] = {}
    for link in links:
        first.setdefault((link.kind, link.target.text), link)
    return list(first.values())


ReadFunction: TypeAlias = Callable[[Document, Tools], Extraction]


class Processor(Struct, frozen=True, kw_only=True):
    """A reader of some media types; globs such as image/* are allowed."""

    name: str
    media_types: tuple[str, ...]
    read: ReadFunction
    is_slow: bool = False
    """Slow or dangerous: runs in the helper process, which can be killed."""

    def reads(self, media_type: str) -> bool:
        """Return True if this processor is registered for a media type."""
        return any(fnmatchcase(media_type, pattern) for pattern in self.media_types)


def processor(
    *media_types: str, name: str = "", is_slow: bool = False
) -> Callable[[ReadFunction], Processor]:
    """Turn a function into a processor: @processor("application/pdf", is_slow=True)."""

    def register(read: ReadFunction) -> Processor:
        label = name or getattr(read, "__module__", "").rpartition(".")[2] or "processor"
        return Processor(name=label, media_types=media_types, read=read, is_slow=is_slow)

    return register


class ProcessorReference(Struct, frozen=True, kw_only=True):
    """Where another process finds a processor: in a module that it can import."""

    module: str
    attribute: str
    """Of the module: the processor itself, or its function."""
    name: str
    media_types: tuple[str, ...]
    is_slow: bool

    def load(self) -> Processor | None:
        """Import the processor; return None if it is not there, whatever the reason."""
        try:
            found: object = reduce(getattr, self.attribute.split("."), import_module(self.module))
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 -- a stranger's module may fail in any way
            return None
        if not callable(read := found.read if isinstance(found, Processor) else found):
            return None
        return Processor(
            name=self.name, media_types=self.media_types, read=read, is_slow=self.is_slow
        )


def importable(processors: Sequence[Processor]) -> tuple[ProcessorReference, ...]:
    """Return references to the first of some processors, as many as another process can import."""
    found: list[ProcessorReference] = []
    for one in processors:
        module = getattr(one.read, "__module__", "")
        attribute = getattr(one.read, "__qualname__", "")
        if module not in sys.modules or module == "__main__" or "<" in attribute:
            break
        reference = ProcessorReference(
            module=module,
            attribute=attribute,
            name=one.name,
            media_types=one.media_types,
            is_slow=one.is_slow,
        )
        if (loaded := reference.load()) is None or loaded.read is not one.read:
            break
        found.append(reference)
    return tuple(found)
