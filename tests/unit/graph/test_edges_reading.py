"""Edge lists: every way to write a line, and one clear sentence for a line that is none."""

import gzip
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import CannotGoOn, ConfigError
from gossamer.graph.edges import lines, reading
from gossamer.graph.edges import text_kernels as kernels


def written(folder: Path, content: bytes, name: str = "edges.txt") -> str:
    path = folder / name
    path.write_bytes(content)
    return str(path)


def numbers(name: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for pairs in reading.number_pairs(name):
        found += zip(pairs.sources.tolist(), pairs.targets.tolist(), strict=True)
    return found


def words(name: str) -> list[bytes]:
    return [word for pairs in reading.word_pairs(name) for word in pairs.words]


ODD = (
    b"\xef\xbb\xbf# a comment\n% another\n\n   \n0 1\n1\t2\r\n  3    4  \n"
    b"5 6 7 and more # words\n  # indented\n4294967294 0\n00012 1\n\t8\t9\t\n10 11"
)


def test_odd_lines_are_read_as_meant(tmp_path: Path) -> None:
    name = written(tmp_path, ODD)
    expected = [(0, 1), (1, 2), (3, 4), (5, 6), (4294967294, 0), (12, 1), (8, 9), (10, 11)]
    assert numbers(name) == expected
    assert [int(word) for word in words(name)] == [one for pair in expected for one in pair]


def test_nodes_and_lines_are_counted(tmp_path: Path) -> None:
    last = list(reading.number_pairs(written(tmp_path, b"# a\n7 3\n\n2 1\n")))[-1]
    assert (last.lines, last.nodes) == (4, 8)


@pytest.mark.parametrize(
    ("content", "number", "words"),
    [
        (b"1 2\n3\n", 2, "two numbers"),
        (b"1 2\n\n# c\n3 x4\n", 4, "--names"),
        (b"1 2\n3 4x\n", 2, "--names"),
        (b"1 -2\n", 1, "two numbers"),
        (b"1,2\n", 1, "two numbers"),
        (b"1.5 2\n", 1, "two numbers"),
        (b"0 1\n4294967295 1\n", 2, "4,294,967,294"),
        (b"0 99999999999999999999999999\n", 1, "4,294,967,294"),
        (b"0 \xff\xfe\n", 1, "two numbers"),
        (b"0 \x00\n", 1, "two numbers"),
    ],
)
def test_a_bad_line_is_named_and_shown(
    tmp_path: Path, content: bytes, number: int, words: str
) -> None:
    with pytest.raises(ConfigError, match=rf"edges.txt: line {number}: .*{words}.*found"):
        numbers(written(tmp_path, content))


def test_a_name_alone_on_its_line_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="line 3: expected two names, found 'c'"):
        words(written(tmp_path, b"a b\n\nc\n"))


def test_line_numbers_hold_across_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "chunks", lambda name: lines.chunks(name, 64))
    content = b"".join(b"%d %d\n" % (n, n + 1) for n in range(1000))
    assert numbers(written(tmp_path, content)) == [(n, n + 1) for n in range(1000)]
    with pytest.raises(ConfigError, match="line 1001: "):
        numbers(written(tmp_path, content + b"oops\n1 2\n"))
    with pytest.raises(ConfigError, match="line 1001: "):
        words(written(tmp_path, content + b"oops\n1 2\n"))


def test_packed_texts_are_known_by_their_first_bytes(tmp_path: Path) -> None:
    parts = [gzip.compress(b"1 2\n"), gzip.compress(b"3 4\n")]
    assert numbers(written(tmp_path, b"".join(parts), "a.gz")) == [(1, 2), (3, 4)]
    packer = zstandard.ZstdCompressor()
    frames = packer.compress(b"1 2\n3 ") + packer.compress(b"4\n")
    assert numbers(written(tmp_path, frames, "a.zst")) == [(1, 2), (3, 4)]


