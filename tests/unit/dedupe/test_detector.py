"""One shard's part: alone it is all; together they find what one would."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.dedupe import (
    CopyChanges,
    CopyDetector,
    CopyItem,
    CopyLabel,
    ExactCopy,
    GonePage,
    Level,
    PageText,
    SketchShare,
    open_copy_detector,
    read_labels,
)
from tests.unit.dedupe.prose import changed, prose
from tests.unit.dedupe.rows import Rows

TEXTS = [prose(n) for n in range(12)]


class Crowd:
    """So many shards, and the post between them."""

    def __init__(self, folder: Path, shards: int) -> None:
        self.folder, self.shards = folder, shards
        size = (1 << 24) // (2 * shards)
        self.ranges = tuple((n * size, n % shards) for n in range(2 * shards))
        """Each shard has two ranges of the ring."""
        self.rows = [Rows() for _ in range(shards)]
        self.stations = [self.open(shard) for shard in range(shards)]

    def open(self, shard: int) -> CopyDetector:
        share = SketchShare(shard, self.ranges)
        return open_copy_detector(
            self.rows[shard], self.folder / str(shard), 5, share, is_synced=False
        )

    def owner(self, key: int) -> int:
        return max((first, shard) for first, shard in self.ranges if first <= key >> 40)[1]

    def judge(self, *items: CopyItem) -> None:
        for shard in range(self.shards):
            ours = [item for item in items if self.owner(item.key) == shard]
            self.deliver(shard, self.stations[shard].judge(ours))

    def deliver(self, shard: int, changes: CopyChanges) -> None:
        self.rows[shard].write(changes.rows)
        for to, parcel in changes.parcels:
            self.deliver(to, self.stations[to].judge((), [parcel]))

    def labels(self) -> dict[int, tuple[Level, int]]:
        found: dict[int, tuple[Level, int]] = {}
        for shard, rows in enumerate(self.rows):
            for key, label in read_labels(rows.scan(b"n")):
                assert self.owner(key) == shard, "a label lies where its page is at home"
                found[key] = (label.level, label.original)
        return found


def key(number: int) -> int:
    """Return a key whose ring point is anywhere."""
    return (number * 0x9E3779B97F4A7C15) & ((1 << 64) - 1)


def page(number: int, words: list[str], title: str = "") -> PageText:
    return PageText(
        key(number), f"h{number}.test", title or f"T{number}", " ".join(words).encode(), number
    )


def the_web() -> list[PageText]:
    originals = [page(n + 1, words, title=f"Text {n}") for n, words in enumerate(TEXTS)]
    copies = [page(100 + n, words, title="Mirror") for n, words in enumerate(TEXTS[:4])]
    near = [
        page(200 + n, changed(words, 3), title=f"text {n}") for n, words in enumerate(TEXTS[:8])
    ]
    similar = [page(300 + n, changed(words, 4, 2)) for n, words in enumerate(TEXTS[4:])]
    return [*originals, *copies, *near, *similar]


@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_any_number_of_shards_finds_the_same(tmp_path: Path, shards: int) -> None:
    crowd = Crowd(tmp_path, shards)
    for one in the_web():
        crowd.judge(one)
    assert crowd.labels() == {
        **{key(100 + n): (Level.EXACT, key(n + 1)) for n in range(4)},
        **{key(200 + n): (Level.DUPLICATE, key(n + 1)) for n in range(8)},
        **{key(300 + n): (Level.SIMILAR, key(n + 5)) for n in range(8)},
    }


def test_the_order_of_arrival_does_not_matter(tmp_path: Path) -> None:
    forth, back = Crowd(tmp_path / "f", 2), Crowd(tmp_path / "b", 2)
    for one in the_web():
        forth.judge(one)
    for one in reversed(the_web()):
        back.judge(one)
    assert back.labels() == forth.labels()


def test_a_station_that_was_closed_goes_on_where_it_was(tmp_path: Path) -> None:
    crowd = Crowd(tmp_path, 2)
    web = the_web()
    crowd.judge(*web[:12])
    crowd.stations = [crowd.open(shard) for shard in range(2)]
    crowd.judge(*web[12:])
    assert len(crowd.labels()) == 20


def test_what_comes_twice_changes_nothing(tmp_path: Path) -> None:
    crowd = Crowd(tmp_path, 2)
    crowd.judge(*the_web())
    labels = crowd.labels()
    crowd.judge(*the_web())
    assert crowd.labels() == labels


def test_counts_say_how_many_labels_there_are(tmp_path: Path) -> None:
    crowd = Crowd(tmp_path, 1)
    changes = crowd.stations[0].judge(the_web())
    assert changes.counts == {"exact": 4, "duplicate": 8, "similar": 8}
    assert len(changes.changed) == 20
    assert changes.parcels == []


def test_a_page_that_repeats_another_byte_for_byte_is_labelled_without_a_sketch(
    tmp_path: Path,
) -> None:
    crowd = Crowd(tmp_path, 2)
    crowd.judge(ExactCopy(key(9), 9.0, key(1)))
    assert crowd.labels() == {key(9): (Level.EXACT, key(1))}
    assert sum(station.pages for station in crowd.stations) == 0


def test_pages_without_words_are_nobodys_copies(tmp_path: Path) -> None:
    crowd = Crowd(tmp_path, 1)
    crowd.judge(page(1, ["--", "..."]), page(2, ["--", "..."]))
    assert crowd.labels() == {}


def test_a_label_can_be_read_by_others() -> None:
    assert CopyLabel(Level.EXACT, 4).is_better_than(CopyLabel(Level.DUPLICATE, 3))


def later(number: int, words: list[str], at: int, title: str = "") -> PageText:
    """Return a page that says something else since some second."""
    return replace(page(number, words, title), at=at, is_again=True)


@pytest.mark.parametrize("shards", [1, 2, 5])
def test_a_page_that_changes_loses_its_label_and_is_judged_anew(
    tmp_path: Path, shards: int
) -> None:
    crowd = Crowd(tmp_path, shards)
    crowd.judge(page(1, TEXTS[0]), page(2, TEXTS[0]), page(3, TEXTS[1]))
    assert crowd.labels() == {key(2): (Level.EXACT, key(1))}
    crowd.judge(later(2, TEXTS[5], 50))
    assert crowd.labels() == {}
    crowd.judge(later(2, TEXTS[1], 60))
    assert crowd.labels() == {key(2): (Level.EXACT, key(3))}


@pytest.mark.parametrize("shards", [1, 2, 5])
@pytest.mark.parametrize("is_gone", [False, True])
def test_a_page_that_changes_or_goes_is_nobodys_original_any_more(
    tmp_path: Path, shards: int, *, is_gone: bool
) -> None:
    crowd = Crowd(tmp_path, shards)
    crowd.judge(page(1, TEXTS[0]), page(2, TEXTS[0]), page(3, TEXTS[1]))
    crowd.judge(GonePage(key(1), 50.0) if is_gone else later(1, TEXTS[6], 50))
    assert crowd.labels() == {}, "its copies stand for themselves"
    crowd.stations = [crowd.open(shard) for shard in range(shards)]
    crowd.judge(page(70, TEXTS[0]), page(71, TEXTS[6]))
    assert crowd.labels().get(key(70), (None, None))[1] in {None, key(2)}
    assert (crowd.labels().get(key(71)) is None) is is_gone


def test_a_page_that_becomes_a_copy_byte_for_byte_is_one(tmp_path: Path) -> None:
    crowd = Crowd(tmp_path, 2)
    crowd.judge(page(1, TEXTS[0]), page(2, TEXTS[1]))
    crowd.judge(ExactCopy(key(2), 50.0, key(1), is_again=True))
    assert crowd.labels() == {key(2): (Level.EXACT, key(1))}
    crowd.judge(page(60, TEXTS[1]))
    assert key(60) not in crowd.labels()
