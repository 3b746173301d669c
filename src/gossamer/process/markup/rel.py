"""What a rel means to a crawler: which kind of link it makes, or none."""

from functools import lru_cache

from gossamer.model import LinkKind

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
