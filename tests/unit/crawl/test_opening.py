"""Opening a crawl: what is damaged is refused before any shard has begun."""

from pathlib import Path

import pytest

from gossamer.config import SeenConfig
from gossamer.crawl.opening import expect_state_of_archive
from gossamer.errors import CorruptFile
from gossamer.seen import UrlSeen
from gossamer.store import CrawlFolder, State


def make_state(folder: CrawlFolder, shard: int) -> Path:
    """Make a shard's state with a run of known URLs; return its file."""
    path = folder.state(shard)
    state = State.open(path)
    seen = UrlSeen.open(path / "seen", SeenConfig(run_keys=10), [])
    seen.add(list(range(1, 30)))
    state.write(seen.rows_to_commit())
    work = seen.due()
    assert work is not None
    work.do()
    state.write(seen.install(work))
    seen.close()
    state.close()
    (file,) = (path / "seen").glob("run-*")
    return file


def test_damaged_known_urls_of_one_shard_are_refused_before_another_begins(tmp_path: Path) -> None:
    folder = CrawlFolder(tmp_path)
    make_state(folder, 0)
    run = make_state(folder, 1)
    expect_state_of_archive(folder, 2)
    data = run.read_bytes()
    run.write_bytes(data[:-8])
    with pytest.raises(CorruptFile, match=run.name):
        expect_state_of_archive(folder, 2)
    run.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(CorruptFile, match=run.name):
        expect_state_of_archive(folder, 2)
