import json
from pathlib import Path

import pytest

from gossamer.cluster import Charter, Ring, read_charter, renew_charter, write_charter
from gossamer.errors import CannotGoOn, CorruptFile


def test_a_crawl_without_a_charter_has_one_shard(tmp_path: Path) -> None:
    assert read_charter(tmp_path / "shards.json") == Charter(shards=1)


@pytest.mark.parametrize(
    "charter",
    [
        Charter(shards=3),
        Charter(shards=2, moving_to=3, phase="copying"),
        Charter(shards=3, moving_to=1, phase="dropping"),
        Charter.of(Ring.even(2).resplit(3)),
        Charter.of(Ring.even(2)).moving(Ring.even(2).resplit(5), "copying"),
        Charter.of(Ring.even(3).resplit(2)).moving(Ring.even(4), "dropping"),
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


def with_states(folder: Path, *shards: int) -> Path:
    """Make a folder that has the states of these shards; return where its charter lies."""
    for shard in shards:
        (folder / "state" / f"{shard:02d}").mkdir(parents=True)
        (folder / "state" / f"{shard:02d}" / "CURRENT").touch()
    return folder / "state" / "shards.json"


@pytest.mark.slow
def test_a_charter_with_any_flipped_bit_or_cut_is_refused(tmp_path: Path) -> None:
    path = with_states(tmp_path, 0, 1)
    write_charter(path, Charter(shards=2))
    whole = path.read_bytes()
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(CorruptFile, match="gossamer build"):
            read_charter(path)
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(CorruptFile):
            read_charter(path)


def test_a_missing_charter_is_refused_beside_several_states(tmp_path: Path) -> None:
    assert read_charter(with_states(tmp_path / "one", 0)) == Charter()
    for name, shards in {"two": (0, 1), "last": (2,)}.items():
        with pytest.raises(CannotGoOn, match="is missing, but there are several states"):
            read_charter(with_states(tmp_path / name, *shards))


def older(shards: int, moving_to: int = 0, phase: str = "settled") -> bytes:
    """Return the file of a version that wrote no checksum."""
    return json.dumps({"shards": shards, "moving_to": moving_to, "phase": phase}).encode()


def test_a_charter_without_a_checksum_must_fit_the_states_that_are_there(tmp_path: Path) -> None:
    path = with_states(tmp_path, 0, 1)
    path.write_bytes(older(2))
    assert read_charter(path) == Charter(shards=2)
    for raw in (older(1), older(3), older(0), older(-2), older(2, 3), older(2, 0, "copying")):
        path.write_bytes(raw)
        with pytest.raises(CorruptFile, match="2 states"):
            read_charter(path)
    path.write_bytes(older(1, 2, "copying"))
    assert read_charter(path) == Charter(shards=1, moving_to=2, phase="copying")


def test_a_charter_of_an_older_version_gets_a_checksum_and_one_that_is_not_there_is_not_made(
    tmp_path: Path,
) -> None:
    path = with_states(tmp_path, 0, 1)
    renew_charter(path, Charter(shards=2))
    assert not path.exists()
    path.write_bytes(older(2))
    renew_charter(path, read_charter(path))
    assert "crc32" in json.loads(path.read_bytes())
    assert read_charter(path) == Charter(shards=2)


def test_equal_parts_in_order_are_written_as_older_versions_read_them(tmp_path: Path) -> None:
    path = tmp_path / "shards.json"
    write_charter(path, Charter.of(Ring.even(3)))
    found = json.loads(path.read_bytes())
    assert found.pop("crc32")
    assert found == {"shards": 3, "moving_to": 0, "phase": "settled"}
    assert read_charter(path).ring == Ring.even(3)


def test_a_split_that_an_older_version_began_is_into_equal_parts(tmp_path: Path) -> None:
    path = with_states(tmp_path, 0, 1)
    path.write_bytes(older(2, 3, "dropping"))
    charter = read_charter(path)
    assert (charter.ring, charter.next_ring) == (Ring.even(2), Ring.even(3))


def test_another_table_of_ranges_is_kept_and_refused_if_it_is_not_that_of_the_shards(
    tmp_path: Path,
) -> None:
    path = tmp_path / "shards.json"
    ring = Ring.even(2).resplit(3)
    write_charter(path, Charter.of(ring))
    assert read_charter(path).ring == ring
    for ranges in (((0, 0), (5, 1)), ((0, 0), (5, 1), (4, 2)), ((1, 0), (5, 1), (9, 2))):
        write_charter(path, Charter(shards=3, ranges=ranges))
        with pytest.raises(CorruptFile, match="not those of its shards"):
            read_charter(path)
