"""Header lines: those of a request, what the archive may keep of them, and a response's head. Pure.

Of a request, Host comes first, then what is written here, in this order; libcurl adds nothing.
Which origins get headers of the operator's, credentials and cookies is in `grants`; the archive
gets `***` in place of their values. A response's head is read as it came, and its oddities are
noted.
"""

import re
from collections.abc import Iterable, Sequence
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct

from gossamer import __version__
from gossamer.config import FetchConfig
from gossamer.errors import ConfigError
from gossamer.fetch.body import Framing
from gossamer.fetch.decoding import CHUNKED_AGAIN, codings_of
from gossamer.fetch.grants import HeaderLine, HostRules
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


def wire_text(url: Url) -> str:
    """Return a URL that cannot break out of its request line, whatever it was made of."""
    text = url.text
    if text.isascii() and text.isprintable() and " " not in text:
        return text
    return _NOT_ON_THE_WIRE.sub(_percent, text)


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{octet:02X}" for octet in match.group().encode("utf-8", "surrogatepass"))


HIDDEN = "***"
"""Stands in the archive for the value of a secret header."""


class _OriginHeaders(NamedTuple):
    """The header lines of requests to one origin, or to all that have none of their own."""

    before: list[str]
    """Ours, but for those that the operator's replace."""
    own: list[str]
    """The operator's, the cookie left out."""
    cookie: str
    shown: list[str]
    """The operator's as archived."""
    redacted: str
    """The names of those that are archived without their values."""
    wire: list[bytes]
    tail: str
    """All of them as archived, up to the end of the head."""


class ArchivedRequest(NamedTuple):
    """A request as the archive may have it."""

    head: bytes
    redacted: str
    """Names of headers whose values are hidden, separated by commas."""


class RequestHeaders:
    """Writes the header lines of requests for one configuration."""

    def __init__(self, config: FetchConfig, rules: HostRules | None = None) -> None:
        rules = rules or HostRules()
        agent = user_agent(config)
        if _CONTROL.search(agent):
            raise ConfigError(f"fetch.user_agent: {agent!r} contains control characters")
        ours = (("User-Agent", agent), ("Accept", ACCEPT), ("Accept-Encoding", ACCEPT_ENCODING))
        self._usual = _headers_of(ours, rules.everywhere)
        self._by_origin = {
            origin: _headers_of(ours, [*_others(rules.everywhere, lines), *lines])
            for origin, lines in rules.headers.items()
        }
        self.usual = self._usual.wire
        """The header lines of a request that has nothing special about it."""

    def special(self, url: Url, validators: Validators | None, cookie: str) -> list[bytes] | None:
        """Return the header lines of a request that differs from the usual; None if it does not.

        `cookie` is what the server has set.
        """
        block = self._by_origin.get(url.origin, self._usual) if self._by_origin else self._usual
        if validators is None and not cookie:
            return block.wire if block is not self._usual else None
        extra = validators.fields() if validators is not None else []
        return _wire([*block.before, *extra, *block.own, *_cookie(block.cookie, cookie)])

    def archived(
        self,
        url: Url,
        target: str,
        validators: Validators | None,
        *,
        has_cookie: bool = False,
        method: str = "GET",
    ) -> ArchivedRequest:
        """Return the request as sent, but for the values of secrets."""
        block = self._by_origin.get(url.origin, self._usual) if self._by_origin else self._usual
        tail, redacted = block.tail, block.redacted
        if validators is not None or has_cookie:
            extra = validators.fields() if validators is not None else []
            hidden = _cookie(HIDDEN if has_cookie or block.cookie else "", "")
            tail = _block([*block.before, *extra, *block.shown, *hidden])
            if has_cookie and not block.cookie:
                redacted = f"{redacted},Cookie" if redacted else "Cookie"
        authority = url.origin.partition("://")[2]
        head = f"{method} {target} HTTP/1.1\r\nHost: {authority}\r\n{tail}"
        return ArchivedRequest(head.encode("utf-8", "replace"), redacted)


