import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from gossamer.errors import Bug, CorruptFile
from gossamer.graph.names import UrlMap, UrlMapWriter, keys_of, layout, url_of, writer


def written(path: Path, keys: Sequence[bytes], batch: int = 1000) -> UrlMap:
    new = UrlMapWriter(path)
    for start in range(0, len(keys), batch):
        new.add(keys[start : start + batch])
    new.close()
    return UrlMap.open(path)


def all_keys(found: UrlMap) -> list[bytes]:
    return [key for batch in found.keys(0) for key in batch]


def some_urls(many: int) -> list[str]:
    """Return URLs in the order of their keys, of hosts of very different sizes."""
    drawn = random.Random(many)
    words = ["news", "about", "index", "article", "archive", "tag", "user", "2024", "p"]
    urls = set()
    while len(urls) < many:
        host = f"www{drawn.randrange(9)}.site{int(drawn.paretovariate(0.7)) % 500}.example"
        path = "/".join(drawn.choices(words, k=drawn.randrange(4)))
        urls.add(f"https://{host}/{path}/{drawn.randrange(10_000)}.html")
    keys = sorted(keys_of(urls))
    return [url_of(key) for key in keys]


@pytest.mark.parametrize("many", [1, 2, 15, 16, 17, 255, 256, 257, 4096, 4097, 9000])
def test_urls_and_numbers_lead_to_each_other(tmp_path: Path, many: int) -> None:
    urls = some_urls(many)
    found = written(tmp_path / "urls", keys_of(urls))
    assert len(found) == many
    assert found.urls(range(many)) == urls
    assert found.nodes(urls).tolist() == list(range(many))
    for node in range(0, many, 1 + many // 50):
        assert found.url(node) == urls[node]
        assert found.node(urls[node]) == node


def test_numbers_of_unknown_urls_are_told(tmp_path: Path) -> None:
    urls = some_urls(3000)
    found = written(tmp_path / "urls", keys_of(urls[::2]))
    assert found.nodes(urls).tolist() == [
        number // 2 if number % 2 == 0 else -1 for number in range(3000)
    ]
    for unknown in ("https://a.a/", "https://zzzz.zzzz/", "mailto:x", "", urls[1], urls[0] + "x"):
        assert found.node(unknown) is None


def test_an_empty_map_knows_nothing(tmp_path: Path) -> None:
    found = written(tmp_path / "urls", [])
    assert len(found) == 0
    assert found.node("https://example.org/") is None
    assert found.nodes([]).tolist() == []
    assert found.nodes(["https://example.org/"]).tolist() == [-1]
    assert found.urls([]) == []
    assert list(found.keys()) == []
    assert found.hosts()[0] == []
    assert found.span(b"org.") == (0, 0)


def test_keys_that_are_prefixes_of_each_other_are_told_apart(tmp_path: Path) -> None:
    keys = [b"a" * length for length in range(1, 600)]
    found = written(tmp_path / "urls", keys)
    assert [found.key(node) for node in range(599)] == keys
    assert found.nodes_of_keys(keys).tolist() == list(range(599))
    assert found.nodes_of_keys([b"", b"b", b"a" * 600, b"aab"]).tolist() == [-1] * 4


@pytest.mark.slow
def test_long_keys_are_kept_whole(tmp_path: Path) -> None:
    drawn = random.Random(5)
    keys = sorted(b"org.x/%d" % n + drawn.randbytes(8000).replace(b"\0", b"") for n in range(700))
    found = written(tmp_path / "urls", keys)
    assert all_keys(found) == keys
    assert [found.key(node) for node in range(700)] == keys
    assert found.nodes_of_keys(keys).tolist() == list(range(700))
    long = "https://x.org/" + "a" * 65_000
    found = written(tmp_path / "urls", keys_of(["https://x.org/" + "a" * 9, long]))
    assert found.urls([1, 0, 1])[0] == long


def test_keys_can_be_read_in_order_from_anywhere(tmp_path: Path) -> None:
    keys = keys_of(some_urls(5000))
    found = written(tmp_path / "urls", keys)
    for first, last in ((0, None), (0, 5000), (1, 2), (17, 4000), (4999, 9999), (7, 7), (9, 3)):
        batches = list(found.keys(first, last))
        assert [key for batch in batches for key in batch] == keys[first:last]
        assert all(batches)


def test_hosts_are_ranges_of_nodes(tmp_path: Path) -> None:
    urls = [
        "https://a.example/",
        "https://a.example/x",
        "http://a.example/y",
        "https://b.example:444/",
        "https://www.b.example/",
        "http://127.0.0.1:8100/x",
        "mailto:x@b.example",
        "ftp://b.example/",
    ]
    keys = sorted(keys_of(urls))
    names, firsts = written(tmp_path / "urls", keys).hosts()
    nodes = {url_of(key): node for node, key in enumerate(keys)}
    assert firsts.tolist() == sorted(firsts)
    assert firsts[-1] == len(keys)
    for name, first, last in zip(names, firsts[:-1].tolist(), firsts[1:].tolist(), strict=True):
        here = {url for url, node in nodes.items() if first <= node < last}
        rest = {"mailto:x@b.example", "ftp://b.example/"}
        assert here == ({url for url in urls if url.startswith(f"{name}/")} if name else rest)


def test_a_span_is_all_that_begins_so(tmp_path: Path) -> None:
    keys = keys_of(some_urls(3000))
    found = written(tmp_path / "urls", keys)
    for prefix in (
        b"",
        b"example.",
        b"example.site1.",
        b"example.site1.www2/",
        b"a",
        b"zz",
        b"\xff",
    ):
        first, last = found.span(prefix)
        assert keys[first:last] == [key for key in keys if key.startswith(prefix)]


def test_chapters_have_tables_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "CHAPTER_KEYS", 2 * writer.PAGE_KEYS)
    keys = keys_of(some_urls(5 * writer.PAGE_KEYS + 77))
    found = written(tmp_path / "urls", keys, 5000)
    assert all_keys(found) == keys
    drawn = np.random.default_rng(1).permutation(len(keys))
    assert (found.nodes_of_keys([keys[node] for node in drawn]) == drawn).all()


