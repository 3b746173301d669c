"""What every source of unpacked bytes does: plain, gzip in several members, zstd."""

import gzip
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import zstandard

from gossamer.store.unpacking import DamagedError, Unpacked

LINES = [b"line %d of the file\n" % number for number in range(20_000)]
CONTENT = b"".join(LINES)
PACKINGS = {
    "plain": lambda content: content,
    "gzip": gzip.compress,
    "members": lambda content: gzip.compress(content[:777]) + gzip.compress(content[777:]),
    "zstd": zstandard.ZstdCompressor().compress,
}


@pytest.fixture(params=PACKINGS)
def packing(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def file(packing: str, tmp_path: Path) -> Iterator[Unpacked]:
    path = tmp_path / "file"
    path.write_bytes(PACKINGS[packing](CONTENT))
    opened = Unpacked(str(path))
    yield opened
    opened.close()


def test_all_bytes_come_once_and_then_none(file: Unpacked) -> None:
    taken = [file.take(9999) for _ in range(60)]
    assert b"".join(taken) == CONTENT
    assert file.take(1) == b""
    assert file.at == len(CONTENT)


def test_looking_ahead_takes_nothing(file: Unpacked) -> None:
    assert file.peek(300_000) == CONTENT[:300_000]
    assert file.at == 0
    assert file.take(10) == CONTENT[:10]


def test_lines_come_whole(file: Unpacked) -> None:
    assert [file.take_line(100) for _ in LINES] == LINES
    assert file.take_line(100) == b""


def test_what_is_passed_over_counts(file: Unpacked) -> None:
    assert file.skip(123_456) == 123_456
    assert file.take(5) == CONTENT[123_456:123_461]
    assert file.skip(1 << 30) == len(CONTENT) - 123_461
    assert file.at == len(CONTENT)


def test_an_empty_file_has_nothing(packing: str, tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.write_bytes(PACKINGS[packing](b""))
    with closing(Unpacked(str(path))) as file:
        assert file.take(1) == b""


def test_a_torn_file_gives_what_is_whole_or_says_that_it_is_damaged(
    packing: str, tmp_path: Path
) -> None:
    path = tmp_path / "torn"
    packed = PACKINGS[packing](CONTENT)
    path.write_bytes(packed[: len(packed) // 2])
    taken = []
    with closing(Unpacked(str(path))) as file:
        try:
            while piece := file.take(1000):
                taken.append(piece)
        except DamagedError:
            assert packing != "plain"
    assert CONTENT.startswith(b"".join(taken))
