"""Taking a crawl over: who may run it, and the folder that it goes on in.

    look      at the newest charter: is it this crawl, and does it run elsewhere?
    claim     the charter, then every shard: from there on nobody else can ship
    restore   the folder, unless the one that is here has everything that the store has

A folder is never deleted: one that is behind the store is set aside within itself.
"""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

import msgspec
from msgspec import Struct, json
from msgspec.structs import replace

from gossamer.clock import Clock
from gossamer.cluster import Ring
from gossamer.crawl.forgetting import forget_noted
from gossamer.crawl.history import note_moment
from gossamer.crawl.opening import lock_folder, restored_mark_path
from gossamer.crawl.restoring import restore_manifests, whole_sets
from gossamer.crawl.shipping import (
    LEASE_PARTS,
    ShippedMark,
    ShippingOrders,
    shipped_mark,
    shipped_mark_path,
    taken_over,
)
from gossamer.durable import replace_file, sync
from gossamer.errors import CannotGoOn, TakenOver
from gossamer.linux import boot_id, boot_time
from gossamer.log import warn
from gossamer.store import (
    ALIVE,
    QUICK_RETRY_S,
    AliveNote,
    CrawlCharter,
    CrawlFolder,
    CrawlStore,
    Objects,
    ShardManifest,
    note_far,
    prove_exclusive,
    prove_visible,
    require_store,
)

IDENTITY = "store.json"
"""The file of a folder that says which crawl of which store it is."""
LOOK_S = 0.2
LEASES = 2
"""How long a sign of life is waited for."""
OWN = frozenset({"lock", "secrets.toml", "control.sock", "control.sock.new"})
"""What stays where it is when a folder is set aside."""
SET_ASIDE = "set-aside-"


class StoreIdentity(Struct, frozen=True, kw_only=True):
    """Which crawl a folder is, and which copy of it."""

    crawl: str
    lineage: str
    is_whole: bool = True
    """False while it is being restored."""


class _ShardBefore(NamedTuple):
    """What a shard had shipped when we claimed it."""

    number: int
    manifest: ShardManifest
    is_here: bool
    """The folder has all of it."""


class _Claimed(NamedTuple):
    """A charter that is ours."""

    number: int
    charter: CrawlCharter
    before: CrawlCharter | None


def claim_store(
    root: Path,
    url: str,
    lease_s: float,
    clock: Clock,
    *,
    is_forced: bool = False,
    leaves_archive: bool = False,
    say: Callable[[str], None] = lambda _line: None,
) -> "StoreClaim":
    """Make a crawl ours, and let its folder be as new as its store.

    Refused if it runs elsewhere, unless `is_forced`; and if the folder is of another crawl. What
    is restored may do without archive files that are whole in the store.
    """
    require_store(url)
    folder = CrawlFolder(root)
    is_new = read_identity(folder, url) is None
    is_made = is_new and url.startswith("file://")
    store = CrawlStore(Objects(url, is_made=is_made, retry_s=QUICK_RETRY_S))
    _expect_ours(folder, store)
    with lock_folder(folder, clock):
        found = store.charter()
        prove_exclusive(store.objects)
        if found is None:
            prove_visible(store.objects)
        identity = read_identity(folder, url, found[1].crawl if found is not None else "")
        is_here = (
            found is not None and identity is not None and _is_here(folder, identity, found[1])
        )
        if found is not None and not (is_here or found[1].has_ended or is_forced):
            expect_idle(store, found, say)
        is_kept = found is None or (is_here and _has_all(store, found[1], folder, identity))
        lineage = identity.lineage if is_kept and identity is not None else token_hex(8)
        # An owner that was still waiting may have had one before it that still asks.
        has_waited = found is None or (found[1].has_waited and (is_here or found[1].has_ended))
        mine = _charter_of_ours(found, folder, lineage, lease_s, has_waited=has_waited)
        claimed = _claim_charter(store, found, replace(mine, at=clock.wall()))
        claim = StoreClaim(
            store=store,
            url=url,
            folder=folder,
            claimed=claimed,
            clock=clock,
            leaves_archive=leaves_archive,
        )
        with claim.beating():
            claim.bring_here(identity, say, is_here=is_here)
        folder.taken_over_path.unlink(missing_ok=True)
        return claim


