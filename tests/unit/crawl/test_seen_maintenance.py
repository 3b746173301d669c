"""Seen runs are written beside the engine: nothing waits for them, and none is lost at the end."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from gossamer.config import SeenConfig
from gossamer.crawl.engine import SeenMaintenance
from gossamer.errors import CannotGoOn
from gossamer.model import Row
from gossamer.seen import UrlSeen


def full(folder: Path) -> UrlSeen:
    seen = UrlSeen.open(folder, SeenConfig(run_keys=10), [])
    seen.add(np.arange(1, 21, dtype=np.uint64))
    assert seen.rows_to_commit()
    return seen


async def finished(maintenance: SeenMaintenance) -> list[Row]:
    for _ in range(10_000):
        if rows := maintenance.rows_of_finished():
            return rows
        await asyncio.sleep(0.01)
    return []


async def test_a_run_that_is_due_is_begun_and_its_rows_come_when_it_is_done(tmp_path: Path) -> None:
    seen = full(tmp_path)
    maintenance = SeenMaintenance(seen)
    assert maintenance.rows_of_finished() == []
    rows = await finished(maintenance)
    assert {key[:1] for key, _ in rows} == {b"s", b"S"}
    assert not seen.unknown(np.arange(1, 21, dtype=np.uint64)).any()
    assert await maintenance.end() == []


async def test_the_end_waits_for_a_run_under_way_and_gives_its_rows(tmp_path: Path) -> None:
    seen = full(tmp_path)
    maintenance = SeenMaintenance(seen)
    maintenance.rows_of_finished()
    rows = await maintenance.end()
    assert [key[:1] for key, value in rows if value is not None] == [b"S"]
    assert seen.known == 20
    assert not seen.unknown(np.arange(1, 21, dtype=np.uint64)).any()


async def test_a_run_that_cannot_be_written_is_told_but_not_at_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "seen"
    seen = full(folder)
    folder.rmdir()
    maintenance = SeenMaintenance(seen)
    maintenance.rows_of_finished()
    with pytest.raises(CannotGoOn, match="cannot write"):
        await finished(maintenance)
    again = full(tmp_path / "again")
    (tmp_path / "again").rmdir()
    maintenance = SeenMaintenance(again)
    maintenance.rows_of_finished()
    assert await maintenance.end() == []
