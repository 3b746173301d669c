"""State: atomic batches that survive kill -9, and errors that say what to do."""

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.errors import CannotGoOn
from gossamer.store import State, after_prefix
from gossamer.store.state import CACHE_BYTES, VERSION_KEY

LOG_BLOCK_BYTES = 32 * 1024


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    state = State.open(tmp_path / "state" / "00")
    yield state
    state.close()


def test_a_row_that_was_written_is_read(state: State) -> None:
    state.write([(b"a", b"1"), (b"b", b"")])
    assert state.get(b"a") == b"1"
    assert state.get(b"b") == b""
    assert state.get(b"c") is None


def test_many_rows_come_in_the_order_asked_for(state: State) -> None:
    state.write([(b"a", b"1"), (b"b", b"2")])
    assert state.get_many([b"b", b"x", b"a"]) == [b"2", None, b"1"]
    assert state.get_many([]) == []


def test_a_row_without_a_value_is_deleted(state: State) -> None:
    state.write([(b"a", b"1")])
    state.write([(b"a", None), (b"never", None)])
    assert state.get(b"a") is None


def test_later_rows_of_one_batch_win(state: State) -> None:
    state.write([(b"a", b"1"), (b"a", None), (b"a", b"2")])
    assert state.get(b"a") == b"2"


def test_a_scan_stays_inside_its_prefix_and_in_order(state: State) -> None:
    state.write([(key, b"") for key in (b"p2", b"p\xff", b"p1", b"o", b"q", b"p")])
    assert [key for key, _ in state.scan(b"p")] == [b"p", b"p1", b"p2", b"p\xff"]
    assert [key for key, _ in state.scan(b"p", b"p2")] == [b"p2", b"p\xff"]
    assert [key for key, _ in state.scan(b"p", limit=2)] == [b"p", b"p1"]
    assert list(state.scan(b"p", b"z")) == []


def test_a_scan_of_a_prefix_of_ff_bytes_reaches_the_end(state: State) -> None:
    state.write([(b"\xff", b""), (b"\xff\xff", b"")])
    assert [key for key, _ in state.scan(b"\xff")] == [b"\xff", b"\xff\xff"]
    assert after_prefix(b"a\xff") == b"b"
    assert after_prefix(b"\xff") is None


def test_a_deleted_range_leaves_its_end(state: State) -> None:
    state.write([(b"a", b""), (b"b", b""), (b"c", b"")])
    state.delete_range(b"a", b"c")
    assert [key for key, _ in state.scan(b"c")] == [b"c"]
    assert state.get(b"a") is None


def test_a_second_owner_is_refused_with_a_clear_line(state: State) -> None:
    with pytest.raises(CannotGoOn, match="another process has this crawl open"):
        State.open(state.path)