def _headers_of(ours: Iterable[tuple[str, str]], own: Sequence[HeaderLine]) -> _OriginHeaders:
    for line in own:
        _check(line)
    names = {line.name.lower() for line in own}
    before = [f"{name}: {value}" for name, value in ours if name.lower() not in names]
    lines = [line for line in own if line.name.lower() != "cookie"]
    cookie = "; ".join(line.value for line in own if line.name.lower() == "cookie")
    sent = [f"{line.name}: {line.value}" for line in lines]
    shown = [f"{line.name}: {HIDDEN if line.is_secret else line.value}" for line in lines]
    hidden = [line.name for line in lines if line.is_secret] + (["Cookie"] if cookie else [])
    tail = _block([*before, *shown, *_cookie(HIDDEN if cookie else "", "")])
    wire = _wire([*before, *sent, *_cookie(cookie, "")])
    redacted = ",".join(dict.fromkeys(hidden))
    return _OriginHeaders(before, sent, cookie, shown, redacted, wire, tail)


def _others(lines: Iterable[HeaderLine], own: Iterable[HeaderLine]) -> list[HeaderLine]:
    """Return header lines whose names are not among an origin's own."""
    names = {line.name.lower() for line in own}
    return [line for line in lines if line.name.lower() not in names]


def _cookie(own: str, theirs: str) -> list[str]:
    """Return the one Cookie line (RFC 6265, 5.4) of what the operator gave and the server set."""
    value = "; ".join(part for part in (own, theirs) if part)
    return [f"Cookie: {value}"] if value else []


def _check(line: HeaderLine) -> None:
    if _FIELD.fullmatch(f"{line.name}: {line.value}") is None:
        raise ConfigError('headers: expected "Name: value" on one line')
    if line.name.lower() in _OURS_ALONE:
        raise ConfigError(f"headers: {line.name} cannot be set")


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
_NOT_IN_COOKIES = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""A Set-Cookie with such a character, wherever in it, is dropped as in browsers (RFC 6265bis)."""
_SPACE = " \t"
"""What may stand around a value (RFC 9110 5.5); str.strip() alone takes control characters, too."""
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
        if _NOT_IN_COOKIES.search(text):
            return
        pair, *rest = (part.strip(_SPACE) for part in text.split(";"))
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


_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_STRICT = re.compile(
    rb"HTTP/1\.[01] ([1-5][0-9][0-9])(?: [^\r\n\0]*)?\r\n(?:" + _TOKEN + rb":[^\r\n\0]*\r\n)*\r\n"
)
"""One block and no more: an interim answer before it would be a line without a colon."""
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] +([1-5][0-9][0-9])(?:[ \r\n]|\Z)")
_NAME = re.compile(_TOKEN)
_DIGITS = re.compile(r"[0-9]{1,18}")
_CHARSET = re.compile(r"""charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;,"']+))""", re.IGNORECASE)
_HTTP_PREFIX = b"HTTP/"
_VERSION = b"HTTP/1."
_OLD_VERSION = b"HTTP/1.0"
_MOST_CHUNKED = 2
"""Two servers on the way may both have written the field; more is an attack."""
_BLANK = (b"\r\n", b"\n")
_FINAL = 200
_NO_BODY = frozenset({204, 304})
_CODED = "content-encoding"
_FRAMING = frozenset({"content-length", "transfer-encoding", _CODED})


class ResponseHead(Struct, frozen=True):
    """What the final header block of an answer says."""

    raw: bytes
    status: int
    headers: tuple[tuple[str, str], ...]
    framing: Framing
    content_length: int | None
    oddities: tuple[str, ...]

    @property
    def has_body(self) -> bool:
        """Return True if an answer of this status can have a body."""
        return self.status not in _NO_BODY

    def get(self, name: str) -> str:
        """Return the first value of a header field, or ""."""
        for key, value in self.headers:
            if key == name:
                return value
        return ""


class BadResponseHead(Struct, frozen=True):
    """A header block that cannot be trusted."""

    detail: str


