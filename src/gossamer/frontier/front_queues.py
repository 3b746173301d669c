"""Front queues: waiting hosts in F classes, drawn at random with a bias to the high ones."""

from collections import deque
from random import Random

from gossamer.model import HostKey

KEY_BYTES = 11
CHUNK_BYTES = 4096 * KEY_BYTES
_WEIGHTS = [4.0**grade for grade in range(256)]


class HostFifo:
    """A first-in-first-out queue of host keys at 11 bytes each: millions of hosts may wait."""

    def __init__(self) -> None:
        self._chunks: deque[bytearray] = deque()
        self._taken = 0
        self.length = 0
        """Hosts that wait."""

    def push(self, host: HostKey) -> None:
        """Append a host."""
        if not self._chunks or len(self._chunks[-1]) >= CHUNK_BYTES:
            self._chunks.append(bytearray())
        self._chunks[-1] += host
        self.length += 1

    def pop(self) -> HostKey:
        """Take the host that waited longest."""
        chunk = self._chunks[0]
        host = bytes(chunk[self._taken : self._taken + KEY_BYTES])
        self._taken += KEY_BYTES
        self.length -= 1
        if self._taken >= len(chunk):
            self._chunks.popleft()
            self._taken = 0
        return host


class FrontQueues:
    """Waiting hosts by the grade of their best URL.

    A host whose best grade rises is pushed again; the entry left behind is stale and is skipped
    by the caller, who knows which hosts are active. So pushing never has to search.
    """

    def __init__(self, grades: int, random: Random, *, is_strict: bool = False) -> None:
        self._queues = [HostFifo() for _ in range(grades + 1)]
        self._random = random
        self._is_strict = is_strict
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def push(self, host: HostKey, grade: int) -> None:
        """Let a host wait in the queue of a grade."""
        self._queues[grade].push(host)
        self._length += 1

    def best_grade(self) -> int:
        """Return the highest grade in which a host waits, or 0."""
        for grade in range(len(self._queues) - 1, 0, -1):
            if self._queues[grade].length:
                return grade
        return 0

    def draw(self) -> tuple[HostKey, int] | None:
        """Take a host, and the grade for which it waited.

        The highest grade goes first if that is the order. Otherwise grade g is drawn with weight
        4^g among the queues that are not empty.
        """
        filled = [grade for grade, queue in enumerate(self._queues) if queue.length]
        if not filled:
            return None
        grade = filled[-1]
        if len(filled) > 1 and not self._is_strict:
            grade = self._random.choices(filled, [_WEIGHTS[grade] for grade in filled])[0]
        self._length -= 1
        return self._queues[grade].pop(), grade
