"""The file of ranks: 12 bytes per URL, and every damage is told."""

from pathlib import Path

import numpy as np
import pytest

from gossamer.config import UrlConfig
from gossamer.errors import CannotGoOn, CorruptFile
from gossamer.graph.answers import save_ranks
from gossamer.ranks import RankFile, write_ranks
from gossamer.urls import fingerprint_of, parse

URLS = [
    "http://a.test/",
    "http://a.test:8100/x?y=http://b.test:1/",
    "https://www.example.co.uk/p",
    "http://[::1]:8080/z",
    "http://[::1]/z",
    "http://127.0.0.1/",
]


@pytest.mark.parametrize("text", URLS)
def test_a_url_has_the_key_under_which_others_know_it(text: str) -> None:
    url = parse(text, UrlConfig())
    assert url is not None
    assert fingerprint_of(url.text) == url.key


def test_in_the_file_one_is_the_mean_of_all_pages(tmp_path: Path) -> None:
    scores = np.array([0.5, 0.1, 0.1, 0.3, 0.0, 0.0])
    inside = scores > 0.0
    path = tmp_path / "ranks"
    assert save_ranks(path, iter(URLS), scores, inside) == 4
    assert path.stat().st_size == 32 + 12 * 4
    found = RankFile.open(path)
    assert len(found) == 4
    assert found.of_all([fingerprint_of(url) for url in URLS]) == pytest.approx(4 * scores)
    assert found.of(fingerprint_of(URLS[-1])) is None


def test_of_a_key_that_comes_twice_the_best_rank_counts(tmp_path: Path) -> None:
    path = tmp_path / "ranks"
    assert write_ranks(path, np.array([5, 3, 5], np.uint64), np.array([1.0, 2.0, 4.0])) == 2
    assert RankFile.open(path).of_all([3, 5]).tolist() == [2.0, 4.0]


def test_an_empty_file_knows_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ranks"
    write_ranks(path, np.empty(0, np.uint64), np.empty(0))
    assert RankFile.open(path).of(7) is None
    assert RankFile.open(path).of_all([7]).tolist() == [0.0]
    assert RankFile.open(path).of_all([]).tolist() == []


def test_every_damaged_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "ranks"
    write_ranks(path, np.array([1, 2], np.uint64), np.array([1.0, 1.5]))
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes((whole[place] ^ 1,)) + whole[place + 1 :])
        with pytest.raises(CorruptFile):
            RankFile.open(path)
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(CorruptFile):
            RankFile.open(path)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotGoOn, match="cannot read"):
        RankFile.open(tmp_path / "none")
    with pytest.raises(CannotGoOn, match="cannot write"):
        write_ranks(tmp_path / "no" / "ranks", np.empty(0, np.uint64), np.empty(0))


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -1.0])
def test_ranks_that_are_no_worth_are_refused(tmp_path: Path, score: float) -> None:
    write_ranks(tmp_path / "ranks", np.array([1, 2], np.uint64), np.array([1.0, score]))
    with pytest.raises(CorruptFile, match="not a number"):
        RankFile.open(tmp_path / "ranks")
