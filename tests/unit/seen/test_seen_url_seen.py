"""UrlSeen step by step: log, freeze, flush, merge, restart."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from msgspec import msgpack
from seen_samples import SMALL, Crawl, keys_of, tens

from gossamer.config import SeenConfig
from gossamer.errors import Bug, CorruptFile
from gossamer.seen import check_seen
from gossamer.seen.runs import run_path
from gossamer.seen.url_seen import alike_runs


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
    wrong = r"^run-0000000001.keys was installed before it was done, or twice$"
    with pytest.raises(Bug, match=wrong):
        crawl.seen.install(work)
    crawl.finish(work)
    with pytest.raises(Bug, match=wrong):
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
    with pytest.raises(CorruptFile) as damage:
        crawl.restart()
    meant = "it is not the run that was committed; run `gossamer build DIR state`"
    assert str(damage.value) == str(CorruptFile(place, 0, meant))
    place.unlink()
    with pytest.raises(CorruptFile, match="missing"):
        crawl.restart()


def test_a_torn_log_row_is_damage(crawl: Crawl) -> None:
    for torn in (b"12345", bytes(9)):
        crawl.rows[b"s" + bytes(8)] = torn
        with pytest.raises(CorruptFile) as damage:
            crawl.restart()
        expected = CorruptFile(crawl.folder, 0, f"log row 0 has {len(torn)} bytes")
        assert str(damage.value) == str(expected)


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


def resident_bytes(path: Path) -> int:
    """Return how much of a mapped file counts as memory of this process."""
    lines = iter(Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines())
    sizes = [
        next(rest for rest in lines if rest.startswith("Rss:"))
        for line in lines
        if line.endswith(str(path))
    ]
    return sum(1024 * int(size.split()[1]) for size in sizes)


def test_mapped_pages_are_let_go_after_four_million_lookups_and_nothing_is_lost(
    crawl: Crawl,
) -> None:
    crawl.add(tens(1))
    crawl.finish(crawl.take_work())
    path = run_path(crawl.folder, 1)
    for _ in range(2):
        many = np.full(1 << 22, 7, np.uint64)
        assert not crawl.seen.unknown(many).any()
        assert resident_bytes(path) > 0
        assert not crawl.seen.unknown(many[:1]).any()
        assert resident_bytes(path) == 0
    assert not crawl.seen.unknown(tens(1)).any()


@pytest.mark.slow
def test_a_crawl_of_more_than_200_000_urls_does_without_numba_too(tmp_path: Path) -> None:
    script = """
import sys, numpy as np
from pathlib import Path
from gossamer.config import SeenConfig
from gossamer.seen import UrlSeen
seen = UrlSeen.open(Path(sys.argv[1]), SeenConfig(), [])
seen.add(np.arange(200_000, dtype=np.uint64))
seen.add([200_000])
assert not seen.unknown(np.arange(200_001, dtype=np.uint64)).any()
assert seen.new_among([1, 200_000, 200_001]) == [200_001]
seen.add([200_001])
assert "numba" not in sys.modules
assert "llvmlite" not in sys.modules
assert seen.known == 200_002
assert not seen.unknown(np.arange(200_002, dtype=np.uint64)).any()
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)


def test_what_was_set_aside_is_known_counted_and_not_set_aside_twice(crawl: Crawl) -> None:
    crawl.add(tens(0))
    assert crawl.seen.known == 10
    first = crawl.take_work()
    crawl.add(tens(10))
    crawl.add(tens(20, 1))
    assert crawl.seen.known == 21
    assert not crawl.seen.unknown(tens(0, 21)).any()
    assert crawl.seen.due() is None
    crawl.finish(first)
    assert crawl.seen.known == 21
    assert crawl.prefixes() == b"Sss"
    crawl.finish(crawl.take_work())
    assert crawl.prefixes() == b"SS"
    assert crawl.seen.known == 21
    assert not crawl.seen.unknown(tens(0, 21)).any()
    crawl.restart()
    assert crawl.seen.known == 21


