"""The ledger's part of UrlSeen's tests: a dictionary for a state."""

from pathlib import Path

import numpy as np

from gossamer.config import SeenConfig
from gossamer.model import Row
from gossamer.seen import RunJob, UrlSeen

SMALL = SeenConfig(run_keys=10, fan_in=2)


def keys_of(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.uint64)


def tens(first: int, count: int = 10) -> np.ndarray:
    return np.arange(first, first + count, dtype=np.uint64)


class Crawl:
    """The ledger's part: a dictionary of committed rows around a UrlSeen."""

    def __init__(self, folder: Path, config: SeenConfig = SMALL) -> None:
        self.folder, self.config = folder, config
        self.rows: dict[bytes, bytes] = {}
        self.seen = UrlSeen.open(folder, config, [])

    def commit(self, rows: list[Row] | None = None) -> None:
        for key, value in self.seen.rows_to_commit() if rows is None else rows:
            if value is None:
                del self.rows[key]
            else:
                self.rows[key] = value

    def add(self, keys: np.ndarray) -> None:
        self.seen.add(keys)
        self.commit()

    def take_work(self) -> RunJob:
        work = self.seen.due()
        assert work is not None
        return work

    def finish(self, work: RunJob) -> None:
        work.do()
        self.commit(self.seen.install(work))
        self.seen.discard_replaced()

    def restart(self) -> None:
        self.seen = UrlSeen.open(self.folder, self.config, self.rows.items())

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def prefixes(self) -> bytes:
        return bytes(sorted(key[0] for key in self.rows))
