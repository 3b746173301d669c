"""Opening a shard: the folder's lock, its state, a new epoch, and what earlier starts left."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from gossamer.clock import Clock, CrawlTime
from gossamer.cluster import Ring, ShardRegions
from gossamer.durable import replace_file
from gossamer.errors import CannotGoOn, TakenOver, rebuild_state_command
from gossamer.frontier import Order
from gossamer.linux import boot_id, is_dead
from gossamer.log import tell
from gossamer.model import Row
from gossamer.report import COUNTERS, URL, decode_counters, encode_counters, sum_counters
from gossamer.seen import check_seen
from gossamer.store import CrawlFolder, State, ends_findings
from gossamer.urls import Patterns

META = b"m"
REQUISITES_KNOWN = b"mr"
"""The row that says that the requisites of all stored pages are queued, or were refused."""
DROPS_ON_RECORD = b"md"
"""The row with the patterns that this shard's part of the archive says are dropped."""
UNCOUNTED = b"mu"
"""The row that says which patterns name what is not counted."""
CREDITS = "credits"
"""The file beside the state that says what URLs are worth."""
DYING_S = 5.0
"""How long the shards of a dead supervisor are waited for: they die with it, but not at once."""
WHOLE_RING = Ring()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardFolder:
    """Which shard of which crawl: its folder, its number, and the ring that is shared out."""

    folder: CrawlFolder
    shard: int = 0
    ring: Ring = WHOLE_RING
    regions: ShardRegions = ()
    """Of the shards, by number, where a coordinator gives them some."""

    @property
    def shards(self) -> int:
        """Return how many shards share the crawl."""
        return self.ring.shards if len(self.ring.ranges) > 1 else 1

    @property
    def state(self) -> Path:
        """Return the folder of the shard's state."""
        return self.folder.state(self.shard)


class Meta(Struct, frozen=True, kw_only=True):
    """What a shard knows of its own past starts."""

    epoch: int = 0
    boot_id: str = ""
    offset_s: float = 0.0
    """Crawl time minus the steady clock: valid for as long as the machine is not rebooted."""


def ring_if_new(folder: CrawlFolder, shards: int) -> Ring | None:
    """Return who owns what if that is one shard and nothing is there that another could own."""
    is_new = not folder.charter_path.parent.exists() and not folder.archive.exists()
    return WHOLE_RING if is_new and shards == 1 else None


@contextmanager
def lock_folder(folder: CrawlFolder, clock: Clock) -> Iterator[int]:
    """Make the folder ours; one process at a time may crawl in it. Forks share the lock.

    A folder that was made for what is refused then, and has nothing but the lock, is removed again.
    """
    try:
        is_new = not folder.root.exists()
        folder.root.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder.lock_path, os.O_RDWR | os.O_CREAT, 0o644)
    except (FileExistsError, NotADirectoryError) as error:
        raise CannotGoOn(f"{folder.root} is not a folder; choose another place") from error
    except OSError as error:
        raise CannotGoOn(
            f"cannot write to {folder.root}: {error.strerror}; choose a writable folder"
        ) from error
    try:
        _take(lock, folder, clock)
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        yield lock
    except CannotGoOn as error:
        if isinstance(error, TakenOver):
            replace_file(folder.taken_over_path, f"{error}\n".encode())
        if is_new and list(folder.root.iterdir()) == [folder.lock_path]:
            folder.lock_path.unlink()
            folder.root.rmdir()
        raise
    finally:
        os.close(lock)


def _take(lock: int, folder: CrawlFolder, clock: Clock) -> None:
    deadline = clock.steady() + DYING_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(lock, 32, 0).decode("ascii", "replace").strip()
            if _is_gone(holder) and clock.steady() < deadline:
                time.sleep(0.02)
                continue
            raise CannotGoOn(
                f"another process (pid {holder or 'unknown'}) is using {folder.root}; "
                f"stop it first, or see `gossamer status {folder.root}`"
            ) from error
        return


def _is_gone(holder: str) -> bool:
    """Return True if the process that wrote its number into the lock has ended."""
    return holder.isdecimal() and is_dead(int(holder))


