"""Shipping: a shard's checkpoints go to an object store while it crawls, and its lease is kept.

    cut     on the loop, in an instant: note how far everything is
    link    the files that have it, and what is later is left off (in a thread)
    upload  what the last manifest does not name (in a thread)
    append  the manifest: the one decision. From then on it counts, and receipts may leave

A manifest that is refused means that somebody else has claimed the shard: we are fenced and end. A
request may be begun only while that was not so a lease ago at most, by a clock that goes on while
the machine sleeps.
"""

import asyncio
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from msgspec import DecodeError, Struct, json

from gossamer.clock import Clock
from gossamer.crawl.engine import in_thread
from gossamer.crawl.opening import ShardFolder, read_meta
from gossamer.crawl.ports import Peers
from gossamer.crawl.uploading import Uploads
from gossamer.durable import replace_file
from gossamer.errors import CannotGoOn, TakenOver
from gossamer.linux import boot_time
from gossamer.log import tell, warn
from gossamer.model import Counters, Standing
from gossamer.report import COUNTERS, decode_counters
from gossamer.seen import RUN_ROWS, run_names
from gossamer.store import (
    MANIFEST_VERSION,
    QUICK_RETRY_S,
    Archive,
    Chain,
    CrawlStore,
    CutFiles,
    Lengths,
    LiveFiles,
    Objects,
    ShardManifest,
    ShippedFile,
    State,
    note_shipped,
    shard_prefix,
)

MOST_LATE = 8
"""Manifests of dead processes of ours that are passed over."""
SOON_S = 0.5
"""Between two checkpoints, however much they are wanted."""
TICK_S = 0.1
CUTS = 20
"""How often a moment is tried: now and then rows are brought into a file at that very one."""
UNSETTLED = CUTS // 2
"""So many were refused by then that it is no chance, and rows are brought into a file by us."""
RARELY_S = 30.0
"""Between two checkpoints while little happens."""
MUCH = 32
"""Requests since the last checkpoint that are much."""
ASLEEP_S = 3600.0
"""An owner that has not confirmed for so long writes nothing any more: what proves that the chain
has gone on without it may have been swept."""
LEASE_PARTS = 3
SHIPPED = "shipped-"
LAST_S = 10.0
"""How long an end waits for the store."""


class ShippingOrders(Struct, frozen=True, kw_only=True):
    """Where checkpoints go, and by what right."""

    url: str
    crawl: str
    lineage: str
    epoch: int
    generation: int
    lease_s: float
    ship_s: float
    begins_at: float
    """The boot time before which no request may be begun: an owner before us may still ask."""
    place: str = ""
    """Names the folder, for a shard of a cluster: see `ShardManifest`."""
    node: str = ""
    """The machine of a cluster."""
    is_split: bool = False
    """The shard comes of a split, and counts when the charter says so: it ships first."""


class ShippedMark(Struct, frozen=True, kw_only=True):
    """What a folder knows of its last manifest, before that was offered."""

    lineage: str
    number: int
    claims: dict[int, str] = {}
    """Lineages by the manifest: claims that this folder has made since, and was as new as. It has
    all of one that counts, even if it was killed before it knew."""


def ship_after_s(ship_s: float, requests: int, *, is_urgent: bool) -> float:
    """Return how long after the last checkpoint the next is due."""
    return ship_s if is_urgent or requests >= MUCH else max(ship_s, RARELY_S)


class _Cut(NamedTuple):
    """The shard at one moment."""

    sequence: int
    """The last row of the state."""
    commits: int
    lengths: Lengths
    closed: frozenset[str]
    runs: list[str]
    """Files of known URLs."""
    counters: Counters
    standing: Standing


