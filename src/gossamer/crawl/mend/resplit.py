"""Share a stopped crawl out among another number of shards: rows move with their ring points.

The intent is written first, and each phase can be begun again after a kill:

    copying     every old shard is opened once (which repairs it) and closed; states hold only what
                they owned before; then each row is copied to the state that will own it
    dropping    every row is in its new place: states drop what they no longer own, and add up the
                totals that were left to them
    settled     the charter names the new number, and states without a shard are removed

So at every moment each row lies in the state of its old owner, of its new one, or of both.
"""

import asyncio
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from random import Random, SystemRandom
from types import MappingProxyType

from gossamer.clock import SystemClock
from gossamer.cluster import (
    MOVED_ROWS,
    OUTBOX,
    POINTS,
    Charter,
    ContentNews,
    Ring,
    RingSlice,
    read_charter,
    renew_charter,
    start_child,
    taken_points,
    write_charter,
)
from gossamer.config import Config, UrlConfig
from gossamer.crawl.assembly import Extras, assemble
from gossamer.crawl.contents import NEWS, news_row, news_rows
from gossamer.crawl.dropping import settle_totals
from gossamer.crawl.opening import (
    META,
    UNCOUNTED,
    ShardFolder,
    expect_state_of_archive,
    fold_counters,
    open_state,
    read_meta,
)
from gossamer.dedupe import CONTENT, LABEL_ROW, ContentSeen, content_rows
from gossamer.errors import CannotGoOn
from gossamer.log import tell
from gossamer.model import Row
from gossamer.report import CLAIM, COUNTERS, LATE_LABELS, SUSPECT, URL
from gossamer.seen import UrlSeen
from gossamer.store import ROW_PREFIX, ArchiveName, CrawlFolder, State
from gossamer.urls import parse, ring_of

BATCH_ROWS = 4096
BY_RING = (URL, SUSPECT, CLAIM, LABEL_ROW, LATE_LABELS, CONTENT, b"h", b"q", b"l", b"f", b"t")
"""Tables whose keys begin with the ring point of the host, or with the bits of a fingerprint."""
DELAYED, ROBOTS = b"d", b"r"
DELAYED_RING = 9

EVERY_HOME: Mapping[int, int] = MappingProxyType({})
"""No domain has moved."""

Owner = Callable[[bytes], int]
"""Returns which shard a row belongs to under some split."""


@dataclass(frozen=True, slots=True)
class Split:
    """From so many shards to so many."""

    folder: CrawlFolder
    config: Config
    old: Ring
    new: Ring


def ensure_shards(folder: CrawlFolder, config: Config, wanted: int, lock: int) -> Ring:
    """Let the state be split into as many shards as are wanted, finishing what was begun before.

    Return which of them owns what.
    States that are older than the archive are refused before anything is changed. The work is done
    in a process of its own: a database that was open here would keep later forks
    from opening one. It holds the folder's lock too, so that nobody follows before it is gone.
    """
    if folder.purge_path.exists():
        _do_aside(lambda: _finish_purge(folder), "finishing a purge", lock)
    charter = read_charter(folder.charter_path)
    _expect_whole(folder, charter, wanted, lock)
    if charter.phase == "settled":
        _remove_from(folder, charter.shards)
        if charter.shards == wanted:
            renew_charter(folder.charter_path, charter)
            return charter.ring
        if not any(State.exists(folder.state(shard)) for shard in range(charter.shards)):
            write_charter(folder.charter_path, Charter(shards=wanted))  # nothing is there to move
            return read_charter(folder.charter_path).ring
    tell("state.splitting", shards=charter.shards, into=wanted)
    _do_aside(
        lambda: asyncio.run(split_state(folder, config, wanted)),
        f"splitting the state into {wanted} shards",
        lock,
    )
    return read_charter(folder.charter_path).ring


def _finish_purge(folder: CrawlFolder) -> None:
    from gossamer.crawl.mend.purging import finish_purge  # noqa: PLC0415 - only after a kill

    finish_purge(folder)


