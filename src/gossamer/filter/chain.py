"""FilterChain: the filters of a crawl, in the order in which they are asked.

And which links of a page are put to them at all: others are not judged.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from zlib import crc32

import msgspec

from gossamer.config import FilterConfig, ProcessConfig
from gossamer.errors import ConfigError
from gossamer.filter.rules import (
    OriginFilter,
    OriginRule,
    Reach,
    RequisiteOrigins,
    Schemes,
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
    shape,
)
from gossamer.log import OnUserError
from gossamer.model import (
    EMBEDDED,
    FOLLOWED,
    MAX_NESTING,
    MAX_REQUISITE_NESTING,
    Link,
    LinkKind,
    Objection,
    Reject,
    Task,
    Url,
)
from gossamer.urls import Patterns

PAGE_TYPES = frozenset({"text/html", "application/xhtml+xml"})
NO_KINDS: frozenset[LinkKind] = frozenset()


def _ignore(_seed: Url) -> None:
    """Stand in for a scope in chains that have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterRules:
    """What a chain judges by."""

    filters: tuple[UrlFilter, ...]
    """Asked about new links."""
    lasting: tuple[UrlFilter, ...] = ()
    """Those of them that are asked again about a URL that is queued."""
    of_users: tuple[UserFilter, ...] = ()
    """The same of the user's own."""
    checksum: int = 0
    """Two chains with the same one refuse the same."""
    kinds: frozenset[LinkKind] = FOLLOWED
    widen: Callable[[Url], None] = _ignore
    kept_by_host: dict[str, int] = field(default_factory=dict)
    """While the links of one page are judged: those of them that are wanted, by host."""
    pages: UrlFilter | None = None
    """What decides whether a URL may be a page of the crawl, if requisites may be others."""


class FilterChain:
    """The first objection wins; objections are counted. `build_chain` makes one."""

    def __init__(self, rules: FilterRules) -> None:
        self.rules = rules
        self.checksum = rules.checksum

    def reporting_to(self, on_error: OnUserError) -> "FilterChain":
        """Return the same chain, whose user filters report every exception to `on_error`."""
        rules = self.rules
        new = {one: one.reporting_to(on_error) for one in rules.of_users}
        filters = tuple(new[one] if isinstance(one, UserFilter) else one for one in rules.filters)
        of_users = tuple(new[one] for one in rules.of_users)
        return FilterChain(replace(rules, filters=filters, of_users=of_users))

    def adopt(self, other: "FilterChain") -> None:
        """Judge by the rules of another chain from now on."""
        self.rules = other.rules
        self.checksum = other.checksum

    def add_seed(self, seed: Url) -> None:
        """Widen the scope by a seed that was added to the running crawl."""
        self.rules.widen(seed)

    def judge(self, link: Link, depth: int, source: str = "") -> Objection | None:
        """Return the first objection to a link; None if it is wanted.

        `depth` is that of the link's target, `source` the text of the URL that links it.
        """
        for object_to in self.rules.filters:
            objection = object_to(link, depth, source)
            if objection is not None:
                return objection
        return None

    def judge_queued(self, task: Task) -> Objection | None:
        """Return the first objection to a URL that is queued, its turn has come; None if none.

        Not asked again is what depends on the moment at which it was found: the budget of its host.
        """
        url, kind, depth, via = task.url, task.kind, task.depth, task.via
        rules = self.rules
        if kind in EMBEDDED and kind not in rules.kinds:
            return Objection(Reject.NOT_FOLLOWED, f"as {kind.value}")
        link = Link(target=url, kind=kind)
        for object_to in rules.lasting:
            if (objection := object_to(link, depth, via)) is not None:
                return objection
        for user_filter in rules.of_users:
            if (objection := user_filter.judge_queued(url, kind, depth, via)) is not None:
                return objection
        return None

    def takes_page(self, url: Url, source: str = "") -> bool:
        """Return True if a URL is in the scope of pages; others are stored as requisites only."""
        pages = self.rules.pages
        return pages is None or pages(Link(target=url, kind=LinkKind.ANCHOR), 0, source) is None

    def keep(
        self, links: Sequence[Link], depth: int, source: str = ""
    ) -> tuple[list[Link], dict[str, int]]:
        """Return the wanted links of a page, and how many each reason refused.

        Links of kinds that are never followed (forms, and embeds unless asked for) are no
        candidates: neither kept nor counted.
        """
        kept: list[Link] = []
        refused: dict[str, int] = {}
        rules = self.rules
        filters, kinds, by_host = rules.filters, rules.kinds, rules.kept_by_host
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
    requisites: bool = False,
    extra: Sequence[UrlFilter] = (),
    scopes: Mapping[str, Reach] | None = None,
    run: int = 0,
    changes: int = 0,
) -> FilterChain:
    """Return the chain for a configuration; ConfigError if a pattern or a filter is invalid.

    `host_count` returns how many URLs of a host were queued. With `requisites` what pages are made
    of is wanted from any host: neither scope nor `allow` is held against it. `extra` filters are
    asked last. `scopes` are those of hosts that have one of their own. `run` is another number at
    every start: nobody can tell whether the code of a user's filter is the same. `changes` counts
    those of the rules since: what a page brings that was asked for under others is judged again.
    """
    scope, schemes = Scope(config.scope, seeds, scopes), Schemes(config.schemes, seeds)
    blocklist = _blocklist(config)
    anywhere: list[OriginRule] = [
        blocked(Patterns(config.drop), Reject.DROPPED),
        *(schemes, bad_port, blocked(Patterns([*config.block, *blocklist]))),
    ]
    pages = OriginFilter([*anywhere, allowed(Patterns(config.allow)), scope])
    of_requisites = OriginFilter(anywhere)
    origins = RequisiteOrigins(pages, of_requisites) if requisites else pages
    kept: dict[str, int] = {}
    budget = host_budget(config.max_urls_per_host, host_count, kept)
    shapes = shape(config, requisites=requisites)
    others = [*_by_others(config), *extra]
    of_users = [one for one in others if isinstance(one, UserFilter)]
    own = dict(scopes or {})
    texts = sorted({seed.text for seed in seeds})
    rules = (config, blocklist, own, texts, follow_embeds, *(["requisites"] if requisites else []))

    def widen(seed: Url) -> None:
        scope.add_seed(seed)
        schemes.add_seed(seed)
        pages.forget()
        of_requisites.forget()

    return FilterChain(
        FilterRules(
            filters=(origins, shapes, budget, *others),
            lasting=(origins, shapes),
            of_users=tuple(of_users),
            checksum=_checksum(rules, run if of_users else 0, changes),
            kinds=FOLLOWED | EMBEDDED if follow_embeds or requisites else FOLLOWED,
            widen=widen,
            kept_by_host=kept,
            pages=pages if requisites else None,
        )
    )


