"""An index says what its archive says: built anew, brought up to date, in any number of shards."""

import fcntl
import shutil
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from laboratory.archived import archive_urls
from msgspec.structs import replace

from gossamer.clock import SystemClock
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.model import BuildStep
from gossamer.ranks import write_ranks
from gossamer.search import has_index
from gossamer.search.build import IndexOptions, build_index, follow
from gossamer.search.build.place import place_of
from gossamer.search.manifest import index_folder, read_manifest, write_manifest
from gossamer.urls import fingerprint_of
from tests.unit.search.pages_archive import (
    PagesArchive,
    having,
    index_urls,
    page,
    shards_of,
    urls_in,
)

A, B, C, D = (f"http://{name}.test/" for name in "abcd")
KEPT = IndexOptions(news_share=1e9)
"""News are added in place, however much it is."""


@pytest.fixture
def archive(tmp_path: Path) -> PagesArchive:
    return PagesArchive(tmp_path / "crawl")


def test_pages_are_found_by_what_they_say(archive: PagesArchive) -> None:
    archive.write([page(A, "zebras graze"), page(B, None), page(C, "lions hunt")])
    facts = build_index(archive.root)
    assert (facts.did, facts.pages, facts.added) == ("full", 3, 3)
    assert index_urls(archive.root) == [A, B, C]
    assert having(archive.root, "main", "lions") + having(archive.root, "rest", "lions") == [C]


def test_whether_there_is_an_index_may_be_asked_with_a_text(archive: PagesArchive) -> None:
    archive.write([page(A, "zebras")])
    assert not has_index(str(archive.root))
    build_index(archive.root)
    assert has_index(str(archive.root))
    assert has_index(archive.root)


def test_nothing_is_done_when_nothing_is_new(archive: PagesArchive) -> None:
    archive.write([page(A, "zebras")])
    generation = build_index(archive.root).generation
    facts = build_index(archive.root)
    assert (facts.did, facts.added, facts.generation) == ("nothing", 0, generation)


def test_what_is_new_is_added_in_place_and_what_is_gone_is_taken_out(
    archive: PagesArchive,
) -> None:
    archive.write([page(A, "zebras"), page(B, "lions"), page(C, "apes")])
    born = build_index(archive.root, KEPT).generation
    archive.write(
        [
            page(A, "giraffes", at=2),
            page(B, None, at=2, outcome="gone"),
            page(C, None, at=2, outcome="redirected", detail=D),
            page(D, "hippos", at=2),
        ]
    )
    facts = build_index(archive.root, KEPT)
    assert (facts.did, facts.pages, facts.added, facts.deleted) == ("news", 2, 2, 2)
    assert index_urls(archive.root) == [A, D]
    assert having(archive.root, "rest", "zebra") == having(archive.root, "main", "zebra") == []
    manifest = read_manifest(index_folder(archive.root))
    assert manifest is not None
    assert (manifest.born, manifest.generation) == (born, born + 1)


@pytest.mark.parametrize("outcome", ["unchanged", "failed", "refused"])
def test_a_look_that_tells_nothing_new_changes_nothing(outcome: str, archive: PagesArchive) -> None:
    archive.write([page(A, "zebras")])
    build_index(archive.root, KEPT)
    archive.write([page(A, None, at=2, outcome=outcome)])
    assert build_index(archive.root, KEPT).pages == 1
    assert build_index(archive.root, replace(KEPT, is_full=True)).pages == 1


def test_pages_that_ask_to_be_left_out_are_left_out_and_told(archive: PagesArchive) -> None:
    archive.write([page(A, "zebras", robots=("noindex",)), page(B, "lions", robots=("none",))])
    archive.write([page(C, "apes", robots=("nofollow",))])
    facts = build_index(archive.root, KEPT)
    assert (index_urls(archive.root), facts.left_out) == ([C], {"noindex": 2})
    archive.write([page(C, "apes", at=2, robots=("noindex",)), page(A, "zebras", at=2)])
    assert build_index(archive.root, KEPT).deleted == 1
    assert index_urls(archive.root) == [A]


@pytest.mark.parametrize("is_full", [True, False])
def test_a_copy_says_what_its_original_says(is_full: bool, archive: PagesArchive) -> None:  # noqa: FBT001 - a parameter of the test
    archive.write([page(B, "other words")])
    build_index(archive.root, KEPT)
    archive.write([page(A, None, content="same", copy_of=C)], shard=0, epoch=2)
    archive.write([page(C, "unheard melodies", content="same")], shard=1, epoch=2)
    build_index(archive.root, replace(KEPT, is_full=is_full))
    found = having(archive.root, "rest", "melodi") + having(archive.root, "main", "melodi")
    found += having(archive.root, "rest", "melodies") + having(archive.root, "main", "melodies")
    assert sorted(set(found)) == [A, C]