def _expect_whole(folder: CrawlFolder, charter: Charter, wanted: int, lock: int) -> None:
    """Refuse states that are older than the archive, before anything is moved or removed.

    While rows are copied the old shards have them all, and while they are dropped the new ones.
    """
    if not folder.has_archive() and not folder.ends_shards():
        return
    shards = charter.moving_to if charter.phase == "dropping" else charter.shards
    is_alone = charter.phase == "settled" and charter.shards == wanted == 1
    if is_alone or State.was_opened:
        expect_state_of_archive(folder, shards)
    else:
        _do_aside(
            lambda: expect_state_of_archive(folder, shards), "comparing state and archive", lock
        )


def _do_aside(work: Callable[[], None], doing: str, lock: int) -> None:
    """Do work in a forked process and wait for it; what it cannot go on from is raised here.

    Where a database was open before a fork would wait for its threads for ever, and it is too late
    to spare others that: the work is done here, in a thread, since there may be a loop.
    """
    if State.was_opened:
        with ThreadPoolExecutor(1) as aside:
            aside.submit(work).result()
        return
    child = start_child(0, lambda _, end: _do_and_say(work, end), (lock,))
    with child.end.makefile("rb") as said:
        error = said.read().decode()
    child.end.close()
    code = child.reap()
    if error or code:
        raise CannotGoOn(error or f"{doing} failed (exit code {code}); run it again")


def _remove_from(folder: CrawlFolder, first: int) -> None:
    """Remove the states of shards that are no more."""
    shard = first
    while folder.state(shard).exists():
        shutil.rmtree(folder.state(shard), ignore_errors=True)
        shard += 1


def _do_and_say(work: Callable[[], None], end: socket.socket) -> int:
    """Do the work in the forked process; what goes wrong is said over the line."""
    try:
        work()
    except CannotGoOn as error:
        end.sendall(str(error).encode())
    return 0


async def split_state(folder: CrawlFolder, config: Config, wanted: int) -> None:
    """Finish a re-split that was begun, and make the one that is wanted."""
    charter = read_charter(folder.charter_path)
    if charter.phase != "settled":
        await _move(folder, config, charter)
        charter = read_charter(folder.charter_path)
    if charter.shards != wanted:
        begun = charter.moving(charter.ring.resplit(wanted), "copying")
        write_charter(folder.charter_path, begun)
        await _move(folder, config, begun)


async def _move(folder: CrawlFolder, config: Config, charter: Charter) -> None:
    split = Split(folder, config, charter.ring, charter.next_ring)
    if charter.phase == "copying":
        await _repair_old(split)
        _copy(split)
        write_charter(folder.charter_path, charter.moving(split.new, "dropping"))
    for shard in range(charter.moving_to):
        with _opened(split, shard) as state:
            _drop_foreign(state, shard, split.new)
            state.delete_range(MOVED_ROWS, _after(MOVED_ROWS))  # every domain is at its home now
            state.delete_range(NEWS, bytes((NEWS[0] + 1,)))  # taken in by those whom they concern
            shrink_seen(state, split.new.spans(shard), split.config)
            fold_counters(state)
            state.sync()
    write_charter(folder.charter_path, Charter.of(split.new))
    _remove_from(folder, charter.moving_to)


async def _repair_old(split: Split) -> None:
    """Bring every old shard into order, and every new state back to nothing."""
    for shard in range(split.old.shards, split.new.shards):
        shutil.rmtree(split.folder.state(shard), ignore_errors=True)
    for shard in range(split.old.shards):
        place = ShardFolder(folder=split.folder, shard=shard, ring=split.old)
        with closing(open_state(place)) as state:  # one that is lost must not be made anew
            _keep_foreign_contents(state, shard, split.old)
            kept = taken_points(state.scan(MOVED_ROWS), shard)
            _drop_foreign(state, shard, split.old, kept)
            _drop_bequests(state)
        random = Random(SystemRandom().getrandbits(64))  # noqa: S311  # ids of records: requests that were cut off are told
        opened = assemble(place, split.config, SystemClock(), random, Extras())
        await settle_totals(opened, split.config.filter.drop)  # so that all shards count alike
        await opened.close()


