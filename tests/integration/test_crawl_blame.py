"""A start that is itself killed: whoever was in hand at the death before is blamed all the same."""

import signal
import subprocess
import sys
from pathlib import Path

from gossamer import Crawl
from gossamer.config import Config
from gossamer.store import CrawlFolder, FlightBoard, State
from gossamer.urls import parse

SEED = "http://127.0.0.1:9/"
DIE_BEFORE_THE_COMMIT = """
import os, signal, sys
from gossamer import Crawl
from gossamer.crawl.ledger import Ledger
Ledger.commit = lambda self: os.kill(os.getpid(), signal.SIGKILL)
Crawl(sys.argv[1]).add()
"""


def blame(folder: Path) -> dict[int, int]:
    state = State.open(CrawlFolder(folder).state(0))
    try:
        return {
            int.from_bytes(key[1:], "big"): int.from_bytes(value, "big")
            for key, value in state.scan(b"k")
        }
    finally:
        state.close()


def test_a_start_killed_before_its_first_commit_does_not_forget_whom_to_blame(
    tmp_path: Path,
) -> None:
    url = parse(SEED, Config().urls)
    assert url is not None
    Crawl(tmp_path, [SEED], Config(shards=1)).add()
    board = FlightBoard(CrawlFolder(tmp_path).state(0) / "flight", 4)
    board.reading(url.key)
    board.close()

    done = subprocess.run([sys.executable, "-c", DIE_BEFORE_THE_COMMIT, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert blame(tmp_path) == {}

    Crawl(tmp_path).add()
    once = blame(tmp_path)
    assert list(once) == [url.key]
    Crawl(tmp_path).add()
    assert blame(tmp_path) == once, "one death is blamed once"
