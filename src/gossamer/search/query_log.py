"""QueryLog: which queries were asked, and what came of them. Local, bounded, and only if wanted.

A line of `queries.jsonl` in the crawl's folder is one page of results: when, the query, how many
pages matched, how long it took. Nothing of who asked: no address, no user agent, no cookie.
"""

import errno
import fcntl
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from gossamer.durable import replace_file
from gossamer.log import redact
from gossamer.search.answer import Answer

FILE = "queries.jsonl"
MOST_BYTES = 4 * 1024 * 1024
"""Of one file; a full one becomes `queries.jsonl.1`, that one `.2`, and so on."""
MOST_OLDER = 3
"""Files beside the newest; older ones are deleted."""
MOST_CHARS = 2_000
"""Of a query that are kept."""
_TRIES = 10


class LoggedQuery(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One page of results that somebody asked for."""

    at: Annotated[float, Meta(ge=0)]
    """Seconds since 1970."""
    query: str
    total: Annotated[int, Meta(ge=0)]
    """Pages that matched it; 0 if only a corrected query had results."""
    took_ms: Annotated[float, Meta(ge=0)]
    page: Annotated[int, Meta(ge=1)] = 1
    corrected: str = ""
    """The query whose results were shown instead."""


class QueryFrequency(Struct, frozen=True, kw_only=True):
    """A query, how often it was asked, and what came of it the last time."""

    query: str
    """As it was written the last time."""
    count: int
    total: int
    slowest_ms: float
    last_at: float


class QueryReport(Struct, frozen=True, kw_only=True):
    """What a log of queries says."""

    queries: int
    """That were asked; further pages of results are not counted."""
    distinct: int
    without_results: int
    """Of the queries that were asked."""
    first_at: float | None
    last_at: float | None
    median_ms: float
    p99_ms: float
    damaged: int
    """Lines that could not be read, and were left out."""
    empty: list[QueryFrequency]
    """Queries whose last answer had no results, the most frequent first."""
    frequent: list[QueryFrequency]
    """The most frequent queries."""
    slow: list[QueryFrequency]
    """The slowest queries."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(LoggedQuery).decode


def logged_query(answer: Answer, at: float) -> LoggedQuery:
    """Return what is kept of an answer. Secrets in URLs are left out, as in every log."""
    return LoggedQuery(
        at=round(at, 3),
        query=redact(answer.query[:MOST_CHARS]),
        total=0 if answer.corrected else answer.total,
        took_ms=answer.took_ms,
        page=answer.page,
        corrected=redact(answer.corrected),
    )


class QueryLog:
    """The log of a folder. Several threads and processes may write it at a time."""

    def __init__(self, folder: Path | str) -> None:
        self.path = Path(folder) / FILE
        self._lock = Lock()

    def append(self, entry: LoggedQuery) -> None:
        """Add a line; raise `OSError` if that cannot be done."""
        line = _encode(entry) + b"\n"
        with self._lock, self._newest(len(line)) as file:
            size = os.lseek(file, 0, os.SEEK_END)
            is_torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"  # by a kill or a full disk
            written = b"\n" * is_torn + line
            if os.write(file, written) < len(written):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))

    def forget(self, is_named: Callable[[str], bool]) -> int:
        """Remove the lines whose query names what may not be kept, and those that cannot be read.

        Returns how many queries are gone. Whoever writes meanwhile goes on in the new file.
        """
        with self._lock:
            return sum(_without(path, is_named) for path in (self.path, *self._older()))

    def report(self, most: int = 20) -> QueryReport:
        """Return what was asked, with at most so many queries of each kind."""
        entries, damaged = self._read()
        asked = [entry for entry in entries if entry.page == 1]
        times = sorted(entry.took_ms for entry in asked)
        frequencies = _frequencies(asked)
        by_count = sorted(frequencies, key=lambda one: (-one.count, one.query))
        return QueryReport(
            queries=len(asked),
            distinct=len(frequencies),
            without_results=sum(entry.total == 0 for entry in asked),
            first_at=min((entry.at for entry in asked), default=None),
            last_at=max((entry.at for entry in asked), default=None),
            median_ms=_quantile(times, 0.5),
            p99_ms=_quantile(times, 0.99),
            damaged=damaged,
            empty=[one for one in by_count if one.total == 0][:most],
            frequent=by_count[:most],
            slow=sorted(frequencies, key=lambda one: (-one.slowest_ms, one.query))[:most],
        )

    def _read(self) -> tuple[list[LoggedQuery], int]:
        """Return all lines, the oldest first, and how many could not be read."""
        found, damaged = [], 0
        for path in (*reversed(self._older()), self.path):
            try:
                content = path.read_bytes()
            except FileNotFoundError:
                continue
            for line in content.splitlines():
                try:
                    found.append(_decode(line))
                except (msgspec.DecodeError, UnicodeDecodeError):
                    damaged += bool(line.strip())
        return found, damaged

    def _older(self) -> list[Path]:
        return [self.path.with_name(f"{FILE}.{n}") for n in range(1, MOST_OLDER + 1)]

    @contextmanager
    def _newest(self, room: int) -> Iterator[int]:
        """Open the newest file, locked; begin another one if a line has no room in it."""
        for _ in range(_TRIES):
            file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                if not self._is_current(file):  # another process has begun a new one
                    continue
                if os.fstat(file).st_size + room > MOST_BYTES and os.fstat(file).st_size:
                    self._rotate()
                    continue
                yield file
                return
            finally:
                os.close(file)
        raise OSError(f"{self.path} is replaced again and again")

    def _is_current(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), self.path.stat())
        except FileNotFoundError:
            return False

    def _rotate(self) -> None:
        """Move every file to the next number; the last one is gone."""
        older = self._older()
        for source, target in zip(reversed((self.path, *older[:-1])), reversed(older), strict=True):
            with suppress(FileNotFoundError):
                source.replace(target)


def _without(path: Path, is_named: Callable[[str], bool]) -> int:
    """Write a file anew without some queries; return how many are gone."""
    for _ in range(_TRIES):
        if not path.exists():
            return 0
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if not os.path.samestat(os.fstat(file.fileno()), path.stat()):
                continue  # another process has begun a new one
            lines = file.read().splitlines(keepends=True)
            kept = [line for line in lines if not _is_named_in(line, is_named)]
            if len(kept) < len(lines):
                replace_file(path, b"".join(kept), mode=0o600)
        return len(lines) - len(kept)
    raise OSError(f"{path} is replaced again and again")


def _is_named_in(line: bytes, is_named: Callable[[str], bool]) -> bool:
    try:
        found = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return True
    return is_named(found.query) or is_named(found.corrected)


def _frequencies(entries: Sequence[LoggedQuery]) -> list[QueryFrequency]:
    """Return each query once; case and blanks make no other one."""
    groups: defaultdict[str, list[LoggedQuery]] = defaultdict(list)
    for entry in entries:
        groups[" ".join(entry.query.casefold().split())].append(entry)
    lasts = ((max(group, key=lambda one: one.at), group) for group in groups.values())
    return [
        QueryFrequency(
            query=last.query,
            count=len(group),
            total=last.total,
            slowest_ms=max(one.took_ms for one in group),
            last_at=last.at,
        )
        for last, group in lasts
    ]


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Return the value below which a share of the values lies; 0 if there is none."""
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0.0