class StoreClaim:
    """The right to run a crawl, for as long as nobody else claims it."""

    def __init__(
        self,
        *,
        store: CrawlStore,
        url: str,
        folder: CrawlFolder,
        claimed: _Claimed,
        clock: Clock,
        leaves_archive: bool = False,
    ) -> None:
        self.store = store
        self._leaves_archive = leaves_archive
        self._url = url
        self._folder = folder
        self._clock = clock
        self._number = claimed.number
        self._charter = claimed.charter
        self._before = claimed.before
        self._epoch = claimed.number
        self._generation = claimed.charter.generation
        self._ring = ring_of_store(claimed.charter)
        """Which shards ship; None before any has."""
        self._claims: dict[int, int] = {}
        """By shard: the number of the manifest by which we claimed it."""
        self._beats = 0
        self._begins_at = 0.0
        """The boot time before which no request may be begun."""
        self.has_restored = False
        """The folder was made of what the store has."""

    @property
    def charter(self) -> CrawlCharter:
        """Return the newest charter, which is ours."""
        return self._charter

    @property
    def beat_s(self) -> float:
        """Return how often a sign of life is due."""
        return self._charter.lease_s / LEASE_PARTS

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Show signs of life beside work that may take long."""
        is_over = threading.Event()

        def beat() -> None:
            while not is_over.wait(self.beat_s):
                with suppress(CannotGoOn):  # whoever is away is found out by who needs it
                    self._beat()

        self._beat()
        beating = threading.Thread(target=beat, daemon=True)
        beating.start()
        try:
            yield
        finally:
            is_over.set()
            beating.join()

    def bring_here(
        self, identity: StoreIdentity | None, say: Callable[[str], None], *, is_here: bool
    ) -> None:
        """Claim all shards, and restore the folder if the store has more than it."""
        charter, before = self._charter, self._before
        old = [self._claim_shard(shard, identity) for shard in range(charter.shards)]
        if before is not None and not charter.has_waited:
            self._begins_at = boot_time() + max(charter.lease_s, before.lease_s)
        if not old:
            is_current = True
        elif is_here:
            is_current = identity is not None and identity.lineage == charter.lineage
        else:
            is_current = all(one.is_here for one in old)
        if is_current:
            self._adopt([one.manifest for one in old], is_here=is_here)
        else:
            self._restore([one.number + 1 for one in old], say)

    def _adopt(self, manifests: list[ShardManifest], *, is_here: bool) -> None:
        """Go on in the folder as it is; archive files that are not there are read by ranges."""
        for shard, manifest in enumerate(manifests):
            missing = {
                name: files
                for name, files in whole_sets(manifest).items()
                if not (self._folder.archive / name).exists()
            }
            note_far(self._folder, self._url, missing)
            if not is_here:  # it is a copy, or was moved: its clocks may be behind
                restored_mark_path(self._folder.state(shard)).touch()
        # The marks last: until then those of before say, by our claims, that all of it is here.
        write_identity(self._folder, self._url, self._identity(is_whole=True))
        for shard in range(len(manifests)):
            self._mark(shard)

    def _restore(self, claims: list[int], say: Callable[[str], None]) -> None:
        """Make the folder of what the store has; what was there is set aside."""
        if has_crawl(self._folder):
            say(f"the folder was behind the store; it was set aside: {set_aside(self._folder)}")
        say(f"restoring from {self._url}")
        write_identity(self._folder, self._url, self._identity(is_whole=False))
        chains = self.store.chains_of(self._charter)
        manifests = [
            self.store.manifest_of(chain, number)
            for chain, number in zip(chains, claims, strict=True)
        ]
        restore_manifests(
            self.store,
            manifests,
            self._folder,
            root=self._charter.root,
            leaves_archive=self._leaves_archive,
        )
        for shard in range(len(claims)):
            self._mark(shard)
        write_identity(self._folder, self._url, self._identity(is_whole=True))
        self.has_restored = True

    def _mark(self, shard: int) -> None:
        """Let the state of a shard know which manifest it is as new as: our claim."""
        state, charter = self._folder.state(shard), self._charter
        path = shipped_mark_path(state, charter.crawl, charter.generation_of(shard))
        if path.parent.is_dir():
            mark = ShippedMark(lineage=self._charter.lineage, number=self._claims[shard])
            replace_file(path, json.encode(mark))

    def orders(self, ring: Ring, lease_s: float, ship_s: float) -> ShippingOrders:
        """Return by what right the shards of a ring ship.

        Another ring than the store has is another generation, which counts when each of its shards
        has shipped once. So is one of which a cluster has split shards: here all are of one.
        """
        if ring != self._ring or not self._generation or self._charter.chains:
            self._generation, self._ring = self._epoch, ring
        return ShippingOrders(
            url=self._url,
            crawl=self._charter.crawl,
            lineage=self._charter.lineage,
            epoch=self._epoch,
            generation=self._generation,
            lease_s=lease_s,
            ship_s=ship_s,
            begins_at=self._begins_at,
        )

    @property
    def is_settled(self) -> bool:
        """Return True if the shards that run are those that the charter names."""
        charter = self._charter
        return (charter.generation, ring_of_store(charter)) == (self._generation, self._ring)

    def keep(self) -> None:
        """Show that we run; raise if somebody else has claimed the crawl."""
        if not self.store.charters.is_newest(self._number):
            raise TakenOver(taken_over(self.store))
        self._settle_generation()
        if not self._charter.has_waited and boot_time() >= self._begins_at:
            self._append(replace(self._charter, has_waited=True))
        self._beat()

    def forget(self) -> None:
        """Let the store forget what a purge has left in it, once the rest is shipped."""
        if self.is_settled and self._folder.forget_path.exists():
            forget_noted(self._folder, self.store)

    def end(self, *, forgets: bool = True) -> None:
        """Say that nothing runs any more, and that everything is shipped."""
        self._settle_generation()
        if forgets:
            self.forget()
            self._note_end()
        self._append(replace(self._charter, has_ended=True))
        with suppress(CannotGoOn):
            self.store.objects.delete([ALIVE])

    def _note_end(self) -> None:
        """Let `restore --at` find the crawl as it is now; whoever keeps history may not have."""
        if self._charter.shards:
            with suppress(CannotGoOn):
                note_moment(self.store, self._charter, None)

    def _settle_generation(self) -> None:
        """Let another generation of shards count, once all of it is there."""
        charter, ring = self._charter, self._ring
        if self.is_settled or ring is None:
            return
        chains = [self.store.shard_chain(self._generation, n) for n in ring.numbers]
        if all(chain.numbers() for chain in chains):
            ranges = () if ring.is_even else ring.ranges
            settled = {"generation": self._generation, "shards": ring.shards, "ranges": ranges}
            if ring.shards != charter.shards:
                settled["regions"] = ()
            self._append(replace(charter, **settled, chains={}, root={}, ringed_at=0))

    def _beat(self) -> None:
        self._beats += 1
        note = AliveNote(charter=self._number, beats=self._beats, owner=self._charter.owner)
        self.store.objects.put(ALIVE, json.encode(note))

    def _append(self, charter: CrawlCharter) -> None:
        charter = replace(charter.versioned(), nonce=token_hex(8), at=self._clock.wall())
        if not self.store.charters.append(self._number + 1, json.encode(charter)):
            raise TakenOver(taken_over(self.store))
        self._number += 1
        self._charter = charter

    def _claim_shard(self, shard: int, identity: StoreIdentity | None) -> _ShardBefore:
        """Claim a shard: whoever had it cannot ship any more. Return the last that was shipped.

        A folder that has all of that notes the claim first: a kill after it does not let the
        folder look as if it were behind.
        """
        generation, lineage = self._charter.generation_of(shard), self._charter.lineage
        chain = self.store.shard_chain(generation, shard)
        while (found := self.store.manifest(generation, shard)) is not None:
            number, manifest = found
            if manifest.epoch >= self._epoch:
                raise TakenOver(taken_over(self.store))
            is_here = identity is not None and has_all_of(
                self._folder, number, manifest, identity, generation
            )
            if is_here:
                _note_claim(
                    self._folder.state(shard), manifest.crawl, generation, number + 1, lineage
                )
            claim = replace(
                manifest,
                epoch=self._epoch,
                lineage=lineage,
                nonce=token_hex(8),
                has_ended=False,
                split_into=0,
            )
            if chain.append(number + 1, json.encode(claim)):
                self._claims[shard] = number + 1
                return _ShardBefore(number, manifest, is_here)
        raise CannotGoOn(f"{self._url} is damaged: shard {shard} has no manifest")

    def _identity(self, *, is_whole: bool) -> StoreIdentity:
        charter = self._charter
        return StoreIdentity(crawl=charter.crawl, lineage=charter.lineage, is_whole=is_whole)


def ring_of_store(charter: CrawlCharter) -> Ring | None:
    """Return which shard of a crawl owns what, as its store says; None if nothing was shipped."""
    return Ring.of(charter.ranges, charter.shards) if charter.shards else None


def has_crawl(folder: CrawlFolder) -> bool:
    """Return True if there is anything of a crawl in a folder."""
    names = ("crawl.toml", "state", "archive", IDENTITY)
    return any((folder.root / name).exists() for name in names)


def set_aside(folder: CrawlFolder) -> Path:
    """Move what a folder has into a folder of its own within it; return that."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    place = folder.root / f"{SET_ASIDE}{stamp}-{token_hex(2)}"
    place.mkdir()
    for path in sorted(folder.root.iterdir()):
        if path.name not in OWN and not path.name.startswith(SET_ASIDE):
            path.rename(place / path.name)
    sync(folder.root)
    warn("folder.set_aside", to=str(place))
    return place


