"""What the system allows this process, open files and memory; and what is installed beside it.

Limits that are too low are found here before they strike: a library that gets no memory often ends
the process without a word.
"""

import errno
import resource
import sys
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gossamer.errors import CannotGoOn
from gossamer.linux import control_group_limits

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

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


def _group_limits() -> list[MemoryLimit]:
    return [MemoryLimit(size, "memory.max of its control group") for size in control_group_limits()]


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


class _AllPoints(Protocol):
    """What Python returns of all groups of entry points: its type differs between versions."""

    def select(self, *, group: str) -> Iterable["EntryPoint"]:
        """Return those of a group."""


def installed_points(group: str) -> "list[EntryPoint]":
    """Return what installed packages offer under a group, each once, in a lasting order."""
    points = _every_point(tuple(sys.path)).select(group=group)
    found = {(point.name, point.value): point for point in points}
    return [found[key] for key in sorted(found)]


@cache
def _every_point(_path: tuple[str, ...]) -> _AllPoints:
    """Return those of all groups: to find out, a file of every installed package is read."""
    from importlib.metadata import entry_points  # noqa: PLC0415 -- few commands need it

    return entry_points()
