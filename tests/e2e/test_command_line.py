"""The command line as a user has it: a process, its output, its exit code, its folder."""

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.testing import FakeWeb, ServerProcess, serve_in_process

LOOPBACK = ["--allow-net", "127.0.0.0/8", "--scope", "any"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    log = tmp_path_factory.mktemp("web") / "visits.log"
    with serve_in_process(FakeWeb(seed=3, hosts=4, pages_per_host=15), log) as running:
        yield running


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "gossamer", *map(str, words)]


def said(*words: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(
        command(*words), check=False, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == code, ended.stderr
    assert "Traceback" not in ended.stderr
    return ended


def crawl_words(server: ServerProcess, folder: Path, *more: str) -> list[str]:
    names = [w for h, a in server.resolve.items() for w in ("--resolve", f"{h}:{a}")]
    return ["crawl", *server.web.seeds, "--into", str(folder), *LOOPBACK, *names, *more]


@pytest.fixture(scope="module")
def crawled(server: ServerProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawl") / "mycrawl"
    said(*crawl_words(server, folder, "--delay", "0", "--max-pages", "20"))
    return folder


def test_json_is_the_only_thing_on_standard_output(server: ServerProcess, tmp_path: Path) -> None:
    ended = said(*crawl_words(server, tmp_path / "c", "--delay", "0", "--max-pages", "5", "--json"))
    facts = json.loads(ended.stdout)
    assert ended.stdout.count("\n") == 1
    assert facts["pages"] == 5
    assert facts["finished"] is False
    assert facts["reason"] == "max_pages"
    assert "Stopped at --max-pages" in ended.stderr


def test_a_crawl_to_the_end_is_finished_and_says_so(server: ServerProcess, tmp_path: Path) -> None:
    ended = said(*crawl_words(server, tmp_path / "c", "--delay", "0"))
    assert "Finished: nothing is left to fetch." in ended.stdout
    facts = json.loads(said("status", tmp_path / "c", "--json").stdout)
    assert facts["finished"] is True
    assert facts["queued"] == facts["in_flight"] == 0
    again = json.loads(said("crawl", "--into", tmp_path / "c", "--json").stdout)
    assert again["pages"] == facts["pages"]


def test_status_has_what_the_contract_names(crawled: Path) -> None:
    facts = json.loads(said("status", crawled, "--json").stdout)
    assert {
        *("pages", "html_pages", "queued", "in_flight", "hosts", "known_urls", "refused"),
        *("failed", "finished"),
    } <= set(facts)
    assert facts["pages"] == 20
    assert "20 stored" in said("status", crawled).stdout


def test_flags_of_a_later_run_change_the_file_and_are_told(
    server: ServerProcess, tmp_path: Path
) -> None:
    folder = tmp_path / "c"
    said(*crawl_words(server, folder, "--delay", "0", "--max-pages", "3"))
    ended = said("crawl", "--into", folder, "--max-pages", "6", "--auth", "a.test=u:SECRET")
    assert "crawl.toml changed: limits.max_pages: 3 -> 6" in ended.stderr
    assert 'crawl.toml changed: host."a.test".auth: changed (not shown)' in ended.stderr
    assert "SECRET" not in ended.stderr + ended.stdout
    text = (folder / "crawl.toml").read_text()
    assert "\nmax_pages = 6 " in text
    assert "\ndelay_s = 0.0 " in text
    assert "SECRET" not in text
    assert stat.S_IMODE((folder / "secrets.toml").stat().st_mode) == 0o600
    assert json.loads(said("status", folder, "--json").stdout)["pages"] == 6


def test_why_and_show_answer_for_an_archived_page(server: ServerProcess, crawled: Path) -> None:
    url = server.web.seeds[0]
    facts = json.loads(said("why", crawled, url.upper().replace("HTTP", "http"), "--json").stdout)
    assert facts["state"] == "archived"
    assert facts["visits"][0]["file"].startswith("pages-")
    assert said("why", crawled, url).stdout.startswith("Fetched and archived")
    body = said("show", crawled, url).stdout
    assert "<html" in body.lower()
    assert said("show", crawled, url, "--headers").stdout.startswith("HTTP/1.1 200")
    text = said("show", crawled, url, "--text").stdout
    assert text.strip()
    assert "<html" not in text.lower()


def test_the_raw_page_is_what_the_server_sent(server: ServerProcess, crawled: Path) -> None:
    url = server.web.seeds[0]
    ended = subprocess.run(command("show", crawled, url, "--raw"), check=True, capture_output=True)
    assert ended.stdout.startswith(b"HTTP/1.1 200")
    assert b"\r\n\r\n" in ended.stdout


def test_a_page_that_is_not_stored_is_told_on_standard_error(crawled: Path) -> None:
    ended = said("show", crawled, "http://elsewhere.example/", code=1)
    assert ended.stdout == ""
    assert "is not in the archive" in ended.stderr
    assert json.loads(said("why", crawled, "no url", "--json").stdout)["state"] == "unknown"


def test_no_seed_fetched_is_exit_code_1(tmp_path: Path) -> None:
    words = ["crawl", "http://127.0.0.1:9/", "--into", tmp_path / "c", "--no-sitemaps"]
    ended = said(*words, code=1)
    assert "No seed could be fetched" in ended.stdout
    assert "http://127.0.0.1:9/  Not fetched: bad_port: 9. (bad_port: " in ended.stdout
    assert f"`gossamer why {tmp_path / 'c'} http://127.0.0.1:9/` says more." in ended.stdout
    assert all(line == line.rstrip() for line in ended.stdout.splitlines())


def test_a_crawl_into_a_file_is_refused_with_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("a file")
    ended = said("crawl", "http://127.0.0.1:9/", "--into", tmp_path / "c", code=4)
    assert "is not a folder" in ended.stderr


def test_seeds_are_added_to_a_stopped_crawl(server: ServerProcess, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    first, more = server.web.seeds[0], server.web.url(1, "/")
    names = [w for h, a in server.resolve.items() for w in ("--resolve", f"{h}:{a}")]
    words = ["--into", folder, "--allow-net", "127.0.0.0/8", "--delay", "0", "--max-depth", "0"]
    said("crawl", first, *words, *names, "--scope", "host", "--no-sitemaps")
    assert json.loads(said("add", folder, more, "--json").stdout)["added"] == 1
    said("add", folder, "no url", code=2)
    said("crawl", "--into", folder)
    assert json.loads(said("why", folder, more, "--json").stdout)["state"] == "archived"


def test_a_running_crawl_answers_takes_seeds_and_stops_on_request(
    server: ServerProcess, tmp_path: Path
) -> None:
    folder = tmp_path / "c"
    words = crawl_words(server, folder, "--delay", "0.5", "--max-time", "60", "--json")
    with subprocess.Popen(
        command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stderr is not None
        assert " queued · " in running.stderr.readline()
        facts = json.loads(said("status", folder, "--json").stdout)
        assert facts["running"] is True
        added = json.loads(said("add", folder, server.web.url(1, "/?new"), "--json").stdout)
        assert added["added"] == 1
        second = said("crawl", "--into", folder, code=4)
        assert second.stderr.count("\n") == 1
        running.send_signal(signal.SIGINT)
        output, _ = running.communicate(timeout=30)
        assert running.returncode == 3
    facts = json.loads(output.splitlines()[-1])
    assert facts["finished"] is False
    assert json.loads(said("status", folder, "--json").stdout)["running"] is False


def test_a_lost_state_is_built_again(server: ServerProcess, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    said(*crawl_words(server, folder, "--delay", "0", "--max-pages", "10"))
    (folder / "state").rename(tmp_path / "away")
    ended = said("crawl", "--into", folder, code=4)
    assert "build" in ended.stderr
    said("build", folder, "state")
    assert json.loads(said("status", folder, "--json").stdout)["pages"] == 10


def test_the_demo_shows_everything_and_ends_well(tmp_path: Path) -> None:
    ended = said("demo", "--into", tmp_path / "demo")
    assert "$ gossamer why" in ended.stdout
    assert "robots_disallowed" in ended.stdout
    assert "Fetched and archived" in ended.stdout
    said("demo", "--into", tmp_path, code=2)


@pytest.mark.parametrize("line", ["status {}", "list {} urls"])
def test_a_reader_that_has_seen_enough_is_no_error(crawled: Path, line: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    words = command(*line.format(crawled).split())
    with os.fdopen(writer, "w") as closed:
        ended = subprocess.run(words, check=False, stdout=closed, stderr=subprocess.PIPE)
    assert (ended.returncode, ended.stderr) == (0, b"")
