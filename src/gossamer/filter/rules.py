"""The rules of the chain, by what they look at: each link, or the origin that it leads to.

Of each link: rel, length, extension, depth, trap shapes, its host's budget, the user's own. Of its
origin, judged once for all its links: scheme, port, scope, allow and block lists.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Literal, NoReturn, TypeAlias

from gossamer.config import FilterConfig
from gossamer.errors import ConfigError
from gossamer.log import OnUserError, describe_error, ignore_error, tell
from gossamer.machine import installed_points
from gossamer.model import EMBEDDED, Link, LinkKind, Objection, Reject, Url
from gossamer.urls import Patterns, is_bad_port, registrable_domain

UrlFilter: TypeAlias = Callable[[Link, int, str], Objection | None]
"""(link, depth of its target, text of the linking URL or "" for a seed) → objection, or None."""

UserRule: TypeAlias = Callable[[Link], str | None]
"""What a user writes: the objection to a link in words, or None."""

GROUP = "gossamer.filters"
MAX_SEGMENTS = 24
"""Deeper paths are a maze: honest sites stay far below."""
MAX_CYCLE = 3
"""The longest cycle of segments that is looked for: /a/b/c/a/b/c/a/b/c."""

FOLDERS_KEPT = 65_536

_NAMED_ON_PURPOSE = frozenset({LinkKind.SEED, LinkKind.SITEMAP})
_FONTS = frozenset({"woff", "woff2"})
_NEVER = 1 << 62


def shape(config: FilterConfig, *, requisites: bool = False) -> UrlFilter:
    """Refuse, in this order: nofollow links, long URLs, extensions, deep links, trap shapes.

    One function does all of it, because it runs for every new link of every page.
    Extensions are not held against a seed or a sitemap's entry: someone asked for just this file.
    Nor are they, and depth, against `requisites` of a page, but for films and sounds.
    """
    freed = EMBEDDED if requisites else frozenset[LinkKind]()
    max_chars, max_repeats = config.max_url_chars, config.max_repeats
    max_depth = _NEVER if config.max_depth is None else config.max_depth
    too_long = Objection(Reject.TOO_LONG, f"more than {max_chars} characters")
    too_deep = Objection(Reject.TOO_DEEP, f"deeper than {max_depth}")
    extensions = {
        name: Objection(Reject.EXTENSION, name)
        for name in (given.lower().removeprefix(".") for given in config.block_extensions)
    }

    def object_to(link: Link, depth: int, _source: str) -> Objection | None:
        text = link.target.text
        if link.rel and link.is_nofollow:
            return Objection(Reject.NOFOLLOW, link.rel)
        if len(text) > max_chars:
            return too_long
        path = text[: text.index("?")] if "?" in text else text
        folder, _, name = path.rpartition("/")
        extension = extensions.get(name[name.rfind(".") + 1 :].lower()) if "." in name else None
        if extension is not None and link.kind not in _NAMED_ON_PURPOSE:
            is_media = link.kind is LinkKind.MEDIA and extension.detail not in _FONTS
            if is_media or link.kind not in freed:
                return extension
        if depth > max_depth and link.kind not in freed:
            return too_deep
        if path is text and is_straight(folder, max_repeats):
            return None
        return _trap(link.target.target, max_repeats)

    return object_to


@lru_cache(maxsize=FOLDERS_KEPT)
def is_straight(folder: str, max_repeats: int) -> bool:
    """Return True if no name below a folder could make a trap shape: asked once per folder."""
    parts = folder.split("/")
    return len(parts) - len(set(parts)) + 1 < max_repeats and len(parts) < MAX_SEGMENTS


def _trap(target: str, max_repeats: int) -> Objection | None:
    """Object to paths that go round in circles, endless paths, and parameters that pile up.

    Only what repeats without a break is a circle: /a/b/a/c/a passes, /a/b/a/b/a/b does not.
    """
    path, _, query = target.partition("?")
    if path.count("/") > MAX_SEGMENTS:
        return Objection(Reject.REPEATED_SEGMENTS, f"more than {MAX_SEGMENTS} segments")
    circle = re.search(rf"((?:/[^/]*){{1,{MAX_CYCLE}}}?)\1{{{max_repeats}}}(?=/|$)", path)
    if circle:
        return Objection(Reject.REPEATED_SEGMENTS, circle.group(1))
    if query.count("&") >= max_repeats:
        pair, count = Counter(query.split("&")).most_common(1)[0]
        if pair and count > max_repeats:
            return Objection(Reject.REPEATED_SEGMENTS, pair)
    return None


def host_budget(
    max_urls: int, host_count: Callable[[str], int], kept: Mapping[str, int]
) -> UrlFilter:
    """Refuse further URLs of a host that already has its share of the queue.

    The links of a page are judged before any of them is taken. So those that were kept so far
    count too, or one sitemap could hold more than a host's budget.
    """
    objection = Objection(Reject.HOST_BUDGET, f"{max_urls} URLs of this host are taken")

    def object_to(link: Link, _depth: int, _source: str) -> Objection | None:
        host = link.target.host
        return objection if host_count(host) + kept.get(host, 0) >= max_urls else None

    return object_to


LinkTest: TypeAlias = Callable[[Link, str], Objection | None]
OriginRule: TypeAlias = Callable[[Url], Objection | LinkTest | None]
Reach: TypeAlias = Literal["any", "domain", "host", "prefix"]

ORIGINS_KEPT = 65_536

WEB_SCHEMES = frozenset({"http", "https"})
_LOCAL = "file"
"""The scheme of what lies on this machine."""


class OriginFilter:
    """A UrlFilter made of origin rules, with their answers on each origin remembered."""

    def __init__(self, rules: Sequence[OriginRule]) -> None:
        self._rules = tuple(rules)
        self._tests: dict[str, tuple[LinkTest, ...]] = {}

    def __call__(self, link: Link, _depth: int, source: str) -> Objection | None:
        """Return the first objection of the rules."""
        url = link.target
        tests = self._tests.get(url.origin)
        if tests is None:
            tests = self._ask(url)
        if not tests:
            return None
        for test in tests:
            objection = test(link, source)
            if objection is not None:
                return objection
        return None

    def forget(self) -> None:
        """Ask all rules anew, because one of them has changed."""
        self._tests.clear()

    def _ask(self, url: Url) -> tuple[LinkTest, ...]:
        tests: list[LinkTest] = []
        for rule in self._rules:
            answer = rule(url)
            if isinstance(answer, Objection):
                tests.append(_always(answer))
                break
            if answer is not None:
                tests.append(answer)
        if len(self._tests) >= ORIGINS_KEPT:
            self._tests.clear()
        self._tests[url.origin] = tuple(tests)
        return self._tests[url.origin]


class RequisiteOrigins:
    """A UrlFilter of origins that has other rules for what pages are made of than for pages."""

    def __init__(self, pages: OriginFilter, requisites: OriginFilter) -> None:
        self._pages, self._requisites = pages, requisites

    def __call__(self, link: Link, depth: int, source: str) -> Objection | None:
        """Return the first objection of the rules for links of this kind."""
        rules = self._requisites if link.kind in EMBEDDED else self._pages
        return rules(link, depth, source)


def _always(objection: Objection) -> LinkTest:
    return lambda _link, _source: objection


class Schemes:
    """Which schemes are followed: those that are wanted, and those of the seeds, as an origin rule.

    But no page of the web leads to this machine: file: only as a seed, and from local pages.
    """

    def __init__(self, wanted: Iterable[str], seeds: Iterable[Url]) -> None:
        self._wanted = set(wanted) - {_LOCAL}
        for seed in seeds:
            self.add_seed(seed)

    def add_seed(self, seed: Url) -> None:
        """Follow links of a seed's scheme, too; http and https are one."""
        self._wanted |= WEB_SCHEMES if seed.scheme in WEB_SCHEMES else {seed.scheme} - {_LOCAL}

    def __call__(self, url: Url) -> Objection | LinkTest | None:
        """Return what there is against an origin, or the test for its URLs."""
        name = url.scheme
        if name in self._wanted:
            return None
        objection = Objection(Reject.SCHEME, name)

        def unless_named(link: Link, source: str) -> Objection | None:
            is_local = name == _LOCAL and source.startswith(f"{_LOCAL}:")
            return None if is_local or link.kind is LinkKind.SEED else objection

        return unless_named


