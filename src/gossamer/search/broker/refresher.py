"""Refresher: a thread that does something again and again, for as long as somebody wants it."""

from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from weakref import WeakMethod

from gossamer.errors import GossamerError

CLOSE_S = 1.0
"""How long the thread is waited for when it is closed; it may wait for a machine that hangs."""


class Refresher:
    """Calls a method every few seconds until it is closed, or its object is gone."""

    def __init__(self, refresh: Callable[[], object], every_s: float) -> None:
        self._refresh = WeakMethod(refresh)
        self._every_s = every_s
        self._ended = Event()
        self._thread = Thread(target=self._run, name="gossamer-refresher", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        self._thread.join(CLOSE_S)

    def _run(self) -> None:
        while not self._ended.wait(self._every_s):
            refresh = self._refresh()
            if refresh is None:
                return
            with suppress(GossamerError, OSError):  # whoever asks is told; it is tried again
                refresh()
            del refresh  # so that what it belongs to can go meanwhile
