"""What a start must look for in the archive, for each URL that it has on record."""

from gossamer.crawl.recovery import _needed
from gossamer.model import StoreRef, UrlRecord, UrlState, Visit

FIRST, LAST, CONTENT = (StoreRef("pages-00-0001-00000.warc.gz", n, 10) for n in (100, 200, 300))


def record(*refs: StoreRef | None, page: StoreRef | None = None) -> UrlRecord:
    visits = [Visit(float(n), "archived", "", 200, ref) for n, ref in enumerate(refs)]
    return UrlRecord(
        url="http://one.test/",
        state=UrlState.ARCHIVED,
        depth=0,
        via="",
        kind="seed",
        visits=visits,
        page=page,
    )


def test_the_last_record_of_a_url_is_needed_whatever_visits_followed_that_left_none() -> None:
    assert _needed(record()) == []
    assert _needed(record(None)) == []
    assert _needed(record(FIRST, LAST)) == [LAST]
    assert _needed(record(FIRST, LAST, None, None)) == [LAST]


def test_the_record_that_holds_the_content_of_a_url_is_needed_if_it_is_another_one() -> None:
    assert _needed(record(LAST, page=CONTENT)) == [CONTENT, LAST]
