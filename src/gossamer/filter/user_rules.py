"""Filters of the user's own: how to write one, and how one is found by its name.

    from gossamer import url_filter

    @url_filter
    def no_print_views(link):
        return "print view" if link.target.text.endswith("/print") else None

A filter of your own says what it has against a link: a text refuses it, and None or "" has nothing
against it. Name it in `crawl.toml` as `user_filters = ["module:no_print_views"]`, hand it to
`Crawl(...)`, or register it in the entry-point group `gossamer.filters`.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from typing import TypeAlias

from gossamer.errors import ConfigError
from gossamer.log import OnUserError, describe_error, ignore_error, tell
from gossamer.model import Link, Objection, Reject

UrlFilter: TypeAlias = Callable[[Link, int, str], Objection | None]
"""(link, depth of its target, text of the linking URL or "" for a seed) → objection, or None."""

UserRule: TypeAlias = Callable[[Link], str | None]
"""What a user writes: the objection to a link in words, or None."""

GROUP = "gossamer.filters"


class UserFilter:
    """A filter of the user's own, which cannot end the crawl.

    A call that raises, or returns what is no objection, refuses the link and is reported to
    `on_error`; the first is logged.
    """

    def __init__(
        self,
        rule: Callable[[Link, int, str], object],
        name: str,
        on_error: OnUserError = ignore_error,
    ) -> None:
        self.name = name
        self._rule = rule
        self._on_error = on_error
        self._has_told = False

    def __call__(self, link: Link, depth: int, source: str) -> Objection | None:
        """Return the rule's objection to a link."""
        try:
            return _checked_objection(self._rule(link, depth, source))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a stranger's code: it must not end the crawl
            return self._broken(error)

    def reporting_to(self, on_error: OnUserError) -> "UserFilter":
        """Return a filter of the same rule that reports exceptions to `on_error`."""
        return UserFilter(self._rule, self.name, on_error)

    def _broken(self, error: BaseException) -> Objection:
        words = describe_error(error)
        detail = f"{self.name} failed: {words}"
        self._on_error(f"filter {self.name}", words)
        if not self._has_told:
            self._has_told = True
            tell("filter.failed", filter=self.name, error=detail)
        return Objection(Reject.USER, detail)


def _checked_objection(said: object) -> Objection | None:
    """Return what a rule said as an objection, if it is one: nobody knows what True means.

    False is what `condition and "words"` says when there is nothing to object to.
    """
    match said:
        case Objection():
            return said
        case None | False:
            return None
        case str():
            return Objection(Reject.USER, said) if said else None
        case _:
            raise TypeError(f"expected a text or None, found {said!r}")


def url_filter(rule: UserRule) -> UserFilter:
    """Make a filter of a function that takes a link and returns its objection, or None."""
    return UserFilter(lambda link, _depth, _source: rule(link), _name_of(rule))


def as_user_filter(found: UrlFilter) -> UserFilter:
    """Return a filter that a user's program gave, as one that cannot end the crawl."""
    return found if isinstance(found, UserFilter) else UserFilter(found, _name_of(found))


def _name_of(rule: Callable[..., object]) -> str:
    return str(getattr(rule, "__name__", type(rule).__name__))


def named_filter(name: str) -> UrlFilter:
    """Return the filter that "module:function" names."""
    module_name, colon, function_name = name.partition(":")
    if not (module_name and colon and function_name):
        raise ConfigError(f'filter.user_filters: expected "module:function", found {name!r}')
    try:
        found: object = import_module(module_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a stranger's module may fail in any way, also by sys.exit()
        advice = "; is its folder on PYTHONPATH?" if isinstance(error, ImportError) else ""
        raise ConfigError(
            f"filter.user_filters: cannot import {name!r}: {describe_error(error)}{advice}"
        ) from None
    for attribute in function_name.split("."):
        found = getattr(found, attribute, None)
    return _as_filter(found, f"user filter {name!r}")


def installed_filters() -> Sequence[UrlFilter]:
    """Return the filters that installed packages registered, by name."""
    found = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    return [named_filter(entry.value) for entry in found]


def _as_filter(found: object, where: str) -> UrlFilter:
    if isinstance(found, UserFilter):
        return found
    if not callable(found):
        raise ConfigError(
            f"{where}: expected a function, found {type(found).__name__}; "
            "check the name after the colon"
        )
    return url_filter(found)
