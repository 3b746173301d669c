"""A state in a dictionary, as far as the station of copies needs it."""

from collections.abc import Iterator, Sequence

from gossamer.model import Row


class Rows:
    """Rows that are read and written, all in memory."""

    def __init__(self) -> None:
        self.held: dict[bytes, bytes] = {}

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.held.get(key) for key in keys]

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return iter(sorted(row for row in self.held.items() if row[0].startswith(prefix)))

    def write(self, rows: list[Row]) -> None:
        for key, value in rows:
            if value is None:
                self.held.pop(key, None)
            else:
                self.held[key] = value
