"""Flags: which argument of `gossamer crawl` turns which knob. Data, and one pure function."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from gossamer.config import Config
from gossamer.errors import ConfigError
from gossamer.settings import to_config

Shape: TypeAlias = Literal["number", "count", "text", "switch", "list", "table"]
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
    Flag("--order", "frontier.order", "text", _WANT, "bfs"),
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


def with_flags(config: Config, given: Mapping[str, object]) -> Config:
    """Return the configuration with the flags that were given; the others keep their values.

    A flag replaces its knob's value, lists and tables included. `given` holds values by
    `Flag.parameter`; None and empty lists were not given.
    """
    data: dict[str, object] = msgspec.to_builtins(config)
    names: dict[str, str] = {}
    for flag in FLAGS:
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
            raise ConfigError(f"{flag.name}: expected {flag.metavar} (what was found is not shown)")
        found[name.lower()] = value
    return found
