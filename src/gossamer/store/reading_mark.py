"""The reading mark: whose content was being read when the process died.

A small file mapped into memory: writing to it is a store to a page that the kernel keeps, so it
survives kill -9 at no cost per URL. Content is read in one thread, one document at a time and
without a pause, so there is one mark. What merely waits for its server is never marked: whatever
killed us, it was not that.

A new start keeps the mark of the last one until it has committed what follows from it, then clears
it: killed in between, the next start finds the same mark.
"""

import mmap
import os
import struct
from pathlib import Path
from typing import NamedTuple

from gossamer.errors import CannotGoOn
from gossamer.linux import reserve

_MARK = struct.Struct("<Qd")
_FIRST_AT, _LAST_AT = 1e9, 1e11
"""Moments that can be true: in old files the place holds something else."""


class LostReading(NamedTuple):
    """Whose content was being read when the process died, and since when."""

    key: int
    at: float
    """0.0 if it is not known."""


class ReadingMark:
    """The key of the URL whose content is being read now."""

    def __init__(self, path: Path) -> None:
        self.lost = _read(path)
        """What the last death cut short; None after a clean stop, or if nothing was being read."""
        try:
            self._map = _mapped(path)
        except OSError as error:
            raise CannotGoOn(
                f"cannot write {path}: {error.strerror}; free some disk space, then run it again"
            ) from error

    def clear(self) -> None:
        """Forget what the last start left: what follows from it is committed."""
        self.end()

    def begin(self, key: int, now: float) -> None:
        """Note whose content is being read from now on, until `end`."""
        _MARK.pack_into(self._map, 0, key, now)

    def end(self) -> None:
        """Note that nothing is being read."""
        _MARK.pack_into(self._map, 0, 0, 0.0)

    def close(self) -> None:
        """Release the map; what is still marked would be suspected at the next start."""
        self._map.close()


def _mapped(path: Path) -> mmap.mmap:
    """Return the file in memory, without holes: a store to one on a full disk is a SIGBUS."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        reserve(descriptor, _MARK.size)
        return mmap.mmap(descriptor, _MARK.size)
    finally:
        os.close(descriptor)


def _read(path: Path) -> LostReading | None:
    """Return what is marked in a file; in older ones the URLs in flight follow, who did nothing."""
    try:
        raw = path.read_bytes()[: _MARK.size]
    except FileNotFoundError:
        return None
    key, at = _MARK.unpack(raw.ljust(_MARK.size, b"\0"))
    return LostReading(key, at if _FIRST_AT < at < _LAST_AT else 0.0) if key else None
