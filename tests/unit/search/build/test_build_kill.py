"""A builder killed at any touch of a file leaves a whole index, and the next one finishes."""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from laboratory.archived import archive_urls
from msgspec.structs import replace

from gossamer.search.build import IndexOptions, build_index
from tests.unit.forked import ENDED, in_a_fork
from tests.unit.search.pages_archive import PagesArchive, images_in, index_urls, page

A, B, C, D = (f"http://{name}.test/" for name in "abcd")
KEPT = IndexOptions(news_share=1e9, shards=2)
TOUCHES = {"os.rename", "os.remove", "os.mkdir", "shutil.rmtree", "os.truncate"}
"""Besides files that are opened to be written."""


def dying(touch: int, root: Path, options: IndexOptions) -> Callable[[], object]:
    """Return a build that kills itself just before it touches a file for the nth time."""
    left = touch

    def count(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        is_touch = event in TOUCHES or (event == "open" and "r" not in str(arguments[1]))
        if is_touch and str(root) in str(arguments[0]):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def build() -> None:
        sys.addaudithook(count)
        build_index(root, options)

    return build


def prepare(root: Path, stage: str) -> IndexOptions:
    """Make a crawl whose index is to be built, to be added to, or to be built again."""
    archive = PagesArchive(root)
    zebra, lion = ("http://i.test/z.png", "a zebra"), ("http://i.test/l.png", "a lion")
    first = page(A, "zebras", (B, "lions there"), content="x", images=[zebra])
    archive.write([first, page(B, "lions", at=2, images=[lion, zebra])])
    if stage == "first":
        return KEPT
    build_index(root, KEPT)
    copy = page(C, None, at=3, content="x", copy_of=A, images=[("http://i.test/x.png", "x")])
    archive.write([copy, page(A, "apes", at=4, images=[zebra])])
    archive.write([page(B, None, outcome="gone", at=5), page(D, "hippos", at=5)])
    return replace(KEPT, is_full=stage == "again")


@pytest.mark.parametrize("stage", ["first", "news", "again"])
def test_a_kill_before_a_touch_of_a_file_loses_nothing(stage: str, tmp_path: Path) -> None:
    options = prepare(tmp_path / "prepared", stage)
    before = None if stage == "first" else index_urls(tmp_path / "prepared")
    after = sorted(archive_urls(tmp_path / "prepared"))
    shown = ["http://i.test/x.png"] * (stage != "first") + ["http://i.test/z.png"]
    shown = ["http://i.test/l.png", *shown] if stage == "first" else shown
    root = tmp_path / "crawl"
    touches = 0
    for touch in range(1, 1000, 1 if stage == "news" else 3):
        shutil.copytree(tmp_path / "prepared", root)
        code = in_a_fork(dying(touch, root, options))
        whole = [root / name / "manifest.json" for name in ("index", "index.new")]
        assert before is None or any(path.exists() for path in whole)
        build_index(root, KEPT)
        assert index_urls(root) == after
        assert [url for url, _ in images_in(root)] == shown
        names = {path.name for path in root.iterdir()}
        assert names == {"archive", "index", "index.lock"}
        shutil.rmtree(root)
        touches += 1
        if code == ENDED:
            break
        assert code == -signal.SIGKILL
    assert touches > 5
