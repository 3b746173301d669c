"""Exceptions. Expected outcomes are values; an exception means that a promise was broken.

    GossamerError
    ├── ConfigError     a setting, option or argument is invalid           → exit code 2
    ├── CannotGoOn      the disk, the lock or the state prevents going on   → exit code 4
    │   ├── CorruptFile   a file does not contain what was written to it
    │   ├── NotShippedYet a crawl that has only begun has nothing in its store yet
    │   └── TakenOver     another machine goes on with this crawl            → exit code 5
    └── Bug             an internal error in Gossamer

Each message says what was expected, what was found, where, and what to do.
"""

import shlex
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path


class GossamerError(Exception):
    """Base class of everything that Gossamer raises on purpose."""


class ConfigError(GossamerError):
    """A setting, an option or an argument is invalid."""


class CannotGoOn(GossamerError):
    """The disk, the lock or the state prevents the program from going on."""


class CorruptFile(CannotGoOn):
    """A file does not contain what was written to it."""

    def __init__(self, path: Path, offset: int, found: str) -> None:
        super().__init__(f"{path} is damaged at byte {offset}: {found}")
        self.path = path
        self.offset = offset


class NotShippedYet(CannotGoOn):
    """A crawl has begun, and its store has no checkpoint of it yet."""

    def __init__(self, url: str) -> None:
        super().__init__(f"{url} has no checkpoint yet: the crawl has only begun; try again")


class TakenOver(CannotGoOn):
    """Another machine goes on with this crawl."""


def rebuild_state_command(path: Path) -> str:
    """Return the command that rebuilds the state that a file belongs to: state/ in its crawl."""
    below = (one.parent for one in (path, *path.parents) if one.name in {"state", "state.new"})
    folder = next(below, None)
    return f"`gossamer build {shlex.quote(str(folder)) if folder else 'DIR'} state`"


class Bug(GossamerError):
    """An internal error in Gossamer; please report it with its message."""


_ALIKE = 0.8
"""A name this like another is taken for it, before keys of other tables are."""


def _near_key(name: str, known: Sequence[str]) -> list[str]:
    """Return a setting of whatever table whose key is like that of a name, if there is one."""
    by_key = {path.rpartition(".")[2]: path for path in known}
    near = get_close_matches(name.rpartition(".")[2], by_key, n=1)
    return [by_key[key] for key in near] or get_close_matches(name, known, n=1)


def unknown_setting(name: str, known: Sequence[str]) -> str:
    """Return a line about a setting that does not exist, with the one that may be meant."""
    near = get_close_matches(name, known, n=1, cutoff=_ALIKE) or _near_key(name, known)
    return f"{name}: unknown setting" + (f"; did you mean {near[0]}?" if near else "")
