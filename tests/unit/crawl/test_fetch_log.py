"""The log's file: whole lines of several writers, put aside when it is too large."""

import threading
from pathlib import Path

from gossamer.crawl.fetch_log import KEPT, RotatedFile


def test_several_writers_lose_no_line_and_tear_none_while_files_are_put_aside(
    tmp_path: Path,
) -> None:
    path, writers, lines = tmp_path / "log", 4, 150

    def write(number: int) -> None:
        file = RotatedFile(path, max_bytes=4000)
        for line in range(lines):
            file.append(f"{number} {line} {'x' * 20}\n".encode())

    threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    files = sorted(tmp_path.iterdir())
    assert 2 < len(files) <= KEPT + 1
    found = [line for file in files for line in file.read_text().splitlines()]
    assert all(line.endswith("x" * 20) and len(line.split()) == 3 for line in found)
    assert len(found) == len(set(found)) == writers * lines


def test_the_oldest_file_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "log"
    file = RotatedFile(path, max_bytes=10)
    for number in range(20):
        file.append(f"line {number:06}\n".encode())
    assert len(list(tmp_path.iterdir())) == KEPT + 1
    assert path.read_text() == "line 000019\n"
    assert (tmp_path / "log.1").read_text() == "line 000018\n"


def test_a_log_that_somebody_moved_away_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "log"
    file = RotatedFile(path)
    file.append(b"one\n")
    path.rename(tmp_path / "mine")
    file.append(b"two\n")
    assert path.read_text() == "two\n"
