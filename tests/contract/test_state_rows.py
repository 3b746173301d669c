"""What the rows of a state do for those who read them: RocksDB, and the dictionary of the tests.

The frontier, `why` and the labels of copies each ask for a part of this.
"""

from pathlib import Path

import pytest

from gossamer.store import State
from tests.unit.frontier.rows import DictRows

Rows = State | DictRows


@pytest.fixture(params=["rocksdb", "dictionary"])
def rows(request: pytest.FixtureRequest, tmp_path: Path) -> Rows:
    return State.open(tmp_path / "state") if request.param == "rocksdb" else DictRows()


SOME = [(b"qb", b"2"), (b"qa", b"1"), (b"r", b"3"), (b"q", b""), (b"q\xff", b"4"), (b"p\xff", b"5")]


def test_a_key_without_a_row_is_none_and_an_empty_value_is_not(rows: Rows) -> None:
    rows.write(SOME)
    assert rows.get(b"qc") is None
    assert rows.get(b"q") == b""
    assert rows.get(b"qa") == b"1"


def test_a_scan_gives_the_rows_of_a_prefix_in_the_order_of_bytes(rows: Rows) -> None:
    rows.write(SOME)
    expected = [(b"q", b""), (b"qa", b"1"), (b"qb", b"2"), (b"q\xff", b"4")]
    assert list(rows.scan(b"q")) == expected
    assert list(rows.scan(b"qa")) == [(b"qa", b"1")]
    assert list(rows.scan(b"x")) == []


def test_a_later_row_replaces_an_earlier_one_and_none_deletes(rows: Rows) -> None:
    rows.write(SOME)
    rows.write([(b"qa", b"new"), (b"qb", None), (b"nobody", None)])
    assert (rows.get(b"qa"), rows.get(b"qb")) == (b"new", None)
    rows.write([(b"qa", b"first"), (b"qa", None), (b"qa", b"last")])
    assert rows.get(b"qa") == b"last"
    rows.write([])


def test_a_scan_under_way_does_not_see_later_writes(rows: Rows) -> None:
    rows.write(SOME)
    scan = rows.scan(b"q")
    first = next(scan)
    rows.write([(b"qa", None), (b"qz", b"late")])
    keys = [first[0], *(key for key, _ in scan)]
    assert keys == [b"q", b"qa", b"qb", b"q\xff"]


def test_many_rows_are_asked_for_at_once_where_that_can_be_done(tmp_path: Path) -> None:
    state = State.open(tmp_path / "state")
    state.write(SOME)
    assert state.get_many([b"qb", b"nobody", b"q", b"qb"]) == [b"2", None, b"", b"2"]
    assert state.get_many([]) == []


def test_a_reader_of_a_folder_has_the_rows_of_its_writer(tmp_path: Path) -> None:
    state = State.open(tmp_path / "state")
    state.write(SOME)
    reader = State.open(tmp_path / "state", is_read_only=True)
    assert list(reader.scan(b"q")) == list(state.scan(b"q"))
    reader.close()
    state.close()
    state.close()