def folders_aside(folder: CrawlFolder) -> list[Path]:
    """Return what was set aside in a folder, oldest first."""
    return sorted(path for path in folder.root.glob(f"{SET_ASIDE}*") if path.is_dir())


def read_identity(folder: CrawlFolder, url: str, crawl: str = "") -> StoreIdentity | None:
    """Return which crawl of a store a folder is; None if it was never kept there.

    A store that was moved has the same crawl at another URL.
    """
    path = folder.root / IDENTITY
    try:
        held = json.decode(path.read_bytes(), type=dict[str, StoreIdentity])
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CannotGoOn(f"{path} is damaged: {error}; nothing was changed") from error
    moved = (one for one in held.values() if one.crawl == crawl)
    return held.get(url) or next(moved, None)


def write_identity(folder: CrawlFolder, url: str, identity: StoreIdentity) -> None:
    """Let a folder know which crawl of a store it is."""
    path = folder.root / IDENTITY
    held: dict[str, StoreIdentity] = {}
    with suppress(FileNotFoundError, msgspec.DecodeError):
        held = json.decode(path.read_bytes(), type=dict[str, StoreIdentity])
    replace_file(path, json.encode({**held, url: identity}))


def write_restored_identity(folder: CrawlFolder, url: str, charter: CrawlCharter) -> None:
    """Let a folder know of which crawl it is a copy that its store is ahead of."""
    write_identity(folder, url, StoreIdentity(crawl=charter.crawl, lineage=token_hex(8)))


