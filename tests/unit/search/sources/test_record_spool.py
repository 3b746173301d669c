from pathlib import Path

from gossamer.search.sources.archive import PageFacts, page_of
from gossamer.search.sources.images import images_of
from gossamer.search.sources.record_spool import NOTHING, RecordSpool
from gossamer.store import ArchiveName

LINKS = [
    ("http://a.test/1", "a", "one", ""),
    ("http://a.test/2", "a", "one", ""),
    ("http://a.test/3", "a", "", ""),
    ("http://a.test/i.png", "image", "a picture", ""),
    ("http://a.test/4", "canonical", "four", "nofollow"),
]


def record(n: int, **more: object) -> PageFacts:
    return PageFacts(f"http://a.test/{n}", "fetched", page=f"<urn:{n}>", links=LINKS, **more)  # type: ignore[arg-type]


def test_records_come_back_file_by_file_and_make_the_same_pages(tmp_path: Path) -> None:
    names = [ArchiveName("links", shard, 1, 0) for shard in (1, 0)]
    records = [record(n, title=f"Title {n}", headings=("a", "b"), fp=n) for n in range(6)]
    spool = RecordSpool(tmp_path)
    for n, facts in enumerate(records):
        spool.add(names[n // 3], facts)
    spool.close()
    assert spool.names == names
    found = [facts for name in spool.names for facts in spool.take(name)]
    assert [page_of(facts, "text") for facts in found] == [page_of(one, "text") for one in records]
    assert [list(images_of(facts)) for facts in found] == [list(images_of(one)) for one in records]
    assert page_of(found[0], "").link_texts == {"one", "four"}
    assert list(tmp_path.iterdir()) == []


def test_a_record_that_no_page_is_made_of_takes_its_place_and_no_more(tmp_path: Path) -> None:
    name = ArchiveName("links", 0, 1, 0)
    spool = RecordSpool(tmp_path)
    spool.add(name, PageFacts("http://a.test/", "redirected", detail="http://b.test/"))
    spool.add(name, record(1))
    spool.add(name, PageFacts("http://a.test/x", "failed"))
    spool.close()
    found = list(spool.take(name))
    assert found[0] == found[2] == NOTHING
    assert found[1].url == "http://a.test/1"
