"""Flags: which argument of `gossamer crawl` turns which knob. Data, and pure functions."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from gossamer.cli.quantities import (
    COUNT_EXAMPLE,
    SIZE_EXAMPLE,
    TIME_EXAMPLE,
    count_of,
    seconds_of,
    size_of,
)
from gossamer.config import Config
from gossamer.errors import ConfigError
from gossamer.settings import SECRET_KNOBS, to_config

Shape: TypeAlias = Literal[
    "number", "count", "size", "time", "text", "switch", "list", "table", "steps", "path"
]
"""What a flag takes; "table" is a repeatable NAME and value, "steps" NAME and a whole number."""


class Flag(Struct, frozen=True):
    """One flag and the knob that it turns."""

    name: str
    """As typed; a switch also has the form that turns it off, after a slash."""
    knob: str
    shape: Shape
    panel: str
    metavar: str = ""

    @property
    def parameter(self) -> str:
        """Return the name under which the parser hands over the value."""
        return self.name.partition("/")[0].lstrip("-").replace("-", "_")


_WANT = "What is wanted"
_HOW = "How to ask"
_WHO = "Who asks"
_WHERE = "Where it may connect"
_LIMITS = "When to stop"
_KEPT = "Where it is kept"

FLAGS: tuple[Flag, ...] = (
    Flag("--max-pages", "limits.max_pages", "count", _LIMITS, "N"),
    Flag("--max-time", "limits.max_time_s", "time", _LIMITS, "TIME"),
    Flag("--max-bytes", "limits.max_bytes", "size", _LIMITS, "SIZE"),
    Flag("--scope", "filter.scope", "text", _WANT, "any|domain|host|prefix"),
    Flag("--scheme", "filter.schemes", "list", _WANT, "SCHEME"),
    Flag("--allow", "filter.allow", "list", _WANT, "GLOB"),
    Flag("--block", "filter.block", "list", _WANT, "GLOB"),
    Flag("--max-depth", "filter.max_depth", "count", _WANT, "N"),
    Flag("--order", "frontier.order", "text", _WANT, "bfs|best|opic|dfs"),
    Flag("--score", "frontier.score", "text", _WANT, "MODULE:FUNCTION"),
    Flag("--ranks", "frontier.ranks", "text", _WANT, "FILE"),
    Flag("--scores", "frontier.scores", "text", _WANT, "FILE"),
    Flag("--label-priority", "frontier.labels", "steps", _WANT, "LABEL=N"),
    Flag("--ascend/--no-ascend", "frontier.ascend", "switch", _WANT),
    Flag("--sitemaps/--no-sitemaps", "process.sitemaps", "switch", _WANT),
    Flag("--embeds/--no-embeds", "process.embeds", "switch", _WANT),
    Flag("--requisites/--no-requisites", "process.requisites", "switch", _WANT),
    Flag("--shards", "shards", "count", _HOW, "N"),
    Flag("--concurrency", "concurrency", "count", _HOW, "N"),
    Flag("--delay", "politeness.delay_s", "time", _HOW, "TIME"),
    Flag("--max-body", "fetch.max_body_bytes", "size", _HOW, "SIZE"),
    Flag("--cookies/--no-cookies", "fetch.cookies", "switch", _HOW),
    Flag("--insecure/--no-insecure", "fetch.insecure", "switch", _HOW),
    Flag("--user-agent", "fetch.user_agent", "text", _WHO, "UA"),
    Flag("--contact", "fetch.contact", "text", _WHO, "MAIL-OR-URL"),
    Flag("--header", "fetch.headers", "list", _WHO, "'K: V'"),
    Flag("--header-everywhere/--no-header-everywhere", "fetch.header_everywhere", "switch", _WHO),
    Flag("--auth", "fetch.auth", "table", _WHO, "HOST=USER:PASS"),
    Flag("--store", "store.url", "text", _KEPT, "URL"),
    Flag("--local-archive/--no-local-archive", "store.local_archive", "switch", _KEPT),
    Flag("--proxy", "fetch.proxy", "text", _WHERE, "URL"),
    Flag("--resolve", "fetch.resolve", "table", _WHERE, "HOST:ADDR"),
    Flag("--allow-net", "fetch.allow_net", "list", _WHERE, "CIDR"),
    Flag("--allow-private/--no-allow-private", "fetch.allow_private", "switch", _WHERE),
)


_OF_THIS_RUN = frozenset({"limits.max_time_s"})
"""What a flag gives for one run only; its knob is for every run without the flag."""
_NOT_OF_A_WATCH = frozenset({"limits.max_time_s", "frontier.order", "filter.max_depth"})
WATCH_FLAGS: tuple[Flag, ...] = (
    Flag("--rate", "watch.rate_per_s", "number", _HOW, "REQUESTS_PER_S"),
    *(flag for flag in FLAGS if flag.knob not in _NOT_OF_A_WATCH),
)
"""The flags of `gossamer watch`."""


_STEP = re.compile(r"[+-]?[0-9]{1,3}")
_QUANTITIES: dict[str, tuple[Callable[[str], float | None], str]] = {
    "count": (count_of, COUNT_EXAMPLE),
    "size": (size_of, SIZE_EXAMPLE),
    "time": (seconds_of, TIME_EXAMPLE),
}
"""How a shape is read, and what it takes, in words."""
_LEAST = {
    "limits.max_pages": "1 page or more (no limit without the flag)",
    "limits.max_time_s": "a time above 0, such as 90s or 2h (no limit without the flag)",
    "limits.max_bytes": "1 byte or more, such as 10G",
}
"""Limits of nothing, which nobody can mean."""
_NOT_EMPTY = {
    "fetch.user_agent": "a name such as 'mybot/1.0', found ''; without the flag it is "
    "gossamer/VERSION",
    "fetch.contact": "an email address or a URL, found ''; without the flag none is sent",
}


def with_flags(
    config: Config, given: Mapping[str, object], flags: Sequence[Flag] = FLAGS
) -> Config:
    """Return the configuration with the flags that were given; the others keep their values.

    A flag replaces its knob's value, lists and tables included. `given` holds values by
    `Flag.parameter`; None and empty lists were not given.
    """
    data: dict[str, object] = msgspec.to_builtins(config)
    names: dict[str, str] = {}
    for flag in flags:
        value = given.get(flag.parameter)
        if value is None or value in ([], ()) or flag.knob in _OF_THIS_RUN:
            continue
        section, _, knob = flag.knob.rpartition(".")
        table = data[section] if section else data
        if isinstance(table, dict):
            table[knob] = _value(flag, value)
        names[flag.knob] = flag.name.partition("/")[0]
    try:
        return to_config(data)
    except ConfigError as error:
        raise named_by_flag(error, names) from None


def given_knobs(given: Mapping[str, object]) -> dict[str, str]:
    """Return the flag of `gossamer crawl` that was given for each knob."""
    found = ((flag.knob, flag.name.partition("/")[0], given.get(flag.parameter)) for flag in FLAGS)
    return {knob: name for knob, name, value in found if value not in (None, [], ())}


def named_by_flag(error: ConfigError, flags: Mapping[str, str]) -> ConfigError:
    """Return an error about a knob with the name of the flag that was typed in its place."""
    knob, mark, complaint = str(error).partition(":")
    return ConfigError(f"{flags.get(knob, knob)}{mark}{complaint}")


def _value(flag: Flag, value: object) -> object:
    """Return what a flag gives its knob."""
    if flag.shape == "table":
        return _table(flag, value)
    if flag.shape == "steps":
        return _steps(flag, value)
    if flag.shape in _QUANTITIES and isinstance(value, str):
        found = quantity(flag.name, flag.shape, value)
        if flag.knob in _LEAST and not found:
            raise ConfigError(f"{flag.name}: expected {_LEAST[flag.knob]}, found {value!r}")
        return found
    if flag.knob in _NOT_EMPTY and not str(value).strip():
        raise ConfigError(f"{flag.name}: expected {_NOT_EMPTY[flag.knob]}")
    return value


def max_time_of(given: Mapping[str, object]) -> float | None:
    """Return what --max-time gives for this run; None if it was not given."""
    text = given.get("max_time")
    if text is None:
        return None
    found = quantity("--max-time", "time", str(text))
    if not found:
        raise ConfigError(f"--max-time: expected {_LEAST['limits.max_time_s']}, found {text!r}")
    return found


def quantity(name: str, shape: str, text: str) -> float:
    """Return a count, size or time that was typed for a flag, or raise `ConfigError`."""
    read, wanted = _QUANTITIES[shape]
    value = read(text)
    if value is None:
        raise ConfigError(f"{name}: expected {wanted}, found {text!r}")
    return value


def _steps(flag: Flag, items: object) -> dict[str, int]:
    """Return the pairs that a repeatable flag such as --label-priority LABEL=N was given."""
    found: dict[str, int] = {}
    for item in items if isinstance(items, list | tuple) else ():
        name, _, value = str(item).rpartition("=")
        if not name.strip() or not _STEP.fullmatch(value.strip()):
            raise ConfigError(f"{flag.name}: expected {flag.metavar}, found {item!r}")
        found[" ".join(name.split())] = int(value)
    return found


def _table(flag: Flag, items: object) -> dict[str, str]:
    """Return the pairs that a repeatable flag such as --resolve HOST:ADDR was given."""
    mark = "=" if "=" in flag.metavar else ":"
    found: dict[str, str] = {}
    for item in items if isinstance(items, list | tuple) else ():
        name, separator, value = str(item).partition(mark)
        if not name or not separator or not value:
            is_secret = flag.knob in SECRET_KNOBS
            shown = " (the value is secret and not shown)" if is_secret else f", found {item!r}"
            raise ConfigError(f"{flag.name}: expected {flag.metavar}{shown}")
        found[name.lower()] = value
    return found
