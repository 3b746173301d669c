"""What a revisit finds, what it leaves in the record, and when it is made again."""

from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.config import UrlConfig, WatchConfig
from gossamer.crawl.revisit import RevisitTurns, count_revisit, next_record, outdated
from gossamer.crawl.revisit.turns import revisit_result
from gossamer.model import (
    CopyOf,
    Counters,
    Document,
    Extraction,
    Failed,
    FailureKind,
    Fetched,
    FetchOutcome,
    Link,
    LinkKind,
    Redirected,
    RefusalKind,
    Refused,
    RevisitResult,
    StoreRef,
    Task,
    Turn,
    Url,
    UrlRecord,
    UrlState,
    Visit,
)
from gossamer.urls import parse

PAGE = StoreRef("pages-00-0001-00000.warc.gz", 10, 20)
NOT_FOUND, GONE = Failed(kind=FailureKind.NOT_FOUND), Failed(kind=FailureKind.GONE)
DEAD = Failed(kind=FailureKind.CONNECT_FAILED)
RULES = WatchConfig(confirm_s=100.0, confirm_gone_s=10.0, lost_s=50_000.0)


def url(text: str = "http://a.test/p") -> Url:
    found = parse(text, UrlConfig())
    assert found is not None
    return found


def document(status: int = 200, **headers: str) -> Document:
    return Document(
        url=url(),
        status=status,
        head=b"",
        headers=tuple(headers.items()),
        body=None,  # type: ignore[arg-type]  # nobody reads it here
        request=b"",
        address="",
        fetched_at=50.0,
        latency_s=0.1,
    )


def record(**more: Any) -> UrlRecord:
    known = UrlRecord(
        url=url().text,
        state=UrlState.ARCHIVED,
        depth=3,
        via="http://a.test/",
        kind="a",
        fingerprint=1,
        words=2,
        etag='"e"',
        visits=[Visit(10.0, "archived", "", 200, PAGE)],
    )
    return replace(known, **more)


def turn(outcome: FetchOutcome, finding: RevisitResult | None = None, **more: Any) -> Turn:
    return Turn(task=Task(url=url()), outcome=outcome, at=60.0, revisit=finding, **more)


def redirected(to: str) -> Turn:
    links = [Link(target=url(to), kind=LinkKind.REDIRECT)]
    outcome = Redirected(document=document(302), target=to)
    return turn(outcome, found=Extraction(links=links))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (record(), turn(Fetched(document=document(304))), RevisitResult.UNCHANGED),
        (
            record(),
            turn(Fetched(document=document()), fingerprint=1, words=9),
            RevisitResult.UNCHANGED,
        ),
        (
            record(),
            turn(Fetched(document=document()), fingerprint=9, words=2),
            RevisitResult.SAME_WORDS,
        ),
        (
            record(),
            turn(Fetched(document=document()), fingerprint=9, words=9),
            RevisitResult.CHANGED,
        ),
        (
            record(words=None),
            turn(Fetched(document=document()), fingerprint=9),
            RevisitResult.CHANGED,
        ),
        (record(words=None), turn(Fetched(document=document())), RevisitResult.SAME_WORDS),
        (record(), redirected("http://a.test/q"), RevisitResult.CHANGED),
        (
            record(state=UrlState.REDIRECTED, target="http://a.test/q"),
            redirected("http://a.test/q"),
            RevisitResult.SAME_WORDS,
        ),
        (record(), turn(NOT_FOUND), RevisitResult.MISSING),
        (record(visits=[Visit(1.0, "missing", "not_found", 404)]), turn(GONE), RevisitResult.GONE),
        (
            record(state=UrlState.GONE, visits=[Visit(1.0, "gone", "gone", 410)]),
            turn(GONE),
            RevisitResult.MISSING,
        ),
        (record(visits=[Visit(1.0, "no_answer", "stalled", 0)]), turn(GONE), RevisitResult.MISSING),
        (
            record(state=UrlState.GONE, fingerprint=None, words=None),
            turn(Fetched(document=document()), fingerprint=1, words=2),
            RevisitResult.CHANGED,
        ),
        (record(), turn(DEAD), RevisitResult.NO_ANSWER),
        (record(), turn(Refused(kind=RefusalKind.ROBOTS_DISALLOWED)), RevisitResult.NO_ANSWER),
    ],
)
def test_what_a_revisit_found(old: UrlRecord, new: Turn, expected: RevisitResult) -> None:
    assert revisit_result(old, new) is expected


def turns(old: UrlRecord | None) -> RevisitTurns:
    return RevisitTurns(
        rules=RULES,
        stations=None,  # type: ignore[arg-type]  # not asked
        stored_record=lambda _key: old,
        original_of=lambda _ref: None,
    )


def next_try_at(old: UrlRecord, of: Turn) -> float | None:
    assert of.revisit is not None
    return turns(None).next_try_at(old, of, of.revisit)


def test_the_server_is_asked_with_the_marks_of_the_stored_copy() -> None:
    again = Task(url=url(), kind=LinkKind.REVISIT)
    marks = turns(record(modified="Mon")).validators(again)
    assert marks is not None
    assert (marks.etag, marks.last_modified) == ('"e"', "Mon")
    assert turns(record(etag="")).validators(again) is None
    assert turns(record(state=UrlState.GONE)).validators(again) is None
    assert turns(record(visits=[])).validators(again) is None
    assert turns(record()).validators(Task(url=url())) is None


