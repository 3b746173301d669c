"""The coordinator's right: it holds the charter of a crawl on several machines, and issues epochs.

Each start of a shard gets an epoch of its own: the number of the charter that was written for it.
Nobody but a shard that was given one claims a shard, so that a machine which comes back from sleep
cannot take back what others have by now. Only the charter's holder can issue any.
"""

import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from secrets import token_hex

from msgspec import Struct, field, json
from msgspec.structs import replace

from gossamer.clock import Clock
from gossamer.cluster import Charter, Ring, encoded_charter, share_shards
from gossamer.crawl.history import note_moment
from gossamer.crawl.shipping import LEASE_PARTS, boot_time, taken_over
from gossamer.crawl.takeover import expect_idle
from gossamer.errors import CannotGoOn, ConfigError, TakenOver
from gossamer.store import (
    ALIVE,
    QUICK_RETRY_S,
    AliveNote,
    CrawlCharter,
    CrawlStore,
    Objects,
    ShardManifest,
    ShippedFile,
    SplitIntent,
    prove_exclusive,
    prove_visible,
    require_store,
    shipped_digest,
)

SHARDS_FILE = "state/shards.json"


class CoordinatorOffer(Struct, frozen=True, kw_only=True):
    """Who wants to coordinate a crawl, and where it would be heard."""

    url: str
    address: str
    fingerprint: str
    lease_s: float
    shards: int
    """0 for as many as there are, or are usual."""
    usual_shards: int
    cores: dict[str, int] = field(default_factory=dict)
    """By region: what its machines have; "" of those without."""
    is_forced: bool = False


def claim_cluster(
    offer: CoordinatorOffer, clock: Clock, say: Callable[[str], None] = lambda _line: None
) -> "ClusterClaim":
    """Make the charter of a crawl ours; refused if it runs elsewhere, unless that is forced."""
    require_store(offer.url)
    store = CrawlStore(
        Objects(offer.url, is_made=offer.url.startswith("file://"), retry_s=QUICK_RETRY_S)
    )
    found = store.charter()
    _expect_shards(offer, found)
    prove_exclusive(store.objects)
    if found is None:
        prove_visible(store.objects)
    elif not (found[1].has_ended or offer.is_forced):
        expect_idle(store, found, say)
    number, before = (0, None) if found is None else found
    lease_s = offer.lease_s
    if before is not None and not before.has_ended:  # its shards may run on, by that lease
        lease_s = max(lease_s, before.lease_s)
    mine = CrawlCharter(
        crawl=before.crawl if before is not None else token_hex(8),
        lineage=token_hex(8),
        owner=f"{socket.gethostname()} (pid {os.getpid()})",
        address=offer.address,
        fingerprint=offer.fingerprint,
        lease_s=lease_s,
        epoch=number + 1,
        generation=before.generation if before is not None else 0,
        shards=before.shards if before is not None else 0,
        ranges=before.ranges if before is not None else (),
        regions=before.regions if before is not None else (),
        chains=before.chains if before is not None else {},
        ringed_at=before.ringed_at if before is not None else 0,
        root=before.root if before is not None else {},
        split=before.split if before is not None else None,
        nonce=token_hex(8),
        at=clock.wall(),
    )
    if not store.charters.append(number + 1, json.encode(mine.versioned())):
        raise CannotGoOn(f"{taken_over(store)}; run the command again to look who runs it")
    claim = ClusterClaim(
        store,
        mine,
        clock,
        must_wait=before is not None and not before.has_waited,
        may_run=before is not None and bool(before.address) and not before.has_ended,
    )
    claim.begin(offer.shards or offer.usual_shards)
    claim.share_regions(offer.cores)
    return claim


def _expect_shards(offer: CoordinatorOffer, found: tuple[int, CrawlCharter] | None) -> None:
    """Refuse a crawl of one shard, and to split what is there: that takes one folder."""
    has = found[1].shards if found is not None else 0
    if has == 1:
        raise ConfigError(
            f"{offer.url} has one shard, and a crawl by a cluster needs two. Split it first: "
            f"`gossamer crawl --into DIR --store {offer.url} --shards {offer.usual_shards} "
            "--max-time 1s` brings it into a folder and splits it there"
        )
    if offer.shards == 1:
        raise ConfigError(
            "--shards 1: a crawl by a cluster needs two. Leave the flag out, or the cluster"
        )
    was_split = found is not None and bool(found[1].chains)
    if has and offer.shards not in {0, has} and not (was_split and offer.shards < has):
        raise ConfigError(
            f"--shards {offer.shards}: {offer.url} has {has}. Leave the flag out; or split it "
            f"first: `gossamer crawl --into DIR --store {offer.url} --shards {offer.shards} "
            "--max-time 1s` brings it into a folder and splits it there"
        )