class SplitAnswer(Struct, frozen=True):
    """An answer that came in one piece: its header lines, its body, and whether that is whole."""

    lines: list[bytes]
    body: bytes
    is_whole: bool


def split_answer(data: bytes) -> SplitAnswer | None:
    """Split head and body; None if this does not begin as an HTTP/1 answer does."""
    data = data.removeprefix(b"\r\n")
    if data[: len(_VERSION)] != _VERSION[: len(data)]:
        return None
    head_bytes, blank, body = data.partition(b"\r\n\r\n")
    lines = (head_bytes + blank).splitlines(keepends=True)
    head = read_head(lines) if blank else None
    if not isinstance(head, ResponseHead):
        return SplitAnswer(lines, b"", is_whole=False)
    length = head.content_length if head.has_body else 0
    is_whole = length is not None and len(body) >= length
    return SplitAnswer(lines, body[:length], is_whole)


def read_head(lines: list[bytes]) -> ResponseHead | BadResponseHead:
    """Read the lines of an answer's header blocks: interim (1xx) ones are split off."""
    raw = b"".join(lines)
    strict = _STRICT.fullmatch(raw)
    if strict is None:
        lines = _final_block(lines)
        raw = b"".join(lines)
        strict = _STRICT.fullmatch(raw)
    status_line = strict or _STATUS_LINE.match(raw)
    if status_line is None:
        return BadResponseHead(f"{raw[:40]!r} is no status line")
    status = int(status_line.group(1))
    if status < _FINAL:
        return BadResponseHead(f"{status} is no final answer")
    headers = _fields(raw) if strict is not None else _odd_fields(lines)
    return _framed(raw, status, headers, [] if strict is not None else _oddities(lines, raw))


def _final_block(lines: list[bytes]) -> list[bytes]:
    """Return the last block: interim answers and a proxy's own come before it."""
    start = 1 if lines and lines[0] in _BLANK else 0
    if lines.count(_BLANK[0]) + lines.count(_BLANK[1]) > 1:
        for index in range(1, len(lines)):
            if lines[index].startswith(_HTTP_PREFIX) and lines[index - 1] in _BLANK:
                start = index
    return lines[start:] if start else lines


def _fields(raw: bytes) -> tuple[tuple[str, str], ...]:
    """Return the fields of a header block that is well formed."""
    fields = []
    for line in raw.decode("latin-1").split("\r\n")[1:-2]:
        name, _, value = line.partition(":")
        fields.append((name.lower(), value.strip(_SPACE)))
    return tuple(fields)


def _odd_fields(lines: list[bytes]) -> tuple[tuple[str, str], ...]:
    """Return the fields of one that is not: what has no colon is no field."""
    parts = (line.decode("latin-1").partition(":") for line in _unfolded(lines)[1:])
    return tuple(
        (name.strip().lower(), value.strip(" \t\r\n")) for name, colon, value in parts if colon
    )


def _unfolded(lines: list[bytes]) -> list[bytes]:
    """Join continuation lines to the line that they continue (RFC 9112 5.2)."""
    whole: list[bytes] = lines[:1]
    for line in lines[1:]:
        if line[:1] in b" \t" and len(whole) > 1:
            whole[-1] = whole[-1].rstrip() + b" " + line.strip()
        else:
            whole.append(line)
    return whole


def _oddities(lines: list[bytes], raw: bytes) -> list[str]:
    found: list[str] = []
    if b"\n" in raw.replace(b"\r\n", b""):
        found.append("header line ends with a bare LF")
    if b"\r" in raw.replace(b"\r\n", b""):
        found.append("bare CR in the header")
    if b"\0" in raw:
        found.append("NUL in the header")
    if re.match(rb"HTTP/1\.[01] [1-5][0-9][0-9](?: [^\r\n\0]*)?\r?\n", raw) is None:
        found.append("malformed status line")
    for line in lines[1:]:
        name, colon, _ = line.partition(b":")
        if line[:1] in (b" ", b"\t"):
            found.append("folded header line")
        elif line not in _BLANK and (not colon or _NAME.fullmatch(name) is None):
            found.append("malformed header name")
    return list(dict.fromkeys(found)) or ["malformed header"]


