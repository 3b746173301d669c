"""References in small languages: scripts, srcset, refresh, plain text.

Every scanner is linear in its input: it either splits, or finds a word and matches a bounded
pattern there, with possessive quantifiers wherever a run could be long. What a rel means to a
crawler is told here too (`kind_of`).
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from gossamer.model import LinkKind

MAX_FINDS = 1_000
"""References that one stretch of text may yield."""

_SCRIPT = re.compile(
    r"""(?:location(?:\.href)?\s*+=\s*+|location\.(?:assign|replace)\s*+\(\s*+|window\.open\s*+\(\s*+)"""
    r"""(?:"([^"\n<>\s]{1,1000})"|'([^'\n<>\s]{1,1000})')(?!\s*+[+.])"""
)
_REFRESH = re.compile(r"\s*+[\d.]*+[\s;,]*+(?:url\s*+=\s*+)?", re.IGNORECASE)
_REFRESH_SECONDS = re.compile(r"\s*+[\d.]++[\s;,]*+$")
_TEXT_URL = re.compile(r"https?://[^\s<>\"'`{}|\\^\x00-\x20\x7f]{1,2000}")
_TRAILING = ".,;:!?)]*_"


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def script_urls(text: str) -> list[str]:
    """Return where a script plainly sends the reader: location = "...", window.open("...")."""
    found: list[str] = []
    for word in ("location", "window.open"):
        for at in _places(text, word):
            if match := _SCRIPT.match(text, at):
                found.append((match[1] or match[2]).replace("\\/", "/"))
            if len(found) >= MAX_FINDS:
                return found
    return found


def srcset_urls(text: str) -> list[str]:
    """Return the images that a srcset offers."""
    found: list[str] = []
    is_descriptor = False
    for word in text.split():
        href = word
        if is_descriptor:
            descriptor, comma, href = word.partition(",")
            is_descriptor = not comma and not descriptor.endswith(")")
        href = href.lstrip(",")
        if is_descriptor or not href:
            continue
        found.append(href.rstrip(","))
        is_descriptor = not href.endswith(",")
        if len(found) >= MAX_FINDS:
            break
    return [href for href in found if href]


def refresh_url(text: str) -> str:
    """Return the target of a refresh such as `5; url='next.html'`, in any of its spellings."""
    if _REFRESH_SECONDS.match(text):
        return ""
    match = _REFRESH.match(text)
    rest = text[match.end() :] if match else text
    if rest[:1] in {'"', "'"}:
        return rest[1:].partition(rest[0])[0].strip()
    return rest.strip()


def text_urls(text: str) -> list[str]:
    """Return the web addresses that are written out in a text."""
    found: list[str] = []
    for match in _TEXT_URL.finditer(text):
        found.append(match[0].rstrip(_TRAILING))
        if len(found) >= MAX_FINDS:
            break
    return found


_EMBEDS = {
    "stylesheet": LinkKind.STYLE,
    "icon": LinkKind.IMAGE,
    "apple-touch-icon": LinkKind.IMAGE,
    "apple-touch-icon-precomposed": LinkKind.IMAGE,
    "apple-touch-startup-image": LinkKind.IMAGE,
    "fluid-icon": LinkKind.IMAGE,
    "mask-icon": LinkKind.IMAGE,
    "image_src": LinkKind.IMAGE,
    "modulepreload": LinkKind.SCRIPT,
    "preload": LinkKind.MEDIA,
    "prefetch": LinkKind.MEDIA,
    "manifest": LinkKind.MEDIA,
}
_PAGES = {
    "canonical": LinkKind.CANONICAL,
    "alternate": LinkKind.ALTERNATE,
    "amphtml": LinkKind.ALTERNATE,
    "shortlink": LinkKind.ALTERNATE,
    "next": LinkKind.NEXT,
    "prev": LinkKind.NEXT,
    "previous": LinkKind.NEXT,
    "first": LinkKind.NEXT,
    "last": LinkKind.NEXT,
    "up": LinkKind.NEXT,
    "sitemap": LinkKind.SITEMAP,
}
_SERVICES = frozenset({"edituri", "pingback", "service", "webmention", "wlwmanifest"})
"""Doors for programs that post: recorded, never asked for."""
_HINTS = frozenset({"dns-prefetch", "preconnect", "profile", "self", "nofollow"})
"""Names of hosts or vocabularies, not of pages."""
_PRELOADED_AS = {
    "script": LinkKind.SCRIPT,
    "worker": LinkKind.SCRIPT,
    "style": LinkKind.STYLE,
    "image": LinkKind.IMAGE,
    "document": LinkKind.NEXT,
}


@lru_cache(maxsize=1024)
def kind_of(rel: str, preloaded_as: str = "", media_type: str = "") -> LinkKind | None:
    """Return the kind of link that a rel makes; None if it names no page and no resource."""
    words = rel.lower().split()
    for word in words:
        if word in _EMBEDS:
            kind = _EMBEDS[word]
            return _PRELOADED_AS.get(preloaded_as, kind) if kind is LinkKind.MEDIA else kind
    for word in words:
        if word in _PAGES:
            return LinkKind.TEXT if "oembed" in media_type else _PAGES[word]
    if any(word in _SERVICES for word in words):
        return LinkKind.FORM
    return None if any(word in _HINTS for word in words) else LinkKind.DATA


def directives(value: str) -> tuple[str, ...]:
    """Return the words of a robots directive list, lower case."""
    return tuple(word for part in value.lower().split(",") if (word := part.strip()))
