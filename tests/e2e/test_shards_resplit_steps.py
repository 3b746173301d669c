"""A re-split that is killed at its n-th write, for n from the first to the last."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gossamer.testing import FakeWeb, serve_in_process
from tests.e2e.crawler import Crawler, flags_for
from tests.e2e.shards import BLOCKED

WEB = FakeWeb(seed=431, hosts=16, pages_per_host=10)
KILLS = 6


def split(folder: Path, shards: int, fatal: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.e2e.splitting", str(folder), str(shards), str(fatal)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def told(ended: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert ended.returncode == 0, ended.stderr
    answer: dict[str, Any] = json.loads(ended.stdout)
    return answer


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [(2, 3), (3, 1)])
def test_killed_at_any_write_a_resplit_ends_with_every_row_in_its_place(
    before: int, after: int, tmp_path: Path
) -> None:
    folder = tmp_path / "crawl"
    with serve_in_process(WEB, tmp_path / "log.tsv") as server:
        words = ("--delay", "0", "--shards", str(before), "--max-pages", "60", *BLOCKED)
        Crawler(folder, server.web.seeds, flags_for(server.resolve, *words)).run().expect(0)
    whole = tmp_path / "whole"
    shutil.copytree(folder, whole, ignore=shutil.ignore_patterns("*.sock"))
    wanted = told(split(whole, after, 0))
    assert wanted["left"]["pages"] == 60
    assert len(wanted["left"]["shards"]) == after
    for kill in range(KILLS):
        fatal = 1 + (wanted["steps"] - 1) * kill // (KILLS - 1)
        torn = tmp_path / "torn"
        shutil.rmtree(torn, ignore_errors=True)
        shutil.copytree(folder, torn, ignore=shutil.ignore_patterns("*.sock"))
        assert split(torn, after, fatal).returncode == -signal.SIGKILL
        assert told(split(torn, after, 0))["left"] == wanted["left"], f"killed at step {fatal}"
