"""`gossamer check` names what is damaged, where it lies, and what mends it; and nothing else."""

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gossamer.testing import FakeWeb, serve_in_process
from tests.e2e.crawler import Crawler, Ended, flags_for, kill, only_json, wait_until, write_knobs
from tests.e2e.test_damage import copy_of, listing


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawler]:
    """A crawl by two shards that came to its end, with graph and index; its web is still served."""
    folder = tmp_path_factory.mktemp("whole")
    web = FakeWeb(seed=213, hosts=6, pages_per_host=20)
    knobs = write_knobs(
        folder / "knobs.toml", {"seen": {"run_keys": 40}, "store": {"file_bytes": 60_000}}
    )
    with serve_in_process(web, folder / "log.tsv") as server:
        more = ("--delay", "0.2", "--concurrency", "4", "--shards", "2", "--config", str(knobs))
        flags = flags_for(server.resolve, *more)
        crawler = Crawler(folder / "crawl", server.web.seeds, flags)
        crawler.run("--max-pages", "30").expect(0)
        shutil.copytree(crawler.folder / "state", folder / "old")
        crawler.run().expect(0)
        crawler.run().expect(0)  # so that the log becomes a file
        crawler.ask("build", "graph").expect(0)
        crawler.ask("build", "index").expect(0)
        crawler.ask("build", "tables").expect(0)
        yield crawler


def checked(crawler: Crawler, *more: str) -> Ended:
    return crawler.say("check", *more, "--json")


def largest(folder: Path, pattern: str) -> Path:
    return max(folder.glob(pattern), key=lambda path: path.stat().st_size)


GZIP_HEADER = b"\x1f\x8b\x08"


def flip(path: Path, share: float = 0.5) -> None:
    """Flip a bit that means something: a gzip header has bytes that mean nothing (time, system)."""
    data = bytearray(path.read_bytes())
    at = int(len(data) * share)
    if path.suffix == ".gz":
        next_one = data.find(GZIP_HEADER, at)
        at = (next_one if next_one >= 0 else data.rindex(GZIP_HEADER)) + 30
    data[at] ^= 1 << random.Random(path.name).randrange(8)
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_a_sound_crawl_has_no_findings_and_nothing_is_written(whole: Crawler) -> None:
    before = listing(whole.folder)
    for more in ([], ["--quick"], ["--sample", "2"], ["--sample", "2", "--seed", "5"]):
        report = only_json(checked(whole, *more).expect(0))
        assert (report["ok"], report["findings"]) == (True, [])
    full = only_json(checked(whole).expect(0))
    assert full["bytes_read"] == full["bytes_all"]
    assert full["pages"] >= whole.status()["pages"]
    assert listing(whole.folder) == before
    told = whole.say("check", "--sample", "1").expect(0).out
    assert "% of the archive" in told


