"""OriginGate: rules that judge by scheme, host and port are asked once per origin.

A rule that is asked about an origin answers with one of three: None (nothing against any URL
there), an Objection (to every URL there), or a test that must look at each link.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from gossamer.model import Link, LinkKind, Objection, Reject, Url
from gossamer.urls import is_bad_port

LinkTest: TypeAlias = Callable[[Link, str], Objection | None]
OriginRule: TypeAlias = Callable[[Url], Objection | LinkTest | None]

ORIGINS_KEPT = 65_536

WEB_SCHEMES = frozenset({"http", "https"})
OWN_SCHEMES = frozenset({"file", "ftp"})


class OriginGate:
    """A UrlFilter made of origin rules, with their verdict on each origin remembered."""

    def __init__(self, rules: Sequence[OriginRule]) -> None:
        self._rules = tuple(rules)
        self._verdicts: dict[str, tuple[LinkTest, ...]] = {}

    def __call__(self, link: Link, _depth: int, source: str) -> Objection | None:
        """Return the first objection of the rules."""
        url = link.target
        tests = self._verdicts.get(url.origin)
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
        """Ask all rules anew, because one of them has changed its mind."""
        self._verdicts.clear()

    def _ask(self, url: Url) -> tuple[LinkTest, ...]:
        tests: list[LinkTest] = []
        for rule in self._rules:
            answer = rule(url)
            if isinstance(answer, Objection):
                tests.append(_always(answer))
                break
            if answer is not None:
                tests.append(answer)
        if len(self._verdicts) >= ORIGINS_KEPT:
            self._verdicts.clear()
        self._verdicts[url.origin] = tuple(tests)
        return self._verdicts[url.origin]


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
