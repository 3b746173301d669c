"""What the shards must agree on: how many pages each may store, and when all is done. Pure.

`--max-pages` counts the whole crawl, so pages are granted to shards. What a shard was granted and
did not use can be called back; what it stored stays counted. At no moment may all shards together
store more than the limit.

The end takes two rounds of questions with no commit between them. One round is not enough: a shard
may be idle while a letter to it is on its way. If in two rounds every shard is idle, with a receipt
for each of its letters, and nobody has committed anything in between, then no letter can have been
on its way.
"""


class Allowance:
    """How many pages each shard may have stored, all its life."""

    def __init__(self, shards: int, max_pages: int | None) -> None:
        self.max_pages = max_pages
        self._shards = shards
        self._granted: dict[int, int] = {}
        self._wants: dict[int, int] = {}

    @property
    def left(self) -> int:
        """Return how many pages nobody has been granted yet."""
        return max(0, (self.max_pages or 0) - sum(self._granted.values()))

    @property
    def is_scarce(self) -> bool:
        """Tell whether somebody waits for pages and none are left."""
        return bool(self._wants) and not self.left

    def join(self, shard: int, pages: int) -> None:
        """Count what a shard that starts has stored; what else it was granted before is back."""
        self._granted[shard] = pages
        self._wants.pop(shard, None)

    def lost(self, shard: int) -> None:
        """Note that a shard died: it waits for nothing; how much it has used it says when it joins.

        A portion that was granted between its death and its joining would not be counted.
        """
        self._wants.pop(shard, None)

    def want(self, shard: int, pages: int) -> None:
        """Note what a shard could use."""
        self._wants[shard] = pages

    def take_back(self, shard: int, pages: int) -> None:
        """Note that a shard gave pages back."""
        self._granted[shard] -= pages

    def grants(self) -> list[tuple[int, int]]:
        """Return what each waiting shard is granted now; small portions when little is left."""
        given: list[tuple[int, int]] = []
        if len(self._granted) < self._shards:  # nobody is granted what others may have stored
            return given
        for shard, pages in list(self._wants.items()):  # who waits longest comes first
            fair = max(1, self.left // (2 * len(self._granted)))
            if portion := min(pages, fair, self.left):
                self._granted[shard] += portion
                del self._wants[shard]
                given.append((shard, portion))
        return given


class Consensus:
    """The rounds of questions, and what was answered."""

    def __init__(self, shards: int) -> None:
        self._shards = shards
        self._idle: set[int] = set()
        self._commits: dict[int, int] = {}
        """What those have answered that were idle in the round under way."""
        self._first: dict[int, int] = {}
        """The same of the round before; empty if somebody was busy in it."""
        self._is_asking = False
        self.round = 0
        self.is_reached = False

    def note(self, shard: int, *, is_idle: bool, commits: int, answers: int) -> None:
        """Note a shard's report; `answers` is the round that it answers, 0 if none."""
        if not is_idle:
            self._idle.discard(shard)
            self._begin_again()
            return
        self._idle.add(shard)
        if self._is_asking and answers == self.round:
            self._commits[shard] = commits
            if len(self._commits) == self._shards:
                self._is_asking = False
                self.is_reached = self._commits == self._first
                self._first = self._commits

    def lost(self, shard: int) -> None:
        """Note that a shard died: it is not idle, whatever it said."""
        self._idle.discard(shard)
        self._begin_again()

    @property
    def should_ask(self) -> bool:
        """Tell whether a (further) round is worth asking: all were idle when last heard."""
        return len(self._idle) == self._shards and not self._is_asking and not self.is_reached

    def ask(self) -> int:
        """Begin a round; return its number."""
        self.round += 1
        self._commits = {}
        self._is_asking = True
        return self.round

    def _begin_again(self) -> None:
        self._first = {}
        self._is_asking = False
