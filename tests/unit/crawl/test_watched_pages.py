"""What is watched, when it is due, and what sitemaps say of it."""

from typing import Any

import pytest

from gossamer.config import UrlConfig, WatchConfig
from gossamer.crawl.revisit.watched import WatchedPages
from gossamer.model import (
    NO_CLAIM,
    ChangeFrequency,
    Document,
    Extraction,
    Failed,
    FailureKind,
    Fetched,
    FetchOutcome,
    Link,
    LinkKind,
    RevisitResult,
    SitemapClaim,
    Task,
    Turn,
    Url,
    UrlRecord,
    UrlState,
    Visit,
    claim_of,
)
from gossamer.urls import parse

RULES = WatchConfig(prior_s=100.0, lost_s=500.0)
FAR = 1e9


def url(number: int) -> Url:
    found = parse(f"http://a.test/{number}", UrlConfig())
    assert found is not None
    return found


def record(number: int, state: UrlState = UrlState.ARCHIVED, **more: Any) -> UrlRecord:
    visits = [Visit(0.0, "archived", "", 200)]
    return UrlRecord(url=url(number).text, state=state, visits=visits, **more)


def document(**headers: str) -> Document:
    return Document(
        url=url(1),
        status=200,
        head=b"",
        headers=tuple((name.replace("_", "-"), value) for name, value in headers.items()),
        body=None,  # type: ignore[arg-type]  # nobody reads it here
        request=b"",
        address="",
        fetched_at=1000.0,
        latency_s=0.1,
    )


def revisit(number: int, finding: RevisitResult, at: float = 50.0, **more: Any) -> Turn:
    outcome: FetchOutcome = Fetched(document=more.pop("document", None) or document())
    if finding in {RevisitResult.GONE, RevisitResult.MISSING}:
        outcome = Failed(kind=FailureKind.GONE)
    return Turn(task=Task(url=url(number)), outcome=outcome, at=at, revisit=finding, **more)


def notes(*records: tuple[int, UrlRecord], now: float = 0.0) -> WatchedPages:
    made = WatchedPages(RULES, lambda _key: NO_CLAIM)
    made.load([(url(number).key, one) for number, one in records], now)
    made.plan(now, 1.0, lambda _host: FAR)
    return made


def test_stored_pages_are_watched_and_others_are_not() -> None:
    made = notes(
        (1, record(1)),
        (2, record(2, UrlState.FAILED)),
        (3, record(3, UrlState.REFUSED)),
        (4, record(4, UrlState.REDIRECTED)),
        (5, record(5, UrlState.REDIRECTED, belief=(1.0, 2.0, 0.0))),
        (6, record(6, UrlState.GONE)),
    )
    assert len(made) == 2
    due = set(made.take_due(0.0, FAR, 10))
    assert due == {url(1).key, url(5).key}


def test_a_page_that_could_not_be_asked_for_waits_for_its_moment() -> None:
    made = notes((1, record(1, retry_at=90.0)))
    assert made.next_due_at() >= 90.0
    assert made.next_revisit_at(url(1).key) == 90.0


def test_a_gone_page_leaves_the_list_and_is_asked_for_now_and_then() -> None:
    made = notes((1, record(1)))
    made.take_due(0.0, FAR, 1)
    made.note_revisit(revisit(1, RevisitResult.GONE), record(1))
    assert len(made) == 0
    assert made.next_due_at() == 550.0
    assert made.take_due(549.0, 549.0, 5) == []
    assert made.take_due(550.0, 550.0, 5) == [url(1).key]
    still = revisit(1, RevisitResult.MISSING, at=550.0, retry_at=1050.0)
    made.note_revisit(still, record(1, UrlState.GONE))
    assert made.next_due_at() == 1050.0
    made.take_due(1050.0, 1050.0, 5)
    made.note_revisit(revisit(1, RevisitResult.CHANGED, at=1050.0), record(1, UrlState.GONE))
    assert len(made) == 1


def test_looks_teach_how_often_a_page_changes() -> None:
    made = notes((1, record(1)), (2, record(2)))
    made.take_due(0.0, FAR, 2)
    often, seldom = revisit(1, RevisitResult.CHANGED), revisit(2, RevisitResult.SAME_WORDS)
    fast = made.note_revisit(often, record(1))
    slow = made.note_revisit(seldom, record(2))
    assert fast is not None
    assert slow is not None
    assert fast[0] / fast[1] > slow[0] / slow[1]


