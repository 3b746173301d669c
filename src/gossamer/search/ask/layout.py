"""The order in which results are shown: copies as one, few pages of a host on a page. Pure.

Results come in blocks, each in its order, and are laid out block after block. What is laid out of
the first blocks does not change when more come, so pages of results have no gaps and no repeats.
"""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from gossamer.search.ask.ranking import Ranked


@dataclass(slots=True)
class Place:
    """A result, and those that it stands for."""

    ranked: Ranked
    copies: int = 0


@dataclass(slots=True, kw_only=True)
class Layout:
    """Results as they are shown."""

    per_page: int
    same_bits: int | None
    """Sketches of copies differ in at most so many bits; None: copies are shown, too."""
    per_host: int | None
    """Pages of one host on a page of results; None: any number."""
    places: list[Place] = field(default_factory=list)
    _here: Counter[int] = field(default_factory=Counter)

    def add(self, block: Iterable[Ranked]) -> None:
        """Lay out the next block."""
        waiting = deque(self._without_copies(block))
        later: deque[Place] = deque()
        while waiting or later:
            if len(self.places) % self.per_page == 0:
                self._here.clear()
                waiting.extendleft(reversed(later))
                later.clear()
            if waiting and self._is_crowded(waiting[0]):
                later.append(waiting.popleft())
            else:  # a page is rather filled with one host than left short
                place = (waiting or later).popleft()
                self._here[place.ranked.candidate.host] += 1
                self.places.append(place)

    def page(self, number: int) -> list[Place]:
        """Return a page of results; the first is 1."""
        return self.places[(number - 1) * self.per_page : number * self.per_page]

    def more_from_hosts(self, number: int) -> Counter[int]:
        """Return how many results of each host come after a page."""
        rest = self.places[number * self.per_page :]
        return Counter(place.ranked.candidate.host for place in rest)

    def _is_crowded(self, place: Place) -> bool:
        if self.per_host is None:
            return False
        return self._here[place.ranked.candidate.host] >= self.per_host

    def _without_copies(self, block: Iterable[Ranked]) -> list[Place]:
        """Return a block without those that say the same as a better one; they are counted there.

        The better one may be of an earlier block.
        """
        if self.same_bits is None:
            return [Place(one) for one in block]
        known = [(place.ranked.candidate.sketch, place) for place in self.places]
        kept: list[Place] = []
        for one in block:
            sketch = one.candidate.sketch
            original = self._original(sketch, known) if sketch else None
            if original:
                original.copies += 1
                continue
            place = Place(one)
            kept.append(place)
            if sketch:
                known.append((sketch, place))
        return kept

    def _original(self, sketch: int, known: list[tuple[int, Place]]) -> Place | None:
        most = self.same_bits or 0
        for other, place in known:
            if (sketch ^ other).bit_count() <= most and other:
                return place
        return None
