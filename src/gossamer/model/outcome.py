"""FetchOutcome: the four ways in which asking a server for a URL can end."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from gossamer.model.document import Document


class FailureKind(StrEnum):
    """What went wrong between us and the server. Each kind has a row in the retry table."""

    DNS_NO_SUCH_HOST = "dns_no_such_host"
    DNS_UNREACHABLE = "dns_unreachable"
    CONNECT_FAILED = "connect_failed"
    CONNECT_TIMEOUT = "connect_timeout"
    TLS_FAILED = "tls_failed"
    TLS_CERTIFICATE = "tls_certificate"
    FIRST_BYTE_TIMEOUT = "first_byte_timeout"
    TOTAL_TIMEOUT = "total_timeout"
    STALLED = "stalled"
    DISCONNECTED = "disconnected"
    BAD_HTTP = "bad_http"
    HEADER_TOO_LARGE = "header_too_large"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    BAD_REDIRECT = "bad_redirect"
    PROXY_FAILED = "proxy_failed"
    NOT_FOUND = "not_found"
    GONE = "gone"
    UNAUTHORIZED = "unauthorized"
    HTTP_4XX = "http_4xx"
    THROTTLED = "throttled"
    HTTP_5XX = "http_5xx"
    UNREADABLE_FILE = "unreadable_file"
    KILLED_US = "killed_us"
    """The process died with this URL in hand, again and again: it is blamed."""
    INTERNAL = "internal_error"
    """Our own code failed on this URL; the detail says how. Please report it."""


class RefusalKind(StrEnum):
    """What we declined to ask for, or to keep, although the URL was queued."""

    ROBOTS_DISALLOWED = "robots_disallowed"
    ROBOTS_UNREACHABLE = "robots_unreachable"
    PRIVATE_ADDRESS = "private_address"
    BAD_PORT = "bad_port"
    UNSUPPORTED_SCHEME = "unsupported_scheme"
    CONTENT_TYPE = "content_type"
    TRAP_ENDLESS = "trap_endless"
    TRAP_SAME = "trap_same"
    TRAP_HOSTS = "trap_hosts"
    MIRROR_HOST = "mirror_host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A 2xx answer (or 304 to a conditional request), whole or marked as truncated."""

    document: Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirected:
    """A 3xx answer with a usable Location; `target` is that Location as sent."""

    document: Document
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """We decided not to ask. `detail` names the robots line, the address or the port."""

    kind: RefusalKind
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The server, or the way to it, failed. An error answer keeps its document."""

    kind: FailureKind
    detail: str = ""
    retry_after_s: float | None = None
    document: Document | None = None


FetchOutcome: TypeAlias = Fetched | Redirected | Refused | Failed