def _checksum(*rules: object) -> int:
    """Return a number that stands for rules; never 0, by which a task says that none judged it."""
    return crc32(msgspec.json.encode(rules)) or 1


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
        ("filter.drop", config.drop),
    ):
        try:
            Patterns(patterns)
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from None


def followed_kinds(
    task: Task,
    process: ProcessConfig,
    takes_page: Callable[[Url, str], bool],
    *,
    is_nofollow: bool,
    media_type: str,
) -> frozenset[LinkKind]:
    """Return the kinds of links of a document that are followed.

    What a page is made of leads to further requisites only, unless it is itself in the scope of
    pages; and to nothing if it is a page (an error in place of a picture), or too deeply nested.
    A page that asks robots not to follow its links still needs its requisites.
    """
    if not process.requisites:
        kinds = FOLLOWED | EMBEDDED if process.embeds else FOLLOWED
        return NO_KINDS if is_nofollow else kinds
    is_nested = task.kind in EMBEDDED and task.nesting >= MAX_REQUISITE_NESTING
    embedded = NO_KINDS if is_nested else EMBEDDED
    if task.kind in EMBEDDED and not takes_page(task.url, task.via):
        return NO_KINDS if media_type in PAGE_TYPES else embedded
    return embedded if is_nofollow else FOLLOWED | embedded


def sitemap_may_name(task: Task, link: Link) -> bool:
    """Return True if a sitemap may name a link: one to its own host, or to the host that named it.

    A sitemap that the user gave as a seed may name anything; the scope decides. Indexes of
    sitemaps that lead to further indexes are followed to a depth only, and so are sitemaps that
    name others as if they were pages: some have no end.
    """
    is_listed_as_page = task.kind is LinkKind.SITEMAP and not task.nesting and task.depth > 1
    if is_listed_as_page or (link.is_sitemap and task.nesting >= MAX_NESTING):
        return False
    host = link.target.host
    if task.kind is LinkKind.SEED or host == task.url.host:
        return True
    return task.via.partition("//")[2].startswith((f"{host}/", f"{host}:"))


def is_copy_in_place(url: str, original: str) -> bool:
    """Return True if a duplicate lies in its original's directory: then its links are the same.

    A page that is stored and fetched again for its links is no duplicate of itself.
    """
    return url != original and url.rpartition("/")[0] == original.rpartition("/")[0]