def _expect_ours(folder: CrawlFolder, store: CrawlStore) -> None:
    """Refuse a folder of another crawl than the store has, before anything is touched."""
    url, found = store.objects.url, store.charter()
    identity = read_identity(folder, url, found[1].crawl if found is not None else "")
    if found is None:
        if identity is not None:
            raise CannotGoOn(
                f"{url} has no crawl, and {folder.root} was kept there: is it the right store? "
                f"To begin anew there, remove {folder.root / IDENTITY}"
            )
        return
    is_other = identity is not None and identity.crawl != found[1].crawl
    if is_other or (identity is None and has_crawl(folder)):
        raise CannotGoOn(
            f"{folder.root} is another crawl than the one in {url}; nothing was changed. "
            "Give another folder, or another store"
        )


def _is_here(folder: CrawlFolder, identity: StoreIdentity, charter: CrawlCharter) -> bool:
    """Return True if the crawl ran in this folder last: its lock is ours, so nothing runs.

    A copy of the folder has what is in it, but is another folder.
    """
    is_same = (identity.crawl, identity.lineage) == (charter.crawl, charter.lineage)
    return is_same and bool(charter.place) and charter.place == place_of(folder)


def place_of(folder: CrawlFolder) -> str:
    """Return what names a folder of this machine until it is booted; "" if nothing does."""
    boot, found = boot_id(), folder.lock_path.stat()
    return f"{boot}:{found.st_dev}:{found.st_ino}" if boot else ""


