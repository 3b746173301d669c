"""Where the files of a graph are made, and how they take the place of others: all, or none."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from gossamer.graph.bv.graph import discard

LOCK = "gossamer-graph.lock"
MADE = "made"
"""The folder within a workshop for what shall stay."""


@contextmanager
def workshop(base: Path) -> Iterator[Path]:
    """Give a folder for work on BASE; what is in its folder `made` then becomes BASE's files.

    Files of an earlier BASE go, also those that the new one does not have. What a killed process
    left is deleted.
    """
    prefix = f".{base.name}-"
    for path in base.parent.iterdir():
        if path.name.startswith(prefix) and path.is_dir():
            _delete_if_left(path)
    with TemporaryDirectory(prefix=prefix, dir=base.parent) as folder:
        work = Path(folder)
        lock = os.open(work / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (work / MADE).mkdir()
            yield work
            _put(work / MADE, base)
        finally:
            os.close(lock)


def _put(made: Path, base: Path) -> None:
    """Move files into their place. Properties go first, come last: without, there is no graph."""
    discard(base)
    for path in sorted(made.iterdir(), key=lambda path: path.suffix == ".properties"):
        path.replace(base.parent / path.name)


def _delete_if_left(folder: Path) -> None:
    """Delete a workshop in which nobody works any more."""
    with suppress(OSError):
        lock = os.open(folder / LOCK, os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)
