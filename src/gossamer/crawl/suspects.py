"""Suspects: URLs whose page was being read when the crawl died.

Whatever killed it, a suspect is not guilty. It is postponed, then read alone in a helper process;
that clears it, unless the helper dies of it, too. Rows in and rows out, like every station.
"""

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from gossamer.model import Row
from gossamer.report import SUSPECT, Suspect, decode_suspect, encode_suspect, suspect_row_key

POSTPONED_S = 60.0
"""A suspect waits so long, or until there is nothing else to do."""
MAX_DEATHS = 3
"""Of the crawl. The second can only come after a helper has read the page well: by a filter, or
by a processor that no helper can load."""
MAX_HELPER_DEATHS = 2


class Suspects:
    """The suspects of a shard, by the key of their URL. All are in memory: one per death."""

    def __init__(self, scan: Callable[[bytes], Iterator[tuple[bytes, bytes]]]) -> None:
        self._by_key: dict[int, Suspect] = {}
        self._changed: dict[bytes, bytes | None] = {}
        for row, value in scan(SUSPECT):
            if (suspect := decode_suspect(value)) is not None:
                self._by_key[int.from_bytes(row[1:], "big")] = suspect
            else:
                self._changed[row] = None
        self.postponed = set(self._by_key)
        """Those that may wait for their moment, though there is nothing else to do."""

    def __len__(self) -> int:
        return len(self._by_key)

    def __contains__(self, key: int) -> bool:
        return key in self._by_key

    def until(self, key: int) -> float:
        """Return the moment before which a URL is postponed; 0.0 if it is no suspect."""
        suspect = self._by_key.get(key)
        return suspect.until if suspect is not None else 0.0

    def add(self, key: int, died_at: float, now: float) -> Suspect:
        """Take note that the crawl died while a page was being read; return what is known of it."""
        old = self._by_key.get(key)
        deaths = 1 if old is None else old.deaths + 1
        return self._put(key, Suspect(died_at or now, now + POSTPONED_S, deaths))

    def helper_died(self, key: int, now: float) -> Suspect:
        """Take note that the helper process died of a suspect; return what is known of it."""
        old = self._by_key[key]
        return self._put(
            key, replace(old, until=now + POSTPONED_S, helper_deaths=old.helper_deaths + 1)
        )

    def clear(self, key: int) -> None:
        """Forget a suspicion: the page was read, or its URL is given up."""
        if self._by_key.pop(key, None) is not None:
            self.postponed.discard(key)
            self._changed[suspect_row_key(key)] = None

    def take_postponed(self) -> set[int]:
        """Return those that are postponed: from now on they wait no longer."""
        postponed, self.postponed = self.postponed, set()
        return postponed

    def _put(self, key: int, suspect: Suspect) -> Suspect:
        self._by_key[key] = suspect
        self.postponed.add(key)
        self._changed[suspect_row_key(key)] = encode_suspect(suspect)
        return suspect

    def rows_to_commit(self) -> list[Row]:
        """Return the rows that changed since the last call."""
        changed, self._changed = self._changed, {}
        return list(changed.items())
