"""How a run of a crawl ended, and the exit code that it means."""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace as changed

from gossamer.model import Counters
from gossamer.report import Status

EXPECTED = frozenset({"max_pages", "max_time", "max_bytes", "parked"})
"""Reasons to end before everything is fetched that are no stop: exit code 0."""


class RoundTotals(Struct, frozen=True, kw_only=True):
    """What a single round of revisits has done."""

    visits: int
    """Revisits, whatever came of them."""
    changed: int
    unchanged: int
    gone: int
    """Pages that no longer exist, less those that are back."""
    new_pages: int
    """Pages that were stored for the first time."""


class Ending(Struct, frozen=True, kw_only=True):
    """How a run ended."""

    is_finished: bool
    """Nothing is queued, leased or waiting."""
    reason: str
    """finished, max_pages, max_time, max_bytes, parked, stopped, or no_seed."""
    exit_code: int
    status: Status
    """The totals at its end."""
    round: RoundTotals | None = None
    """What `watch` has done, if it was told to do so once."""


class SeedTotals(NamedTuple):
    """What became of the seeds."""

    counters: Counters
    failing: int
    """Of how many a try has failed in this run."""
    refused: Mapping[str, str]

    @property
    def is_none_fetched(self) -> bool:
        """Return True if no seed brought a page; redirects may have led to none."""
        counters = self.counters
        return not counters.seeds_fetched or (counters.redirects > 0 and not counters.pages)

    @property
    def are_all_failing(self) -> bool:
        """Return True if every seed that was not refused has failed at least once."""
        seeds = self.counters.seeds
        return self.is_none_fetched and 0 < seeds <= self.failing + len(self.refused)


def ending_of(reason: str, status: Status, seeds: SeedTotals) -> Ending:
    """Return how a run ended for a reason; "" if nothing is left."""
    status = changed(status, running=False)
    is_finished = not reason
    is_late = reason == "max_time" and seeds.are_all_failing
    if is_late or (is_finished and seeds.is_none_fetched):
        status = changed(status, refused_seeds=dict(seeds.refused))
        return Ending(is_finished=is_finished, reason="no_seed", exit_code=1, status=status)
    if is_finished:
        return Ending(is_finished=True, reason="finished", exit_code=0, status=status)
    exit_code = 0 if reason in EXPECTED else 3
    return Ending(is_finished=False, reason=reason, exit_code=exit_code, status=status)
