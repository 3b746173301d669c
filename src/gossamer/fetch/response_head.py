"""ResponseHead: status line and header fields of one answer, read strictly. Pure.

libcurl is lenient. What a strict reader would reject is either refused here, when it leaves in
doubt where the answer ends or what it is, or marked as an oddity, when the content is still clear.
"""

import re
from email.utils import parsedate_to_datetime
from functools import lru_cache

from msgspec import Struct

from gossamer.fetch.body import Framing
from gossamer.fetch.decoding import codings_of

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
_BLANK = (b"\r\n", b"\n")
_FINAL = 200
_NO_BODY = frozenset({204, 304})
_FRAMING = frozenset({"content-length", "transfer-encoding", "content-encoding"})


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
        fields.append((name.lower(), value.strip()))
    return tuple(fields)


def _odd_fields(lines: list[bytes]) -> tuple[tuple[str, str], ...]:
    """Return the fields of one that is not: what has no colon is no field."""
    parts = (line.decode("latin-1").partition(":") for line in _unfolded(lines)[1:])
    return tuple((name.strip().lower(), value.strip()) for name, colon, value in parts if colon)


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
    chunked = has_body and transfer.rpartition(",")[2].strip() == "chunked"
    if transfer and lengths:
        oddities.append("both Transfer-Encoding and Content-Length")
    if transfer and not chunked and has_body:
        oddities.append("Transfer-Encoding does not end with chunked")
    return ResponseHead(
        raw=raw,
        status=status,
        headers=headers,
        framing=Framing(chunked, codings_of(found.get("content-encoding", ""))),
        content_length=None if chunked else length,
        oddities=tuple(oddities),
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
