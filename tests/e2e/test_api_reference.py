"""docs/API.md: its examples run, and mypy understands a program that uses every answer."""

import doctest
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.testing import FakeWeb, serve_in_process

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs" / "API.md"
PROGRAM = REPOSITORY / "tests" / "data" / "typed_program.py"


def test_the_examples_of_the_api_page_do_what_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web = FakeWeb(seed=5, hosts=4, pages_per_host=20)
    with serve_in_process(web, tmp_path / "log") as server:
        monkeypatch.chdir(tmp_path)
        loopback = {
            "delay": 0.0,
            "resolve": server.resolve,
            "allow_net": ("127.0.0.0/8",),
            "shards": 1,
        }
        known = {"seeds": server.web.seeds, "loopback": loopback}
        text = PAGE.read_text(encoding="utf-8")
        examples = doctest.DocTestParser().get_doctest(text, known, "API.md", str(PAGE), 0)
        assert len(examples.examples) > 15
        told: list[str] = []
        doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(
            examples, out=told.append
        )
    assert told == []


@pytest.mark.slow
def test_mypy_understands_a_program_that_uses_every_answer(tmp_path: Path) -> None:
    surroundings = {**os.environ, "MYPYPATH": str(REPOSITORY / "src")}
    words = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull]
    done = subprocess.run(
        [*words, "--cache-dir", str(tmp_path), "--follow-imports", "silent", str(PROGRAM)],
        check=False,
        capture_output=True,
        text=True,
        env=surroundings,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