def test_an_owner_in_another_process_is_named_too(state: State) -> None:
    code = (
        "import sys; from pathlib import Path; from gossamer.store import State\n"
        "State.open(Path(sys.argv[1]))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(state.path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "another process has this crawl open" in ended.stderr


def test_a_reader_sees_a_closed_state_and_cannot_write(tmp_path: Path) -> None:
    state = State.open(tmp_path / "s")
    state.write([(b"a", b"1")])
    state.close()
    reader = State.open(tmp_path / "s", is_read_only=True)
    assert reader.get(b"a") == b"1"
    with pytest.raises(CannotGoOn):
        reader.write([(b"a", b"2")])
    reader.close()


def test_reading_a_folder_without_state_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "my crawl" / "state" / "00"
    with pytest.raises(CannotGoOn, match=r"`gossamer build '.*/my crawl' state`"):
        State.open(path, is_read_only=True)
    with pytest.raises(CannotGoOn, match="build DIR state"):  # not below a crawl's folder
        State.open(tmp_path / "none", is_read_only=True)
    assert not State.exists(tmp_path / "none")


def test_a_state_of_another_format_is_refused(tmp_path: Path) -> None:
    state = State.open(tmp_path / "s")
    state.write([(VERSION_KEY, b"gossamer-state-99")])
    state.close()
    with pytest.raises(
        CannotGoOn, match="has format 99, and this version of Gossamer reads format 2"
    ):
        State.open(tmp_path / "s")


def test_a_database_without_a_format_is_refused_in_plain_words(tmp_path: Path) -> None:
    state = State.open(tmp_path / "s")
    state.write([(VERSION_KEY, None), (b"a", b"1")])
    state.close()
    with pytest.raises(CannotGoOn, match="does not say which format it has; rebuild"):
        State.open(tmp_path / "s")


def test_a_state_of_the_format_before_is_refused_with_the_way_out(tmp_path: Path) -> None:
    state = State.open(tmp_path / "s")
    state.write([(VERSION_KEY, b"gossamer-state-1")])
    state.close()
    with pytest.raises(CannotGoOn, match=r"has format 1, .*gossamer build DIR state"):
        State.open(tmp_path / "s")


def test_a_state_that_is_opened_again_still_has_its_cache(tmp_path: Path) -> None:
    for _ in range(2):
        state = State.open(tmp_path / "s")
        assert state.cache_bytes == CACHE_BYTES
        state.close()


def test_a_damaged_state_is_named_and_the_remedy_told(tmp_path: Path) -> None:
    state = State.open(tmp_path / "s")
    state.write([(b"a", b"1")])
    state.close()
    (tmp_path / "s" / "CURRENT").write_text("garbage")
    with pytest.raises(CannotGoOn, match="build DIR state"):
        State.open(tmp_path / "s")


def test_a_closed_state_says_so(tmp_path: Path) -> None:
    state = State.open(tmp_path / "s")
    state.close()
    state.close()
    with pytest.raises(CannotGoOn, match="closed before"):
        state.get(b"a")


def test_a_full_disk_is_told_in_one_line(tmp_path: Path) -> None:
    code = (
        "import resource, sys; from pathlib import Path; from gossamer.store import State\n"
        "from gossamer.errors import CannotGoOn\n"
        "state = State.open(Path(sys.argv[1]))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))\n"
        "import os\n"
        "try:\n"
        "    for n in range(100): state.write([(b'k%d' % n, os.urandom(10_000))])\n"
        "except CannotGoOn as error:\n"
        "    print(error, flush=True); os._exit(0)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "s")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "file size limit" in ended.stdout
    assert ended.stdout.count("\n") == 1
    state = State.open(tmp_path / "s")
    assert state.get(b"k0") is not None
    state.close()


WRITES_UNTIL_KILLED = """
import sys
from pathlib import Path
from gossamer.store import State
state = State.open(Path(sys.argv[1]))
last = state.get(b"n")
n = int(last) if last else 0
while True:
    n += 1
    state.write([(b"n", b"%d" % n)] + [(b"row%d-%d" % (n, part), b"x" * 500) for part in range(20)])
    sys.stdout.write(f"{n}\\n")
    sys.stdout.flush()
"""


@pytest.mark.slow
@pytest.mark.parametrize("after_write", ["", "    state.sync()\n"])
def test_kill_9_loses_no_batch_that_was_written_and_tears_none(
    tmp_path: Path, after_write: str
) -> None:
    code = WRITES_UNTIL_KILLED.replace("    sys.stdout.write", f"{after_write}    sys.stdout.write")
    for kill in range(1, 4):
        child = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "s")], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        told = 0
        for line in child.stdout:
            told = int(line)
            if told % 100 == 30 * kill:
                break
        os.kill(child.pid, signal.SIGKILL)
        told = int(([str(told), *child.stdout.read().split("\n")[:-1]])[-1])
        child.stdout.close()
        assert child.wait() == -signal.SIGKILL
        state = State.open(tmp_path / "s")
        last = int(state.get(b"n") or b"0")
        assert last in (told, told + 1)
        rows = [b"row%d-%d" % (n, part) for n in range(1, last + 1) for part in range(20)]
        assert None not in state.get_many(rows)
        assert state.get(b"row%d-0" % (last + 1)) is None
        state.close()


