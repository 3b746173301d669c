"""The request log: the server's own record of who asked for what and when, and how to judge it.

A test judges a crawler by this record, never by what the crawler says of itself.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

_FIELDS = 8
_CLOCK_TOLERANCE = 0.99
_ESCAPES = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r"})


class LoggedRequest(Struct, frozen=True, gc=False, kw_only=True):
    """One request, logged when it arrived."""

    at: float
    host: str
    method: str
    target: str
    status: int
    user_agent: str
    connection_id: int
    open_connections_of_host: int
    """Connections that have asked for this host and are still open, this one included."""

    @property
    def path(self) -> str:
        """Return the target without its query."""
        return self.target.partition("?")[0]


class RequestLogFile:
    """A tab-separated file of requests; a line is written before its response is sent."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, request: LoggedRequest) -> None:
        """Append one request."""
        os.write(self._fd, to_line(request).encode())

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


def to_line(request: LoggedRequest) -> str:
    """Return a request as one line of the log."""
    fields = (
        f"{request.at:.6f}",
        request.host.translate(_ESCAPES),
        request.method.translate(_ESCAPES),
        request.target.translate(_ESCAPES),
        str(request.status),
        request.user_agent.translate(_ESCAPES),
        str(request.connection_id),
        str(request.open_connections_of_host),
    )
    return "\t".join(fields) + "\n"


def read_log(path: Path, offset: int = 0) -> list[LoggedRequest]:
    """Return the requests in a log file; a last line that is still being written is left out."""
    with path.open("rb") as log:
        log.seek(offset)
        text = log.read().decode("utf-8", "replace")
    lines = (line.split("\t") for line in text.split("\n")[:-1])
    return [_from_fields(fields) for fields in lines if len(fields) == _FIELDS]


def _from_fields(fields: list[str]) -> LoggedRequest:
    at, host, method, target, status, agent, connection, open_now = fields
    return LoggedRequest(
        at=float(at),
        host=host,
        method=method,
        target=target,
        status=int(status),
        user_agent=agent,
        connection_id=int(connection),
        open_connections_of_host=int(open_now),
    )


def hits(requests: Iterable[LoggedRequest]) -> Counter[tuple[str, str]]:
    """Return how often each (host, target) was asked for."""
    return Counter((request.host, request.target) for request in requests)


def repeats(requests: Iterable[LoggedRequest]) -> dict[tuple[str, str], int]:
    """Return what was asked for more than once, and how often."""
    return {what: times for what, times in hits(requests).items() if times > 1}


def by_host(requests: Iterable[LoggedRequest]) -> dict[str, list[LoggedRequest]]:
    """Return the requests to each host in the order of their arrival."""
    found: dict[str, list[LoggedRequest]] = {}
    for request in sorted(requests, key=lambda request: request.at):
        found.setdefault(request.host, []).append(request)
    return found


def gaps(requests: Iterable[LoggedRequest]) -> Iterator[float]:
    """Yield the seconds between consecutive requests to the same host."""
    for of_host in by_host(requests).values():
        for earlier, later in pairwise(of_host):
            yield later.at - earlier.at


def smallest_gap(requests: Iterable[LoggedRequest]) -> float:
    """Return the shortest time between two requests to one host; infinite if none had two."""
    return min(gaps(requests), default=float("inf"))


def short_gaps(requests: Iterable[LoggedRequest], gap_s: float) -> int:
    """Return how many gaps are shorter than `gap_s`, less 1 % for an adjusted wall clock."""
    return sum(gap < gap_s * _CLOCK_TOLERANCE for gap in gaps(requests))


def most_connections(requests: Iterable[LoggedRequest]) -> int:
    """Return the largest number of connections that one host ever had open at once."""
    return max((request.open_connections_of_host for request in requests), default=0)
