"""Visits: the server's own record of who asked for what and when, and small judges over it.

A test judges a crawler by this record, never by what the crawler says of itself.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

_FIELDS = 8
_STEERED = 0.99
_ESCAPES = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r"})


class Visit(Struct, frozen=True, gc=False, kw_only=True):
    """One request, noted when it arrived."""

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


class LogFile:
    """A tab-separated file of visits; each line is in the kernel before the answer leaves."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, visit: Visit) -> None:
        """Append one visit."""
        os.write(self._fd, to_line(visit).encode())

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


def to_line(visit: Visit) -> str:
    """Return a visit as one line of the log."""
    fields = (
        f"{visit.at:.6f}",
        visit.host.translate(_ESCAPES),
        visit.method.translate(_ESCAPES),
        visit.target.translate(_ESCAPES),
        str(visit.status),
        visit.user_agent.translate(_ESCAPES),
        str(visit.connection_id),
        str(visit.open_connections_of_host),
    )
    return "\t".join(fields) + "\n"


def read_log(path: Path, offset: int = 0) -> list[Visit]:
    """Return the visits of a log file; a last line that is still being written is left out."""
    with path.open("rb") as log:
        log.seek(offset)
        text = log.read().decode("utf-8", "replace")
    lines = (line.split("\t") for line in text.split("\n")[:-1])
    return [_from_fields(fields) for fields in lines if len(fields) == _FIELDS]


def _from_fields(fields: list[str]) -> Visit:
    at, host, method, target, status, agent, connection, open_now = fields
    return Visit(
        at=float(at),
        host=host,
        method=method,
        target=target,
        status=int(status),
        user_agent=agent,
        connection_id=int(connection),
        open_connections_of_host=int(open_now),
    )


def hits(visits: Iterable[Visit]) -> Counter[tuple[str, str]]:
    """Return how often each (host, target) was asked for."""
    return Counter((visit.host, visit.target) for visit in visits)


def repeats(visits: Iterable[Visit]) -> dict[tuple[str, str], int]:
    """Return what was asked for more than once, with how often."""
    return {what: times for what, times in hits(visits).items() if times > 1}


def by_host(visits: Iterable[Visit]) -> dict[str, list[Visit]]:
    """Return the visits of each host in the order of their arrival."""
    found: dict[str, list[Visit]] = {}
    for visit in sorted(visits, key=lambda visit: visit.at):
        found.setdefault(visit.host, []).append(visit)
    return found


def gaps(visits: Iterable[Visit]) -> Iterator[float]:
    """Give the seconds between each two requests to one host that follow each other."""
    for of_host in by_host(visits).values():
        for earlier, later in pairwise(of_host):
            yield later.at - earlier.at


def smallest_gap(visits: Iterable[Visit]) -> float:
    """Return the shortest time between two requests to one host; infinite if none had two."""
    return min(gaps(visits), default=float("inf"))


def short_gaps(visits: Iterable[Visit], gap_s: float) -> int:
    """Return how many gaps are shorter than promised; a steered wall clock may err by a bit."""
    return sum(gap < gap_s * _STEERED for gap in gaps(visits))


def most_connections(visits: Iterable[Visit]) -> int:
    """Return the largest number of connections that one host ever had open at once."""
    return max((visit.open_connections_of_host for visit in visits), default=0)
