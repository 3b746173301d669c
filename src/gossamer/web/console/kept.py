"""Kept answers: what takes long to find is kept for a while, and found anew in the background.

Whoever asks waits for a moment only. What was found last is shown meanwhile, with its time; an
answer is found again when it is older than a multiple of what it took.
"""

from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import NamedTuple

from gossamer.clock import SystemClock
from gossamer.log import describe_error

WAIT_S = 0.2
"""How long whoever asks waits for the first answer."""
LEAST_AGE_S, AGE_FACTOR = 5.0, 20.0
MOST_KEPT = 32


class KeptAnswer(NamedTuple):
    """An answer, if there is one yet."""

    answer: object
    at: float
    """When it was found, by the wall clock; 0.0 if it was not found yet."""
    error: str = ""
    """Why there is none."""


class _Slot:
    def __init__(self) -> None:
        self.last = KeptAnswer(None, 0.0)
        self.took_s = 0.0
        self.finished_at = 0.0
        self.is_busy = False
        self.is_done = Event()


class KeptAnswers:
    """Of one server."""

    def __init__(self) -> None:
        self._slots: dict[str, _Slot] = {}
        self._lock = Lock()
        self._clock = SystemClock()

    def of(self, name: str, find: Callable[[], object], wait_s: float = WAIT_S) -> KeptAnswer:
        """Return the newest answer of a name; begin to find another one if it is old."""
        with self._lock:
            slot = self._slots.setdefault(name, _Slot())
            if len(self._slots) > MOST_KEPT:
                oldest = next(iter(self._slots))
                if not self._slots[oldest].is_busy and oldest != name:
                    del self._slots[oldest]
            age_s = self._clock.steady() - slot.finished_at
            is_old = not slot.finished_at or age_s > max(LEAST_AGE_S, AGE_FACTOR * slot.took_s)
            if is_old and not slot.is_busy:
                slot.is_busy = True
                slot.is_done.clear()
                Thread(target=self._find, args=(slot, find), daemon=True).start()
        slot.is_done.wait(wait_s)
        return slot.last

    def _find(self, slot: _Slot, find: Callable[[], object]) -> None:
        began = self._clock.steady()
        try:
            found = KeptAnswer(find(), self._clock.wall())
        except Exception as error:  # noqa: BLE001 -- it is told on the page
            found = KeptAnswer(None, 0.0, describe_error(error))
        slot.last = found
        slot.took_s = self._clock.steady() - began
        slot.finished_at = self._clock.steady()
        slot.is_busy = False
        slot.is_done.set()
