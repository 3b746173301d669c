"""Pause, resume and stop a crawl in a folder, whether it runs or not."""

import os
import time
from pathlib import Path

from msgspec import Struct

from gossamer.durable import replace_file, sync
from gossamer.errors import CannotGoOn
from gossamer.report.control import ask_running
from gossamer.report.inquiry import folder_of
from gossamer.store import CrawlFolder, is_locked

LOOK_AGAIN_S = 0.02
"""How often a crawl that was told to stop is looked at."""


class PauseState(Struct, frozen=True, kw_only=True):
    """What `pause` and `resume` have done."""

    paused: bool
    """The crawl begins no request, and no later start does, until it is resumed."""
    was_paused: bool
    running: bool


class StoppedCrawl(Struct, frozen=True, kw_only=True):
    """What `stop` has done."""

    was_running: bool
    has_ended: bool
    """Nothing runs in the folder; False if that took longer than was to be waited for."""
    unshipped_to: str = ""
    """The store that was away, so that what was crawled last is in the folder only."""


def pause(folder: Path | str) -> PauseState:
    """Let a crawl begin no request any more, nor any later start of it."""
    place = folder_of(folder)
    was_paused = place.paused_path.exists()
    if not was_paused:
        replace_file(place.paused_path, b"`gossamer resume` removes this file.\n")
    return _told(place, was_paused=was_paused)


def resume(folder: Path | str) -> PauseState:
    """End a pause."""
    place = folder_of(folder)
    was_paused = place.paused_path.exists()
    if was_paused:
        place.paused_path.unlink(missing_ok=True)
        sync(place.root)
    return _told(place, was_paused=was_paused)


def _told(place: CrawlFolder, *, was_paused: bool) -> PauseState:
    """Let a running crawl look at the file at once; it would within a second or so by itself."""
    answer = ask_running(place.control_path, {"ask": "pause"})
    if answer is not None and "error" in answer:
        raise CannotGoOn(str(answer["error"]))
    is_paused = place.paused_path.exists()
    return PauseState(paused=is_paused, was_paused=was_paused, running=answer is not None)


def stop(folder: Path | str, wait_s: float | None = None) -> StoppedCrawl:
    """Let a running crawl end as SIGTERM does, and wait until it has; at most for `wait_s`."""
    place = folder_of(folder)
    if ask_running(place.control_path, {"ask": "stop"}) is None:
        if is_locked(place):
            raise CannotGoOn(
                f"process {_holder(place)} is using {place.root} and cannot be asked to stop: it "
                "is starting, or ending, or no crawl; try again in a moment"
            )
        return StoppedCrawl(was_running=False, has_ended=True)
    deadline = None if wait_s is None else time.perf_counter() + wait_s
    while is_locked(place):
        if deadline is not None and time.perf_counter() >= deadline:
            return StoppedCrawl(was_running=True, has_ended=False)
        time.sleep(LOOK_AGAIN_S)
    urls = [path.read_text() for path in place.unshipped_paths]
    return StoppedCrawl(was_running=True, has_ended=True, unshipped_to="".join(urls[:1]))


def _holder(place: CrawlFolder) -> str:
    """Return the number of the process that holds a folder's lock."""
    with place.lock_path.open("rb") as lock:
        return os.read(lock.fileno(), 32).decode("ascii", "replace").strip() or "?"
