"""ManualClock: time that passes only when a test says so."""

import asyncio
import heapq
from itertools import count

_TICKS = 20
"""Rounds of the loop that a woken task gets before time goes on."""


class ManualClock:
    """A Clock that stands still. `advance` wakes the sleepers whose moment has come."""

    def __init__(self, wall_at: float = 1_700_000_000.0) -> None:
        self._wall = wall_at
        self._steady = 0.0
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def wall(self) -> float:
        """Return seconds since the epoch."""
        return self._wall

    def steady(self) -> float:
        """Return seconds that never jump."""
        return self._steady

    @property
    def sleepers(self) -> int:
        """Return how many are asleep."""
        return sum(not future.done() for _, _, future in self._sleepers)

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been advanced so far; others run at least once."""
        if seconds <= 0:
            await _tick()
            return
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._steady + seconds, next(self._order), future))
        await future

    def advance(self, seconds: float) -> None:
        """Move both clocks, then wake the due sleepers; they run when the caller next waits."""
        if seconds < 0:
            raise ValueError(f"time goes forward only, not by {seconds} s; see jump_wall")
        self._move_to(self._steady + seconds)

    async def run_for(self, seconds: float) -> None:
        """Let time pass in steps, each sleeper waking at its own moment and running on."""
        end_at = self._steady + seconds
        await _settle()
        while self._sleepers and self._sleepers[0][0] <= end_at:
            self._move_to(self._sleepers[0][0])
            await _settle()
        self._move_to(end_at)
        await _settle()

    def jump_wall(self, seconds: float) -> None:
        """Set the wall clock forward or back, as an operator might; the steady one stays."""
        self._wall += seconds

    def _move_to(self, steady_at: float) -> None:
        passed_s = max(0.0, steady_at - self._steady)
        self._steady += passed_s
        self._wall += passed_s
        while self._sleepers and self._sleepers[0][0] <= self._steady:
            _, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)


async def _tick() -> None:
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    loop.call_soon(future.set_result, None)
    await future


async def _settle() -> None:
    for _ in range(_TICKS):
        await _tick()
