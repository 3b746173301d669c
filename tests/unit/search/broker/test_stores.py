from pathlib import Path

import pytest
from msgspec.structs import replace
from obstore.store import MemoryStore

from gossamer.cli.main import exit_code
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.search.broker import open_reader
from gossamer.search.manifest import index_folder, read_manifest, write_manifest
from gossamer.search.messages import ShardQuery
from gossamer.search.page import Prepared
from gossamer.search.published import CachedIndex, publish
from gossamer.search.published.seal import SEAL
from gossamer.search.remote import ShardServer
from gossamer.store import Objects, is_store
from tests.unit.search.made import crawl_with_index, prepared, write_shard

RED = ShardQuery(groups=(("red",),), needed=1)


def pages(count: int) -> list[Prepared]:
    return [
        prepared(f"http://a.test/{n}", title="red", main="w " * n + "red") for n in range(count)
    ]


@pytest.fixture
def store(tmp_path: Path) -> str:
    (tmp_path / "store").mkdir()
    return f"file://{tmp_path}/store"


def test_a_published_index_answers_as_the_folder_does(tmp_path: Path, store: str) -> None:
    crawl = crawl_with_index(tmp_path / "crawl", pages(20), shards=2, high_share=0.5)
    sent = publish(index_folder(crawl), store)
    assert sent.sent == sent.files > 0
    here, there = open_reader(crawl), open_reader(store, cache=tmp_path / "cache")
    assert there.find(RED) == here.find(RED)
    assert there.stored(there.find(RED).candidates) == here.stored(here.find(RED).candidates)


def test_a_folder_to_publish_to_is_made_and_one_to_read_from_must_be_there(tmp_path: Path) -> None:
    crawl = crawl_with_index(tmp_path / "crawl", pages(3))
    store = f"file://{tmp_path}/not/yet"
    with pytest.raises(CannotGoOn, match="is no folder"):
        open_reader(store, cache=tmp_path / "cache")
    assert publish(index_folder(crawl), store).sent > 0
    assert open_reader(store, cache=tmp_path / "cache").find(RED).total == 3


def test_only_what_is_new_is_sent_and_fetched(tmp_path: Path, store: str) -> None:
    crawl = crawl_with_index(tmp_path / "crawl", pages(20))
    publish(index_folder(crawl), store)
    assert publish(index_folder(crawl), store).sent == 0
    reader = open_reader(store, cache=tmp_path / "cache")
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.store")}
    assert not reader.renew()
    write_shard(index_folder(crawl) / "00", [prepared("http://new.test/", title="red")])
    again = publish(index_folder(crawl), store)
    assert 0 < again.sent < again.files
    assert reader.renew()
    assert reader.find(RED).total == 21
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


@pytest.mark.slow
def test_what_two_seals_no_longer_name_is_deleted(tmp_path: Path, store: str) -> None:
    crawl = crawl_with_index(tmp_path / "crawl", pages(20), shards=1)
    cached = CachedIndex(store, tmp_path / "cache")
    counts = []
    for n in range(12):
        write_shard(index_folder(crawl) / "00", [prepared(f"http://n.test/{n}", title="red")])
        counts.append(publish(index_folder(crawl), store).deleted)
        assert cached.sync()
    assert sum(counts) > 0, "the engine merges segments after some commits"
    there = len(list((tmp_path / "store" / "files").rglob("*.*")))
    here = [p for p in cached.root.rglob("*.*") if p.parent.name == "00" and p.name != "meta.json"]
    assert len(here) == there


def test_a_store_without_an_index_says_how_to_make_one(tmp_path: Path, store: str) -> None:
    with pytest.raises(CannotGoOn, match=r"gossamer build DIR index --publish file://"):
        open_reader(store, cache=tmp_path / "cache")


@pytest.mark.parametrize("name", ["00/*.idx", "01/*.store"])
@pytest.mark.parametrize("damage", ["gone", "half", "turned"])
def test_a_damaged_or_half_uploaded_set_is_noticed(
    tmp_path: Path, store: str, name: str, damage: str
) -> None:
    crawl = crawl_with_index(tmp_path / "crawl", pages(20))
    publish(index_folder(crawl), store)
    (path,) = (tmp_path / "store" / "files").glob(name)
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(content[:-9] if damage == "half" else content[:-1] + b"\xaa")
    with pytest.raises(CannotGoOn, match="publish the index again"):
        open_reader(store, cache=tmp_path / "cache")
    path.write_bytes(content)
    assert open_reader(store, cache=tmp_path / "cache").find(RED).total == 20


@pytest.mark.slow
@pytest.mark.parametrize("name", ["seal.json", "files/00/*.idx"])
def test_a_file_without_end_is_given_up(tmp_path: Path, store: str, name: str) -> None:
    crawl = crawl_with_index(tmp_path / "crawl", pages(20))
    publish(index_folder(crawl), store)
    (path,) = (tmp_path / "store").glob(name)
    with path.open("r+b") as file:
        file.truncate(1 << 40)  # sparse
    with pytest.raises(CannotGoOn, match=r"damaged: more than \d+ bytes; publish the index again"):
        open_reader(store, cache=tmp_path / "cache")
    assert sum(file.stat().st_size for file in (tmp_path / "cache").rglob("*.*")) < 1 << 20


