"""Ends: what is durable is known beside the archive, never ahead of the state, torn or not."""

import os
import zlib
from pathlib import Path

import pytest

from gossamer.errors import CannotGoOn
from gossamer.store import (
    CrawlFolder,
    Ends,
    EndsFile,
    EndsFinding,
    FileRow,
    KnownEnds,
    KnownFile,
    State,
    compare_ends,
    ends_findings,
    file_row,
    read_ends,
    replace_ends,
)
from gossamer.store.ends import SLOT_BYTES, CommittedEnds, StateEnd, lower_ends

A, B = "pages-00-0001-00000.warc.gz", "links-00-0001-00000.warc.gz"
AT = StateEnd("one", 7)
C, D = "pages-00-0002-00000.warc.gz", "pages-01-0001-00000.warc.gz"


@pytest.fixture
def folder(tmp_path: Path) -> CrawlFolder:
    (tmp_path / "archive").mkdir()
    return CrawlFolder(tmp_path)


def lengths(folder: CrawlFolder) -> dict[str, int]:
    return read_ends(folder).lengths


def tear(path: Path, offset: int) -> None:
    """Change a byte of a file."""
    content = bytearray(path.read_bytes())
    content[offset] ^= 1
    path.write_bytes(content)


def contents(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


# The file


def test_a_folder_without_ends_files_claims_nothing(tmp_path: Path, folder: CrawlFolder) -> None:
    assert lengths(folder) == {}
    assert lengths(CrawlFolder(tmp_path / "nowhere")) == {}
    (folder.archive / "ends-0x").write_bytes(b"not ours")
    assert lengths(folder) == {}


def test_a_shard_begins_with_the_files_of_earlier_starts(folder: CrawlFolder) -> None:
    ends = EndsFile.begin(folder, 0, {A: 10, B: 20}, None)
    assert lengths(folder) == {A: 10, B: 20}
    ends.write(CommittedEnds({C: 5}, {}), AT)
    assert lengths(folder) == {A: 10, B: 20, C: 5}


def test_open_files_grow_in_place_and_the_file_does_not(folder: CrawlFolder) -> None:
    ends = EndsFile.begin(folder, 0, {A: 10}, None)
    size = folder.ends_path(0).stat().st_size
    for length in range(1, 50):
        ends.write(CommittedEnds({C: length}, {}), AT)
        assert lengths(folder) == {A: 10, C: length}
    assert folder.ends_path(0).stat().st_size == size


def test_a_closed_file_is_appended_once_and_stays_known(folder: CrawlFolder) -> None:
    ends = EndsFile.begin(folder, 0, {}, None)
    ends.write(CommittedEnds({A: 5}, {}), AT)
    ends.write(CommittedEnds({C: 1}, {A: 9}), AT)
    size = folder.ends_path(0).stat().st_size
    for length in range(2, 10):
        ends.write(CommittedEnds({C: length}, {A: 9}), AT)
    assert folder.ends_path(0).stat().st_size == size
    assert lengths(folder) == {A: 9, C: 9}
    ends.write(CommittedEnds({}, {A: 9, C: 12}), AT)
    ends.write(CommittedEnds({}, {A: 9, C: 12, B: 3}), AT)
    assert lengths(folder) == {A: 9, C: 12, B: 3}


@pytest.mark.parametrize("last", [4, 5])
def test_a_torn_slot_counts_as_absent_and_the_one_before_it_holds(
    folder: CrawlFolder, last: int
) -> None:
    ends = EndsFile.begin(folder, 0, {A: 10}, None)
    for length in range(1, last + 1):
        ends.write(CommittedEnds({C: length}, {}), AT)
    whole = folder.ends_path(0).read_bytes()
    newest = [at for at in (0, SLOT_BYTES) if f'":{last}}}'.encode() in whole[at : at + SLOT_BYTES]]
    assert len(newest) == 1
    for offset in (0, 5, 9, 20):
        folder.ends_path(0).write_bytes(whole)
        tear(folder.ends_path(0), newest[0] + offset)
        assert lengths(folder) == {A: 10, C: last - 1}
    tear(folder.ends_path(0), SLOT_BYTES - newest[0] + 12)
    assert lengths(folder) == {A: 10}


def test_a_file_of_which_nothing_is_whole_is_no_file(folder: CrawlFolder) -> None:
    EndsFile.begin(folder, 0, {A: 10}, None)
    size = folder.ends_path(0).stat().st_size
    for content in (b"", bytes(size), b"\n" * size, b"00000000 [1]\n", b"\xff" * size):
        folder.ends_path(0).write_bytes(content)
        assert lengths(folder) == {}


def test_a_torn_line_of_a_closed_file_costs_no_other_claim(folder: CrawlFolder) -> None:
    ends = EndsFile.begin(folder, 0, {A: 10, B: 20}, None)
    ends.write(CommittedEnds({C: 5}, {}), AT)
    tear(folder.ends_path(0), folder.ends_path(0).stat().st_size - 3)
    left = lengths(folder)
    assert len(left) == 2
    assert left[C] == 5


def test_writing_ends_syncs_nothing(folder: CrawlFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, synced.append)
    ends = EndsFile.begin(folder, 0, {A: 10}, None)
    ends.write(CommittedEnds({C: 5}, {B: 6}), AT)
    assert synced == []
    lower_ends(folder, {C: 9})
    assert synced == []
    EndsFile.begin(folder, 0, {D: 10}, AT)
    assert synced == []
    lower_ends(folder, {D: 4})
    assert len(synced) == 2
    replace_ends(folder, {D: 4})
    assert len(synced) == 6


def test_files_of_a_shard_that_is_no_more_have_their_own_ends(folder: CrawlFolder) -> None:
    EndsFile.begin(folder, 0, {A: 10, D: 7}, None)
    assert folder.ends_shards() == [0, 1]
    assert lengths(folder) == {A: 10, D: 7}
    before = folder.ends_path(1).stat().st_ino
    EndsFile.begin(folder, 0, {A: 10, D: 7}, None)
    assert folder.ends_path(1).stat().st_ino == before


def test_claims_are_lowered_in_whichever_file_they_are(folder: CrawlFolder) -> None:
    ends = EndsFile.begin(folder, 0, {A: 10, D: 7}, None)
    ends.write(CommittedEnds({C: 5}, {}), AT)
    lower_ends(folder, {C: 4, D: 0, A: 99})
    assert lengths(folder) == {A: 10, D: 0, C: 4}


def test_ends_that_are_replaced_know_only_the_new_state(folder: CrawlFolder) -> None:
    EndsFile.begin(folder, 0, {A: 10, D: 7}, None)
    replace_ends(folder, {A: 3})
    assert lengths(folder) == {A: 3}
    assert folder.ends_shards() == [0, 1]


def test_a_disk_that_refuses_leaves_the_ends_behind_and_the_crawl_alive(
    folder: CrawlFolder,
) -> None:
    ends = EndsFile.begin(folder, 0, {A: 10}, None)
    folder.ends_path(0).rename(folder.root / "kept")
    folder.ends_path(0).mkdir()
    closed = {B: 1}
    ends.write(CommittedEnds({C: 5}, closed), AT)
    folder.ends_path(0).rmdir()
    (folder.root / "kept").rename(folder.ends_path(0))
    ends.write(CommittedEnds({C: 6}, closed), AT)
    assert lengths(folder) == {A: 10, B: 1, C: 6}
    (folder.root / "other").mkdir()
    with pytest.raises(CannotGoOn, match=r"^cannot write .*free some disk space"):
        EndsFile.begin(CrawlFolder(folder.root / "other"), 0, {}, None)


def test_the_newest_slot_says_how_far_the_state_is(folder: CrawlFolder) -> None:
    ends = EndsFile.begin(folder, 0, {A: 10}, StateEnd("one", 3))
    assert read_ends(folder).states == {0: StateEnd("one", 3)}
    for number in range(4, 9):
        ends.write(CommittedEnds({}, {}), StateEnd("one", number))
        assert read_ends(folder).states == {0: StateEnd("one", number)}
    lower_ends(folder, {A: 2})
    assert read_ends(folder).states == {0: StateEnd("one", 8)}
    ends.write(CommittedEnds({}, {}), StateEnd("two", 1))
    assert read_ends(folder).states == {0: StateEnd("two", 1)}
    replace_ends(folder, {A: 2})
    assert read_ends(folder).states == {}


def test_the_file_is_two_slots_of_a_block_and_a_line_for_each_closed_file(
    folder: CrawlFolder,
) -> None:
    def line(text: str) -> bytes:
        return f"{zlib.crc32(text.encode()):08x} {text}".encode()

    ends = EndsFile.begin(folder, 0, {A: 10}, StateEnd("one", 3))
    slot = line('[0,{},["one",3]]').ljust(4095) + b"\n"
    first = line(f'[0,{{"{A}":10}},null]') + b"\n"
    assert folder.ends_path(0).read_bytes() == slot * 2 + first
    ends.write(CommittedEnds({C: 5}, {B: 6}), AT)
    newer = line(f'[1,{{"{C}":5}},["one",7]]').ljust(4095) + b"\n"
    second = line(f'[0,{{"{B}":6}},null]') + b"\n"
    assert folder.ends_path(0).read_bytes() == slot + newer + first + second


def test_a_claim_of_a_later_version_is_not_understood_and_costs_no_other(
    folder: CrawlFolder,
) -> None:
    EndsFile.begin(folder, 0, {A: 10}, AT)
    text = b'{"claims":9}'
    with folder.ends_path(0).open("ab") as file:
        file.write(b"%08x %s\n" % (zlib.crc32(text), text))
    assert read_ends(folder) == Ends(lengths={A: 10}, states={0: AT})


def test_a_thousand_writes_of_the_same_closed_files_leave_nothing_open(folder: CrawlFolder) -> None:
    ends, closed = EndsFile.begin(folder, 0, {}, None), {B: 6}
    opened = len(list(Path("/proc/self/fd").iterdir()))
    for length in range(1000):
        ends.write(CommittedEnds({C: length}, closed), AT)
    assert len(list(Path("/proc/self/fd").iterdir())) <= opened  # others may have been closed
    assert lengths(folder) == {B: 6, C: 999}


# The comparison


def compared(
    ends: dict[str, int], known: dict[str, KnownFile], sizes: dict[str, int]
) -> list[EndsFinding]:
    """Compare lengths alone."""
    return compare_ends(Ends(lengths=ends, states={}), KnownEnds(files=known, states={}), sizes)


def known(**lengths: int) -> dict[str, KnownFile]:
    names = {"a": A, "b": B, "c": C, "d": D}
    return {names[name]: KnownFile(length=n, synced=0) for name, n in lengths.items()}


def test_a_state_that_knows_as_much_or_more_is_accepted() -> None:
    sizes = {A: 20, B: 20, C: 20}
    assert compared({}, {}, sizes) == []
    assert compared({A: 10}, known(a=10), sizes) == []
    assert compared({A: 10}, known(a=11, c=5), sizes) == []
    assert compared({}, known(a=11), sizes) == []


def test_a_state_that_knows_less_is_older() -> None:
    sizes = {A: 20, B: 20, C: 20}
    assert compared({A: 10, B: 5}, known(a=9, b=5), sizes) == [
        EndsFinding(kind="state_older", file=A, expected=10, found=9)
    ]
    assert compared({A: 10, C: 1}, known(a=10), sizes) == [
        EndsFinding(kind="state_older", file=C, expected=1, found=0)
    ]
    assert [one.file for one in compared({A: 10, C: 1}, {}, sizes)] == [A, C]


def test_a_file_may_be_shorter_than_the_state_believes_but_not_than_what_was_durable() -> None:
    row = {A: KnownFile(length=10, synced=6)}
    assert compared({}, row, {A: 6}) == []
    assert compared({A: 6}, row, {A: 6}) == []
    assert compared({}, row, {A: 5}) == [
        EndsFinding(kind="file_short", file=A, expected=6, found=5)
    ]
    assert compared({A: 8}, row, {A: 7}) == [
        EndsFinding(kind="file_short", file=A, expected=8, found=7)
    ]
    assert compared({}, row, {}) == [EndsFinding(kind="file_missing", file=A, expected=6, found=0)]
    assert compared({}, {A: KnownFile(length=10, synced=0)}, {}) == []


def write_state(folder: CrawlFolder, shard: int, **files: int) -> None:
    names = {"a": A, "b": B, "c": C, "d": D}
    state = State.open(folder.state(shard))
    rows = [file_row(names[name], FileRow(length, 0)) for name, length in files.items()]
    state.write(rows)
    state.close()


def test_a_database_that_has_lost_rows_is_older_and_another_one_is_not() -> None:
    def found(expected: StateEnd, state: StateEnd | None) -> list[EndsFinding]:
        known = KnownEnds(files={}, states={1: state} if state is not None else {})
        return compare_ends(Ends(lengths={}, states={1: expected}), known, {})

    assert found(StateEnd("one", 7), StateEnd("one", 7)) == []
    assert found(StateEnd("one", 7), StateEnd("one", 8)) == []
    assert found(StateEnd("one", 7), StateEnd("two", 1)) == []
    assert found(StateEnd("one", 7), None) == []
    assert found(StateEnd("one", 7), StateEnd("one", 6)) == [
        EndsFinding(kind="rows_missing", file="state/01", expected=7, found=6)
    ]


def test_a_state_counts_its_rows_whoever_reads_it(folder: CrawlFolder) -> None:
    state = State.open(folder.state(0))
    before = state.end()
    state.write([(b"x", b"1"), (b"y", b"2")])
    end = state.end()
    assert (end.identity, end.sequence) == (before.identity, before.sequence + 2)
    state.close()
    state = State.open(folder.state(0), is_read_only=True)
    assert state.end() == end
    state.close()
    EndsFile.begin(folder, 0, {}, end)
    assert ends_findings(folder, [0]) == []
    EndsFile.begin(folder, 0, {}, StateEnd(end.identity, end.sequence + 1))
    assert [one.kind for one in ends_findings(folder, [0])] == ["rows_missing"]


def test_all_states_are_compared_together(folder: CrawlFolder) -> None:
    write_state(folder, 0, a=10, d=3)
    write_state(folder, 1, d=7)
    for name in (A, D):
        (folder.archive / name).write_bytes(bytes(10))
    EndsFile.begin(folder, 0, {A: 10, D: 7}, None)
    assert ends_findings(folder, [0, 1]) == []
    assert ends_findings(folder, [1, 0]) == []
    older = [EndsFinding(kind="state_older", file=D, expected=7, found=3)]
    assert ends_findings(folder, [0]) == older
    assert ends_findings(folder, [0, 2]) == older
    assert [one.file for one in ends_findings(folder, [1])] == [A]


def test_a_state_without_any_row_is_one_that_knows_nothing(folder: CrawlFolder) -> None:
    State.open(folder.state(0)).close()
    state = State.open(folder.state(0))
    state.write([(b"v", None)])
    state.close()
    assert ends_findings(folder, [0]) == []
    EndsFile.begin(folder, 0, {A: 10}, None)
    assert [one.kind for one in ends_findings(folder, [0])] == ["state_older"]


def test_a_file_that_a_killed_repair_has_cut_is_not_taken_for_damaged(folder: CrawlFolder) -> None:
    state = State.open(folder.state(0))
    state.write([file_row(A, FileRow(10, 10))])
    state.close()
    (folder.archive / A).write_bytes(bytes(7))
    short = [EndsFinding(kind="file_short", file=A, expected=10, found=7)]
    assert ends_findings(folder, [0]) == short
    folder.lost_found.mkdir()
    (folder.lost_found / f"{A}.from-7").write_bytes(bytes(3))
    assert ends_findings(folder, [0]) == []
    (folder.archive / A).write_bytes(bytes(6))
    assert [one.found for one in ends_findings(folder, [0])] == [6]


def test_comparing_writes_nothing(folder: CrawlFolder) -> None:
    write_state(folder, 0, a=10)
    EndsFile.begin(folder, 0, {A: 11}, None)
    before = contents(folder.root)
    assert len(ends_findings(folder, [0])) == 1
    assert contents(folder.root) == before
