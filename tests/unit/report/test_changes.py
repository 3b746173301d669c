"""Changes are read from the links archive alone: here it is written by hand."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from gossamer.report import PageChange, change_rows
from gossamer.report.changes import changed_lines, similarity
from gossamer.store import ArchiveName, CrawlFolder, LinksRecord, TurnWriter

KIND = {"fetched": "fetched", "other": "fetched", "moved": "redirected", "gone": "gone"}


class LinksFiles:
    """Links files of some shards, written record by record."""

    def __init__(self, root: Path) -> None:
        self.folder = CrawlFolder(root)
        self.folder.archive.mkdir(parents=True)
        self._writers: dict[tuple[int, int], TurnWriter] = {}
        self.lengths: dict[str, int] = {}
        self._now = 1_700_000_000.0

    def write(self, shard: int, epoch: int, *records: LinksRecord) -> None:
        name = ArchiveName("links", shard, epoch, 0).file_name
        path = self.folder.archive / name
        writer = self._writers.setdefault(
            (shard, epoch), TurnWriter(software="test", rng=Random(len(self._writers)))
        )
        self._now += 1.0
        with path.open("ab") as file:
            if not file.tell():
                file.write(writer.warcinfo(name, self._now))
            file.write(writer.endings(records))
        self.lengths[name] = path.stat().st_size

    def tell(self, shard: int, epoch: int, url: str, what: str, words: int = 1) -> None:
        """Record an outcome; of a page, with these words."""
        at = self._now + 0.5
        said = words if KIND[what] == "fetched" else None
        record = LinksRecord(url=url, outcome=KIND[what], at=at, words=said, fp=said)
        self.write(shard, epoch, record)


def rows(files: LinksFiles, cuts: Sequence[dict[str, int]] = ()) -> list[PageChange]:
    found: list[PageChange] = []
    marks = [{}, *cuts, dict(files.lengths)]
    for start, end in pairwise(marks):
        found += change_rows(files.folder, start, end)
    return found


def told(found: Sequence[PageChange], url: str) -> list[str]:
    return [row.kind for row in found if row.url == url]


@pytest.fixture
def files(tmp_path: Path) -> LinksFiles:
    return LinksFiles(tmp_path / "c")


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        (["fetched"], ["new"]),
        (["fetched", "fetched"], ["new"]),
        (["fetched", "other"], ["new", "changed"]),
        (["fetched", "gone", "gone"], ["new", "gone"]),
        (["fetched", "gone", "fetched"], ["new", "gone", "back"]),
        (["fetched", "gone", "other", "gone"], ["new", "gone", "back", "gone"]),
        (["fetched", "moved"], ["new", "changed"]),
        (["fetched", "moved", "other"], ["new", "changed", "changed"]),
        (["fetched", "gone", "moved"], ["new", "gone", "back"]),
        (["moved", "moved"], []),
        (["moved", "fetched"], ["new"]),
        (["gone"], []),
    ],
)
def test_what_became_of_a_url_is_told_as_changes(
    files: LinksFiles, outcomes: list[str], expected: list[str]
) -> None:
    for outcome in outcomes:
        files.tell(0, 1, "http://a.test/", outcome, words=2 if outcome == "other" else 1)
    assert told(rows(files), "http://a.test/") == expected


def test_urls_that_failed_or_were_refused_and_sitemaps_are_no_changes(files: LinksFiles) -> None:
    for outcome in ("failed", "refused", "seed", "labelled", "unchanged"):
        files.write(0, 1, LinksRecord(url="http://a.test/", outcome=outcome, reason="not_found"))
    sitemap = "application/sitemap+xml"
    both = [LinksRecord(url=f"http://a.test/{n}", outcome="failed") for n in range(2)]
    files.write(0, 1, *both)
    files.write(0, 1, LinksRecord(url="http://a.test/s", outcome="fetched", media_type=sitemap))
    assert rows(files) == []


def test_a_stored_page_that_fails_as_not_found_after_a_rebuild_is_gone(files: LinksFiles) -> None:
    files.tell(0, 1, "http://a.test/", "fetched")
    lost = LinksRecord(url="http://a.test/", outcome="failed", reason="not_found", at=2.0)
    files.write(0, 1, lost, LinksRecord(url="http://b.test/", outcome="failed", reason="gone"))
    assert [row.kind for row in rows(files)] == ["new", "gone"]


@pytest.mark.parametrize("seed", range(4))
def test_each_change_is_told_once_however_the_archive_is_cut_into_stretches(
    files: LinksFiles, seed: int
) -> None:
    rng = Random(seed)
    urls = [f"http://{n}.test/" for n in range(12)]
    cuts = []
    for epoch in range(1, 4):  # at each start a URL may belong to another shard
        owner = {url: rng.randrange(3) for url in urls}
        for _ in range(60):
            url = rng.choice(urls)
            files.tell(owner[url], epoch, url, rng.choice(list(KIND)), words=rng.randrange(1, 3))
            if rng.random() < 0.04:
                cuts.append(dict(files.lengths))
    whole, parts = rows(files), rows(files, cuts)
    assert len(whole) > 50
    for url in urls:
        assert [r for r in parts if r.url == url] == [r for r in whole if r.url == url]
        times = [row.at for row in whole if row.url == url]
        assert times == sorted(set(times))


def test_lines_are_aligned_and_words_counted_wherever_they_stand() -> None:
    old, new = ["a", "price: 12", "b", "c"], ["a", "price: 14", "b", "c", "d"]
    assert changed_lines(old, new) == ["-price: 12", "+price: 14", "+d"]
    assert changed_lines(old, old) == []
    assert similarity(["one two three"], ["three two one"]) == 1.0
    assert similarity([], []) == 1.0
    assert similarity(["one"], []) == 0.0
    many = [str(n) for n in range(30_000)]
    assert len(changed_lines(many, [f"x{n}" for n in range(30_000)])) == 60_000
