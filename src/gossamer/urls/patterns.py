"""Patterns: host globs and URL patterns, compiled once.

example.org             this host
*.example.org           its subdomains and the domain itself
docs-*.example.org      a star inside stands for any characters, dots too
*/private/*             a pattern with a slash is matched against the whole URL
https://h.example/x*    likewise
h.example/x*            likewise, with any scheme, and with any port if it names none
/private/*              likewise, on any host
"""

import re
from collections.abc import Iterable

from gossamer.config import UrlConfig
from gossamer.errors import ConfigError
from gossamer.urls.canonical import parse, read_canonical

_HOST_GLOB = re.compile(r"[a-z0-9*_.-]+")
_PORT = re.compile(r":[0-9*]+$")
_ANY_PORT = "(?::[0-9]+)?"
_NOT_HOST = re.compile(r"[:@?#\\\\%]")
_HELP = "write a host (example.org), a host glob (*.example.org) or a URL pattern (*/private/*)"


class Patterns:
    """A list of host globs and URL patterns that can be asked which of them matches."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._hosts: set[str] = set()
        self._domains: set[str] = set()
        self._globs: dict[str, re.Pattern[str]] = {}
        self._urls: dict[str, re.Pattern[str]] = {}
        for pattern in patterns:
            self._add(pattern)
        self._any_url = re.compile("|".join(found.pattern for found in self._urls.values()))

    def __bool__(self) -> bool:
        """Return True if there is any pattern."""
        return bool(self._hosts or self._domains or self._globs or self._urls)

    @property
    def has_url_patterns(self) -> bool:
        """Return True if a URL must be looked at beyond its host."""
        return bool(self._urls)

    def match_host(self, host: str) -> str:
        """Return the pattern that matches a host, or ""."""
        name = host.rstrip(".")
        if name in self._hosts:
            return name
        parent = name
        while parent:
            if parent in self._domains:
                return f"*.{parent}"
            parent = parent.partition(".")[2]
        return next((glob for glob, found in self._globs.items() if found.fullmatch(name)), "")

    def match_url(self, text: str) -> str:
        """Return the URL pattern that matches a URL's text, or ""."""
        if not self._urls or not self._any_url.fullmatch(text):
            return ""
        return next(pattern for pattern, found in self._urls.items() if found.fullmatch(text))

    def match(self, text: str) -> str:
        """Return the pattern that matches a URL in canonical form, by its host or as a whole."""
        return self.match_host(read_canonical(text).host) or self.match_url(text)

    def _add(self, pattern: str) -> None:
        if not pattern or pattern != pattern.strip() or any(c.isspace() for c in pattern):
            raise ConfigError(f"expected a pattern without blanks, found {pattern!r}; {_HELP}")
        if "/" in pattern:
            self._urls[pattern] = _url_regex(pattern)
        elif pattern.startswith("*.") and "*" not in pattern[2:]:
            self._domains.add(_host(pattern[2:], pattern))
        elif "*" in pattern:
            self._globs[pattern] = _host_regex(pattern)
        else:
            self._hosts.add(_host(pattern, pattern))


def _host(text: str, pattern: str) -> str:
    """Return a host in the form in which URLs carry it (ASCII, lower case)."""
    is_address = text.startswith("[") and text.endswith("]")
    url = parse(f"http://{text}/", UrlConfig())
    if url is None or (_NOT_HOST.search(text) and not is_address):
        raise ConfigError(f"expected a host without port, found {pattern!r}; {_HELP}")
    return url.host.rstrip(".")


def _host_regex(pattern: str) -> re.Pattern[str]:
    glob = pattern.lower()
    if not _HOST_GLOB.fullmatch(glob):
        raise ConfigError(
            f"expected letters, digits, dots, dashes and stars in {pattern!r}; {_HELP}"
        )
    return re.compile(_star(glob))


def _url_regex(pattern: str) -> re.Pattern[str]:
    if pattern.startswith("/"):
        return re.compile(f"[a-z]+://[^/]*{_star(pattern)}")
    if "://" in pattern or pattern.startswith("*/"):
        return re.compile(_star(pattern))
    host, _, rest = pattern.partition("/")
    any_port = "" if _PORT.search(host) else _ANY_PORT
    scheme = "" if pattern.startswith("*") else "[a-z]+://"
    found = _star(f"{host}\0/{rest}").replace("\0", any_port)
    return re.compile(f"{scheme}{found}")


def _star(pattern: str) -> str:
    """Return the regex for a pattern with stars.

    Each piece but the last is taken where it first fits, for good (an atomic group): that is enough
    for stars, and a hostile URL cannot make the match try every combination.
    """
    first, *others = (re.escape(piece) for piece in re.split(r"\*+", pattern))
    if not others:
        return first
    between = "".join(f"(?>.*?{piece})" for piece in others[:-1])
    return f"{first}{between}.*{others[-1]}"
