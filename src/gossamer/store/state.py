"""State: a shard's rows in RocksDB, ordered by key, written in atomic batches.

After `write` returns, the rows are in the kernel: kill -9 loses nothing. After `sync` they are on
the disk: power loss takes nothing either. One process at a time may open a state for writing.
A log that ends in the middle of a record (a kill, a power loss) is read up to there; one that is
damaged before its end is refused, since its first half is an older state that looks whole.

Opened to be read only, nothing is written into its folder, which may lie on a medium that cannot be
written: rocksdict and RocksDB are given a temporary folder of links to its files. Both write files
of their own into the folder that they open, however they open it.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar

from rocksdict import (
    AccessType,
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    DbClosedError,
    DBCompressionType,
    DBRecoveryMode,
    Options,
    Rdict,
    ReadOptions,
    WriteBatch,
)

from gossamer.durable import linked_files
from gossamer.errors import CannotGoOn, rebuild_state_command
from gossamer.machine import open_files
from gossamer.model import Row
from gossamer.store.cutting import StateCut, link_state
from gossamer.store.ends import StateEnd

MIB = 1024 * 1024
CACHE_BYTES = 128 * MIB
WRITE_BUFFER_BYTES = 64 * MIB
ZSTD_LEVEL_1 = (-14, 1, 0, 0, True)
"""Window bits, level, strategy, dictionary bytes, and that these count."""
MEMORY_FILTER = 0.05
"""Share of a write buffer that is a filter: most rows asked for are not in it, and a search in it
is some forty reads from cold memory."""
OPEN_FILES = 256
FILE_BYTES = 64 * MIB
BLOCK_BYTES = 16 * 1024
"""What is compressed together, and read for one row."""
ATTEMPTS = 5
_READ = re.compile(r"CURRENT|IDENTITY|(MANIFEST|OPTIONS)-\d+|\d+\.(log|sst)")
VERSION_KEY = b"v"
VERSION = b"gossamer-state-2"

_REMEDIES = (
    ("lock hold", "another process has this crawl open; stop it, or wait until it ends"),
    ("while lock file", "another process has this crawl open; stop it, or wait until it ends"),
    ("no space", "the disk is full; free some space and run the command again"),
    ("file too large", "the file size limit is reached; raise it and run the command again"),
    ("read-only", "it cannot be written; check the mount and run the command again"),
    ("permission denied", "it is not ours to write; check its owner and mode"),
    ("corruption", "it is damaged; rebuild it with {rebuild}"),
    ("checksum", "it is damaged; rebuild it with {rebuild}"),
    ("no such file", "it is incomplete; rebuild it with {rebuild}"),
    ("invalid argument", "it was not written by Gossamer; rebuild it with {rebuild}"),
    ("already closed", "it was closed before"),
)


class State:
    """The rows of one shard. Keys begin with one byte that names their table."""

    __slots__ = ("_db", "_links", "_plain", "path")
    was_opened: ClassVar[bool] = False
    """This process has opened one. RocksDB's threads are not there in a fork, which would wait for
    them for ever: such a process must not fork shards."""

    def __init__(
        self,
        path: Path,
        db: Rdict,
        plain: "_PlainErrors",
        links: ExitStack | None = None,
    ) -> None:
        self.path = path
        self._db = db
        self._plain = plain
        self._links = links

    @classmethod
    def open(cls, path: Path, *, is_read_only: bool = False, may_be_empty: bool = False) -> "State":
        """Open a state folder, made if absent; refuse one of another format.

        Read-only, nothing is written, and one without any row is refused unless it may be empty:
        a process that was killed at its first start leaves one.
        """
        State.was_opened = True
        if is_read_only:
            return cls._open_to_read(path, may_be_empty=may_be_empty)
        plain = _PlainErrors(path)
        with plain:
            path.mkdir(parents=True, exist_ok=True)
            db = _database(path, AccessType.read_write())
        state = cls(path, db, plain)
        state._check_version(is_read_only=False, may_be_empty=True)
        return state

    @classmethod
    def _open_to_read(cls, path: Path, *, may_be_empty: bool) -> "State":
        """Open a state as it is at this moment. A running crawl may replace a file meanwhile."""
        if not cls.exists(path):
            raise CannotGoOn(f"{path} has no state; run {rebuild_state_command(path)}")
        for _ in range(ATTEMPTS):
            links = ExitStack()
            with _PlainErrors(path):
                names = _file_names(path)
                opened = links.enter_context(linked_files(path, names))
            plain = _PlainErrors(path, opened)
            try:
                with plain:
                    db = _database(opened, AccessType.read_only(False))  # noqa: FBT003 -- rocksdict's own signature
                break
            except CannotGoOn:
                links.close()
                if _file_names(path) == names:
                    raise
        else:
            raise CannotGoOn(f"the state {path} changes faster than it can be read; try again")
        state = cls(path, db, plain, links)
        state._check_version(is_read_only=True, may_be_empty=may_be_empty)
        return state

    @staticmethod
    def exists(path: Path) -> bool:
        """Return True if a state was ever made there."""
        return (path / "CURRENT").exists()

    @property
    def cache_bytes(self) -> int:
        """Return how much of the files may lie in memory, uncompressed."""
        with self._plain:
            return int(self._db.property_value("rocksdb.block-cache-capacity") or 0)

    def get(self, key: bytes) -> bytes | None:
        """Return a row's value, or None if there is no such row."""
        with self._plain:
            value: bytes | None = self._db.get(key)
        return value

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of many rows at once, None for those that do not exist."""
        if not keys:
            return []
        with self._plain:
            values: list[bytes | None] | None = self._db.get(list(keys))
        return values or []

    def scan(
        self, prefix: bytes, start: bytes = b"", limit: int | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows whose keys begin with a prefix, in order, from key `start` on.

        The rows are those of the moment of the first step; later writes are not seen.
        """
        options = ReadOptions()
        end = after_prefix(prefix)
        if end is not None:
            options.set_iterate_upper_bound(end)
        with self._plain:
            first = max(prefix, start)
            rows: Iterator[Any] = self._db.items(from_key=first, read_opt=options)
            count, row = 0, (first, b"")
            for row in islice(rows, limit):
                yield row
                count += 1
            if count != limit:
                self._expect_end(row[0], options, has_rows=count > 0)

    def _expect_end(self, last: bytes, options: ReadOptions, *, has_rows: bool) -> None:
        """Raise if the rows ended because what follows is damaged: `items` just stops there."""
        rows = self._db.iter(options)
        rows.seek(last)
        if has_rows and rows.valid():
            rows.next()
        rows.status()

    def write(self, rows: Sequence[Row]) -> None:
        """Write rows (None deletes): all of them or none, in the kernel when this returns."""
        if not rows:
            return
        batch = WriteBatch(raw_mode=True)
        put, delete = batch.put, batch.delete
        for key, value in rows:
            if value is None:
                delete(key)
            else:
                put(key, value)
        with self._plain:
            self._db.write(batch)

    def delete_range(self, start: bytes, end: bytes) -> None:
        """Delete every row from key `start` up to, but not with, key `end`."""
        batch = WriteBatch(raw_mode=True)
        batch.delete_range(start, end)
        with self._plain:
            self._db.write(batch)

    def sync(self) -> None:
        """Make every write so far durable against power loss. May be called from a thread."""
        with self._plain:
            self._db.flush_wal(sync=True)

    def end(self) -> StateEnd:
        """Return how far the database is: what was written before this, `sync` makes durable."""
        with self._plain:
            identity = (self.path / "IDENTITY").read_text("ascii").strip()
            return StateEnd(identity, self._db.latest_sequence_number())

    @property
    def sequence(self) -> int:
        """Return the number of the last row, as RocksDB counts them."""
        with self._plain:
            return self._db.latest_sequence_number()

    def touch(self) -> None:
        """Write a row as it is: the next one has another number, and a flush makes a file."""
        self.write([(VERSION_KEY, VERSION)])

    def flush(self) -> None:
        """Bring all rows into files. May be called from a thread, others go on meanwhile."""
        with self._plain:
            self._db.flush(True)  # noqa: FBT003 -- rocksdict's own signature

    def link(self, folder: Path) -> StateCut:
        """Link all files into a new folder, with what was written at least. For a thread."""
        return link_state(self.path, folder)

    def close(self) -> None:
        """Release the folder. Closing twice does no harm."""
        try:
            with self._plain:
                self._db.close()
        except CannotGoOn as error:
            if not isinstance(error.__cause__, DbClosedError):
                raise
        finally:
            if self._links is not None:
                self._links.close()

    def _check_version(self, *, is_read_only: bool, may_be_empty: bool) -> None:
        found = self.get(VERSION_KEY)
        if found == VERSION:
            return
        is_empty = found is None and next(self.scan(b"", limit=1), None) is None
        if is_empty and not is_read_only:
            self.write([(VERSION_KEY, VERSION)])
            self.sync()
            return
        if is_empty and may_be_empty:
            return
        self.close()
        raise CannotGoOn(_other_format(self.path, found))


