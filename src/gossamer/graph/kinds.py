"""Kind: in which ways a page points at a URL, as a set of bits. What the graph can be asked by."""

from collections.abc import Iterable, Mapping
from enum import IntFlag

from gossamer.errors import ConfigError
from gossamer.model import LinkKind


class Kind(IntFlag):
    """The ways of pointing at a URL that a graph tells apart; a page may use several."""

    LINK = 1
    """A person may click on it: anchors, areas, frames, refreshes, next, alternate and the like."""
    NOFOLLOW = 2
    """The same, but the page asked robots not to follow it."""
    REDIRECT = 4
    CANONICAL = 8
    EMBED = 16
    """The page is made of it: images, scripts, styles, media."""
    FORM = 32
    LIST = 64
    """Entries of sitemaps and feeds."""


ALL = Kind(127)
VOTES = Kind.LINK | Kind.REDIRECT | Kind.CANONICAL
"""What PageRank counts unless told otherwise: a stylesheet is not important for being used."""

OF_LINK: Mapping[str, Kind] = {
    LinkKind.REDIRECT: Kind.REDIRECT,
    LinkKind.EMBED_REDIRECT: Kind.REDIRECT,
    LinkKind.CANONICAL: Kind.CANONICAL,
    LinkKind.FORM: Kind.FORM,
    LinkKind.SITEMAP: Kind.LIST,
    LinkKind.FEED: Kind.LIST,
    LinkKind.IMAGE: Kind.EMBED,
    LinkKind.SCRIPT: Kind.EMBED,
    LinkKind.STYLE: Kind.EMBED,
    LinkKind.MEDIA: Kind.EMBED,
    LinkKind.CSS: Kind.EMBED,
}
"""All others are `LINK`."""


def kind_of(kind: str, *, is_nofollow: bool) -> Kind:
    """Return the kind of a link as the archive has it."""
    found = OF_LINK.get(kind, Kind.LINK)
    return Kind.NOFOLLOW if is_nofollow and found is Kind.LINK else found


def read_kinds(names: Iterable[str]) -> Kind:
    """Return the kinds that were named (`all` is one of the names); none named means all."""
    found = Kind(0)
    for name in names:
        if name.upper() not in (*Kind.__members__, "ALL"):
            expected = ", ".join(one.lower() for one in Kind.__members__)
            raise ConfigError(f"kind of link: expected {expected} or all, found {name!r}")
        found |= ALL if name.upper() == "ALL" else Kind[name.upper()]
    return found or ALL


def kind_names(kinds: int) -> list[str]:
    """Return the names of some kinds."""
    return [name.lower() for name, kind in Kind.__members__.items() if kinds & kind]
