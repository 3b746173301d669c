"""What the system allows this process: open files, memory, paths of sockets.

Limits that are too low are found here before they strike: a library that gets no memory often ends
the process without a word.
"""

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from gossamer.errors import CannotGoOn

MIB = 1024 * 1024
MIN_OPEN_FILES = 48
"""A crawl of one shard has about forty open that are no connections."""
MIN_ADDRESS_SPACE = 768 * MIB
"""Libraries alone map half of it, and threads their stacks; most of that is never used."""
MIN_DATA = 256 * MIB
_NO_MEMORY_WORDS = (
    "cannot allocate memory",
    "can't start new thread",
    "failed to map segment",
    "out of memory",
    "libllvmlite.so",
)
"""How libraries say it whose errors have no number."""


class MemoryLimit(NamedTuple):
    """How much memory this process may use, and what says so."""

    size: int
    where: str

    def words(self) -> str:
        """Return it for people."""
        return f"{self.size // MIB:,} MiB ({self.where})"


def raise_open_files() -> None:
    """Let this process, and those it starts, have as many open files as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):
            return  # it stays as it is


def open_files() -> int:
    """Return how many files this process may have open."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def memory_limits() -> list[MemoryLimit]:
    """Return the limits on the memory of this process, the smallest first."""
    found = [*_own_limits(), *_group_limits()]
    return sorted(found)


def _own_limits() -> list[MemoryLimit]:
    kinds = ((resource.RLIMIT_AS, "ulimit -v"), (resource.RLIMIT_DATA, "ulimit -d"))
    sizes = ((resource.getrlimit(kind)[0], name) for kind, name in kinds)
    return [MemoryLimit(size, name) for size, name in sizes if size != resource.RLIM_INFINITY]


def _group_limits(root: Path = Path("/sys/fs/cgroup")) -> list[MemoryLimit]:
    """Return the memory limits of the control group that this process is in, and those above."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    paths = [line.split(":", 2)[2] for line in lines if line.startswith("0::")]
    group = root / (paths[0] if paths else "").lstrip("/")
    files = [folder / "memory.max" for folder in (group, *group.parents)]
    sizes = [_size_in(file) for file in files if file.is_relative_to(root)]
    return [MemoryLimit(size, "memory.max of its control group") for size in sizes if size]


def _size_in(file: Path) -> int | None:
    try:
        text = file.read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None


def expect_memory() -> None:
    """Raise `CannotGoOn` if the memory of this process is limited to less than we can begin in."""
    needed = {"ulimit -v": MIN_ADDRESS_SPACE, "ulimit -d": MIN_DATA}
    for limit in memory_limits():
        least = needed.get(limit.where, 0)
        if limit.size < least:
            raise CannotGoOn(
                f"not enough memory: it is limited to {limit.words()}, and a crawl needs "
                f"{least // MIB:,} MiB; raise it (`{limit.where} unlimited`)"
            )


def expect_open_files() -> None:
    """Raise `CannotGoOn` if this process may not have enough open files for a crawl."""
    allowed = open_files()
    if allowed < MIN_OPEN_FILES:
        raise CannotGoOn(
            f"only {allowed} files may be open at once (ulimit -n), and a crawl needs at least "
            f"{MIN_OPEN_FILES}; raise the limit, such as with `ulimit -n 1024`"
        )


def is_out_of_memory(error: BaseException) -> bool:
    """Return True if an error means that memory could not be had."""
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    return any(word in str(error).lower() for word in _NO_MEMORY_WORDS)


def memory_words() -> str:
    """Return which limit on memory was probably reached, and what to do."""
    limits = memory_limits()
    where = f" (it is limited to {limits[0].words()})" if limits else ""
    remedy = "raise the limit" if limits else "free some"
    return f"not enough memory{where}; {remedy}, or give fewer --shards or a smaller --concurrency"


@contextmanager
def short_path(path: Path) -> Iterator[str]:
    """Give a path of bounded length: a Unix socket's may have 107 bytes, a crawl's folder more."""
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{path.name}"
    finally:
        os.close(descriptor)
