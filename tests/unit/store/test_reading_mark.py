import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.errors import CannotGoOn
from gossamer.store import LostReading, ReadingMark

DIE = """
import os, signal, sys
from pathlib import Path
from gossamer.store import ReadingMark
mark = ReadingMark(Path(sys.argv[1]))
mark.begin(22, 1.7e9)
mark.end()
if sys.argv[2] == "reading":
    mark.begin(33, 1.8e9)
os.kill(os.getpid(), signal.SIGKILL)
"""


def die(path: Path, how: str) -> None:
    done = subprocess.run([sys.executable, "-c", DIE, str(path), how], check=False)
    assert done.returncode == -signal.SIGKILL


def test_a_kill_while_a_page_is_read_leaves_its_mark_and_the_moment(tmp_path: Path) -> None:
    die(tmp_path / "flight", "reading")
    assert ReadingMark(tmp_path / "flight").lost == LostReading(33, 1.8e9)


def test_a_kill_while_nothing_is_read_leaves_none(tmp_path: Path) -> None:
    die(tmp_path / "flight", "waiting")
    assert ReadingMark(tmp_path / "flight").lost is None


def test_a_new_mark_names_nobody(tmp_path: Path) -> None:
    mark = ReadingMark(tmp_path / "flight")
    assert mark.lost is None
    mark.close()
    assert ReadingMark(tmp_path / "flight").lost is None


def test_the_mark_is_kept_by_a_start_that_dies_before_it_is_committed(tmp_path: Path) -> None:
    die(tmp_path / "flight", "reading")
    ReadingMark(tmp_path / "flight").close()
    assert ReadingMark(tmp_path / "flight").lost == LostReading(33, 1.8e9)


def test_nobody_is_suspected_twice_once_that_is_committed(tmp_path: Path) -> None:
    die(tmp_path / "flight", "reading")
    mark = ReadingMark(tmp_path / "flight")
    mark.clear()
    mark.close()
    assert ReadingMark(tmp_path / "flight").lost is None


@pytest.mark.parametrize(
    ("reading", "lost"), [(0, None), (7, LostReading(7, 0.0))], ids=["nobody", "one"]
)
def test_of_an_older_file_only_what_was_being_read_counts(
    reading: int, lost: LostReading | None, tmp_path: Path
) -> None:
    """It holds the URL that was being read, then those that were in flight."""
    (tmp_path / "flight").write_bytes(struct.pack("<4Q", reading, 1 << 60, 12, 0))
    assert ReadingMark(tmp_path / "flight").lost == lost


def test_a_file_that_was_cut_short_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    (tmp_path / "flight").write_bytes(struct.pack("<Q", 9))
    assert ReadingMark(tmp_path / "flight").lost == LostReading(9, 0.0)


def test_its_place_on_the_disk_is_taken_before_anything_is_written(tmp_path: Path) -> None:
    """A store to a hole of a mapped file, on a disk that has become full, is a SIGBUS."""
    ReadingMark(tmp_path / "flight").close()
    assert (tmp_path / "flight").stat().st_blocks * 512 >= 16


def test_a_mark_that_cannot_be_made_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(CannotGoOn, match="cannot write"):
        ReadingMark(tmp_path / "no such folder" / "flight")
