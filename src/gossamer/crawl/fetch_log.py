"""The log of fetches: a line for each, as JSON in a file or in words on standard error.

Every shard appends to the same file, whole lines with one write after each commit, so that a line
stands for something that has happened. A kill may cost the lines of the last commit.
"""

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from gossamer.log import describe_error, escape, redact, warn
from gossamer.model import Document, Failed, Refused, Turn, UrlRecord, UrlState

STDOUT = "-"
MAX_BYTES = 64 * 1024 * 1024
"""A log that is larger is put aside: FILE.1 is the last one, FILE.5 the oldest that is kept."""
KEPT = 5
_WRITE_BYTES = 1024 * 1024
_encode = msgspec.json.Encoder().encode


class FetchLine(Struct, frozen=True, kw_only=True):
    """One line of the log: a URL that had its turn."""

    time: str
    """When the request was sent, or the URL refused: UTC, to the millisecond."""
    url: str
    outcome: str
    """archived, redirected, failed, waiting (it is tried again), refused, gone; of a revisit
    what it found: changed, unchanged, same_words, missing, no_answer."""
    reason: str
    """Of a failure or refusal; "" otherwise."""
    status: int | None
    """HTTP status; None without an answer."""
    bytes: int | None
    """Of the body as sent."""
    ms: float | None
    """From sending the request to the last byte."""
    via: str
    """The page that had linked it."""
    shard: int


class LogOptions(Struct, frozen=True, kw_only=True):
    """Where fetches are logged."""

    file: str = ""
    """A path, or "-" for standard output; "" for nowhere."""
    is_verbose: bool = False
    """In words on standard error, too."""


NO_LOG = LogOptions()


class FetchLog:
    """Writes the lines of one shard."""

    def __init__(self, options: LogOptions, shard: int) -> None:
        self._shard = shard
        self._lines: list[FetchLine] = []
        self._outputs: list[tuple[Callable[[bytes], None], Callable[[FetchLine], bytes]]] = []
        if options.file == STDOUT:
            self._outputs.append((_write_to(1), _json_line))
        elif options.file:
            self._outputs.append((RotatedFile(Path(options.file)).append, _json_line))
        if options.is_verbose:
            self._outputs.append((_write_to(2), _worded_line))
        self._has_failed = False

    def note(self, turn: Turn, record: UrlRecord, document: Document | None, at: float) -> None:
        """Take a turn into the log: its line is written after its commit."""
        outcome = turn.revisit.value if turn.revisit is not None else record.state.value
        if turn.retry_at is not None:
            outcome = UrlState.WAITING.value
        self._lines.append(
            FetchLine(
                time=_moment(document.fetched_at if document is not None else at),
                url=turn.task.url.text,
                outcome=outcome,
                reason=_reason_of(turn),
                status=document.status if document is not None else None,
                bytes=document.body.sent_bytes if document is not None else None,
                ms=round(document.latency_s * 1000.0, 1) if document is not None else None,
                via=turn.task.via,
                shard=self._shard,
            )
        )

    def committed(self) -> None:
        """Write the lines of what is committed. A full disk costs the log, not the crawl."""
        lines, self._lines = self._lines, []
        if not lines:
            return
        try:
            for write, line_of in self._outputs:
                write(b"".join(map(line_of, lines)))
        except OSError as error:
            if not self._has_failed:
                warn("log.failed", error=describe_error(error), advice="the crawl goes on without")
            self._has_failed = True
        else:
            self._has_failed = False


class RotatedFile:
    """A file to which several processes append, and which is put aside when it is too large."""

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._fd: int | None = None

    def append(self, data: bytes) -> None:
        """Append whole lines with one write."""
        descriptor = self._descriptor()
        if os.fstat(descriptor).st_size >= self._max_bytes:
            self._rotate(descriptor)
            descriptor = self._descriptor()
        _write_all(descriptor, data)

    def _descriptor(self) -> int:
        """Return the file that has the name now: another process may have put ours aside."""
        if self._fd is not None and not self._is_current(self._fd):
            os.close(self._fd)
            self._fd = None
        if self._fd is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._fd = os.open(self._path, flags, 0o644)
        return self._fd

    def _is_current(self, descriptor: int) -> bool:
        try:
            named, ours = self._path.stat(), os.fstat(descriptor)
        except FileNotFoundError:
            return False
        return (named.st_ino, named.st_dev) == (ours.st_ino, ours.st_dev)

    def _rotate(self, descriptor: int) -> None:
        """Put the file aside, unless another process has done so while we waited for our turn."""
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            if not self._is_current(descriptor):
                return
            for number in range(KEPT - 1, 0, -1):
                with suppress(FileNotFoundError):
                    self._numbered(number).replace(self._numbered(number + 1))
            self._path.replace(self._numbered(1))
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")


def _write_to(descriptor: int) -> Callable[[bytes], None]:
    def write(data: bytes) -> None:
        _write_all(descriptor, data)

    return write


def _write_all(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left[:_WRITE_BYTES]) :]


def _json_line(line: FetchLine) -> bytes:
    safe = msgspec.structs.replace(line, url=redact(line.url), via=redact(line.via))
    return _encode(safe) + b"\n"


def _worded_line(line: FetchLine) -> bytes:
    parts = [line.time, line.outcome]
    parts += [line.reason] if line.reason else []
    parts += [str(line.status)] if line.status else []
    parts += [f"{line.bytes:,} B"] if line.bytes is not None else []
    parts += [f"{line.ms:,.0f} ms"] if line.ms is not None else []
    via = f"  (linked from {line.via})" if line.via else ""
    words = f"{' '.join(parts)}  {line.url}{via}"
    return escape(redact(words)).encode("utf-8", "replace") + b"\n"


def _reason_of(turn: Turn) -> str:
    """Return why a turn ended without a page; "" if it did not."""
    match turn.outcome:
        case Failed():
            return turn.outcome.reason
        case Refused(kind=kind):
            return kind.value
        case _:
            return ""


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
