"""Labels of a shard's own pages: the better one counts, and a worn-out title proves nothing."""

from collections.abc import Iterator, Sequence

import numpy as np

from gossamer.dedupe import Label, Level, decode_label, label_key, read_labels, root_of
from gossamer.dedupe.book import Book
from gossamer.model import Row

HOST, TITLE = 77, 991


class Rows:
    """The state, as far as a book needs it."""

    def __init__(self) -> None:
        self.held: dict[bytes, bytes] = {}

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.held.get(key) for key in keys]

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return iter(sorted(row for row in self.held.items() if row[0].startswith(prefix)))

    def write(self, rows: list[Row]) -> None:
        for key, value in rows:
            if value is None:
                self.held.pop(key, None)
            else:
                self.held[key] = value

    def label(self, key: int) -> Label | None:
        value = self.held.get(label_key(key))
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
    label = rows.label(key)
    return None if label is None else label.level


def test_a_label_says_all_that_was_found() -> None:
    rows = Rows()
    book = Book(rows)
    book.take(labels((2, 1)))
    rows.write(book.rows())
    expected = Label(Level.DUPLICATE, 1, 58, 100, 50, HOST, TITLE)
    assert list(read_labels(rows.scan(b"n"))) == [(2, expected)]
    assert (book.counts, book.changed) == ({"duplicate": 1}, {2: Level.DUPLICATE})


def test_the_stronger_label_counts_then_the_older_original() -> None:
    rows = Rows()
    for given, level in (((2, 9), 1), ((2, 8), 2), ((2, 9), 2), ((2, 7), 1), ((2, 7), 2)):
        book = Book(rows)
        book.take(labels(given, level=level))
        rows.write(book.rows())
    assert rows.label(2) == Label(Level.DUPLICATE, 7, 58, 100, 50, HOST, TITLE)


def test_a_label_of_a_later_version_replaces_any_of_an_earlier_one() -> None:
    rows = Rows()
    book = Book(rows)
    book.take(labels((2, 1), level=3, at=100))
    book.take(labels((2, 5), level=1, at=101))
    book.take(labels((2, 4), level=3, at=99))
    assert book.label(2) == Label(Level.SIMILAR, 5, 58, 101, 50, HOST, TITLE)
    assert book.counts == {"exact": 0, "similar": 1}
    book.renew(2, at=101)
    assert book.label(2) is not None
    book.renew(2, at=102)
    assert book.label(2) is None
    assert book.counts == {"exact": 0, "similar": 0}


def test_a_title_of_more_than_20_pages_of_a_host_proves_nothing() -> None:
    rows = Rows()
    book = Book(rows)
    book.note_titles(records(*range(1, 21)))
    book.take(labels((2, 1), (3, 1)))
    rows.write(book.rows())
    assert level(rows, 2) is Level.DUPLICATE
    later = Book(rows)
    later.note_titles(records(21))
    later.take(labels((21, 1)))
    rows.write(later.rows())
    assert [level(rows, key) for key in (2, 3, 21)] == [Level.SIMILAR] * 3
    assert later.counts == {"duplicate": -2, "similar": 3}


def test_the_same_title_elsewhere_and_the_same_page_again_do_not_wear_it_out() -> None:
    rows = Rows()
    book = Book(rows)
    for _ in range(30):
        book.note_titles(records(1))
    book.note_titles(records(*range(100, 130), host=HOST + 1))
    book.take(labels((2, 1)))
    assert book.changed == {2: Level.DUPLICATE}


def test_an_exact_copy_needs_no_title() -> None:
    rows = Rows()
    book = Book(rows)
    book.note_titles(records(*range(1, 40)))
    book.take(labels((2, 1), level=3))
    assert book.changed == {2: Level.EXACT}


def test_a_copy_of_a_copy_stands_for_the_original() -> None:
    found = {
        3: Label(Level.DUPLICATE, 2),
        2: Label(Level.EXACT, 1),
        1: Label(Level.SIMILAR, 9),
        5: Label(Level.DUPLICATE, 6),
        6: Label(Level.DUPLICATE, 5),
    }
    assert [root_of(key, found.get) for key in (3, 2, 1, 9)] == [1, 1, 1, 9]
    assert root_of(5, found.get) in {5, 6}, "a circle has an end"
