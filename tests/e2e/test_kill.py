"""kill -9 at any instant: nothing lost, nothing stored twice, politeness clocks intact.

The judges are the server's log and the archive, read by warcio and FastWARC.
"""

import random
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gossamer.testing import (
    FakeWeb,
    LoggedRequest,
    ServerProcess,
    most_connections,
    serve_in_process,
    smallest_gap,
)
from tests.e2e.archive import Archive, read_archive
from tests.e2e.crawler import (
    GOSSAMER,
    Crawler,
    finish,
    flags_for,
    kill,
    spawn,
    wait_until,
    write_knobs,
)
from tests.e2e.judge import Judge, page_hits, repeated, settled

CONCURRENCY = 6
FRESH = 0.2
"""The share of crawls that are killed in a process that imported everything for itself."""
SMALL = {
    "store": {"file_bytes": 150_000, "commit_pages": 8},
    "seen": {"run_keys": 60, "fan_in": 2},
    "frontier": {"lease_urls": 4},
}
"""Archive files and seen runs so small that a kill often falls into a rotation or a merge."""


@dataclass
class Ordeal:
    """A crawl of a fake web that is killed again and again, then let finish, then judged."""

    server: ServerProcess
    crawler: Crawler
    dice: random.Random
    kills: int = 0
    start_s: float = 0.0
    restarts: list[str] = field(default_factory=list)

    @property
    def judge(self) -> Judge:
        return Judge(self.server.web)

    def served(self) -> int:
        """Return how many requests the server has noted."""
        return self.server.log.read_bytes().count(b"\n") if self.server.log.exists() else 0

    def kill_at(self, request: int, *, is_fresh: bool | None = None, late_s: float = 0.0) -> None:
        """Crawl on until the server has noted so many requests, then kill, or a bit later."""
        if is_fresh is None:
            is_fresh = self.dice.random() < FRESH
        process = self.crawler.start(is_fresh=is_fresh)
        wait_until(lambda: self.served() >= request, process)
        time.sleep(late_s)
        self._kill(process, f"at request {request}")

    def learn_start(self) -> None:
        """Measure how long the start takes, until the first request, on this machine now."""
        began = time.monotonic()
        self.kill_at(self.served() + 1, is_fresh=False)
        self.start_s = time.monotonic() - began

    def kill_early(self) -> None:
        """Start again and kill at a random moment of the start, or just after it."""
        seconds = self.dice.uniform(0.0, 1.25 * self.start_s)
        process = self.crawler.start()
        time.sleep(seconds)
        self._kill(process, f"after {seconds:.3f} s")

    def _kill(self, process: Any, when: str) -> None:
        was_killed = kill(process)
        self.kills += was_killed
        self.restarts.append(f"{when}: {'killed' if was_killed else process.returncode}")
        assert process.returncode in {-signal.SIGKILL, 0}, self.restarts

    def requests(self) -> int:
        """Return about how many requests a complete crawl makes."""
        return len(self.judge.wanted())

    def assert_books_balance(self) -> dict[str, Any]:
        """Every seen URL is archived, queued, failed or refused, also right after a death."""
        status = self.crawler.status()
        assert settled(status) + status["queued"] + status["in_flight"] == status["known_urls"], (
            status
        )
        return status

    def finish(self) -> list[LoggedRequest]:
        """Let the crawl end by itself and judge it."""
        ended = self.crawler.run().expect(0)
        assert ended.last_json["finished"] is True
        visits = self.server.requests()
        archive = read_archive(self.crawler.folder)
        self.judge.assert_complete(archive)
        self.judge.assert_obedient(visits)
        assert repeated(visits) <= self.kills * CONCURRENCY, self.restarts
        assert most_connections(visits) == 1
        self._assert_known(archive)
        return visits

    def _assert_known(self, archive: Archive) -> None:
        """What the state says of each URL is what the archive holds."""
        status = self.assert_books_balance()
        assert status["queued"] == status["in_flight"] == 0
        assert status["finished"] is True
        assert status["pages"] + status["sitemaps"] == archive.page_urls.total()
        assert "killed_us" not in status["failed"], self.restarts
        for url in self.dice.sample(sorted(archive.page_urls), 4):
            assert self.crawler.why(url)["state"] == "archived", url
        gone = self.server.web.url(0, "/gone/404")
        assert self.crawler.why(gone)["state"] == "failed"


@contextmanager
def ordeal(folder: Path, web: FakeWeb, *flags: str) -> Iterator[Ordeal]:
    """Serve a web for an ordeal; on failure the seed is printed with what was done."""
    with serve_in_process(web, folder / "log.tsv") as server:
        knobs = write_knobs(folder / "knobs.toml", SMALL)
        words = ("--concurrency", str(CONCURRENCY), "--config", str(knobs), *flags)
        crawler = Crawler(folder / "crawl", server.web.seeds, flags_for(server.resolve, *words))
        trial = Ordeal(server, crawler, random.Random(web.seed))
        try:
            yield trial
        except BaseException:
            print(f"seed {web.seed}, restarts {trial.restarts}")  # noqa: T201  # shown on failure
            raise