def bad_port(url: Url) -> Objection | LinkTest | None:
    """Refuse ports that belong to other protocols. (A scheme's default port is never written.)"""
    port = url.origin.rpartition(":")[2]
    if port.isdigit() and is_bad_port(int(port)):
        return Objection(Reject.BAD_PORT, port)
    return None


def blocked(patterns: Patterns, reason: Reject = Reject.BLOCKED) -> OriginRule:
    """Refuse what a pattern matches."""

    def test(link: Link, _source: str) -> Objection | None:
        found = patterns.match_url(link.target.text)
        return Objection(reason, found) if found else None

    def rule(url: Url) -> Objection | LinkTest | None:
        found = patterns.match_host(url.host)
        if found:
            return Objection(reason, found)
        return test if patterns.has_url_patterns else None

    return rule


def allowed(patterns: Patterns) -> OriginRule:
    """Refuse what no pattern matches; an empty list allows everything."""
    objection = Objection(Reject.NOT_ALLOWED, "matches no allow pattern")

    def test(link: Link, _source: str) -> Objection | None:
        return None if patterns.match_url(link.target.text) else objection

    def rule(url: Url) -> Objection | LinkTest | None:
        if not patterns or patterns.match_host(url.host):
            return None
        return test if patterns.has_url_patterns else objection

    return rule