def _other_format(path: Path, found: bytes | None) -> str:
    """Say that a state cannot be read by this version, and what to do about it."""
    rebuild = rebuild_state_command(path)
    if found is None:
        return f"the state {path} does not say which format it has; rebuild it with {rebuild}"
    theirs, ours = (
        name.rpartition(b"-")[2].decode("ascii", "replace") for name in (found, VERSION)
    )
    return (
        f"the state {path} has format {theirs}, and this version of Gossamer reads format {ours}; "
        f"use the version that wrote it, or rebuild it with {rebuild}"
    )


def after_prefix(prefix: bytes) -> bytes | None:
    """Return the smallest key above every key that begins with a prefix, None if there is none."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes((stem[-1] + 1,)) if stem else None


class _PlainErrors:
    """Turn RocksDB's errors inside a `with` into one line that says what to do.

    rocksdict raises bare `Exception`, so that exact type is what is translated. (A class, since a
    generator-based context manager costs a third of a `get`.)
    """

    __slots__ = ("_opened", "_path")

    def __init__(self, path: Path, opened: Path | None = None) -> None:
        self._path = path
        self._opened = opened or path
        """The folder that RocksDB knows, and names."""

    def __enter__(self) -> None:
        return

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is Exception or kind is DbClosedError or isinstance(error, OSError):
            raise CannotGoOn(
                f"the state {self._path}: "
                f"{_advice(str(error).replace(str(self._opened), str(self._path)), self._path)}"
            ) from error


def _advice(text: str, path: Path) -> str:
    line = " ".join(text.split())
    lower = line.lower()
    for sign, remedy in _REMEDIES:
        if sign in lower:
            return f"{remedy.format(rebuild=rebuild_state_command(path))} ({line})"
    return f"RocksDB gave up; run the command again ({line})"


def _file_names(path: Path) -> set[str]:
    """Return the names of RocksDB's files, but for those that it makes anew whenever it opens."""
    return {file.name for file in path.iterdir() if _READ.fullmatch(file.name)}


