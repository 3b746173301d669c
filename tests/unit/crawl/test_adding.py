"""Seeds that are added while no crawl runs: cut short at any moment, it is simply done again."""

from pathlib import Path

import pytest

from gossamer.crawl import Crawl
from gossamer.errors import CannotGoOn
from gossamer.settings import load_crawl_config

SEED = "http://one.test/"


def test_adding_that_ends_when_there_is_a_state_and_no_seed_in_it_is_done_again(
    tmp_path: Path,
) -> None:
    (tmp_path / "archive").write_text("a file is in the way")
    with pytest.raises(CannotGoOn, match="File exists"):
        Crawl(tmp_path, [SEED]).add()
    assert list(tmp_path.glob("state/*/CURRENT"))
    assert load_crawl_config(tmp_path).seeds == (SEED,)
    (tmp_path / "archive").unlink()
    assert Crawl(tmp_path, [SEED]).add().added == 1
