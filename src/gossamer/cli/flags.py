"""Flags: which argument of `gossamer crawl` turns which knob. Data, and pure functions."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from gossamer.config import Config
from gossamer.errors import ConfigError
from gossamer.settings import SECRET_KNOBS, to_config

Shape: TypeAlias = Literal["number", "count", "text", "switch", "list", "table", "path"]
"""What a flag takes; "table" is a repeatable NAME and value."""


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

FLAGS: tuple[Flag, ...] = (
    Flag("--max-pages", "limits.max_pages", "count", _LIMITS, "N"),
    Flag("--max-time", "limits.max_time_s", "number", _LIMITS, "S"),
    Flag("--max-bytes", "limits.max_bytes", "count", _LIMITS, "N"),
    Flag("--scope", "filter.scope", "text", _WANT, "any|domain|host|prefix"),
    Flag("--allow", "filter.allow", "list", _WANT, "GLOB"),
    Flag("--block", "filter.block", "list", _WANT, "GLOB"),
    Flag("--max-depth", "filter.max_depth", "count", _WANT, "N"),
    Flag("--order", "frontier.order", "text", _WANT, "bfs|best|opic|dfs"),
    Flag("--score", "frontier.score", "text", _WANT, "MODULE:FUNCTION"),
    Flag("--ranks", "frontier.ranks", "text", _WANT, "FILE"),
    Flag("--ascend/--no-ascend", "frontier.ascend", "switch", _WANT),
    Flag("--sitemaps/--no-sitemaps", "process.sitemaps", "switch", _WANT),
    Flag("--embeds/--no-embeds", "process.embeds", "switch", _WANT),
    Flag("--shards", "shards", "count", _HOW, "N"),
    Flag("--concurrency", "concurrency", "count", _HOW, "N"),
    Flag("--delay", "politeness.delay_s", "number", _HOW, "S"),
    Flag("--max-body", "fetch.max_body_bytes", "count", _HOW, "N"),
    Flag("--cookies/--no-cookies", "fetch.cookies", "switch", _HOW),
    Flag("--insecure/--no-insecure", "fetch.insecure", "switch", _HOW),
    Flag("--user-agent", "fetch.user_agent", "text", _WHO, "UA"),
    Flag("--contact", "fetch.contact", "text", _WHO, "MAIL-OR-URL"),
    Flag("--header", "fetch.headers", "list", _WHO, "'K: V'"),
    Flag("--auth", "fetch.auth", "table", _WHO, "HOST=USER:PASS"),
    Flag("--proxy", "fetch.proxy", "text", _WHERE, "URL"),
    Flag("--resolve", "fetch.resolve", "table", _WHERE, "HOST:ADDR"),
    Flag("--allow-net", "fetch.allow_net", "list", _WHERE, "CIDR"),
    Flag("--allow-private/--no-allow-private", "fetch.allow_private", "switch", _WHERE),
)


_NOT_OF_A_WATCH = frozenset({"limits.max_time_s", "frontier.order", "filter.max_depth"})
WATCH_FLAGS: tuple[Flag, ...] = (
    Flag("--rate", "watch.rate_per_s", "number", _HOW, "REQUESTS_PER_S"),
    *(flag for flag in FLAGS if flag.knob not in _NOT_OF_A_WATCH),
)
"""The flags of `gossamer watch`."""


_OWN: dict[str, Shape] = {
    "--into": "path",
    "--seeds": "path",
    "--config": "path",
    "--index": "switch",
    "--json": "switch",
    "--verbose": "switch",
}
"""The flags that turn no knob."""
_COUNT, _NUMBER = re.compile(r"[0-9]{1,15}"), re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")


def plain_flags(words: Sequence[str]) -> dict[str, object] | None:
    """Return what a line of arguments to `crawl` gives, by parameter, if it is a plain one.

    Plain is: every flag spelled out, its value the next word and of the right form. Anything else,
    and anything wrong, is None, and left to the parser, which also has the words for it.
    """
    shapes = _plain_shapes()
    given: dict[str, object] = {}
    lists: dict[str, list[str]] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            lists.setdefault("seed", []).append(word)
            continue
        parameter, shape = shapes.get(word, ("", "text"))
        value = None if shape in {"on", "off"} or not parameter else next(rest, "")
        if not parameter or value == "" or (value or "").startswith("-"):
            return None
        if shape in {"list", "table"}:
            lists.setdefault(parameter, []).append(value or "")
        elif (read := _plain_value(shape, value or "")) is not None:
            given[parameter] = read
        else:
            return None
    return {**given, **lists} if "into" in given else None


@cache
def _plain_shapes() -> dict[str, tuple[str, str]]:
    """Return parameter and shape by the word that is typed; a switch is "on" or "off"."""
    found: dict[str, tuple[str, str]] = {}
    for name, shape, parameter in (
        *((flag.name, flag.shape, flag.parameter) for flag in FLAGS),
        *((name, shape, name.lstrip("-")) for name, shape in _OWN.items()),
    ):
        on, _, off = name.partition("/")
        found[on] = (parameter, "on" if shape == "switch" else shape)
        if off:
            found[off] = (parameter, "off")
    return found


def _plain_value(shape: str, value: str) -> object:
    """Return a value of some shape, or None if it is not plainly one."""
    match shape:
        case "on" | "off":
            return shape == "on"
        case "path":
            return Path(value)
        case "count":
            return int(value) if _COUNT.fullmatch(value) else None
        case "number":
            return float(value) if _NUMBER.fullmatch(value) else None
        case _:
            return value


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
        if value is None or value in ([], ()):
            continue
        section, _, knob = flag.knob.rpartition(".")
        table = data[section] if section else data
        if isinstance(table, dict):
            table[knob] = _table(flag, value) if flag.shape == "table" else value
        names[flag.knob] = flag.name.partition("/")[0]
    try:
        return to_config(data)
    except ConfigError as error:
        knob, _, complaint = str(error).partition(":")
        raise ConfigError(f"{names.get(knob, knob)}:{complaint}") from None


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
