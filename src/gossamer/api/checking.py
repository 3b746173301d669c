"""Check a crawl's folder: everything that is in it, and what can be rebuilt."""

from contextlib import suppress
from pathlib import Path
from random import Random
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from gossamer.clock import Clock, SystemClock
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.model import BuildProgress, CheckFinding, CheckScope, Remedy


class CheckReport(Struct, frozen=True, kw_only=True):
    """What a check of a crawl's folder has found."""

    ok: bool
    """Nothing is wrong."""
    findings: tuple[CheckFinding, ...]
    files: int
    """Archive files."""
    records: int
    """Records of the archive, and rows of the state, that were read."""
    pages: int
    """Page records that are sound; 0 if not all were read."""
    dated_back: int
    """Of these, those that are marked because the clock had been set back: no damage."""
    bytes_read: int
    bytes_all: int
    """Of the archive, as far as it counts."""
    seconds: float
    is_running: bool
    """The crawl runs: what it has stored meanwhile was not looked at."""
    repaired: tuple[Remedy, ...] = ()
    """What was built again."""

    @property
    def share(self) -> float:
        """Return how much of the archive was read."""
        return self.bytes_read / self.bytes_all if self.bytes_all else 1.0


class CheckQuestion(NamedTuple):
    """What is checked, and whether it is mended."""

    is_quick: bool
    sample: int
    seed: int
    is_repaired: bool


def checked(root: Path, asked: CheckQuestion, on_progress: BuildProgress | None) -> CheckReport:
    """Check a crawl's folder, and rebuild what can be rebuilt if that is wanted."""
    if asked.sample < 0 or (asked.is_quick and asked.sample):
        raise ConfigError("check: expected either quick, or a sample of at least one record")
    do = repair_folder if asked.is_repaired else check_folder
    scope = CheckScope(is_quick=asked.is_quick, sample=asked.sample)
    rng = Random(asked.seed)  # noqa: S311 -- a sample
    return do(root, scope, rng, SystemClock(), on_progress or (lambda _: None))


def check_folder(
    root: Path, scope: CheckScope, rng: Random, clock: Clock, tell: BuildProgress
) -> CheckReport:
    """Check everything in a folder; nothing is changed."""
    from gossamer.graph import check_graph
    from gossamer.report import check_crawl
    from gossamer.search import check_index
    from gossamer.tables import check_tables

    began = clock.steady()
    found = check_crawl(root, scope, rng, tell)
    is_short = scope.is_quick or scope.sample > 0
    findings = (
        *found.findings,
        *check_graph(root, is_quick=is_short),
        *check_index(root, is_quick=is_short),
        *check_tables(root, is_quick=is_short),
    )
    return CheckReport(
        ok=not findings,
        findings=findings,
        files=found.files,
        records=found.records,
        pages=found.pages,
        dated_back=found.dated_back,
        bytes_read=found.bytes_read,
        bytes_all=found.bytes_all,
        seconds=clock.steady() - began,
        is_running=found.is_running,
    )


def repair_folder(
    root: Path, scope: CheckScope, rng: Random, clock: Clock, tell: BuildProgress
) -> CheckReport:
    """Check a folder, build again what can be, and check once more; the crawl must not run."""
    from gossamer.crawl import expect_stopped, write_indexes

    expect_stopped(root, clock)
    wanted = {finding.remedy for finding in check_folder(root, scope, rng, clock, tell).findings}
    done: list[Remedy] = []
    if "cdxj" in wanted:
        write_indexes(root, clock)
        done.append("cdxj")
    order: tuple[Remedy, ...] = ("state", "near", "graph", "index", "tables")
    for remedy in order:
        if remedy not in wanted:
            continue
        with suppress(CannotGoOn, ConfigError):  # what is wrong is told by the second check
            _build(root, remedy, tell)
            done.append(remedy)
    return replace(check_folder(root, scope, rng, clock, tell), repaired=tuple(done))


def _build(root: Path, what: Remedy, tell: BuildProgress) -> None:
    from gossamer.crawl import build_near, build_state
    from gossamer.graph import GraphOptions, build_graph, manifest_of
    from gossamer.search import IndexOptions, build_index
    from gossamer.tables import build_tables

    if what == "state":
        build_state(root, tell)
    elif what == "near":
        build_near(root, tell)
    elif what == "graph":
        known = manifest_of(root)
        options = GraphOptions(is_full=True)
        if known is not None:
            options = replace(
                options, redirects=known.redirects, canonical=known.canonical, coding=known.coding
            )
        build_graph(root, options, tell)
    elif what == "tables":
        build_tables(root, is_full=True, tell=tell)
    else:
        build_index(root, IndexOptions(is_full=True), tell)
