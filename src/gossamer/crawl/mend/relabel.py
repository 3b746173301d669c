"""Near-duplicates of a crawl that does not run: label what is left, or all of it anew.

What one shard finds for another is handed over at once, and written before the mark of the batch,
or the row of the parcel, that it came from. So a kill leaves marks from which the next one goes on.
"""

import asyncio
import socket
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gossamer.clock import Clock, SystemClock
from gossamer.cluster import PARCELS, Ring, parcel_rows, read_charter, start_child
from gossamer.crawl.copies import (
    MARK_ROW,
    PARCEL_ROW,
    Mark,
    SketchSettings,
    ensure_whole,
    follow,
    near_folder,
    reset_near,
)
from gossamer.crawl.opening import (
    ShardFolder,
    expect_state_of_archive,
    lock_folder,
    open_state,
)
from gossamer.dedupe import (
    LABEL_ROW,
    CopyChanges,
    CopyDetector,
    SketchShare,
    open_copy_detector,
)
from gossamer.errors import CannotGoOn, GossamerError
from gossamer.log import tell
from gossamer.model import BuildProgress, BuildStep
from gossamer.report import COUNTERS, decode_counters, encode_counters
from gossamer.store import ROW_PREFIX, CrawlFolder, State, after_prefix

BATCH_PAGES = 512


class NearTotals(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Pages that were compared, and near-duplicates by level."""

    pages: int
    duplicate: int = 0
    exact: int = 0
    similar: int = 0


def build_near(root: Path | str, on_progress: BuildProgress | None = None) -> NearTotals:
    """Find all near-duplicates of a crawl again, from its archive."""
    folder = CrawlFolder(Path(root))
    if not folder.has_archive():
        raise CannotGoOn(f"{root} has no archive: expected a crawl folder")
    with lock_folder(folder, SystemClock()):
        expect_state_of_archive(folder, read_charter(folder.charter_path).shards)
        return NearTotals(**label_rest(folder, on_progress or (lambda _: None), is_anew=True))


def label_rest(
    folder: CrawlFolder, on_read: BuildProgress, *, is_anew: bool = False
) -> dict[str, int]:
    """Label what the shards of a crawl have left; the folder is ours."""
    ring = read_charter(folder.charter_path).ring
    places = [ShardFolder(folder=folder, shard=shard, ring=ring) for shard in ring.numbers]
    with ExitStack() as stack:
        branches: list[_Branch] = []
        for place in places:
            state = open_state(place)
            stack.callback(state.close)
            branches.append(_opened(place, state, is_anew=is_anew))
        _open_parcels(branches, ring)
        pages = sum(_read(folder, shard, branches, on_read) for shard in ring.numbers)
        for branch in branches:
            branch.state.sync()
    totals = [branch.counts for branch in branches]
    levels = {name for counts in totals for name in counts}
    return {
        "pages": pages,
        **{name: sum(counts.get(name, 0) for counts in totals) for name in sorted(levels)},
    }


async def label_rest_aside(folder: CrawlFolder, lock: int, clock: Clock) -> dict[str, int]:
    """Label what is left, in a process of its own: this one shall be able to fork again.

    Return how many pages there are of each level; nothing, if that could not be had: what goes
    wrong is told, and left to the next start.
    """

    def work(_: int, end: socket.socket) -> int:
        try:
            end.sendall(msgspec.json.encode(label_rest(folder, lambda _: None)))
        except GossamerError as error:
            tell("near.unfinished", error=str(error))
            return 1
        return 0

    child = start_child(0, work, (lock,))
    reader, writer = await asyncio.open_connection(sock=child.end)
    told = await reader.read()
    writer.close()
    if await child.ended(clock) or not told:
        return {}
    found = msgspec.json.decode(told, type=dict[str, int])
    del found["pages"]
    return found


@dataclass(slots=True)
class _Branch:
    """One shard: its state, its station, and how many labels it keeps."""

    state: State
    station: CopyDetector
    counts: dict[str, int] = field(default_factory=dict)

    def write(self, changes: CopyChanges) -> None:
        """Commit what was found, with the totals."""
        for name, change in changes.counts.items():
            self.counts[name] = self.counts.get(name, 0) + change
        counters = replace(decode_counters(self.state.get(COUNTERS)), copies=self.counts)
        self.state.write([*changes.rows, (COUNTERS, encode_counters(counters))])


def _opened(place: ShardFolder, state: State, *, is_anew: bool) -> _Branch:
    """Return a shard's branch; anew, it is without labels and sketches."""
    about = SketchSettings.of(place)
    if is_anew:
        state.delete_range(LABEL_ROW, after_prefix(LABEL_ROW) or b"")
        reset_near(state, about)
    else:
        ensure_whole(state, about)
    share = SketchShare(place.shard, place.ring.ranges)
    station = open_copy_detector(state, near_folder(state), about.seed, share)
    counts = {} if is_anew else decode_counters(state.get(COUNTERS)).copies
    branch = _Branch(state, station, counts)
    branch.write(CopyChanges())
    return branch


def _open_parcels(branches: list[_Branch], ring: Ring) -> None:
    """Open what lies at the shards, or on its way to them."""
    for shard, branch in enumerate(branches):
        for key, parcel in list(branch.state.scan(PARCEL_ROW)):
            _hand_over([(shard, parcel)], branches)
            branch.state.write([(key, None)])
        for key, parcels in parcel_rows(branch.state.scan(PARCELS), ring):
            _hand_over(parcels, branches)
            branch.state.write([(key, None)])


def _read(folder: CrawlFolder, shard: int, branches: list[_Branch], on_read: BuildProgress) -> int:
    """Label the pages of a shard's archive behind its mark; return how many there are."""
    branch = branches[shard]
    files = list(branch.state.scan(ROW_PREFIX))
    mark = Mark.of(branch.state.get(MARK_ROW))
    behind = follow(folder, shard, branch.state, mark, files)
    count = 0
    while found := list(islice(behind, BATCH_PAGES)):
        changes = branch.station.judge([item for item, _ in found])
        branch.write(changes)
        _hand_over(changes.parcels, branches)
        branch.state.write([found[-1][1].row()])
        count += len(found)
        on_read(BuildStep(doing="reading", count=count, unit="page"))
    return count


def _hand_over(parcels: list[tuple[int, bytes]], branches: list[_Branch]) -> None:
    """Let shards judge what is theirs, and what comes of that, until nothing is left."""
    parcels = list(parcels)
    while parcels:
        to, parcel = parcels.pop()
        answer = branches[to].station.judge((), [parcel])
        branches[to].write(answer)
        parcels += answer.parcels