def test_a_missing_page_is_asked_again_before_it_is_believed_to_be_gone() -> None:
    at = next_try_at
    assert at(record(), turn(NOT_FOUND, RevisitResult.MISSING)) == 160.0
    assert at(record(), turn(GONE, RevisitResult.MISSING)) == 70.0
    assert at(record(), turn(GONE, RevisitResult.GONE)) is None
    assert at(record(state=UrlState.GONE), turn(GONE, RevisitResult.MISSING)) == 50_060.0


def test_a_host_that_does_not_answer_is_left_alone_for_longer_and_longer() -> None:
    waits = [
        (next_try_at(record(misses=n), turn(DEAD, RevisitResult.NO_ANSWER)) or 0) - 60.0
        for n in (0, 1, 2, 3, 4, 99)
    ]
    assert waits == [3600.0, 7200.0, 14_400.0, 28_800.0, 50_000.0, 50_000.0]


def test_an_unchanged_page_keeps_what_is_known_of_it() -> None:
    old = record(changes=1, misses=4, belief=(1.0, 2.0, 0.0))
    seen = turn(Fetched(document=document(304)), RevisitResult.UNCHANGED, belief=(1.0, 52.0, 0.0))
    new = next_record(old, seen, document(304), is_stored=False)
    assert (new.fingerprint, new.words, new.etag, new.depth) == (1, 2, '"e"', 3)
    assert (new.looks, new.changes, new.misses, new.belief) == (1, 1, 0, (1.0, 52.0, 0.0))
    assert [visit.state for visit in new.visits] == ["archived", "unchanged"]
    assert new.stored == PAGE
    assert new.visits[0] == old.visits[0]


def test_the_place_of_the_content_outlives_the_visits_that_are_kept() -> None:
    new = record()
    for _ in range(20):
        seen = turn(Fetched(document=document(304)), RevisitResult.UNCHANGED)
        new = next_record(new, seen, document(304), is_stored=False)
        ref = StoreRef(PAGE.file, 99, 9)
        new.visits[-1] = Visit(60.0, "unchanged", "", 304, ref)
        del new.visits[:-8]
    assert new.stored == PAGE


def test_a_changed_page_has_new_marks_and_no_old_place() -> None:
    answer = document(etag='"f"')
    seen = turn(
        Fetched(document=answer), RevisitResult.CHANGED, fingerprint=7, words=8, found=Extraction()
    )
    new = next_record(record(), seen, answer, is_stored=True)
    assert (new.fingerprint, new.words, new.etag, new.page) == (7, 8, '"f"', None)
    assert (new.looks, new.changes, new.copy_of) == (1, 1, "")
    copy = CopyOf("http://b.test/", "<id>", "sha1:A", 1.0)
    assert (
        next_record(record(), replace(seen, copy_of=copy), answer, is_stored=True).copy_of
        == copy.url
    )


def test_a_page_that_is_gone_comes_back_with_its_next_answer() -> None:
    gone = next_record(
        record(misses=1), turn(GONE, RevisitResult.GONE), document(410), is_stored=False
    )
    assert (gone.state, gone.reason, gone.fingerprint) == (UrlState.GONE, "gone", None)
    assert gone.stored == PAGE
    back = turn(Fetched(document=document()), RevisitResult.CHANGED, fingerprint=1, words=2)
    new = next_record(gone, back, document(), is_stored=True)
    assert (new.state, new.reason, new.misses) == (UrlState.ARCHIVED, "", 0)


def test_a_look_that_found_nothing_out_changes_no_state() -> None:
    for outcome in (DEAD, Refused(kind=RefusalKind.ROBOTS_UNREACHABLE)):
        seen = turn(outcome, RevisitResult.NO_ANSWER, retry_at=99.0)
        new = next_record(record(), seen, None, is_stored=False)
        assert (new.state, new.fingerprint, new.looks, new.misses) == (UrlState.ARCHIVED, 1, 0, 1)
        assert new.retry_at == 99.0
        assert new.visits[-1].reason == outcome.kind.value


def test_only_content_that_no_longer_stands_for_the_page_is_forgotten() -> None:
    shown = Fetched(document=document())
    assert outdated(record(), turn(shown, RevisitResult.CHANGED, fingerprint=9)) == 1
    assert outdated(record(), turn(GONE, RevisitResult.GONE)) == 1
    assert outdated(record(), turn(shown, RevisitResult.CHANGED, fingerprint=1)) is None
    assert outdated(record(), turn(shown, RevisitResult.UNCHANGED, fingerprint=1)) is None
    assert outdated(record(), turn(shown, RevisitResult.SAME_WORDS, fingerprint=9)) is None


def test_a_look_is_no_page_more() -> None:
    totals = Counters(pages=5)
    shown = Fetched(document=document())
    count_revisit(totals, record(), turn(shown, RevisitResult.CHANGED))
    count_revisit(totals, record(), turn(shown, RevisitResult.SAME_WORDS))
    count_revisit(totals, record(), turn(GONE, RevisitResult.MISSING))
    count_revisit(totals, record(), turn(GONE, RevisitResult.GONE))
    assert (totals.pages, totals.failed, totals.looks) == (5, {}, 4)
    assert (totals.changed, totals.unchanged, totals.gone) == (1, 1, 1)
    count_revisit(totals, record(state=UrlState.GONE), turn(GONE, RevisitResult.MISSING))
    assert totals.gone == 1
    count_revisit(totals, record(state=UrlState.GONE), turn(shown, RevisitResult.CHANGED))
    assert totals.gone == 0
