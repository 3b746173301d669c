"""Stopping: on request, at a limit, for lack of room, or because the folder is taken."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from gossamer.testing import (
    CannedResponse,
    ConnectionEnd,
    FakeWeb,
    Fault,
    FaultLocation,
    Pause,
    ScriptedWeb,
    ServerProcess,
    serve_in_process,
    serve_in_thread,
)
from tests.e2e.archive import read_archive
from tests.e2e.crawler import Crawler, Ended, finish, flags_for, wait_until, write_knobs
from tests.e2e.judge import Judge, page_hits

WEB = FakeWeb(seed=301, hosts=6, pages_per_host=20)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with serve_in_process(WEB, tmp_path / "log.tsv") as serving:
        yield serving


def crawler_of(server: ServerProcess, folder: Path, *flags: str) -> Crawler:
    words = flags_for(server.resolve, "--delay", "0", "--concurrency", "4", *flags)
    return Crawler(folder, server.web.seeds, words)


def assert_one_line(ended: Ended, *words: str) -> None:
    """The error is one clear line, without a traceback; on a slow machine progress precedes it."""
    lines = [line for line in ended.err.strip().splitlines() if " pages · " not in line]
    assert len(lines) == 1, ended.err
    line = lines[0]
    for word in words:
        assert word in line, line


@pytest.mark.slow
@pytest.mark.parametrize("wish", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_on_request_loses_nothing_and_repeats_nothing(
    wish: signal.Signals, server: ServerProcess, tmp_path: Path
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl")
    for goal in (1, 25, 70, 110):
        process = crawler.start(is_fresh=goal == 25)
        wait_until(lambda goal=goal: len(server.requests()) >= goal, process)
        process.send_signal(wish)
        ended = finish(process).expect(3)
        assert ended.last_json["finished"] is False
    crawler.run().expect(0)
    assert max(page_hits(server.requests()).values()) == 1
    Judge(server.web).assert_complete(read_archive(crawler.folder))


@pytest.mark.slow
@pytest.mark.parametrize("wish", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_while_it_starts_is_a_stop_on_request_too(
    wish: signal.Signals, server: ServerProcess, tmp_path: Path
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl", "--delay", "5")
    process = crawler.start(is_fresh=True)
    wait_until((crawler.folder / "lock").exists, process)
    process.send_signal(wish)
    ended = finish(process).expect(3)
    assert (ended.last_json["finished"], ended.last_json["reason"]) == (False, "stopped")
    crawler.run("--delay", "0").expect(0)
    assert max(page_hits(server.requests()).values()) == 1


STOPPED_AT_IMPORT = """
import os, sys

class Stopping:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), {number})

