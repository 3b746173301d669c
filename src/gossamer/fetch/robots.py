"""Robots: what a robots.txt says about a URL, and which line says so. Pure; RFC 9309.

Where RFC 9309 leaves a choice we read as the most used reader of robots.txt does: a missing colon
and five misspellings of Disallow are understood, and percent-encodings are compared as they are
written (letters of the hex digits aside), never decoded.
"""

import re
from itertools import groupby
from math import isfinite
from typing import TypeVar

from msgspec import Struct

_T = TypeVar("_T")

_BOM = b"\xef\xbb\xbf"
_TOKEN = re.compile(rb"[A-Za-z_-]+")
_HEX = re.compile(r"%[0-9A-Fa-f]{2}")
_OCTETS = [chr(octet) for octet in range(0x80)] + [f"%{octet:02X}" for octet in range(0x80, 0x100)]
_MAX_LINE_BYTES = 16_384
_MAX_LINE_SHOWN = 300
_MAX_SITEMAPS = 1_000

_FIELDS = {
    b"user-agent": "agent",
    b"useragent": "agent",
    b"user agent": "agent",
    b"allow": "allow",
    b"disallow": "disallow",
    b"dissallow": "disallow",
    b"dissalow": "disallow",
    b"disalow": "disallow",
    b"diasllow": "disallow",
    b"disallaw": "disallow",
    b"sitemap": "sitemap",
    b"site-map": "sitemap",
    b"crawl-delay": "delay",
}


class RobotsVerdict(Struct, frozen=True, gc=False):
    """Whether a URL may be fetched, and the line that decided ("" and 0 when none did)."""

    allowed: bool
    line: str = ""
    number: int = 0


class Rule(Struct, frozen=True, gc=False, array_like=True):
    """One Allow or Disallow line of a group that applies to us."""

    allowed: bool
    pattern: str
    line: str
    number: int


class _Test:
    """A pattern ready to be matched: how it begins, what follows in order, and how it ends.

    The pieces between are kept as runs of equal ones, so that many repeats cost one search.
    """

    __slots__ = ("head", "is_prefix", "middle", "rule", "tail", "whole")

    def __init__(
        self,
        head: str,
        middle: tuple[tuple[str, int], ...],
        tail: str,
        rule: Rule,
        *,
        whole: bool = False,
    ) -> None:
        self.head = head
        self.middle = middle
        self.tail = tail
        self.rule = rule
        self.whole = whole
        self.is_prefix = not middle and not tail and not whole


_UNRULED = RobotsVerdict(allowed=True)


class RobotsRules:
    """What one robots.txt says to us. Made by `parse_robots`, or from rules that were kept."""

    __slots__ = ("_tests", "crawl_delay_s", "rules", "sitemaps")

    def __init__(
        self,
        rules: tuple[Rule, ...] = (),
        crawl_delay_s: float | None = None,
        sitemaps: tuple[str, ...] = (),
    ) -> None:
        self.rules = rules
        self.crawl_delay_s = crawl_delay_s
        self.sitemaps = sitemaps
        # The longest pattern wins and Allow wins a tie (2.2.2), so the first match decides.
        best: dict[str, Rule] = {}
        for rule in sorted(rules, key=lambda rule: (-len(rule.pattern), not rule.allowed)):
            best.setdefault(rule.pattern, rule)
        self._tests = [_compile(rule) for rule in best.values()]

    def verdict(self, target: str) -> RobotsVerdict:
        """Judge a path and query, percent-encoded as in a canonical URL."""
        if not self._tests or target == "/robots.txt":
            return _UNRULED
        if "%" in target:
            target = _HEX.sub(_upper, target)
        for test in self._tests:
            if target.startswith(test.head) and (test.is_prefix or _follows(test, target)):
                rule = test.rule
                return RobotsVerdict(rule.allowed, rule.line, rule.number)
        return _UNRULED


ALLOW_ALL = RobotsRules()


def parse_robots(body: bytes, agent: str) -> RobotsRules:
    """Return what a robots.txt says to the robot with this product token."""
    reader = _Reader(agent)
    for number, line in enumerate(body.removeprefix(_BOM).splitlines(), 1):
        reader.read(line[:_MAX_LINE_BYTES], number)
    return reader.result()


