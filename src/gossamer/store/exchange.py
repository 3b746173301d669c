"""Links that lead from the pages of one shard to those of another: they travel through the store.

    G/anchors/TTTT/from-FFFF-NNNNNNNN-...   what pages of shard F say of pages of T: a batch of it
    G/anchors/sent/FFFF/N                   a chain: how far the links archive of F was sent, in
                                            which objects (G: the generation of the charter)
    G/anchors/keys/FFFF-NNNNNNNN-...        the keys of the pages that a batch speaks for

Whoever can read the links archive of F may send it: what is sent follows from the archive alone, up
to the lengths that were shipped, which no loss of a machine takes back. Objects are there before
the link of the chain that names them, under names that nobody else uses; of two who send the same
one makes that link, and the other's objects are deleted, or left unnamed by a kill. Nothing is ever
sent twice, nor taken back: whoever reads for T goes on from the batches that it has read.

A page is sent to each shard that it links to but its own, with those of its links alone. One that
is read again goes to all shards: those that it no longer links to have to know that.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TypeAlias

import msgspec
import numpy as np
import zstandard
from msgspec import Struct, field, json
from numpy.typing import NDArray

from gossamer.errors import CannotGoOn
from gossamer.store.chain import Chain
from gossamer.store.checkpoints import ShippedFile
from gossamer.store.derived import RecordRange, has_shrunk
from gossamer.store.ends import Lengths
from gossamer.store.entry import LinkRow
from gossamer.store.far import note_far
from gossamer.store.layout import ArchiveKind, ArchiveName, CrawlFolder
from gossamer.store.objects import Objects
from gossamer.store.scanning import BadRecord, undecodable
from gossamer.urls import fingerprint_of, ring_of

VERSION = 1
BATCH_BYTES = 32 << 20
"""So much of a links archive is sent at a time: what is gathered of it is held in memory."""
LEAST_BYTES, LEAST_SHARE = 1 << 20, 8
"""Less than this, or than one part in so many of what was sent, is not worth a batch of its own."""
MOST_ORIGINS = 200_000
_DIGEST_BYTES = 16
_LEVEL = 3
_LENGTH_BYTES = 4
_PACKED_AT_ONCE = 128 << 10
REDIRECTED = "redirected"
SAID = frozenset({"fetched", REDIRECTED, "gone"})
"""Outcomes that say what a URL links to now, or that it is gone."""

OwnerOfPoint: TypeAlias = Callable[[int], int]
"""The shard that owns a point of the ring."""
Position: TypeAlias = Mapping[int, int]
"""How many batches of each shard were read."""
Tell: TypeAlias = Callable[[int], None]


class CrossLinks(Struct, frozen=True, array_like=True, omit_defaults=True):
    """What a links record says of the pages of one other shard."""

    url: str
    outcome: str
    """fetched, redirected (`detail` says where to) or gone."""
    at: float = 0.0
    links: list[LinkRow] = []  # msgspec copies it
    """Those that lead to pages of that shard; of a page that was read again maybe none."""
    detail: str = ""
    robots: tuple[str, ...] = ()
    on_probation: str = ""


class SentBatch(Struct, frozen=True, kw_only=True):
    """One link of the chain of a shard: what was sent of its links archive, and how far that is."""

    version: int = VERSION
    covered: Lengths
    """How much of each links file was sent, with this batch."""
    parts: dict[int, ShippedFile] = field(default_factory=dict)
    """What this batch has for each shard."""
    keys: ShippedFile | None = None
    """Of the pages of this batch that link to other shards, sorted: they may be read again."""
    others: dict[str, list[int]] = field(default_factory=dict)
    """By links file: other shards whose own pages are in it, since the ring was another once."""
    records: int = 0
    bad: int = 0
    """Records that cannot be read, so far."""


class _Record(Struct, frozen=True):
    """What of a links record is sent."""

    url: str
    outcome: str
    detail: str = ""
    at: float = 0.0
    robots: tuple[str, ...] = ()
    on_probation: str = ""
    links: list[LinkRow] = []  # msgspec copies it


_decode_record = json.Decoder(_Record).decode
_decode_row = msgspec.msgpack.Decoder(CrossLinks).decode
_encode = msgspec.msgpack.Encoder().encode


class LinkExchange:
    """What the shards of a crawl's store send one another."""

    def __init__(self, objects: Objects, generation: int) -> None:
        self._objects = objects
        self._prefix = f"{generation:04d}/anchors"

    def sent(self, shard: int) -> tuple[int, SentBatch]:
        """Return how many batches a shard has sent, and the last of them."""
        link = self._chain(shard).newest()
        if link is None:
            return 0, SentBatch(covered={})
        return link.number, self._batch(link.content)

    def reached(self) -> dict[int, int]:
        """Return how many batches each shard has sent; those that sent nothing are left out."""
        found: dict[int, int] = {}
        for name in self._objects.names(f"{self._prefix}/sent/"):
            shard, number = name.split("/")[-2:]
            if shard.isdecimal() and number.isdecimal():
                found[int(shard)] = max(int(number), found.get(int(shard), 0))
        return found

    def received(self, shard: int, since: Position | None = None) -> "ReceivedLinks":
        """Return what was sent to a shard by all others, from a position on."""
        return ReceivedLinks(self, shard, dict(since or {}), self.reached())

    def batches(self, shard: int, after: int, last: int) -> Iterator[SentBatch]:
        """Yield the batches that a shard has sent, from the one after a number on."""
        chain = self._chain(shard)
        for number in range(after + 1, last + 1):
            content = chain.read(number)
            if content is None:
                raise CannotGoOn(f"{self._objects.url}/{chain.name(number)} is missing")
            yield self._batch(content)

    def rows(self, part: ShippedFile) -> Iterator[CrossLinks]:
        """Yield what an object of a batch says."""
        try:
            with zstandard.ZstdDecompressor().stream_reader(self._content(part)) as content:
                while length := content.read(_LENGTH_BYTES):
                    yield _decode_row(content.read(int.from_bytes(length, "little")))
        except (msgspec.DecodeError, UnicodeDecodeError, zstandard.ZstdError) as error:
            raise self._damaged(part, str(error)) from error

    def put(self, place: str, packed: bytes) -> ShippedFile:
        """Make an object that no batch names yet."""
        name = f"{self._prefix}/{place}"
        self._objects.put(name, packed)
        return ShippedFile(name, len(packed), _digest(packed))

    def append(self, shard: int, number: int, batch: SentBatch) -> bool:
        """Let a batch count, unless somebody else has sent one of its number: then delete it."""
        if self._chain(shard).append(number, json.encode(batch)):
            return True
        unnamed = [*batch.parts.values(), *([batch.keys] if batch.keys is not None else [])]
        self._objects.delete([one.name for one in unnamed])
        return False

    def keys_of(self, batch: SentBatch) -> NDArray[np.uint64]:
        """Return the keys of the pages of a batch that link to other shards."""
        if batch.keys is None:
            return np.empty(0, np.uint64)
        return np.frombuffer(self._content(batch.keys), "<u8")

    def _chain(self, shard: int) -> Chain:
        return Chain(self._objects, f"{self._prefix}/sent/{shard:04d}")

    def _batch(self, content: bytes) -> SentBatch:
        try:
            batch = json.decode(content, type=SentBatch)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CannotGoOn(f"{self._objects.url}/{self._prefix} is damaged: {error}") from error
        if batch.version > VERSION:
            raise CannotGoOn(
                f"{self._objects.url} was written by a later version of Gossamer; use that version"
            )
        return batch

    def _content(self, file: ShippedFile) -> bytes:
        content = self._objects.read(file.name)
        if content is None:
            raise self._damaged(file, "it is missing")
        if len(content) != file.size or _digest(content) != file.digest:
            raise self._damaged(file, "other bytes")
        return content

    def _damaged(self, file: ShippedFile, why: str) -> CannotGoOn:
        return CannotGoOn(f"{self._objects.url}/{file.name} is damaged: {why}")


