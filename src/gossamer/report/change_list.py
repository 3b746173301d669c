"""Changes since a moment, or since somebody last asked: a mark in the crawl's folder says when.

A mark is how far each links file counted then, so that nothing is told twice and nothing left out,
also of a crawl that runs meanwhile.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from gossamer.durable import replace_file
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.process import check_selector
from gossamer.report.changes import ChangeHistory, EditionTexts, PageChange, described
from gossamer.report.history import read_since
from gossamer.report.inquiry import folder_of
from gossamer.store import CrawlFolder, Lengths, counted_lengths

LAST = "last"
MARKS = "marks"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ChangeMark(Struct, frozen=True, kw_only=True):
    """How far somebody has been told the changes: what `marks/NAME.json` holds."""

    at: float
    """When that was, in seconds since 1970."""
    covered: Lengths
    """How many bytes of each links file."""


class Changes:
    """The changes of a crawl since some moment, in the order of the archive. Iterate over it.

    `remember` lets the next question that is asked with `since="last"` begin where this one ends.
    """

    def __init__(
        self, folder: Path | str, *, since: str | float | None, selector: str, now: float
    ) -> None:
        self.folder = folder_of(folder)
        self.selector = selector
        self.mark = mark_named(since)
        """The mark that it begins at; "" if it begins at a moment, or with the crawl."""
        if selector:
            check_selector(selector)
        self._now = now
        told = read_mark(self.folder, self.mark) if self.mark else None
        self._after = told.covered if told is not None else {}
        self.since_at = told.at if told is not None else _moment(since, self.mark, now)
        """The moment that it begins at; None: with the crawl."""
        self._until = counted_lengths(self.folder, "links")

    def __iter__(self) -> Iterator[PageChange]:
        history = ChangeHistory(self.folder)
        history.pass_over(_least(self._after, self._until))
        texts = EditionTexts(self.folder, self.selector)
        after_at = None if self.mark else self.since_at
        for change in history.advance(self._until):
            if after_at is not None and change.at < after_at:
                continue
            if (found := described(change, texts, selector=self.selector)) is not None:
                yield found

    def remember(self, name: str = "") -> None:
        """Keep how far the changes were told: as the mark that it began at, or another one."""
        save_mark(
            self.folder, name or self.mark or LAST, ChangeMark(at=self._now, covered=self._until)
        )


def mark_named(since: str | float | None) -> str:
    """Return the mark that is meant by "last" or "last:NAME"; "" by anything else."""
    if not isinstance(since, str) or since.strip().partition(":")[0] != LAST:
        return ""
    name = since.strip().partition(":")[2] or LAST
    if not _NAME.fullmatch(name):
        raise ConfigError(f"expected last:NAME with letters, digits, - and _, found {since!r}")
    return name


def read_mark(folder: CrawlFolder, name: str) -> ChangeMark | None:
    """Return a mark; None if there is none, or it cannot be read: then all changes are told."""
    try:
        return msgspec.json.decode(_path(folder, name).read_bytes(), type=ChangeMark)
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def save_mark(folder: CrawlFolder, name: str, mark: ChangeMark) -> None:
    """Keep a mark."""
    path = _path(folder, name)
    try:
        path.parent.mkdir(exist_ok=True)
        replace_file(path, msgspec.json.encode(mark))
    except OSError as error:
        raise CannotGoOn(f"cannot write {path}: {error.strerror}; use --since TIME") from error


def _path(folder: CrawlFolder, name: str) -> Path:
    return folder.root / MARKS / f"{name}.json"


def _moment(since: str | float | None, mark: str, now: float) -> float | None:
    if mark or since is None:
        return None
    return read_since(since, now) if isinstance(since, str) else float(since)


def _least(after: Lengths, until: Lengths) -> Lengths:
    """Return how far to read in silence: an archive that was cut meanwhile ends earlier."""
    return {name: min(length, until.get(name, 0)) for name, length in after.items()}
