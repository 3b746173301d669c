"""Lanes: who may have a slot, so that one slow host never costs another. Pure, but for its counts.

All requests in flight share `concurrency` slots. A request that has waited two seconds for its
first byte, or brings less than a kilobyte a second after it, is slow: it moves to the slow lane,
which is a quarter of the slots. The fast lane is the rest, and what the slow lane does not use.
When the slow lane is full and others wait, the slow request that has waited longest is cut.

Hosts that have never answered have at most half of the fast lane, and beyond that what is free in
the slow lane: most of them answer at once, but nobody knows which. They go first until they have an
eighth. The probes of parked hosts begin in the slow lane, of which they have at most half.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

from gossamer.fetch import TransferWatch
from gossamer.frontier import ALL_HOSTS, HostKind, Openings

FIRST_BYTE_S = 2.0
"""So long a request may wait for its first byte, connecting included, before it is slow."""
SLOW_BYTES_PER_S = 1000.0
WINDOW_S = 2.0
"""Over so long it is measured how much a request brings."""
LEAST_S = 1.0
"""So long every request may wait for its first byte, although it began in the slow lane."""
SWEEP_S = 0.25
"""Between two looks at everything in flight."""
UNDIVIDED = 8
"""With fewer slots there are no lanes: a half or an eighth of them would be none."""


class LaneSizes(NamedTuple):
    """How many requests may be in each lane: `slow` at most, `fast` at least."""

    fast: int
    slow: int


def lane_sizes(concurrency: int) -> LaneSizes:
    """Return how the slots are shared out."""
    slow = concurrency // 4 if concurrency >= UNDIVIDED else 0
    return LaneSizes(concurrency - slow, slow)


@dataclass(slots=True, kw_only=True)
class Flight:
    """One request in flight, from the moment its host was taken until its turn is recorded."""

    kind: HostKind
    began_at: float
    in_slow_lane: bool
    watch: TransferWatch = field(default_factory=TransferWatch)
    is_slow: bool = False
    is_cut: bool = False
    _measured_at: float = 0.0
    _measured_bytes: int = 0

    def measure(self, now: float) -> None:
        """Find out whether the request is slow at the moment."""
        received = self.watch.received_bytes
        if not received:
            self.is_slow = self.has_waited(FIRST_BYTE_S, now)
        elif not self._measured_bytes:
            self.is_slow = False
            self._measured_at, self._measured_bytes = now, received
        elif now - self._measured_at >= WINDOW_S:
            brought, took_s = received - self._measured_bytes, now - self._measured_at
            self.is_slow = brought < SLOW_BYTES_PER_S * took_s
            self._measured_at, self._measured_bytes = now, received

    def slow_down(self) -> None:
        """Move to the slow lane."""
        self.in_slow_lane = True

    def note_cut(self) -> None:
        """Note that the request is being cut."""
        self.is_cut = True

    def has_waited(self, seconds: float, now: float) -> bool:
        """Return True if the request has waited so long for its first byte, and still waits."""
        return now - self.began_at >= seconds and not self.watch.received_bytes


class Lanes:
    """The requests in flight, by the key of their task, and who may begin another."""

    def __init__(self, concurrency: int) -> None:
        self._slots = concurrency
        self._sizes = lane_sizes(concurrency)
        self._flights: dict[int, Flight] = {}
        self._slow = 0
        """Requests in the slow lane."""
        self._new = 0
        """Requests to hosts that have never answered, in the fast lane."""
        self._probes = 0
        """Requests to parked hosts."""
        self._openings = self._find_openings()

    def __len__(self) -> int:
        return len(self._flights)

    @property
    def slow(self) -> int:
        """Return how many requests are in the slow lane."""
        return self._slow

    def openings(self) -> Openings:
        """Return to which hosts a request may be begun, if there is a slot at all."""
        return self._openings

    def _find_openings(self) -> Openings:
        if not self._sizes.slow:
            return ALL_HOSTS
        fast = self._slots - self._slow
        has_slow_slot = self._slow < self._sizes.slow
        kinds = [HostKind.ANSWERED]
        if self._new < fast // 2 or has_slow_slot:
            kinds.append(HostKind.NEW)
        if has_slow_slot and self._probes < max(1, self._sizes.slow // 2):
            kinds.append(HostKind.PARKED)
        is_owed = self._new < self._slots // 8
        return Openings(tuple(kinds), HostKind.NEW if is_owed else None)

    def begin(self, key: int, kind: HostKind, now: float) -> TransferWatch:
        """Note that a request is begun; return what its transfer is watched by."""
        is_slow = kind is HostKind.PARKED or (
            kind is HostKind.NEW and self._new >= (self._slots - self._slow) // 2
        )
        in_slow_lane = is_slow and bool(self._sizes.slow)
        flight = Flight(kind=kind, began_at=now, in_slow_lane=in_slow_lane)
        self._flights[key] = flight
        if in_slow_lane or kind is not HostKind.ANSWERED:
            self._count(flight, 1)
        return flight.watch

    def end(self, key: int) -> None:
        """Note that a request's turn is over."""
        flight = self._flights.pop(key)
        if flight.in_slow_lane or flight.kind is not HostKind.ANSWERED:
            self._count(flight, -1)

    def sweep(self, now: float, waiting: AbstractSet[HostKind]) -> Iterator[TransferWatch]:
        """Move slow requests to the slow lane; yield those to be cut for the hosts that wait.

        Few at a time: what they make room for is not known before the next sweep.
        """
        if not self._sizes.slow:
            return
        for flight in self._flights.values():
            if not flight.watch.is_over:
                flight.measure(now)
                if flight.is_slow and not flight.in_slow_lane:
                    self._count(flight, -1)
                    flight.slow_down()
                    self._count(flight, 1)
        most = self._most_cuts(waiting)
        if most > 0:
            for flight in self._longest_waiting(now)[:most]:
                flight.note_cut()
                yield flight.watch

    def cut_all(self) -> Iterator[TransferWatch]:
        """Yield all that is under way, to be cut."""
        for flight in tuple(self._flights.values()):
            if flight.watch.is_under_way and not flight.is_cut:
                flight.note_cut()
                yield flight.watch

    def _most_cuts(self, waiting: AbstractSet[HostKind]) -> int:
        """Return how many requests may be cut: those too many, or some for hosts that wait."""
        too_many = max(0, self._slow - self._sizes.slow)
        if waiting - {*self.openings().kinds, HostKind.ANSWERED}:
            too_many += max(1, self._sizes.slow // 4)
        return too_many - self._cut if waiting else 0

    @property
    def _cut(self) -> int:
        return sum(flight.is_cut for flight in self._flights.values())

    def _longest_waiting(self, now: float) -> list[Flight]:
        """Return what may be cut: requests in the slow lane that are slow, the oldest first."""
        return [
            flight
            for flight in self._flights.values()
            if flight.in_slow_lane
            and flight.watch.is_under_way
            and not flight.is_cut
            and (flight.is_slow or flight.has_waited(LEAST_S, now))
        ]

    def _count(self, flight: Flight, change: int) -> None:
        """Count a request in or out: all but the usual ones, fast and of a host that answers."""
        self._slow += change * flight.in_slow_lane
        self._new += change * (flight.kind is HostKind.NEW and not flight.in_slow_lane)
        self._probes += change * (flight.kind is HostKind.PARKED)
        self._openings = self._find_openings()
