"""Labels of a shard's own pages: the better one counts, and a common title proves nothing."""

import numpy as np

from gossamer.dedupe import CopyLabel, Level, decode_label, label_key, read_labels, root_of
from gossamer.dedupe.detector import LabelUpdates
from tests.unit.dedupe.rows import Rows

HOST, TITLE = 77, 991


def label_in(rows: Rows, key: int) -> CopyLabel | None:
    value = rows.held.get(label_key(key))
    return None if value is None else decode_label(value)


def records(*keys: int, title: int = TITLE, host: int = HOST) -> np.ndarray:
    found = np.zeros((len(keys), 14), np.uint64)
    found[:, 10], found[:, 11], found[:, 12] = title, host << 32 | 500, keys
    return found


def labels(
    *pairs: tuple[int, int], level: int = 2, at: int = 100, title: int = TITLE
) -> np.ndarray:
    rows = [(copy, o, at, level | 58 << 8 | HOST << 32, title, 50) for copy, o in pairs]
    return np.array(rows, np.uint64).reshape(-1, 6)


def level(rows: Rows, key: int) -> Level | None:
    label = label_in(rows, key)
    return None if label is None else label.level


def test_a_label_says_all_that_was_found() -> None:
    rows = Rows()
    updates = LabelUpdates(rows)
    updates.add_labels(labels((2, 1)))
    rows.write(updates.rows())
    expected = CopyLabel(Level.DUPLICATE, 1, 58, 100, 50, HOST, TITLE)
    assert list(read_labels(rows.scan(b"n"))) == [(2, expected)]
    assert (updates.counts, updates.changed_labels) == ({"duplicate": 1}, {2: Level.DUPLICATE})


def test_the_stronger_label_counts_then_the_older_original() -> None:
    rows = Rows()
    for given, level in (((2, 9), 1), ((2, 8), 2), ((2, 9), 2), ((2, 7), 1), ((2, 7), 2)):
        updates = LabelUpdates(rows)
        updates.add_labels(labels(given, level=level))
        rows.write(updates.rows())
    assert label_in(rows, 2) == CopyLabel(Level.DUPLICATE, 7, 58, 100, 50, HOST, TITLE)


def test_a_label_of_a_later_version_replaces_any_of_an_earlier_one() -> None:
    rows = Rows()
    updates = LabelUpdates(rows)
    updates.add_labels(labels((2, 1), level=3, at=100))
    updates.add_labels(labels((2, 5), level=1, at=101))
    updates.add_labels(labels((2, 4), level=3, at=99))
    assert updates.label(2) == CopyLabel(Level.SIMILAR, 5, 58, 101, 50, HOST, TITLE)
    assert updates.counts == {"exact": 0, "similar": 1}
    updates.mark_changed(2, at=101)
    assert updates.label(2) is not None
    updates.mark_changed(2, at=102)
    assert updates.label(2) is None
    assert updates.counts == {"exact": 0, "similar": 0}


def test_a_title_of_more_than_20_pages_of_a_host_proves_nothing() -> None:
    rows = Rows()
    updates = LabelUpdates(rows)
    updates.add_titles(records(*range(1, 21)))
    updates.add_labels(labels((2, 1), (3, 1)))
    rows.write(updates.rows())
    assert level(rows, 2) is Level.DUPLICATE
    later = LabelUpdates(rows)
    later.add_titles(records(21))
    later.add_labels(labels((21, 1)))
    rows.write(later.rows())
    assert [level(rows, key) for key in (2, 3, 21)] == [Level.SIMILAR] * 3
    assert later.counts == {"duplicate": -2, "similar": 3}


def test_the_same_title_elsewhere_and_the_same_page_again_do_not_make_it_common() -> None:
    rows = Rows()
    updates = LabelUpdates(rows)
    for _ in range(30):
        updates.add_titles(records(1))
    updates.add_titles(records(*range(100, 130), host=HOST + 1))
    updates.add_labels(labels((2, 1)))
    assert updates.changed_labels == {2: Level.DUPLICATE}


def test_an_exact_copy_needs_no_title() -> None:
    rows = Rows()
    updates = LabelUpdates(rows)
    updates.add_titles(records(*range(1, 40)))
    updates.add_labels(labels((2, 1), level=3))
    assert updates.changed_labels == {2: Level.EXACT}


def test_a_copy_of_a_copy_stands_for_the_original() -> None:
    found = {
        3: CopyLabel(Level.DUPLICATE, 2),
        2: CopyLabel(Level.EXACT, 1),
        1: CopyLabel(Level.SIMILAR, 9),
        5: CopyLabel(Level.DUPLICATE, 6),
        6: CopyLabel(Level.DUPLICATE, 5),
    }
    assert [root_of(key, found.get) for key in (3, 2, 1, 9)] == [1, 1, 1, 9]
    assert root_of(5, found.get) in {5, 6}, "a circle has an end"