def test_a_large_set_takes_strided_arrays_and_answers_for_plain_numbers(crawl: Crawl) -> None:
    crawl.add(tens(0))
    crawl.finish(crawl.take_work())
    table = np.arange(40, dtype=np.uint64).reshape(10, 4)
    assert crawl.seen.unknown(table[:, 0]).tolist() == [False] * 3 + [True] * 7
    assert crawl.seen.new_among([30, 3, 12, 30]) == [30, 12, 30]
    assert crawl.seen.new_among([]) == []


def test_log_rows_are_numbered_on_after_a_restart(crawl: Crawl) -> None:
    for number in range(3):
        crawl.add(keys_of(number))
    crawl.rows = dict(reversed(crawl.rows.items()))
    crawl.restart()
    crawl.add(keys_of(3))
    assert sorted(crawl.rows) == [b"s" + number.to_bytes(8, "big") for number in range(4)]
    crawl.add(tens(4, 6))
    crawl.finish(crawl.take_work())
    assert crawl.prefixes() == b"S"


def test_row_numbers_have_eight_bytes(crawl: Crawl) -> None:
    crawl.rows[b"s\1" + bytes(7)] = keys_of(1).tobytes()
    crawl.restart()
    crawl.add(keys_of(2))
    assert b"s\1" + bytes(6) + b"\1" in crawl.rows


def test_the_manifest_names_a_run_by_number_with_its_count_and_checksum(crawl: Crawl) -> None:
    crawl.add(tens(0))
    work = crawl.take_work()
    crawl.finish(work)
    assert work.made is not None
    named = {key: msgpack.decode(value) for key, value in crawl.rows.items()}
    assert named == {b"S" + bytes(7) + b"\1": [10, work.made.checksum]}


def test_the_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path / "far" / "below")
    crawl.add(tens(0))
    crawl.finish(crawl.take_work())
    assert crawl.files() == ["run-0000000001.keys"]


def test_a_replaced_file_that_is_gone_already_is_no_trouble(crawl: Crawl) -> None:
    for first in (0, 10):
        crawl.add(tens(first))
        crawl.finish(crawl.take_work())
    work = crawl.take_work()
    work.do()
    crawl.commit(crawl.seen.install(work))
    run_path(crawl.folder, 1).unlink()
    crawl.seen.discard_replaced()
    crawl.seen.discard_replaced()
    assert crawl.files() == ["run-0000000003.keys"]


def flushed(crawl: Crawl, counts: list[int]) -> None:
    """Make runs of some sizes, one after another, and let nothing be merged."""
    first = 0
    for count in counts:
        crawl.add(tens(first, count))
        work = crawl.take_work()
        assert not work.replaces
        crawl.finish(work)
        first += count


def merged_next(folder: Path, config: SeenConfig, counts: list[int]) -> list[int]:
    """Return the sizes of the runs that would be merged next."""
    crawl = Crawl(folder, SeenConfig(run_keys=10, fan_in=1000))
    flushed(crawl, counts)
    crawl.config = config
    crawl.restart()
    work = crawl.seen.due()
    return sorted(run.count for run in work.replaces) if work is not None else []


@pytest.mark.parametrize(
    ("counts", "fan_in", "merged"),
    [
        ([10, 19], 2, [10, 19]),
        ([10, 20], 2, []),
        ([20, 39, 10], 2, [20, 39]),
        ([20, 40], 2, []),
        ([40, 79], 2, [40, 79]),
        ([20, 20, 10, 10], 2, [10, 10]),
        ([10, 10], 3, []),
        ([10, 11, 12, 13], 3, [11, 12, 13]),
        ([10, 29, 20, 30], 3, [10, 20, 29]),
        ([89, 30, 31], 3, [30, 31, 89]),
        ([90, 30, 31], 3, []),
    ],
)
def test_runs_are_merged_when_there_are_enough_of_a_size_the_smallest_first(
    tmp_path: Path, counts: list[int], fan_in: int, merged: list[int]
) -> None:
    assert merged_next(tmp_path, SeenConfig(run_keys=10, fan_in=fan_in), counts) == merged
    assert alike_runs([], SMALL) == ()


