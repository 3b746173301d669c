"""Looks at the processes of a crawl with several shards, and kills them."""

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tests.e2e.judge import Judge, JudgedWeb

PATIENT = "h08.fake2.test"
"""The host of every fake web that asks for a second between requests: these tests are many."""
BLOCKED = ("--block", PATIENT)


def judge_of(web: JudgedWeb) -> Judge:
    """Return the judge of crawls that leave the patient host out."""
    return Judge(web, PATIENT)


def shards_of(supervisor: int) -> list[int]:
    """Return the processes that a supervisor has started and that still run."""
    try:
        words = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    except OSError:
        return []
    return [int(word) for word in words if is_alive(int(word))]


def is_alive(process: int) -> bool:
    """Tell whether a process exists and has not ended."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}


def slay(processes: Iterable[int]) -> None:
    """End processes with kill -9, one right after the other; those that are gone do not matter."""
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