def test_of_records_in_two_shards_the_newest_holds(archive: PagesArchive) -> None:
    archive.write([page(A, "young", at=9)], shard=0, epoch=2)
    archive.write([page(A, "old", at=3), page(B, "old", at=3)], shard=1, epoch=3)
    archive.write([page(B, None, at=9, outcome="gone")], shard=0, epoch=4)
    build_index(archive.root)
    assert index_urls(archive.root) == [A]
    assert sorted(
        having(archive.root, "rest", "young") + having(archive.root, "main", "young")
    ) == [A]


def test_a_text_that_belongs_to_no_page_is_passed_over(archive: PagesArchive) -> None:
    archive.append_text("nobody's words")
    archive.write([page(A, "zebras")])
    archive.append_text("nobody's words")
    build_index(archive.root, KEPT)
    archive.write([page(B, "lions")])
    assert build_index(archive.root, KEPT).did == "news"
    assert having(archive.root, "rest", "lions") + having(archive.root, "main", "lions") == [B]


def test_what_links_say_is_known_of_pages_that_come_later(archive: PagesArchive) -> None:
    archive.write([page(A, "see", (B, "striped horses"))])
    build_index(archive.root, KEPT)
    archive.write([page(B, "zebras", at=2)])
    build_index(archive.root, KEPT)
    assert having(archive.root, "anchors", "striped") + having(
        archive.root, "anchors", "stripe"
    ) == [B]


@pytest.mark.parametrize("partition", ["url", "host", "turn"])
@pytest.mark.parametrize("shards", [1, 3])
def test_a_page_is_in_one_shard_however_they_are_split(
    partition: str, shards: int, archive: PagesArchive
) -> None:
    urls = [f"http://host{n % 7}.test/{n}" for n in range(40)]
    archive.write([page(url, f"word{n}") for n, url in enumerate(urls)])
    options = replace(KEPT, shards=shards, partition=partition)
    build_index(archive.root, options)
    archive.write([page(url, "again", at=2) for url in urls[::3]])
    archive.write([page(url, None, at=3, outcome="gone") for url in urls[:5]])
    facts = build_index(archive.root, KEPT)
    assert (facts.did, facts.shards, facts.partition) == ("news", shards, partition)
    assert index_urls(archive.root) == sorted(urls[5:])
    held = [urls_in(shard) for shard in shards_of(archive.root)]
    assert len(held) == shards
    assert all(held)
    if partition == "host":
        hosts = [{url.split("/")[2] for url in part} for part in held]
        assert sum(map(len, hosts)) == 7


def test_another_way_to_split_builds_all_anew(archive: PagesArchive) -> None:
    archive.write([page(A, "zebras"), page(B, "lions")])
    build_index(archive.root, KEPT)
    assert build_index(archive.root, replace(KEPT, shards=2)).did == "full"
    assert build_index(archive.root, KEPT).did == "nothing"
    assert len(shards_of(archive.root)) == 2


def test_tiers_are_made_by_rank(archive: PagesArchive) -> None:
    urls = [f"http://host{n}.test/" for n in range(20)]
    archive.write([page(url, f"word{n}") for n, url in enumerate(urls)])
    tiers = replace(KEPT, high_share=0.25, shards=2)
    with pytest.raises(ConfigError, match="gossamer rank"):
        build_index(archive.root, tiers)
    (archive.root / "graph").mkdir()
    keys = np.array([fingerprint_of(url) for url in urls], np.uint64)
    write_ranks(archive.root / "graph" / "ranks", keys, np.arange(20, dtype=np.float64))
    assert build_index(archive.root, tiers).high_share == 0.25
    held = [set(urls_in(shard)) for shard in shards_of(archive.root)]
    assert held[0] | held[1] == {*urls[15:]}
    assert held[2] | held[3] == {*urls[:15]}
    archive.write([page(urls[3], "again", at=2), page(urls[17], "again", at=2), page(D, "new")])
    assert build_index(archive.root, KEPT).did == "news"
    assert index_urls(archive.root) == sorted([*urls, D])
    held = [set(urls_in(shard)) for shard in shards_of(archive.root)]
    assert D in held[2] | held[3], "a page without a rank is in the low tier"


def test_a_full_build_is_due_when_much_is_new(archive: PagesArchive) -> None:
    archive.write([page(f"{A}{n}", "some words") for n in range(50)])
    build_index(archive.root)
    archive.write([page(f"{B}{n}", "some words") for n in range(5)])
    assert build_index(archive.root).did == "news"
    archive.write([page(f"{C}{n}", "some words") for n in range(20)])
    assert build_index(archive.root).did == "full"
    assert build_index(archive.root).did == "nothing"


