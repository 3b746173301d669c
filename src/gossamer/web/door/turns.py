"""Turns: so many questions at a time, and whoever would wait too long is told so."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

MOST_WAITING = 16
"""Long questions of a kind; there are more threads than that, so short ones always find one."""
PATIENCE_S = 30.0
"""How long a question waits for its turn."""


class Busy(Exception):
    """Too many long questions at once."""


class Turns:
    """One after another, or a few at once."""

    def __init__(self, at_once: int = 1) -> None:
        self._free = BoundedSemaphore(at_once)
        self._waiting = BoundedSemaphore(MOST_WAITING)

    @contextmanager
    def own(self) -> Iterator[None]:
        """Give a turn, or raise `Busy`."""
        if not self._waiting.acquire(blocking=False):
            raise Busy("too many long questions at once: ask again in a moment")
        try:
            if not self._free.acquire(timeout=PATIENCE_S):
                raise Busy("other questions take too long: ask again in a moment")
            try:
                yield
            finally:
                self._free.release()
        finally:
            self._waiting.release()
