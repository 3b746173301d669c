"""RequestHeaders: the header lines of a request, and those of them that the archive may keep. Pure.

Host comes first, then what is written here, in this order; libcurl adds nothing. Headers that the
operator gave, credentials and cookies are secrets: they go over the wire and nowhere else.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping

from msgspec import Struct

from gossamer import __version__
from gossamer.config import FetchConfig
from gossamer.errors import ConfigError
from gossamer.model import Url

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
ACCEPT_ENCODING = "gzip, deflate, zstd"
"""No br, though it is understood: warcio ends at the first brotli record (ADR 11)."""

_FIELD = re.compile(r"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([^\r\n\0]*)")
_NOT_ON_THE_WIRE = re.compile(r"[^\x21-\x7e]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_OURS_ALONE = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "te", "upgrade", "expect"}
)


class Validators(Struct, frozen=True):
    """What an earlier copy of a page was marked with: the server may answer 304 to it."""

    etag: str = ""
    last_modified: str = ""

    def fields(self) -> list[str]:
        """Return the header lines of a conditional request."""
        named = (("If-None-Match", self.etag), ("If-Modified-Since", self.last_modified))
        return [f"{name}: {text}" for name, text in named if text and not _CONTROL.search(text)]


def user_agent(config: FetchConfig) -> str:
    """Return what we call ourselves: name and version, and how to reach the operator."""
    if config.user_agent:
        return config.user_agent
    contact = f" (+{config.contact})" if config.contact else ""
    return f"gossamer/{__version__}{contact}"


def auth_by_origin(auth: Mapping[str, str], seeds: Iterable[Url]) -> dict[str, str]:
    """Return credentials with every bare host bound to scheme and port: those of its seeds.

    A page must not get a password sent by leading to another port, or from https down to http.
    A host without a seed is sent it over https only.
    """
    bound: dict[str, str] = {}
    known = tuple(seeds)
    for name, words in auth.items():
        names = [u.origin for u in known if name in {u.host, u.origin.partition("://")[2]}]
        usual = name if "://" in name else f"https://{name}"
        bound |= dict.fromkeys(names or [usual], words)
    return bound


def wire_text(url: Url) -> str:
    """Return a URL that cannot break out of its request line, whatever it was made of."""
    text = url.text
    if text.isascii() and text.isprintable() and " " not in text:
        return text
    return _NOT_ON_THE_WIRE.sub(_percent, text)


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{octet:02X}" for octet in match.group().encode("utf-8", "surrogatepass"))


class RequestHeaders:
    """Writes the header lines of requests for one configuration."""

    def __init__(self, config: FetchConfig) -> None:
        agent = user_agent(config)
        if _CONTROL.search(agent):
            raise ConfigError(f"user_agent: {agent!r} has control characters")
        own = [_checked(line) for line in config.headers]
        replaced = {name.lower() for name, _ in own}
        ours = (("User-Agent", agent), ("Accept", ACCEPT), ("Accept-Encoding", ACCEPT_ENCODING))
        self._open = [f"{name}: {value}" for name, value in ours if name.lower() not in replaced]
        self._secret = [f"{name}: {value}" for name, value in own]
        self._auth = {host.lower(): _basic(host, text) for host, text in config.auth.items()}
        self._tail = _block(self._open)
        self.usual = _wire([*self._open, *self._secret])
        """The header lines of a request that has nothing special about it."""

    def special(self, url: Url, validators: Validators | None, cookie: str) -> list[bytes] | None:
        """Return the header lines of a request that differs from the usual; None if it does not."""
        extra = validators.fields() if validators is not None else []
        if self._auth:
            authority = url.origin.partition("://")[2]
            known = self._auth
            auth = known.get(url.origin) or known.get(authority) or known.get(url.host)
            extra += [auth] if auth else []
        if cookie:
            extra.append(f"Cookie: {cookie}")
        return _wire([*self._open, *extra, *self._secret]) if extra else None

    def archived(self, url: Url, target: str, validators: Validators | None) -> bytes:
        """Return the request as sent, without its secrets."""
        tail = self._tail
        if validators is not None:
            tail = _block([*self._open, *validators.fields()])
        authority = url.origin.partition("://")[2]
        return f"GET {target} HTTP/1.1\r\nHost: {authority}\r\n{tail}".encode("utf-8", "replace")


def _checked(line: str) -> tuple[str, str]:
    field = _FIELD.fullmatch(line.strip())
    if field is None:
        raise ConfigError('headers: a line is not of the form "Name: value"')
    if field.group(1).lower() in _OURS_ALONE:
        raise ConfigError(f"headers: {field.group(1)} cannot be set")
    return field.group(1), field.group(2)


def _basic(host: str, credentials: str) -> str:
    if ":" not in credentials:
        raise ConfigError(f"auth: the credentials for {host} are not of the form USER:PASS")
    return f"Authorization: Basic {b64encode(credentials.encode()).decode()}"


def _block(lines: Iterable[str]) -> str:
    return "".join(f"{line}\r\n" for line in lines) + "\r\n"


def _wire(lines: Iterable[str]) -> list[bytes]:
    # libcurl drops a header without a value unless it ends with a semicolon.
    return [
        (line if not line.endswith(": ") else line[:-2] + ";").encode("utf-8", "replace")
        for line in lines
    ]


MAX_COOKIES = 50
MAX_COOKIE_BYTES = 4096
MAX_HOSTS = 10_000

_NOT_SENT_BACK = re.compile(r"[^\x20-\x7e]")
"""A name or value with such a character is not kept: it would go into our own header lines."""
_TAKEN_BACK = re.compile(r"-[0-9]+|0+")
"""Max-Age of zero or less; what is no number (section 5.2.2) is as if it were not there."""


class CookieJar:
    """Keeps each host's cookies for that host alone: Domain is ignored, so none cross sites.

    They last for one run, few and small, and only if they were asked for. Set-Cookie is read as
    RFC 6265, section 5.2, tells browsers to read it: every header means something, none raises.
    `http.cookies` is no help here: at the first odd part it drops the rest, be it the cookie
    (`a={"b": 1}`) or the word `Secure` (`a=1;;Secure`).
    """

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
