"""A file is the old one or the new one, whole, whenever the process dies and whatever fails."""

import os
import resource
import signal
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.durable import (
    READABLE,
    linked_files,
    rename,
    replace_file,
    replacing,
    sync,
    sync_files,
)
from tests.unit.forked import FAILED, in_a_fork

OLD, NEW = b"old " * 30_000, b"new " * 50_000
STEPS = ("open", "fsync", "replace", "rename", "unlink", "close")
"""Calls of the system between which a process may be killed."""


def killed_before(step: int, work: Callable[[], object]) -> int:
    """Do something in a fork that is killed before one of its steps; return how it ended."""

    def run() -> None:
        left = iter(range(step, -1, -1))

        def counted(call: Callable[..., object]) -> Callable[..., object]:
            def do(*args: object, **options: object) -> object:
                if next(left, None) == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return call(*args, **options)

            return do

        for name in STEPS:  # of the fork alone
            setattr(os, name, counted(getattr(os, name)))
        work()

    return in_a_fork(run)


def steps_of(work: Callable[[], object]) -> list[str]:
    """Do something; return in which order it synced and renamed what. All is really done."""
    steps: list[str] = []

    def noting(name: str, call: Callable[..., object]) -> Callable[..., object]:
        def do(first: int | Path, *more: object) -> object:
            path = Path(f"/proc/self/fd/{first}").readlink() if isinstance(first, int) else first
            steps.append(f"{name} {Path(path).name}")
            return call(first, *more)

        return do

    with pytest.MonkeyPatch.context() as patch:
        for name in ("fsync", "replace", "rename"):
            patch.setattr(os, name, noting(name, getattr(os, name)))
        work()
    return steps


@pytest.mark.slow
def test_a_kill_before_any_step_leaves_the_old_or_the_new_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    found = []
    for step in range(50):
        path.write_bytes(OLD)
        code = killed_before(step, lambda: replace_file(path, NEW))
        found.append(path.read_bytes())
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert step >= 5, "unlink, open, fsync, rename, and the folder's open and fsync at least"
    assert found == sorted(found, key=lambda content: content == NEW), "once new, it stays new"
    assert set(found) == {OLD, NEW}
    replace_file(path, OLD)  # what a kill left behind is in nobody's way
    assert path.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [path]


def test_a_kill_in_the_middle_of_the_content_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)

    def write() -> None:
        with replacing(path) as file:
            file.write(NEW)
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)

    assert in_a_fork(write) == -signal.SIGKILL
    assert path.read_bytes() == OLD


def test_a_disk_that_takes_no_more_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)

    def write() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(OLD), len(OLD)))
        replace_file(path, NEW)

    assert in_a_fork(write) == FAILED
    assert path.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [path]


def test_a_block_that_raises_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)

    def write() -> None:
        with replacing(path) as file:
            file.write(NEW)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write()
    assert path.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [path]


def test_a_rename_that_fails_is_told_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.mkdir()
    (path / "inside").touch()
    with pytest.raises(OSError, match="file"):
        replace_file(path, NEW)
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_is_made_with_the_mode_that_is_asked_for(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        replace_file(tmp_path / "secret", b"x", mode=0o600)
        replace_file(tmp_path / "other", b"x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "other").stat().st_mode) == READABLE & ~0o027


def test_a_link_that_lies_where_the_temporary_file_belongs_is_not_written_through(
    tmp_path: Path,
) -> None:
    (tmp_path / "else").write_bytes(OLD)
    (tmp_path / "file.tmp").symlink_to(tmp_path / "else")
    replace_file(tmp_path / "file", NEW)
    assert (tmp_path / "else").read_bytes() == OLD
    assert (tmp_path / "file").read_bytes() == NEW


def test_the_content_is_synced_before_the_rename_and_the_folder_after_it(tmp_path: Path) -> None:
    assert steps_of(lambda: replace_file(tmp_path / "file", NEW)) == [
        "fsync file.tmp",
        "replace file.tmp",
        f"fsync {tmp_path.name}",
    ]
    assert steps_of(lambda: replace_file(tmp_path / "file", NEW, is_synced=False)) == [
        "replace file.tmp"
    ]


def test_a_file_that_is_moved_is_synced_in_both_folders(tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()
    (tmp_path / "file").write_bytes(OLD)
    steps = steps_of(lambda: rename(tmp_path / "file", tmp_path / "to" / "file"))
    assert steps == ["rename file", "fsync to", f"fsync {tmp_path.name}"]
    assert (tmp_path / "to" / "file").read_bytes() == OLD


def test_all_files_of_a_folder_are_synced_and_then_the_folder(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).touch()
    (tmp_path / "inside").mkdir()
    steps = steps_of(lambda: sync_files(tmp_path))
    assert sorted(steps[:-1]) == ["fsync a", "fsync b"]
    assert steps[-1] == f"fsync {tmp_path.name}"
    with pytest.raises(FileNotFoundError):
        sync(tmp_path / "none")


def test_linked_files_are_those_of_the_folder_and_go_with_the_block(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b").write_bytes(b"2")
    with linked_files(tmp_path, ["a"]) as links:
        assert [path.name for path in links.iterdir()] == ["a"]
        assert (links / "a").read_bytes() == b"1"
    assert not links.exists()
    assert (tmp_path / "a").read_bytes() == b"1"


def test_links_are_never_made_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where Python makes temporary files if it can make them nowhere else."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with linked_files(tmp_path, []) as links:
        assert links.parent != tmp_path
        assert list(tmp_path.iterdir()) == []
