"""Link: one page pointing at one URL, and in what way."""

from enum import StrEnum

from msgspec import Struct

from gossamer.model.url import Url


class LinkKind(StrEnum):
    """Where a link was found. The value is what the links archive stores."""

    SEED = "seed"
    REVISIT = "revisit"
    """No link: another look at a page that we have. How it was found is in its record."""
    ANCHOR = "a"
    AREA = "area"
    FRAME = "frame"
    REFRESH = "refresh"
    REDIRECT = "redirect"
    HEADER = "header"
    FEED = "feed"
    SITEMAP = "sitemap"
    CANONICAL = "canonical"
    NEXT = "next"
    ALTERNATE = "alternate"
    PARENT = "parent"
    DATA = "data"
    PDF = "pdf"
    TEXT = "text"
    IMAGE = "image"
    SCRIPT = "script"
    STYLE = "style"
    MEDIA = "media"
    CSS = "css"
    FORM = "form"


FOLLOWED = frozenset(
    {
        LinkKind.SEED,
        LinkKind.ANCHOR,
        LinkKind.AREA,
        LinkKind.FRAME,
        LinkKind.REFRESH,
        LinkKind.REDIRECT,
        LinkKind.HEADER,
        LinkKind.FEED,
        LinkKind.SITEMAP,
        LinkKind.CANONICAL,
        LinkKind.NEXT,
        LinkKind.ALTERNATE,
        LinkKind.PARENT,
        LinkKind.DATA,
        LinkKind.PDF,
    }
)
"""Kinds that lead to pages: always followed, if the filters agree."""

EMBEDDED = frozenset(
    {LinkKind.IMAGE, LinkKind.SCRIPT, LinkKind.STYLE, LinkKind.MEDIA, LinkKind.CSS}
)
"""Kinds that a page is made of: recorded always, followed only with `--embeds`."""


class Link(Struct, frozen=True, gc=False):
    """One link of a page. The page itself is known from where the link is kept."""

    target: Url
    kind: LinkKind
    text: str = ""
    rel: str = ""

    @property
    def is_nofollow(self) -> bool:
        """Tell whether the page asked robots not to follow this link."""
        return "nofollow" in self.rel.split()

    @property
    def is_sitemap(self) -> bool:
        """Tell whether this link names a sitemap, not a page: it stands in an index of them."""
        return self.rel == "sitemap" and self.kind is LinkKind.SITEMAP
