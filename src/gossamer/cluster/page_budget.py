"""How many pages each shard may store. Pure.

`--max-pages` counts the whole crawl, so pages are granted to shards. What a shard was granted and
did not use can be called back; what it stored stays counted. At no moment may all shards together
store more than the limit.
"""


class PageBudget:
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
        """Return True if somebody waits for pages and none are left."""
        return bool(self._wants) and not self.left

    def add_shard(self, shard: int) -> None:
        """Count one shard more, which has stored nothing and was granted nothing."""
        self._shards += 1
        self._granted[shard] = 0

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
