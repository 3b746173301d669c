"""The outbox: links for other shards, kept until the receiver has them for good.

    o + shard + epoch + sequence      the tasks of one commit, for any receivers
    O + shard + epoch + sequence      parcels of one commit, each for a slice of the ring

A row is written in the commit of the pages whose links it holds, sent when that commit is done,
and deleted when every receiver has said that the row's tasks survive the death of *its* machine.
Rows are addressed by the ring, never by a shard's number: rows that an earlier split left behind go
to whoever owns their points now.

What waits long lies in the state alone: in memory are the first letters, and of the others who has
not given a receipt for them.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.cluster.messages import Mail
from gossamer.cluster.moved import MovedDomains
from gossamer.cluster.ring import Ring, RingSlice
from gossamer.errors import Bug
from gossamer.model import Row, Task

OUTBOX, PARCELS = b"o", b"O"
MOST_IN_MEMORY = 20_000
"""Tasks in memory; the letters beyond are read from the state when they are sent again."""
MOST_WAITING = 1_000_000
"""Tasks without a receipt at which no new leases are taken: back-pressure instead of growth."""
MOST_LETTERS = 50_000
"""The same for letters, of which each takes some memory."""
PARCEL_BYTES = 256
"""So much of a parcel counts as a task."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Task]).decode
_decode_parcels = msgspec.msgpack.Decoder(list[tuple[int | RingSlice, bytes]]).decode


