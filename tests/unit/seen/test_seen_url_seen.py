"""UrlSeen step by step: log, freeze, flush, merge, restart; and real kill -9s in between."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gossamer.config import SeenConfig
from gossamer.errors import Bug, CorruptFile
from gossamer.model import Row
from gossamer.seen import UrlSeen, Work
from gossamer.seen.runs import run_path

SMALL = SeenConfig(run_keys=10, fan_in=2)


def keys_of(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.uint64)


def tens(first: int, count: int = 10) -> np.ndarray:
    return np.arange(first, first + count, dtype=np.uint64)


class Crawl:
    """The ledger's part: a dictionary of committed rows around a UrlSeen."""

    def __init__(self, folder: Path, config: SeenConfig = SMALL) -> None:
        self.folder, self.config = folder, config
        self.rows: dict[bytes, bytes] = {}
        self.seen = UrlSeen.open(folder, config, [])

    def commit(self, rows: list[Row] | None = None) -> None:
        for key, value in self.seen.rows_to_commit() if rows is None else rows:
            if value is None:
                del self.rows[key]
            else:
                self.rows[key] = value

    def add(self, keys: np.ndarray) -> None:
        self.seen.add(keys)
        self.commit()

    def take_work(self) -> Work:
        work = self.seen.due()
        assert work is not None
        return work

    def finish(self, work: Work) -> None:
        work.do()
        self.commit(self.seen.install(work))
        self.seen.discard_replaced()

    def restart(self) -> None:
        self.seen = UrlSeen.open(self.folder, self.config, self.rows.items())

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def prefixes(self) -> bytes:
        return bytes(sorted(key[0] for key in self.rows))


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path / "seen")


def test_a_key_is_unknown_until_it_is_added(crawl: Crawl) -> None:
    keys = keys_of(5, 0, 2**64 - 1, 7)
    assert crawl.seen.unknown(keys).tolist() == [True] * 4
    crawl.seen.add(keys[:3])
    assert crawl.seen.unknown(keys).tolist() == [False, False, False, True]
    assert crawl.seen.known == 3


def test_asking_changes_nothing_and_no_keys_is_no_question(crawl: Crawl) -> None:
    keys = keys_of(1, 2)
    crawl.seen.unknown(keys)
    assert crawl.seen.unknown(keys).all()
    assert crawl.seen.unknown(keys_of()).tolist() == []
    crawl.seen.add(keys_of())
    assert crawl.seen.rows_to_commit() == []


def test_keys_from_strided_and_read_only_arrays_are_accepted(crawl: Crawl) -> None:
    table = np.arange(8, dtype=np.uint64).reshape(4, 2)
    table.flags.writeable = False
    crawl.seen.add(table[:, 0])
    assert crawl.seen.unknown(table[:, 0]).tolist() == [False] * 4
    assert crawl.seen.unknown(table[:, 1]).all()


def test_one_commit_is_one_log_row_with_raw_keys(crawl: Crawl) -> None:
    crawl.seen.add(keys_of(3, 1))
    crawl.seen.add(keys_of(2, 3))
    assert crawl.seen.rows_to_commit() == [(b"s" + bytes(8), keys_of(3, 1, 2).tobytes())]
    assert crawl.seen.rows_to_commit() == []
    crawl.seen.add(keys_of(9))
    assert crawl.seen.rows_to_commit()[0][0] == b"s" + bytes(7) + b"\x01"


def test_what_was_committed_survives_a_restart_and_what_was_not_does_not(crawl: Crawl) -> None:
    crawl.add(keys_of(0, 1))
    crawl.seen.add(keys_of(2))
    crawl.restart()
    assert crawl.seen.unknown(keys_of(0, 1, 2)).tolist() == [False, False, True]
    crawl.add(keys_of(2))
    assert len(crawl.rows) == 2
    crawl.restart()
    assert crawl.seen.known == 3


def test_nothing_is_due_before_the_table_is_full(crawl: Crawl) -> None:
    crawl.add(tens(0, 9))
    assert crawl.seen.due() is None


def test_a_full_table_becomes_a_run_and_its_log_rows_go(crawl: Crawl) -> None:
    crawl.add(tens(0, 5))
    crawl.add(tens(5, 5))
    work = crawl.take_work()
    assert crawl.seen.due() is None
    crawl.add(tens(100, 3))
    assert not crawl.seen.unknown(tens(0)).any()
    crawl.finish(work)
    assert not crawl.seen.unknown(tens(0)).any()
    assert crawl.prefixes() == b"Ss"
    assert crawl.seen.known == 13
    crawl.restart()
    assert crawl.seen.known == 13
    assert not crawl.seen.unknown(np.concatenate([tens(0), tens(100, 3)])).any()
    assert crawl.seen.unknown(tens(10)).all()


def test_a_key_that_no_commit_knows_of_never_gets_into_a_run(crawl: Crawl) -> None:
    crawl.seen.add(tens(0))
    assert crawl.seen.due() is None
    crawl.commit()
    crawl.seen.add(keys_of(77))
    crawl.finish(crawl.take_work())
    crawl.restart()
    assert crawl.seen.unknown(keys_of(77)).all()
    assert not crawl.seen.unknown(tens(0)).any()


def test_runs_of_one_size_are_merged_and_their_files_go(crawl: Crawl) -> None:
    for first in (0, 10):
        crawl.add(tens(first))
        crawl.finish(crawl.take_work())
    work = crawl.take_work()
    assert len(work.replaces) == 2
    crawl.finish(work)
    assert crawl.files() == [run_path(crawl.folder, 3).name]
    assert crawl.prefixes() == b"S"
    assert not crawl.seen.unknown(tens(0, 20)).any()
    assert crawl.seen.due() is None
    crawl.restart()
    assert crawl.seen.known == 20