def _framed(
    raw: bytes, status: int, headers: tuple[tuple[str, str], ...], oddities: list[str]
) -> ResponseHead | BadResponseHead:
    """Find out where the body ends; contradictions are refused (RFC 9112 6.3)."""
    found: dict[str, str] = {}
    for name, value in headers:
        if name in _FRAMING:
            found[name] = f"{found[name]},{value}" if name in found else value
    lengths = [part.strip() for part in found.get("content-length", "").split(",") if part]
    transfer = found.get("transfer-encoding", "").lower()
    problem, length = _length(lengths)
    if problem:
        return BadResponseHead(problem)
    has_body = status not in _NO_BODY
    chunked, codings = has_body and transfer == "chunked", codings_of(found.get(_CODED, ""))
    if transfer and lengths:
        oddities.append("both Transfer-Encoding and Content-Length")
    if transfer and raw.startswith(_OLD_VERSION):
        oddities.append("Transfer-Encoding in an HTTP/1.0 answer")
    if transfer and not chunked and has_body:
        odd = _odd_transfer(transfer)
        if isinstance(odd, BadResponseHead):
            return odd
        chunked, codings = odd.is_chunked, codings + odd.codings
        oddities += odd.oddities
    return ResponseHead(
        raw=raw,
        status=status,
        headers=headers,
        framing=Framing(chunked, codings),
        content_length=None if chunked else length,
        oddities=tuple(oddities),
    )


class _OddTransfer(Struct, frozen=True):
    """What a Transfer-Encoding says that is not simply chunked."""

    is_chunked: bool
    codings: tuple[str, ...]
    """That lie inside of the chunks."""
    oddities: list[str]


def _odd_transfer(text: str) -> _OddTransfer | BadResponseHead:
    names = tuple(filter(None, (name.strip(_SPACE) for name in text.split(","))))
    times = names.count("chunked")
    if times > _MOST_CHUNKED:
        return BadResponseHead(f"Transfer-Encoding is chunked {times} times")
    if names[-1:] != ("chunked",):
        # With chunks inside, or not, nobody knows what was sent.
        codings = codings_of(",".join(names)) if not times else ()
        return _OddTransfer(
            is_chunked=False,
            codings=codings,
            oddities=["Transfer-Encoding does not end with chunked"],
        )
    inner = names[:-1]
    said = {
        "Transfer-Encoding is chunked twice": times > 1,
        "Transfer-Encoding with a coding besides chunked": len(names) > times,
    }
    return _OddTransfer(
        is_chunked=True,
        codings=codings_of(",".join(CHUNKED_AGAIN if n == "chunked" else n for n in inner)),
        oddities=[words for words, is_so in said.items() if is_so],
    )


def _length(values: list[str]) -> tuple[str, int | None]:
    if not values:
        return "", None
    if len(set(values)) > 1:
        return f"Content-Length is {values[0][:20]} and {values[1][:20]}", None
    if _DIGITS.fullmatch(values[0]) is None:
        return f"Content-Length is {values[0][:20]!r}", None
    return "", int(values[0])


@lru_cache(maxsize=1024)
def media_type_of(content_type: str) -> tuple[str, str]:
    """Return the media type, in lower case and without parameters, and the charset parameter."""
    media_type, _, parameters = content_type.partition(";")
    charset = _CHARSET.search(parameters) if parameters else None
    name = next((group for group in charset.groups() if group), "") if charset else ""
    return media_type.partition(",")[0].strip().lower(), name.strip().lower()


def retry_after_s(value: str, now: float) -> float | None:
    """Return how long a Retry-After asks to wait: seconds or a date; None if it is neither."""
    value = value.strip()
    if _DIGITS.fullmatch(value):
        return float(value)
    if not value:
        return None
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, OverflowError, OSError):
        return None