def read_blocklist(path: Path) -> Sequence[str]:
    """Return the patterns of a file with one per line; # starts a comment."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(
            f"filter.blocklist: cannot read {path}: {why}; "
            "expected a text file with one host or pattern per line"
        ) from None
    found = (line.partition("#")[0].strip() for line in lines)
    return [pattern for pattern in found if pattern]


class Scope:
    """How far from the seeds the crawl may go: their domains, hosts or folders, as an origin rule.

    More seeds widen it. A host may have a reach of its own: that decides about its URLs and, if it
    is a seed's, how far the crawl may go from that seed.
    """

    def __init__(
        self, reach: Reach, seeds: Iterable[Url], own: Mapping[str, Reach] | None = None
    ) -> None:
        self._reach = reach
        self._own = own or {}
        self._domains: set[str] = set()
        self._open_domains: set[str] = set()
        """Domains of seeds from which all their hosts may be reached."""
        self._folders: dict[str, set[str]] = {}
        for seed in seeds:
            self.add_seed(seed)

    def add_seed(self, seed: Url) -> None:
        """Widen the scope by one seed."""
        domain = registrable_domain(seed.host)
        self._domains.add(domain)
        if self._own.get(seed.host, self._reach) == "domain":
            self._open_domains.add(domain)
        self._folders.setdefault(seed.host, set()).add(folder_of(seed))

    def __call__(self, url: Url) -> Objection | LinkTest | None:
        """Return what the scope has against an origin, or the test for its URLs."""
        own = self._own.get(url.host)
        if own is None and registrable_domain(url.host) in self._open_domains:
            return None
        match own or self._reach:
            case "any":
                return None
            case "domain":
                domain = registrable_domain(url.host)
                is_near = own is not None and domain in self._domains
                return None if is_near else Objection(Reject.OFF_SCOPE, domain)
            case "host":
                return None if url.host in self._folders else _off(url.host)
            case "prefix":
                return self._within_folders(url)

    def _within_folders(self, url: Url) -> Objection | LinkTest | None:
        folders = tuple(self._folders.get(url.host, ()))
        if not folders:
            return _off(url.host)
        shown = " ".join(sorted(folders))

        def within(link: Link, _source: str) -> Objection | None:
            rest = link.target.text.partition(":")[2]
            return None if rest.startswith(folders) else _off(f"not below {shown}")

        return within


def folder_of(url: Url) -> str:
    """Return the URL up to the last slash of its path, without the scheme.

    A site that moved from http to https is still the same site.
    """
    path = url.text.partition("?")[0]
    return path[: path.rindex("/") + 1].partition(":")[2] if "/" in path else url.text


def _off(detail: str) -> Objection:
    return Objection(Reject.OFF_SCOPE, detail)


class UserFilter:
    """A filter of the user's own, which cannot end the crawl.

        from gossamer import url_filter

        @url_filter
        def no_print_views(link):
            return "print view" if link.target.text.endswith("/print") else None

    It says what it has against a link: a text refuses it, and None or "" has nothing against it.
    Name it in `crawl.toml` as `user_filters = ["module:no_print_views"]`, hand it to `Crawl(...)`,
    or register it in the entry-point group `gossamer.filters`.

    A call that raises, or returns what is no objection, refuses the link as `filter_failed` and is
    reported to `on_error`; the first is logged.

    It is asked once about each new link, and once more at the turn of a URL that was queued before
    the present start of the crawl, or before its rules were changed. What the page said around the
    link was not kept: a filter that wants to know it then has said all that it can say.
    """

    def __init__(
        self,
        rule: Callable[..., object],
        name: str,
        on_error: OnUserError = ignore_error,
    ) -> None:
        self.name = name
        self._rule = rule
        self._on_error = on_error
        self._has_told = False

    def __call__(self, link: Link, depth: int, source: str) -> Objection | None:
        """Return the rule's objection to a link."""
        return self._ask(link, depth, source)

    def judge_queued(self, url: Url, kind: LinkKind, depth: int, via: str) -> Objection | None:
        """Return the rule's objection to a URL that is queued."""
        return self._ask(QueuedLink(url, kind), depth, via)

    def _ask(self, link: "Link | QueuedLink", depth: int, source: str) -> Objection | None:
        try:
            return _checked_objection(self._rule(link, depth, source))
        except KeyboardInterrupt:
            raise
        except _NotKept:
            return None
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
        return Objection(Reject.FILTER_FAILED, detail)


class _NotKept(Exception):
    """A filter asks of a queued link what was not kept."""


class QueuedLink:
    """The link to a URL that is queued, as filters know links: what its page said is not kept."""

    __slots__ = ("kind", "target")

    def __init__(self, target: Url, kind: LinkKind) -> None:
        self.target = target
        self.kind = kind

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse to make up what a link has besides."""
        if name in _OF_ITS_PAGE:
            raise _NotKept
        raise AttributeError(name)


_OF_ITS_PAGE = frozenset({"text", "rel", "is_nofollow", "is_sitemap"})


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
    return [named_filter(point.value) for point in installed_points(GROUP)]


def _as_filter(found: object, where: str) -> UrlFilter:
    if isinstance(found, UserFilter):
        return found
    if not callable(found):
        raise ConfigError(
            f"{where}: expected a function, found {type(found).__name__}; "
            "check the name after the colon"
        )
    return url_filter(found)