@dataclass(slots=True, kw_only=True)
class Shipper:
    """Ships the checkpoints of one shard."""

    orders: ShippingOrders
    place: ShardFolder
    state: State
    archive: Archive
    older: Lengths
    """The archive files of earlier starts, all closed."""
    peers: Peers
    clock: Clock
    wake: Callable[[], None]
    counters: Counters
    standing: Callable[[], Standing]
    survey: Callable[[Standing], Standing]
    """Adds what takes longer to find out; called in a thread."""
    hurries: Callable[[], int]
    """How often something could not wait."""
    store: CrawlStore = field(init=False)
    _uploads: Uploads = field(init=False)
    _live: LiveFiles = field(default_factory=LiveFiles)
    _number: int = -1
    _pending: ShardManifest | None = None
    """Offered for the next number, and not decided: nothing else is offered until it is."""
    _pending_cut: _Cut | None = None
    _pending_at: float = 0.0
    _shipped: int = -1
    """The last row of the last checkpoint."""
    _cut_at: float = float("-inf")
    _requests: int = 0
    _hurries: int = 0
    """Those of the last cut."""
    _confirmed_at: float = float("-inf")
    _counts: bool = False
    """The charter names our generation: nobody else has the crawl without claiming this shard."""
    _is_fenced: bool = False
    _is_away: bool = False
    _shipping: asyncio.Lock = field(default_factory=asyncio.Lock)
    _deciding: asyncio.Lock = field(default_factory=asyncio.Lock)
    gives_receipts: bool = True

    def __post_init__(self) -> None:
        """Open the store; nothing is asked of it yet."""
        self.store = CrawlStore(Objects(self.orders.url, retry_s=QUICK_RETRY_S))
        self._uploads = Uploads(
            objects=self.store.objects,
            place=self.place,
            prefix=shard_prefix(self.orders.generation, self.place.shard),
            stem=f"{self.orders.epoch:06d}",
        )
        self._unshipped_path.unlink(missing_ok=True)

    @property
    def may_ask(self) -> bool:
        """Return True if a request may be begun now: nobody else can have the shard yet."""
        return not self.paused

    @property
    def paused(self) -> str:
        """Return why no request may be begun; "" if one may."""
        now = boot_time()
        if now < self.orders.begins_at or self._confirmed_at < 0:
            return "store_lease"
        return "store_away" if now - self._confirmed_at > self.orders.lease_s else ""

    @property
    def is_shipped(self) -> bool:
        """Return True if everything that was committed is in the last checkpoint."""
        return self._shipped >= self.state.sequence

    async def run(self) -> None:
        """Ship and keep the lease until cancelled; raise if the shard is no longer ours."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._confirm_regularly())
            group.create_task(self._ship_regularly())
            group.create_task(self._merge_regularly())

    async def settle(self) -> None:
        """Be a shard that counts: one of a split ships what it has, and waits for the charter."""
        while self.orders.is_split and not self._counts:
            if self._shipped < 0:
                await self._try_to_ship()
            try:
                await in_thread(self._look_whether_it_counts)
            except CannotGoOn as error:
                if isinstance(error, TakenOver):
                    raise
                self._note_away(error)
            await self.clock.sleep(TICK_S)

    def _look_whether_it_counts(self) -> None:
        """Find out whether the charter names our chain; raise if another has it by now."""
        if self._number > 0 and not self._chain.is_newest(self._number):
            raise TakenOver(taken_over(self.store))
        found = self.store.charter()
        if found is None:
            return
        charter, generation = found[1], self.orders.generation
        self._counts = charter.generation_of(self.place.shard) == generation
        is_wanted = charter.split is not None and charter.split.generation == generation
        if not (self._counts or is_wanted):
            raise TakenOver(taken_over(self.store))

    async def ship_soon(self) -> None:
        """Ship what is committed; return when it is shipped."""
        wanted = self.state.sequence
        while self._shipped < wanted:
            await self.clock.sleep(max(0.0, self._cut_at + SOON_S - boot_time()))
            if self._shipped < wanted and not await self._try_to_ship():
                await self.clock.sleep(self.orders.lease_s / LEASE_PARTS)

    @property
    def is_fenced(self) -> bool:
        """Return True if the shard is somebody else's by now."""
        return self._is_fenced

    async def finish(self) -> None:
        """Ship the rest: everything is closed but the state."""
        if self._is_fenced:
            return
        deadline = boot_time() + LAST_S
        while not await self._try_to_ship(has_ended=True):
            if boot_time() >= deadline:
                replace_file(self._unshipped_path, self.orders.url.encode())
                raise CannotGoOn(
                    f"{self.orders.url} cannot be reached; what was crawled last is in "
                    f"{self.place.folder.root} only. Start the crawl again here to ship it"
                )
            await self.clock.sleep(SOON_S)

    async def _confirm_regularly(self) -> None:
        while True:
            await self._confirm()
            await self.clock.sleep(self.orders.lease_s / LEASE_PARTS)

    async def _confirm(self) -> None:
        """Find out whether the shard is still ours."""
        async with self._deciding:
            asked_at = boot_time()
            try:
                if self._number < 0:
                    await in_thread(self._begin)
                is_ours = await in_thread(self._is_newest)
            except CannotGoOn as error:
                self._note_away(error)
                return
        if not is_ours and self._pending is None:
            await self._fence()
        if is_ours:
            self._confirmed_at = max(self._confirmed_at, asked_at)
            self._note_back()

    def _is_newest(self) -> bool:
        """Return True if nobody else has claimed the shard.

        Until the charter names our generation, who claims the crawl claims other shards than this.
        """
        if self._number and not self._chain.is_newest(self._number):
            return False
        if self._number and self._counts:
            return True
        found = self.store.charter()
        if found is None:
            return False
        named = found[1].generation_of(self.place.shard)
        self._counts = named == self.orders.generation
        return (self._counts and self._number > 0) or found[1].epoch == self.orders.epoch

    async def _ship_regularly(self) -> None:
        while True:
            await self.clock.sleep(TICK_S)
            if self._pending is not None or (not self.is_shipped and self._is_due()):
                await self._try_to_ship()

    def _is_due(self) -> bool:
        since_s = boot_time() - self._cut_at
        if self.hurries() != self._hurries:
            return since_s >= SOON_S
        is_urgent = self.peers.owes_receipts or self._is_away
        requests = self.counters.requests - self._requests
        return since_s >= ship_after_s(self.orders.ship_s, requests, is_urgent=is_urgent)

    async def _merge_regularly(self) -> None:
        """Upload files that were closed as a whole; the next checkpoint names these."""
        while True:
            await self.clock.sleep(TICK_S)
            for name in self._uploads.to_merge:
                try:
                    await in_thread(partial(self._uploads.merge, name))
                except CannotGoOn as error:
                    self._note_away(error)
                    break

    async def _try_to_ship(self, *, has_ended: bool = False) -> bool:
        """Ship once; return False if the store is away."""
        async with self._shipping:
            try:
                if self._number < 0:
                    async with self._deciding:
                        await in_thread(self._begin)
                if self._pending is None:
                    await self._prepare(has_ended=has_ended)
                is_this = self._pending is not None and self._pending.has_ended == has_ended
                await self._decide()
            except CannotGoOn as error:
                if isinstance(error, TakenOver):
                    raise
                self._note_away(error)
                return False
            self._note_back()
        return is_this or (not has_ended)

    async def _prepare(self, *, has_ended: bool) -> None:
        """Cut and upload a checkpoint; its manifest is pending then."""
        self._cut_at = boot_time()
        if has_ended or self._uploads.has_many_stretches:
            await in_thread(self.state.flush)
        folder = await in_thread(self._fresh_folder)
        try:
            for tried in range(CUTS):
                if tried == UNSETTLED:
                    await self._settle()
                cut = self._cut()
                files = await in_thread(partial(self._link, folder, cut))
                if files is not None:
                    break
            else:
                raise CannotGoOn(f"{self.place.state} changes faster than it can be copied")
            upload = partial(self._upload, folder, cut, files, has_ended=has_ended)
            self._pending = await in_thread(upload)
            self._pending_cut, self._pending_at = cut, boot_time()
        finally:
            await in_thread(partial(shutil.rmtree, folder, ignore_errors=True))

    async def _settle(self) -> None:
        """Bring the state to where a cut is plain: all rows in files, what was read of it anew."""
        self.state.touch()  # without a row there would be nothing to bring into a file
        await in_thread(self.state.flush)
        self._live = LiveFiles()

    def _fresh_folder(self) -> Path:
        folder = self.place.folder.root / "state" / f"cut-{self.place.shard:02d}"
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "seen").mkdir(parents=True)
        self._link_runs(folder)
        return folder

    def _cut(self) -> _Cut:
        """Note how far everything is, at one moment. Nothing here lets go of the interpreter."""
        ends = self.archive.committed
        self._requests, self._hurries = self.counters.requests, self.hurries()
        return _Cut(
            sequence=self.state.sequence,
            commits=self.peers.commits,
            lengths={**self.older, **ends.closed, **ends.open},
            closed=frozenset((*self.older, *ends.closed)),
            runs=run_names(self.state.scan(RUN_ROWS)),
            counters=decode_counters(self.state.get(COUNTERS)),
            standing=self.standing(),
        )

    def _link(self, folder: Path, cut: _Cut) -> CutFiles | None:
        """Link what a cut consists of; None if some of it is later by now, or gone."""
        rows = folder / "rows"
        shutil.rmtree(rows, ignore_errors=True)
        files = self._live.settled(self.state.link(rows), cut.sequence)
        self._link_runs(folder)
        is_there = all((folder / "seen" / name).exists() for name in cut.runs)
        return files if is_there else None

    def _link_runs(self, folder: Path) -> None:
        """Link the files of known URLs: before and after a cut, so that hardly one is missed."""
        for path in (self.place.state / "seen").glob("*"):
            with suppress(FileExistsError, FileNotFoundError):
                os.link(path, folder / "seen" / path.name)

    def _upload(
        self, folder: Path, cut: _Cut, files: CutFiles, *, has_ended: bool
    ) -> ShardManifest:
        """Upload what is not in the store yet; return the manifest that names everything."""
        state = self._uploads.state_files(folder, files, cut.runs)
        root = self._uploads.root_files() if self.place.shard == 0 else {}
        archive = self._uploads.archive_files(cut.lengths, cut.closed, has_ended=has_ended)
        return ShardManifest(
            version=MANIFEST_VERSION,
            crawl=self.orders.crawl,
            shard=self.place.shard,
            epoch=self.orders.epoch,
            lineage=self.orders.lineage,
            nonce=token_hex(8),
            at=self.clock.wall(),
            sequence=cut.sequence,
            starts=read_meta(self.state).epoch,
            place=self.orders.place,
            node=self.orders.node,
            waits=bool(self.orders.place) and boot_time() < self.orders.begins_at,
            has_ended=has_ended,
            files=state.files,
            logs=state.logs,
            root=root,
            archive=archive,
            counters=cut.counters,
            standing=self.survey(cut.standing),
        )

    async def _decide(self) -> None:
        """Offer the pending manifest: from then on it counts, or we are fenced."""
        pending, cut = self._pending, self._pending_cut
        if pending is None or cut is None:
            return
        async with self._deciding:
            asked_at = boot_time()
            if not await in_thread(lambda: self._append(pending)):
                await self._fence()
            self._number += 1
            self._uploads.note_files(pending)
            self._pending, self._pending_cut = None, None
            self._shipped = cut.sequence
            if self._counts:
                self._confirmed_at = asked_at
        note_shipped(self.place.state, cut.lengths, cut.closed)
        self.peers.durable(cut.commits)
        self.wake()

    def _append(self, manifest: ShardManifest) -> bool:
        """Write a manifest, after noting in our folder that we do; False if it is refused.

        What stands in its place may be of a process of ours that died: its request came late.
        """
        if boot_time() - min(self._confirmed_at, self._pending_at) > ASLEEP_S:
            return False
        for _ in range(MOST_LATE):
            number = self._number + 1
            mark = ShippedMark(lineage=self.orders.lineage, number=number)
            replace_file(self._mark_path, json.encode(mark))
            if self._chain.append(number, json.encode(manifest)):
                return True
            found = self._chain.read(number)
            if found is None or not self._is_of_ours(json.decode(found, type=ShardManifest)):
                return False
            self._number = number
        return False

    def _is_of_ours(self, manifest: ShardManifest) -> bool:
        """Return True if a manifest was written by right of the same claim, in this folder."""
        return (manifest.epoch, manifest.lineage) == (self.orders.epoch, self.orders.lineage)

    def _begin(self) -> None:
        """Find our place in the chain: our claim, or what a process of ours before us shipped."""
        asked_at = boot_time()
        found = self.store.manifest(self.orders.generation, self.place.shard)
        if found is None:
            self._number, self._confirmed_at = 0, asked_at
            far = self._uploads.far_objects(self.older)
            self._uploads.begin_with({**self._shipped_before(), **far})
            return
        number, manifest = found
        if not self._is_of_ours(manifest):
            raise TakenOver(taken_over(self.store))
        self._number = number
        self._uploads.note_files(manifest)
        self._uploads.begin_with(manifest.archive)
        self._confirmed_at = max(self._confirmed_at, asked_at)

    def _shipped_before(self) -> dict[str, list[ShippedFile]]:
        """Return what shards of another split have shipped of closed files, all of it."""
        found = self.store.charter()
        if found is None or not found[1].generation:
            return {}
        charter, known = found[1], dict[str, list[ShippedFile]]()
        for shard in range(charter.shards):
            before = self.store.newest_of(charter, shard)
            known |= before[1].archive if before is not None else {}
        return {n: one for n, one in known.items() if sum(f.size for f in one) == self._length(n)}

    def _length(self, name: str) -> int:
        """Return how many bytes a closed archive file has, or an index of one; -1 for none."""
        path = self.place.folder.archive / name
        here = path.stat().st_size if path.exists() else -1
        return self.older.get(name, here)

    @property
    def _unshipped_path(self) -> Path:
        return self.place.folder.unshipped_path(self.place.shard)

    @property
    def _mark_path(self) -> Path:
        return shipped_mark_path(self.place.state, self.orders.crawl, self.orders.generation)

    @property
    def _chain(self) -> Chain:
        return self.store.shard_chain(self.orders.generation, self.place.shard)

    async def _fence(self) -> None:
        """End: the shard is somebody else's."""
        self._is_fenced = True
        raise TakenOver(await in_thread(lambda: taken_over(self.store)))

    def _note_away(self, error: CannotGoOn) -> None:
        if not self._is_away:
            self._is_away = True
            warn("store.away", error=str(error))

    def _note_back(self) -> None:
        if self._is_away:
            self._is_away = False
            self.wake()
            tell("store.back", url=self.orders.url)


def shipped_mark_path(state: Path, crawl: str, generation: int) -> Path:
    """Return the file beside a state that knows its last manifest in the store of a crawl.

    It outlives the state: with other shards another generation is begun, and until that counts
    the folder is known by what it has of the one before.
    """
    return state.parent / f"{SHIPPED}{generation:04d}-{state.name}-{crawl}"


def shipped_mark(state: Path, crawl: str, generation: int) -> ShippedMark | None:
    """Return the last manifest of a state; None if it is not known."""
    older = state / f"{SHIPPED}{crawl}"  # of older versions
    for path in (shipped_mark_path(state, crawl, generation), older):
        with suppress(FileNotFoundError, DecodeError, UnicodeDecodeError):
            return json.decode(path.read_bytes(), type=ShippedMark)
    return None


def taken_over(store: CrawlStore) -> str:
    """Return what to tell of a crawl that is somebody else's by now."""
    try:
        found = store.charter()
    except CannotGoOn:
        found = None
    by = f" by {found[1].owner}" if found is not None else ""
    return f"the crawl was taken over{by}; it goes on there, from what {store.objects.url} has"
