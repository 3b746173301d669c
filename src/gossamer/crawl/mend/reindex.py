"""Write the indexes of pages files again from the files, while no crawl runs."""

from pathlib import Path

from msgspec.structs import replace

from gossamer.clock import Clock
from gossamer.crawl.opening import lock_folder
from gossamer.errors import CannotGoOn
from gossamer.model import Row
from gossamer.store import (
    ROW_PREFIX,
    CrawlFolder,
    State,
    cdxj_lines,
    file_row,
    read_file_row,
    write_cdxj,
)


def expect_stopped(root: Path, clock: Clock) -> None:
    """Raise unless the folder's lock is free."""
    with lock_folder(CrawlFolder(root), clock):
        pass


def write_indexes(root: Path, clock: Clock) -> None:
    """Write every index anew, and let the states know how long it is.

    A state that cannot be opened is told nothing: it has to be built again anyway.
    """
    folder = CrawlFolder(root)
    with lock_folder(folder, clock):
        lengths = {
            name.file_name: write_cdxj(
                folder.archive / name.cdxj_name,
                cdxj_lines(folder.archive_path(name.file_name)),
                is_synced=True,
            )
            for name in folder.archive_names(kind="pages")
        }
        for path in sorted((folder.root / "state").glob("[0-9]*")):
            try:
                _tell_state(path, lengths)
            except CannotGoOn:
                continue


def _tell_state(path: Path, lengths: dict[str, int]) -> None:
    if not State.exists(path):
        return
    state = State.open(path)
    try:
        rows: list[Row] = []
        for key, value in state.scan(ROW_PREFIX):
            name, row = read_file_row(key, value)
            if name in lengths:
                rows.append(file_row(name, replace(row, cdxj_length=lengths[name])))
        state.write(rows)
        state.sync()
    finally:
        state.close()
