"""Pages that are labelled: stored all the same, counted in `status`, followed or not."""

from pathlib import Path

import pytest

import gossamer
from gossamer.cli.main import exit_code
from gossamer.testing import ScriptedWeb
from tests.integration.threats import crawl, serving

SHELL = (
    "<title>Shop</title><body><div id=root></div><a href=/about>About</a>"
    "<noscript>Please enable JavaScript.</noscript><script src=/bundle.js></script>"
)


def test_an_application_shell_is_stored_followed_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    web = ScriptedWeb()
    host = web.host("a.test").page("/", links=["/shop"]).page("/about", text="about us")
    host.on("/shop", SHELL)
    with serving(web) as server:
        done = crawl(server, tmp_path / "c", host.url())
        assert done.fate(host.url("/shop")) == ("archived", "")
        assert done.fate(host.url("/about")) == ("archived", "")
    status = gossamer.status(tmp_path / "c")
    assert status.labels == {"needs_javascript": 1}
    assert status.pages == 3
    assert "needs_javascript" in done.records[host.url("/shop")]["oddities"]
    assert exit_code(["status", str(tmp_path / "c")]) == 0
    assert "1 that need JavaScript" in capsys.readouterr().out


def test_a_rebuilt_state_counts_it_again(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("a.test").page("/about", text="about us")
    host.on("/", SHELL)
    with serving(web) as server:
        crawl(server, tmp_path / "c", host.url())
    assert exit_code(["build", str(tmp_path / "c"), "state"]) == 0
    assert gossamer.status(tmp_path / "c").labels == {"needs_javascript": 1}
    assert gossamer.status(tmp_path / "c").pages == 2
