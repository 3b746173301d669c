"""A cut is the state at one moment, whatever RocksDB does meanwhile."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from rocksdict import AccessType, Options, Rdict

from gossamer.store import CutFiles, LiveFiles, State, StateCut, packed, unpacked

KEYS, WRITES, CUTS = 400, 800, 40


def restored(cut: StateCut, counted: CutFiles, to: Path) -> dict[bytes, bytes]:
    """Return the rows of what would be shipped of a cut, as another machine would make them."""
    to.mkdir()
    for name in counted.files:
        shutil.copy(cut.folder / name, to / name)
    for name, length in counted.logs.items():
        with (cut.folder / name).open("rb") as log:
            (to / name).write_bytes(unpacked(packed(log.read(length))))
    state = State.open(to)
    rows = dict(state.scan(b"k"))
    state.close()
    return rows


def part_of(cut: StateCut, to: Path, log_bytes: int | None = None) -> StateCut:
    """Return a copy of a cut whose log ends early, or is not there."""
    shutil.copytree(cut.folder, to)
    for log in to.glob("*.log"):
        if log_bytes is None:
            log.unlink()
        else:
            log.write_bytes(log.read_bytes()[:log_bytes])
    return cut._replace(folder=to)


@contextmanager
def churning(state: State) -> Iterator[None]:
    """Let RocksDB bring rows into files, and merge these, again and again."""
    over = threading.Event()

    def churn() -> None:
        while not over.wait(0.002):
            state.flush()

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_cut_has_what_was_written_before_it_and_nothing_else(tmp_path: Path) -> None:
    random, expected = Random(7), dict[bytes, bytes]()
    state = State.open(tmp_path / "state")
    live, cuts = LiveFiles(), 0
    with churning(state):
        for n in range(WRITES):
            _write(state, random, expected)
            if n % (WRITES // CUTS):
                continue
            wanted, sequence = dict(expected), state.sequence
            for _ in range(random.randrange(3)):
                _write(state, random, expected)  # as a crawl does while a thread links
            cut = state.link(tmp_path / f"cut-{n}")
            for _ in range(random.randrange(3)):
                _write(state, random, expected)
            counted = live.settled(cut, sequence)
            if counted is not None:  # else a file was made that has later rows, too
                assert restored(cut, counted, tmp_path / "restored") == wanted
                shutil.rmtree(tmp_path / "restored")
                cuts += 1
            shutil.rmtree(cut.folder)
    state.close()
    assert cuts > CUTS // 4


def _write(state: State, random: Random, expected: dict[bytes, bytes]) -> None:
    rows = [_row(random) for _ in range(random.randrange(1, 8))]
    state.write(rows)
    for key, value in rows:
        expected.pop(key, None)
        expected |= {} if value is None else {key: value}


def _row(random: Random) -> tuple[bytes, bytes | None]:
    key = b"k%d" % random.randrange(KEYS)
    return key, None if random.random() < 0.2 else random.randbytes(random.randrange(300))


def test_files_that_rocksdb_knows_and_those_that_we_read_are_the_same(tmp_path: Path) -> None:
    state = State.open(tmp_path / "state")
    for n in range(40):  # a MANIFEST of several blocks would take minutes: long keys fill it
        state.write([(b"k%d" % n * 400, b"x"), (b"k", b"%d" % n)])
        state.flush()
    cut, sequence = state.link(tmp_path / "cut"), state.sequence
    state.close()
    counted = LiveFiles().settled(cut, sequence)
    assert counted is not None
    copy = shutil.copytree(cut.folder, tmp_path / "copy")
    with_rows = Rdict(str(copy), Options(raw_mode=True), access_type=AccessType.read_only())
    known = {one["name"].lstrip("/") for one in with_rows.live_files()}
    with_rows.close()
    assert {name for name in counted.files if name.endswith(".sst")} == known
    assert cut.manifest_bytes > 32 * 1024
    assert (cut.folder / cut.manifest).stat().st_size == cut.manifest_bytes


def test_half_an_edit_at_the_end_of_a_manifest_does_not_count(tmp_path: Path) -> None:
    state = State.open(tmp_path / "state")
    state.write([(b"k1", b"1")])
    state.flush()
    cut, sequence = state.link(tmp_path / "cut"), state.sequence
    state.close()
    known, ends = set[tuple[str, ...]](), set[int]()
    for size in range(cut.manifest_bytes):
        part = shutil.copytree(cut.folder, tmp_path / f"cut-{size}")
        counted = LiveFiles().settled(cut._replace(folder=part, manifest_bytes=size), sequence)
        files = counted.files if counted is not None else []  # the log of these rows has gone
        known.add(tuple(name for name in files if name.endswith(".sst")))
        ends.add((part / cut.manifest).stat().st_size)
    assert known == {(), ("000009.sst",)}
    assert max(ends) < cut.manifest_bytes
    assert len(ends) < cut.manifest_bytes // 10


def test_a_cut_that_does_not_reach_its_row_is_none(tmp_path: Path) -> None:
    state = State.open(tmp_path / "state")
    state.write([(b"k1", b"1")])
    state.flush()
    for n in range(5):  # a batch begins at the end of a block, and goes on in the next ones
        state.write([(b"k2", b"%d" % n * 30_000), (b"k3", b"3")])
    cut, sequence = state.link(tmp_path / "cut"), state.sequence
    state.close()
    (log,) = cut.folder.glob("*.log")
    size = log.stat().st_size
    for bytes_left in (0, 3, 40, 32_768, 32_770, size // 2, size - 1):
        part = part_of(cut, tmp_path / f"{bytes_left}", bytes_left)
        assert LiveFiles().settled(part, sequence) is None
    assert LiveFiles().settled(part_of(cut, tmp_path / "gone"), sequence) is None
    for claimed in (sequence + 1, sequence - 1, sequence - 9):  # the middle of a batch is no end
        part = part_of(cut, tmp_path / f"claims-{claimed}", size)
        assert LiveFiles().settled(part, claimed) is None
    counted = LiveFiles().settled(part_of(cut, tmp_path / "whole", size), sequence)
    assert counted is not None
    assert counted.logs == {log.name: size}


def test_a_state_to_which_nobody_writes_is_cut_whatever_was_done_with_it(tmp_path: Path) -> None:
    random, expected = Random(11), dict[bytes, bytes]()
    state, live = State.open(tmp_path / "state"), LiveFiles()
    for n in range(60):
        match random.randrange(5):
            case 0:
                state.flush()
            case 1:  # what is merged into the lowest level loses the numbers of its rows
                for _ in range(5):
                    _write(state, random, expected)
                    state.flush()
            case 2:
                state.close()
                state, live = State.open(tmp_path / "state"), random.choice([live, LiveFiles()])
            case _:
                _write(state, random, expected)
        cut = state.link(tmp_path / f"cut-{n}")
        counted = live.settled(cut, state.sequence)
        assert counted is not None
        if n % 6 == 0:
            assert restored(cut, counted, tmp_path / f"restored-{n}") == expected
        shutil.rmtree(cut.folder)
    state.close()