WRITES_AND_DIES = """
import os, sys
from pathlib import Path
from gossamer.store import State
state = State.open(Path(sys.argv[1]))
for n in range(400):
    state.write([(b"row%03d-%d" % (n, part), bytes((n % 251,)) * 90) for part in range(3)])
os._exit(0)
"""


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state of 1,200 rows, all of them in its log, whose process died."""
    path = tmp_path_factory.mktemp("logged") / "s"
    subprocess.run([sys.executable, "-c", WRITES_AND_DIES, str(path)], check=True)
    return path


def with_log(logged: Path, path: Path, content: bytes) -> Path:
    """Return a copy of the state whose log is another one."""
    shutil.copytree(logged, path)
    log_of(path).write_bytes(content)
    return path


def log_of(path: Path) -> Path:
    return max(path.glob("*.log"), key=lambda path: path.stat().st_size)


def test_a_log_with_a_flipped_bit_is_refused_wherever_the_bit_lies(
    logged: Path, tmp_path: Path
) -> None:
    whole = log_of(logged).read_bytes()
    dice = random.Random(5)
    for n in range(40):
        damaged = bytearray(whole)
        # In the last block a larger length looks like a record that was not written to its end.
        at = dice.randrange(len(whole) // LOG_BLOCK_BYTES * LOG_BLOCK_BYTES)
        damaged[at] ^= 1 << dice.randrange(8)
        path = with_log(logged, tmp_path / str(n), damaged)
        for is_read_only in (True, False):
            with pytest.raises(CannotGoOn, match=r"is damaged; .*build DIR state"):
                State.open(path, is_read_only=is_read_only)
        assert log_of(path).read_bytes() == bytes(damaged)


def test_a_log_that_was_not_written_to_its_end_is_read_up_to_there(
    logged: Path, tmp_path: Path
) -> None:
    whole = log_of(logged).read_bytes()
    dice = random.Random(6)
    lengths = [*range(len(whole) - 12, len(whole)), *dice.sample(range(len(whole)), 20)]
    for n, length in enumerate(sorted(lengths)):
        state = State.open(with_log(logged, tmp_path / str(n), whole[:length]))
        rows = [key for key, _ in state.scan(b"row")]
        state.close()
        assert len(rows) % 3 == 0  # a batch is there or is not
        assert rows == [b"row%03d-%d" % divmod(m, 3) for m in range(len(rows))]
    assert len(rows) == 1197


def test_a_state_that_is_opened_to_be_read_is_not_written_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was not closed, too: its log is replayed in memory. No link to its files is left."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    written = State.open(tmp_path / "00")
    written.write([(b"k", b"1")])
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "00").iterdir()}
    state = State.open(tmp_path / "00", is_read_only=True)
    assert state.get(b"k") == b"1"
    assert list(temporary.iterdir())
    state.close()
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "00").iterdir()} == before
    assert list(temporary.iterdir()) == []
    written.close()


def test_what_is_wrong_with_a_state_is_told_of_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    State.open(tmp_path / "00").close()
    for manifest in (tmp_path / "00").glob("MANIFEST-*"):
        manifest.unlink()
    with pytest.raises(CannotGoOn) as caught:
        State.open(tmp_path / "00", is_read_only=True)
    assert str(tmp_path / "00") in str(caught.value)
    assert str(temporary) not in str(caught.value)
    assert list(temporary.iterdir()) == []


def test_rows_that_end_because_of_damage_are_not_taken_for_all_of_them(tmp_path: Path) -> None:
    """RocksDB's iterator just stops at a block whose checksum does not fit."""
    state = State.open(tmp_path / "00")
    state.write([(b"a%05d" % n, random.Random(n).randbytes(40)) for n in range(4000)])
    state.close()
    State.open(tmp_path / "00").close()  # the log becomes a file
    (path,) = (tmp_path / "00").glob("*.sst")
    whole = path.read_bytes()
    for at in range(100, len(whole) - 100, len(whole) // 12):
        damaged = bytearray(whole)
        damaged[at] ^= 1
        path.write_bytes(damaged)
        with (
            pytest.raises(CannotGoOn, match="damaged"),
            closing(State.open(tmp_path / "00", is_read_only=True)) as state,
        ):
            list(state.scan(b"a"))
    path.write_bytes(whole)
    state = State.open(tmp_path / "00", is_read_only=True)
    assert len(list(state.scan(b"a"))) == 4000
    assert len(list(state.scan(b"a", limit=7))) == 7
    assert list(state.scan(b"b")) == []
    state.close()
