"""FilterChain: the filters of a crawl, in the order in which they are asked."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gossamer.config import FilterConfig
from gossamer.errors import ConfigError
from gossamer.filter.rules import (
    OriginFilter,
    Reach,
    Scope,
    UrlFilter,
    UserFilter,
    allowed,
    bad_port,
    blocked,
    host_budget,
    installed_filters,
    named_filter,
    read_blocklist,
    scheme,
    shape,
)
from gossamer.log import OnUserError
from gossamer.model import EMBEDDED, FOLLOWED, Link, LinkKind, Objection, Url
from gossamer.urls import Patterns


def _ignore(_seed: Url) -> None:
    """Stand in for a scope in chains that have none."""


class FilterChain:
    """The first objection wins; objections are counted. `build_chain` makes one."""

    def __init__(
        self,
        filters: Sequence[UrlFilter],
        *,
        kinds: frozenset[LinkKind] = FOLLOWED,
        widen: Callable[[Url], None] = _ignore,
        kept_by_host: dict[str, int] | None = None,
    ) -> None:
        self._filters = tuple(filters)
        self._kinds = kinds
        self._widen = widen
        self._kept_by_host = {} if kept_by_host is None else kept_by_host
        """While the links of one page are judged: those of them that are wanted, by host."""

    def reporting_to(self, on_error: OnUserError) -> "FilterChain":
        """Return the same chain, whose user filters report every exception to `on_error`."""
        return FilterChain(
            [f.reporting_to(on_error) if isinstance(f, UserFilter) else f for f in self._filters],
            kinds=self._kinds,
            widen=self._widen,
            kept_by_host=self._kept_by_host,
        )

    def add_seed(self, seed: Url) -> None:
        """Widen the scope by a seed that was added to the running crawl."""
        self._widen(seed)

    def judge(self, link: Link, depth: int, source: str = "") -> Objection | None:
        """Return the first objection to a link; None if it is wanted.

        `depth` is that of the link's target, `source` the text of the URL that links it.
        """
        for object_to in self._filters:
            objection = object_to(link, depth, source)
            if objection is not None:
                return objection
        return None

    def keep(
        self, links: Sequence[Link], depth: int, source: str = ""
    ) -> tuple[list[Link], dict[str, int]]:
        """Return the wanted links of a page, and how many each reason refused.

        Links of kinds that are never followed (forms, and embeds unless asked for) are no
        candidates: neither kept nor counted.
        """
        kept: list[Link] = []
        refused: dict[str, int] = {}
        filters, kinds, by_host = self._filters, self._kinds, self._kept_by_host
        for link in links:
            if link.kind not in kinds:
                continue
            for object_to in filters:
                objection = object_to(link, depth, source)
                if objection is not None:
                    reason = objection.reason.value
                    refused[reason] = refused.get(reason, 0) + 1
                    break
            else:
                kept.append(link)
                host = link.target.host
                by_host[host] = by_host.get(host, 0) + 1
        by_host.clear()
        return kept, refused


def build_chain(
    config: FilterConfig,
    seeds: Sequence[Url],
    host_count: Callable[[str], int],
    *,
    follow_embeds: bool,
    extra: Sequence[UrlFilter] = (),
    scopes: Mapping[str, Reach] | None = None,
) -> FilterChain:
    """Return the chain for a configuration; ConfigError if a pattern or a filter is invalid.

    `host_count` returns how many URLs of a host were queued. `extra` filters are asked last.
    `scopes` are those of hosts that have one of their own.
    """
    scope = Scope(config.scope, seeds, scopes)
    origins = OriginFilter(
        [
            scheme,
            bad_port,
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


def check_patterns(config: FilterConfig, trusted: Sequence[str]) -> None:
    """Raise `ConfigError` for a pattern that cannot be read, with the setting it belongs to."""
    for name, patterns in (
        ("traps.trust", trusted),
        ("filter.allow", config.allow),
        ("filter.block", config.block),
        ("filter.blocklist", _blocklist(config)),
    ):
        try:
            Patterns(patterns)
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from None
