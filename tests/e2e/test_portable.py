"""A crawl with what takes the place of Linux's own calls, as on another system."""

from pathlib import Path

import pytest

from gossamer.linux import PORTABLE
from gossamer.testing import FakeWeb, serve_in_process
from tests.e2e.archive import read_archive
from tests.e2e.crawler import Crawler, flags_for
from tests.e2e.judge import Judge


@pytest.mark.slow
@pytest.mark.parametrize("shards", ["1", "2"])
def test_a_crawl_without_linuxs_calls_is_complete(
    shards: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PORTABLE, "1")
    deep = tmp_path / ("d" * 100)  # its sockets have longer names than the system takes
    with serve_in_process(FakeWeb(seed=5, hosts=3, pages_per_host=5), tmp_path / "log") as server:
        flags = flags_for(server.resolve, "--delay", "0.05", "--shards", shards)
        crawler = Crawler(deep, tuple(server.web.seeds), flags)
        ended = crawler.run(is_fresh=True).expect(0)
        assert ended.last_json["finished"]
        Judge(server.web).assert_complete(read_archive(deep))
        assert crawler.run(is_fresh=True).expect(0).last_json["pages"] == ended.last_json["pages"]
