"""Damage in the archive itself: `build state` skips and names it, and cuts nothing."""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.store import CrawlFolder, Record, scan_records
from gossamer.testing import FakeWeb, serve_in_process
from tests.e2e.archive import read_archive
from tests.e2e.crawler import Crawler, flags_for, only_json
from tests.e2e.judge import Judge
from tests.e2e.test_damage import copy_of, listing


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Crawler, Judge]]:
    """A crawl that came to its end, with its web still served, and who knows that web."""
    folder = tmp_path_factory.mktemp("finished")
    web = FakeWeb(seed=212, hosts=4, pages_per_host=15)
    with serve_in_process(web, folder / "log.tsv") as server:
        flags = flags_for(server.resolve, "--delay", "0", "--concurrency", "4", "--shards", "1")
        crawler = Crawler(folder / "crawl", server.web.seeds, flags)
        crawler.run().expect(0)
        yield crawler, Judge(server.web)


def stored(crawler: Crawler) -> set[str]:
    """Return the URLs of all page records that can be read."""
    folder = CrawlFolder(crawler.folder)
    return {
        found.headers["warc-target-uri"]
        for name in folder.archive_names(kind="pages")
        for found in scan_records(folder.archive_path(name.file_name), digests="all")
        if isinstance(found, Record) and found.headers["warc-type"] in {"response", "revisit"}
    }


