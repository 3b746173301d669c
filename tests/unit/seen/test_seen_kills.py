"""UrlSeen and real kill -9s while a run is written."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from seen_samples import Crawl, tens


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path / "seen")


KILLED_AT = """
import os, signal, sys
from pathlib import Path
import numpy as np
from gossamer.config import SeenConfig
from gossamer.seen import UrlSeen

folder, call, nth = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
rows = [tuple(bytes.fromhex(half) for half in line.split()) for line in sys.stdin]
seen = UrlSeen.open(folder, SeenConfig(run_keys=10, fan_in=2), rows)
real, calls = getattr(os, call), []
def deadly(*args, **named):
    calls.append(args)
    if len(calls) == nth:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **named)
setattr(os, call, deadly)
seen.due().do()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
@pytest.mark.parametrize("is_merge", [False, True])
@pytest.mark.parametrize(
    ("call", "nth"), [("fsync", 1), ("replace", 1), ("fsync", 2), ("fsync", 9)]
)
def test_a_kill_9_while_a_run_is_written_loses_nothing(
    crawl: Crawl, call: str, nth: int, *, is_merge: bool
) -> None:
    crawl.add(tens(0))
    if is_merge:
        crawl.finish(crawl.take_work())
        crawl.add(tens(10))
        crawl.finish(crawl.take_work())
    named = crawl.files()
    rows = "\n".join(f"{key.hex()} {value.hex()}" for key, value in crawl.rows.items())
    child = [sys.executable, "-c", KILLED_AT, str(crawl.folder), call, str(nth)]
    died = subprocess.run(child, input=rows, text=True, check=False)
    assert died.returncode == -signal.SIGKILL
    assert crawl.files() != named
    crawl.restart()
    assert crawl.files() == named
    assert crawl.seen.known == (20 if is_merge else 10)
    crawl.finish(crawl.take_work())
    crawl.restart()
    assert not crawl.seen.unknown(tens(0, 20 if is_merge else 10)).any()
    assert len(crawl.files()) == 1
