"""Drop: told to the crawl that runs in a folder, and what it comes to."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

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
    unmatched: list[str] = []
    """Given patterns that no known URL matches: kept for later, or misspelt."""


class NamedUrls(NamedTuple):
    """The known URLs of a crawl that patterns name."""

    by_state: dict[str, int]
    unmatched: list[str]
    """Patterns that name none."""


def count_named(folder: Path | str, patterns: Sequence[str]) -> NamedUrls:
    """Return how many known URLs of a crawl, running or not, patterns name, by their state."""
    place = folder_of(folder)
    if not any(State.exists(path) for path in (place.root / "state").glob("[0-9]*")):
        return NamedUrls({}, [*patterns])
    named, unmatched = Patterns(patterns), {one: Patterns([one]) for one in patterns}
    found: Counter[str] = Counter()
    with Snapshot.open(folder) as snapshot:
        for _, row in known_urls(snapshot):
            if named.match(row.url):
                found[row.state] += 1
                matched = [one for one, alone in unmatched.items() if alone.match(row.url)]
                unmatched = {one: unmatched[one] for one in unmatched if one not in matched}
    return NamedUrls(dict(sorted(found.items())), [*unmatched])


def drop(folder: Path | str, patterns: Sequence[str], undo: Sequence[str]) -> int | None:
    """Let a running crawl drop what patterns name; return how many URLs left its queue.

    None if none is running in the folder.
    """
    asked = {"ask": "drop", "patterns": [*patterns], "undo": [*undo]}
    answer = ask_running(folder_of(folder).control_path, asked)
    if answer is not None and "error" in answer:
        raise ConfigError(str(answer["error"]))
    return None if answer is None else int(str(answer["removed"]))
