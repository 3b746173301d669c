"""The crawls below a folder: where they are, and how they do."""

import os
import shlex
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from gossamer import OpenCrawl, Status, state_sentence
from gossamer.clock import SystemClock
from gossamer.errors import GossamerError
from gossamer.web.door.turns import Turns

MOST_DEEP, MOST_CRAWLS, MOST_ENTRIES = 4, 200, 20_000
"""What is looked at below the folder: levels, crawls, names of files and folders."""
MOST_READ_S = 2.0
"""An answer begins to read no other state after so long; the next answer goes on."""
NOT_READ = "not looked at yet"
_ALIVE = ("history", "crawl.toml", "lock", "archive", "state")


class CrawlEntry(Struct, frozen=True, kw_only=True):
    """A crawl, in short. Figures are None if its state cannot be read, or was not yet."""

    name: str
    """Its folder, below the one that was looked through; "." is that itself."""
    state: str
    """running, stopping, paused, stopped, finished, unreadable, or not looked at yet."""
    detail: str = ""
    """What it does or why it waits, in a sentence; or why it cannot be read."""
    pages: int | None = None
    queued: int | None = None
    archive_bytes: int | None = None
    last_at: float | None = None
    """When something was last done in it, in seconds since 1970."""
    serve: str
    """The command that opens it."""


class CrawlEntries(Struct, frozen=True, kw_only=True):
    """The crawls below a folder, those that did something last at first."""

    crawls: list[CrawlEntry]
    complete: bool
    """False: there were more folders than are looked through."""


class FoundCrawls(NamedTuple):
    """Folders of crawls, and whether all folders were looked through."""

    folders: list[Path]
    is_complete: bool


def is_crawl(folder: Path) -> bool:
    """Return True if there is a crawl in a folder; what a link leads to is none."""
    if _is(stat.S_ISREG, folder / "crawl.toml"):
        return True
    return all(_is(stat.S_ISDIR, folder / name) for name in ("archive", "state"))


def _is(kind: Callable[[int], bool], path: Path) -> bool:
    try:
        return kind(path.lstat().st_mode)
    except OSError:
        return False


def find_crawls(root: Path) -> FoundCrawls:
    """Return the crawls in and below a folder, level by level; links are not followed."""
    if is_crawl(root):
        return FoundCrawls([root], is_complete=True)
    found: list[Path] = []
    level, looked = [root], 0
    for _ in range(MOST_DEEP):
        below: list[Path] = []
        for folder in level:
            for path in _folders_in(folder, MOST_ENTRIES - looked):
                looked += 1
                if path is None:
                    continue
                if not is_crawl(path):
                    below.append(path)
                    continue
                found.append(path)
                if len(found) > MOST_CRAWLS:
                    return FoundCrawls(found[:MOST_CRAWLS], is_complete=False)
            if looked >= MOST_ENTRIES:
                return FoundCrawls(found, is_complete=False)
        level = below
    return FoundCrawls(found, is_complete=not level)


def _folders_in(folder: Path, most: int) -> Iterator[Path | None]:
    """Give the folders in a folder that are not hidden, and None for each other name."""
    try:
        with os.scandir(folder) as entries:
            for entry, _ in zip(entries, range(most), strict=False):
                is_one = entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
                yield folder / entry.name if is_one else None
    except OSError:
        return  # it may not be read, or is gone


def state_of(status: Status) -> str:
    """Return the state of a crawl in a word."""
    if status.running and status.stop_reason:
        return "stopping"
    if status.paused:
        return "paused"
    if status.running:
        return "running"
    return "finished" if status.finished else "stopped"


class CrawlCatalog:
    """Reads how the crawls below a folder do; of those that stand still, when they have changed."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._clock = SystemClock()
        self._turn = Turns()
        self._kept: dict[Path, tuple[object, CrawlEntry]] = {}

    def entries(self) -> CrawlEntries:
        """Return all crawls, in short."""
        found = find_crawls(self.root)
        with self._turn.own():
            until = self._clock.steady() + MOST_READ_S
            crawls = [self._entry(folder, until) for folder in found.folders]
            self._kept = {path: self._kept[path] for path in found.folders if path in self._kept}
        crawls.sort(key=lambda one: (-(one.last_at or 0.0), one.name))
        return CrawlEntries(crawls=crawls, complete=found.is_complete)

    def without_paths(self, words: str) -> str:
        """Return words that do not tell where on this machine the folder lies."""
        root = str(self.root)
        told = words.replace(f"{root}/", "").replace(root, self.root.name)
        return told.encode("utf-8", "replace").decode()  # names need not be text

    def _entry(self, folder: Path, until: float) -> CrawlEntry:
        stamp = _stamp(folder)
        before, kept = self._kept.get(folder, (None, None))
        if kept is not None and before == stamp and kept.state not in {"running", "stopping"}:
            return kept
        if self._clock.steady() > until:
            return kept or self._plain(folder, NOT_READ)
        entry = self._read(folder)
        self._kept[folder] = (stamp, entry)
        return entry

    def _read(self, folder: Path) -> CrawlEntry:
        try:
            with OpenCrawl(folder) as crawl:
                status = crawl.status()
        except (GossamerError, OSError, ValueError, RuntimeError) as error:
            return self._plain(folder, "unreadable", self.without_paths(str(error)))
        plain = self._plain(folder, state_of(status), state_sentence(status))
        return CrawlEntry(
            name=plain.name,
            state=plain.state,
            detail=plain.detail,
            pages=status.pages,
            queued=status.queued,
            archive_bytes=status.archive_bytes,
            last_at=plain.last_at,
            serve=plain.serve,
        )

    def _plain(self, folder: Path, state: str, detail: str = "") -> CrawlEntry:
        name = _readable(folder.relative_to(self.root))
        # Its port is free whatever this server took.
        line = f"gossamer serve {shlex.quote(f'./{name}' if name[:1] == '-' else name)} --port 0"
        times = [_changed_at(folder / one) for one in _ALIVE]
        last_at = max((at for at in times if at is not None), default=None)
        return CrawlEntry(name=name, state=state, detail=detail, last_at=last_at, serve=line)


def _readable(path: Path) -> str:
    """Return a path as text that can be written anywhere, even if its bytes are no text."""
    return os.fsencode(path).decode("utf-8", "replace")


def _changed_at(path: Path) -> float | None:
    try:
        return path.lstat().st_mtime
    except OSError:
        return None


def _stamp(folder: Path) -> object:
    """Return what is another after a crawl or a command has changed something."""
    try:
        shards = sorted((folder / "state").iterdir())
    except OSError:
        shards = []
    paths = [folder, *(folder / name for name in (*_ALIVE, "paused")), *shards[:256]]
    return tuple(map(_changed_at, paths))
