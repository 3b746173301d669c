"""UrlFilter: how to add a rule.

    from gossamer import url_filter

    @url_filter
    def no_print_views(link):
        return "print view" if link.target.text.endswith("/print") else None

A filter of your own says what it has against a link: a text (or True) refuses it, and None, False
or "" has nothing against it. Name it in `crawl.toml` as `user_filters = ["module:no_print_views"]`,
hand it to `Crawl(...)`, or register it in the entry-point group `gossamer.filters`.
"""

from collections.abc import Callable
from typing import TypeAlias

from gossamer.log import tell
from gossamer.model import Link, Objection, Reject

UrlFilter: TypeAlias = Callable[[Link, int, str], Objection | None]
"""(link, depth of its target, text of the linking URL or "" for a seed) → objection, or None."""

UserRule: TypeAlias = Callable[[Link], str | bool | None]
"""What a user writes: the objection to a link in words, or nothing."""


class UserFilter:
    """A user's rule as a UrlFilter. A rule that breaks refuses the link and says so once."""

    def __init__(self, rule: UserRule) -> None:
        self.rule = rule
        self.name = str(getattr(rule, "__name__", type(rule).__name__))
        self._has_told = False

    def __call__(self, link: Link, _depth: int, _source: str) -> Objection | None:
        """Return the rule's objection to a link."""
        try:
            said = self.rule(link)
        except Exception as error:  # noqa: BLE001 - a stranger's code: it must not end the crawl
            return self._broken(error)
        if not said:
            return None
        return Objection(Reject.USER, said if isinstance(said, str) else self.name)

    def _broken(self, error: Exception) -> Objection:
        detail = f"{self.name} failed: {type(error).__name__}: {error}"
        if not self._has_told:
            self._has_told = True
            tell("filter.failed", filter=self.name, error=detail)
        return Objection(Reject.USER, detail)


def url_filter(rule: UserRule) -> UserFilter:
    """Make a filter of a function that takes a link and returns its objection, or None."""
    return UserFilter(rule)
