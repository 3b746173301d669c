"""The host table: one row per host, cached, written back with the next commit."""

from collections import OrderedDict
from collections.abc import Callable, Iterator

from gossamer.frontier.rows import HostRow, decode_host, encode_host, host_row_key
from gossamer.model import HostKey, Row
from gossamer.urls import host_key

CACHED_ROWS = 50_000
ABSENT_KEPT = 10_000


class HostTable:
    """Host rows by key. A changed row, or one in use, stays in memory: there is only one of it."""

    def __init__(self, read_row: Callable[[bytes], bytes | None]) -> None:
        self._read_row = read_row
        self._cache: OrderedDict[HostKey, HostRow] = OrderedDict()
        self._changed: dict[HostKey, HostRow] = {}
        self._in_use: dict[HostKey, HostRow] = {}
        self._absent: set[HostKey] = set()
        """Hosts that are not in the state: of a new host several things are asked."""
        self.count = 0

    def load(self, rows: Iterator[tuple[bytes, bytes]]) -> Iterator[tuple[HostKey, HostRow]]:
        """Yield every host's key and row at a start, and count them."""
        for key, value in rows:
            self.count += 1
            yield key[1:], decode_host(value)

    def row(self, host: str) -> HostRow:
        """Return the row of a host, a new one if the host is unknown."""
        key = host_key(host)
        row = self.find(key)
        if row is None:
            row = HostRow(name=host)
            self._absent.discard(key)
            self.count += 1
            self.change(key, row)
        return row

    def find(self, key: HostKey) -> HostRow | None:
        """Return a host's row, or None if the host is unknown."""
        row = self._in_use.get(key) or self._cache.get(key) or self._changed.get(key)
        if row is None and key not in self._absent:
            value = self._read_row(host_row_key(key))
            if value is None:
                self._note_absent(key)
                return None
            row = decode_host(value)
            self._keep(key, row)
        return row

    def _note_absent(self, key: HostKey) -> None:
        if len(self._absent) >= ABSENT_KEPT:
            self._absent.clear()
        self._absent.add(key)

    def known_urls(self, host: str) -> int:
        """Return how many URLs of a host were ever taken in: what its budget counts."""
        row = self.find(host_key(host))
        return row.known if row is not None else 0

    def gap_s(self, host: str) -> float:
        """Return the last gap of a host, 0 if the host is unknown."""
        row = self.find(host_key(host))
        return row.gap_s if row is not None else 0.0

    def note_known(self, host: str, count: int = 1) -> None:
        """Count more URLs of a host."""
        row = self.row(host)
        row.known += count
        self.change(host_key(host), row)

    @property
    def has_changes(self) -> bool:
        """Return True if a row has changed since the last commit."""
        return bool(self._changed)

    def use(self, key: HostKey, row: HostRow) -> None:
        """Keep a row in memory until it is released."""
        self._in_use[key] = row

    def release(self, key: HostKey) -> None:
        """Let go of a row that was in use."""
        self._keep(key, self._in_use.pop(key))

    def change(self, key: HostKey, row: HostRow) -> None:
        """Note that a row has changed: it is written with the next commit."""
        self._changed[key] = row

    def hold(self, key: HostKey, row: HostRow, until: float, reason: str) -> None:
        """Leave a host alone until a moment, or longer if it waits longer anyway."""
        if until > row.next_at:
            row.next_at, row.reason = until, reason
            self.change(key, row)

    def rows_to_commit(self) -> Iterator[Row]:
        """Yield the changed rows and forget that they changed."""
        changed, self._changed = self._changed, {}
        for key, row in changed.items():
            if key not in self._in_use:
                self._keep(key, row)
            yield host_row_key(key), encode_host(row)

    def _keep(self, key: HostKey, row: HostRow) -> None:
        self._cache[key] = row
        if len(self._cache) > CACHED_ROWS:
            self._cache.popitem(last=False)