def _has_all(
    store: CrawlStore, charter: CrawlCharter, folder: CrawlFolder, identity: StoreIdentity | None
) -> bool:
    """Return True if a folder has everything that the store has."""
    found = [store.newest_of(charter, shard) for shard in range(charter.shards)]
    return identity is not None and all(
        one is not None
        and has_all_of(folder, one[0], one[1], identity, charter.generation_of(shard))
        for shard, one in enumerate(found)
    )


def has_all_of(
    folder: CrawlFolder,
    number: int,
    manifest: ShardManifest,
    identity: StoreIdentity,
    generation: int,
) -> bool:
    """Return True if a folder has everything that a manifest names, and perhaps more."""
    mark = shipped_mark(folder.state(manifest.shard), manifest.crawl, generation)
    if mark is None or not identity.is_whole:
        return False
    if mark.claims.get(number) == manifest.lineage:
        return identity.lineage in {mark.lineage, manifest.lineage}
    lineages = {mark.lineage, manifest.lineage, identity.lineage}
    return len(lineages) == 1 and mark.number >= number


def _note_claim(state: Path, crawl: str, generation: int, number: int, lineage: str) -> None:
    """Let a state that has all of a shard know the manifest by which the shard is to be ours."""
    mark = shipped_mark(state, crawl, generation)
    if mark is not None:
        noted = replace(mark, claims={**mark.claims, number: lineage})
        replace_file(shipped_mark_path(state, crawl, generation), json.encode(noted))


def expect_idle(
    store: CrawlStore, found: tuple[int, CrawlCharter], say: Callable[[str], None]
) -> None:
    """Refuse a crawl that runs elsewhere: watch for a sign of life."""
    number, charter = found
    first = store.alive()
    if first is not None and first.charter >= number:
        wait_s = LEASES * charter.lease_s
        say(f"{charter.owner} ran this crawl; waiting {wait_s:g} s for a sign of life of it")
    deadline = boot_time() + LEASES * charter.lease_s
    while boot_time() < deadline:
        time.sleep(LOOK_S)
        note = store.alive()
        if note is not None and note != first and note.charter >= number:
            raise CannotGoOn(
                f"{store.objects.url} is being crawled elsewhere, by {note.owner}; stop it there, "
                "or give --take-over to go on here"
            )


def _charter_of_ours(
    found: tuple[int, CrawlCharter] | None,
    folder: CrawlFolder,
    lineage: str,
    lease_s: float,
    *,
    has_waited: bool,
) -> CrawlCharter:
    """Return the charter by which a crawl would be ours."""
    number, before = (0, None) if found is None else found
    return CrawlCharter(
        crawl=before.crawl if before is not None else token_hex(8),
        lineage=lineage,
        owner=f"{socket.gethostname()} (pid {os.getppid()})",
        place=place_of(folder),
        lease_s=lease_s,
        epoch=number + 1,
        generation=before.generation if before is not None else 0,
        shards=before.shards if before is not None else 0,
        ranges=before.ranges if before is not None else (),
        regions=before.regions if before is not None else (),
        chains=before.chains if before is not None else {},
        ringed_at=before.ringed_at if before is not None else 0,
        root=before.root if before is not None else {},
        has_waited=has_waited,
        nonce=token_hex(8),
        at=0.0,
    )


def _claim_charter(
    store: CrawlStore, found: tuple[int, CrawlCharter] | None, mine: CrawlCharter
) -> _Claimed:
    """Write the next charter, in our name; a claim that is lost is not repeated."""
    number, before = (0, None) if found is None else found
    if not store.charters.append(number + 1, json.encode(mine.versioned())):
        raise CannotGoOn(f"{taken_over(store)}; run the command again to look who runs it")
    return _Claimed(number + 1, mine, before)
