"""SitemapClaim: what a sitemap says of one of its pages."""

from datetime import UTC, datetime
from enum import IntEnum

from msgspec import Struct

from gossamer.model.link import Link, LinkKind

MEAN_PRIORITY = 0.5
"""What a sitemap means when it says nothing (sitemaps.org)."""
_DAY_S = 86_400.0
_DATE_CHARS = 10


class ChangeFrequency(IntEnum):
    """How often a page is said to change: the words of `changefreq`, fastest first."""

    NOT_SAID = 0
    ALWAYS = 1
    HOURLY = 2
    DAILY = 3
    WEEKLY = 4
    MONTHLY = 5
    YEARLY = 6
    NEVER = 7

    @property
    def word(self) -> str:
        """Return the word of the protocol; "" if nothing was said."""
        return self.name.lower() if self else ""


_BY_WORD = {frequency.word: frequency for frequency in ChangeFrequency if frequency}


class SitemapClaim(Struct, frozen=True, gc=False):
    """What a sitemap says of a page. Claims are advice: pages contradict them."""

    changefreq: ChangeFrequency = ChangeFrequency.NOT_SAID
    modified_at: float | None = None
    """When the page is said to have changed last, in seconds since 1970; a day, at its end."""
    priority: float = MEAN_PRIORITY


NO_CLAIM = SitemapClaim()


def claim_of(link: Link) -> SitemapClaim:
    """Return what a sitemap says of the page that a link leads to; `NO_CLAIM` if it says nothing.

    Entries have it in their text, as "lastmod=... changefreq=... priority=...".
    """
    if link.kind is not LinkKind.SITEMAP or "=" not in link.text:
        return NO_CLAIM
    said = dict(word.partition("=")[::2] for word in link.text.split())
    return SitemapClaim(
        _BY_WORD.get(said.get("changefreq", "").lower(), ChangeFrequency.NOT_SAID),
        _moment(said.get("lastmod", "")),
        _priority(said.get("priority", "")),
    )


def _moment(text: str) -> float | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        at = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return at + _DAY_S if len(text) == _DATE_CHARS else at


def _priority(text: str) -> float:
    try:
        said = float(text)
    except ValueError:
        return MEAN_PRIORITY
    return min(max(said, 0.0), 1.0) if said == said else MEAN_PRIORITY  # noqa: PLR0124 - NaN
