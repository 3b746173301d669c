"""build_chain: the filters of a crawl, in the order in which they are asked."""

from collections.abc import Callable, Sequence
from pathlib import Path

from gossamer.config import FilterConfig
from gossamer.filter import gate
from gossamer.filter.api import UrlFilter
from gossamer.filter.budget import host_budget
from gossamer.filter.chain import FilterChain
from gossamer.filter.lists import allowed, blocked, read_blocklist
from gossamer.filter.load import installed_filters, named_filter
from gossamer.filter.scope import Scope
from gossamer.filter.shape import shape
from gossamer.model import EMBEDDED, FOLLOWED, Url
from gossamer.urls import Patterns


def build_chain(
    config: FilterConfig,
    seeds: Sequence[Url],
    host_count: Callable[[str], int],
    *,
    follow_embeds: bool,
    extra: Sequence[UrlFilter] = (),
) -> FilterChain:
    """Return the chain for a configuration; ConfigError if a pattern or a filter is no good.

    `host_count` tells how many URLs of a host are already taken. `extra` filters are asked last.
    """
    scope = Scope(config.scope, seeds)
    origins = gate.OriginGate(
        [
            gate.scheme,
            gate.bad_port,
            blocked(Patterns([*config.block, *_blocklist(config)])),
            allowed(Patterns(config.allow)),
            scope,
        ]
    )
    kept: dict[str, int] = {}
    budget = host_budget(config.max_urls_per_host, host_count, kept)

    def widen(seed: Url) -> None:
        scope.add_seed(seed)
        origins.forget()

    return FilterChain(
        [origins, shape(config), budget, *_by_others(config), *extra],
        kinds=FOLLOWED | EMBEDDED if follow_embeds else FOLLOWED,
        widen=widen,
        kept_by_host=kept,
    )


def _by_others(config: FilterConfig) -> list[UrlFilter]:
    return [*(named_filter(name) for name in config.user_filters), *installed_filters()]


def _blocklist(config: FilterConfig) -> Sequence[str]:
    return read_blocklist(Path(config.blocklist)) if config.blocklist else ()
