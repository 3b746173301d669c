"""README.md: its commands print what it shows, and its Python lines run."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.testing import FakeServer, ScriptedWeb, serve_in_thread
from tests.e2e.readme_site import SITE, example_site, flags, let_days_pass

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
GOSSAMER = str(Path(sys.executable).parent / "gossamer")
SHOWN = re.findall(r"(?m)^\$ gossamer (.*)\n((?:(?!```|\$ ).*\n)*)", README)
"""Commands with the output that follows each."""

Served = tuple[FakeServer[ScriptedWeb], Path]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Yield the README's site, and the folder in which its commands run one after another."""
    with serve_in_thread(example_site()) as server:
        yield server, tmp_path_factory.mktemp("readme")


def plain(line: str) -> str:
    """Return a line without its figures and without blanks that only align."""
    return " ".join(re.sub(r"\d[\d.,:-]*", "#", line).split())


@pytest.mark.parametrize(("words", "output"), SHOWN, ids=[words for words, _ in SHOWN])
def test_a_command_of_the_readme_prints_what_is_shown(
    words: str, output: str, served: Served
) -> None:
    server, folder = served
    command = [re.sub(rf"({SITE})/", rf"\1:{server.port}/", word) for word in shlex.split(words)]
    if command[0] == "crawl":
        command += [*flags(server), "--delay", "0", "--shards", "1"]
    if command[0] == "watch":
        let_days_pass(server.web)
    done = subprocess.run(
        [GOSSAMER, *command], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == (command[0] == "check-links"), done.stderr
    told = (done.stdout + done.stderr).replace(f":{server.port}", "")
    lines = [plain(line) for line in told.splitlines()]
    for line in filter(None, map(plain, output.splitlines())):
        if line.endswith("…"):  # shortened
            assert any(one.startswith(line.removesuffix("…").strip()) for one in lines), told
        else:
            assert line in lines, told


def test_the_python_lines_of_the_readme_run(served: Served, tmp_path: Path) -> None:
    server, _ = served
    (code,) = re.findall(r"(?s)```python\n(.*?)```", README)
    loopback = {"delay": 0.0, "resolve": server.resolve, "allow_net": ["127.0.0.0/8"], "shards": 1}
    code = code.replace(f"https://{SITE}/", f"http://{SITE}:{server.port}/")
    code = code.replace("max_pages=100)", f"max_pages=100, **{loopback!r})")
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("finished 18\n")
    assert "http://docs.example.org" in done.stdout
    assert f"not_found linked from http://{SITE}:{server.port}/news/mirror.html" in done.stdout