def test_an_index_of_another_version_is_built_again(archive: PagesArchive) -> None:
    archive.write([page(A, "zebras")])
    build_index(archive.root)
    index = index_folder(archive.root)
    manifest = read_manifest(index)
    assert manifest is not None
    write_manifest(index, replace(manifest, version=-1))
    assert build_index(archive.root).did == "full"


def test_an_archive_that_has_shrunk_is_read_again(archive: PagesArchive) -> None:
    archive.write([page(A, "zebras")])
    archive.write([page(B, "lions")], number=1)
    build_index(archive.root)
    for path in (archive.root / "archive").glob("*-00001.*"):
        path.unlink()
    assert build_index(archive.root).did == "full"
    assert index_urls(archive.root) == [A]


@pytest.mark.parametrize("name", ["anchors", "texts", "00/meta.json"])
def test_a_damaged_index_is_built_again_when_something_is_new(
    name: str, archive: PagesArchive
) -> None:
    archive.write([page(A, "zebras", (B, "more lions"), content="x"), page(C, "apes")])
    build_index(archive.root, KEPT)
    (index_folder(archive.root) / name).write_bytes(b"GOSSANCHrubbish of no use at all" * 3)
    archive.write([page(B, None, content="x", copy_of=A)])
    build_index(archive.root, KEPT)
    assert index_urls(archive.root) == [A, B, C]


def test_a_file_that_is_torn_is_read_as_far_as_it_is_whole(archive: PagesArchive) -> None:
    archive.write([page(A, "zebras"), page(B, "lions")])
    path = archive.root / "archive" / "links-00-0001-00000.warc.gz"
    path.write_bytes(path.read_bytes()[:-10])
    told: list[BuildStep] = []
    build_index(archive.root, None, told.append)
    assert index_urls(archive.root) == sorted(archive_urls(archive.root)) == [A]
    assert any(path.name in step.note for step in told)
    assert build_index(archive.root).pages == 1


def test_only_one_process_builds(archive: PagesArchive) -> None:
    archive.write([page(A, "zebras")])
    with ExitStack() as other:
        other.enter_context(place_of(archive.root).sole_builder())
        with pytest.raises(CannotGoOn, match="another process builds the index"):
            build_index(archive.root)
    assert build_index(archive.root).did == "full"


def test_a_folder_without_an_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a crawl"):
        build_index(tmp_path)


def test_a_whole_new_index_that_was_not_put_into_place_is_used(archive: PagesArchive) -> None:
    archive.write([page(A, "zebras")])
    build_index(archive.root)
    shutil.move(index_folder(archive.root), archive.root / "index.new")
    assert build_index(archive.root).did == "nothing"
    assert index_urls(archive.root) == [A]


def test_an_index_of_terms_is_built_in_full_whenever_something_is_new(
    archive: PagesArchive,
) -> None:
    archive.write([page(A, "zebras")])
    facts = build_index(archive.root, replace(KEPT, organisation="terms", shards=2))
    assert (facts.did, facts.organisation, facts.pages) == ("full", "terms", 1)
    archive.write([page(B, "lions")])
    facts = build_index(archive.root, KEPT)
    assert (facts.did, facts.organisation, facts.pages) == ("full", "terms", 2)
    assert build_index(archive.root, KEPT).did == "nothing"


def test_what_a_crawl_adds_is_taken_in_while_it_runs(archive: PagesArchive) -> None:
    archive.write([page(A, "zebras")])
    (archive.root / "lock").touch()
    waits = iter([[page(B, "lions")], [page(C, "apes"), page(B, None, at=2, outcome="gone")], []])
    with (archive.root / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        seen = []

        def wait(seconds: float) -> None:
            assert seconds > 0
            seen.append(index_urls(archive.root))
            turns = next(waits)
            archive.write(turns)
            if not turns:
                fcntl.flock(lock, fcntl.LOCK_UN)

        did = [facts.did for facts in follow(archive.root, KEPT, SystemClock(), wait)]
    assert seen == [[A], [A, B], [A, C]]
    assert did == ["full", "nothing", "news", "news", "nothing"]


@pytest.mark.parametrize("organisation", ["documents", "terms"])
def test_a_build_that_fails_lets_go_of_its_files_and_tells_the_first_error(
    organisation: str, archive: PagesArchive
) -> None:
    archive.write([page(A, "zebras"), page(B, "lions")])

    def fail(step: BuildStep) -> None:
        if step.doing == "finishing":
            raise RuntimeError("the first error")

    options = IndexOptions(organisation=organisation)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="the first error") as caught:
        build_index(archive.root, options, fail)
    assert caught.tb is not None  # and with it the frames, with all that they hold
    held = [str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    ours = [name for name in held if str(archive.root / "index") in name]
    assert [name for name in ours if "/anchors" not in name] == []
    assert build_index(archive.root, options).pages == 2
