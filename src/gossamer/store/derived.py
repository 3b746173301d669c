"""Derived: a folder that is made from the archive and can be made again, such as the graph.

NAME/       the one that holds: its manifest was written last
NAME.new/   one that is being built, or, if it has a manifest, one that is whole
NAME.old/   one that was replaced and is being deleted
NAME.lock   held by the process that builds
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.durable import sync
from gossamer.errors import CannotGoOn

MANIFEST = "manifest.json"


class BuiltElsewhere(CannotGoOn):
    """Another process builds the same at this moment."""


class Derived:
    """One such folder of a crawl. Killed at any step, nothing is lost: `settle` ends what began."""

    def __init__(self, root: Path, name: str, is_whole: Callable[[Path], bool]) -> None:
        self._root = root
        self._name = name
        self._is_whole = is_whole
        """Tells of a folder whether its manifest is there and is one of ours."""
        self.folder = root / name
        self._new = root / f"{name}.new"
        self._old = root / f"{name}.old"

    def whole(self) -> Path | None:
        """Return the folder that holds, also while it is being replaced; None if there is none."""
        for folder in (self.folder, self._new, self.folder):  # it may be moved between two looks
            if (folder / MANIFEST).exists():
                return folder
        return None

    @contextmanager
    def sole_builder(self) -> Iterator[None]:
        """Make sure that nobody else builds it."""
        try:
            lock = os.open(self._root / f"{self._name}.lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise CannotGoOn(
                f"cannot write to {self._root}: {error.strerror}; make it writable and build again"
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError as error:
            raise BuiltElsewhere(
                f"another process builds the {self._name} of {self._root}; wait until it ends, "
                "or stop it"
            ) from error
        finally:
            os.close(lock)

    def settle(self) -> None:
        """Finish or delete what a killed builder left."""
        if self._is_whole(self._new):
            self.swap()
        remove(self._new)
        remove(self._old)

    def discard_unfinished(self) -> None:
        """Delete what was begun and not finished."""
        if not self._is_whole(self._new):
            remove(self._new)

    def fresh(self) -> Path:
        """Return an empty folder to build in."""
        remove(self._new)
        self._new.mkdir(parents=True)
        return self._new

    def swap(self) -> None:
        """Put the whole one of the new folder into its place. May be killed at any step."""
        remove(self._old)
        if self.folder.exists():
            self.folder.rename(self._old)
        self._new.rename(self.folder)
        sync(self._root)
        remove(self._old)


def remove(folder: Path) -> None:
    """Delete a folder; of a link to one, only the link."""
    if folder.is_symlink():
        folder.unlink(missing_ok=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)
