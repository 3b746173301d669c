"""A builder killed at any touch of a file leaves a whole graph, and the next one finishes."""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.graph.build import GraphOptions, build_graph
from gossamer.graph.connectivity import Connectivity
from tests.unit.forked import ENDED, in_a_fork
from tests.unit.graph.links_archive import LinksArchive, LinksOf, assert_says, links_of, page

A, B, C, D = (f"http://{name}.test/" for name in "abcd")
DELTA = GraphOptions(small_arcs=0, delta_share=1e9)
FOLD = GraphOptions(delta_share=0)
TOUCHES = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "shutil.rmtree"}


def dying(touch: int, root: Path, options: GraphOptions) -> Callable[[], object]:
    """Return a build that kills itself just before it touches a file for the nth time."""
    left = touch

    def count(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if event in TOUCHES and str(root) in str(arguments[0]):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def build() -> None:
        sys.addaudithook(count)
        build_graph(root, options)

    return build


def said(root: Path) -> LinksOf | None:
    """Return all that a graph says; None if there is none."""
    if not any((root / name / "manifest.json").exists() for name in ("graph", "graph.new")):
        return None
    graph = Connectivity.open(root)
    rows = {url: graph.links_out(url) for url in (A, B, C, D) if graph.has_page(url)}
    return {url: dict(row or []) for url, row in rows.items()}


def prepare(root: Path, stage: str) -> GraphOptions:
    """Make a crawl whose graph is to be built, to get a delta, or to be folded with one."""
    archive = LinksArchive(root)
    archive.write([page(A, B, C, at=1), page(B, A, at=2)])
    if stage != "full":
        build_graph(root, DELTA)
        archive.write([page(C, D, at=3)])
    if stage in ("second delta", "fold"):
        build_graph(root, DELTA)
        archive.write([page(A, D, at=4), page(B, outcome="gone", at=5)])
    return FOLD if stage == "fold" else DELTA


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["full", "delta", "second delta", "fold"])
def test_a_kill_at_any_touch_of_a_file_leaves_the_old_graph_or_the_new_one(
    stage: str, tmp_path: Path
) -> None:
    options = prepare(tmp_path / "prepared", stage)
    before, after = said(tmp_path / "prepared"), links_of(tmp_path / "prepared")
    root = tmp_path / "crawl"
    seen = []
    for touch in range(1, 10_000, 3 if stage == "fold" else 2):  # some: each build takes its time
        shutil.copytree(tmp_path / "prepared", root)
        code = in_a_fork(dying(touch, root, options))
        found = said(root)
        assert found in (before, after)
        seen.append(found)
        build_graph(root, options)
        assert_says(root, after, (A, B, C, D))
        assert {path.name for path in root.iterdir()} == {"archive", "graph", "graph.lock"}
        shutil.rmtree(root)
        if code == ENDED:
            break
        assert code == -signal.SIGKILL
    assert len(seen) > 10
    assert seen[0] == before
    assert seen[-1] == after
