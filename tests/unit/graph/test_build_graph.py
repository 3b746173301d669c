"""The graph of a crawl says what its links archive says, however it came to be."""

import fcntl
import os
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.clock import SystemClock
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.graph.build import GraphOptions, build_graph, follow, graph_folder, read_manifest
from gossamer.graph.build import builder as builder_module
from gossamer.graph.build.place import place_of
from gossamer.graph.connectivity import Connectivity
from gossamer.graph.kinds import Kind
from gossamer.model import BuildStep
from gossamer.store import FileRow, State, file_row
from tests.unit.graph.links_archive import LinksArchive, assert_says, links_of, page

A, B, C, D = (f"http://{name}.test/" for name in "abcd")
DELTA = GraphOptions(small_arcs=0, delta_share=1e9)
FOLD = GraphOptions(delta_share=0)


@pytest.fixture
def archive(tmp_path: Path) -> LinksArchive:
    return LinksArchive(tmp_path)


def commit(root: Path, path: Path, length: int, shard: int = 0) -> None:
    """Write down, as a crawl does, how much of a file counts."""
    state = State.open(root / "state" / f"{shard:02d}")
    key, value = file_row(path.name, FileRow(length, length))
    state.write([(key, value)])
    state.close()


def test_links_are_found_in_both_directions_with_their_kinds(archive: LinksArchive) -> None:
    archive.write([page(A, B, C, "nofollow " + D), page(B, "image " + C, C, A)])
    facts = build_graph(archive.root)
    assert (facts.did, facts.nodes, facts.arcs, facts.pages) == ("full", 4, 5, 2)
    graph = Connectivity.open(archive.root)
    assert graph.links_in(C) == [(A, Kind.LINK), (B, Kind.LINK | Kind.EMBED)]
    assert graph.links_in(D, Kind.LINK) == []
    assert graph.links_out(A, Kind.NOFOLLOW) == [(D, Kind.NOFOLLOW)]
    assert_says(archive.root, links_of(archive.root), ["http://e.test/"])


def test_the_files_of_all_shards_and_starts_are_read(archive: LinksArchive) -> None:
    archive.write([page(A, B)], shard=0)
    archive.write([page(B, C)], shard=1)
    archive.write([page(C, D)], shard=1, epoch=2)
    archive.write([page(D, A)], shard=0, number=1)
    build_graph(archive.root)
    assert_says(
        archive.root, {A: {B: Kind.LINK}, B: {C: Kind.LINK}, C: {D: Kind.LINK}, D: {A: Kind.LINK}}
    )


def test_a_page_that_asks_for_no_following_has_only_such_links(archive: LinksArchive) -> None:
    record = page(A, B, "image " + C)
    archive.write([replace(record, robots=("none",))])
    build_graph(archive.root)
    assert_says(archive.root, {A: {B: Kind.NOFOLLOW, C: Kind.EMBED}})


@pytest.mark.parametrize("options", [None, DELTA, FOLD], ids=["default", "delta", "fold"])
def test_the_newest_record_of_a_page_holds(
    archive: LinksArchive, options: GraphOptions | None
) -> None:
    archive.write([page(A, B, C, at=1), page(B, C, at=2), page(D, A, at=3)])
    build_graph(archive.root, options)
    archive.write(
        [
            page(A, D, at=4),
            page(A, at=5, outcome="unchanged"),
            page(B, at=6, outcome="gone"),
            page(D, at=7, outcome="failed"),
            page(C, at=8, outcome="refused"),
            page("http://e.test/", at=8, outcome="seed"),
        ]
    )
    build_graph(archive.root, options)
    others = [B, C, "http://e.test/"]
    assert_says(archive.root, {A: {D: Kind.LINK}, D: {A: Kind.LINK}}, others)


def test_of_records_of_two_shards_the_later_one_holds(archive: LinksArchive) -> None:
    archive.write([page(A, B, at=9)], shard=0)
    archive.write([page(A, C, at=5)], shard=1)
    build_graph(archive.root)
    assert_says(archive.root, {A: {B: Kind.LINK}}, [C])