class ReceivedLinks:
    """Iterate over what was sent to a shard; `position` is how far that was, batch by batch."""

    def __init__(
        self, exchange: LinkExchange, shard: int, since: dict[int, int], last: dict[int, int]
    ) -> None:
        self._exchange = exchange
        self._shard = shard
        self._last = last
        self.position = since
        """Go on from here: all that was yielded before is of these batches."""
        self.bytes = 0
        """Of the objects that were read."""

    @property
    def has_more(self) -> bool:
        """Return True if anything was sent that was not read."""
        return any(last > self.position.get(shard, 0) for shard, last in self._last.items())

    @property
    def bytes_left(self) -> int:
        """Return how much is still to be read; the chains are read for it."""
        return sum(part.size for _, part in self._left() if part is not None)

    def __iter__(self) -> Iterator[CrossLinks]:
        for shard, part in self._left():
            if part is not None:
                yield from self._exchange.rows(part)
                self.bytes += part.size
            self.position[shard] = self.position.get(shard, 0) + 1

    def _left(self) -> Iterator[tuple[int, ShippedFile | None]]:
        """Yield for each batch that was not read its shard, and what it has for ours."""
        for shard, last in sorted(self._last.items()):
            after = self.position.get(shard, 0)
            for batch in self._exchange.batches(shard, after, last):
                yield shard, batch.parts.get(self._shard)


