"""Desk: where questions in words are answered, always from the newest index."""

from pathlib import Path
from threading import Lock

from gossamer.search import (
    Answer,
    Finder,
    Manifest,
    SearchWish,
    index_folder,
    open_finder,
    read_manifest,
    search,
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
        self._name = folder.name
        self._index = index_folder(folder)
        self._turns = Turns(AT_ONCE)
        self._renewing = Lock()
        self._stamp: Stamp | None = None
        self._shape: tuple[object, ...] = ()
        self._finder: Finder | None = None
        self.asked = 0

    def ask(self, text: str, wish: SearchWish) -> Answer:
        """Return the answer to a question; a few are answered at a time."""
        with self._turns.own():
            self.asked += 1
            return search(self._newest(), text, wish)

    def manifest(self) -> Manifest | None:
        """Return what the index is; None if there is none."""
        return read_manifest(self._index)

    def _newest(self) -> Finder:
        """Return the index as it is on disk now."""
        with self._renewing:
            stamp = _stamp(self._index / "manifest.json")
            if self._finder is None or stamp != self._stamp:
                self._finder = self._renewed(self._finder)
                self._stamp = stamp
            return self._finder

    def _renewed(self, before: Finder | None) -> Finder:
        found = self.manifest()
        if found is None:
            raise NoIndex(f"no index yet: run `gossamer build {self._name} index`")
        # Another folder, or other shards: a whole build has taken the place of what was open.
        shape = (self._index.stat().st_ino, found.version, found.shards, found.high_share)
        if before is not None and shape == self._shape:
            before.renew()
            return before
        self._shape = shape
        return open_finder(self._index)


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
