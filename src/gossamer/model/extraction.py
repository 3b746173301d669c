"""Extraction: what the processors read out of one document."""

from typing import Any

from msgspec import Struct, field

from gossamer.model.link import Link


class Extraction(Struct, kw_only=True):
    """What a page says and where it points. Built by one or several processors."""

    title: str = ""
    headings: tuple[str, ...] = ()
    """What stands above its parts, in order."""
    text: str = ""
    language: str = ""
    canonical: str = ""
    media_type: str = ""
    """Media type after sniffing: what the document was read as."""
    charset: str = ""
    robots: tuple[str, ...] = ()
    """Directives of <meta name=robots> and X-Robots-Tag that apply to us, e.g. "nofollow"."""
    links: list[Link] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)
    """Further facts by name, such as an image's width or a PDF's page count: any JSON value."""
    errors: tuple[str, ...] = ()
    """Processors that failed, as "name: what happened"."""
    user_errors: dict[str, str] = field(default_factory=dict)
    """What happened to those of them that are the user's own, by name."""

    @property
    def is_nofollow(self) -> bool:
        """Tell whether the page asked robots to follow none of its links."""
        return "nofollow" in self.robots or "none" in self.robots
