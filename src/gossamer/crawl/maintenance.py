"""Maintenance beside the engine: limits, the disk, and seen runs that are merged in a thread."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

from gossamer.config import LimitsConfig, StoreConfig
from gossamer.log import tell
from gossamer.model import Counters, Row
from gossamer.seen import RunJob, UrlSeen


def limit_of(limits: LimitsConfig, counters: Counters, elapsed_s: float) -> str:
    """Return the name of the limit that a crawl has reached, or ""."""
    if limits.max_time_s is not None and elapsed_s >= limits.max_time_s:
        return "max_time"
    if limits.max_bytes is not None and counters.archive_bytes >= limits.max_bytes:
        return "max_bytes"
    is_full = limits.max_pages is not None and counters.pages >= limits.max_pages
    return "max_pages" if is_full else ""


def disk_trouble(folder: Path, rules: StoreConfig, *, was: str) -> str:
    """Return the reason to pause while the disk has too little left, or ""; tell when it begins."""
    free = shutil.disk_usage(folder).free
    trouble = "disk_low" if free < rules.min_free_bytes else ""
    if trouble and not was:
        tell("crawl.paused", reason=trouble, free_bytes=free)
    return trouble


class SeenMaintenance:
    """Writes seen runs in a thread, one at a time.

    A merge takes half a minute in a large crawl; commits must not wait so long to be durable.
    """

    def __init__(self, url_seen: UrlSeen) -> None:
        self._url_seen = url_seen
        self._work: RunJob | None = None
        self._job: asyncio.Future[None] | None = None

    def rows_of_finished(self) -> list[Row]:
        """Return the rows of a run that is finished; else begin one, if one is due."""
        if self._work is None or self._job is None:
            if (work := self._url_seen.due()) is not None:
                job = asyncio.get_running_loop().run_in_executor(None, work.do)
                self._work, self._job = work, job
            return []
        if not self._job.done():
            return []
        work, job, self._work, self._job = self._work, self._job, None, None
        job.result()
        return self._url_seen.install(work)

    async def end(self) -> list[Row]:
        """Wait for the thread, so that nothing is closed under it; return the rows of its run."""
        if self._job is None:
            return []
        await asyncio.wait([self._job])
        return [] if self._job.exception() is not None else self.rows_of_finished()


async def in_thread(work: Callable[[], object]) -> None:
    """Do blocking work aside. A thread cannot be cancelled: who cancels this waits for its end.

    So nothing is closed at the end of a crawl while a thread still writes to it.
    """
    job = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        await asyncio.shield(job)
    except asyncio.CancelledError:
        await job
        raise