sys.meta_path.insert(0, Stopping())
from gossamer.cli.main import run
sys.argv = ["gossamer", *{words!r}]
run()
"""


@pytest.mark.parametrize("shards", ["1", "2"])
@pytest.mark.parametrize("wish", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("module", ["gossamer.errors", "msgspec", "gossamer.cli.start", "uvloop"])
def test_a_stop_while_modules_are_loaded_is_one_line_and_exit_3(
    module: str, wish: signal.Signals, shards: str, tmp_path: Path
) -> None:
    words = ["crawl", "http://a.test/", "--into", str(tmp_path / "crawl"), "--shards", shards]
    script = STOPPED_AT_IMPORT.format(module=module, number=int(wish), words=[*words, "--json"])
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    ended = Ended(done.returncode, done.stdout, done.stderr).expect(3)
    assert_one_line(ended, "stopped", "run the same command again")
    assert ended.last_json == {"finished": False, "reason": "stopped"}
    assert not (tmp_path / "crawl").exists()


@pytest.mark.slow
def test_a_stop_does_not_wait_for_a_server_that_never_answers(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("hang.test")

    def never(_: FaultLocation) -> Iterator[ConnectionEnd | Pause]:
        yield ConnectionEnd.HANG

    host.page("/", links=["/never"]).custom_fault("/never", never)
    with serve_in_thread(web) as server:
        crawler = Crawler(
            tmp_path / "crawl", (host.url(),), flags_for(server.resolve, "--delay", "0")
        )
        process = crawler.start()
        wait_until(lambda: any(v.target == "/never" for v in server.requests), process)
        process.send_signal(signal.SIGTERM)
        finish(process, timeout_s=25.0).expect(3)
        assert crawler.why(host.url("/never"))["state"] in {"queued", "leased"}
        host.page("/never", text="at last")
        crawler.run().expect(0)
    assert {host.url(), host.url("/never")} <= set(read_archive(crawler.folder).page_urls)


@pytest.mark.parametrize("limit", [1, 7])
def test_a_page_limit_is_met_exactly_and_counts_the_whole_crawl(
    limit: int, server: ServerProcess, tmp_path: Path
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl")
    for pages in (limit, limit + 13):
        ended = crawler.run("--max-pages", str(pages)).expect(0)
        assert ended.last_json["finished"] is False
        assert ended.last_json["pages"] == pages
        assert crawler.status()["finished"] is False
        assert read_archive(crawler.folder).page_count == pages
    again = crawler.run("--max-pages", str(limit + 13)).expect(0)
    assert again.last_json["pages"] == limit + 13
    assert max(page_hits(server.requests()).values()) == 1


def test_a_limit_on_bytes_ends_a_crawl_that_can_go_on(
    server: ServerProcess, tmp_path: Path
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl")
    ended = crawler.run("--max-bytes", "200000").expect(0)
    assert ended.last_json["finished"] is False
    size = sum(f.stat().st_size for f in (crawler.folder / "archive").glob("*.gz"))
    assert size >= 200_000
    ended = crawler.run("--max-bytes", "100000000").expect(0)
    assert ended.last_json["finished"] is True
    Judge(server.web).assert_complete(read_archive(crawler.folder))


def test_a_limit_on_time_ends_a_crawl_that_can_go_on(server: ServerProcess, tmp_path: Path) -> None:
    words = flags_for(server.resolve, "--delay", "0.3")
    crawler = Crawler(tmp_path / "crawl", server.web.seeds, words)
    ended = crawler.run("--max-time", "1s").expect(0)
    assert "\n#max_time_s =" in (crawler.folder / "crawl.toml").read_text()
    assert ended.last_json["finished"] is False
    assert crawler.run("--max-time", "500", "--delay", "0").expect(0).last_json["finished"] is True


def test_a_second_process_is_turned_away_and_the_first_is_unharmed(
    server: ServerProcess, tmp_path: Path
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl")
    slow = replace(crawler, flags=(*crawler.flags, "--delay", "0.3"))
    with slow.running() as first:
        wait_until(lambda: len(server.requests()) >= 8, first)
        settings = (crawler.folder / "crawl.toml").read_bytes()
        second = crawler.run("--max-depth", "1").expect(4)
        assert_one_line(second, str(first.pid), str(crawler.folder))
        assert first.poll() is None
        assert (crawler.folder / "crawl.toml").read_bytes() == settings
        assert crawler.ask("build", "state").expect(4)
        assert crawler.status()["running"] is True
        seen = len(server.requests())
        wait_until(lambda: len(server.requests()) > seen, first)
        first.send_signal(signal.SIGTERM)
        assert finish(first).code == 3
    crawler.run().expect(0)
    assert max(page_hits(server.requests()).values()) == 1
    Judge(server.web).assert_complete(read_archive(crawler.folder))


def test_a_folder_that_cannot_be_made_is_one_line_and_exit_4(
    server: ServerProcess, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("I am not a folder")
    for place in (file / "crawl", file):
        assert_one_line(crawler_of(server, place).run().expect(4), str(file))
    assert file.read_text() == "I am not a folder"
    assert not server.requests()


@contextmanager
def mounted(place: Path, options: str) -> Iterator[tuple[str, ...]]:
    """Mount a file system that only processes behind the given words can see."""
    place.mkdir()
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("nsenter"):
        pytest.skip("mounting needs root, unshare and nsenter")
    script = f"mount -t tmpfs -o {options} tmpfs {place} && echo ready && exec sleep 600"
    holder = subprocess.Popen(
        ["unshare", "-m", "sh", "-c", script], stdout=subprocess.PIPE, text=True
    )
    try:
        ready = holder.stdout.readline() if holder.stdout else ""
        if ready.strip() != "ready":
            pytest.skip("file systems cannot be mounted here")
        yield ("nsenter", "-t", str(holder.pid), "-m")
    finally:
        holder.kill()
        holder.communicate()


@dataclass(frozen=True)
class Volume:
    """A small file system of its own."""

    prefix: tuple[str, ...]
    place: Path

    @property
    def seen_from_outside(self) -> Path:
        return Path(f"/proc/{self.prefix[2]}/root{self.place}")

    def sh(self, script: str) -> None:
        subprocess.run([*self.prefix, "sh", "-c", script], check=True, capture_output=True)


@contextmanager
def volume(place: Path, size: str) -> Iterator[Volume]:
    with mounted(place, f"size={size}") as prefix:
        yield Volume(prefix, place)


def test_a_read_only_folder_is_one_line_and_exit_4(server: ServerProcess, tmp_path: Path) -> None:
    with volume(tmp_path / "small", "256m") as disk:
        crawler = replace(crawler_of(server, disk.place / "crawl"), prefix=disk.prefix)
        crawler.run("--max-pages", "5").expect(0)
        asked = len(server.requests())
        disk.sh(f"mount -o remount,ro {disk.place}")
        assert_one_line(crawler.run("--max-pages", "10").expect(4), str(crawler.folder))
        assert len(server.requests()) == asked
        disk.sh(f"mount -o remount,rw {disk.place}")
        crawler.run("--max-pages", "1000").expect(0)
        Judge(server.web).assert_complete(read_archive(disk.seen_from_outside / "crawl"))
    assert max(page_hits(server.requests()).values()) == 1


@pytest.mark.slow
def test_a_full_disk_ends_the_crawl_with_exit_4_and_nothing_damaged(
    server: ServerProcess, tmp_path: Path
) -> None:
    knobs = write_knobs(tmp_path / "knobs.toml", {"store": {"min_free_bytes": 0}})
    with volume(tmp_path / "small", "64m") as disk:
        crawler = crawler_of(server, disk.place / "crawl", "--config", str(knobs))
        crawler = replace(crawler, prefix=disk.prefix)
        crawler.run("--max-pages", "5").expect(0)
        for room in (64, 256, 1024):
            _leave(disk, room)
            full = crawler.run("--max-pages", "1000")
            if full.code == 0:
                continue
            line = full.expect(4).err.splitlines()[-1]
            assert "No space left" in line or "full" in line
        disk.sh(f"rm {disk.place}/ballast")
        crawler.run("--max-pages", "1000").expect(0)
        Judge(server.web).assert_complete(read_archive(disk.seen_from_outside / "crawl"))


def _leave(disk: Volume, room_kib: int) -> None:
    """Fill the volume but for some room."""
    ballast = disk.place / "ballast"
    disk.sh(
        f"rm -f {ballast}; free=$(df -k --output=avail {disk.place} | tail -1); "
        f"dd if=/dev/zero of={ballast} bs=1k count=$((free - {room_kib})) || true"
    )


@pytest.mark.slow
def test_on_a_disk_that_runs_low_the_crawl_pauses_and_goes_on_by_itself(
    server: ServerProcess, tmp_path: Path
) -> None:
    low = 8 * 1024 * 1024
    knobs = write_knobs(tmp_path / "knobs.toml", {"store": {"min_free_bytes": low}})
    with volume(tmp_path / "small", "64m") as disk:
        crawler = crawler_of(server, disk.place / "crawl", "--config", str(knobs), "--delay", "0.1")
        crawler = replace(crawler, prefix=disk.prefix)
        with crawler.running() as process:
            wait_until(lambda: len(server.requests()) >= 10, process)
            _leave(disk, 4096)
            wait_until(lambda: crawler.status()["paused"] == "disk_low", process)
            asked = len(server.requests())
            time.sleep(1.0)
            assert len(server.requests()) == asked
            disk.sh(f"rm {disk.place}/ballast")
            assert finish(process).expect(0).last_json["finished"] is True
        Judge(server.web).assert_complete(read_archive(disk.seen_from_outside / "crawl"))
    assert max(page_hits(server.requests()).values()) == 1


@pytest.mark.slow
def test_a_file_that_may_not_grow_ends_the_crawl_with_exit_4_and_nothing_damaged(
    server: ServerProcess, tmp_path: Path
) -> None:
    crawler = crawler_of(server, tmp_path / "crawl")
    for size in (60_000, 200_000, 500_000):

        def limit(size: int = size) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        assert_one_line(crawler.run(preexec_fn=limit).expect(4))
    crawler.run().expect(0)
    Judge(server.web).assert_complete(read_archive(crawler.folder))


def test_a_page_that_is_cut_off_again_and_again_does_not_stop_the_others(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("cut.test")
    cut = CannedResponse(
        fault=Fault(
            "cut", FaultLocation("cut.test", 0, "/cut"), lambda _: iter((ConnectionEnd.RESET,))
        )
    )
    host.page("/", links=["/cut", "/a", "/b"]).page("/a").page("/b").on("/cut", cut)
    with serve_in_thread(web) as server:
        crawler = Crawler(
            tmp_path / "crawl", (host.url(),), flags_for(server.resolve, "--delay", "0")
        )
        with crawler.running() as process:
            wait_until(lambda: {"/a", "/b"} <= {v.target for v in server.requests}, process)
            wait_until(lambda: crawler.why(host.url("/cut"))["state"] == "waiting", process)
            found = crawler.why(host.url("/cut"))
            assert found["reason"] == "disconnected"
            assert found["next_at"] is not None
