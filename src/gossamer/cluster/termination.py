"""When is a crawl finished? The shards are asked in rounds. Pure.

The end takes two rounds of questions with no commit between them. One round is not enough: a shard
may be idle while a letter to it is on its way. If in two rounds every shard is idle, with a receipt
for each of its letters, and nobody has committed anything in between, then no letter can have been
on its way.
"""


class Termination:
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

    def add_shard(self) -> None:
        """Count one shard more, which is not idle."""
        self._shards += 1
        self._begin_again()

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
        """Return True if a (further) round is worth asking: all were idle when last heard."""
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
