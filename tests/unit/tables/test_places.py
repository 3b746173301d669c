"""Where exported files go: whole or not at all, and nothing of the user's is touched."""

import os
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from gossamer.errors import CannotGoOn, ConfigError
from gossamer.tables.places import PART, ExportPlace
from gossamer.tables.writers import holds_only_pages, page_file


def test_two_exports_to_one_name_do_not_write_to_the_same_file(tmp_path: Path) -> None:
    first, second = ExportPlace(str(tmp_path)), ExportPlace(str(tmp_path))
    with first.new_file("a.csv") as one:
        one.write_text("first, whole")
        with suppress(ValueError), second.new_file("a.csv") as other:
            other.write_text("half")
            raise ValueError("broken off")
    assert (tmp_path / "a.csv").read_text() == "first, whole"
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_folders_beside_a_mirror_stay_when_it_is_replaced(tmp_path: Path) -> None:
    for name in ("m.old", "m.tmp"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine").touch()
    for content in ("1", "2"):
        with ExportPlace(str(tmp_path)).new_file("m") as part:
            part.mkdir()
            (part / "x").write_text(content)
    assert (tmp_path / "m" / "x").read_text() == "2"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "m.old", "m.tmp"]
    assert (tmp_path / "m.old" / "mine").exists()
    assert (tmp_path / "m.tmp" / "mine").exists()


def test_what_a_killed_export_left_is_deleted_by_the_next_one(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    dead = tmp_path / f".a.csv.x.{int(ended.stdout)}{PART}"
    alive = tmp_path / f".a.csv.x.{os.getppid()}{PART}"
    dead.mkdir()
    alive.mkdir()
    with ExportPlace(str(tmp_path)).new_file("a.csv") as part:
        part.touch()
    assert not dead.exists()
    assert alive.exists()


def test_an_error_that_names_no_file_names_the_one_that_was_to_be_written(tmp_path: Path) -> None:
    place = ExportPlace(str(tmp_path))
    with pytest.raises(OSError, match=r"a\.csv"), place.new_file("a.csv"):
        raise OSError(28, "No space left on device")
    no_end = pytest.raises(CannotGoOn, match=r"a\.sqlite: .*is the disk full")
    with no_end, place.new_file("a.sqlite"):
        raise sqlite3.OperationalError("disk I/O error")
    assert not list(tmp_path.iterdir())


def test_a_folder_with_files_of_the_user_is_not_replaced_by_markdown(tmp_path: Path) -> None:
    place, pages = ExportPlace(str(tmp_path)), tmp_path / "pages"
    place.expect_own("pages", holds_only_pages)
    ours = pages / page_file("http://a.test/x")
    ours.parent.mkdir(parents=True)
    ours.touch()
    place.expect_own("pages", holds_only_pages)
    (pages / "notes.md").touch()
    with pytest.raises(ConfigError, match="no export has written"):
        place.expect_own("pages", holds_only_pages)
