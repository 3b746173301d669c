"""Archive files that are in the object store only: read by ranges, of which few are kept."""

import os
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from store_samples import Shard, pages

from gossamer.errors import CannotGoOn
from gossamer.store import (
    CrawlFolder,
    Objects,
    Record,
    ShippedFile,
    bring_whole,
    far,
    iter_links,
    note_far,
    open_archive,
    read_record,
    readable_records,
    record_ids,
)
from gossamer.store.far import BLOCK_BYTES, FarFile

NAME = "pages-00-0001-00000.warc.gz"


class Remote:
    """A store that is a folder, and a crawl's folder beside it."""

    def __init__(self, base: Path) -> None:
        self.url = f"file://{base}/store"
        self.objects = Objects(self.url, is_made=True)
        self.folder = CrawlFolder(base / "crawl")
        self.folder.archive.mkdir(parents=True)
        self.asked: list[tuple[str, int, int]] = []
        far._objects_at.cache_clear()

    def take(self, name: str, *contents: bytes) -> Path:
        """Let a file be in the store only, as one object or in stretches; return its place."""
        files = []
        for number, content in enumerate(contents):
            where = f"archive/{name}" if len(contents) == 1 else f"archive/{name}/{number}"
            self.objects.put(where, content)
            digest = blake2b(content, digest_size=16).hexdigest()
            files.append(ShippedFile(where, len(content), digest))
        note_far(self.folder, self.url, {name: files})
        return self.folder.archive_path(name)

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Note what is asked of the store."""
        piece = Objects.piece

        def noted(objects: Objects, name: str, start: int, length: int) -> bytes:
            self.asked.append((name, start, length))
            return piece(objects, name, start, length)

        monkeypatch.setattr(Objects, "piece", noted)


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path)


def noise(length: int, seed: int = 1) -> bytes:
    return Random(seed).randbytes(length)


def kept(folder: CrawlFolder) -> int:
    """Return how much of the store is on this disk."""
    return sum(one.stat().st_blocks * 512 for one in folder.far.iterdir())


def test_a_file_is_found_and_is_as_long_as_it_is_though_nothing_of_it_is_here(
    remote: Remote,
) -> None:
    path = remote.take(NAME, noise(1_000_000))
    assert (path.exists(), path.stat().st_size) == (True, 1_000_000)
    assert [one.file_name for one in remote.folder.archive_names()] == [NAME]
    assert (remote.folder.has_archive(), remote.folder.is_far(NAME)) == (True, True)
    assert path.stat().st_blocks == 0
    (remote.folder.archive / NAME).write_bytes(b"here")
    assert remote.folder.archive_path(NAME).read_bytes() == b"here"
    assert not remote.folder.is_far(NAME)


@pytest.mark.parametrize("cuts", [(), (1,), (131_072, 131_073, 700_000)])
def test_any_bytes_of_it_are_those_of_the_file(remote: Remote, cuts: tuple[int, ...]) -> None:
    content = noise(1_234_567)
    edges = [0, *cuts, len(content)]
    path = remote.take(NAME, *(content[a:b] for a, b in pairwise(edges)))
    dice = Random(5)
    for _ in range(2):  # fetched, then from the disk
        with open_archive(path) as file:
            for _ in range(200):
                at, length = dice.randrange(1_300_000), dice.choice([1, 100, 5000, 300_000])
                file.seek(at)
                assert file.read(length) == content[at : at + length]
            assert file.seek(0, os.SEEK_END) == len(content)
            file.seek(0)
            parts = iter(lambda: file.read(100_000), b"")
            assert b"".join(parts) == content


def test_what_was_read_is_not_fetched_again_and_a_walk_fetches_more_at_a_time(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = noise(40 * BLOCK_BYTES + 7)
    path = remote.take(NAME, content)
    remote.watch(monkeypatch)
    with open_archive(path) as file:
        assert b"".join(iter(lambda: file.read(BLOCK_BYTES), b"")) == content
    blocks = [-(-length // BLOCK_BYTES) for _, _, length in remote.asked]
    assert blocks[:5] == [1, 2, 4, 8, 16]
    assert sum(length for _, _, length in remote.asked) == len(content)
    remote.asked.clear()
    with open_archive(path) as file:
        assert b"".join(iter(lambda: file.read(BLOCK_BYTES), b"")) == content
    assert remote.asked == []


def test_a_file_that_grows_is_read_to_its_new_end(remote: Remote) -> None:
    content = noise(3 * BLOCK_BYTES + 5000)
    for end in (1000, BLOCK_BYTES + 1, len(content)):
        edges = [0, 1000, BLOCK_BYTES + 1, len(content)]
        edges = edges[: edges.index(end) + 1]
        path = remote.take(NAME, *(content[a:b] for a, b in pairwise(edges)), b"")
        with open_archive(path) as file:
            assert file.read(10**6) == content[:end]


def test_stretches_that_became_one_object_are_found_in_the_newest_checkpoint_or_told(
    remote: Remote,
) -> None:
    path = remote.take(NAME, b"a" * 10, b"b" * 10)
    remote.objects.delete([f"archive/{NAME}/1"])
    with (
        open_archive(path) as file,
        pytest.raises(CannotGoOn, match=r"objects of pages-00.* are missing"),
    ):
        file.read(20)


def test_records_are_read_as_from_the_archive_folder(tmp_path: Path, remote: Remote) -> None:
    shard = Shard(tmp_path / "other", file_bytes=20_000)
    for number in range(4):
        shard.commit(pages(3, first=3 * number))
    shard.die()
    local = shard.folder

    def seen(folder: CrawlFolder) -> list[object]:
        found: list[object] = []
        for name in folder.archive_names():
            found += list(readable_records(folder.archive_path(name.file_name)))
            ids = list(record_ids(folder.archive_path(name.file_name)))
            found += [ids, *(read_record(folder, ref) for _, ref in ids)]
        return [*found, *((ref, one.url) for ref, one in iter_links(folder))]

    expected = seen(local)
    assert sum(isinstance(one, Record) for one in expected) > 20
    for name in local.archive_names():
        content = local.archive_path(name.file_name).read_bytes()
        remote.take(name.file_name, content[:100], content[100:])
    assert seen(remote.folder) == expected


def test_no_more_is_kept_than_may_be(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(far, "LOOK_AGAIN_BYTES", 4 * BLOCK_BYTES)
    monkeypatch.setenv("GOSSAMER_CACHE_BYTES", str(24 * BLOCK_BYTES))
    files = {f"pages-00-0001-{n:05}.warc.gz": noise(10 * BLOCK_BYTES, n) for n in range(6)}
    for name, content in files.items():
        path = remote.take(name, content)
        with open_archive(path) as file:
            assert b"".join(iter(lambda: file.read(BLOCK_BYTES), b"")) == content
        assert kept(remote.folder) <= 24 * BLOCK_BYTES + 50_000
    assert kept(remote.folder) > 8 * BLOCK_BYTES
    for name, content in files.items():
        with open_archive(remote.folder.archive_path(name)) as file:
            assert file.read(len(content)) == content


def test_what_somebody_reads_stays(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(far, "LOOK_AGAIN_BYTES", BLOCK_BYTES)
    monkeypatch.setenv("GOSSAMER_CACHE_BYTES", str(12 * BLOCK_BYTES))
    first, second = noise(10 * BLOCK_BYTES, 1), noise(10 * BLOCK_BYTES, 2)
    one = remote.take(NAME, first)
    two = remote.take("pages-00-0001-00001.warc.gz", second)
    with open_archive(one) as reading:
        assert reading.read(len(first)) == first
        with open_archive(two) as file:
            assert file.read(len(second)) == second
        reading.seek(0)
        assert reading.read(len(first)) == first


def test_where_nothing_can_be_kept_everything_is_read_all_the_same(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_CACHE_BYTES", "0")
    content = noise(5 * BLOCK_BYTES)
    path = remote.take(NAME, content)
    with open_archive(path) as file:
        assert file.read(len(content)) == content
    assert path.stat().st_blocks == 0
    with pytest.raises(CannotGoOn, match="no room for it"):
        bring_whole(path)


def test_a_whole_file_can_be_brought_for_those_who_need_a_path(remote: Remote) -> None:
    content = noise(2 * BLOCK_BYTES + 3)
    assert bring_whole(remote.take(NAME, content)).read_bytes() == content


def test_blocks_of_another_boot_do_not_count(remote: Remote) -> None:
    content = noise(2 * BLOCK_BYTES)
    path = remote.take(NAME, content)
    with open_archive(path) as file:
        file.read(len(content))
    blocks = path.with_name(f"{NAME}.blocks")
    blocks.write_bytes(b"x" + blocks.read_bytes()[1:])
    os.truncate(path, 0)  # as a power loss may leave it
    os.truncate(path, len(content))
    with open_archive(path) as file:
        assert file.read(len(content)) == content


def test_blocks_of_a_file_that_was_removed_half_way_do_not_count(remote: Remote) -> None:
    content = noise(2 * BLOCK_BYTES)
    path = remote.take(NAME, content)
    with open_archive(path) as file:
        file.read(len(content))
    path.unlink()  # a kill in the middle of a removal leaves the list of blocks
    with FarFile(path) as file:
        file.seek(BLOCK_BYTES)
        assert file.read(BLOCK_BYTES) == content[BLOCK_BYTES:]
    assert not path.exists()
    remote.take(NAME, content)
    with open_archive(path) as file:
        assert file.read(len(content)) == content


def test_a_store_that_is_away_is_told_in_one_line(remote: Remote, tmp_path: Path) -> None:
    path = remote.take(NAME, noise(1000))
    (tmp_path / "store").rename(tmp_path / "elsewhere")
    with open_archive(path) as file, pytest.raises(CannotGoOn, match="store"):
        file.read(10)
    assert isinstance(open_archive(path), FarFile)
