"""Filters of others: named in the configuration as "module:function", or installed as plug-ins."""

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import entry_points

from gossamer.errors import ConfigError
from gossamer.filter.api import UrlFilter, UserFilter

GROUP = "gossamer.filters"


def named_filter(name: str) -> UrlFilter:
    """Return the filter that "module:function" names."""
    module_name, colon, function_name = name.partition(":")
    if not (module_name and colon and function_name):
        raise ConfigError(
            f'expected "module:function" in filter.user_filters, found {name!r}; '
            "name an importable module and a function in it"
        )
    try:
        found: object = import_module(module_name)
    except Exception as error:  # noqa: BLE001 - a stranger's module may fail in any way
        raise ConfigError(
            f"user filter {name!r}: expected an importable module, found "
            f"{type(error).__name__}: {error}; is its folder on PYTHONPATH?"
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
            f"{where}: expected a function that takes a link, found {type(found).__name__}; "
            "check the name after the colon"
        )
    return UserFilter(found)