def test_a_look_that_found_nothing_out_teaches_nothing() -> None:
    made = notes((1, record(1)))
    made.take_due(0.0, FAR, 1)
    seen = revisit(1, RevisitResult.MISSING, retry_at=77.0)
    assert made.note_revisit(seen, record(1)) is None
    assert made.next_revisit_at(url(1).key) == 77.0


def test_a_date_in_the_answer_tells_more_than_that_it_changed() -> None:
    beliefs = []
    for said in ({}, {"last_modified": "Thu, 01 Jan 1970 00:16:39 GMT"}):
        made = notes((1, record(1)))
        made.take_due(0.0, FAR, 1)
        seen = revisit(1, RevisitResult.CHANGED, at=1000.0, document=document(**said))
        beliefs.append(made.note_revisit(seen, record(1)))
    assert beliefs[0] != beliefs[1]


def test_a_sitemap_brings_pages_forward_that_it_says_have_changed() -> None:
    made = notes((1, record(1)), (2, record(2)), (3, record(3)))
    made.take_due(0.0, FAR, 3)
    for number in (1, 2):
        made.put_off(url(number).key, 5_000.0)
    said = "1970-01-01T00:00:40Z"
    links = [
        Link(target=url(1), kind=LinkKind.SITEMAP, text=f"lastmod={said} priority=0.5"),
        Link(target=url(2), kind=LinkKind.SITEMAP, text="lastmod=1969-01-01"),
    ]
    for _ in range(20):  # a host's word counts for little at first
        found = Extraction(links=links, media_type="application/sitemap+xml")
        made.note_revisit(revisit(3, RevisitResult.CHANGED, found=found), record(3))
    assert (made.next_revisit_at(url(1).key) or FAR) <= 5_000.0
    assert made.next_revisit_at(url(2).key) == 5_000.0


def test_dates_of_sitemaps() -> None:
    def at(text: str) -> float | None:
        return claim_of(Link(target=url(1), kind=LinkKind.SITEMAP, text=text)).modified_at

    assert at("lastmod=1970-01-01") == 86_400.0
    assert at("lastmod=1970-01-01T00:00:09Z changefreq=daily") == 9.0
    assert at("lastmod=1970-01-01T01:00:00+01:00") == 0.0
    assert at("lastmod=1970-01-01T00:00:09") == 9.0
    assert at("lastmod=yesterday") is None
    assert at("priority=1.0") is None


def test_a_new_page_is_watched_at_once() -> None:
    made = notes()
    made.note_page(Turn(task=Task(url=url(9)), outcome=Fetched(document=document()), at=3.0))
    made.note_page(Turn(task=Task(url=url(8)), outcome=Failed(kind=FailureKind.GONE), at=3.0))
    assert len(made) == 1


def test_what_a_sitemap_says_of_a_page_is_read_whatever_it_says() -> None:
    def said(text: str, kind: LinkKind = LinkKind.SITEMAP) -> SitemapClaim:
        return claim_of(Link(target=url(1), kind=kind, text=text))

    assert said("changefreq=Hourly priority=0.9") == SitemapClaim(
        ChangeFrequency.HOURLY, priority=0.9
    )
    for nonsense in (
        "",
        "changefreq=",
        "changefreq=often",
        "priority=nan",
        "priority=",
        "=",
        "===",
    ):
        assert said(nonsense) == NO_CLAIM
    assert said("priority=7").priority == 1.0
    assert said("priority=-inf").priority == 0.0
    assert said("changefreq=daily", LinkKind.ANCHOR) == NO_CLAIM


@pytest.mark.parametrize("is_new", [True, False])
def test_a_page_is_believed_to_change_as_its_sitemap_says(is_new: bool) -> None:  # noqa: FBT001 - a parameter
    """Whether it is found during the watch, or was stored before."""
    claims = {
        url(2).key: SitemapClaim(ChangeFrequency.HOURLY),
        url(3).key: SitemapClaim(ChangeFrequency.YEARLY),
    }
    made = WatchedPages(WatchConfig(), lambda key: claims.get(key, NO_CLAIM))
    for number in (2, 3, 4):
        if is_new:
            task = Task(url=url(number))
            made.note_page(Turn(task=task, outcome=Fetched(document=document()), at=0.0))
        else:
            made.load([(url(number).key, record(number))], 0.0)
    plans = [made._pages.planned(url(number).key) for number in (2, 3, 4)]
    found = [plan.changes_per_s if plan is not None else 0.0 for plan in plans]
    assert found[2] == pytest.approx(1 / WatchConfig().prior_s)
    assert found[1] < found[2] < found[0]
