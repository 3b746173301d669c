"""Options of a crawl as keyword arguments: the flags of `gossamer crawl`, spelled with "_"."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypedDict

import msgspec
from msgspec.structs import replace

from gossamer.config import Config
from gossamer.errors import ConfigError
from gossamer.settings import to_config


class CrawlOptions(TypedDict, total=False):
    """The options that `run` takes; each has the meaning of the flag of that name."""

    max_pages: int
    max_time: float
    max_bytes: int
    scope: Literal["any", "domain", "host", "prefix"]
    scheme: Sequence[str]
    allow: Sequence[str]
    block: Sequence[str]
    max_depth: int
    order: Literal["bfs", "best", "opic", "dfs"]
    score: str
    ranks: str
    scores: str
    label_priority: Mapping[str, int]
    ascend: bool
    sitemaps: bool
    embeds: bool
    requisites: bool
    store: str
    local_archive: bool
    shards: int
    concurrency: int
    delay: float
    max_body: int
    cookies: bool
    insecure: bool
    user_agent: str
    contact: str
    header: Sequence[str]
    header_everywhere: bool
    auth: Mapping[str, str]
    proxy: str
    resolve: Mapping[str, str]
    allow_net: Sequence[str]
    allow_private: bool


KNOBS: Mapping[str, str] = {
    "rate": "watch.rate_per_s",
    "max_pages": "limits.max_pages",
    "max_time": "limits.max_time_s",
    "max_bytes": "limits.max_bytes",
    "scope": "filter.scope",
    "scheme": "filter.schemes",
    "allow": "filter.allow",
    "block": "filter.block",
    "max_depth": "filter.max_depth",
    "order": "frontier.order",
    "score": "frontier.score",
    "ranks": "frontier.ranks",
    "scores": "frontier.scores",
    "label_priority": "frontier.labels",
    "ascend": "frontier.ascend",
    "sitemaps": "process.sitemaps",
    "embeds": "process.embeds",
    "requisites": "process.requisites",
    "store": "store.url",
    "local_archive": "store.local_archive",
    "shards": "shards",
    "concurrency": "concurrency",
    "delay": "politeness.delay_s",
    "max_body": "fetch.max_body_bytes",
    "cookies": "fetch.cookies",
    "insecure": "fetch.insecure",
    "user_agent": "fetch.user_agent",
    "contact": "fetch.contact",
    "header": "fetch.headers",
    "header_everywhere": "fetch.header_everywhere",
    "auth": "fetch.auth",
    "proxy": "fetch.proxy",
    "resolve": "fetch.resolve",
    "allow_net": "fetch.allow_net",
    "allow_private": "fetch.allow_private",
}
"""The key of crawl.toml that each option sets."""


def with_options(config: Config, options: Mapping[str, object]) -> Config:
    """Return a configuration with some options; the others keep their values."""
    data: dict[str, object] = msgspec.to_builtins(config)
    for name, value in options.items():
        if name not in KNOBS:
            raise ConfigError(f"unknown option {name!r}; expected one of {', '.join(KNOBS)}")
        section, _, knob = KNOBS[name].rpartition(".")
        table = data[section] if section else data
        if isinstance(table, dict):
            table[knob] = _plain(value)
    return to_config(data)


class RunOptions(NamedTuple):
    """What options mean: settings that stay, and the time limit of this run."""

    config: Config
    max_time_s: float | None


def settle_options(config: Config, options: Mapping[str, object]) -> RunOptions:
    """Return a configuration with some options, and what they give for this run only."""
    asked = with_options(config, options)
    max_time_s = asked.limits.max_time_s if "max_time" in options else None
    limits = replace(asked.limits, max_time_s=config.limits.max_time_s)
    return RunOptions(replace(asked, limits=limits), max_time_s)


def _plain(value: object) -> object:
    """Return a value as TOML would hold it."""
    match value:
        case str() | None:
            return value
        case Mapping():
            return {str(name): item for name, item in value.items()}
        case Sequence():
            return list(value)
        case _:
            return value
