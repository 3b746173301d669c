"""Answer: what a fake host does when it is asked, as a value that can be compared.

Most answers are a status, headers and a body, which the server frames. A `Fault` is the rest: an
iterator of acts (bytes to send, pauses, an end), so that any misbehaviour is a short generator.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, Self, TypeAlias

Headers: TypeAlias = tuple[tuple[str, str], ...]

DEFAULT_PORTS = {"http": 80, "https": 443}


class End(Enum):
    """How a fault leaves the connection. A fault that just ends leaves it open for the next."""

    CLOSE = "close"
    RESET = "reset"
    HANG = "hang"


@dataclass(frozen=True, slots=True)
class Pause:
    """Send nothing for a while."""

    seconds: float


Act: TypeAlias = bytes | Pause | End


@dataclass(frozen=True, slots=True)
class Place:
    """Where a fault happens: enough to write URLs that lead back to it."""

    host: str
    port: int
    path: str
    scheme: str = "http"

    @property
    def origin(self) -> str:
        """Return scheme, host and any port that is not the scheme's default."""
        return origin_of(self.scheme, self.host, self.port)


@dataclass(frozen=True, slots=True)
class Fault:
    """A misbehaviour at a place: `run(place)` yields what the server does, act by act."""

    name: str
    place: Place
    run: Callable[[Place], Iterator[Act]]

    def acts(self) -> Iterator[Act]:
        """Return the acts from the beginning."""
        return self.run(self.place)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer. `before` holds the answers of the first visits; this one serves the later ones.

    `gzip` is a wish: it is done for clients that accept it. A `fault` replaces everything else,
    and `status` is then only what the log shows. `wait_s` passes before the first byte.
    """

    status: int = 200
    headers: Headers = ()
    body: bytes = b""
    gzip: bool = False
    chunked: bool = False
    wait_s: float = 0.0
    before: tuple["Answer", ...] = ()
    fault: Fault | None = None

    def header(self, name: str) -> str:
        """Return the first value of a header, or "" if there is none."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")


class Request:
    """What a client asked for."""

    __slots__ = ("head", "host", "lower", "method", "target")

    def __init__(self, method: str, target: str, host: str, head: bytes) -> None:
        self.method = method
        self.target = target
        self.host = host
        self.head = head
        """Request line and headers as received."""
        self.lower = head.lower()
        """The same in lower case, to find header names in."""

    def header(self, name: str) -> str:
        """Return the value of a request header, or "" if it was not sent."""
        key = b"\r\n%s:" % name.lower().encode("latin-1")
        start = self.lower.find(key)
        if start < 0:
            return ""
        start += len(key)
        end = self.head.find(b"\r\n", start)
        return self.head[start : end if end >= 0 else None].decode("latin-1").strip()

    @property
    def wants_close(self) -> bool:
        """Tell whether the client will not ask again on this connection."""
        return b"\r\nconnection: close" in self.lower or b" http/1.0\r\n" in self.lower


class Web(Protocol):
    """What a server needs of a web; `FakeWeb` and `ScriptedWeb` fit."""

    @property
    def is_pure(self) -> bool:
        """Tell whether equal requests have equal answers, so that they may be kept."""
        ...

    @property
    def addresses(self) -> dict[str, str]:
        """Return the loopback address of every host."""
        ...

    @property
    def listen_on(self) -> set[str]:
        """Return every address that a host has or may yet be given."""
        ...

    def pages(self) -> Iterable[str]:
        """Return the URLs that are worth having ready."""
        ...

    def placed(self, scheme: str, port: int) -> Self:
        """Return this web as it is served on a port: its links name it."""
        ...

    def reply(self, request: Request) -> Answer:
        """Return the answer to a request."""
        ...


def origin_of(scheme: str, host: str, port: int) -> str:
    """Return scheme, host and any port that is not the scheme's default."""
    if DEFAULT_PORTS.get(scheme) == port:
        return f"{scheme}://{host}"
    return f"{scheme}://{host}:{port}"


def html_answer(body: str, *, status: int = 200, headers: Headers = ()) -> Answer:
    """Return an HTML page in UTF-8."""
    kind = (("Content-Type", "text/html; charset=utf-8"),)
    return Answer(status=status, headers=kind + headers, body=body.encode())


def not_found() -> Answer:
    """Return the plain 404."""
    return html_answer("<title>Not here</title><h1>Not here</h1>", status=404)


def redirect(to: str, status: int = 302) -> Answer:
    """Return a redirect with a short body."""
    return html_answer(f'<a href="{to}">moved</a>', status=status, headers=(("Location", to),))
