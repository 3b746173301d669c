"""A re-split in a process of its own that kills itself at its n-th write, and tells what it left.

python -m tests.e2e.splitting FOLDER SHARDS STEP     (step 0: none)
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gossamer.cluster import read_charter
from gossamer.crawl.mend import resplit
from gossamer.crawl.opening import expect_state_of_archive
from gossamer.report import COUNTERS, decode_counters, sum_counters
from gossamer.seen import UrlSeen
from gossamer.settings import load_config
from gossamer.store import ROW_PREFIX, ArchiveName, CrawlFolder, State

MOVED = b"uhqdkrxao"
"""Tables whose rows belong to one shard each: none may be lost, doubled or left behind."""
LAST_RING = (1 << 24) - 1


class Steps:
    """Counts what changes the disk, and dies at the step that it was told."""

    def __init__(self, fatal: int) -> None:
        self.fatal = fatal
        self.taken = 0

    def counted(self, act: Callable[..., None]) -> Callable[..., None]:
        """Return the same act, which may be the last one."""

        def take(*given: Any) -> None:
            self.taken += 1
            if self.taken == self.fatal:
                os.kill(os.getpid(), signal.SIGKILL)
            act(*given)

        return take


def told_key(key: bytes) -> str:
    """Return the key of a row; of an archive file without its epoch, which each start raises."""
    if not key.startswith(ROW_PREFIX):
        return key.hex()
    name = ArchiveName.parse(key.removeprefix(ROW_PREFIX).decode("ascii"))
    assert name is not None
    return f"{name.kind} {name.shard} {name.number}"


def left_in(folder: CrawlFolder) -> dict[str, Any]:
    """Return the keys of each shard's rows and its known URLs, and the totals of all."""
    config = load_config(folder.config_path)
    shards: list[Any] = []
    counters = []
    for number in range(read_charter(folder.charter_path).shards):
        state = State.open(folder.state(number))
        keys = [told_key(key) for table in MOVED for key, _ in state.scan(bytes((table,)))]
        rows = [*state.scan(b"s"), *state.scan(b"S")]
        seen = UrlSeen.open(state.path / "seen", config.seen, rows)
        known = [int(key) for part in seen.range_keys(0, LAST_RING) for key in part]
        counters += [decode_counters(value) for _, value in state.scan(COUNTERS)]
        seen.close()
        state.close()
        shards.append({"rows": keys, "known": known})
    totals = sum_counters(counters)
    return {"shards": shards, "pages": totals.pages, "seeds": totals.seeds}


def main() -> None:
    """Split, dying on the way if told so; print what is there afterwards."""
    folder, wanted, fatal = CrawlFolder(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
    charter = read_charter(folder.charter_path)
    is_dropping = charter.phase == "dropping"
    expect_state_of_archive(folder, charter.moving_to if is_dropping else charter.shards)
    steps = Steps(fatal)
    State.write = steps.counted(State.write)  # type: ignore[method-assign]  # counts, then writes
    State.delete_range = steps.counted(State.delete_range)  # type: ignore[method-assign]  # as above
    resplit.write_charter = steps.counted(resplit.write_charter)
    asyncio.run(resplit.split_state(folder, load_config(folder.config_path), wanted))
    taken = steps.taken
    sys.stdout.write(json.dumps({"steps": taken, "left": left_in(folder)}))


if __name__ == "__main__":
    main()
