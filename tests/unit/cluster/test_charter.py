from pathlib import Path

import pytest

from gossamer.cluster import Charter, read_charter, write_charter
from gossamer.errors import CorruptFile


def test_a_crawl_without_a_charter_has_one_shard(tmp_path: Path) -> None:
    assert read_charter(tmp_path / "shards.json") == Charter(shards=1)


@pytest.mark.parametrize(
    "charter",
    [
        Charter(shards=3),
        Charter(shards=2, moving_to=3, phase="copying"),
        Charter(shards=3, moving_to=1, phase="dropping"),
    ],
)
def test_what_was_written_is_read_again(charter: Charter, tmp_path: Path) -> None:
    path = tmp_path / "state" / "shards.json"
    write_charter(path, Charter(shards=7))
    write_charter(path, charter)
    assert read_charter(path) == charter
    assert [found.name for found in path.parent.iterdir()] == ["shards.json"]


def test_a_write_that_was_interrupted_leaves_the_old_charter(tmp_path: Path) -> None:
    path = tmp_path / "shards.json"
    write_charter(path, Charter(shards=2))
    path.with_suffix(".tmp").write_bytes(b'{"shards":')
    assert read_charter(path) == Charter(shards=2)
    write_charter(path, Charter(shards=3))
    assert read_charter(path) == Charter(shards=3)


@pytest.mark.parametrize(
    "damage", [b"", b"{", b'{"shards":"two"}', b'{"phase":"dreaming"}', b'{"shards":2,"more":1}']
)
def test_a_damaged_charter_is_named_and_never_guessed(damage: bytes, tmp_path: Path) -> None:
    path = tmp_path / "shards.json"
    path.write_bytes(damage)
    with pytest.raises(CorruptFile, match=r"shards\.json"):
        read_charter(path)
