"""Plain lines are read without the parser, and mean what the parser makes of them."""

import subprocess
import sys

import pytest

from gossamer.cli.plain import plain_command


@pytest.mark.parametrize(
    "line",
    [
        *("--version", "status crawl", "status crawl --json", "status --json crawl"),
        *("status s3://bucket/crawl", "crawl https://x.test/ --into crawl"),
    ],
)
def test_plain_lines_are_read_at_once(line: str) -> None:
    assert plain_command(line.split()) is not None


@pytest.mark.parametrize(
    "line",
    [
        *("--version --json", "--help", "status", "status --help", "status -h", "status a b"),
        *("status crawl --jsn", "status crawl --json --json", "status crawl --", "status -- crawl"),
        *("statsu crawl", "crawl", "crawl https://x.test/", "why crawl https://x.test/"),
    ],
)
def test_any_other_line_is_for_the_parser(line: str) -> None:
    assert plain_command(line.split()) is None


@pytest.mark.parametrize("line", ["--version", "status {folder}", "status {folder} --json"])
def test_plain_lines_load_neither_the_parser_nor_an_engine(line: str, tmp_path: object) -> None:
    words = line.format(folder=tmp_path).split()
    code = (
        "import sys; from gossamer.cli.main import exit_code; exit_code(sys.argv[1:])\n"
        "heavy = ('typer', 'numpy', 'pycurl', 'gossamer.search', 'gossamer.crawl', 'numba')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stdout
