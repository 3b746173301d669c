"""Drop: told to the crawl that runs in a folder, and what it comes to."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from gossamer.errors import ConfigError
from gossamer.report.control import ask_running
from gossamer.report.inquiry import folder_of
from gossamer.report.snapshot import Snapshot
from gossamer.report.urls import known_urls
from gossamer.store import State
from gossamer.urls import Patterns


class Dropped(Struct, frozen=True, kw_only=True):
    """Patterns that a crawl has dropped, or drops no longer."""

    patterns: list[str]
    """All that are dropped now; of a trial, all that would be."""
    added: list[str]
    undone: list[str]
    urls: dict[str, int]
    """URLs that the given patterns name, by their state before."""
    unqueued: int
    """URLs that left the queue; those that are being asked for end at their turn."""
    running: bool
    """A crawl is running and obeys; otherwise the next start does."""
    dry_run: bool
    """They were only counted."""


def count_named(folder: Path | str, patterns: Sequence[str]) -> dict[str, int]:
    """Return how many known URLs of a crawl, running or not, patterns name, by their state."""
    place = folder_of(folder)
    if not any(State.exists(path) for path in (place.root / "state").glob("[0-9]*")):
        return {}
    named = Patterns(patterns)
    with Snapshot.open(folder) as snapshot:
        found = Counter(row.state for _, row in known_urls(snapshot) if named.match(row.url))
    return dict(sorted(found.items()))


def drop(folder: Path | str, patterns: Sequence[str], undo: Sequence[str]) -> int | None:
    """Let a running crawl drop what patterns name; return how many URLs left its queue.

    None if none is running in the folder.
    """
    asked = {"ask": "drop", "patterns": [*patterns], "undo": [*undo]}
    answer = ask_running(folder_of(folder).control_path, asked)
    if answer is not None and "error" in answer:
        raise ConfigError(str(answer["error"]))
    return None if answer is None else int(str(answer["removed"]))
