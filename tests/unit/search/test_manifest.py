"""Whatever stands in the place of a manifest: it is one of ours, or there is none."""

import json
import os
from pathlib import Path

import pytest

from gossamer.search.manifest import FILE, Manifest, read_manifest, write_manifest


@pytest.mark.parametrize("shards", [0, -1, 10_000, 10**9, 2**63, 10**30])
def test_a_number_of_shards_that_cannot_be_is_no_manifest(tmp_path: Path, shards: int) -> None:
    write_manifest(tmp_path, Manifest(version=1))
    said = json.loads((tmp_path / FILE).read_bytes())
    (tmp_path / FILE).write_text(json.dumps({**said, "shards": shards}))
    assert read_manifest(tmp_path) is None


@pytest.mark.parametrize("content", [b"", b"\xff", b"[" * 100_000, b'{"version": 1e400}'])
def test_what_is_no_manifest_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    assert read_manifest(tmp_path) is None


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / FILE)
    assert read_manifest(tmp_path) is None


def test_a_device_is_not_read(tmp_path: Path) -> None:
    (tmp_path / FILE).symlink_to("/dev/zero")
    assert read_manifest(tmp_path) is None
