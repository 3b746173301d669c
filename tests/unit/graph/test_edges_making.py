"""Edge lists become graphs and edge lists again, through the command that a user has."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.cli.main import exit_code
from gossamer.errors import ConfigError
from gossamer.graph import EdgeOptions, from_edges, opened, to_networkx, to_scipy
from gossamer.graph.edges import exports
from tests.examples import examples

NODES = st.integers(0, 300)
EDGES = st.lists(st.tuples(NODES, NODES), max_size=200)
WORDS = st.one_of(
    st.text(
        st.characters(exclude_categories=("Z", "C"), exclude_characters="#%"),
        min_size=1,
        max_size=9,
    ),
    st.sampled_from(["http://a.test/", "https://b.test:8443/x?y=1", "17", "-3", "~", "~x", "a\\"]),
)


def said(capsys: pytest.CaptureFixture[str], *words: str | Path, code: int = 0) -> str:
    assert exit_code([str(word) for word in words]) == code
    return capsys.readouterr().out


def round_trip(content: bytes, *flags: str) -> list[bytes]:
    with TemporaryDirectory() as folder:
        name, base, again = (f"{folder}/{part}" for part in ("edges", "g", "again"))
        Path(name).write_bytes(content)
        assert exit_code(["graph", "from-edges", name, base, "--json", *flags]) == 0
        assert exit_code(["graph", "to-edges", base, "-o", again]) == 0
        left = {path.name for path in Path(folder).iterdir()}
        assert left <= {"edges", "again", "g.urls"} | {
            f"g{back}.{part}"
            for back in ("", "-t")
            for part in ("graph", "offsets", "properties", "starts")
        }
        return Path(again).read_bytes().splitlines()


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(edges=EDGES)
def test_numbers_come_back_sorted_and_once(edges: list[tuple[int, int]]) -> None:
    content = b"".join(b"%d %d\n" % edge for edge in edges)
    assert round_trip(content) == [b"%d\t%d" % edge for edge in sorted(set(edges))]


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(edges=st.lists(st.tuples(WORDS, WORDS), max_size=60))
def test_names_come_back_each_once(edges: list[tuple[str, str]]) -> None:
    lines = {f"{a}\t{b}".encode() for a, b in edges}
    found = round_trip(b"\n".join(lines), "--names")
    assert len(found) == len(lines)
    assert set(found) == lines


def test_bytes_that_are_no_text_are_names_as_well() -> None:
    assert round_trip(b"\xff\xfe a\n", "--names") == [b"\xff\xfe\ta"]


def test_a_transpose_has_the_arcs_backwards_and_shares_the_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "e").write_text("a b\nb c\n")
    said(capsys, "graph", "from-edges", tmp_path / "e", tmp_path / "g")
    assert said(capsys, "graph", "to-edges", tmp_path / "g-t") == "b\ta\nc\tb\n"
    assert said(capsys, "graph", "to-edges", tmp_path / "g", "--numbers") == "0\t1\n1\t2\n"
    said(capsys, "graph", "from-edges", tmp_path / "e", tmp_path / "h", "--no-transpose")
    assert not (tmp_path / "h-t.graph").exists()
    assert said(capsys, "graph", "path", tmp_path / "h", "a", "c", "--json").count("\n") == 1


def test_the_last_line_is_json_and_says_what_was_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "e.gz").write_bytes(gzip.compress(b"# c\n0 1\n0 1\n2 0\n"))
    out = said(capsys, "graph", "from-edges", tmp_path / "e.gz", tmp_path / "g", "--json")
    facts = json.loads(out.splitlines()[-1])
    assert (facts["nodes"], facts["arcs"], facts["edges"], facts["lines"]) == (3, 2, 3, 4)
    assert facts["dangling"] == 1
    assert facts["out"]["window"] == 7
    assert json.loads(said(capsys, "graph", "info", tmp_path / "g", "--json"))["arcs"] == 2
    assert "bits per link" in said(capsys, "graph", "info", tmp_path / "g.graph")


def test_nodes_without_edges_are_there_if_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "e").write_text("0 1\n")
    words = ("graph", "from-edges", tmp_path / "e", tmp_path / "g", "--json")
    assert json.loads(said(capsys, *words, "--nodes", "9"))["nodes"] == 9
    assert json.loads(said(capsys, *words))["nodes"] == 2
    (tmp_path / "e").write_text("")
    assert json.loads(said(capsys, *words))["nodes"] == 0
    assert said(capsys, "graph", "to-edges", tmp_path / "g") == ""


@pytest.mark.parametrize(
    ("content", "flags", "complaint"),
    [
        ("0 1\nx\n", [], "line 2: expected `source target`, two numbers"),
        ("0 9000000\n", [], "numbers up to 9,000,000, but only 1 edges: use --names"),
        ("0 5\n", ["--nodes", "5"], "--nodes is 5, but an edge has node 5"),
        ("0 5000000000\n", [], "use --names"),
        ("a\n", [], "expected two names"),
        ("0 1\n", ["--memory", "much"], "--memory: expected a size"),
        ("0 1\n", ["--zeta", "9"], "zeta"),
    ],
)
def test_what_cannot_be_made_is_one_line_and_leaves_nothing(
    content: str,
    flags: list[str],
    complaint: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "e").write_text(content)
    assert exit_code(["graph", "from-edges", str(tmp_path / "e"), str(tmp_path / "g"), *flags]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert complaint in captured.err
    assert captured.err.splitlines()[-1].startswith("gossamer: ")
    assert [path.name for path in tmp_path.iterdir()] == ["e"]


def test_a_file_that_is_not_there_and_a_graph_that_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["graph", "from-edges", str(tmp_path / "no"), str(tmp_path / "g")]) == 4
    assert exit_code(["graph", "to-edges", str(tmp_path / "no")]) == 2
    assert exit_code(["graph", "info", str(tmp_path)]) == 2
    (tmp_path / "archive").mkdir()
    assert exit_code(["graph", "info", str(tmp_path)]) == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 4
    assert "not a crawl folder" in told[2]
    assert "gossamer build" in told[3]


def test_a_graph_takes_the_place_of_another_with_all_its_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names, numbers, base = tmp_path / "names", tmp_path / "numbers", tmp_path / "g"
    names.write_text("a b\nb c\n")
    numbers.write_text("0 1\n1 2\n2 0\n2 3\n")
    said(capsys, "graph", "from-edges", names, base)
    said(capsys, "graph", "ef", base)
    said(capsys, "graph", "from-edges", numbers, tmp_path / "g.graph", "--no-transpose")
    left = {path.name for path in tmp_path.iterdir()} - {"names", "numbers"}
    assert left == {"g.graph", "g.offsets", "g.properties", "g.starts"}
    assert said(capsys, "graph", "to-edges", base).split() == numbers.read_text().split()
    assert json.loads(said(capsys, "links", base, "0", "--json"))["in"] == ["2"]


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_is_no_failure(tmp_path: Path) -> None:
    name, base = tmp_path / "edges", tmp_path / "g"
    name.write_text("".join(f"{n} {n + 1}\n" for n in range(200_000)))
    assert exit_code(["graph", "from-edges", str(name), str(base)]) == 0
    words = [sys.executable, "-m", "gossamer", "graph", "to-edges", str(base)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        assert writer.stdout.readline() == b"0\t1\n"
        writer.stdout.close()
        assert (writer.wait(60), writer.stderr.read()) == (0, b"")


def test_names_are_counted_and_have_no_kinds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names, base = tmp_path / "names", tmp_path / "g"
    names.write_text("a b\nb c\n")
    said(capsys, "graph", "from-edges", names, base, "--nodes", "9", code=2)
    assert not list(tmp_path.glob("g.*"))
    said(capsys, "graph", "from-edges", names, base)
    for verb in (("links", base, "a"), ("rank", base), ("graph", "components", base)):
        said(capsys, *verb, "--kind", "embed", code=2)
    transposed = json.loads(said(capsys, "graph", "info", tmp_path / "g-t", "--json"))
    assert (transposed["nodes"], transposed["hosts"]) == (3, 0)


@pytest.mark.slow
def test_standard_input_and_output_make_a_pipe(tmp_path: Path) -> None:
    run = [sys.executable, "-m", "gossamer", "graph"]
    made = subprocess.run(
        [*run, "from-edges", "-", tmp_path / "g", "--names"],
        input=b"b a\na b\n",
        capture_output=True,
        check=True,
    )
    assert made.stdout.startswith(b"nodes")
    out = subprocess.run([*run, "to-edges", tmp_path / "g"], capture_output=True, check=True)
    assert out.stdout == b"a\tb\nb\ta\n"


def small(folder: Path, content: bytes = b"0 1\n0 3\n2 0\n3 3\n") -> Path:
    (folder / "e").write_bytes(content)
    from_edges(str(folder / "e"), folder / "g", EdgeOptions())
    return folder / "g"


def test_scipy_and_networkx_get_the_same_graph(tmp_path: Path) -> None:
    graph = opened(small(tmp_path))
    dense = np.zeros((4, 4), np.int32)
    dense[[0, 0, 2, 3], [1, 3, 0, 3]] = 1
    assert (to_scipy(graph.out).toarray() == dense).all()
    assert sorted(to_networkx(graph.out).edges) == [(0, 1), (0, 3), (2, 0), (3, 3)]


def test_networkx_gets_names_where_there_are_names(tmp_path: Path) -> None:
    graph = opened(small(tmp_path, b"http://a.test/ http://b.test/\n"))
    assert list(to_networkx(graph.out, graph.names).edges) == [("http://a.test/", "http://b.test/")]


def test_every_export_is_read_by_those_it_is_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = small(tmp_path, b'http://a.test/?<&" http://b.test/\nhttp://b.test/ \x01\n')
    made = {}
    for how in exports.FORMATS:
        path = tmp_path / f"x.{how}"
        out = said(capsys, "graph", "export", base, "--to", how, "-o", path, "--json")
        assert json.loads(out)["arcs"] == 2
        made[how] = path
    assert scipy.sparse.load_npz(made["npz"]).toarray().tolist() == [[0, 1, 0], [0, 0, 1], [0] * 3]
    with np.load(made["numpy"]) as arrays:
        assert arrays["offsets"].tolist() == [0, 1, 2, 2]
        assert arrays["targets"].tolist() == [1, 2]
    marked = nx.read_graphml(made["graphml"])
    assert marked.nodes["0"]["url"] == 'http://a.test/?<&"'
    assert list(marked.edges) == [("0", "1"), ("1", "2")]
    linked = nx.node_link_graph(json.loads(made["json"].read_text()), edges="edges")
    assert linked.nodes[1]["url"] == "http://b.test/"
    assert made["urls"].read_bytes() == b'http://a.test/?<&"\nhttp://b.test/\n\x01\n'
    assert made["edges"].read_bytes().count(b"\n") == 2


def test_formats_for_small_graphs_say_their_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "MOST_SMALL_ARCS", 3)
    graph = opened(small(tmp_path))
    for how in ("graphml", "json"):
        with pytest.raises(
            ConfigError, match="limited to 3 nodes and arcs, and this graph has 4 nodes and 4 arcs"
        ):
            exports.export(graph.out, None, how, tmp_path / "x")
    with pytest.raises(ConfigError, match="use npz or numpy"):
        to_networkx(graph.out)
    with pytest.raises(ConfigError, match="expected one of npz, numpy"):
        exports.export(graph.out, None, "dot", tmp_path / "x")
    with pytest.raises(ConfigError, match="no names"):
        exports.export(graph.out, None, "urls", tmp_path / "x")


def test_a_library_that_is_not_installed_is_named() -> None:
    with pytest.raises(ConfigError, match="no_such_library is not installed: pip install"):
        exports._library("no_such_library.part")
