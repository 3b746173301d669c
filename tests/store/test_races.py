"""Processes race for one name: whichever the store, one of them wins, and its object stays."""

from pathlib import Path

import pytest

from gossamer.store import Objects
from tests.s3 import BUCKET, S3
from tests.store.extent import IS_FULL
from tests.store.racing import race


@pytest.mark.slow
def test_of_eight_processes_that_create_an_object_in_a_folder_one_wins(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/store"
    Objects(url, is_made=True)
    assert_one_winner_each(url, 200)


@pytest.mark.slow
def test_of_eight_processes_that_create_an_object_in_a_bucket_one_wins(
    s3: S3, tmp_path: Path
) -> None:
    del s3
    assert_one_winner_each(f"s3://{BUCKET}{tmp_path}/races", 200 if IS_FULL else 25)


def assert_one_winner_each(url: str, names: int) -> None:
    winners = race(url, names)
    assert [len(some) for some in winners] == [1] * names
    assert len({some[0] for some in winners}) > 1, "it was no race"
    objects = Objects(url)
    for name, (winner,) in enumerate(winners):
        assert objects.read(str(name)) == b"racer %d" % winner