def test_a_delta_lies_on_top_and_a_fold_takes_it_in(archive: LinksArchive) -> None:
    archive.write([page(A, B, C, at=1), page(B, A, at=2)])
    build_graph(archive.root, DELTA)
    archive.write([page(C, A, "http://aa.test/", at=3), page(A, "http://0.test/", at=4)])
    facts = build_graph(archive.root, DELTA)
    assert (facts.did, facts.records, facts.delta_pages) == ("delta", 2, 2)
    assert Connectivity.open(archive.root).stale == 2
    assert_says(archive.root, links_of(archive.root), ["http://e.test/"])
    archive.write([page(C, B, at=5), page(A, outcome="gone", at=6)])
    assert build_graph(archive.root, DELTA).delta_pages == 2
    assert_says(archive.root, links_of(archive.root), ["http://aa.test/", "http://0.test/"])
    facts = build_graph(archive.root, FOLD)
    assert (facts.did, facts.records, facts.delta_pages) == ("fold", 0, 0)
    assert_says(archive.root, links_of(archive.root), ["http://aa.test/", "http://0.test/"])
    assert sorted(path.name for path in graph_folder(archive.root).glob("delta*")) == []


def test_nothing_new_is_nothing_to_do(archive: LinksArchive) -> None:
    archive.write([page(A, B)])
    build_graph(archive.root)
    before = read_manifest(graph_folder(archive.root))
    assert build_graph(archive.root).did == "nothing"
    assert read_manifest(graph_folder(archive.root)) == before


def test_news_is_folded_in_when_it_is_much(archive: LinksArchive) -> None:
    options = GraphOptions(small_arcs=0, delta_share=0.1)
    urls = [f"http://a.test/{n}" for n in range(30)]
    archive.write([page(url, *urls) for url in urls])
    build_graph(archive.root, options)
    archive.write([page(B, *urls, at=1)])
    assert build_graph(archive.root, options).did == "delta"
    archive.write([page(C, *urls, at=1), page(D, *urls, at=1)])
    assert build_graph(archive.root, options).did == "delta"
    archive.write([page(A, *urls, at=2)])
    assert build_graph(archive.root, options).did == "fold"
    assert_says(archive.root, links_of(archive.root))


def test_other_options_build_all_anew(archive: LinksArchive) -> None:
    archive.write([page(A, B), page(B, "redirect " + C, outcome="redirected")])
    build_graph(archive.root)
    assert build_graph(archive.root, GraphOptions(redirects="follow")).did == "full"
    assert_says(archive.root, {A: {C: Kind.LINK}, B: {}})
    assert build_graph(archive.root).did == "full"
    assert_says(archive.root, {A: {B: Kind.LINK}, B: {C: Kind.REDIRECT}})
    assert build_graph(archive.root, GraphOptions(is_full=True)).did == "full"


def test_redirects_are_followed_to_their_ends_and_circles_are_left_alone(
    archive: LinksArchive,
) -> None:
    hops = [f"http://hop.test/{n}" for n in range(5)]
    chain = [page(one, "redirect " + other, outcome="redirected") for one, other in pairwise(hops)]
    circle = [
        page(B, "redirect " + C, outcome="redirected"),
        page(C, "redirect " + B, outcome="redirected"),
    ]
    archive.write([page(A, hops[0], hops[2], B, D), *chain, *circle])
    build_graph(archive.root, GraphOptions(redirects="follow"))
    expected = {A: {hops[4]: Kind.LINK, B: Kind.LINK, D: Kind.LINK}}
    expected |= {B: {C: Kind.REDIRECT}, C: {B: Kind.REDIRECT}}
    assert_says(archive.root, {**expected, **{hop: {} for hop in hops[:4]}})


