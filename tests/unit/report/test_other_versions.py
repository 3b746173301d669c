"""A crawl may be run by an older version than the one that asks it."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from gossamer.errors import CannotGoOn
from gossamer.report import ControlSocket, Status, inquiry
from gossamer.store import CrawlFolder

Answers = dict[str, object]
OLD = {"pages": 7, "queued": 3, "running": True}


async def asked_of(folder: Path, answer: Answers) -> Status:
    async def answering(_question: Mapping[str, object]) -> Answers:
        return answer

    (folder / "crawl.toml").write_text("")
    control = ControlSocket(CrawlFolder(folder).control_path, answering)
    await control.open()
    try:
        return await asyncio.to_thread(inquiry.status, folder)
    finally:
        control.close()


async def test_what_an_older_version_does_not_count_is_zero(tmp_path: Path) -> None:
    status = await asked_of(tmp_path, dict(OLD))
    assert (status.pages, status.queued, status.running) == (7, 3, True)
    assert (status.sitemaps, status.held, status.traps) == (0, 0, ())


async def test_an_answer_that_cannot_be_read_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(CannotGoOn, match=r"another version of Gossamer.*stop the crawl") as told:
        await asked_of(tmp_path, {**OLD, "pages": "seven"})
    assert "\n" not in str(told.value)