@pytest.mark.parametrize(
    "pack", [gzip.compress, zstandard.ZstdCompressor(write_checksum=True).compress]
)
def test_a_packed_text_that_is_cut_or_damaged_is_told(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    packed = pack(np.random.default_rng(1).bytes(4000).hex(" ").encode())
    for broken in (packed[:-300], packed[:900] + b"\x00" * 40 + packed[940:]):
        with pytest.raises(CannotGoOn, match="cannot decompress"):
            list(lines.chunks(written(tmp_path, broken)))


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    content = b"1 2\n" + b"9" * (3 * lines.CHUNK_BYTES)
    with pytest.raises(ConfigError, match="line 2 is longer than 1,048,576 bytes: is it text"):
        list(lines.chunks(written(tmp_path, content)))


def test_the_first_edge_decides_whether_nodes_have_names(tmp_path: Path) -> None:
    assert reading.has_numbers(written(tmp_path, b"# x y\n\n1 2\na b\n"))
    assert not reading.has_numbers(written(tmp_path, b"a 1\n1 2\n"))
    assert not reading.has_numbers(written(tmp_path, b"1 a\n"))
    assert reading.has_numbers(written(tmp_path, b"# nothing\n"))


def test_standard_input_is_read_like_a_file() -> None:
    script = "from gossamer.graph.edges.lines import chunks\nprint(b''.join(chunks('-')))"
    content = gzip.compress(b"1 2\n3 4")
    ended = subprocess.run(
        [sys.executable, "-c", script], input=content, capture_output=True, check=True
    )
    assert ended.stdout.strip() == b"b'1 2\\n3 4\\n'"


@given(st.binary(max_size=200))
def test_the_plain_function_never_leaves_its_arrays(content: bytes) -> None:
    """Run as Python, where an index too far raises."""
    chunk = content + b"\n"
    text = np.frombuffer(chunk, np.uint8)
    room = len(chunk) // 4 + 1
    found = np.zeros(room, np.uint32), np.zeros(room, np.uint32)
    told = np.array([0, 0, -1, 0], np.int64)
    end = kernels.parse_numbers(text, len(chunk), *found, told)
    if end == kernels.GOOD:
        assert told[kernels.LINES] == chunk.count(b"\n")
        assert told[kernels.PAIRS] <= room
    else:
        assert 0 <= told[kernels.PLACE] < len(chunk)
    spans = np.zeros(4 * chunk.count(b"\n"), np.int64)
    if kernels.find_words(text, len(chunk), spans, told) == kernels.GOOD:
        words = [line.split(None, 2)[:2] for line in chunk.split(b"\n")]
        expected = [pair for pair in words if pair and pair[0][:1] not in (b"#", b"%")]
        ends = spans[: 4 * int(told[kernels.PAIRS])].reshape(-1, 2).tolist()
        assert [chunk[a:b] for a, b in ends] == [word for pair in expected for word in pair]


@given(
    st.lists(
        st.tuples(
            st.integers(0, kernels.MOST_ID),
            st.integers(0, kernels.MOST_ID),
            st.sampled_from([b"\n", b"\r\n", b" \n", b"\tx y\n", b"\n\n#\n"]),
            st.sampled_from([b" ", b"\t", b" \t "]),
        )
    )
)
def test_any_numbers_are_read_back(edges: list[tuple[int, int, bytes, bytes]]) -> None:
    content = b"".join(b"%d%s%d%s" % (a, gap, b, end) for a, b, end, gap in edges)
    text = np.frombuffer(content or b"\n", np.uint8)
    room = len(text) // 4 + 1
    sources, targets = np.zeros(room, np.uint32), np.zeros(room, np.uint32)
    told = np.array([0, 0, -1, 0], np.int64)
    arrays = (sources.ctypes.data, targets.ctypes.data, told.ctypes.data)
    assert reading._native()["parse_numbers"](text.ctypes.data, len(text), *arrays) == kernels.GOOD
    pairs = int(told[kernels.PAIRS])
    found = list(zip(sources[:pairs].tolist(), targets[:pairs].tolist(), strict=True))
    assert found == [(a, b) for a, b, _, _ in edges]
    assert told[kernels.TOP] == max((n for a, b, _, _ in edges for n in (a, b)), default=-1)


def test_chunks_are_whole_lines_whatever_their_size() -> None:
    content = b"".join(b"line %d\n" % n for n in range(50)) + b"the last"
    for size in (1, 7, 64, 10_000):
        stream = io.BytesIO(content)
        found = list(lines.whole_lines(stream, size, "a text"))
        assert b"".join(found) == content + b"\n"
        assert all(chunk.endswith(b"\n") for chunk in found)
