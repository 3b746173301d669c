"""Files of every released format are read to the same values; today's are written byte for byte.

New fields may appear in what is read. What was there stays, with its name and its value.
"""

import gzip
import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gossamer.cluster import Ring, read_charter, write_charter
from gossamer.config import SeenConfig, UrlConfig
from gossamer.graph.build.manifest import check_files
from gossamer.graph.build.manifest import read_manifest as read_graph_manifest
from gossamer.graph.build.manifest import write_manifest as write_graph_manifest
from gossamer.graph.build.whole import Base, write_pages
from gossamer.graph.bv import BVGraph, GraphWriter, KindsFile, KindsWriter
from gossamer.graph.names import UrlMapWriter
from gossamer.model import Url
from gossamer.search.manifest import read_manifest as read_index_manifest
from gossamer.search.manifest import write_manifest as write_index_manifest
from gossamer.seen import UrlSeen
from gossamer.seen.runs import checked_chunks, write_run
from gossamer.settings import load_config, save_config
from gossamer.store import CrawlFolder, Records, State, decode_links
from gossamer.store.reader import cdxj_lines
from gossamer.store.warc import write_cdxj
from gossamer.urls import parse
from tests.golden.formats import (
    GRAPHS,
    RANKS,
    READERS,
    lost_readings,
    made_records,
    read_golden_ranks,
    write_golden_ranks,
)

HERE = Path(__file__).parent
VERSIONS = sorted(path.parent.name for path in HERE.glob("v*/crawl"))
NEWEST = HERE / VERSIONS[-1]
CRAWL = NEWEST / "crawl"
RECORDS = sorted(path.stem for path in NEWEST.glob("records/*.warc"))


def assert_has(found: Any, expected: Any, where: str = "") -> None:
    """Insist on every value that was there; further fields of objects are no mistake."""
    match expected:
        case dict():
            assert isinstance(found, dict), where
            missing = set(expected) - set(found)
            assert not missing, f"{where}: {missing}"
            for name, value in expected.items():
                assert_has(found[name], value, f"{where}.{name}")
        case list():
            assert isinstance(found, list | tuple), where
            assert len(found) == len(expected), where
            for number, (one, other) in enumerate(zip(found, expected, strict=True)):
                assert_has(one, other, f"{where}[{number}]")
        case _:
            assert found == expected, where


def names_of(folder: Path, pattern: str) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.glob(pattern))


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_file_is_read_to_the_values_that_were_written(version: str, name: str) -> None:
    folder = HERE / version
    expected = json.loads((folder / "values.json").read_text())[name]
    found = json.loads(json.dumps(READERS[name](folder / "crawl")))
    assert_has(found, expected, name)
    assert found, "nothing was read"


@pytest.mark.parametrize("version", VERSIONS)
def test_ranks_are_read_to_the_values_that_were_written(version: str) -> None:
    assert read_golden_ranks(HERE / version / "ranks") == {**RANKS, 12345: None}


@pytest.mark.parametrize("version", VERSIONS)
def test_what_was_merely_in_flight_at_the_kill_is_no_suspect(version: str, tmp_path: Path) -> None:
    lost = lost_readings(HERE / version / "crawl", tmp_path)
    assert lost
    assert set(lost) == {None}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_seen_test_knows_the_urls_of_runs_and_log_and_no_others(
    version: str, tmp_path: Path
) -> None:
    """By the manifest of the runs, which lies in the state with the keys that are in no run yet."""
    shutil.copytree(HERE / version / "crawl", tmp_path / "crawl")
    folder = CrawlFolder(tmp_path / "crawl")
    ring = read_charter(folder.charter_path).ring
    states = json.loads((HERE / version / "states.json").read_text())
    for shard in range(2):
        state = State.open(folder.state(shard))
        rows = [*state.scan(b"s"), *state.scan(b"S")]
        seen = UrlSeen.open(folder.state(shard) / "seen", SeenConfig(), rows)
        parsed = {parse(url, UrlConfig()): state for url, state in states.items()}
        own = {url.key: state for url, state in parsed.items() if url and _owns(ring, shard, url)}
        new = set(seen.new_among(list(own)))
        assert {own[key] for key in new} == {"unknown"}
        assert "unknown" not in {own[key] for key in own.keys() - new}
        assert len(own) > len(new)
        state.close()


def _owns(ring: Ring, shard: int, url: Url) -> bool:
    return ring.owner_of(url.key) == shard


@pytest.mark.parametrize("version", VERSIONS)
def test_the_files_of_a_graph_are_whole_by_their_manifest(version: str) -> None:
    folder = HERE / version / "crawl" / "graph"
    manifest = read_graph_manifest(folder)
    assert manifest is not None
    check_files(folder, manifest, None)
    assert set(manifest.files) == set(names_of(folder, "web*"))


