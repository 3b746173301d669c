"""NodeHealth: whether a machine answers. One that does not is left alone for a while, then asked.

Without it every question would wait for a machine that hangs, in each of its rounds, as long as the
deadline lets it.
"""

from threading import Lock

from gossamer.clock import Clock

FIRST_S, MOST_S = 1.0, 30.0
"""How long a machine is left alone after its first failure, and at most; doubled each time."""


class NodeHealth:
    """What is known of one machine by all who ask it. Any thread may ask."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._reason = ""
        self._wait_s = FIRST_S
        self._retry_at = 0.0
        self._is_tried = False

    def refusal(self) -> str:
        """Return why it is not to be asked now; "" if it is."""
        with self._lock:
            return self._reason if self._clock.steady() < self._retry_at else ""

    def note_answer(self) -> None:
        """Note that it has answered, whatever it said."""
        with self._lock:
            self._reason, self._wait_s, self._retry_at = "", FIRST_S, 0.0

    def note_failure(self, reason: str) -> None:
        """Note that it has not; failures while it is left alone count as one."""
        with self._lock:
            self._reason = reason
            if self._clock.steady() >= self._retry_at:
                self._leave_alone()

    def begin_try(self, limit_s: float) -> None:
        """Let nobody else ask while it is tried whether a machine that was away is back."""
        with self._lock:
            self._is_tried = bool(self._reason)
            if self._is_tried:
                self._retry_at = max(self._retry_at, self._clock.steady() + limit_s)

    def end_try(self, reason: str) -> None:
        """Note that it is not back."""
        self.note_failure(reason)
        with self._lock:
            if self._is_tried:
                self._is_tried = False
                self._leave_alone()

    def _leave_alone(self) -> None:
        self._retry_at = self._clock.steady() + self._wait_s
        self._wait_s = min(2 * self._wait_s, MOST_S)
