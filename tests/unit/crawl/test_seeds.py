"""Seeds files."""

from pathlib import Path

import pytest

from gossamer.crawl import Seed, read_seeds
from gossamer.errors import ConfigError


def test_a_seeds_file_may_be_named_by_a_path_or_a_text(tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt"
    path.write_text("# mine\nhttp://a.test/\n\n  http://b.test/  my label \n")
    wanted = [Seed(url="http://a.test/"), Seed(url="http://b.test/", label="my label")]
    assert read_seeds(path) == wanted
    assert read_seeds(str(path)) == wanted


def test_a_seeds_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.txt"):
        read_seeds(str(tmp_path / "nowhere.txt"))
