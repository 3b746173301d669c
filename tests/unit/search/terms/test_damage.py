"""Whatever is in the files: an answer or a word about the damage, never a crash."""

import json
import random
from pathlib import Path

import pytest

from gossamer.errors import CannotGoOn, CorruptFile
from gossamer.search.messages import QueryFilters, ShardQuery
from gossamer.search.terms import TermIndexReader
from gossamer.search.terms.layout import FILE, UNSEALED
from gossamer.search.terms.loads import tally_of
from gossamer.search.terms.wire import Accumulators
from tests.unit.search.made import bonuses

from .small import by_terms, some_pages

ASKS = [
    ShardQuery(groups=(("w1",), ("w30",)), needed=2),
    ShardQuery(groups=(("w1",), ("w2",)), needed=1),
    ShardQuery(phrases=((("w1", "w2"),),)),
    ShardQuery(
        groups=(("w20",),), needed=1, filters=QueryFilters(sites=("h1.test",), in_url=("w1",))
    ),
]


def test_a_sealed_file_that_changed_is_named(tmp_path: Path) -> None:
    by_terms(tmp_path, some_pages(40), shards=1)
    sealed = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".json"]
    for path in sealed:
        content = path.read_bytes()
        for bad in (content[:-1], content + b"x", _flipped(content), None):
            if path.name in UNSEALED and bad is not None and len(bad) == len(content):
                continue
            path.unlink()
            if bad is not None:
                path.write_bytes(bad)
            with pytest.raises(CorruptFile, match=path.name):
                TermIndexReader(tmp_path)
            path.write_bytes(content)
    assert TermIndexReader(tmp_path).find(ASKS[1]).total > 0


@pytest.mark.parametrize(
    "lie", [{"tokens": [1, 2, 3]}, {"placed": {"w1": 9}}, {"pages": -1}, {"shards": 0}]
)
def test_a_set_that_cannot_be_is_none(tmp_path: Path, lie: dict[str, object]) -> None:
    by_terms(tmp_path, some_pages(40), shards=1)
    said = json.loads((tmp_path / FILE).read_bytes())
    (tmp_path / FILE).write_text(json.dumps({**said, **lie}))
    with pytest.raises(CannotGoOn, match="no index"):
        TermIndexReader(tmp_path)


def _flipped(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


@pytest.mark.slow
def test_damaged_lists_are_told_or_answered_from(tmp_path: Path) -> None:
    by_terms(tmp_path, some_pages(600), shards=1)
    path = tmp_path / "000001" / "00" / "postings"
    content, chance, told = path.read_bytes(), random.Random(3), 0
    for _ in range(80):
        bad = bytearray(content)
        start = chance.randrange(len(bad))
        for place in range(start, min(start + chance.choice([1, 4, 3000]), len(bad))):
            bad[place] = chance.choice([0, 127, 128, 255, chance.randrange(256)])
        path.write_bytes(bad)
        told += _is_told(tmp_path)
    assert told > 5


def _is_told(folder: Path) -> bool:
    """Ask everything; tell whether there was a word about damage."""
    try:
        reader = TermIndexReader(folder)
        for ask in ASKS:
            reader.near(reader.find(ask).candidates, bonuses(("w1", "w2"), ("w0", "w0", "w1")))
    except CorruptFile:
        return True
    return False


def test_damaged_pages_are_named(tmp_path: Path) -> None:
    reader = by_terms(tmp_path, some_pages(5), shards=1)
    found = reader.find(ASKS[1]).candidates
    path = tmp_path / "000001" / "stored"
    path.write_bytes(bytes(path.stat().st_size))
    with pytest.raises(CorruptFile, match="stored"):
        TermIndexReader(tmp_path).stored(found)


@pytest.mark.parametrize(
    "load",
    [
        Accumulators(b"\xff" * 12, b"", b"\1"),
        Accumulators(b"\x7f\x7f", b"", b"\1"),
        Accumulators(b"\0\0", b"1234", b"\1"),
        Accumulators(b"\0\0\0", b"", b"\1\1"),
        Accumulators(b"\x80", b"", b"\1"),
    ],
)
def test_a_message_that_makes_no_sense_is_refused(load: Accumulators) -> None:
    with pytest.raises(CannotGoOn, match="message"):
        tally_of(load, 100)