@pytest.mark.slow
@pytest.mark.parametrize("seed", [101])
def test_killed_all_along_the_way_nothing_is_lost_or_stored_twice(
    seed: int, tmp_path: Path
) -> None:
    with ordeal(tmp_path, FakeWeb(seed=seed, hosts=8, pages_per_host=40), "--delay", "0") as trial:
        trial.learn_start()
        moments = sorted(trial.dice.sample(range(2, int(trial.requests() * 0.9)), 8))
        early = trial.dice.sample(range(8), 4)
        for number, request in enumerate(moments):
            trial.kill_at(request)
            if number in early:
                trial.kill_early()
            if number in {2, 5}:
                trial.assert_books_balance()
        assert trial.kills >= 9
        trial.finish()


@pytest.mark.slow
@pytest.mark.parametrize("order", ["best", "dfs"])
def test_killed_in_any_order_nothing_is_lost_or_stored_twice(order: str, tmp_path: Path) -> None:
    web = FakeWeb(seed=111, hosts=8, pages_per_host=30)
    with ordeal(tmp_path, web, "--delay", "0", "--order", order) as trial:
        for request in sorted(trial.dice.sample(range(2, int(trial.requests() * 0.9)), 6)):
            trial.kill_at(request)
        assert trial.kills >= 5
        trial.assert_books_balance()
        trial.finish()


@pytest.mark.slow
def test_killed_often_a_host_still_gets_its_gap(tmp_path: Path) -> None:
    delay_s = 0.2
    web = FakeWeb(seed=104, hosts=6, pages_per_host=6)
    with ordeal(tmp_path, web, "--delay", str(delay_s)) as trial:
        total = trial.requests()
        for request in sorted(trial.dice.sample(range(1, int(total * 0.9)), 6)):
            trial.kill_at(request)
        assert trial.kills == 6
        visits = trial.finish()
        assert smallest_gap(visits) >= 0.95 * delay_s


@pytest.mark.slow
def test_killed_during_its_start_again_and_again_it_starts_all_the_same(tmp_path: Path) -> None:
    web = FakeWeb(seed=105, hosts=6, pages_per_host=40)
    with ordeal(tmp_path, web, "--delay", "0.02") as trial:
        # With an empty state there is nothing in hand but the seed: three deaths would be its own.
        trial.learn_start()
        trial.kill_early()
        trial.kill_at(25)
        for _ in range(3):
            trial.learn_start()
            for _ in range(4):
                trial.kill_early()
        assert trial.kills >= 12
        trial.finish()


@pytest.mark.slow
def test_killed_while_it_stops_on_request_nothing_is_lost(tmp_path: Path) -> None:
    web = FakeWeb(seed=106, hosts=6, pages_per_host=30)
    with ordeal(tmp_path, web, "--delay", "0") as trial:
        for request in (30, 90, 150):
            process = trial.crawler.start()
            wait_until(lambda goal=request: trial.served() >= goal, process)
            process.send_signal(signal.SIGTERM)
            time.sleep(trial.dice.uniform(0.0, 0.05))
            was_killed = kill(process)
            trial.kills += was_killed
            assert was_killed or process.returncode == 3
        trial.finish()


@pytest.mark.slow
def test_killed_while_it_rebuilds_its_state_the_archive_is_unharmed(tmp_path: Path) -> None:
    web = FakeWeb(seed=107, hosts=6, pages_per_host=20)
    with ordeal(tmp_path, web, "--delay", "0") as trial:
        trial.kill_at(80)
        shutil.rmtree(trial.crawler.folder / "state")
        build = [GOSSAMER, "build", str(trial.crawler.folder), "state"]
        killed = 0
        for step in range(5):
            process = spawn(build)
            time.sleep(0.2 * step + trial.dice.uniform(0.0, 0.2))
            killed += kill(process)
        assert killed >= 1
        finish(spawn(build)).expect(0)
        before = page_hits(trial.server.requests())
        trial.finish()
        again = page_hits(trial.server.requests())
        stored = read_archive(trial.crawler.folder).page_urls
        assert sum(again[what] - 1 for what in before if again[what] > 1) <= CONCURRENCY
        assert max(stored.values()) == 1


@pytest.mark.parametrize("policy", ["each", "never"])
def test_whatever_the_policy_of_syncing_a_kill_loses_nothing(policy: str, tmp_path: Path) -> None:
    web = FakeWeb(seed=108, hosts=3, pages_per_host=10)
    with ordeal(tmp_path, web, "--delay", "0") as trial:
        knobs = {**SMALL, "store": {**SMALL["store"], "sync": policy}}
        write_knobs(tmp_path / "knobs.toml", knobs)
        for request in (10, 30, 60):
            trial.kill_at(request, is_fresh=False)
        trial.finish()