class _Reader:
    """Collects the groups for us and those for everybody while the lines go by.

    Only Allow and Disallow end the list of a group's agents: other records must not interfere
    (2.2.4), so a Crawl-delay or Sitemap between two User-agent lines does not split them.
    """

    def __init__(self, agent: str) -> None:
        token = _TOKEN.match(agent.encode("utf-8", "replace"))
        self._agent = token.group().lower() if token else b""
        self._rules: dict[bool, list[Rule]] = {True: [], False: []}
        self._delays: dict[bool, list[float]] = {True: [], False: []}
        self._sitemaps: list[str] = []
        self._is_named = False
        self._for_us = self._for_all = self._agents_ended = False

    def read(self, line: bytes, number: int) -> None:
        name, value = _split(line)
        match _FIELDS.get(name):
            case "agent":
                self._read_agent(value)
            case "allow":
                self._read_rule(value, line, number, allowed=True)
            case "disallow":
                self._read_rule(value, line, number, allowed=False)
            case "delay":
                self._read_delay(value)
            case "sitemap" if value and len(self._sitemaps) < _MAX_SITEMAPS:
                self._sitemaps.append(value.decode("utf-8", "replace"))

    def result(self) -> RobotsRules:
        named = self._is_named
        delays = self._delays[named]
        return RobotsRules(
            tuple(self._rules[named]), max(delays, default=None), tuple(self._sitemaps)
        )

    def _read_agent(self, value: bytes) -> None:
        if self._agents_ended:
            self._for_us = self._for_all = self._agents_ended = False
        if value[:1] == b"*" and not value[1:2].strip():
            self._for_all = True
            return
        token = _TOKEN.match(value)
        if token and token.group().lower() == self._agent:
            self._for_us = self._is_named = True

    def _read_rule(self, value: bytes, line: bytes, number: int, *, allowed: bool) -> None:
        self._agents_ended = True
        if value and (self._for_us or self._for_all):
            shown = line.decode("utf-8", "replace").strip()[:_MAX_LINE_SHOWN]
            rule = Rule(allowed, _pattern(value), shown, number)
            self._add(self._rules, rule)

    def _read_delay(self, value: bytes) -> None:
        try:
            delay_s = float(value)
        except ValueError:
            return
        if isfinite(delay_s) and delay_s >= 0:
            self._add(self._delays, delay_s)

    def _add(self, groups: dict[bool, list[_T]], item: _T) -> None:
        if self._for_us:
            groups[True].append(item)
        if self._for_all:
            groups[False].append(item)


def _split(line: bytes) -> tuple[bytes, bytes]:
    """Return a line's field name in lower case and its value, without comment and blanks."""
    line = line.partition(b"#")[0].strip()
    name, colon, value = line.partition(b":")
    if not colon:
        name, value, *more = (*line.split(), b"", b"")
        if any(more):
            return b"", b""
    return name.strip().lower(), value.strip()


def _pattern(value: bytes) -> str:
    """Return a pattern as it is compared: octets beyond ASCII encoded, hex digits in capitals."""
    text = "".join(map(_OCTETS.__getitem__, value))
    return _HEX.sub(_upper, text) if "%" in text else text


def _upper(match: re.Match[str]) -> str:
    return match.group().upper()


def _compile(rule: Rule) -> _Test:
    pattern = rule.pattern
    anchored = pattern.endswith("$")
    head, *rest = (pattern[:-1] if anchored else pattern).split("*")
    if anchored and not rest:
        return _Test(head, (), "", rule, whole=True)
    tail = rest.pop() if anchored else ""
    runs = groupby(piece for piece in rest if piece)
    return _Test(head, tuple((piece, len(list(run))) for piece, run in runs), tail, rule)


def _follows(test: _Test, target: str) -> bool:
    """Return True if a target that begins as a pattern does goes on as the pattern does.

    Taking each piece where it first occurs leaves the most room for the rest, so there is nothing
    to try again: the time is linear in the target, whatever the pattern.
    """
    start = len(test.head)
    if test.whole:
        return start == len(target)
    end = len(target) - len(test.tail)
    if end < start or not target.endswith(test.tail):
        return False
    for piece, repeats in test.middle:
        if repeats == 1:
            found = target.find(piece, start, end)
            if found < 0:
                return False
            start = found + len(piece)
        else:
            parts = target[start:end].split(piece, repeats)
            if len(parts) <= repeats:
                return False
            start = end - len(parts[-1])
    return True