@pytest.mark.parametrize("turned", ["[", '{"version": 1}', None])
def test_a_damaged_seal_is_told(tmp_path: Path, store: str, turned: str | None) -> None:
    publish(index_folder(crawl_with_index(tmp_path / "crawl", pages(3))), store)
    seal = tmp_path / "store" / SEAL
    seal.write_text(turned or seal.read_text().replace('"shards":2', '"shards":1'))
    with pytest.raises(CannotGoOn, match=r"seal\.json is damaged"):
        open_reader(store, cache=tmp_path / "cache")


def test_names_in_a_seal_cannot_leave_the_folder(tmp_path: Path, store: str) -> None:
    publish(index_folder(crawl_with_index(tmp_path / "crawl", pages(3))), store)
    seal = tmp_path / "store" / SEAL
    seal.write_text(seal.read_text().replace('"files":{"00/', '"files":{"../'))
    with pytest.raises(CannotGoOn, match="damaged"):
        open_reader(store, cache=tmp_path / "cache")


def test_a_file_lost_from_the_cache_is_fetched_again(tmp_path: Path, store: str) -> None:
    publish(index_folder(crawl_with_index(tmp_path / "crawl", pages(3))), store)
    open_reader(store, cache=tmp_path / "cache")
    next(iter((tmp_path / "cache").rglob("*.idx"))).unlink()
    assert open_reader(store, cache=tmp_path / "cache").find(RED).total == 3


def test_an_index_is_published_and_searched_on_the_command_line(
    tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    file = tmp_path / "pages.jsonl"
    file.write_text('{"url": "http://a.test/", "title": "Moths", "text": "A moth."}')
    words = ["index", str(file), "--into", str(tmp_path / "others"), "--publish", store]
    assert exit_code(words) == 0
    assert exit_code(["search", store, "moth", "--urls"]) == 0
    assert "http://a.test/" in capsys.readouterr().out


def test_an_index_split_by_terms_is_refused(tmp_path: Path, store: str) -> None:
    crawl = crawl_with_index(tmp_path / "crawl", pages(3))
    manifest = read_manifest(index_folder(crawl))
    assert manifest is not None
    write_manifest(index_folder(crawl), replace(manifest, organisation="terms"))
    with pytest.raises(ConfigError, match="only an index split by documents"):
        publish(index_folder(crawl), store)
    with pytest.raises(CannotGoOn, match="split by terms"):
        open_reader(crawl)
    with pytest.raises(CannotGoOn, match="split by terms"):
        ShardServer(crawl).answer("", "", b"\x80")


def test_a_store_in_memory_will_do(tmp_path: Path) -> None:
    objects = Objects("memory:///", MemoryStore())
    crawl = crawl_with_index(tmp_path / "crawl", pages(3))
    publish(index_folder(crawl), "memory:///", objects)
    cached = CachedIndex("memory:///", tmp_path / "cache", objects)
    assert cached.sync()
    assert not cached.sync()
    assert open_reader(cached.root).find(RED).total == 3


def test_places_are_told_apart(tmp_path: Path) -> None:
    assert is_store("s3://bucket/prefix")
    assert not is_store("http://host/")
    assert not is_store("folder")
    with pytest.raises(ConfigError, match="s3://BUCKET/PREFIX"):
        open_reader("ftp://host/x", cache=tmp_path)
    with pytest.raises(ConfigError, match="found none"):
        open_reader([])
    with pytest.raises(CannotGoOn, match=r"gossamer build .* index"):
        open_reader(tmp_path)


def test_two_folders_are_one_index_together(tmp_path: Path) -> None:
    whole = crawl_with_index(tmp_path / "whole", pages(20))
    halves = [crawl_with_index(tmp_path / f"{n}", pages(20)[n::2]) for n in range(2)]
    one, both = open_reader(whole), open_reader(halves)
    assert {c.key for c in both.find(RED, is_exact=True).candidates} == {
        c.key for c in one.find(RED).candidates
    }


def test_what_is_open_answers_while_its_place_cannot_be_read(tmp_path: Path, store: str) -> None:
    publish(index_folder(crawl_with_index(tmp_path / "crawl", pages(20))), store)
    reader = open_reader(store, cache=tmp_path / "cache")
    (tmp_path / "store" / SEAL).unlink()
    assert not reader.renew()
    assert reader.find(RED).total == 20


def test_another_number_of_shards_is_taken_up(tmp_path: Path) -> None:
    crawl = crawl_with_index(tmp_path / "crawl", pages(20), shards=1)
    reader = open_reader(crawl)
    assert reader.find(RED).total == 20
    index_folder(crawl).rename(tmp_path / "old")
    crawl_with_index(crawl, pages(30), shards=3)
    assert reader.renew()
    assert reader.find(RED).total == 30
    assert not reader.renew()
