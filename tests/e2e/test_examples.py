"""The examples run, and say what their readers expect."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
TESTING = Path(__file__).parents[2] / "docs" / "TESTING.md"

SAID = {
    "crawl_one_site.py": r"(?s)ended as max_pages, exit code 0.*40 pages, .*archived",
    "own_filter.py": r"40 pages; links refused by reason: .*'user': \d+",
    "own_processor.py": r"(?m)^\d+ headings on http://",
    "task_table.py": r"(?ms)\A(?=.*^(queued|leased)\t\d+$)(?=.*^archived\t\d+$)",
    "read_archive.py": r"(?m)^200 +\d+ bytes sent, +\d+ decoded  http://",
}


def test_every_example_is_run_here() -> None:
    runnable = {path.name for path in EXAMPLES.glob("*.py") if "__main__" in path.read_text()}
    assert runnable == set(SAID)


@pytest.mark.parametrize("name", SAID)
def test_an_example_runs_and_says_what_it_should(name: str) -> None:
    ended = subprocess.run(
        [sys.executable, EXAMPLES / name], check=False, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    assert re.search(SAID[name], ended.stdout), ended.stdout


@pytest.mark.parametrize(
    "code", re.findall(r"(?s)```python\n(.*?)```", TESTING.read_text(encoding="utf-8"))
)
def test_every_example_of_the_testing_page_runs(code: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
