"""Places: where exported files go. A file appears under its name only when it is whole.

A folder: each file is written beside its place and renamed. An object store: each file is written
to a temporary folder and sent when it is whole. `-` is standard output, for one stream.
"""

import os
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import BinaryIO, NamedTuple

from gossamer.durable import sync
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.store import Objects, require_store

STDOUT = "-"
PART = ".part"
"""Ends the name of the folder in which an export writes a file; its process is in the name."""
_NAMED_CHARS = 100
_STORE = re.compile(r"[a-z][a-z0-9+.-]*://")


def is_store(place: str) -> bool:
    """Return True if a place is the URL of an object store."""
    return _STORE.match(place) is not None


class ExportPlace:
    """A folder, or a prefix of an object store, that takes files."""

    def __init__(self, place: str) -> None:
        self._url = place if is_store(place) else ""
        self._folder = Path(place)
        if self._url:
            require_store(self._url)
        if place == STDOUT:
            raise ConfigError("standard output takes one stream, not files")
        if self._folder.is_file():
            raise ConfigError(f"{place} is a file; expected a folder, `-` or an object store")

    @contextmanager
    def new_file(self, name: str) -> Iterator[Path]:
        """Give a path to write to; what is there takes the place of a file when the block ends."""
        if self._url:
            with TemporaryDirectory(prefix="gossamer-") as folder:
                part = Path(folder, Path(name).name)
                yield part
                self._send(name, part)
            return
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        _delete_left_over(path)
        with TemporaryDirectory(
            prefix=f".{path.name[:_NAMED_CHARS]}.",
            suffix=f".{os.getpid()}{PART}",
            dir=path.parent,
            ignore_cleanup_errors=True,
        ) as folder:
            part = Path(folder, path.name)
            with _naming(path):
                yield part
                _replace(part, path)
        sync(path.parent)

    def expect_own(self, name: str, is_own: Callable[[Path], bool]) -> None:
        """Refuse to replace a folder that somebody keeps other things in."""
        path = self._folder / name
        if not self._url and path.is_dir() and not is_own(path):
            raise ConfigError(
                f"{path} has files that no export has written: give --to another folder"
            )

    def shown(self, name: str) -> str:
        """Return how a file is named to people."""
        return f"{self._url.rstrip('/')}/{name}" if self._url else str(self._folder / name)

    def _send(self, name: str, part: Path) -> None:
        objects = Objects(self._url, is_made=True)
        for path in sorted(part.rglob("*")) if part.is_dir() else (part,):
            if path.is_file():
                below = path.relative_to(part).as_posix() if path != part else ""
                objects.put(f"{name}/{below}".rstrip("/"), path)


class FilePlace(NamedTuple):
    """Where one file goes: the folder or prefix, and its name there."""

    place: ExportPlace
    name: str

    @property
    def shown(self) -> str:
        """Return how it is named to people."""
        return self.place.shown(self.name)


def file_place(place: str) -> FilePlace:
    """Return a place that is a file itself, not the folder that files go to."""
    if is_store(place):
        before, _, name = place.rstrip("/").rpartition("/")
        return FilePlace(ExportPlace(before), name)
    path = Path(place)
    return FilePlace(ExportPlace(str(path.parent)), path.name)


def names_file(place: str, suffixes: tuple[str, ...]) -> bool:
    """Return True if a place is a file: it ends with one of some suffixes, and is no folder."""
    name = place.partition("://")[2].partition("/")[2] if is_store(place) else place
    return name.lower().endswith(suffixes) and (is_store(place) or not Path(place).is_dir())


def _replace(part: Path, path: Path) -> None:
    """Put a file, or a folder of files, into the place of another, which goes into part's folder.

    Nobody else knows the name of that folder: neither another export nor a user's own `NAME.old`.
    """
    if not part.is_dir():
        sync(part)
        part.replace(path)
        return
    if path.exists():
        path.rename(part.with_name("old"))
    part.rename(path)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let an error that names no file (a full disk) name the one that was to be written."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    except sqlite3.Error as error:
        raise CannotGoOn(f"cannot write {path}: {error}; is the disk full?") from error


def _delete_left_over(path: Path) -> None:
    """Delete what exports to a path left that were killed."""
    for folder in path.parent.glob(f".{escape(path.name[:_NAMED_CHARS])}.*{PART}"):
        number = folder.name.removesuffix(PART).rpartition(".")[2]
        if number.isdecimal() and not _is_running(int(number)):
            rmtree(folder, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def standard_output() -> BinaryIO:
    """Return standard output, for bytes."""
    return sys.stdout.buffer
