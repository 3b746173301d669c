"""Rules that judge by scheme, host and port: asked once per origin.

A rule that is asked about an origin answers with one of three: None (nothing against any URL
there), an Objection (to every URL there), or a test that must look at each link.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from gossamer.errors import ConfigError
from gossamer.model import Link, LinkKind, Objection, Reject, Url
from gossamer.urls import Patterns, is_bad_port, registrable_domain

LinkTest: TypeAlias = Callable[[Link, str], Objection | None]
OriginRule: TypeAlias = Callable[[Url], Objection | LinkTest | None]
Reach: TypeAlias = Literal["any", "domain", "host", "prefix"]

ORIGINS_KEPT = 65_536

WEB_SCHEMES = frozenset({"http", "https"})
OWN_SCHEMES = frozenset({"file", "ftp"})


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


def _always(objection: Objection) -> LinkTest:
    return lambda _link, _source: objection


def scheme(url: Url) -> Objection | LinkTest | None:
    """Refuse what we cannot fetch; file and ftp only as seeds and from pages of their own."""
    name = url.scheme
    if name in WEB_SCHEMES:
        return None
    objection = Objection(Reject.SCHEME, name)
    if name not in OWN_SCHEMES:
        return objection

    def from_its_own(link: Link, source: str) -> Objection | None:
        is_own = link.kind is LinkKind.SEED or source.startswith(f"{name}:")
        return None if is_own else objection

    return from_its_own


def bad_port(url: Url) -> Objection | LinkTest | None:
    """Refuse ports that belong to other protocols. (A scheme's default port is never written.)"""
    port = url.origin.rpartition(":")[2]
    if port.isdigit() and is_bad_port(int(port)):
        return Objection(Reject.BAD_PORT, port)
    return None


def blocked(patterns: Patterns) -> OriginRule:
    """Refuse what a pattern matches."""

    def test(link: Link, _source: str) -> Objection | None:
        found = patterns.match_url(link.target.text)
        return Objection(Reject.BLOCKED, found) if found else None

    def rule(url: Url) -> Objection | LinkTest | None:
        found = patterns.match_host(url.host)
        if found:
            return Objection(Reject.BLOCKED, found)
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
        raise ConfigError(
            f"expected a readable text file as filter.blocklist, found {error}; "
            "name a file with one host or pattern per line"
        ) from None
    found = (line.partition("#")[0].strip() for line in lines)
    return [pattern for pattern in found if pattern]


class Scope:
    """How far from the seeds the crawl may go: their domains, hosts or folders, as an origin rule.

    More seeds widen it.
    """

    def __init__(self, reach: Reach, seeds: Iterable[Url]) -> None:
        self._reach = reach
        self._domains: set[str] = set()
        self._folders: dict[str, set[str]] = {}
        for seed in seeds:
            self.add_seed(seed)

    def add_seed(self, seed: Url) -> None:
        """Widen the scope by one seed."""
        self._domains.add(registrable_domain(seed.host))
        self._folders.setdefault(seed.host, set()).add(folder_of(seed))

    def __call__(self, url: Url) -> Objection | LinkTest | None:
        """Return what the scope has against an origin, or the test for its URLs."""
        match self._reach:
            case "any":
                return None
            case "domain":
                domain = registrable_domain(url.host)
                return None if domain in self._domains else Objection(Reject.OFF_SCOPE, domain)
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