def test_the_same_keys_make_the_same_file(tmp_path: Path) -> None:
    keys = keys_of(some_urls(3000))
    written(tmp_path / "one", keys, 1000)
    written(tmp_path / "two", keys, 17)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("keys", [[b"b", b"a"], [b"a", b"a"], [b"a\0b"], [b""], [b"a", b""]])
def test_keys_that_cannot_be_told_apart_are_refused(tmp_path: Path, keys: list[bytes]) -> None:
    new = UrlMapWriter(tmp_path / "urls")
    new.add(keys)
    with pytest.raises(Bug):
        new.close()


def test_keys_must_ascend_from_batch_to_batch(tmp_path: Path) -> None:
    keys = [b"%08d" % number for number in range(writer.PAGE_KEYS)]
    new = UrlMapWriter(tmp_path / "urls")
    new.add(keys)
    with pytest.raises(Bug):
        new.add(keys)


def test_a_node_that_is_not_there_is_refused(tmp_path: Path) -> None:
    found = written(tmp_path / "urls", keys_of(some_urls(20)))
    for node in (-1, 20):
        with pytest.raises(IndexError):
            found.url(node)
        with pytest.raises(IndexError):
            found.urls([0, node])
    with pytest.raises(ValueError, match="zero"):
        found.nodes_of_keys([b"a\0b"])


def test_a_file_that_is_none_is_told(tmp_path: Path) -> None:
    path = tmp_path / "urls"
    for content in (b"", b"GOSSURLS", bytes(1000), b"x" * 64):
        path.write_bytes(content)
        with pytest.raises(CorruptFile):
            UrlMap.open(path)
    with pytest.raises(CorruptFile):
        UrlMap.open(tmp_path / "none")


def test_a_group_that_was_changed_is_told_and_the_others_are_served(tmp_path: Path) -> None:
    path = tmp_path / "urls"
    urls = some_urls(1000)
    written(path, keys_of(urls))
    content = bytearray(path.read_bytes())
    content[layout.HEADER_BYTES + 100] ^= 1
    path.write_bytes(content)
    found = UrlMap.open(path)
    for ask in (lambda: found.url(3), lambda: found.node(urls[3]), lambda: found.urls([3])):
        with pytest.raises(CorruptFile):
            ask()
    with pytest.raises(CorruptFile):
        list(found.keys())
    assert found.url(999) == urls[999]
    assert found.node(urls[999]) == 999


FUZZ = """
import random, sys
from pathlib import Path
from gossamer.errors import CorruptFile
from gossamer.graph.names import UrlMap, layout
from gossamer.graph.names.layout import Header, HEADER_BYTES
from tests.unit.graph.test_url_map import some_urls

path, damaged, is_sealed = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "sealed"
whole, urls, drawn = path.read_bytes(), some_urls(700), random.Random(3)
honest = layout.read_header(path, memoryview(whole))

def seal(content):
    # A hostile file: whatever it says, the checksum of its index agrees.
    fields = layout._FIELDS.unpack_from(content)[2:]
    header = Header(*fields)
    content[:HEADER_BYTES] = header.pack(header.checksum(bytes(content[header.data_end :])))

told = 0
for turn in range(400):
    content = bytearray(whole)
    for _ in range(drawn.choice((1, 1, 3, 30))):
        first = drawn.choice((8, HEADER_BYTES, honest.data_end))
        content[drawn.randrange(first, len(content))] = drawn.randrange(256)
    if turn % 10 == 0:
        del content[drawn.randrange(len(content)) :]
    if is_sealed and len(content) > HEADER_BYTES:
        seal(content)
    damaged.write_bytes(content)
    try:
        found = UrlMap.open(damaged)
    except CorruptFile:
        told += 1
        continue
    for ask, right in (
        (lambda: found.urls(range(len(urls))), urls),
        (lambda: found.nodes(urls).tolist(), list(range(len(urls)))),
        (lambda: found.nodes([url + "~" for url in urls]).tolist(), [-1] * len(urls)),
        (lambda: [found.url(node) for node in range(0, 700, 7)], urls[::7]),
        (lambda: [key for batch in found.keys() for key in batch], None),
        (lambda: found.hosts() and None, None),
    ):
        try:
            answer = ask()
        except (CorruptFile, *((ValueError, IndexError) if is_sealed else ())):
            told += 1
        else:
            assert is_sealed or right is None or answer == right
print("told", told)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "sealed"])
def test_no_damage_ends_the_process_or_gives_a_wrong_answer(tmp_path: Path, kind: str) -> None:
    """Of a file whose checksums were made to agree only the first half can be asked."""
    written(tmp_path / "urls", keys_of(some_urls(700)))
    command = [sys.executable, "-c", FUZZ, str(tmp_path / "urls"), str(tmp_path / "bad"), kind]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[1]) > 100
