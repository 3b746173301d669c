"""How to add a media type: write a function from a document to an extraction, and register it.

    from gossamer.process import Tools, processor

    def read(document: Document, tools: Tools) -> Extraction: ...

    PROCESSOR = processor("text/csv", name="csv")(read)

Name it in your package's entry points, group "gossamer.processors", and install the package.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeAlias

from gossamer.config import ProcessConfig, UrlConfig
from gossamer.model import Document, Extraction, Link, LinkKind
from gossamer.urls import join_all

MAX_HREF_CHARS = 8192
"""Longer references are no links but data in disguise."""

RawLink: TypeAlias = tuple[str, LinkKind, str, str]
"""A link as written: reference, kind, text, rel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What a processor may use besides the document."""

    urls: UrlConfig
    process: ProcessConfig
    robots_agent: str
    """Our product token: robots directives addressed to it apply to us."""

    def links(self, base: str, found: Iterable[RawLink]) -> list[Link]:
        """Return the links that were found, absolute, canonical, each target once per kind."""
        kept = _distinct(found, self.process.max_links)
        targets = join_all(base, [raw[0] for raw in kept], self.urls)
        links = [
            Link(target, raw[1], raw[2], raw[3])
            for target, raw in zip(targets, kept, strict=True)
            if target is not None
        ]
        return distinct_links(links)


def _distinct(found: Iterable[RawLink], limit: int) -> list[RawLink]:
    """Return each reference once per kind, without its fragment, up to a limit.

    Links come in runs of one kind, so a set per kind is looked up rarely: an enum hashes slowly.
    """
    seen_by_kind: dict[LinkKind, set[str]] = {}
    last: LinkKind | None = None
    seen: set[str] = set()
    kept: list[RawLink] = []
    for href, kind, text, rel in found:
        page = href.partition("#")[0] if "#" in href else href
        if kind is not last:
            seen, last = seen_by_kind.setdefault(kind, set()), kind
        if page and page not in seen and len(page) <= MAX_HREF_CHARS:
            seen.add(page)
            kept.append((page, kind, text, rel))
            if len(kept) >= limit:
                break
    return kept


def distinct_links(links: list[Link]) -> list[Link]:
    """Return each target once per kind: the first link to it."""
    seen_by_kind: dict[LinkKind, set[str]] = {}
    last: LinkKind | None = None
    seen: set[str] = set()
    kept: list[Link] = []
    for link in links:
        kind = link.kind
        if kind is not last:
            seen, last = seen_by_kind.setdefault(kind, set()), kind
        text = link.target.text
        if text not in seen:
            seen.add(text)
            kept.append(link)
    return kept


ReadFunction: TypeAlias = Callable[[Document, Tools], Extraction]


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """A reader of some media types; globs such as image/* are allowed."""

    name: str
    media_types: tuple[str, ...]
    read: ReadFunction
    is_slow: bool = False
    """Slow or dangerous: runs in the helper process, which can be killed."""

    def reads(self, media_type: str) -> bool:
        """Tell whether this processor is registered for a media type."""
        return any(fnmatchcase(media_type, pattern) for pattern in self.media_types)


def processor(
    *media_types: str, name: str = "", is_slow: bool = False
) -> Callable[[ReadFunction], Processor]:
    """Turn a function into a processor: @processor("application/pdf", is_slow=True)."""

    def register(read: ReadFunction) -> Processor:
        label = name or getattr(read, "__module__", "").rpartition(".")[2] or "processor"
        return Processor(name=label, media_types=media_types, read=read, is_slow=is_slow)

    return register
