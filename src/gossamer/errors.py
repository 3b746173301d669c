"""The exception tree. Expected ends are values; an exception means a broken promise.

    GossamerError
    ├── ConfigError     the operator asked for something impossible      → exit code 2
    ├── CannotGoOn      the machine broke a promise (disk, lock, state)   → exit code 4
    │   └── CorruptFile   bytes on disk are not what we wrote there
    └── Bug             we broke a promise of our own

Each message says what was expected, what was found, where, and what to do.
"""

from pathlib import Path


class GossamerError(Exception):
    """The root: everything that Gossamer raises on purpose."""


class ConfigError(GossamerError):
    """The operator asked for something that cannot be done as asked."""


class CannotGoOn(GossamerError):
    """The disk, the lock or the state does not allow the crawl to go on."""


class CorruptFile(CannotGoOn):
    """A file holds something other than what was written to it."""

    def __init__(self, path: Path, offset: int, found: str) -> None:
        super().__init__(f"{path} is damaged at byte {offset}: {found}")
        self.path = path
        self.offset = offset


class Bug(GossamerError):
    """A promise of our own is broken; please report it with the message."""
