"""Files that mean harm, or were harmed: named in one line, never answered from."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xxhash

from gossamer.cli.main import exit_code
from gossamer.errors import CannotGoOn, CorruptFile
from gossamer.graph import Connectivity, build_graph
from gossamer.graph.build import GraphOptions, check_files, graph_folder, read_manifest
from gossamer.graph.bv import BVGraph, GraphWriter, beside, workshop
from gossamer.graph.bv.starts import load_starts
from gossamer.graph.names import UrlMap, UrlMapWriter, key_of
from gossamer.graph.names.layout import HEADER_BYTES, read_header
from gossamer.model import BuildStep
from tests.unit.graph.links_archive import LinksArchive, page
from tests.unit.graph.webs import csr_of, random_web

A, B, C = (f"http://{name}.test/" for name in "abc")
DELTA = GraphOptions(delta_share=1e9, small_arcs=0)


@pytest.fixture
def archive(tmp_path: Path) -> LinksArchive:
    made = LinksArchive(tmp_path)
    made.write([page(A, B, "nofollow " + C, at=1), page(B, A, at=1)])
    build_graph(tmp_path)
    return made


def turn_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


@pytest.mark.parametrize(
    "name",
    ["web.graph", "web-t.graph", "web.kinds", "web.pages", "web.urls", "web-t.offsets"],
)
def test_a_turned_bit_is_found_named_and_mended(
    archive: LinksArchive, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    root = archive.root
    turn_a_bit(graph_folder(root) / name)
    with pytest.raises(CorruptFile, match=name):
        Connectivity.open(root)
    assert exit_code(["links", str(root), A, "--out", "--json", "--no-build"]) == 4
    told = capsys.readouterr().err
    assert told.count("graph --full") == len(told.splitlines()) == 1
    assert exit_code(["links", str(root), A, "--out", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["out"] == [B, C]
    assert exit_code(["graph", "info", str(root), "--check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["checked"] is True


def test_a_file_that_is_missing_or_cut_is_found_whatever_the_size(archive: LinksArchive) -> None:
    folder = graph_folder(archive.root)
    manifest = read_manifest(folder)
    assert manifest is not None
    turn_a_bit(folder / "web.graph")
    check_files(folder, manifest, 0)  # too large to be read each time
    os.truncate(folder / "web.graph", 1)
    with pytest.raises(CorruptFile, match="expected"):
        check_files(folder, manifest, 0)
    (folder / "web.graph").unlink()
    with pytest.raises(CorruptFile, match="missing"):
        check_files(folder, manifest, 0)


def test_damage_is_not_folded_into_the_next_graph(archive: LinksArchive) -> None:
    turn_a_bit(graph_folder(archive.root) / "web.kinds")
    archive.write([page(C, A, at=2)])
    assert build_graph(archive.root, GraphOptions(delta_share=0)).did == "full"


def test_a_delta_is_sealed_as_well(archive: LinksArchive) -> None:
    archive.write([page(C, A, at=2)])
    assert build_graph(archive.root, DELTA).did == "delta"
    assert Connectivity.open(archive.root).stale == 1
    turn_a_bit(graph_folder(archive.root) / "delta-1.urls")
    with pytest.raises(CorruptFile, match=r"delta-1\.urls"):
        Connectivity.open(archive.root)
    archive.write([page(C, B, at=3)])
    assert build_graph(archive.root, DELTA).did == "full"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b'{"format": 1}', b"[]", None])
def test_a_manifest_that_is_not_ours_counts_as_none(
    archive: LinksArchive, content: bytes | None
) -> None:
    path = graph_folder(archive.root) / "manifest.json"
    if content is None:  # a digit of a length
        content = path.read_bytes().replace(b'"links": ', b'"links": 1').replace(b'": 2', b'": 3')
    path.write_bytes(content)
    assert read_manifest(path.parent) is None
    with pytest.raises(CannotGoOn, match="gossamer build"):
        Connectivity.open(archive.root)
    assert build_graph(archive.root).did == "full"


def test_a_graph_folder_that_is_a_link_can_be_replaced_again_and_again(
    archive: LinksArchive, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    graph_folder(archive.root).rename(elsewhere)
    graph_folder(archive.root).symlink_to(elsewhere)
    for _ in range(3):
        assert build_graph(archive.root, GraphOptions(is_full=True)).did == "full"
    assert (elsewhere / "web.graph").exists()
    assert not (archive.root / "graph.old").is_symlink()


def test_a_record_that_is_no_text_is_named_and_left_out(archive: LinksArchive) -> None:
    path = archive.write([page("http://x.test/" + "y" * 50, at=2)])
    block = b'{"url":"http://x.test/\xff","outcome":"fetched"}'
    with path.open("ab") as file:
        file.write(archive._member("metadata", block))
    told: list[BuildStep] = []
    assert build_graph(archive.root, tell=told.append).did == "fold"
    assert [step.note for step in told if "links-00" in step.note]


def written(base: Path, rows: list[list[int]]) -> Path:
    writer = GraphWriter(base)
    for block in csr_of(rows).blocks():
        writer.add(block)
    writer.close()
    return base


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "nodes=4000000000\narcs=1000000000000000000",
        "nodes=400",
        "windowsize=999999999999999999999999",
        "windowsize=100000",
        "minintervallength=-1",
        "minintervallength=99999999999999999999999",
        "arcs=3",
        "arcs=9",
    ],
)
def test_numbers_that_cannot_be_are_refused_without_asking_for_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    base = written(tmp_path / "g", [[1, 2], [0, 2], []])
    with beside(base, ".properties").open("a") as file:
        file.write(line + "\n")
    for verb in (["info"], ["to-edges"], ["export", "--to", "npz", "-o", str(tmp_path / "x")]):
        assert exit_code(["graph", verb[0], str(base), *verb[1:]]) == 4
        assert "damaged" in capsys.readouterr().err


def test_the_files_of_two_graphs_do_not_become_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "names").write_text("a b\nb c\n")
    (tmp_path / "other").write_text("a b\nb c\nc d\nd a\nd b\n")
    for name in ("names", "other"):
        assert (
            exit_code(["graph", "from-edges", str(tmp_path / name), str(tmp_path / name[0])]) == 0
        )
    for suffix in (".starts", ".urls", "-t.properties"):
        mixed = tmp_path / suffix.strip(".")
        mixed.mkdir()
        for path in tmp_path.glob("n[.-]*"):
            (mixed / path.name).write_bytes(path.read_bytes())
        (mixed / f"n{suffix}").write_bytes((tmp_path / f"o{suffix}").read_bytes())
        capsys.readouterr()
        assert exit_code(["links", str(mixed / "n"), "b", "--json"]) == 4
        assert "damaged" in capsys.readouterr().err


def test_starts_with_a_right_checksum_and_wrong_places_are_refused(tmp_path: Path) -> None:
    base = written(tmp_path / "g", [[1], [0], [0, 1]])
    size = beside(base, ".graph").stat().st_size
    words = np.fromfile(beside(base, ".starts"), np.uint64)
    for place, value in ((1, 1 << 40), (2, 60), (3, 1 << 50), (4, 1 << 62), (7, 1 << 60)):
        bad = words.copy()
        bad[place] = value
        seed = xxhash.xxh3_64_intdigest(bad[:6].data)
        bad[6] = xxhash.xxh3_64_intdigest(bad[8:].data, seed=seed)
        bad.tofile(beside(base, ".starts"))
        with pytest.raises(CorruptFile):
            load_starts(beside(base, ".starts"), 4, size)


def zeta3(value: int) -> str:
    """Return the code of a number: see Boldi and Vigna."""
    top = (value + 1).bit_length() - 1
    h = top // 3
    left = 1 << (3 * h)
    if value + 1 < 2 * left and h * 3 + 2:
        return "0" * h + "1" + format(value + 1 - left, f"0{3 * h + 2}b")
    return "0" * h + "1" + format(value + 1, f"0{3 * h + 3}b")


@pytest.mark.slow
def test_gaps_whose_sum_goes_round_are_refused(tmp_path: Path) -> None:
    base = tmp_path / "g"
    count, large = 1 << 23, (1 << 41) - 2  # 2^22 such gaps make 2^63
    gap = zeta3(large)
    around = -(-(1 << 63) // (large + 1))
    degree = around + 2
    assert degree < count
    number = degree + 1
    gamma = "0" * (number.bit_length() - 1) + format(number, "b")
    bits = gamma + "1" + zeta3(0) + gap * around
    padded = bits + "1" * (-len(bits) % 8)
    data = int(padded, 2).to_bytes(len(padded) // 8, "big")
    beside(base, ".graph").write_bytes(data + b"\xff" * (count // 8))
    said = f"nodes={count}\narcs={degree}\nwindowsize=7\nmaxrefcount=3\nminintervallength=0\n"
    beside(base, ".properties").write_text(said)
    with pytest.raises(CorruptFile, match="cannot be decoded"):
        next(iter(BVGraph.open(base).blocks()))


def test_names_that_are_no_text_are_damage_even_with_a_right_checksum(tmp_path: Path) -> None:
    writer = UrlMapWriter(tmp_path / "urls")
    writer.add(sorted([key_of(f"http://a.test/{n}") for n in range(3)]))
    writer.close()
    data = bytearray((tmp_path / "urls").read_bytes())
    header = read_header(tmp_path / "urls", memoryview(data))
    place = data.rindex(b"test")
    data[place] = 0xFF
    data[:HEADER_BYTES] = header.pack(header.checksum(bytes(data[header.data_end :])))
    (tmp_path / "urls").write_bytes(data)
    found = UrlMap.open(tmp_path / "urls")
    for ask in (lambda: found.url(0), lambda: found.urls([0, 1, 2]), found.hosts):
        with pytest.raises(CorruptFile):
            ask()


@pytest.mark.slow
def test_what_a_killed_process_left_is_gone_after_the_next(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    words = ["graph", "from-edges", str(tmp_path / "pipe"), str(tmp_path / "g")]
    run = [sys.executable, "-m", "gossamer", *words]
    with subprocess.Popen(run) as process, (tmp_path / "pipe").open("w") as pipe:
        pipe.write("1 2\n")
        pipe.flush()
        while not list(tmp_path.glob(".g-*/copy")):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert list(tmp_path.glob("g.*")) == []
    with workshop(tmp_path / "g"):
        assert len(list(tmp_path.glob(".g-*"))) == 1
        with workshop(tmp_path / "g"):  # one that works is left alone
            assert len(list(tmp_path.glob(".g-*"))) == 2
    assert list(tmp_path.glob(".g-*")) == []


def test_no_file_of_an_older_graph_stays_beside_a_new_one(tmp_path: Path) -> None:
    (tmp_path / "names").write_text("a b\nb c\n")
    (tmp_path / "numbers").write_text("1 2\n")
    base = str(tmp_path / "g")
    assert exit_code(["graph", "from-edges", str(tmp_path / "names"), base]) == 0
    words = ["graph", "from-edges", str(tmp_path / "numbers"), base, "--no-transpose"]
    assert exit_code(words) == 0
    kept = {path.suffix for path in tmp_path.glob("g[.-]*")}
    assert kept == {".graph", ".offsets", ".starts", ".properties"}
    assert list(tmp_path.glob("g-t*")) == []
    assert exit_code(["graph", "from-edges", f"{base}.graph", base]) == 2


def test_a_larger_graph_is_checked_in_both_directions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    web = random_web(300, seed=3)
    lines = [f"{n} {m}\n" for n in range(300) for m in web.successors(n).tolist()]
    random.Random(1).shuffle(lines)
    (tmp_path / "edges").write_text("".join(lines))
    base = tmp_path / "g"
    assert exit_code(["graph", "from-edges", str(tmp_path / "edges"), str(base)]) == 0
    assert exit_code(["graph", "info", str(base), "--check"]) == 0
    path = beside(base, "-t.graph")
    path.write_bytes(bytes(path.stat().st_size))
    capsys.readouterr()
    assert exit_code(["graph", "info", str(base), "--check"]) == 4
    assert "g-t.graph is damaged" in capsys.readouterr().err.replace("\n", "")
