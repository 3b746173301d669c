"""What was being read when the crawl died, as the next start finds it."""

import signal
import subprocess
import sys
from pathlib import Path

import gossamer
from gossamer import Crawl
from gossamer.config import Config, ProcessConfig
from gossamer.report import Suspect, decode_suspect
from gossamer.store import CrawlFolder, ReadingMark, State
from gossamer.urls import parse

SEED = "http://127.0.0.1:8999/"
CONFIG = Config(shards=1, process=ProcessConfig(sitemaps=False))
DIED_AT = 1.7e9
DIE_BEFORE_THE_COMMIT = """
import os, signal, sys
from gossamer import Crawl
from gossamer.crawl.ledger import Ledger
Ledger.commit = lambda self: os.kill(os.getpid(), signal.SIGKILL)
Crawl(sys.argv[1]).add()
"""


def suspects(folder: Path) -> dict[int, Suspect | None]:
    state = State.open(CrawlFolder(folder).state(0))
    try:
        return {
            int.from_bytes(key[1:], "big"): decode_suspect(value) for key, value in state.scan(b"k")
        }
    finally:
        state.close()


def key_of(text: str) -> int:
    url = parse(text, Config().urls)
    assert url is not None
    return url.key


def die_reading(folder: Path, key: int) -> None:
    mark = ReadingMark(CrawlFolder(folder).state(0) / "flight")
    mark.begin(key, DIED_AT)
    mark.close()


def test_a_start_killed_before_its_first_commit_does_not_forget_a_suspect(tmp_path: Path) -> None:
    key = key_of(SEED)
    Crawl(tmp_path, [SEED], CONFIG).add()
    lease(tmp_path)
    die_reading(tmp_path, key)

    done = subprocess.run([sys.executable, "-c", DIE_BEFORE_THE_COMMIT, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert suspects(tmp_path) == {}

    Crawl(tmp_path).add()
    once = suspects(tmp_path)
    assert list(once) == [key]
    Crawl(tmp_path).add()
    assert suspects(tmp_path) == once, "one death makes one suspicion"


def test_what_was_being_read_is_told_by_why_and_status(tmp_path: Path) -> None:
    Crawl(tmp_path, [SEED], CONFIG).add()
    lease(tmp_path)
    die_reading(tmp_path, key_of(SEED))
    Crawl(tmp_path).add()
    crawl = gossamer.open(tmp_path)
    found = crawl.why(SEED)
    told = "was being read when the crawl died at 2023-11-14 22:13:20 UTC"
    assert found.state == "waiting"
    assert f"{told}; will be read alone in a helper process" in found.explanation
    status = crawl.status()
    assert (status.suspects, status.queued, status.known_urls, status.failed) == (1, 1, 1, {})


def test_a_mark_of_a_url_that_is_not_leased_makes_no_suspect(tmp_path: Path) -> None:
    Crawl(tmp_path, [SEED], CONFIG).add()
    die_reading(tmp_path, key_of(SEED))
    Crawl(tmp_path).add()
    assert suspects(tmp_path) == {}


def test_rows_of_older_versions_blame_nobody(tmp_path: Path) -> None:
    Crawl(tmp_path, [SEED], CONFIG).add()
    state = State.open(CrawlFolder(tmp_path).state(0))
    state.write([(b"k" + key_of(SEED).to_bytes(8, "big"), (40).to_bytes(2, "big"))])
    state.close()
    assert gossamer.open(tmp_path).status().suspects == 0
    Crawl(tmp_path).add()
    assert suspects(tmp_path) == {}
    assert gossamer.open(tmp_path).why(SEED).state == "queued"


def test_a_third_death_after_helpers_had_read_it_well_gives_it_up(tmp_path: Path) -> None:
    Crawl(tmp_path, [SEED], CONFIG).add()
    lease(tmp_path)
    for deaths in (1, 2, 3):
        die_reading(tmp_path, key_of(SEED))
        Crawl(tmp_path).add()
        if deaths < 3:
            (found,) = suspects(tmp_path).values()
            assert found is not None
            assert found.deaths == deaths
            lease(tmp_path)
    found_out = gossamer.open(tmp_path).why(SEED)
    assert (found_out.state, found_out.reason) == ("failed", "killed_us")
    assert "died 3 times" in found_out.detail
    assert suspects(tmp_path) == {}
    status = gossamer.open(tmp_path).status()
    assert (status.failed, status.queued, status.known_urls) == ({"killed_us": 1}, 0, 1)


LEASE_AND_DIE = """
import os, signal, sys
from gossamer import Crawl
from gossamer.crawl.requester import Requester

async def die(self, url, **more):
    os.kill(os.getpid(), signal.SIGKILL)

Requester.request = die
Crawl(sys.argv[1]).run()
"""


def lease(folder: Path) -> None:
    """Let a crawl die when its first URL is asked for: it is leased then."""
    done = subprocess.run([sys.executable, "-c", LEASE_AND_DIE, str(folder)], check=False)
    assert done.returncode == -signal.SIGKILL
