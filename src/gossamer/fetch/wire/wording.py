"""Wording: the words of a request, and those of them that the archive may keep. Pure.

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


class Wording:
    """Writes requests for one configuration."""

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