class ClusterClaim:
    """The charter of a crawl, which is ours. Any thread may ask."""

    def __init__(
        self,
        store: CrawlStore,
        charter: CrawlCharter,
        clock: Clock,
        *,
        must_wait: bool,
        may_run: bool,
    ) -> None:
        """Hold a charter. `must_wait`: whoever had it before was itself still waiting.

        `may_run`: shards of a coordinator that died may run on.
        """
        self.may_run = may_run
        self.store = store
        self._charter = charter
        self.first_number = charter.epoch
        """The number by which we have the crawl: who has a higher one coordinates it."""
        self._number = charter.epoch
        self._clock = clock
        self._beats = 0
        self._issued_at = boot_time()
        self._lock = threading.Lock()
        self._all_wait_until = boot_time() + charter.lease_s if must_wait else 0.0
        self._unsure: CrawlCharter | None = None
        """What was offered when the store went away: it may have taken it."""

    @property
    def charter(self) -> CrawlCharter:
        """Return the newest charter."""
        return self._charter

    @property
    def must_wait(self) -> bool:
        """Return True if a shard that is claimed now must wait, whoever had it last."""
        return boot_time() < self._all_wait_until

    @property
    def beat_s(self) -> float:
        """Return how often a sign of life is due."""
        return self._charter.lease_s / LEASE_PARTS

    def begin(self, shards: int) -> None:
        """Make the chains of all shards, if the crawl has none yet; then the charter names them."""
        if self._charter.generation:
            return
        for shard in range(shards):
            empty = ShardManifest(
                crawl=self._charter.crawl,
                shard=shard,
                epoch=self._charter.epoch,
                lineage=self._charter.lineage,
                nonce=token_hex(8),
                at=self._clock.wall(),
                sequence=0,
                has_ended=True,
            )
            chain = self.store.shard_chain(self._charter.epoch, shard)
            if not chain.append(1, json.encode(empty)):
                raise TakenOver(taken_over(self.store))
        self._append(replace(self._charter, generation=self._charter.epoch, shards=shards))

    def share_regions(self, cores: Mapping[str, int]) -> None:
        """Let each shard have a region, if machines have some; those that have one keep it."""
        have = self._charter.regions
        regions = share_shards(self._charter.shards, have, cores)
        if regions != have:
            self._append(replace(self._charter, regions=regions))

    def issue(self) -> int:
        """Return an epoch that nobody else has, for one start of one shard."""
        with self._settled():
            self._append(replace(self._charter, has_waited=False))
            self._issued_at = boot_time()
            return self._number

    def begin_split(self, shard: int, ring: Ring) -> SplitIntent:
        """Say in the charter that a shard is to be split, into a ring with one shard more."""
        with self._settled():
            intent = SplitIntent(
                shard=shard,
                child=self._charter.shards,
                generation=self._number + 1,
                ranges=ring.ranges,
            )
            self._append(replace(self._charter, split=intent))
            return intent

    def settle_split(self) -> None:
        """Let what has come of a split count: from now on there is one shard more."""
        with self._settled():
            intent = self._charter.split
            if intent is None:
                return
            ring = Ring(intent.ranges)
            have = self._charter.regions
            regions = (*have, self._charter.region_of(intent.shard)) if have else ()
            content = encoded_charter(Charter.of(ring, regions))
            file = ShippedFile("", len(content), shipped_digest([content]), content)
            new = {intent.shard: intent.generation, intent.child: intent.generation}
            self._append(
                replace(
                    self._charter,
                    shards=ring.shards,
                    ranges=ring.ranges,
                    regions=regions,
                    chains={**self._charter.chains, **new},
                    ringed_at=self._number + 1,
                    root={SHARDS_FILE: file},
                    split=None,
                )
            )

    def keep(self) -> None:
        """Show that we run; raise if somebody else has claimed the crawl."""
        with self._settled():
            if not self.store.charters.is_newest(self._number):
                raise TakenOver(taken_over(self.store))
            self._beats += 1
            note = AliveNote(charter=self._number, beats=self._beats, owner=self._charter.owner)
            self.store.objects.put(ALIVE, json.encode(note))

    def end(self) -> None:
        """Say that nothing runs any more, and that everything is shipped."""
        with self._settled():
            if self._charter.has_ended:
                return
            has_waited = boot_time() - self._issued_at > self._charter.lease_s
            with suppress(CannotGoOn):
                note_moment(self.store, self._charter, None)  # for `restore --at`
            self._append(replace(self._charter, has_ended=True, has_waited=has_waited))
            with suppress(CannotGoOn):
                self.store.objects.delete([ALIVE])

    @contextmanager
    def _settled(self) -> Iterator[None]:
        """Give the lock, with the charter known: an offer without an answer is made once more."""
        with self._lock:
            if self._unsure is not None:
                self._offer(self._unsure)
            yield

    def _append(self, charter: CrawlCharter) -> None:
        self._offer(replace(charter.versioned(), nonce=token_hex(8), at=self._clock.wall()))

    def _offer(self, charter: CrawlCharter) -> None:
        self._unsure = charter
        if not self.store.charters.append(self._number + 1, json.encode(charter)):
            raise TakenOver(taken_over(self.store))
        self._unsure = None
        self._number += 1
        self._charter = charter
