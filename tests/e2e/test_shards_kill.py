"""kill -9 of a shard, of the supervisor, of all: nothing lost, nothing twice, no gap too short.

The judges are the server's log and the archive, read by warcio and FastWARC.
"""

import random
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gossamer.testing import (
    CannedResponse,
    FakeWeb,
    ScriptedWeb,
    ServerProcess,
    most_connections,
    serve_in_process,
    serve_in_thread,
    smallest_gap,
)
from tests.e2e.archive import read_archive
from tests.e2e.crawler import Crawler, Process, finish, flags_for, wait_until, write_knobs
from tests.e2e.judge import repeated, settled
from tests.e2e.shards import BLOCKED, is_alive, judge_of, shards_of, slay

CONCURRENCY = 8
DELAY_S = 0.04
SMALL = {
    "store": {"file_bytes": 150_000, "commit_pages": 8},
    "seen": {"run_keys": 60, "fan_in": 2},
    "frontier": {"lease_urls": 4},
}
"""Archive files and seen runs so small that a kill often falls into a rotation or a merge."""


@dataclass
class Ordeal:
    """A crawl in several shards that is killed here and there, then let finish, then judged."""

    server: ServerProcess
    crawler: Crawler
    dice: random.Random
    kills: int = 0
    story: list[str] = field(default_factory=list)

    def served(self) -> int:
        """Return how many requests the server has noted."""
        return self.server.log.read_bytes().count(b"\n") if self.server.log.exists() else 0

    def wait_for(self, request: int, process: Process) -> None:
        """Wait until the server has noted so many requests, and no less than all shards run."""
        assert wait_until(lambda: self.served() >= request, process), self.story
        assert wait_until(lambda: len(shards_of(process.pid)) == 2, process), self.story

    def note(self, *story: object) -> None:
        self.kills += 1
        self.story.append(" ".join(map(str, story)))

    def moments(self, times: int, until: float) -> list[int]:
        """Return at which requests to strike, up to a part of the crawl."""
        whole = len(judge_of(self.server.web).wanted())
        return sorted(self.dice.sample(range(3, int(whole * until)), times))

    def judge(self, process: Process) -> None:
        """Let the crawl end by itself and judge it."""
        ended = finish(process).expect(0)
        assert ended.last_json["finished"] is True
        visits, archive = self.server.requests(), read_archive(self.crawler.folder)
        judge_of(self.server.web).assert_complete(archive)
        judge_of(self.server.web).assert_obedient(visits)
        assert repeated(visits) <= self.kills * CONCURRENCY
        assert most_connections(visits) == 1
        assert smallest_gap(visits) >= 0.95 * DELAY_S
        status = self.crawler.status()
        assert status["pages"] == archive.page_count == ended.last_json["pages"]
        assert settled(status) == status["known_urls"]
        assert "killed_us" not in status["failed"]


@contextmanager
def ordeal(folder: Path, web: FakeWeb, *flags: str) -> Iterator[Ordeal]:
    """Serve a web for an ordeal; on failure the seed is printed with what was done."""
    with serve_in_process(web, folder / "log.tsv") as server:
        knobs = write_knobs(folder / "knobs.toml", SMALL)
        words = ("--concurrency", str(CONCURRENCY), "--config", str(knobs), "--shards", "2")
        words = flags_for(server.resolve, *words, "--delay", str(DELAY_S), *BLOCKED, *flags)
        trial = Ordeal(
            server,
            Crawler(folder / "crawl", server.web.seeds, words),
            random.Random(web.seed),
        )
        try:
            yield trial
        except BaseException:
            print(f"seed {web.seed}, story {trial.story}")  # noqa: T201  # shown on failure
            raise


@pytest.mark.slow
@pytest.mark.parametrize("order", ["best"])
def test_a_shard_that_is_killed_again_and_again_comes_back_and_the_crawl_ends_by_itself(
    order: str, tmp_path: Path
) -> None:
    web = FakeWeb(seed=411, hosts=12, pages_per_host=24)
    with ordeal(tmp_path, web, "--order", order) as trial:
        process = trial.crawler.start()
        for request in trial.moments(6, until=0.9):
            trial.wait_for(request, process)
            victim = trial.dice.choice(shards_of(process.pid))
            slay([victim])
            trial.note("shard", victim, "at", request)
            assert wait_until(lambda victim=victim: not is_alive(victim))
        trial.judge(process)


@pytest.mark.slow
def test_shards_die_with_their_supervisor_and_all_of_them_at_once(tmp_path: Path) -> None:
    with ordeal(tmp_path, FakeWeb(seed=412, hosts=12, pages_per_host=24)) as trial:
        for number, request in enumerate(trial.moments(5, until=0.9)):
            process = trial.crawler.start()
            trial.wait_for(request, process)
            shards = shards_of(process.pid)
            slay([process.pid] if number % 2 else [process.pid, *shards])
            process.communicate()
            trial.note("all but the supervisor left alone" if number % 2 else "all", "at", request)
            assert wait_until(lambda shards=shards: not any(map(is_alive, shards)))
            if number == 2:
                status = trial.crawler.status()
                assert settled(status) + status["queued"] == status["known_urls"]
        trial.judge(trial.crawler.start())