def test_canonical_links_are_followed_by_choice(archive: LinksArchive) -> None:
    archive.write([page(A, B), page(B, "canonical " + C, D), page(C, "canonical " + C, A)])
    build_graph(archive.root, GraphOptions(canonical="follow"))
    expected = {A: {C: Kind.LINK}, B: {D: Kind.LINK}}
    assert_says(archive.root, {**expected, C: {C: Kind.CANONICAL, A: Kind.LINK}})


def test_a_chain_that_changes_later_is_followed_anew(archive: LinksArchive) -> None:
    options = GraphOptions(redirects="follow")
    archive.write([page(A, B, at=1), page(B, "redirect " + C, outcome="redirected", at=2)])
    build_graph(archive.root, options)
    archive.write([page(B, "redirect " + D, outcome="redirected", at=3)])
    assert build_graph(archive.root, options).did == "full"
    assert_says(archive.root, {A: {D: Kind.LINK}, B: {}}, [C])


def test_a_torn_tail_is_not_read_and_comes_in_when_it_is_whole(archive: LinksArchive) -> None:
    path = archive.write([page(A, B, at=1)])
    whole = path.stat().st_size
    archive.write([page(B, C, at=2)])
    rest = path.read_bytes()
    path.write_bytes(rest[: whole + 20])
    build_graph(archive.root, DELTA)
    assert_says(archive.root, {A: {B: Kind.LINK}}, [C])
    path.write_bytes(rest)
    assert build_graph(archive.root, DELTA).records == 1
    assert_says(archive.root, {A: {B: Kind.LINK}, B: {C: Kind.LINK}})


def test_a_damaged_record_is_told_and_left_out(archive: LinksArchive) -> None:
    path = archive.write([page(A, B, at=1)])
    whole = path.stat().st_size
    archive.write([page(B, C, at=2), page(C, D, at=3)])
    content = bytearray(path.read_bytes())
    content[whole + 30] ^= 0xFF
    path.write_bytes(content)
    told: list[BuildStep] = []
    build_graph(archive.root, DELTA, told.append)
    assert any(path.name in step.note and str(whole) in step.note for step in told)
    assert build_graph(archive.root, DELTA).did == "nothing"
    assert_says(archive.root, {A: {B: Kind.LINK}, C: {D: Kind.LINK}})


