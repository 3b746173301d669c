"""Clock: the only reader of time. Everything else is handed `now`."""

import asyncio
import time
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """The clock that every part of Gossamer is given."""

    def wall(self) -> float:
        """Return seconds since the epoch: for what is stored and survives a restart."""

    def steady(self) -> float:
        """Return seconds that never jump: for measuring how long something took."""

    async def sleep(self, seconds: float) -> None:
        """Wait, letting others run."""


class SystemClock:
    """The machine's own clock."""

    def wall(self) -> float:
        """Return seconds since the epoch."""
        return time.time()

    def steady(self) -> float:
        """Return seconds that never jump."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait, letting others run."""
        await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True)
class CrawlTime:
    """The crawl's own time: wall time at its first start, carried on by the steady clock.

    Politeness clocks are kept in it, so a wall clock that is set forward or back, while the crawl
    runs or between two runs of one boot, shortens no gap. A reboot anchors it anew.
    """

    clock: Clock
    offset_s: float

    @classmethod
    def anchored(cls, clock: Clock) -> "CrawlTime":
        """Return a crawl time that begins at the wall clock's present."""
        return cls(clock, clock.wall() - clock.steady())

    def now(self) -> float:
        """Return seconds since the epoch that never jump."""
        return self.clock.steady() + self.offset_s