def test_after_a_kill_of_all_the_next_start_does_not_wait_for_the_dead(tmp_path: Path) -> None:
    with ordeal(tmp_path, FakeWeb(seed=413, hosts=12, pages_per_host=3)) as trial:
        for _ in range(3):
            process = trial.crawler.start()
            trial.wait_for(trial.served() + 1, process)
            slay([process.pid])
            trial.note("supervisor")
            process.communicate()
        trial.judge(trial.crawler.start())


def test_a_page_limit_holds_though_a_shard_that_waits_for_pages_is_killed(tmp_path: Path) -> None:
    with ordeal(tmp_path, FakeWeb(seed=414, hosts=12, pages_per_host=12)) as trial:
        for limit in (20, 60):
            process = trial.crawler.start("--max-pages", str(limit))
            for request in range(trial.served() + 4, trial.served() + limit, 8):
                if not wait_until(lambda goal=request: trial.served() >= goal, process):
                    break
                slay(shards_of(process.pid)[-1:])
                trial.note("shard at", request)
            finish(process).expect(0)
            stored = read_archive(trial.crawler.folder).page_count
            assert stored <= limit, trial.story
            finish(trial.crawler.start("--max-pages", str(limit))).expect(0)
            assert read_archive(trial.crawler.folder).page_count == limit, trial.story


def test_seeds_that_were_added_are_still_in_scope_after_a_shard_was_killed(tmp_path: Path) -> None:
    web = ScriptedWeb()
    first, added = web.host("b.test"), web.host("a.test")
    first.page("/", links=["/gate"]).on("/gate", CannedResponse(body=b"late", wait_s=3.0))
    added.page("/", links=["/gate"]).page("/deep", links=["/deeper"]).page("/deeper")
    added.on("/gate", CannedResponse(body=b'<a href="/deep">deep</a>', wait_s=3.0))
    with serve_in_thread(web) as server:
        words = flags_for(server.resolve, "--delay", "0", "--no-sitemaps", "--shards", "2")
        words = tuple("domain" if word == "any" else word for word in words)
        crawler = Crawler(tmp_path / "crawl", (first.url(),), words)
        with crawler.running() as process:

            def has_asked(host: str, times: int) -> bool:
                asked = [v for v in server.requests if (v.host, v.target) == (host, "/gate")]
                return len(asked) >= times

            assert wait_until(lambda: has_asked("b.test", 1), process)
            crawler.say("add", added.url()).expect(0)
            assert wait_until(lambda: has_asked("a.test", 1), process)
            slay(shards_of(process.pid))
            assert wait_until(lambda: has_asked("a.test", 2), process)
            finish(process).expect(0)
    stored = read_archive(crawler.folder).page_urls
    wanted = [first.url(path) for path in ("/", "/gate")]
    wanted += [added.url(path) for path in ("/", "/gate", "/deep", "/deeper")]
    assert stored == dict.fromkeys(wanted, 1)


def test_questions_are_answered_while_shards_are_killed(
    tmp_path: Path,
) -> None:
    web = FakeWeb(seed=415, hosts=12, pages_per_host=6)
    with (
        ordeal(tmp_path, web) as trial,
        trial.crawler.running("--delay", "0.3") as process,
    ):
        trial.wait_for(6, process)
        for _ in range(3):
            slay(trial.dice.sample(shards_of(process.pid), 1))
            for url in (trial.server.web.url(index, "/") for index in (0, 9)):
                assert trial.crawler.why(url)["state"] != "unknown"
            status = trial.crawler.status()
            assert (status["running"], status["finished"]) == (True, False)
            assert wait_until(lambda: len(shards_of(process.pid)) == 2, process)
        process.send_signal(signal.SIGTERM)
        finish(process).expect(3)


@pytest.mark.slow
def test_a_shard_without_its_state_leaves_its_archive_alone(tmp_path: Path) -> None:
    with ordeal(tmp_path, FakeWeb(seed=416, hosts=12, pages_per_host=3)) as trial:
        trial.crawler.run("--max-pages", "40").expect(0)
        before = {path.name: path.read_bytes() for path in _archive_of(trial.crawler, 1)}
        assert before
        shutil.rmtree(trial.crawler.folder / "state" / "01")
        for words in ((), ("--shards", "3"), ("--shards", "1")):
            refusal = trial.crawler.run("--max-pages", "40", *words).expect(4)
            assert "build" in refusal.err
            assert refusal.err.strip().count("\n") == 0
        assert {path.name: path.read_bytes() for path in _archive_of(trial.crawler, 1)} == before
        trial.crawler.ask("build", "state").expect(0)
        trial.judge(trial.crawler.start("--max-pages", "100000"))


def _archive_of(crawler: Crawler, shard: int) -> list[Path]:
    return sorted((crawler.folder / "archive").glob(f"*-{shard:02d}-*.gz"))