def open_state(place: ShardFolder) -> State:
    """Open the state; an archive whose state is missing or empty is not touched."""
    folder = place.folder
    shards = range(place.shards)
    is_bare = not any(State.exists(folder.state(shard)) for shard in shards)
    has_archive = folder.has_archive() if is_bare else any(folder.archive_names(shard=place.shard))
    if has_archive and not State.exists(place.state):
        raise _without_state(folder, "no state")
    state = State.open(place.state)
    if has_archive and state.get(META) is None:  # its log is gone: every start writes that row
        state.close()
        raise _without_state(folder, "an empty state")
    return state


def expect_state_of_archive(folder: CrawlFolder, shards: int) -> None:
    """Refuse states that together are older than the archive, and an archive that lost files.

    To be called before anything is changed: nothing is written here. The states are opened, if only
    to be read: a process that is to fork shards must not call this.
    """
    if not any(State.exists(folder.state(shard)) for shard in range(shards)):
        if folder.has_archive():
            raise _without_state(folder, "no state")
        return
    found = ends_findings(folder, range(shards))
    if not found:
        _expect_known_urls(folder, shards)
        return
    first, rebuild = found[0], rebuild_state_command(folder.state())
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    match first.kind:
        case "state_older":
            raise CannotGoOn(
                f"the state is older than the archive; run {rebuild}. It knows {first.found} of "
                f"{first.expected} bytes of {first.file}{more}; nothing was changed"
            )
        case "rows_missing":
            raise CannotGoOn(
                f"the state is older than the archive; run {rebuild}. {first.file} has "
                f"{first.found} of {first.expected} rows{more}; nothing was changed"
            )
        case "file_missing":
            raise CannotGoOn(
                f"{folder.archive / first.file} is missing{more}; nothing was changed. Put it back "
                f"from a copy, or go on without it: run {rebuild}"
            )
        case "file_short":
            raise CannotGoOn(
                f"{folder.archive / first.file} is cut: expected at least {first.expected} bytes, "
                f"found {first.found}{more}; nothing was changed. Put it back from a copy, or go "
                f"on with what is left: run {rebuild}"
            )


def _expect_known_urls(folder: CrawlFolder, shards: int) -> None:
    """Refuse damaged files of known URLs, where another shard would begin before that is found."""
    for path in map(folder.state, range(shards if shards > 1 else 0)):
        if State.exists(path):
            state = State.open(path, is_read_only=True)
            try:
                rows = [*state.scan(b"s"), *state.scan(b"S")]
            finally:
                state.close()
            for error in check_seen(path / "seen", rows):
                raise error


def _without_state(folder: CrawlFolder, found: str) -> CannotGoOn:
    return CannotGoOn(
        f"{folder.root} has an archive but {found}; the archive was not changed. "
        f"Run `gossamer build {folder.root} state`, then resume the crawl"
    )


def read_meta(state: State) -> Meta:
    """Return what the state knows of past starts."""
    value = state.get(META)
    return msgspec.msgpack.decode(value, type=Meta) if value is not None else Meta()


def forget_boot(state: State) -> None:
    """Let the next start treat all clocks as after a reboot: every host waits its full gap."""
    meta = msgspec.structs.replace(read_meta(state), boot_id="")
    state.write([(META, msgspec.msgpack.encode(meta))])


def lacks_requisites(state: State, *, is_wanted: bool) -> bool:
    """Return True if the requisites of stored pages are wanted and were never queued.

    A start that does not want them forgets that they were: it stores pages without theirs.
    """
    is_known = state.get(REQUISITES_KNOWN) is not None
    if is_known and not is_wanted:
        state.write([(REQUISITES_KNOWN, None)])
    return is_wanted and not is_known


def lacks_drops(state: State, dropped: Sequence[str]) -> bool:
    """Return True if the archive has other patterns on record than those that are dropped."""
    return set(drops_on_record(state)) != set(dropped)


def drops_on_record(state: State) -> tuple[str, ...]:
    """Return the patterns that a shard's part of the archive says are dropped."""
    value = state.get(DROPS_ON_RECORD)
    return () if value is None else msgspec.msgpack.decode(value, type=tuple[str, ...])


