"""What `make kills` does a hundred times, three times each."""

from pathlib import Path

import pytest

from tests.e2e import kills


@pytest.mark.slow
@pytest.mark.parametrize("kill", kills.CRAWLS)
def test_a_crawl_killed_at_random_moments_loses_nothing_and_stores_nothing_twice(
    kill: kills.KillCrawl, tmp_path: Path
) -> None:
    assert 0 < kill(tmp_path, 1200, 3).kills.total() <= 3