class _Contents(Struct):
    """What a letter brings to one receiver."""

    tasks: list[Task] = field(default_factory=list)
    parcels: list[bytes] = field(default_factory=list)

    @property
    def weight(self) -> int:
        return len(self.tasks) + sum(1 + len(one) // PARCEL_BYTES for one in self.parcels)


class _Letter(Struct):
    """One row, and the receivers that have not given a receipt for it."""

    row_key: bytes
    tasks: dict[int, int]
    """How many tasks it has for each of them."""
    is_again: bool
    """An earlier start wrote it."""
    held: dict[int, _Contents] | None
    """What it says to each of them; None if that is in the state only."""


class _HeldLetter(NamedTuple):
    """A row of tasks that wait."""

    row_key: bytes
    tasks: list[Task]
    is_again: bool


def outbox_tasks(value: bytes) -> list[Task]:
    """Return the tasks of a row of an outbox."""
    return _decode(value)


def parcel_rows(
    rows: Iterable[tuple[bytes, bytes]], ring: Ring
) -> Iterator[tuple[bytes, list[tuple[int, bytes]]]]:
    """Give the parcels of each row, with the shards that they are for.

    A parcel is for everybody who owns anything of its slice: after a split, for both. Older
    versions wrote the number of a shard, and drop such rows when there is another number of them.
    """
    known = set(ring.numbers)
    for key, value in rows:
        parcels: list[tuple[int, bytes]] = []
        for to, parcel in _decode_parcels(value):
            owners = {to} & known if isinstance(to, int) else ring.owners(to)
            parcels += [(owner, parcel) for owner in sorted(owners)]
        yield key, parcels


class Outbox:
    """Letters to other shards. Rows in, rows out; `committed` gives what is to be sent."""

    def __init__(
        self,
        ring: Ring,
        shard: int,
        epoch: int,
        read: Callable[[bytes], bytes | None],
        moved: MovedDomains | None = None,
    ) -> None:
        """Be the outbox of a shard; `read` returns a row of the state."""
        self._ring = ring
        self.moved = moved if moved is not None else MovedDomains(ring, shard)
        self._held: list[_HeldLetter] = []
        """Rows whose tasks leave when it is shipped that their domains were given away."""
        self._shard = shard
        self._read = read
        self.epoch = epoch
        self._sequence = 0
        self._posted: list[Task] = []
        self._parcels: list[tuple[RingSlice, bytes]] = []
        self._unsent: set[int] = set()
        """Letters that are being committed: the highest numbers."""
        self._letters: dict[int, _Letter] = {}
        self._gone: list[Row] = []
        self._weight = 0
        """Of what the letters hold in memory."""
        self.waiting = 0
        """Tasks that were posted and that somebody has not yet given a receipt for."""

    def recover(self, rows: Iterable[tuple[bytes, bytes]]) -> list[Task]:
        """Take in the rows that earlier starts left; return the tasks that are our own by now.

        Their credit stays behind: the receiver may have it already, and twice would be wrong.
        """
        ours: list[Task] = []
        for key, value in rows:
            if self._is_held(outbox_tasks(value)):
                self._hold(key, outbox_tasks(value), is_again=True)
                continue
            contents = self._tasks_in(value, is_again=True)
            if (own := contents.pop(self._shard, None)) is not None:
                ours += own.tasks
            self._keep_again(key, contents)
        return ours

    def recover_parcels(self, rows: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
        """Take in the parcels that earlier starts left; return those that are for us by now."""
        ours: list[bytes] = []
        for key, value in rows:
            contents = self._parcels_in(key, value)
            if (own := contents.pop(self._shard, None)) is not None:
                ours += own.parcels
            self._keep_again(key, contents)
        return ours

    def _keep_again(self, key: bytes, contents: dict[int, _Contents]) -> None:
        """Keep a letter of an earlier start: it goes out when its receivers connect."""
        if not contents:
            self._gone.append((key, None))
            return
        sequence = self._keep(key, contents, is_again=True)
        if self._weight > MOST_IN_MEMORY:
            self._let_go(sequence)

    @property
    def is_empty(self) -> bool:
        """Return True if everybody has given a receipt for everything."""
        return not (self.waiting or self._letters or self._parcels)

    @property
    def is_full(self) -> bool:
        """Return True if so much waits that nothing new should be asked for."""
        return self.waiting >= MOST_WAITING or len(self._letters) >= MOST_LETTERS

    @property
    def has_uncommitted(self) -> bool:
        """Return True if there is anything that a commit would write."""
        return bool(self._posted or self._parcels or self._gone or self.moved.has_uncommitted)

    def post(self, tasks: Iterable[Task]) -> None:
        """Take tasks for other shards; they leave after the next commit."""
        before = len(self._posted)
        self._posted.extend(tasks)
        self.waiting += len(self._posted) - before

    def post_parcels(self, parcels: Iterable[tuple[int, bytes]]) -> None:
        """Take parcels for other shards, by number; they leave after the next commit."""
        self._parcels.extend((self._ring.spans(to), parcel) for to, parcel in parcels)

    def rows_to_commit(self) -> list[Row]:
        """Return what was posted since the last commit as rows, and the rows that are done."""
        rows, self._gone = [*self.moved.rows_to_commit(), *self._gone], []
        tasks, self._posted = self._posted, []
        self.waiting -= len(tasks)  # counted again, by letter
        if self.moved.waits and (held := [one for one in tasks if self.moved.holds(one)]):
            tasks = [one for one in tasks if not self.moved.holds(one)]
            key = self._row_key(OUTBOX)
            self._sequence += 1
            self._hold(key, held, is_again=False)
            rows.append((key, _encode(held)))
        if tasks:
            key = self._row_key(OUTBOX)
            self._unsent.add(self._keep(key, self._by_owner(tasks), is_again=False))
            rows.append((key, _encode(tasks)))
        if self._parcels:
            parcels, self._parcels = self._parcels, []
            key, value = self._row_key(PARCELS), _encode(parcels)
            self._unsent.add(self._keep(key, self._parcels_in(key, value), is_again=False))
            rows.append((key, value))
        return rows

    def _row_key(self, table: bytes) -> bytes:
        number = self.epoch.to_bytes(4, "big") + self._sequence.to_bytes(8, "big")
        return table + self._shard.to_bytes(2, "big") + number

    def committed(self) -> list[tuple[int, Mail]]:
        """Return the letters that the last commit made durable here, with their receivers."""
        unsent, self._unsent = sorted(self._unsent), set()
        mails: list[tuple[int, Mail]] = []
        for sequence in unsent:
            contents = self._contents(sequence)
            mails += [(to, self._mail(to, sequence, one)) for to, one in contents.items()]
            if self._weight > MOST_IN_MEMORY:
                self._let_go(sequence)
        return mails

    def released(self) -> list[tuple[int, Mail]]:
        """Return the letters that may leave since something was shipped, with their receivers."""
        held, self._held = self._held, []
        mails: list[tuple[int, Mail]] = []
        for one in held:
            if self._is_held(one.tasks):
                self._held.append(one)
                continue
            self.waiting -= len(one.tasks)
            sequence = self._keep(one.row_key, self._by_owner(one.tasks), is_again=one.is_again)
            mails += [
                (to, self._mail(to, sequence, part))
                for to, part in self._contents(sequence).items()
            ]
        return mails

    def _is_held(self, tasks: Iterable[Task]) -> bool:
        return self.moved.waits and any(map(self.moved.holds, tasks))

    def _hold(self, key: bytes, tasks: list[Task], *, is_again: bool) -> None:
        """Keep a row whose tasks may not leave yet; those of an earlier start without credit."""
        if is_again:
            tasks = [replace(one, credit=0.0) for one in tasks]
        self._held.append(_HeldLetter(key, tasks, is_again))
        self.waiting += len(tasks)

    def letters_to(self, to: int, after: int = -1) -> Iterator[Mail]:
        """Give the letters that a shard has not given a receipt for, from a number on, in order.

        Letters and receipts may come while they are given; letters that come are not among them.
        """
        for sequence in [number for number in self._letters if number > after]:
            letter = self._letters.get(sequence)
            if letter is not None and to in letter.tasks and sequence not in self._unsent:
                yield self._mail(to, sequence, self._contents(sequence)[to])

    def receipt(self, sender: int, epoch: int, sequence: int) -> None:
        """Note that a shard has a letter for good; when all have, its row goes."""
        letter = self._letters.get(sequence) if epoch == self.epoch else None
        if letter is None or (tasks := letter.tasks.pop(sender, None)) is None:
            return
        self.waiting -= tasks
        if letter.held is not None:
            self._weight -= letter.held.pop(sender).weight
        if not letter.tasks:
            del self._letters[sequence]
            self._gone.append((letter.row_key, None))

    def _keep(self, key: bytes, contents: dict[int, _Contents], *, is_again: bool) -> int:
        """Keep a letter under the next number; return that."""
        tasks = {to: len(one.tasks) for to, one in contents.items()}
        self._sequence += 1
        self._letters[self._sequence - 1] = _Letter(key, tasks, is_again, contents)
        self._weight += sum(one.weight for one in contents.values())
        self.waiting += sum(tasks.values())
        return self._sequence - 1

    def _let_go(self, sequence: int) -> None:
        """Leave what a letter says to the state, where it is in its row."""
        letter = self._letters[sequence]
        if letter.held is not None:
            self._weight -= sum(one.weight for one in letter.held.values())
            letter.held = None

    def _contents(self, sequence: int) -> dict[int, _Contents]:
        """Return what a letter says to those who have not given a receipt for it."""
        letter = self._letters[sequence]
        if letter.held is not None:
            return letter.held
        if (value := self._read(letter.row_key)) is None:
            raise Bug(f"the letter {letter.row_key!r} waits for receipts, and has no row")
        if letter.row_key.startswith(PARCELS):
            contents = self._parcels_in(letter.row_key, value)
        else:
            contents = self._tasks_in(value, is_again=letter.is_again)
        if (own := contents.pop(self._shard, None)) is not None:
            for task in own.tasks:  # ours since: who was to have it passes it on
                owner = self._ring.owner_of(task.url.key)
                contents.setdefault(owner, _Contents()).tasks.append(task)
        return {to: one for to, one in contents.items() if to in letter.tasks}

    def _mail(self, to: int, sequence: int, contents: _Contents) -> Mail:
        return Mail(
            sender=self._shard,
            epoch=self.epoch,
            sequence=sequence,
            tasks=contents.tasks,
            parcels=contents.parcels,
            given=self.moved.given_in(contents.tasks, to),
        )

    def _tasks_in(self, value: bytes, *, is_again: bool) -> dict[int, _Contents]:
        tasks = outbox_tasks(value)
        if is_again:
            tasks = [replace(one, credit=0.0) for one in tasks]
        return self._by_owner(tasks)

    def _parcels_in(self, key: bytes, value: bytes) -> dict[int, _Contents]:
        contents: dict[int, _Contents] = {}
        for _, parcels in parcel_rows([(key, value)], self._ring):
            for to, parcel in parcels:
                contents.setdefault(to, _Contents()).parcels.append(parcel)
        return contents

    def _by_owner(self, tasks: Iterable[Task]) -> dict[int, _Contents]:
        by_owner: dict[int, _Contents] = {}
        for task in tasks:
            owner = self.moved.owner_of(task.url.key)
            by_owner.setdefault(owner, _Contents()).tasks.append(task)
        return by_owner