DAMAGES: dict[str, tuple[Callable[[Path], Path], set[str], str]] = {
    "sst": (lambda root: largest(root / "state" / "00", "*.sst"), {"bad_state"}, "bit"),
    "sst cut": (lambda root: largest(root / "state" / "00", "*.sst"), {"bad_state"}, "cut"),
    "manifest": (lambda root: largest(root / "state" / "00", "MANIFEST-*"), {"bad_state"}, "cut"),
    "seen run": (lambda root: largest(root / "state", "*/seen/run-*.keys"), {"bad_seen"}, "bit"),
    "seen cut": (lambda root: largest(root / "state", "*/seen/run-*.keys"), {"bad_seen"}, "cut"),
    "pages": (lambda root: largest(root / "archive", "pages-*.gz"), {"bad_record"}, "bit"),
    "pages cut": (lambda root: largest(root / "archive", "pages-*.gz"), {"bad_length"}, "cut"),
    "text": (lambda root: largest(root / "archive", "text-*.gz"), {"bad_record"}, "bit"),
    "links": (lambda root: largest(root / "archive", "links-*.gz"), {"bad_record"}, "bit"),
    "cdxj": (lambda root: largest(root / "archive", "*.cdxj"), {"bad_cdxj"}, "bit"),
    "cdxj cut": (lambda root: largest(root / "archive", "*.cdxj"), {"bad_cdxj"}, "cut"),
    "crawl.toml": (lambda root: root / "crawl.toml", {"bad_config"}, "cut"),
    "shard map": (lambda root: root / "state" / "shards.json", {"bad_shard_map"}, "bit"),
    "missing pages": (
        lambda root: largest(root / "archive", "pages-*.gz"),
        {"missing_file"},
        "gone",
    ),
    "missing links": (
        lambda root: largest(root / "archive", "links-*.gz"),
        {"missing_file"},
        "gone",
    ),
    "missing cdxj": (lambda root: largest(root / "archive", "*.cdxj"), {"bad_cdxj"}, "gone"),
    "graph": (lambda root: largest(root / "graph", "*"), {"bad_graph"}, "bit"),
    "graph manifest": (lambda root: root / "graph" / "manifest.json", {"bad_graph"}, "bit"),
    "index": (lambda root: largest(root / "index", "*/*.*"), {"bad_index"}, "bit"),
    "index segments": (lambda root: largest(root / "index", "*/meta.json"), {"bad_index"}, "cut"),
    "tables": (lambda root: largest(root / "tables", "*.parquet"), {"bad_tables"}, "bit"),
    "tables cut": (lambda root: largest(root / "tables", "*.npy"), {"bad_tables"}, "cut"),
    "tables manifest": (lambda root: root / "tables" / "manifest.json", {"bad_tables"}, "bit"),
    "index manifest": (lambda root: root / "index" / "manifest.json", {"bad_index"}, "bit"),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", DAMAGES)
def test_damage_is_named_with_its_file_and_what_can_be_rebuilt_is_repaired(
    whole: Crawler, tmp_path: Path, what: str
) -> None:
    crawler = copy_of(whole, tmp_path / "crawl")
    find, kinds, how = DAMAGES[what]
    path = find(crawler.folder)
    if how == "bit":
        flip(path)
    elif how == "cut":
        cut(path)
    else:
        path.unlink()
    before = listing(crawler.folder)
    report = only_json(checked(crawler).expect(4))
    assert listing(crawler.folder) == before
    assert kinds & {finding["kind"] for finding in report["findings"]}
    name = path.relative_to(crawler.folder).as_posix()
    is_in_state = what == "manifest"
    assert any(
        finding["file"].startswith("state") if is_in_state else finding["file"] == name
        for finding in report["findings"]
    ), report["findings"]
    named = crawler.say("check").expect(4).out
    assert all(finding["file"] in named for finding in report["findings"])
    repaired = only_json(checked(crawler, "--repair"))
    left = {finding["kind"] for finding in repaired["findings"]}
    if how == "bit" and "archive" in name and not name.endswith("cdxj"):
        assert left <= {"bad_record", "unknown_page"}
    elif name == "crawl.toml":
        assert left == {"bad_config"}
    elif not name.startswith("archive/") or name.endswith("cdxj"):
        assert left == set()
        assert repaired["repaired"]


@pytest.mark.slow
def test_an_older_copy_of_the_state_is_named(whole: Crawler, tmp_path: Path) -> None:
    crawler = copy_of(whole, tmp_path / "crawl")
    shutil.rmtree(crawler.folder / "state")
    shutil.copytree(whole.folder.parent / "old", crawler.folder / "state")
    report = only_json(checked(crawler).expect(4))
    kinds = {finding["kind"] for finding in report["findings"]}
    assert kinds & {"old_state", "tail", "unknown_file", "unknown_page"}
    repaired = only_json(checked(crawler, "--repair").expect(0))
    assert "state" in repaired["repaired"]
    assert crawler.status()["pages"] == whole.status()["pages"]


@pytest.mark.slow
def test_a_crawl_that_runs_is_checked_without_false_alarms_and_not_repaired(
    tmp_path: Path,
) -> None:
    web = FakeWeb(seed=214, hosts=6, pages_per_host=40)
    knobs = write_knobs(
        tmp_path / "knobs.toml", {"seen": {"run_keys": 40}, "store": {"file_bytes": 60_000}}
    )
    with serve_in_process(web, tmp_path / "log.tsv") as server:
        more = ("--delay", "0.05", "--concurrency", "4", "--shards", "2", "--config", str(knobs))
        crawler = Crawler(tmp_path / "crawl", server.web.seeds, flags_for(server.resolve, *more))
        process = crawler.start()
        wait_until(lambda: len(server.requests()) >= 30, process)
        alarms = []
        for _ in range(4):
            report = checked(crawler)
            alarms += only_json(report)["findings"]
        assert process.poll() is None
        assert alarms == []
        refusal = crawler.say("check", "--repair").expect(4)
        assert "another process" in refusal.err
        assert kill(process)
        assert only_json(checked(crawler).expect(0))["findings"] == []
        flip(largest(crawler.folder / "state", "*/*.log"), 0.3)
        found = only_json(checked(crawler).expect(4))["findings"]
        assert "bad_state" in {one["kind"] for one in found}
