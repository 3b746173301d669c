"""One round of revisits: every page that is due, each once, a few of one host at a time. Pure."""

from collections import deque


class RevisitRound:
    """The pages of a round that were not asked for yet."""

    def __init__(self) -> None:
        self._waiting: deque[int] = deque()
        self._held: dict[str, deque[int]] = {}
        """Pages of hosts that have enough revisits under way."""
        self._postponed: deque[int] = deque()
        """Pages that come last."""
        self._woken: set[int] = set()
        self._met: set[int] = set()
        """All pages that were ever in it."""

    def __len__(self) -> int:
        return len(self._waiting) + len(self._postponed) + sum(map(len, self._held.values()))

    def __bool__(self) -> bool:
        return bool(self._waiting or self._held or self._postponed)

    def add(self, key: int) -> bool:
        """Add a page; return False if it was in the round before."""
        if key in self._met:
            return False
        self._met.add(key)
        self._waiting.append(key)
        return True

    def take(self) -> int | None:
        """Take the next page; None if all that are left are held."""
        return self._waiting.popleft() if self._waiting else None

    def hold(self, host: str, key: int) -> None:
        """Let a page wait until a revisit of its host has come back."""
        self._held.setdefault(host, deque()).append(key)

    def postpone(self, key: int) -> bool:
        """Let a page wait until the others had their turn; return False if they had."""
        if key in self._woken:
            return False
        self._postponed.append(key)
        return True

    def wake_postponed(self) -> None:
        """Let pages that were postponed have their turn, if nothing else is left."""
        if not self._waiting and not self._held:
            self._woken.update(self._postponed)
            self._waiting, self._postponed = self._postponed, self._waiting

    @property
    def held_hosts(self) -> list[str]:
        """Return the hosts that pages wait for."""
        return list(self._held)

    def drop(self, host: str) -> list[int]:
        """Take the pages that wait for a host out of the round."""
        return list(self._held.pop(host, ()))

    def release(self, host: str) -> None:
        """Let the next page of a host have its turn, if one is held."""
        held = self._held.get(host)
        if held:
            self._waiting.appendleft(held.popleft())
            if not held:
                del self._held[host]
