"""The command line: errors are one line and an exit code, never a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest

from gossamer import __version__
from gossamer.cli.main import exit_code, explained
from gossamer.cli.start import CrawlArguments, settle
from gossamer.config import Config, FetchConfig, LimitsConfig
from gossamer.errors import Bug, CannotGoOn, ConfigError, CorruptFile
from gossamer.settings import save_config


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["crawl", "http://a.test/"], "Missing option '--into'"),
        (["crawl", "--nonsense"], "No such option: --nonsense"),
        (["craw"], "No such command 'craw'"),
        (["crawl", "http://a.test/", "--into", "D", "--max-pages", "many"], "max-pages"),
        (["crawl", "http://a.test/", "--into", "D", "--max-pages", "-1"], "--max-pages: expected"),
        (["crawl", "http://a.test/", "--into", "D", "--scope", "x"], "--scope: expected one of"),
        (["crawl", "http://a.test/", "--into", "D", "--shards", "257"], "--shards: expected"),
        (["crawl", "http://a.test/", "--into", "D", "--config", "none.toml"], "does not exist"),
        (["crawl", "--into", "D"], "nothing to start from"),
        (["status", "D"], "D is not a crawl folder"),
        (["why", "D", "http://a.test/"], "D is not a crawl folder"),
        (["show", "D", "http://a.test/", "--raw", "--text"], "give one of them"),
        (["add", "D"], "nothing to add"),
        (["build", "D", "web"], "expected state, near, graph, index, tables, found 'web'"),
        (["build", "D", "graph", "--tiers", ".2"], "--tiers is for `gossamer build D index`"),
        (["build", "D", "index", "--fold"], "--fold is for `gossamer build D graph`"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    arguments: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert exit_code(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gossamer: ")
    assert captured.err.count("\n") == 1
    assert complaint in captured.err
    assert list(tmp_path.iterdir()) == []


def test_each_kind_of_error_has_its_exit_code() -> None:
    assert explained(ConfigError("x")) == ("x", 2)
    assert explained(CannotGoOn("x")) == ("x", 4)
    assert explained(CorruptFile(Path("f"), 3, "x"))[1] == 4
    assert explained(Bug("x")) == ("this is a bug, please report it: x", 4)
    told = "f: Permission denied; check its permissions"
    assert explained(PermissionError(13, "Permission denied", "f")) == (told, 4)
    full = OSError(28, "No space left on device", "f")
    assert explained(full)[0].startswith("f: No space left on device; free some space")
    for error in (MemoryError(), OSError(12, "x"), RuntimeError("can't start new thread")):
        message, code = explained(error)
        assert (message.startswith("not enough memory"), code) == (True, 4)
    assert explained(BrokenPipeError()) == ("", 0)


def test_help_and_version_are_done_without_a_crawl(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["--version"]) == 0
    assert capsys.readouterr().out == f"gossamer {__version__}\n"
    assert exit_code([]) == 0
    assert "crawl" in capsys.readouterr().out
    assert exit_code(["crawl", "--help"]) == 0
    assert "--allow-net" in capsys.readouterr().out


def test_help_does_not_load_what_only_a_crawl_needs() -> None:
    heavy = {
        "numba",
        "numpy",
        "pycurl",
        "rocksdict",
        "turbohtml",
        "typer",
        "rich",
        "gossamer.crawl",
    }
    script = f"import sys, gossamer.cli.main, gossamer.cli.flags; print({heavy} & set(sys.modules))"
    found = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert found.stdout.strip() == "set()"


def test_a_new_folder_starts_from_the_defaults(tmp_path: Path) -> None:
    new = settle(CrawlArguments(into=tmp_path / "c"), {"max_pages": 5})
    assert new == Config(limits=LimitsConfig(max_pages=5))


def test_a_resumed_crawl_keeps_what_no_flag_changes(tmp_path: Path) -> None:
    kept = Config(fetch=FetchConfig(insecure=True), limits=LimitsConfig(max_pages=5))
    save_config(tmp_path / "crawl.toml", kept)
    new = settle(CrawlArguments(into=tmp_path), {"max_pages": 9})
    assert new == Config(fetch=FetchConfig(insecure=True), limits=LimitsConfig(max_pages=9))


def test_a_config_file_stands_in_for_the_folders_own(tmp_path: Path) -> None:
    save_config(tmp_path / "crawl.toml", Config(limits=LimitsConfig(max_pages=5)))
    save_config(tmp_path / "other.toml", Config(limits=LimitsConfig(max_bytes=6)))
    wish = CrawlArguments(into=tmp_path, config=tmp_path / "other.toml")
    assert settle(wish, {}) == Config(limits=LimitsConfig(max_bytes=6))


@pytest.mark.parametrize(
    ("command", "shown"), [("export", "gossamer[tables]"), ("crawl", "kept in [host] tables")]
)
def test_help_shows_what_stands_in_brackets(
    command: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code([command, "--help"]) == 0
    assert shown in " ".join(capsys.readouterr().out.replace("│", " ").split())
