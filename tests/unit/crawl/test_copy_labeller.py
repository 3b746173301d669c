"""The copies' desk: nothing is judged before it is committed, and nothing that was is forgotten."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from gossamer.clock import SystemClock
from gossamer.config import UrlConfig
from gossamer.crawl.copies import BATCH_PAGES, MOST_WAITING_BYTES, CopyLabeller, Mark
from gossamer.crawl.opening import ShardFolder
from gossamer.dedupe import CopyChanges, CopyItem, ExactCopy, GonePage, Level, PageText
from gossamer.errors import CannotGoOn
from gossamer.model import (
    CopyOf,
    Counters,
    Extraction,
    Failed,
    FailureKind,
    RevisitResult,
    Task,
    Turn,
)
from gossamer.store import CrawlFolder, State
from gossamer.urls import parse


class Station:
    """Notes what it is given to judge."""

    def __init__(self) -> None:
        self.judged: list[CopyItem] = []
        self.parcels: list[bytes] = []
        self.error: Exception | None = None

    def judge(self, items: Sequence[CopyItem], parcels: Sequence[bytes] = ()) -> CopyChanges:
        if self.error is not None:
            raise self.error
        self.judged += items
        self.parcels += parcels
        rows: list[Any] = [(b"n" + item.key.to_bytes(8, "big"), b"label") for item in items]
        changed = {item.key: Level.EXACT for item in items}
        return CopyChanges(
            rows=rows, parcels=[(1, b"S")], counts={"exact": len(items)}, changed=changed
        )


class Archive:
    """As long as it is said to be."""

    length = 0

    def ends(self) -> tuple[int, int, dict[str, int]]:
        return 1, 0, {"text": self.length, "links": self.length}


class Desk:
    """A desk, its surroundings, and commits."""

    def __init__(self, folder: Path) -> None:
        self.state = State.open(folder / "state" / "00")
        self.station, self.archive = Station(), Archive()
        self.posted: list[tuple[int, bytes]] = []
        self.errors: list[BaseException | None] = []
        self.counters = Counters()
        self.desk = CopyLabeller(
            open_station=lambda: self.station,  # type: ignore[arg-type,return-value]
            state=self.state,
            place=ShardFolder(folder=CrawlFolder(folder)),
            archive=self.archive,  # type: ignore[arg-type]
            counters=self.counters,
            post=self.posted.extend,
            on_ended=self.errors.append,
        )
        self.desk.recover()

    def commit(self) -> None:
        self.archive.length += 100
        self.state.write(self.desk.rows_to_commit())
        self.desk.committed()

    async def judge(self) -> None:
        self.desk.begin()
        await self.desk.close()
        await asyncio.sleep(0)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.state.close()


def turn(path: str, **more: Any) -> Turn:
    url = parse(f"http://a.test{path}", UrlConfig())
    assert url is not None
    outcome = Failed(kind=FailureKind.GONE)
    more.setdefault("found", Extraction(title="T"))
    return Turn(task=Task(url=url), outcome=outcome, at=5.0, **more)


def key(path: str) -> int:
    return turn(path).task.url.key


def copy_of(path: str) -> CopyOf:
    return CopyOf(f"http://a.test{path}", "", "", 0.0)


async def test_a_page_is_judged_after_its_commit_and_its_label_goes_out_with_the_next(
    desk: Desk,
) -> None:
    desk.desk.offer(turn("/1"), b"some text")
    await desk.judge()
    assert desk.station.judged == []
    desk.commit()
    await desk.judge()
    page = PageText(key("/1"), "a.test", "T", b"some text", 5.0)
    assert desk.station.judged == [page]
    assert desk.state.get(b"n" + page.key.to_bytes(8, "big")) is None
    assert desk.desk.has_uncommitted
    desk.commit()
    assert desk.state.get(b"n" + page.key.to_bytes(8, "big")) == b"label"
    assert Mark.of(desk.state.get(b"NM")) == Mark(
        is_own=True, shard=0, epoch=1, number=0, text=100, links=100
    )
    assert desk.counters.copies == {"exact": 1}
    assert desk.posted == [(1, b"S")]
    assert not desk.desk.is_busy


async def test_what_a_job_found_is_committed_before_the_next_one_begins(desk: Desk) -> None:
    desk.desk.offer(turn("/1"), b"text")
    desk.commit()
    await desk.judge()
    desk.desk.offer(turn("/2"), b"text")
    desk.desk.committed()  # of a commit that had no labels to write yet
    await desk.judge()
    assert len(desk.station.judged) == 1
    desk.commit()
    await desk.judge()
    assert len(desk.station.judged) == 2


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"copy_of": copy_of("/0")}, ExactCopy(key("/1"), 5.0, key("/0"))),
        (
            {"copy_of": copy_of("/0"), "revisit": RevisitResult.CHANGED},
            ExactCopy(key("/1"), 5.0, key("/0"), is_again=True),
        ),
        ({"revisit": RevisitResult.GONE}, GonePage(key("/1"), 5.0)),
        (
            {"revisit": RevisitResult.CHANGED},
            PageText(key("/1"), "a.test", "T", b"text", 5.0, is_again=True),
        ),
        ({"revisit": RevisitResult.CHANGED, "copy_of": copy_of("/1")}, None),
        ({"revisit": RevisitResult.UNCHANGED, "copy_of": copy_of("/1")}, None),
    ],
)
async def test_a_turn_is_judged_by_what_it_found(
    desk: Desk, given: dict[str, Any], expected: CopyItem | None
) -> None:
    has_text = isinstance(expected, PageText)
    desk.desk.offer(turn("/1", **given), b"text" if has_text else b"")
    desk.commit()
    await desk.judge()
    assert desk.station.judged == ([] if expected is None else [expected])


async def test_many_pages_are_judged_without_being_asked_to(desk: Desk) -> None:
    for n in range(BATCH_PAGES):
        desk.desk.offer(turn(f"/{n}"), b"text")
    desk.commit()
    await desk.desk.close()
    assert len(desk.station.judged) == BATCH_PAGES


async def test_a_parcel_is_kept_until_it_is_opened(desk: Desk, tmp_path: Path) -> None:
    desk.desk.take([b"one", b"two"])
    await desk.judge()
    assert desk.station.parcels == [], "it is not yet committed"
    desk.commit()
    again = CopyLabeller(
        open_station=lambda: desk.station,  # type: ignore[arg-type,return-value]
        state=desk.state,
        place=ShardFolder(folder=CrawlFolder(tmp_path)),
        archive=desk.archive,  # type: ignore[arg-type]
        counters=Counters(),
        on_ended=desk.errors.append,
    )
    again.recover()
    again.begin()
    await again.close()
    assert desk.station.parcels == [b"one", b"two"]
    await asyncio.sleep(0)
    desk.state.write(again.rows_to_commit())
    assert list(desk.state.scan(b"Np")) == []


async def test_a_flood_of_text_is_left_to_the_archive(desk: Desk) -> None:
    large = b"x" * (MOST_WAITING_BYTES // 4 + 1)
    desk.station.error = CannotGoOn("busy elsewhere")  # so that nothing leaves the queue
    for n in range(6):
        desk.desk.offer(turn(f"/{n}"), large)
        desk.desk.committed()
    assert desk.desk.is_following
    await desk.desk.close()


async def test_a_failure_is_told_and_ends_the_finish(desk: Desk) -> None:
    desk.station.error = CannotGoOn("the disk is full")
    desk.desk.offer(turn("/1"), b"text")
    desk.commit()
    await desk.judge()
    assert [str(error) for error in desk.errors] == ["the disk is full"]
    desk.desk.offer(turn("/2"), b"text")
    with pytest.raises(CannotGoOn):
        await desk.desk.finish(desk.commit, SystemClock())


async def test_the_finish_judges_what_is_left(desk: Desk) -> None:
    for n in range(5):
        desk.desk.offer(turn(f"/{n}"), b"text")
    desk.desk.take([b"parcel"])
    await desk.desk.finish(desk.commit, SystemClock())
    assert (len(desk.station.judged), len(desk.station.parcels)) == (5, 1)
    assert not desk.desk.has_uncommitted
    assert not desk.desk.is_busy
