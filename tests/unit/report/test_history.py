"""The ring of samples: a day, torn slots left out, old ones forgotten."""

from pathlib import Path

from msgspec.structs import replace

from gossamer.model import Counters
from gossamer.report import HistoryFile, merge_standings, read_history, status_of
from gossamer.report.history_ring import EVERY_S, SLOT_BYTES, SLOTS
from gossamer.store import CrawlFolder

NOW = 1_700_000_000.0
STATUS = replace(status_of(Counters(), merge_standings([])), pages=7, queued=3, failed={"x": 2})


def test_a_sample_is_kept_for_each_ten_seconds(tmp_path: Path) -> None:
    ring = HistoryFile(CrawlFolder(tmp_path))
    for second in range(35):
        ring.note(replace(STATUS, pages=second), NOW + second)
    found = read_history(tmp_path, NOW + 35)
    assert [one.at - NOW for one in found] == [0, 10, 20, 30]
    assert [one.pages for one in found] == [0, 10, 20, 30]
    assert (found[0].queued, found[0].failed, found[0].freshness) == (3, 2, None)
    assert found[0].disk_free_bytes > 0


def test_the_ring_holds_a_day_and_no_more(tmp_path: Path) -> None:
    ring = HistoryFile(CrawlFolder(tmp_path))
    for number in range(SLOTS + 10):
        ring.note(STATUS, NOW + number * EVERY_S)
    found = read_history(tmp_path, last := NOW + (SLOTS + 9) * EVERY_S)
    assert len(found) == SLOTS
    assert found[-1].at == last
    assert CrawlFolder(tmp_path).history_path.stat().st_size <= SLOTS * SLOT_BYTES
    assert read_history(tmp_path, last + 24 * 3600) == []


def test_a_torn_slot_is_left_out(tmp_path: Path) -> None:
    ring = HistoryFile(CrawlFolder(tmp_path))
    for number in range(3):
        ring.note(STATUS, NOW + number * EVERY_S)
    path = CrawlFolder(tmp_path).history_path
    slot = int((NOW + EVERY_S) // EVERY_S) % SLOTS
    data = bytearray(path.read_bytes())
    data[slot * SLOT_BYTES + 3] ^= 1
    path.write_bytes(data)
    assert [one.at - NOW for one in read_history(tmp_path, NOW + 30)] == [0, 20]


def test_a_crawl_without_a_history_has_none(tmp_path: Path) -> None:
    assert read_history(tmp_path, NOW) == []
