"""What was waited for when the crawl died is asked for again; what was read is read alone."""

import json
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import gossamer
from gossamer.testing import CannedResponse, ScriptedWeb, serve_in_thread
from tests.e2e.archive import read_archive
from tests.e2e.crawler import Crawler, finish, flags_for, kill, spawn, wait_until

PROCESSOR = """
import os, signal, time
from pathlib import Path
from gossamer import Extraction, processor

PLACE = Path(__file__).parent

@processor("text/html", name="marked")
def marked(document, tools):
    body = document.body.decoded()
    with (PLACE / "readers").open("a") as log:
        log.write(f"{os.getpid()} {document.url.text}\\n")
    if b"DEADLY" in body and not (PLACE / "mended").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    while b"SLOW" in body and not (PLACE / "go").exists():
        time.sleep(0.01)
    return Extraction(notes={"marked": True})
"""
PROGRAM = """
import json, sys
import gossamer
from marked import marked

options = json.loads(sys.argv[2])
ending = gossamer.run(sys.argv[3:], sys.argv[1], processors=[marked], **options)
print(json.dumps(gossamer.as_json(ending.status)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["kill -9", "Ctrl-C twice"])
@pytest.mark.parametrize("shards", ["1", "2"])
def test_three_deaths_while_the_seed_is_waited_for_lose_nothing(
    how: str, shards: str, tmp_path: Path
) -> None:
    web = ScriptedWeb()
    host = web.host("a.test")
    host.on("/", CannedResponse(body=b"late", wait_s=60.0)).page("/b")
    with serve_in_thread(web) as server:
        words = flags_for(server.resolve, "--delay", "0", "--no-sitemaps", "--shards", shards)
        crawler = Crawler(tmp_path / "crawl", (host.url(),), words)
        for time_ in (1, 2, 3):
            process = crawler.start(is_fresh=True)
            wait_until(
                lambda goal=time_: sum(v.target == "/" for v in server.requests) == goal, process
            )
            if how == "kill -9":
                assert kill(process)
                continue
            process.send_signal(signal.SIGINT)
            wait_until(lambda: crawler.status().get("stop_reason") != "", process)
            process.send_signal(signal.SIGINT)
            process.communicate()
        host.page("/", links=["/b"])
        ended = crawler.run().expect(0).last_json
    assert (ended["finished"], ended["failed"], ended["pages"]) == (True, {}, 2)
    stored = read_archive(crawler.folder).page_urls
    assert stored == {host.url(path): 1 for path in ("/", "/b")}


@dataclass(frozen=True)
class Program:
    """A crawl by a Python program, with a processor of its own."""

    place: Path
    seeds: tuple[str, ...]
    options: str

    @classmethod
    def written(cls, place: Path, resolve: object, *seeds: str) -> "Program":
        (place / "marked.py").write_text(PROCESSOR)
        (place / "program.py").write_text(PROGRAM)
        options = {
            "delay": 0.0,
            "sitemaps": False,
            "allow_net": ["127.0.0.0/8"],
            "resolve": resolve,
            "shards": 1,
        }
        return cls(place, seeds, json.dumps(options))

    @property
    def folder(self) -> Path:
        return self.place / "crawl"

    def start(self) -> subprocess.Popen[str]:
        words = (str(self.place / "program.py"), str(self.folder), self.options, *self.seeds)
        return spawn([sys.executable, *words])

    def readers(self, url: str) -> list[int]:
        """Return the processes that have read a page, in order."""
        path = self.place / "readers"
        lines = path.read_text().splitlines() if path.exists() else []
        return [int(line.split()[0]) for line in lines if line.split()[1] == url]


@pytest.mark.slow
def test_a_page_that_kills_whatever_reads_it_is_set_aside_alone(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("a.test").page("/", links=["/killer", "/b", "/c"]).page("/b").page("/c")
    host.page("/killer", text="DEADLY")
    with serve_in_thread(web) as server:
        killer = host.url("/killer")
        program = Program.written(tmp_path, server.resolve, host.url())
        first = program.start()
        first.communicate()
        assert first.returncode == -signal.SIGKILL
        assert program.readers(killer) == [first.pid]
        second = program.start()
        ended = finish(second).expect(0).last_json
        assert second.pid not in program.readers(killer), "it is never read in our process again"
        assert len(program.readers(killer)) == 3
        assert (ended["finished"], ended["failed"], ended["pages"]) == (True, {"killed_us": 1}, 3)
        found = Crawler(program.folder, (), ()).why(killer)
        assert (found["state"], found["reason"]) == ("failed", "killed_us")
        assert "SIGKILL" in found["detail"]
        stored = read_archive(program.folder).page_urls
        assert stored == {host.url(path): 1 for path in ("/", "/b", "/c")}

        (tmp_path / "mended").touch()
        assert gossamer.open(program.folder).retry().reasons == {"killed_us": 1}
        third = program.start()
        ended = finish(third).expect(0).last_json
        assert third.pid not in program.readers(killer)
        assert (ended["failed"], ended["pages"], ended.get("suspects", 0)) == ({}, 4, 0)


@pytest.mark.slow
def test_a_page_during_whose_reading_somebody_killed_the_crawl_is_read_alone_and_stored(
    tmp_path: Path,
) -> None:
    web = ScriptedWeb()
    host = web.host("a.test").page("/", links=["/slow"]).page("/linked")
    host.page("/slow", text="SLOW", links=["/linked"])
    with serve_in_thread(web) as server:
        slow = host.url("/slow")
        program = Program.written(tmp_path, server.resolve, host.url())
        first = program.start()
        try:
            wait_until(lambda: program.readers(slow), first)
        finally:
            assert kill(first)
        (tmp_path / "go").touch()
        second = program.start()
        ended = finish(second).expect(0).last_json
        assert second.pid not in program.readers(slow)
    assert (ended["failed"], ended["pages"], ended.get("suspects", 0)) == ({}, 3, 0)
    assert read_archive(program.folder).page_urls == {
        host.url(path): 1 for path in ("/", "/slow", "/linked")
    }
