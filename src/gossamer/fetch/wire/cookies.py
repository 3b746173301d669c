"""CookieJar: cookies per host for the length of a run, few and small. Off unless asked for.

Set-Cookie is read as RFC 6265, section 5.2, tells browsers to read it: every header means
something, none raises. `http.cookies` is no help here: at the first odd part it drops the rest,
be it the cookie (`a={"b": 1}`) or the word `Secure` (`a=1;;Secure`).
"""

import re

from gossamer.model import Url

MAX_COOKIES = 50
MAX_COOKIE_BYTES = 4096
MAX_HOSTS = 10_000

_NOT_SENT_BACK = re.compile(r"[^\x20-\x7e]")
"""A name or value with such a character is not kept: it would go into our own header lines."""
_TAKEN_BACK = re.compile(r"-[0-9]+|0+")
"""Max-Age of zero or less; what is no number (section 5.2.2) is as if it were not there."""


class CookieJar:
    """Keeps each host's cookies for that host alone: Domain is ignored, so none cross sites."""

    def __init__(self) -> None:
        self._hosts: dict[str, dict[str, tuple[str, str, bool]]] = {}

    def header(self, url: Url) -> str:
        """Return the value of the Cookie header for a URL, or ""."""
        cookies = self._hosts.get(url.host)
        if not cookies:
            return ""
        path = url.target.partition("?")[0]
        return "; ".join(
            f"{name}={value}"
            for name, (value, prefix, is_secure) in cookies.items()
            if _covers(prefix, path) and (not is_secure or url.scheme == "https")
        )

    def take(self, url: Url, headers: tuple[tuple[str, str], ...]) -> None:
        """Keep what an answer's Set-Cookie fields say."""
        for field, text in headers:
            if field == "set-cookie" and len(text) <= MAX_COOKIE_BYTES:
                self._set(url, text)

    def _set(self, url: Url, text: str) -> None:
        pair, *rest = (part.strip() for part in text.split(";"))
        name, equals, value = pair.partition("=")
        if not equals or not name or _NOT_SENT_BACK.search(pair):
            return
        said = {
            key.strip().lower(): arg.strip() for key, _, arg in (p.partition("=") for p in rest)
        }
        if _TAKEN_BACK.fullmatch(said.get("max-age", "")):
            self._hosts.get(url.host, {}).pop(name, None)
            return
        cookies = self._hosts.setdefault(url.host, {})
        cookies.pop(name, None)
        if len(cookies) >= MAX_COOKIES:
            del cookies[next(iter(cookies))]
        path = said.get("path", "")
        cookies[name] = (value, path if path.startswith("/") else "/", "secure" in said)
        if len(self._hosts) > MAX_HOSTS:
            del self._hosts[next(iter(self._hosts))]


def _covers(prefix: str, path: str) -> bool:
    return path == prefix or path.startswith(prefix if prefix.endswith("/") else prefix + "/")