def test_the_ends_of_a_range_belong_to_it_wherever_the_keys_lie(crawl: Crawl) -> None:
    first, last = 5 << 40, (7 << 40) - 1
    inside, outside = [first, first + 1, last - 1, last], [first - 1, last + 1, 0, 2**64 - 1]
    for start in (0, 4, 8):  # in a run; set aside; in the table
        numbers = [key ^ (start << 8) for key in (*inside, *outside)]
        crawl.add(keys_of(*numbers, *range(start * 1000 + 50, start * 1000 + 52)))
        if start == 0:
            crawl.finish(crawl.take_work())
    expected = sorted(key ^ (start << 8) for start in (0, 4, 8) for key in inside)
    chunks = list(crawl.seen.range_keys(5, 6))
    assert np.concatenate(chunks).tolist() == expected
    assert crawl.seen.known == 30


def test_a_set_can_be_restricted_to_a_range_of_the_ring(crawl: Crawl) -> None:
    rings = [ring << 40 for ring in range(30)]
    for start in (0, 10, 20):  # in a run; set aside; in the table
        crawl.add(keys_of(*rings[start : start + 9]))
        crawl.add(keys_of(rings[start + 9]))
        if start == 0:
            crawl.finish(crawl.take_work())
    crawl.add(keys_of(1))
    crawl.commit(crawl.seen.restrict([(5, 24)]))
    crawl.seen.close()
    assert crawl.prefixes() == b"S"
    crawl.restart()
    assert crawl.files() == ["run-0000000002.keys"]
    assert crawl.seen.known == 20
    assert crawl.seen.unknown(keys_of(*rings)).tolist() == [True] * 5 + [False] * 20 + [True] * 5


def test_a_set_can_be_restricted_to_several_ranges_of_the_ring(crawl: Crawl) -> None:
    rings = [ring << 40 for ring in range(30)]
    for start in (0, 10, 20):
        crawl.add(keys_of(*rings[start : start + 10]))
        if start == 0:
            crawl.finish(crawl.take_work())
    crawl.commit(crawl.seen.restrict([(2, 3), (9, 10), (29, 29)]))
    crawl.seen.close()
    crawl.restart()
    known = [ring for ring, is_new in enumerate(crawl.seen.unknown(keys_of(*rings))) if not is_new]
    assert known == [2, 3, 9, 10, 29]
    assert crawl.seen.known == 5


def test_a_young_set_can_be_restricted_too(crawl: Crawl) -> None:
    crawl.add(keys_of(1, 1 << 40, 2 << 40))
    crawl.commit(crawl.seen.restrict([(1, 1)]))
    crawl.restart()
    assert crawl.seen.unknown(keys_of(1, 1 << 40, 2 << 40)).tolist() == [True, False, True]


def test_a_set_that_lies_in_the_range_stays_as_it_is(crawl: Crawl) -> None:
    crawl.add(tens(0))
    crawl.finish(crawl.take_work())
    crawl.add(tens(10, 3))
    assert crawl.seen.restrict([(0, 0)]) == []
    assert crawl.files() == ["run-0000000001.keys"]
    assert crawl.seen.known == 13


def test_a_closed_set_cannot_be_used(crawl: Crawl) -> None:
    crawl.add(tens(0, 3))
    crawl.seen.close()
    with pytest.raises(AttributeError):
        crawl.seen.unknown(tens(0))


def test_a_check_names_each_run_that_is_not_as_committed_and_changes_nothing(crawl: Crawl) -> None:
    for first in (0, 100):
        crawl.add(tens(first))
        crawl.finish(crawl.take_work())
    assert list(check_seen(crawl.folder, crawl.rows.items())) == []
    one, other = (
        run_path(crawl.folder, number)
        for number in sorted(
            int.from_bytes(key[1:], "big") for key in crawl.rows if key[:1] == b"S"
        )
    )
    one.write_bytes(one.read_bytes()[:-1])
    other.unlink()
    before = crawl.files()
    found = list(check_seen(crawl.folder, crawl.rows.items()))
    assert [error.path for error in found] == [one, other]
    assert ["expected" in str(found[0]), "missing" in str(found[1])] == [True, True]
    assert crawl.files() == before


def test_a_check_says_that_a_row_of_the_log_is_torn(crawl: Crawl) -> None:
    crawl.add(keys_of(1, 2))
    crawl.rows[b"s" + bytes(8)] += b"\0"
    found = list(check_seen(crawl.folder, crawl.rows.items()))
    assert [str(error) for error in found] == [
        str(CorruptFile(crawl.folder, 0, "log row 0 has 17 bytes"))
    ]
