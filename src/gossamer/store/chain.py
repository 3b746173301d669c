"""A chain of numbered objects: who has made the next one holds what the chain is about.

Nothing else decides anything. A number is offered with one content only until it is decided; what
is there already is read and compared, so that an answer which was lost on the way does no harm.
Numbers are never free again: whoever holds N looks after N itself, too (ADR 74).
"""

from typing import NamedTuple

from gossamer.errors import CannotGoOn
from gossamer.store.objects import Objects

DIGITS = 12


class ChainLink(NamedTuple):
    """One object of a chain."""

    number: int
    content: bytes


class Chain:
    """The numbered objects below a prefix of a store, without gaps but for old ones."""

    def __init__(self, objects: Objects, prefix: str) -> None:
        self._objects = objects
        self.prefix = prefix

    def numbers(self) -> list[int]:
        """Return the numbers that are there, in order."""
        names = (name.rpartition("/")[2] for name in self._objects.names(f"{self.prefix}/"))
        return sorted(int(name) for name in names if name.isdecimal())

    def newest(self) -> ChainLink | None:
        """Return the object with the highest number; None of a chain that was never begun."""
        while numbers := self.numbers():
            content = self.read(numbers[-1])
            if content is not None:
                return ChainLink(numbers[-1], content)
        return None

    def read(self, number: int) -> bytes | None:
        """Return the object of a number; None if there is none."""
        return self._objects.read(self.name(number))

    def append(self, number: int, content: bytes) -> bool:
        """Offer an object for a number; return True if it is ours, and the one before it is there.

        The one before may have been swept while we slept, and the number we offer with it.
        """
        if number > 1 and not self._has(number - 1):
            return False
        if not self._objects.create(self.name(number), content):
            return False
        return number == 1 or self._has(number - 1)

    def is_newest(self, number: int) -> bool:
        """Return True if a number is there and the next one is not: we still hold the chain."""
        has_next = self._objects.exists(self.name(number + 1))
        return not has_next and self._has(number)

    def _has(self, number: int) -> bool:
        """Return True if a number is there. Nothing at all is no answer: the store is away."""
        is_there = self._objects.exists(self.name(number))
        if not is_there and not self.numbers():
            raise CannotGoOn(f"{self._objects.url} has lost the crawl: is it mounted?")
        return is_there

    def name(self, number: int) -> str:
        """Return the name of the object of a number."""
        return f"{self.prefix}/{number:0{DIGITS}d}"
