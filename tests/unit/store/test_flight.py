import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.errors import CannotGoOn
from gossamer.store import FlightBoard

DIE_IN_FLIGHT = """
import os, signal, sys
from pathlib import Path
from gossamer.store import FlightBoard
board = FlightBoard(Path(sys.argv[1]), 4)
board.take_off(11); board.take_off(22); board.take_off(33); board.land(22)
if sys.argv[2] == "reading":
    board.reading(33)
os.kill(os.getpid(), signal.SIGKILL)
"""


def die(path: Path, how: str) -> None:
    done = subprocess.run([sys.executable, "-c", DIE_IN_FLIGHT, str(path), how], check=False)
    assert done.returncode == -signal.SIGKILL


def test_a_kill_blames_what_was_in_flight(tmp_path: Path) -> None:
    die(tmp_path / "flight", "flying")
    assert sorted(FlightBoard(tmp_path / "flight", 4).lost) == [11, 33]


def test_a_kill_while_a_page_is_read_blames_that_page_alone(tmp_path: Path) -> None:
    die(tmp_path / "flight", "reading")
    assert FlightBoard(tmp_path / "flight", 4).lost == [33]


def test_nobody_is_blamed_after_a_clean_end(tmp_path: Path) -> None:
    board = FlightBoard(tmp_path / "flight", 2)
    board.take_off(5)
    board.land(5)
    board.close()
    assert FlightBoard(tmp_path / "flight", 2).lost == []


def test_more_urls_than_slots_do_no_harm(tmp_path: Path) -> None:
    board = FlightBoard(tmp_path / "flight", 1)
    board.take_off(1)
    board.take_off(2)
    board.land(2)
    board.land(1)
    board.close()
    assert (tmp_path / "flight").stat().st_size == 16


def test_blame_is_not_forgotten_by_a_start_that_dies_before_it_is_committed(tmp_path: Path) -> None:
    die(tmp_path / "flight", "flying")
    FlightBoard(tmp_path / "flight", 4).close()
    assert sorted(FlightBoard(tmp_path / "flight", 4).lost) == [11, 33]


def test_a_start_with_fewer_slots_keeps_the_blame_of_all(tmp_path: Path) -> None:
    die(tmp_path / "flight", "flying")
    FlightBoard(tmp_path / "flight", 1).close()
    assert sorted(FlightBoard(tmp_path / "flight", 1).lost) == [11, 33]


def test_a_start_with_more_slots_has_room_for_all_it_asks_for(tmp_path: Path) -> None:
    FlightBoard(tmp_path / "flight", 1).close()
    board = FlightBoard(tmp_path / "flight", 3)
    for key in (1, 2, 3):
        board.take_off(key)
    board.close()
    assert sorted(FlightBoard(tmp_path / "flight", 1).lost) == [1, 2, 3]


def test_nobody_is_blamed_twice_once_the_blame_is_committed(tmp_path: Path) -> None:
    die(tmp_path / "flight", "reading")
    board = FlightBoard(tmp_path / "flight", 4)
    board.clear()
    board.take_off(44)
    board.close()
    assert FlightBoard(tmp_path / "flight", 4).lost == [44]


def test_its_place_on_the_disk_is_taken_before_anything_is_written(tmp_path: Path) -> None:
    """A store to a hole of a mapped file, on a disk that has become full, is a SIGBUS."""
    FlightBoard(tmp_path / "flight", 4000).close()
    assert (tmp_path / "flight").stat().st_blocks * 512 >= 4001 * 8


def test_a_board_that_cannot_be_made_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(CannotGoOn, match="cannot write"):
        FlightBoard(tmp_path / "no such folder" / "flight", 4)
