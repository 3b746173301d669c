"""Files that survive a power loss: the one place that knows the steps, and their order.

A file is replaced in four steps: write a temporary file beside it, bring that to the disk, rename
it, bring the folder to the disk. Killed before the rename, the old file is whole; after it, the new
one is. Without the first sync a power loss may leave the name with empty content; without the
second one, the old content after we said that it is replaced.

Not for: telling people what went wrong. Errors of the file system pass through as they are.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import BinaryIO

from gossamer.linux import memory_folder

TEMPORARY = ".tmp"
"""What the name of a file that is being written ends with."""
READABLE = 0o666
"""As any program makes files: the process's umask takes away from it."""


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_files(folder: Path) -> None:
    """Bring all files of a folder, and their names, to the disk."""
    for path in folder.iterdir():
        if path.is_file():
            sync(path)
    sync(folder)


def replace_file(
    path: Path, content: bytes, *, mode: int = READABLE, is_synced: bool = True
) -> None:
    """Replace a file at once: a reader sees the old content or this, after a power loss, too."""
    with replacing(path, mode=mode, is_synced=is_synced) as file:
        file.write(content)


@contextmanager
def replacing(
    path: Path, *, temporary: Path | None = None, mode: int = READABLE, is_synced: bool = True
) -> Iterator[BinaryIO]:
    """Give a file to write to, which takes the place of `path` when the block ends well.

    If the block raises, the old file stays. Without `is_synced` the replacement is whole for every
    reader, and for the next process after a kill, but not after a power loss.
    """
    part = temporary or path.with_name(path.name + TEMPORARY)
    part.unlink(missing_ok=True)  # one that was left behind may have another mode, or be a link
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            if is_synced:
                os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    if is_synced:
        sync(path.parent)


def is_writable(folder: Path) -> bool:
    """Return True if files can be made in a folder; False on a read-only medium, for root too."""
    return os.access(folder, os.W_OK | os.X_OK)


@contextmanager
def linked_files(folder: Path, names: Iterable[str]) -> Iterator[Path]:
    """Give a temporary folder with links to some files of another, for who writes where he reads.

    It is removed with the block. It is never made in the working directory, where Python makes it
    if it can write nowhere else.
    """
    place = gettempdir()
    usual = place if place != str(Path.cwd()) else memory_folder()
    with TemporaryDirectory(prefix="gossamer-", dir=usual) as links:
        whole = folder.resolve()
        for name in names:
            Path(links, name).symlink_to(whole / name)
        yield Path(links)


def rename(source: Path, target: Path) -> None:
    """Give a file another name, in whichever folder: durably."""
    source.rename(target)
    sync(target.parent)
    if source.parent != target.parent:
        sync(source.parent)
