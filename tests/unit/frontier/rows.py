"""A dictionary that plays the state: what is written counts, what is not is lost at a crash."""

from collections.abc import Iterable, Iterator

from gossamer.model import Row


class DictRows:
    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        return self.rows.get(key)

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return iter([(k, v) for k, v in sorted(self.rows.items()) if k.startswith(prefix)])

    def write(self, rows: Iterable[Row]) -> None:
        for key, value in rows:
            if value is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = value