def _copy(split: Split) -> None:
    """Copy every row, and every known URL's key, to the state that will own it."""
    with ExitStack() as stack:
        both = max(split.old.shards, split.new.shards)
        states = [stack.enter_context(_opened(split, shard)) for shard in range(both)]
        for shard in range(split.old.shards, split.new.shards):
            states[shard].write([(name, states[0].get(name)) for name in (META, UNCOUNTED)])
        for shard in range(split.old.shards):
            _copy_rows(split, states, shard)
            if shard >= split.new.shards:
                _bequeath(states[shard], states[0], shard)
        for shard in range(split.old.shards):
            _deliver_contents(split, states, shard)
        _copy_seen(split, states)
        for state in states:
            state.sync()


def _copy_rows(split: Split, states: list[State], shard: int) -> None:
    owner = _owner(split.new)
    batches: dict[int, list[Row]] = {}
    for table in (*BY_RING, DELAYED, ROBOTS, ROW_PREFIX):
        for key, value in states[shard].scan(table):
            to = owner(key)
            if to == shard:
                continue
            batch = batches.setdefault(to, [])
            batch.append((key, value))
            if len(batch) >= BATCH_ROWS:
                states[to].write(batch)
                batch.clear()
    for to, batch in batches.items():
        states[to].write(batch)


def _keep_foreign_contents(state: State, shard: int, ring: Ring) -> None:
    """Keep what an older version left with the shard of the first page as news for the owner."""
    rows: list[Row] = []
    for fingerprint, original in content_rows(state.scan(CONTENT)):
        if ring.owner_of(fingerprint) != shard:
            rows.append(news_row(fingerprint, ContentNews(original.url, original)))
        if len(rows) >= BATCH_ROWS:
            state.write(rows)
            rows.clear()
    state.write(rows)


def _deliver_contents(split: Split, states: list[State], shard: int) -> None:
    """Let the owners have the news of contents: every shard was closed, so all of it is durable."""
    for fingerprint, news in news_rows(states[shard].scan(NEWS)):
        state = states[split.new.owner_of(fingerprint)]
        seen = ContentSeen(state.get)
        first = seen.first_copy(fingerprint)
        if news.original is None:
            seen.forget(fingerprint, news.url)
        elif first is None or first.url == news.url:
            seen.remember(fingerprint, news.original)
        state.write(seen.rows_to_commit())


def _bequeath(state: State, heir: State, shard: int) -> None:
    """Leave the totals and the letters of a shard that will be no more to the first one."""
    name = shard.to_bytes(2, "big") + read_meta(state).epoch.to_bytes(4, "big")
    rows: list[Row] = [(COUNTERS + name, value) for _, value in state.scan(COUNTERS)]
    rows += list(state.scan(OUTBOX))
    heir.write(rows)


def _drop_bequests(state: State) -> None:
    """Forget totals that an interrupted copy left here: they are left again, or count twice."""
    state.write([(key, None) for key, _ in state.scan(COUNTERS) if key != COUNTERS])


def _copy_seen(split: Split, states: list[State]) -> None:
    for shard in range(split.old.shards):
        source = _open_seen(states[shard], split.config)
        for to in range(split.new.shards):
            if to != shard:
                target = _open_seen(states[to], split.config)
                for span in split.new.spans(to):
                    for keys in source.range_keys(*span):
                        target.add(keys[target.unknown(keys)])
                        _commit_seen(states[to], target)
                target.close()
        source.close()


def _commit_seen(state: State, seen: UrlSeen) -> None:
    state.write(seen.rows_to_commit())
    while (work := seen.due()) is not None:
        work.do()
        state.write(seen.install(work))
        state.sync()
        seen.discard_replaced()


