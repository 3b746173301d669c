"""How far a build is, for whoever looks: kept in the file that the builder has locked."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

import msgspec

from gossamer.clock import Clock, SystemClock
from gossamer.model import BuildProgress, BuildStep
from gossamer.store.derived import Derived

EVERY_S = 0.25
NAMES = ("graph", "index", "tables")
"""What is made from the archive."""
_STARTED = BuildStep(doing="reading")


def noting(place: Derived, tell: BuildProgress, clock: Clock | None = None) -> BuildProgress:
    """Return what tells each step of a build, and notes it a few times a second."""
    steady = (clock or SystemClock()).steady
    noted_at = -EVERY_S

    def note(step: BuildStep) -> None:
        nonlocal noted_at
        tell(step)
        if steady() - noted_at >= EVERY_S:
            noted_at = steady()
            with suppress(OSError):  # the disk is full: the build itself will tell
                place.lock_path.write_bytes(msgspec.json.encode(step))

    return note


def builds_under_way(root: Path) -> dict[str, BuildStep]:
    """Return what is being built of a crawl at this moment, and how far each is."""
    found = {name: _step_of(root / f"{name}.lock") for name in NAMES}
    return {name: step for name, step in found.items() if step is not None}


def _step_of(path: Path) -> BuildStep | None:
    """Return how far a build is; None if nobody holds the lock."""
    try:
        lock = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        with suppress(msgspec.DecodeError):
            return msgspec.json.decode(os.pread(lock, 4096, 0), type=BuildStep)
        return _STARTED
    finally:
        os.close(lock)
    return None