class LinkSender:
    """Sends what the links archive of one shard says of the pages of others."""

    def __init__(
        self,
        exchange: LinkExchange,
        shard: int,
        shards: Iterable[int],
        owner: OwnerOfPoint,
        folder: CrawlFolder,
    ) -> None:
        """Take a shard, and all of them; and a folder in which its links files can be read."""
        self._exchange = exchange
        self._shard = shard
        self._others = [other for other in shards if other != shard]
        self._owners = UrlOwners(owner)
        self._folder = folder
        self._spoken_for = np.empty(0, np.uint64)
        self._known = 0
        """So many batches are in it."""

    def send(
        self, counted: Lengths, nonce: str, *, is_all: bool = True, tell: Tell = lambda _: None
    ) -> SentBatch:
        """Send what was not sent before, up to the lengths that count; return the last batch.

        `counted` must be shipped: what was sent is never taken back. `nonce` names what nobody
        else writes. Not `is_all`: a little that is new may wait. `tell` hears of records read.
        """
        while True:
            number, last = self._exchange.sent(self._shard)
            if has_shrunk(last.covered, counted):
                raise CannotGoOn(
                    f"shard {self._shard} has less in its archive than was read of it: the store "
                    "was changed by something else than Gossamer"
                )
            left = sum(max(0, n - last.covered.get(name, 0)) for name, n in counted.items())
            least = min(BATCH_BYTES, LEAST_BYTES + sum(last.covered.values()) // LEAST_SHARE)
            if not left or (left < least and not is_all):
                return last
            self._learn(number)
            batch = self._made(last, counted, f"{number + 1:08d}-{nonce}", tell)
            if batch is None:
                return last
            self._exchange.append(self._shard, number + 1, batch)

    def _learn(self, number: int) -> None:
        """Know the pages that all batches so far speak for."""
        batches = self._exchange.batches(self._shard, self._known, number)
        found = [self._exchange.keys_of(batch) for batch in batches]
        self._spoken_for = np.unique(np.concatenate([self._spoken_for, *found]))
        self._known = number

    def _made(self, last: SentBatch, counted: Lengths, name: str, tell: Tell) -> SentBatch | None:
        """Return the next batch, whose objects are there; None if nothing more can be read."""
        gathered = _Gathered(self._shard, self._others, self._owners, self._spoken_for)
        covered, bad, room = dict(last.covered), list[BadRecord](), BATCH_BYTES
        for file in sorted(counted):
            start = covered.get(file, 0)
            if room <= 0 or start >= counted[file]:
                continue
            reached = self._read(file, start, counted[file], room, gathered, bad)
            room -= reached - start
            if reached > start:
                covered[file] = reached
            tell(gathered.records)
        if covered == last.covered:
            return None
        keys = np.array(sorted(gathered.keys), "<u8")
        others = {file: set(found) for file, found in last.others.items()}
        for file, found in gathered.foreign.items():
            others.setdefault(file, set()).update(found)
        return SentBatch(
            covered=covered,
            parts={
                to: self._exchange.put(f"{to:04d}/from-{self._shard:04d}-{name}", packed)
                for to, packed in gathered.finished()
            },
            keys=self._exchange.put(f"keys/{self._shard:04d}-{name}", keys.tobytes())
            if len(keys)
            else None,
            others={file: sorted(found) for file, found in others.items()},
            records=last.records + gathered.records,
            bad=last.bad + len(bad),
        )

    def _read(
        self,
        file: str,
        start: int,
        end: int,
        room: int,
        gathered: "_Gathered",
        bad: list[BadRecord],
    ) -> int:
        """Take the records of a file, about so many bytes of it; return how far that is."""
        stretch = RecordRange(self._folder.archive_path(file), start, end, bad)
        for record in stretch:
            if record.headers.get("warc-type") == "metadata":
                try:
                    gathered.take(file, _decode_record(record.block))
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    bad.append(undecodable(file, record, error))
            reached = record.offset + record.length
            if reached - start >= room:
                return reached
        return stretch.reached


class UrlOwners:
    """Which shard a URL belongs to: the same one for all of an origin."""

    def __init__(self, owner: OwnerOfPoint) -> None:
        self._owner = owner
        self._known: dict[str, int] = {}

    def of(self, url: str) -> int | None:
        """Return the shard of a URL; None of what has no host."""
        slashes = url.find("://") + 3
        end = url.find("/", slashes)
        if slashes < len("://") + 1 or end < 0:
            return None
        origin = url[:end]
        found = self._known.get(origin)
        if found is None:
            if len(self._known) >= MOST_ORIGINS:
                self._known.clear()
            authority = url[slashes:end]
            host = authority if authority.endswith("]") else authority.partition(":")[0]
            found = self._known[origin] = self._owner(ring_of(host))
        return found


class _Gathered:
    """A batch that grows: what records of one shard say, by the shard that it is said of."""

    def __init__(
        self, shard: int, others: Sequence[int], owners: UrlOwners, spoken_for: NDArray[np.uint64]
    ) -> None:
        self._shard = shard
        self._others = others
        self._owners = owners
        self._spoken_for = spoken_for
        self._parts: dict[int, _Part] = {}
        self.keys: set[int] = set()
        """Of pages that link to other shards, and were not known before."""
        self.foreign: dict[str, set[int]] = {}
        """By file: other shards that have pages in it."""
        self.records = 0

    def take(self, file: str, record: _Record) -> None:
        """Take a record."""
        self.records += 1
        if record.outcome not in SAID:
            return
        own = self._owners.of(record.url)
        if own is None:
            return
        if own != self._shard:
            self.foreign.setdefault(file, set()).add(own)
        said_of = self._said_of(record, own)
        key = fingerprint_of(record.url)
        if key in self.keys or self._is_known(key):
            for to in (*self._others, self._shard):
                if to != own:
                    said_of.setdefault(to, [])
        elif said_of:
            self.keys.add(key)
        for to, links in said_of.items():
            self._part(to).add(
                CrossLinks(
                    record.url,
                    record.outcome,
                    record.at,
                    links,
                    record.detail if record.outcome == REDIRECTED else "",
                    record.robots,
                    record.on_probation,
                )
            )

    def _said_of(self, record: _Record, own: int) -> dict[int, list[LinkRow]]:
        """Return the links of a record to pages of other shards, by shard."""
        found: dict[int, list[LinkRow]] = {}
        for row in record.links:
            to = self._owners.of(row[0])
            if to is not None and to != own:
                found.setdefault(to, []).append(row)
        end = self._owners.of(record.detail) if record.outcome == REDIRECTED else None
        if end is not None and end != own:
            found.setdefault(end, [])
        return found

    def finished(self) -> Iterator[tuple[int, bytes]]:
        """Yield what there is for each shard, packed; once."""
        for to, part in sorted(self._parts.items()):
            yield to, part.finished()

    def _is_known(self, key: int) -> bool:
        known = self._spoken_for
        at = int(np.searchsorted(known, np.uint64(key)))
        return at < len(known) and int(known[at]) == key

    def _part(self, to: int) -> "_Part":
        part = self._parts.get(to)
        if part is None:
            part = self._parts[to] = _Part()
        return part


class _Part:
    """Rows for one shard, packed as they come: what is in memory is a fraction of them."""

    def __init__(self) -> None:
        self._packer = zstandard.ZstdCompressor(_LEVEL).compressobj()
        self._packed = bytearray()
        self._rows = bytearray()

    def add(self, row: CrossLinks) -> None:
        content = _encode(row)
        self._rows += len(content).to_bytes(_LENGTH_BYTES, "little") + content
        if len(self._rows) >= _PACKED_AT_ONCE:
            self._pack()

    def finished(self) -> bytes:
        self._pack()
        return bytes(self._packed + self._packer.flush())

    def _pack(self) -> None:
        self._packed += self._packer.compress(bytes(self._rows))
        self._rows.clear()


def noted_lengths(
    folder: CrawlFolder, url: str, archive: Mapping[str, Sequence[ShippedFile]], *kinds: ArchiveKind
) -> Lengths:
    """Return how much of the archive files of some kinds a store has; all can be read then.

    Those that are not in the folder get a place there, and are read by ranges.
    """
    names = {name: ArchiveName.parse(name) for name in archive}
    found = {name: archive[name] for name, one in names.items() if one and one.kind in kinds}
    missing = {name: files for name, files in found.items() if not (folder.archive / name).exists()}
    note_far(folder, url, missing)
    return {name: sum(one.size for one in files) for name, files in found.items()}


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()
