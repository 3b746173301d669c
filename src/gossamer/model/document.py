"""Document: what a server sent for one URL, and what it said of it."""

from dataclasses import dataclass, field
from typing import BinaryIO, Protocol

from gossamer.model.url import Url


class Body(Protocol):
    """A rewindable body: every reader starts at the beginning (Mercator's document input stream).

    `sent` is the payload as it came over the wire (chunk framing and content coding included);
    `decoded` is what the author wrote, after both are undone, under the size caps.
    """

    @property
    def sent_bytes(self) -> int:
        """Return how many bytes were received."""
        ...

    @property
    def is_spooled(self) -> bool:
        """Tell whether the bytes as sent lie in a temporary file instead of memory."""
        ...

    @property
    def decode_note(self) -> str:
        """Return what went wrong in decoding, such as a bomb that was cut; "" when nothing did."""
        ...

    def open_sent(self) -> BinaryIO:
        """Return a reader over the bytes as sent, at their beginning."""
        ...

    def sent(self) -> bytes:
        """Return the bytes as sent, whole."""
        ...

    def decoded(self) -> bytes:
        """Return the decoded bytes, whole; made once and kept until `release` or `close`."""
        ...

    def release(self) -> None:
        """Let go of the decoded bytes; they are made again when they are asked for."""
        ...

    def close(self) -> None:
        """Release memory and temporary files."""
        ...


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
    """The request as sent, secrets removed."""
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
    oddities: tuple[str, ...] = field(default=())
    """Deviations from the protocol that were tolerated; recorded with the page."""

    def note_oddity(self, oddity: str) -> None:
        """Note something odd about the document; it is recorded with the page."""
        self.oddities += (oddity,)

    def header(self, name: str) -> str:
        """Return the first value of a header field (lower-case name), or ""."""
        for key, value in self.headers:
            if key == name:
                return value
        return ""