def _open_seen(state: State, config: Config) -> UrlSeen:
    rows = [*state.scan(b"s"), *state.scan(b"S")]
    return UrlSeen.open(state.path / "seen", config.seen, rows)


def shrink_seen(state: State, spans: RingSlice, config: Config) -> None:
    """Drop the keys of all ranges but some, which are a shard's."""
    seen = _open_seen(state, config)
    state.write(seen.restrict(spans))
    seen.close()


def _drop_foreign(state: State, shard: int, ring: Ring, kept: Sequence[int] = ()) -> None:
    """Delete every row that a shard does not own under a split.

    `kept` are points that it has from other homes.
    """
    _drop_foreign_ranges(state, shard, ring, kept)
    _drop_foreign_rows(state, shard, ring, (DELAYED, ROBOTS, ROW_PREFIX), kept)


def drop_foreign_urls(state: State, shard: int, ring: Ring, kept: Sequence[int]) -> None:
    """Delete what a state knows of URLs and hosts that its shard does not own."""
    _drop_foreign_ranges(state, shard, ring, kept)
    _drop_foreign_rows(state, shard, ring, (DELAYED, ROBOTS), kept)


def with_points(spans: RingSlice, points: Sequence[int]) -> RingSlice:
    """Return ranges of the ring with points that may lie outside of them, in order."""
    is_inside = {point for point in points if any(first <= point <= last for first, last in spans)}
    return tuple(sorted([*spans, *((point, point) for point in points if point not in is_inside)]))


def _drop_foreign_ranges(state: State, shard: int, ring: Ring, kept: Sequence[int]) -> None:
    for first, last in _gaps(with_points(ring.spans(shard), kept)):
        for table in (*BY_RING, MOVED_ROWS):
            end = table + (last + 1).to_bytes(3, "big") if last + 1 < POINTS else _after(table)
            state.delete_range(table + first.to_bytes(3, "big") if first else table, end)


def _drop_foreign_rows(
    state: State, shard: int, ring: Ring, tables: tuple[bytes, ...], kept: Sequence[int]
) -> None:
    owner = _owner(ring, dict.fromkeys(kept, shard))
    for table in tables:
        gone: list[Row] = []
        for key, _ in state.scan(table):
            if owner(key) != shard:
                gone.append((key, None))
        for start in range(0, len(gone), BATCH_ROWS):
            state.write(gone[start : start + BATCH_ROWS])


def _gaps(spans: RingSlice) -> Iterator[tuple[int, int]]:
    """Give the first and the last point of what lies between some ranges of the ring."""
    at = 0
    for first, last in (*spans, (POINTS, POINTS)):
        if at < first:
            yield at, first - 1
        at = last + 1


def _after(table: bytes) -> bytes:
    return bytes((table[0] + 1,))


def _owner(ring: Ring, moved: Mapping[int, int] = EVERY_HOME) -> Owner:
    """Return the function that tells whose a row is under a split; `moved` says it of points."""

    def owner_at(point: int) -> int:
        return moved[point] if point in moved else ring.owner(point)

    def owner(key: bytes) -> int:
        table = key[:1]
        if table == ROW_PREFIX:  # an archive file stays with the shard that it is named after
            name = ArchiveName.parse(key[1:].decode("ascii"))
            return name.shard if name is not None and name.shard < ring.shards else 0
        if table == DELAYED:
            return owner_at(int.from_bytes(key[DELAYED_RING : DELAYED_RING + 3], "big"))
        if table == ROBOTS:
            url = parse(key[1:].decode() + "/", UrlConfig())
            return owner_at(ring_of(url.host)) if url is not None else 0
        return owner_at(int.from_bytes(key[1:4], "big"))

    return owner


@contextmanager
def _opened(split: Split, shard: int) -> Iterator[State]:
    state = State.open(split.folder.state(shard))
    try:
        yield state
    finally:
        state.close()