def test_replaced_files_stay_until_they_are_discarded_and_no_merge_starts_before(
    crawl: Crawl,
) -> None:
    for first in range(0, 40, 10):
        crawl.add(tens(first))
        work = crawl.take_work()
        work.do()
        crawl.commit(crawl.seen.install(work))
        if first == 10:
            merge = crawl.take_work()
            merge.do()
            crawl.commit(crawl.seen.install(merge))
    assert len(crawl.files()) == 5
    assert crawl.seen.due() is None
    crawl.seen.discard_replaced()
    assert len(crawl.files()) == 3
    assert len(crawl.take_work().replaces) == 2


def test_a_key_in_two_runs_is_one_after_their_merge(crawl: Crawl) -> None:
    for first in (0, 5):
        crawl.add(tens(first))
        crawl.finish(crawl.take_work())
    crawl.finish(crawl.take_work())
    assert crawl.seen.known == 15


def test_work_cannot_be_installed_before_it_is_done_nor_twice(crawl: Crawl) -> None:
    crawl.add(tens(0))
    work = crawl.take_work()
    with pytest.raises(Bug):
        crawl.seen.install(work)
    crawl.finish(work)
    with pytest.raises(Bug):
        crawl.seen.install(work)


def test_a_run_that_was_never_installed_is_deleted_at_the_next_start(crawl: Crawl) -> None:
    crawl.add(tens(0))
    crawl.take_work().do()
    (crawl.folder / "run-0000000009.tmp").write_bytes(b"half")
    (crawl.folder / "notes.txt").write_text("not ours to delete")
    crawl.restart()
    assert crawl.files() == ["notes.txt"]
    assert not crawl.seen.unknown(tens(0)).any()
    crawl.finish(crawl.take_work())
    assert crawl.files() == ["notes.txt", "run-0000000010.keys"]


def test_a_named_run_that_is_missing_or_another_is_damage(crawl: Crawl, tmp_path: Path) -> None:
    crawl.add(tens(0))
    crawl.finish(crawl.take_work())
    other = Crawl(tmp_path / "other")
    other.add(tens(50))
    other.finish(other.take_work())
    place = run_path(crawl.folder, 1)
    place.write_bytes(run_path(other.folder, 1).read_bytes())
    with pytest.raises(CorruptFile, match="not the run that was committed"):
        crawl.restart()
    place.unlink()
    with pytest.raises(CorruptFile, match="missing"):
        crawl.restart()


def test_a_torn_log_row_is_damage(crawl: Crawl) -> None:
    crawl.rows[b"s" + bytes(8)] = b"12345"
    with pytest.raises(CorruptFile, match="log row 0"):
        crawl.restart()


def test_a_range_of_the_ring_yields_its_keys_in_order_from_table_and_runs(crawl: Crawl) -> None:
    rings = np.arange(40, dtype=np.uint64) << np.uint64(40)
    for part in np.array_split(np.random.default_rng(1).permutation(rings), 8):
        crawl.add(part + np.uint64(2**40 - 1))
        if work := crawl.seen.due():
            crawl.finish(work)
    crawl.add(keys_of(0, 2**64 - 1))
    found = np.concatenate(list(crawl.seen.range_keys(5, 30)))
    assert found.tolist() == [(ring << 40) + 2**40 - 1 for ring in range(5, 31)]
    whole = np.concatenate(list(crawl.seen.range_keys(0, 2**24 - 1)))
    assert len(whole) == crawl.seen.known == 42
    assert list(crawl.seen.range_keys(1000, 2000)) == []


def test_mapped_pages_are_let_go_and_nothing_is_lost(
    crawl: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.seen.url_seen.MAPPED_LOOKUPS", 3)
    crawl.add(tens(0))
    crawl.finish(crawl.take_work())
    for _ in range(4):
        assert not crawl.seen.unknown(tens(0)).any()


KILLED_AT = """
import os, signal, sys
from pathlib import Path
import numpy as np
from gossamer.config import SeenConfig
from gossamer.seen import UrlSeen

folder, call, nth = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
rows = [tuple(bytes.fromhex(half) for half in line.split()) for line in sys.stdin]
seen = UrlSeen.open(folder, SeenConfig(run_keys=10, fan_in=2), rows)
real, calls = getattr(os, call), []
def deadly(*args, **named):
    calls.append(args)
    if len(calls) == nth:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **named)
setattr(os, call, deadly)
seen.due().do()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
@pytest.mark.parametrize("is_merge", [False, True])
@pytest.mark.parametrize(
    ("call", "nth"), [("fsync", 1), ("replace", 1), ("fsync", 2), ("fsync", 9)]
)
def test_a_kill_9_while_a_run_is_written_loses_nothing(
    crawl: Crawl, call: str, nth: int, *, is_merge: bool
) -> None:
    crawl.add(tens(0))
    if is_merge:
        crawl.finish(crawl.take_work())
        crawl.add(tens(10))
        crawl.finish(crawl.take_work())
    named = crawl.files()
    rows = "\n".join(f"{key.hex()} {value.hex()}" for key, value in crawl.rows.items())
    child = [sys.executable, "-c", KILLED_AT, str(crawl.folder), call, str(nth)]
    died = subprocess.run(child, input=rows, text=True, check=False)
    assert died.returncode == -signal.SIGKILL
    assert crawl.files() != named
    crawl.restart()
    assert crawl.files() == named
    assert crawl.seen.known == (20 if is_merge else 10)
    crawl.finish(crawl.take_work())
    crawl.restart()
    assert not crawl.seen.unknown(tens(0, 20 if is_merge else 10)).any()
    assert len(crawl.files()) == 1
