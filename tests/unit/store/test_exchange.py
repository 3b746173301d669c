"""Links to pages of other shards travel through the store: all of them, once, whoever dies."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.unit.search.pages_archive import PagesArchive, Turn, page

from gossamer.cluster import Ring
from gossamer.errors import CannotGoOn
from gossamer.store import CrawlFolder, CrossLinks, LinkExchange, LinkSender, Objects, exchange
from gossamer.urls import fingerprint_of

SHARDS = 3
RING = Ring.even(SHARDS)
Row = tuple[str, str, str, str]


class Killed(BaseException):
    """Ends whoever writes, as a kill does."""


class DyingObjects:
    """A store whose writer dies before one of its writes."""

    def __init__(self, objects: Objects, writes: int) -> None:
        self._objects = objects
        self._left = writes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._objects, name)

    def put(self, name: str, content: bytes) -> None:
        self._count()
        self._objects.put(name, content)

    def create(self, name: str, content: bytes) -> bool:
        self._count()
        return self._objects.create(name, content)

    def _count(self) -> None:
        if not self._left:
            raise Killed
        self._left -= 1


def owner(url: str) -> int:
    return RING.owner_of(fingerprint_of(url))


def web(pages: int = 40, first: int = 0) -> list[Turn]:
    """Return pages of many domains, each with links to pages of others, and to none."""
    return [
        page(
            f"http://site{n}.test/",
            "words",
            *((f"http://site{(n * k) % 60}.test/", f"said {n} {k}") for k in range(1, 9)),
            at=float(n),
        )
        for n in range(first, first + pages)
    ]


class Exchanged:
    """A crawl of three shards: their archives in one folder, and a store."""

    def __init__(self, root: Path) -> None:
        self.archive = PagesArchive(root / "crawl")
        self.folder = CrawlFolder(root / "crawl")
        self.objects = Objects(f"file://{root}/store", is_made=True)
        self.turns: list[Turn] = []

    def write(self, turns: list[Turn], number: int = 0) -> None:
        self.turns += turns
        for shard in range(SHARDS):
            own = [turn for turn in turns if owner(turn.record.url) == shard]
            self.archive.write(own, shard=shard, number=number)

    def counted(self, shard: int) -> dict[str, int]:
        names = self.folder.archive_names(kind="links", shard=shard)
        return {
            one.file_name: self.folder.archive_path(one.file_name).stat().st_size for one in names
        }

    def exchange(self, objects: Any = None) -> LinkExchange:
        return LinkExchange(objects or self.objects, 1)

    def send(self, shard: int, objects: Any = None, nonce: str = "one", **more: bool) -> None:
        sender = LinkSender(self.exchange(objects), shard, range(SHARDS), RING.owner, self.folder)
        sender.send(self.counted(shard), nonce, **more)

    def received(self, shard: int) -> list[CrossLinks]:
        return list(self.exchange().received(shard))

    def expected(self, shard: int) -> Counter[tuple[str, Row]]:
        """Return the links into a shard from all others, by what was written."""
        return Counter(
            (turn.record.url, tuple(row))
            for turn in self.turns
            for row in turn.record.links
            if owner(row[0]) == shard != owner(turn.record.url)
        )


def rows_of(found: list[CrossLinks]) -> Counter[tuple[str, Row]]:
    return Counter((one.url, tuple(row)) for one in found for row in one.links)


@pytest.fixture
def crawl(tmp_path: Path) -> Exchanged:
    return Exchanged(tmp_path)


def test_each_shard_gets_the_links_into_its_pages_and_no_others(crawl: Exchanged) -> None:
    crawl.write(web())
    for shard in range(SHARDS):
        crawl.send(shard)
    for shard in range(SHARDS):
        assert crawl.expected(shard)
        assert rows_of(crawl.received(shard)) == crawl.expected(shard)


def test_what_was_read_is_not_read_again(crawl: Exchanged) -> None:
    crawl.write(web())
    for shard in range(SHARDS):
        crawl.send(shard)
    first = crawl.exchange().received(0)
    before = list(first)
    assert not crawl.exchange().received(0, first.position).has_more
    crawl.write(web(first=40, pages=20), number=1)
    for shard in range(SHARDS):
        crawl.send(shard)
    then = crawl.exchange().received(0, first.position)
    assert then.has_more
    assert rows_of([*before, *then]) == crawl.expected(0)


def test_a_long_archive_goes_in_batches(crawl: Exchanged, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "BATCH_BYTES", 1500)
    crawl.write(web())
    crawl.write(web(first=40, pages=20), number=1)
    for shard in range(SHARDS):
        crawl.send(shard)
    assert all(batches > 2 for batches in crawl.exchange().reached().values())
    assert rows_of(crawl.received(1)) == crawl.expected(1)


def test_a_little_that_is_new_may_wait(crawl: Exchanged) -> None:
    crawl.write(web())
    crawl.send(0, is_all=False)
    assert crawl.exchange().reached() == {}
    crawl.send(0)
    assert crawl.exchange().reached() == {0: 1}


def test_killed_before_any_write_everything_arrives_once(
    crawl: Exchanged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "BATCH_BYTES", 4000)
    crawl.write(web())
    for attempt, writes in enumerate(range(12)):
        try:
            crawl.send(0, DyingObjects(crawl.objects, writes), nonce=f"try-{attempt}")
        except Killed:
            continue
    for shard in range(SHARDS):
        crawl.send(shard, nonce="last")
    for shard in range(SHARDS):
        assert rows_of(crawl.received(shard)) == crawl.expected(shard)


def test_of_two_who_send_the_same_one_counts(crawl: Exchanged) -> None:
    crawl.write(web())

    class Late(DyingObjects):
        def create(self, name: str, content: bytes) -> bool:
            crawl.send(0, nonce="quick")
            return super().create(name, content)

    crawl.send(0, Late(crawl.objects, 1000), nonce="slow")
    assert crawl.exchange().reached() == {0: 1}
    assert not [name for name in crawl.objects.names("0001/anchors/") if name.endswith("slow")]
    named = rows_of([one for shard in range(1, SHARDS) for one in crawl.received(shard)])
    own = Counter(
        {key: n for shard in range(1, SHARDS) for key, n in crawl.expected(shard).items()}
    )
    assert named == Counter({key: n for key, n in own.items() if owner(key[0]) == 0})


def test_a_page_that_is_read_again_is_told_to_all(crawl: Exchanged) -> None:
    urls = {owner(f"http://site{n}.test/"): f"http://site{n}.test/" for n in range(60)}
    source = urls[0]
    crawl.write([page(source, "a", (urls[1], "one"), at=1.0)])
    crawl.send(0)
    crawl.write([page(source, "b", (urls[2], "two"), at=2.0)], number=1)
    crawl.send(0)
    said = [(one.url, one.at, [row[2] for row in one.links]) for one in crawl.received(1)]
    assert said == [(source, 1.0, ["one"]), (source, 2.0, [])]
    said = [(one.url, one.at, [row[2] for row in one.links]) for one in crawl.received(2)]
    assert said == [(source, 2.0, ["two"])]


def test_a_redirect_is_told_to_the_shard_that_it_leads_to(crawl: Exchanged) -> None:
    urls = {owner(f"http://site{n}.test/"): f"http://site{n}.test/" for n in range(60)}
    crawl.write([page(urls[0], None, outcome="redirected", detail=urls[2])])
    crawl.send(0)
    (found,) = crawl.received(2)
    assert (found.url, found.outcome, found.detail) == (urls[0], "redirected", urls[2])
    assert crawl.received(1) == []


def test_pages_of_another_ring_in_a_file_are_told(crawl: Exchanged) -> None:
    turns = web()
    crawl.turns += turns
    crawl.archive.write(turns, shard=0)  # all pages were one shard's when they were written
    crawl.send(0)
    (name,) = crawl.counted(0)
    assert crawl.exchange().sent(0)[1].others == {name: [1, 2]}
    for shard in range(SHARDS):
        assert rows_of(crawl.received(shard)) == crawl.expected(shard)


def test_a_damaged_object_is_named(crawl: Exchanged) -> None:
    crawl.write(web())
    crawl.send(0)
    batch = crawl.exchange().sent(0)[1]
    name = batch.parts[1].name
    crawl.objects.put(name, b"other")
    with pytest.raises(CannotGoOn, match=name):
        crawl.received(1)