def test_a_build_that_fails_leaves_nothing_behind(
    archive: LinksArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    archive.write([page(A, B, at=1)])
    monkeypatch.setattr(builder_module, "fold", full)
    with pytest.raises(CannotGoOn, match="No space left on device; nothing was changed"):
        build_graph(archive.root)
    assert {path.name for path in archive.root.iterdir()} == {"archive", "graph.lock"}


def test_what_the_state_has_not_committed_is_not_read(archive: LinksArchive) -> None:
    path = archive.write([page(A, B, at=1)])
    commit(archive.root, path, path.stat().st_size)
    archive.write([page(B, C, at=2)])
    archive.write([page(D, A, at=2)], number=1)
    build_graph(archive.root, DELTA)
    assert_says(archive.root, {A: {B: Kind.LINK}}, [C, D])
    commit(archive.root, path, path.stat().st_size)
    build_graph(archive.root, DELTA)
    assert_says(archive.root, {A: {B: Kind.LINK}, B: {C: Kind.LINK}}, [D])


def test_an_archive_that_lost_records_is_read_anew(archive: LinksArchive) -> None:
    path = archive.write([page(A, B, at=1)])
    whole = path.read_bytes()
    archive.write([page(B, C, at=2)])
    build_graph(archive.root, DELTA)
    path.write_bytes(whole)
    archive.write([page(C, D, at=3)], epoch=2)
    assert build_graph(archive.root, DELTA).did == "full"
    assert_says(archive.root, {A: {B: Kind.LINK}, C: {D: Kind.LINK}})


def test_urls_that_share_a_hash_are_told_apart_by_another_one(
    archive: LinksArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builder_module.hash_of
    monkeypatch.setattr(builder_module, "hash_of", lambda n: len if n == 0 else real(n))
    archive.write([page(A, B, C), page(B, A), page(C, A, D)])
    build_graph(archive.root)
    assert_says(archive.root, links_of(archive.root))


def test_a_second_builder_is_told_in_one_line(archive: LinksArchive) -> None:
    archive.write([page(A, B)])
    lock = os.open(archive.root / "graph.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with pytest.raises(CannotGoOn, match=r"^another process builds the graph [^\n]*$"):
        build_graph(archive.root)
    os.close(lock)
    build_graph(archive.root)


def test_a_reader_goes_on_while_the_graph_is_replaced(
    archive: LinksArchive,
) -> None:
    archive.write([page(A, B, at=1)])
    build_graph(archive.root)
    graph = Connectivity.open(archive.root)
    archive.write([page(A, C, at=2)])
    build_graph(archive.root)
    assert graph.links_out(A) == [(B, Kind.LINK)]
    assert Connectivity.open(archive.root).links_out(A) == [(C, Kind.LINK)]


@pytest.mark.parametrize("damaged", ["web.graph", "web.urls", "web.pages", "delta-1.rows"])
def test_a_damaged_graph_is_built_anew(archive: LinksArchive, damaged: str) -> None:
    archive.write([page(A, B, at=1)])
    build_graph(archive.root, DELTA)
    archive.write([page(B, C, at=2)])
    build_graph(archive.root, DELTA)
    (graph_folder(archive.root) / damaged).write_bytes(b"")
    archive.write([page(C, D, at=3)])
    assert build_graph(archive.root, FOLD).did == "full"
    assert_says(archive.root, links_of(archive.root))


def test_a_new_graph_that_was_not_put_into_its_place_is(archive: LinksArchive) -> None:
    archive.write([page(A, B)])
    build_graph(archive.root)
    graph_folder(archive.root).rename(archive.root / "graph.new")
    assert_says(archive.root, links_of(archive.root))
    assert build_graph(archive.root).did == "nothing"
    assert not (archive.root / "graph.new").exists()
    assert_says(archive.root, links_of(archive.root))


def test_a_file_beside_the_graph_that_needs_no_numbers_stays(archive: LinksArchive) -> None:
    archive.write([page(A, B, at=1)])
    build_graph(archive.root)
    (graph_folder(archive.root) / "ranks").write_bytes(b"ranks")
    archive.write([page(B, C, at=2)])
    build_graph(archive.root)
    assert (graph_folder(archive.root) / "ranks").read_bytes() == b"ranks"


def test_a_folder_without_an_archive_is_no_crawl(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a crawl"):
        build_graph(tmp_path)


def test_an_archive_without_links_is_an_empty_graph(archive: LinksArchive) -> None:
    archive.write([])
    assert build_graph(archive.root).nodes == 0
    assert_says(archive.root, {}, [A])


def test_a_crawl_without_a_graph_says_what_to_run(archive: LinksArchive) -> None:
    archive.write([page(A, B)])
    with pytest.raises(CannotGoOn, match="gossamer build"):
        Connectivity.open(archive.root)


def test_urls_are_asked_for_in_any_spelling(archive: LinksArchive) -> None:
    archive.write([page(A, B)])
    build_graph(archive.root)
    graph = Connectivity.open(archive.root)
    assert graph.links_out("HTTP://A.test:80/#top") == [(B, Kind.LINK)]


def test_whoever_follows_waits_for_another_builder(archive: LinksArchive) -> None:
    archive.write([page(A, B)])
    with ExitStack() as other:
        other.enter_context(place_of(archive.root).sole_builder())
        with pytest.raises(CannotGoOn, match="another process"):
            build_graph(archive.root)
        waits: list[float] = []

        def wait(seconds: float) -> None:
            waits.append(seconds)
            other.close()

        found = list(follow(archive.root, GraphOptions(), SystemClock(), wait))
    assert [facts.did for facts in found] == ["full"]
    assert len(waits) == 1
