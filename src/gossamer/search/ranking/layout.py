"""The order in which results are shown: copies as one, few pages of a host on a page. Pure.

Results come in blocks, each in its order, and are laid out block after block. What is laid out of
the first blocks does not change when more come, so pages of results have no gaps and no repeats.
"""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from gossamer.search.ranking.ranker import Ranked

SKETCH_BITS = 64
FAR_BEHIND = 0.5
"""A page of another host does not come first if it has less than this share of the score."""


@dataclass(slots=True)
class Place:
    """A result, and those that it stands for."""

    ranked: Ranked
    others: list[Ranked] = field(default_factory=list)
    """Copies of it, the best first as far as they came in one block."""

    @property
    def copies(self) -> int:
        """How many pages it stands for beside itself."""
        return len(self.others)


class Layout:
    """Results as they are shown."""

    def __init__(self, per_page: int, *, same_bits: int | None, per_host: int | None) -> None:
        """Take how much is too much; None: nothing is.

        Sketches of copies differ in at most `same_bits` bits. Of one host there are at most
        `per_host` results on a page, as long as others can fill it that are not far behind.
        """
        self._per_page = per_page
        self._per_host = per_host
        self._sketches = None if same_bits is None else _Sketches(same_bits)
        self._here: Counter[int] = Counter()
        self.places: list[Place] = []

    def add(self, block: Iterable[Ranked]) -> None:
        """Lay out the next block."""
        waiting = deque(self._without_copies(block))
        later: deque[Place] = deque()
        while waiting or later:
            if len(self.places) % self._per_page == 0:
                self._here.clear()
                waiting.extendleft(reversed(later))
                later.clear()
            if waiting and self._is_crowded(waiting[0]):
                later.append(waiting.popleft())
            else:
                place = _next(waiting, later).popleft()
                self._here[place.ranked.candidate.host] += 1
                self.places.append(place)

    def page(self, number: int) -> list[Place]:
        """Return a page of results; the first is 1."""
        return self.places[(number - 1) * self._per_page : number * self._per_page]

    def more_from_hosts(self, number: int) -> Counter[int]:
        """Return how many results of each host come after a page; none if hosts do not matter."""
        if self._per_host is None:
            return Counter()
        rest = self.places[number * self._per_page :]
        return Counter(place.ranked.candidate.host for place in rest)

    def _is_crowded(self, place: Place) -> bool:
        here = self._here[place.ranked.candidate.host]
        return self._per_host is not None and here >= self._per_host

    def _without_copies(self, block: Iterable[Ranked]) -> list[Place]:
        """Return a block without those that say the same as a better one; they are counted there.

        The better one may be of an earlier block.
        """
        if self._sketches is None:
            return [Place(one) for one in block]
        kept: list[Place] = []
        for one in block:
            original = self._sketches.like(one.candidate.sketch)
            if original is None:
                place = Place(one)
                kept.append(place)
                self._sketches.add(one.candidate.sketch, place)
            else:
                original.others.append(one)
        return kept


def _next(waiting: deque[Place], later: deque[Place]) -> deque[Place]:
    """Return who goes on: others first, unless there are none or they are far behind."""
    if not waiting or not later:
        return waiting or later
    is_far = waiting[0].ranked.score < FAR_BEHIND * later[0].ranked.score
    return later if is_far else waiting


class _Sketches:
    """Results by parts of their sketches: two with at most n other bits share one of n + 1."""

    def __init__(self, same_bits: int) -> None:
        self._same_bits = same_bits
        edges = [SKETCH_BITS * n // (same_bits + 1) for n in range(same_bits + 2)]
        self._parts = [(low, (1 << (high - low)) - 1) for low, high in pairwise(edges)]
        self._places: list[dict[int, list[tuple[int, Place]]]] = [{} for _ in self._parts]

    def add(self, sketch: int, place: Place) -> None:
        if sketch:
            for (low, mask), places in zip(self._parts, self._places, strict=True):
                places.setdefault(sketch >> low & mask, []).append((sketch, place))

    def like(self, sketch: int) -> Place | None:
        """Return a result that says nearly the same; a page that says nothing is alone."""
        if sketch:
            for (low, mask), places in zip(self._parts, self._places, strict=True):
                for other, place in places.get(sketch >> low & mask, ()):
                    if (sketch ^ other).bit_count() <= self._same_bits:
                        return place
        return None