def damage(path: Path, how: str, dice: random.Random) -> int:
    """Damage a file in one place; return the place."""
    data = bytearray(path.read_bytes())
    at = dice.randrange(len(data) // 4, len(data) // 2)
    if how == "bit":
        data[at] ^= 1 << dice.randrange(8)
    elif how == "zeros":
        data[at : at + 3000] = bytes(len(data[at : at + 3000]))
    elif how == "hole":
        del data[at : at + 100]
    else:
        del data[at:]
    path.write_bytes(data)
    return at


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pages", "links"])
@pytest.mark.parametrize("how", ["bit", "zeros", "hole", "cut"])
def test_a_state_is_built_from_a_damaged_archive_and_the_crawl_fetches_what_is_lost(
    finished: tuple[Crawler, Judge], tmp_path: Path, kind: str, how: str
) -> None:
    whole, _ = finished
    crawler = copy_of(whole, tmp_path / "crawl")
    path = crawler.folder / "archive" / f"{kind}-00-0001-00000.warc.gz"
    of_urls = {
        found.offset
        for found in scan_records(path)
        if isinstance(found, Record) and "warc-target-uri" in found.headers
    }
    at = damage(path, how, random.Random(f"{kind} {how}"))
    readable = stored(crawler)
    before = listing(crawler.folder / "archive")
    before.pop("ends-00", None)

    built = only_json(crawler.ask("build", "state", "--json").expect(0))
    after = listing(crawler.folder / "archive")
    after.pop("ends-00", None)
    assert after == before
    assert built["damaged"]
    assert {bad["file"] for bad in built["damaged"]} == {path.name}
    assert any(bad["offset"] <= at <= bad["end"] for bad in built["damaged"])
    assert all(bad["url"] for bad in built["damaged"] if bad["offset"] in of_urls)
    lost = {bad["url"] for bad in built["damaged"]} - {""}
    status = crawler.status()
    assert status["pages"] >= whole.status()["pages"] - built["queued_again"] - len(lost)

    assert crawler.run().expect(0).last_json["finished"] is True
    for name, content in before.items():
        now = (crawler.folder / "archive" / name).read_bytes()
        # The start cuts the end of a file that cannot be read.
        assert now == content or name.endswith(".cdxj") or (name == path.name and how == "cut")
    assert readable | lost <= stored(crawler)
    assert set(read_archive(whole.folder).page_urls) <= stored(crawler)
    again = only_json(crawler.ask("build", "state", "--json").expect(0))
    assert (again["queued"], again["queued_again"]) == (0, 0)
    assert crawler.status()["pages"] == whole.status()["pages"]


def test_a_damaged_page_is_told_in_one_line_and_everything_else_still_answers(
    finished: tuple[Crawler, Judge], tmp_path: Path
) -> None:
    crawler = copy_of(finished[0], tmp_path / "crawl")
    path = crawler.folder / "archive" / "pages-00-0001-00000.warc.gz"
    victim = next(
        found
        for found in scan_records(path)
        if isinstance(found, Record)
        and found.headers["warc-type"] == "response"
        and found.block.startswith(b"HTTP/1.1 200")
    )
    data = bytearray(path.read_bytes())
    data[victim.offset + victim.length - 6] ^= 1
    path.write_bytes(data)
    url = victim.headers["warc-target-uri"]
    refusal = crawler.say("show", url).expect(4)
    assert refusal.err.strip().count("\n") == 0
    assert path.name in refusal.err
    assert str(victim.offset) in refusal.err
    assert f"gossamer build {crawler.folder} state" in refusal.err
    crawler.say("why", url).expect(0)
    crawler.say("why", "http://unknown.example/").expect(0)
    for derived in ("graph", "index"):
        links = crawler.folder / "archive" / "links-00-0001-00000.warc.gz"
        damage(links, "bit", random.Random(derived))
        crawler.ask("build", derived).expect(0)
    told = crawler.ask("build", "state").expect(0)
    assert f"{path.name}: bytes {victim.offset} to" in told.out
    assert url in told.out
    assert f"record.damaged file={path.name} byte={victim.offset}" in told.err


def records_of(path: Path) -> list[Record]:
    return [found for found in scan_records(path) if isinstance(found, Record)]


def spoil(path: Path, victim: Record) -> None:
    """Flip a bit in a record's content."""
    data = bytearray(path.read_bytes())
    data[victim.offset + victim.length - 6] ^= 1
    path.write_bytes(data)


def answers(crawler: Crawler) -> Counter[str]:
    """Return how often each URL has a response that can be read."""
    paths = sorted((crawler.folder / "archive").glob("pages-*.gz"))
    return Counter(
        record.headers["warc-target-uri"]
        for path in paths
        for record in records_of(path)
        if record.headers["warc-type"] == "response"
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["links", "text"])
def test_a_stored_page_whose_links_or_text_are_damaged_is_not_stored_twice(
    finished: tuple[Crawler, Judge], tmp_path: Path, kind: str
) -> None:
    whole, _ = finished
    crawler = copy_of(whole, tmp_path / "crawl")
    path = next((crawler.folder / "archive").glob(f"{kind}-00-0001-00000.*"))
    pages = records_of(crawler.folder / "archive" / "pages-00-0001-00000.warc.gz")
    status = {
        one.record_id: one.block.split()[1]
        for one in pages
        if one.headers["warc-type"] == "response"
    }
    victims = [one for one in records_of(path) if one.headers.get("warc-refers-to") in status]
    redirects = [
        one for one in victims if status[one.headers["warc-refers-to"]] in {b"301", b"302"}
    ]
    html = [one for one in victims if one.headers["warc-target-uri"].endswith(".html")]
    chosen = [html[len(html) // 2], *redirects[:1]]
    assert kind == "text" or redirects
    for victim in chosen:
        spoil(path, victim)
    urls = {victim.headers["warc-target-uri"] for victim in chosen}

    built = only_json(crawler.ask("build", "state", "--json").expect(0))
    assert {bad["url"] for bad in built["damaged"]} == urls
    assert built["queued_again"] == len(urls)
    assert crawler.run().expect(0).last_json["finished"] is True
    assert answers(crawler) == answers(whole)
    names = set((crawler.folder / "archive").glob(f"{kind}-*.gz")) - {path}
    again = [one for name in names for one in records_of(name)]
    assert urls <= {one.headers.get("warc-target-uri") for one in again}
    url = chosen[0].headers["warc-target-uri"]
    assert crawler.ask("show", url).expect(0).out == whole.ask("show", url).expect(0).out
    assert crawler.why(url)["state"] == "archived"
    assert crawler.why(url)["copy_of"] == ""
    for key in ("pages", "html_pages", "copies"):
        assert crawler.status().get(key) == whole.status().get(key)
    second = only_json(crawler.ask("build", "state", "--json").expect(0))
    assert (second["queued"], second["queued_again"]) == (0, 0)
    assert crawler.status()["pages"] == whole.status()["pages"]


def test_the_end_of_a_file_that_cannot_be_read_does_not_count_and_is_kept(
    finished: tuple[Crawler, Judge], tmp_path: Path
) -> None:
    whole, _ = finished
    crawler = copy_of(whole, tmp_path / "crawl")
    path = crawler.folder / "archive" / "pages-00-0001-00000.warc.gz"
    last = records_of(path)[-1]
    spoil(path, last)
    bad = path.read_bytes()[last.offset :]
    crawler.ask("build", "state").expect(0)
    assert path.read_bytes()[last.offset :] == bad
    crawler.run().expect(0)
    assert path.stat().st_size == last.offset
    (kept,) = (crawler.folder / "archive" / "lost+found").iterdir()
    assert kept.read_bytes() == bad
    read_archive(crawler.folder)
    assert set(stored(crawler)) == set(stored(whole))
    crawler.ask("check").expect(0)
