"""Document, FetchOutcome, Extraction: what a server sent, how asking it ended, what was read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from dataclasses import field as private
from enum import StrEnum
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeAlias

from msgspec import Struct, field

from gossamer.model.link import Link, Url

if TYPE_CHECKING:
    from turbohtml import Document as Tree


class Body(Protocol):
    """A rewindable body: every reader starts at the beginning (Mercator's document input stream).

    `sent` is the payload as it came over the wire (chunk framing and content coding included);
    `decoded` is what the author wrote, after both are undone, under the size caps.
    """

    @property
    def sent_bytes(self) -> int:
        """Return how many bytes were received."""

    @property
    def is_spooled(self) -> bool:
        """Return True if the bytes as sent lie in a temporary file instead of memory."""

    @property
    def decode_note(self) -> str:
        """Return what went wrong in decoding, such as a bomb that was cut; "" when nothing did."""

    def open_sent(self) -> BinaryIO:
        """Return a reader over the bytes as sent, at their beginning."""

    def sent(self) -> bytes:
        """Return the bytes as sent, whole."""

    def decoded(self) -> bytes:
        """Return the decoded bytes, whole; made once and kept until `release` or `close`."""

    def release(self) -> None:
        """Let go of the decoded bytes; they are made again when they are asked for."""

    def close(self) -> None:
        """Release memory and temporary files."""


@dataclass(slots=True, kw_only=True)
class Document:
    """One answer of one server. Made by `fetch`; read by `dedupe`, `process` and `store`."""

    url: Url
    status: int
    head: bytes
    """Status line and header lines exactly as received, ending with the blank line."""
    headers: tuple[tuple[str, str], ...]
    """Header fields in order; names in lower case, values trimmed and decoded as latin-1."""
    body: Body
    request: bytes
    """The request as sent, but for the values of secret headers, which are `***`."""
    address: str
    fetched_at: float
    """Wall-clock second at which the request was sent."""
    latency_s: float
    """From sending the request to the last byte."""
    media_type: str = ""
    """Declared media type, lower case, without parameters; "" if none was declared."""
    charset: str = ""
    """Declared charset parameter; "" if none was declared."""
    truncated: str = ""
    """Why the body is not whole: "length", "time", "disconnect", "unspecified", or "" if it is."""
    oddities: tuple[str, ...] = ()
    """Deviations from the protocol that were tolerated; recorded with the page."""
    redacted: str = ""
    """Names of the headers of the request whose values are hidden, separated by commas."""
    _parse: "Callable[[Document], Tree] | None" = private(
        default=None, init=False, repr=False, compare=False
    )
    _tree: "Tree | None" = private(default=None, init=False, repr=False, compare=False)

    @property
    def tree(self) -> "Tree":
        """Return the parsed page, for processors: `document.tree.select_one("h1")`, `.xpath(...)`.

        It is made when it is first asked for, once for all processors, and may be missing its
        <template> elements. The page is read as HTML, whatever its media type.
        """
        tree = self.shared_tree()
        if tree is None:
            raise TypeError("a document has a tree only while processors read it: see parse_with")
        return tree

    def shared_tree(self) -> "Tree | None":
        """Return the tree that all processors share; None if none has use for it."""
        if self._tree is None and self._parse is not None:
            self._tree = self._parse(self)
        return self._tree

    def parse_with(self, parse: "Callable[[Document], Tree] | None") -> None:
        """Have `tree` made by a function; None lets go of the tree."""
        self._parse, self._tree = parse, None

    def note_oddity(self, oddity: str) -> None:
        """Note something odd about the document; it is recorded with the page."""
        self.oddities += (oddity,)

    def header(self, name: str) -> str:
        """Return the first value of a header field (lower-case name), or ""."""
        for key, value in self.headers:
            if key == name:
                return value
        return ""


CLOCK_SET_BACK = "the clock was set back: an earlier record is of "
"""How an oddity begins that is followed by the latest date that was archived before."""
CONNECTION_REFUSED = "Connection refused"
"""What the detail of a failure says if nothing listens at the host, which itself is there."""


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
    STALE_CONNECTION = "stale_connection"
    """A connection that was kept from an earlier request broke before the answer: no fault of the
    URL nor of the host, which may close it when it likes. It is asked again after the gap."""
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
    PROTOCOL_FAILED = "protocol_failed"
    """The protocol module of its scheme raised, or returned what is no answer."""
    KILLED_US = "killed_us"
    """The crawl died while the page was being read; then so did the helper that read it alone."""
    INTERNAL = "internal_error"
    """Our own code failed on this URL; the detail says how. Please report it."""


_BY_STATUS = frozenset({FailureKind.HTTP_4XX, FailureKind.HTTP_5XX})
FAMILIES: dict[str, str] = {kind.value: kind.value[:6] for kind in _BY_STATUS}
"""How the reasons begin that a family of HTTP statuses is counted under: http_4xx has http_403."""


class CertificateProblem(StrEnum):
    """What is wrong with a certificate; the value is what `status` counts."""

    EXPIRED = "expired"
    NOT_YET_VALID = "not_yet_valid"
    SELF_SIGNED = "self_signed"
    OTHER_NAME = "other_name"
    UNTRUSTED = "untrusted"
    """Whoever signed it is not among those that we trust."""
    INVALID = "invalid"
    """Anything else."""


CERTIFICATES: dict[CertificateProblem, str] = {
    CertificateProblem.EXPIRED: "the certificate has expired",
    CertificateProblem.NOT_YET_VALID: "the certificate is not valid yet",
    CertificateProblem.SELF_SIGNED: "the certificate is self-signed",
    CertificateProblem.OTHER_NAME: "the certificate is for another name",
    CertificateProblem.UNTRUSTED: "the certificate is signed by an unknown authority",
}
"""How the detail of a failure begins that is due to a certificate."""


def certificate_problem(detail: str) -> CertificateProblem:
    """Return what the detail of a failure says about a certificate."""
    found = (problem for problem, words in CERTIFICATES.items() if detail.startswith(words))
    return next(found, CertificateProblem.INVALID)


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
    SITEMAP_LIMIT = "sitemap_limit"
    """The sitemaps of its host name too few pages for their number."""
    NO_SITEMAP = "no_sitemap"
    """/sitemap.xml was tried without being named anywhere, and is none."""
    SCHEME = "scheme"
    """This and all below: a filter refuses a URL that was queued under other rules (`Reject`)."""
    OFF_SCOPE = "off_scope"
    NOT_ALLOWED = "not_allowed"
    BLOCKED = "blocked"
    DROPPED = "dropped"
    EXTENSION = "extension"
    TOO_LONG = "too_long"
    TOO_DEEP = "too_deep"
    REPEATED_SEGMENTS = "repeated_segments"
    NOT_FOLLOWED = "not_followed"
    USER = "user"
    FILTER_FAILED = "filter_failed"


class Fetched(Struct, frozen=True, kw_only=True):
    """A 2xx answer (or 304 to a conditional request), whole or marked as truncated."""

    document: Document


class Redirected(Struct, frozen=True, kw_only=True):
    """A 3xx answer with a usable Location; `target` is that Location as sent."""

    document: Document
    target: str


class Refused(Struct, frozen=True, kw_only=True):
    """We decided not to ask. `detail` names the robots line, the address or the port."""

    kind: RefusalKind
    detail: str = ""


class Failed(Struct, frozen=True, kw_only=True):
    """The server, or the way to it, failed. An error answer keeps its document."""

    kind: FailureKind
    detail: str = ""
    retry_after_s: float | None = None
    document: Document | None = None

    @property
    def reason(self) -> str:
        """Return the name under which it is counted: its HTTP status if it has no name of its own.

        The status is the first word of the detail, wherever the failure was kept meanwhile.
        """
        if self.kind in _BY_STATUS and (status := self.detail[:3]).isdecimal():
            return f"http_{status}"
        return self.kind.value


CUT_FOR_OTHERS = "cut for others"
"""The detail of a failure that was ours: a slow request that was broken off for the sake of others.
It says little about the host."""

SITEMAP_TYPES = frozenset({"application/sitemap+xml", "text/x-sitemap"})
"""Media types, after sniffing, of lists of pages."""

FetchOutcome: TypeAlias = Fetched | Redirected | Refused | Failed


class Extraction(Struct, kw_only=True):
    """What a page says and where it points. Built by one or several processors."""

    title: str = ""
    headings: tuple[str, ...] = ()
    """What stands above its parts, in order."""
    text: str = ""
    spans: dict[str, list[int]] = field(default_factory=dict)
    """Parts of the text that are no prose, by kind: hidden, ads, code. Of each in turn, how many
    characters lie between it and the one before, and how many it has."""
    language: str = ""
    canonical: str = ""
    description: str = ""
    """What its <meta> elements say it is about."""
    media_type: str = ""
    """Media type after sniffing: what the document was read as."""
    charset: str = ""
    robots: tuple[str, ...] = ()
    """Directives of <meta name=robots> and X-Robots-Tag that apply to us, e.g. "nofollow"."""
    links: Sequence[Link] = field(default_factory=list)
    """A list, or columns of which objects are made when they are asked for (`LinkColumns`)."""
    is_shell: bool = False
    """An empty application shell: its content would be brought by its script."""
    notes: dict[str, Any] = field(default_factory=dict)
    """Further facts by name, such as an image's width or a PDF's page count: any JSON value."""
    errors: tuple[str, ...] = ()
    """Processors that failed, as "name: what happened"."""
    user_errors: dict[str, str] = field(default_factory=dict)
    """What happened to those of them that are the user's own, by name."""

    @property
    def is_nofollow(self) -> bool:
        """Return True if the page asked robots to follow none of its links."""
        return "nofollow" in self.robots or "none" in self.robots
