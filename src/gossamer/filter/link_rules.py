"""Rules that judge each link: rel, length, extension, depth, trap shapes, its host's budget."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache

from gossamer.config import FilterConfig
from gossamer.filter.user_rules import UrlFilter
from gossamer.model import Link, LinkKind, Objection, Reject

MAX_SEGMENTS = 24
"""Deeper paths are a maze: honest sites stay far below."""
MAX_CYCLE = 3
"""The longest cycle of segments that is looked for: /a/b/c/a/b/c/a/b/c."""

FOLDERS_KEPT = 65_536

_NAMED_ON_PURPOSE = frozenset({LinkKind.SEED, LinkKind.SITEMAP})
_NEVER = 1 << 62


def shape(config: FilterConfig) -> UrlFilter:
    """Refuse, in this order: nofollow links, long URLs, extensions, deep links, trap shapes.

    One function does all of it, because it runs for every new link of every page.
    Extensions are not held against a seed or a sitemap's entry: someone asked for just this file.
    """
    max_chars, max_repeats = config.max_url_chars, config.max_repeats
    max_depth = _NEVER if config.max_depth is None else config.max_depth
    too_long = Objection(Reject.TOO_LONG, f"more than {max_chars} characters")
    too_deep = Objection(Reject.TOO_DEEP, f"deeper than {max_depth}")
    extensions = {
        name: Objection(Reject.EXTENSION, name)
        for name in (given.lower().removeprefix(".") for given in config.block_extensions)
    }

    def object_to(link: Link, depth: int, _source: str) -> Objection | None:
        text = link.target.text
        if link.rel and link.is_nofollow:
            return Objection(Reject.NOFOLLOW, link.rel)
        if len(text) > max_chars:
            return too_long
        path = text[: text.index("?")] if "?" in text else text
        folder, _, name = path.rpartition("/")
        extension = extensions.get(name[name.rfind(".") + 1 :].lower()) if "." in name else None
        if extension is not None and link.kind not in _NAMED_ON_PURPOSE:
            return extension
        if depth > max_depth:
            return too_deep
        if path is text and is_straight(folder, max_repeats):
            return None
        return _trap(link.target.target, max_repeats)

    return object_to


@lru_cache(maxsize=FOLDERS_KEPT)
def is_straight(folder: str, max_repeats: int) -> bool:
    """Return True if no name below a folder could make a trap shape: asked once per folder."""
    parts = folder.split("/")
    return len(parts) - len(set(parts)) + 1 < max_repeats and len(parts) < MAX_SEGMENTS


def _trap(target: str, max_repeats: int) -> Objection | None:
    """Object to paths that go round in circles, endless paths, and parameters that pile up.

    Only what repeats without a break is a circle: /a/b/a/c/a passes, /a/b/a/b/a/b does not.
    """
    path, _, query = target.partition("?")
    if path.count("/") > MAX_SEGMENTS:
        return Objection(Reject.REPEATED_SEGMENTS, f"more than {MAX_SEGMENTS} segments")
    circle = re.search(rf"((?:/[^/]*){{1,{MAX_CYCLE}}}?)\1{{{max_repeats}}}(?=/|$)", path)
    if circle:
        return Objection(Reject.REPEATED_SEGMENTS, circle.group(1))
    if query.count("&") >= max_repeats:
        pair, count = Counter(query.split("&")).most_common(1)[0]
        if pair and count > max_repeats:
            return Objection(Reject.REPEATED_SEGMENTS, pair)
    return None


def host_budget(
    max_urls: int, host_count: Callable[[str], int], kept: Mapping[str, int]
) -> UrlFilter:
    """Refuse further URLs of a host that already has its share of the queue.

    The links of a page are judged before any of them is taken. So those that were kept so far
    count too, or one sitemap could hold more than a host's budget.
    """
    objection = Objection(Reject.HOST_BUDGET, f"{max_urls} URLs of this host are taken")

    def object_to(link: Link, _depth: int, _source: str) -> Objection | None:
        host = link.target.host
        return objection if host_count(host) + kept.get(host, 0) >= max_urls else None

    return object_to
