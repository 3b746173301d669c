"""A crawl of two pages can be followed: it does not lead through every file of the house."""

import subprocess
import sys

import pytest
from house import REPOSITORY

MOST = 90
"""Files that a crawl of two pages enters. It should not grow further."""


@pytest.mark.slow
def test_a_crawl_of_two_pages_enters_few_files() -> None:
    done = subprocess.run(
        [sys.executable, REPOSITORY / "tests" / "entered.py"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    count = int(done.stdout.splitlines()[-1].split()[0])
    assert 0 < count <= MOST, done.stdout