def _database(path: Path, access: AccessType) -> Rdict:
    options = _options()
    # Named once more for the rows: without that rocksdict takes those of a state that exists from
    # its files, where no cache is written down.
    return Rdict(str(path), options, {"default": options}, access)


def _options() -> Options:
    """Return options for packed rows: bounded memory, blocks large enough to compress URLs."""
    options = Options(raw_mode=True)
    options.create_if_missing(True)  # noqa: FBT003 -- rocksdict's own signature
    options.set_compression_type(DBCompressionType.lz4())
    options.set_bottommost_compression_type(DBCompressionType.zstd())
    # Level 1: 2 % larger than the default, and most of a compaction's CPU is compression.
    options.set_bottommost_compression_options(*ZSTD_LEVEL_1)
    options.set_write_buffer_size(WRITE_BUFFER_BYTES)
    options.set_max_write_buffer_number(2)
    options.set_memtable_prefix_bloom_ratio(MEMORY_FILTER)
    options.set_memtable_whole_key_filtering(True)
    options.set_max_background_jobs(2)
    options.set_max_open_files(min(OPEN_FILES, open_files() // 4))
    options.set_target_file_size_base(FILE_BYTES)
    options.set_bytes_per_sync(MIB)
    options.set_keep_log_file_num(2)
    options.set_max_log_file_size(MIB)
    options.set_stats_dump_period_sec(0)
    options.set_max_manifest_file_size(MIB)  # each checkpoint has a copy of it
    # RocksDB's default stops at the first damaged record, says nothing, and drops all later ones.
    options.set_wal_recovery_mode(DBRecoveryMode.tolerate_corrupted_tail_records())
    options.set_block_based_table_factory(_table_options())
    return options


def _table_options() -> BlockBasedOptions:
    """Return how files are laid out: what is read of them lies in one cache, and nowhere else.

    Index and filter are cut into small blocks of their own, so that a file of which one row is
    wanted does not push others out of the cache.
    """
    table = BlockBasedOptions()
    table.set_block_cache(Cache(CACHE_BYTES))
    table.set_block_size(BLOCK_BYTES)
    table.set_format_version(5)
    table.set_bloom_filter(10, False)  # noqa: FBT003 -- rocksdict's own signature
    table.set_index_type(BlockBasedIndexType.two_level_index_search())
    table.set_partition_filters(True)
    table.set_cache_index_and_filter_blocks(True)
    table.set_pin_top_level_index_and_filter(True)
    table.set_pin_l0_filter_and_index_blocks_in_cache(True)
    return table