def start_epoch(state: State, clock: Clock, after: int = 0) -> tuple[CrawlTime, bool]:
    """Begin a new epoch (later than `after`), durable before anything else; was there a reboot?

    A state that was restored from elsewhere is as after a reboot: its clocks may be behind.
    """
    boot = boot_id()
    meta = read_meta(state)
    is_restored = restored_mark_path(state.path).exists()
    has_rebooted = meta.boot_id != boot or not boot or is_restored
    time = CrawlTime.anchored(clock) if has_rebooted else CrawlTime(clock, meta.offset_s)
    is_first = meta.epoch == 0
    meta = Meta(epoch=max(meta.epoch, after) + 1, boot_id=boot, offset_s=time.offset_s)
    state.write([(META, msgspec.msgpack.encode(meta))])
    state.sync()
    return time, has_rebooted and not is_first


def restored_mark_path(state: Path) -> Path:
    """Return the file that says that a state was restored and not yet started."""
    return state / "restored"


def fold_counters(state: State) -> None:
    """Add the totals of shards that are no more, which a re-split left here, to our own."""
    rows = list(state.scan(COUNTERS))
    if len(rows) > 1:
        total = sum_counters(decode_counters(value) for _, value in rows)
        gone: list[Row] = [(key, None) for key, _ in rows if key != COUNTERS]
        state.write([*gone, (COUNTERS, encode_counters(total))])


def load_credit(state: State, order: Order) -> None:
    """Give an order the credit that the last run kept, if it uses any. A damaged file is none."""
    path = state.path / CREDITS
    if order.credit is not None and path.exists() and not order.credit.load(path.read_bytes()):
        tell("credit.damaged", path=str(path))


def saving_credit(state: State, order: Order) -> Callable[[], None] | None:
    """Return the work of keeping the credit of URLs; None if the order has none."""
    if order.credit is None:
        return None
    data = order.credit.save()
    return lambda: replace_file(state.path / CREDITS, data)


class _UncountedRow(Struct, frozen=True, array_like=True):
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    up_to: bytes = b""
    """Rows of URLs below this key are counted by `after`, the others by `before`; b"": all of them
    by `after`."""


class UncountedUrls:
    """The URLs that a shard's totals leave out."""

    def __init__(self, value: bytes | None = None) -> None:
        """Read the row; None is that of a folder in which everything is counted."""
        row = (
            _UncountedRow() if value is None else msgspec.msgpack.decode(value, type=_UncountedRow)
        )
        self._adopt(row)

    def _adopt(self, row: _UncountedRow) -> None:
        self._row = row
        self._before, self._after = Patterns(row.before), Patterns(row.after)
        self._is_any = bool(row.before or row.after)

    def has(self, key: bytes, url: str) -> bool:
        """Return True if a URL, by its text and the key of its row, is not counted."""
        if not self._is_any:
            return False
        is_done = not self._row.up_to or key < self._row.up_to
        return bool((self._after if is_done else self._before).match(url))

    def lacks(self, dropped: Sequence[str]) -> bool:
        """Return True if rows are to be counted anew."""
        return bool(self._row.up_to) or set(self._row.after) != set(dropped)

    def next_row(self, dropped: Sequence[str]) -> bytes | None:
        """Return the key from which rows are to be counted anew; None if that has been done."""
        if not self._row.up_to and set(self._row.after) != set(dropped):
            self._adopt(_UncountedRow(self._row.after, tuple(dropped), URL))
        return self._row.up_to or None

    def change(self, url: str) -> int:
        """Return by how much the count of a URL changes: -1, 0 or 1."""
        return bool(self._before.match(url)) - bool(self._after.match(url))

    def moved(self, up_to: bytes) -> Row:
        """Note how far rows are counted anew, b"" for all, and return the row that says so."""
        before = self._row.before if up_to else ()
        self._adopt(_UncountedRow(before, self._row.after, up_to))
        is_plain = not (before or self._row.after)
        return UNCOUNTED, None if is_plain else msgspec.msgpack.encode(self._row)
