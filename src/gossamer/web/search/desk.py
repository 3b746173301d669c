"""Desk: where questions in words are answered, always from the newest index."""

from pathlib import Path
from threading import Lock

from gossamer.ranks import ranks_path
from gossamer.search import (
    Answer,
    Finder,
    Manifest,
    Searcher,
    SearchWish,
    index_folder,
    open_index,
    ranks_of,
    read_manifest,
)
from gossamer.web.door.turns import Turns

AT_ONCE = 4
"""Questions that are answered at a time; the engine works outside the interpreter's lock."""
Stamp = tuple[int, int, int]


class NoIndex(Exception):
    """There is no index yet; the words say how to make one."""


class Desk:
    """Answers questions about the pages of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._index = index_folder(folder)
        self._turns = Turns(AT_ONCE)
        self._renewing = Lock()
        self._finder: Finder | None = None
        self._opened = 0
        self._searcher: Searcher | None = None
        self._seen: tuple[Stamp | None, Stamp | None] = (None, None)

    def ask(self, text: str, wish: SearchWish) -> Answer:
        """Return the answer to a question; a few are answered at a time."""
        with self._turns.own():
            return self._newest().search(text, wish)

    def manifest(self) -> Manifest | None:
        """Return what the index is; None if there is none."""
        return read_manifest(self._index)

    def _newest(self) -> Searcher:
        """Return who knows the index and the ranks as they are on disk now."""
        with self._renewing:
            index = _stamp(self._index / "manifest.json")
            ranks = _stamp(ranks_path(self._folder))
            if self._searcher is not None and (index, ranks) == self._seen:
                return self._searcher
            finder = self._renewed()
            if self._searcher is None or finder is not self._finder or ranks != self._seen[1]:
                self._searcher = Searcher(finder, ranks_of(self._folder))
            self._finder, self._seen = finder, (index, ranks)
            return self._searcher

    def _renewed(self) -> Finder:
        if self.manifest() is None:
            self._finder = None
            name = self._folder.resolve().name
            raise NoIndex(f"no index yet: run `gossamer build {name} index`")
        folder = self._index.stat().st_ino
        if self._finder is not None and folder == self._opened:
            self._finder.renew()
            return self._finder
        found = open_index(self._folder)
        self._opened = folder  # a whole build puts a new one in place of the old
        return found


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
