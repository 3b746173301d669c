"""Turns: whose turn is it among the domains on probation, when nothing else waits? Pure.

Each request moves a domain's clock on, the less the likelier the unit is to end. Nobody may be far
ahead of the slowest: a maze has a thousand URLs ready, the log of a small project has one, and
should come to its end all the same. Who does not move for some seconds is not waited for.
"""

LEAD = 4.0
"""A clock may be so far ahead of the slowest: requests of a unit of weight 1."""
PATIENCE_S = 5.0


class Turns:
    """The clocks of domains that hold tasks, or have some out."""

    def __init__(self) -> None:
        self._clocks: dict[str, float] = {}
        self._moved: dict[str, float] = {}
        """When each moved last."""
        self._now = 0.0
        self._floor = 0.0

    def join(self, name: str) -> float:
        """Let a domain have turns; return its clock. A new one begins where the slowest is."""
        if name not in self._clocks:
            self._clocks[name] = self._floor
            self._moved[name] = self._now
        return self._clocks[name]

    def leave(self, name: str) -> None:
        """Let a domain go: it has nothing left to do."""
        self._clocks.pop(name, None)
        self._moved.pop(name, None)
        self._set_floor()

    def take(self, name: str, cost: float) -> None:
        """Move the clock of a domain that had a turn."""
        self._clocks[name] = self.join(name) + cost
        self._moved[name] = self._now
        self._set_floor()

    def is_due(self, name: str) -> bool:
        """Return True if a domain may have a turn now."""
        return self.join(name) <= self._floor + LEAD

    def look(self, now: float) -> None:
        """Note the time: nobody waits for who has not moved for long."""
        self._now = now
        for name, clock in list(self._clocks.items()):
            if now - self._moved[name] > PATIENCE_S and clock < self._floor + LEAD:
                self._clocks[name] = self._floor + LEAD
                self._moved[name] = now
        self._set_floor()

    def _set_floor(self) -> None:
        self._floor = min(self._clocks.values(), default=self._floor)