@pytest.mark.parametrize("version", VERSIONS)
def test_rows_are_found_by_their_offsets_where_starts_are_missing(
    version: str, tmp_path: Path
) -> None:
    """As in the files of others, who have only offsets."""
    folder = HERE / version / "crawl" / "graph"
    expected = json.loads((HERE / version / "values.json").read_text())["graph_rows"]["web"]
    for suffix in ("graph", "properties", "offsets"):
        shutil.copy(folder / f"web.{suffix}", tmp_path)
    graph = BVGraph.open(tmp_path / "web")
    assert [graph.successors(n).tolist() for n in range(graph.nodes)] == [
        row[0] for row in expected
    ]


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_read_again(name: str, tmp_path: Path) -> None:
    """Of every version: these lie in archives that are never written anew."""
    for version in VERSIONS:
        raw = (HERE / version / "records" / f"{name}.warc").read_bytes()
        path = tmp_path / f"{version}.warc.gz"
        path.write_bytes(gzip.compress(raw))
        (record,) = Records(path)
        assert record.headers["warc-type"] == name.partition("-")[0]
        assert raw.endswith(b"\r\n\r\n" + record.block + b"\r\n\r\n")
        if record.headers["warc-type"] == "metadata":
            assert decode_links(record.block).url.startswith("http://one.test/")


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_written_byte_for_byte(name: str) -> None:
    assert made_records()[name] == (NEWEST / "records" / f"{name}.warc").read_bytes()


def test_ranks_are_written_byte_for_byte(tmp_path: Path) -> None:
    write_golden_ranks(tmp_path / "ranks")
    assert (tmp_path / "ranks").read_bytes() == (NEWEST / "ranks").read_bytes()


def test_the_number_of_shards_is_written_as_it_was_with_a_checksum(tmp_path: Path) -> None:
    path = CrawlFolder(CRAWL).charter_path
    write_charter(tmp_path / "shards.json", read_charter(path))
    found = json.loads((tmp_path / "shards.json").read_bytes())
    assert found.pop("crc32")
    assert found == json.loads(path.read_bytes())


def test_the_knobs_of_a_crawl_are_written_again_as_they_were(tmp_path: Path) -> None:
    """Comments are for people and may change; what is set stays set, and nothing besides."""
    save_config(tmp_path / "crawl.toml", load_config(CRAWL / "crawl.toml"))
    found = tomllib.loads((tmp_path / "crawl.toml").read_text())
    known = tomllib.loads((CRAWL / "crawl.toml").read_text())
    assert found.pop("format") == 2
    assert {name: found[name] for name in known} == known


@pytest.mark.parametrize("name", names_of(CRAWL, "state/*/seen/*.keys"))
def test_a_run_of_known_urls_is_written_byte_for_byte(name: str, tmp_path: Path) -> None:
    path = tmp_path / Path(name).name
    keys = np.concatenate(list(checked_chunks(CRAWL / name)))
    write_run(path, iter([keys]), len(keys))
    assert path.read_bytes() == (CRAWL / name).read_bytes()


@pytest.mark.parametrize("name", names_of(CRAWL, "archive/*.cdxj"))
def test_an_index_of_pages_is_written_byte_for_byte_from_its_pages_file(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "pages.cdxj"
    write_cdxj(path, cdxj_lines((CRAWL / name).with_suffix(".warc.gz")), is_synced=False)
    assert path.read_bytes() == (CRAWL / name).read_bytes()


def test_the_manifest_of_an_index_is_written_as_before_but_for_what_was_added(
    tmp_path: Path,
) -> None:
    manifest = read_index_manifest(CRAWL / "index")
    assert manifest is not None
    write_index_manifest(tmp_path, manifest)
    written = json.loads((tmp_path / "manifest.json").read_bytes())
    assert written.pop("files") == {}
    assert written.pop("own")
    assert (written.pop("images"), written.pop("keep")) == (0, [])
    assert written == json.loads((CRAWL / "index" / "manifest.json").read_bytes())


def test_the_manifest_of_a_graph_is_written_byte_for_byte(tmp_path: Path) -> None:
    manifest = read_graph_manifest(CRAWL / "graph")
    assert manifest is not None
    write_graph_manifest(tmp_path, manifest)
    assert _same(tmp_path, CRAWL / "graph", "manifest.json")


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_is_written_byte_for_byte_from_its_rows(name: str, tmp_path: Path) -> None:
    """Graph, offsets, starts, properties, kinds and where these start."""
    golden = BVGraph.open(CRAWL / "graph" / name)
    kinds = KindsFile(CRAWL / "graph" / name, golden.nodes)
    writer, kinds_writer = GraphWriter(tmp_path / name), KindsWriter(tmp_path / name)
    for rows in kinds.beside(golden.blocks()):
        writer.add(rows)
        kinds_writer.add(rows)
    writer.close()
    kinds_writer.close()
    for suffix in ("graph", "offsets", "starts", "properties", "kinds", "kindstarts"):
        assert _same(tmp_path, CRAWL / "graph", f"{name}.{suffix}"), suffix


def test_urls_and_pages_of_a_graph_are_written_byte_for_byte(tmp_path: Path) -> None:
    base = Base(CRAWL / "graph")
    writer = UrlMapWriter(tmp_path / "web.urls")
    for keys in base.names.keys():  # noqa: SIM118 -- a method of the map, in blocks
        writer.add(keys)
    writer.close()
    write_pages(tmp_path, base.pages())
    assert _same(tmp_path, CRAWL / "graph", "web.urls")
    assert _same(tmp_path, CRAWL / "graph", "web.pages")


def _same(one: Path, other: Path, name: str) -> bool:
    return (one / name).read_bytes() == (other / name).read_bytes()
