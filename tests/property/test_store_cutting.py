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


def settled(cut: StateCut) -> CutFiles:
    """Return what counts of a state to which nobody writes."""
    counted = LiveFiles().settled(cut, 1 << 50)
    assert counted is not None
    return counted


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
    cut = state.link(tmp_path / "cut")
    state.close()
    counted = settled(cut)
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
    cut = state.link(tmp_path / "cut")
    state.close()
    known, ends = set[tuple[str, ...]](), set[int]()
    for size in range(cut.manifest_bytes):
        part = shutil.copytree(cut.folder, tmp_path / f"cut-{size}")
        counted = settled(cut._replace(folder=part, manifest_bytes=size))
        known.add(tuple(name for name in counted.files if name.endswith(".sst")))
        ends.add((part / cut.manifest).stat().st_size)
    assert known == {(), ("000009.sst",)}
    assert max(ends) < cut.manifest_bytes
    assert len(ends) < cut.manifest_bytes // 10
