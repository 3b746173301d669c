"""What a place for objects does, whichever store it is in."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from gossamer.errors import CannotGoOn
from gossamer.store import Objects
from tests.s3 import BUCKET


@pytest.fixture(params=["folder", "memory", "s3"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    if request.param == "s3":
        request.getfixturevalue("s3")
        return Objects(f"s3://{BUCKET}{tmp_path}")
    if request.param == "folder":
        return Objects(f"file://{tmp_path}/store", is_made=True)
    return Objects("memory:///", MemoryStore())


def test_what_is_put_is_read_and_replaced_as_a_whole(objects: Objects) -> None:
    objects.put("a/one", b"first, and longer")
    objects.put("a/one", b"second")
    assert objects.read("a/one") == b"second"
    assert objects.read("a/other") is None


def test_a_file_goes_there_and_back(objects: Objects, tmp_path: Path) -> None:
    (tmp_path / "here").write_bytes(b"x" * 100_000)
    objects.put("file", tmp_path / "here")
    assert objects.save("file", tmp_path / "back", 100_000)
    assert (tmp_path / "back").read_bytes() == b"x" * 100_000
    assert not objects.save("none", tmp_path / "none", 10)
    assert not (tmp_path / "none").exists()


def test_an_object_that_is_too_long_is_refused_and_leaves_no_file(
    objects: Objects, tmp_path: Path
) -> None:
    objects.put("long", b"x" * 1001)
    with pytest.raises(CannotGoOn, match="more than 1000 bytes"):
        objects.save("long", tmp_path / "long", 1000)
    assert not (tmp_path / "long").exists()


def test_names_are_those_below_a_prefix(objects: Objects) -> None:
    for name in ("a/one", "a/b/two", "c"):
        objects.put(name, b"")
    assert sorted(objects.names("a/")) == ["a/b/two", "a/one"]
    assert sorted(objects.names("")) == ["a/b/two", "a/one", "c"]


def test_what_is_gone_may_be_deleted_again(objects: Objects) -> None:
    objects.put("one", b"1")
    objects.delete(["one", "never"])
    objects.delete(["one"])
    assert objects.read("one") is None
    assert objects.names("") == []


def test_only_the_first_creates_an_object(objects: Objects) -> None:
    assert objects.create("one", b"mine")
    assert not objects.create("one", b"yours")
    assert objects.read("one") == b"mine"


def test_what_was_created_and_not_heard_of_is_still_ours(objects: Objects) -> None:
    objects.create("one", b"mine")
    assert objects.create("one", b"mine")


def test_of_many_who_create_an_object_at_once_one_wins(objects: Objects) -> None:
    with ThreadPoolExecutor(8) as threads:
        won = list(threads.map(lambda n: objects.create("one", b"%d" % n), range(8)))
    assert won.count(True) == 1
    assert objects.read("one") == b"%d" % won.index(True)


def test_ranges_end_where_an_object_ends(objects: Objects) -> None:
    objects.put("ten", b"0123456789")
    assert objects.read_range("ten", 2, 3) == b"234"
    assert objects.read_range("ten", 8, 100) == b"89"
    assert objects.read_range("ten", 10, 1) == b""
    assert objects.read_range("ten", 100, 1) == b""
    assert objects.read_range("none", 0, 1) is None


def test_what_is_there_is_known_with_its_size(objects: Objects) -> None:
    objects.put("three", b"123")
    assert objects.size("three") == 3
    assert objects.exists("three")
    assert objects.size("none") is None
    assert not objects.exists("none")
