"""The outbox: links for other shards, kept until the receiver has them for good.

    o + shard + epoch + sequence      the tasks of one commit, for any receivers
    O + shard + epoch + sequence      parcels of one commit, each for one receiver

A row is written in the commit of the pages whose links it holds, sent when that commit is done,
and deleted when every receiver has said that the row's tasks survive the death of *its* machine.
Rows are addressed by the ring point of each task, never by a shard's number: rows that an earlier
split left behind go to whoever owns their hosts now.
"""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.cluster.messages import Mail
from gossamer.cluster.ring import Ring
from gossamer.model import Row, Task

OUTBOX, PARCELS = b"o", b"O"
MAX_WAITING = 100_000
"""Tasks without a receipt at which no new leases are taken: back-pressure instead of growth."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Task]).decode
_decode_parcels = msgspec.msgpack.Decoder(list[tuple[int, bytes]]).decode


class _Letter(Struct):
    """One row, and the receivers that have not given a receipt for it."""

    row_key: bytes
    tasks_of: dict[int, list[Task]]
    parcels_of: dict[int, list[bytes]] = field(default_factory=dict)


def outbox_tasks(value: bytes) -> list[Task]:
    """Return the tasks of a row of an outbox."""
    return _decode(value)


def parcel_rows(
    rows: Iterable[tuple[bytes, bytes]],
) -> Iterator[tuple[bytes, list[tuple[int, bytes]]]]:
    """Give the parcels of each row, with the shards that they are for."""
    for key, value in rows:
        yield key, _decode_parcels(value)


class Outbox:
    """Letters to other shards. Rows in, rows out; `committed` gives what is to be sent."""

    def __init__(self, ring: Ring, shard: int, epoch: int) -> None:
        self._ring = ring
        self._shard = shard
        self.epoch = epoch
        self._sequence = 0
        self._posted: list[Task] = []
        self._parcels: list[tuple[int, bytes]] = []
        self._unsent: list[int] = []
        self._letters: dict[int, _Letter] = {}
        self._gone: list[Row] = []
        self.waiting = 0
        """Tasks that were posted and that somebody has not yet given a receipt for."""

    def recover(self, rows: Iterable[tuple[bytes, bytes]]) -> list[Task]:
        """Take in the rows that earlier starts left; return the tasks that are our own by now.

        Their credit stays behind: the receiver may have it already, and twice would be wrong.
        """
        ours: list[Task] = []
        for key, value in rows:
            tasks = outbox_tasks(value)
            by_owner = self._by_owner(replace(task, credit=0.0) for task in tasks)
            ours += by_owner.pop(self._shard, [])
            if by_owner:
                self._keep(_Letter(key, by_owner))
            else:
                self._gone.append((key, None))
        return ours

    def recover_parcels(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Take in the parcels that earlier starts left."""
        for key, parcels in parcel_rows(rows):
            self._keep(_parcels_letter(key, parcels))

    @property
    def is_empty(self) -> bool:
        """Return True if everybody has given a receipt for everything."""
        return not (self.waiting or self._letters or self._parcels)

    @property
    def is_full(self) -> bool:
        """Return True if so much waits that nothing new should be asked for."""
        return self.waiting >= MAX_WAITING

    @property
    def has_uncommitted(self) -> bool:
        """Return True if there is anything that a commit would write."""
        return bool(self._posted or self._parcels or self._gone)

    def post(self, tasks: Iterable[Task]) -> None:
        """Take tasks for other shards; they leave after the next commit."""
        before = len(self._posted)
        self._posted.extend(tasks)
        self.waiting += len(self._posted) - before

    def post_parcels(self, parcels: Iterable[tuple[int, bytes]]) -> None:
        """Take parcels for other shards, by number; they leave after the next commit."""
        self._parcels.extend(parcels)

    def rows_to_commit(self) -> list[Row]:
        """Return what was posted since the last commit as rows, and the rows that are done."""
        rows, self._gone = self._gone, []
        if self._posted:
            tasks, self._posted = self._posted, []
            self.waiting -= len(tasks)  # counted again, by letter
            key = self._row_key(OUTBOX)
            self._keep(_Letter(key, self._by_owner(tasks)))
            rows.append((key, _encode(tasks)))
        if self._parcels:
            parcels, self._parcels = self._parcels, []
            key = self._row_key(PARCELS)
            self._keep(_parcels_letter(key, parcels))
            rows.append((key, _encode(parcels)))
        return rows

    def _row_key(self, table: bytes) -> bytes:
        number = self.epoch.to_bytes(4, "big") + self._sequence.to_bytes(8, "big")
        return table + self._shard.to_bytes(2, "big") + number

    def committed(self) -> list[tuple[int, Mail]]:
        """Return the letters that the last commit made durable here, with their receivers."""
        unsent, self._unsent = self._unsent, []
        return [
            (to, self._mail(sequence, to))
            for sequence in unsent
            for to in self._letters[sequence].tasks_of
        ]

    def letters_to(self, to: int) -> Iterator[Mail]:
        """Give every letter that a shard has not given a receipt for: it may have lost them."""
        for sequence, letter in self._letters.items():
            if to in letter.tasks_of and sequence not in self._unsent:
                yield self._mail(sequence, to)

    def receipt(self, sender: int, epoch: int, sequence: int) -> None:
        """Note that a shard has a letter for good; when all have, its row goes."""
        letter = self._letters.get(sequence) if epoch == self.epoch else None
        if letter is None or (tasks := letter.tasks_of.pop(sender, None)) is None:
            return
        self.waiting -= len(tasks)
        if not letter.tasks_of:
            del self._letters[sequence]
            self._gone.append((letter.row_key, None))

    def _keep(self, letter: _Letter) -> None:
        self._letters[self._sequence] = letter
        self._unsent.append(self._sequence)
        self._sequence += 1
        self.waiting += sum(map(len, letter.tasks_of.values()))

    def _mail(self, sequence: int, to: int) -> Mail:
        letter = self._letters[sequence]
        return Mail(
            sender=self._shard,
            epoch=self.epoch,
            sequence=sequence,
            tasks=letter.tasks_of[to],
            parcels=letter.parcels_of.get(to, []),
        )

    def _by_owner(self, tasks: Iterable[Task]) -> dict[int, list[Task]]:
        by_owner: dict[int, list[Task]] = {}
        for task in tasks:
            by_owner.setdefault(self._ring.owner_of(task.url.key), []).append(task)
        return by_owner


def _parcels_letter(key: bytes, parcels: Iterable[tuple[int, bytes]]) -> _Letter:
    """Return a letter that brings parcels and no tasks."""
    letter = _Letter(key, {})
    for to, parcel in parcels:
        letter.tasks_of[to] = []
        letter.parcels_of.setdefault(to, []).append(parcel)
    return letter
