"""RobotsCache: what each outcome of asking for robots.txt means, and what survives a restart."""

import pytest

from gossamer.config import RobotsConfig, UrlConfig
from gossamer.fetch import Ask, RobotsCache, RobotsRules, Wait
from gossamer.fetch.body import PLAIN, Framing, SpooledBody
from gossamer.fetch.decoding import Caps
from gossamer.model import (
    Document,
    Failed,
    FailureKind,
    Fetched,
    Redirected,
    RefusalKind,
    Refused,
    Url,
)
from gossamer.urls import parse

DAY = 86_400.0
RULES = b"User-agent: *\nDisallow: /no\n"


def url(text: str) -> Url:
    found = parse(text, UrlConfig())
    assert found is not None
    return found


PAGE, ROBOTS = url("http://a.test/page"), url("http://a.test/robots.txt")


def document(body: bytes, at: Url = PAGE, framing: Framing = PLAIN) -> Document:
    return Document(
        url=at,
        status=200,
        head=b"",
        headers=(),
        body=SpooledBody(body, len(body), framing, Caps(2**20, 200)),
        request=b"",
        address="",
        fetched_at=0.0,
        latency_s=0.0,
    )


def fetched(body: bytes = RULES) -> Fetched:
    return Fetched(document=document(body))


def redirected(target: str, at: Url = PAGE) -> Redirected:
    return Redirected(document=document(b"", at), target=target)


UNREACHABLE = Failed(kind=FailureKind.HTTP_5XX, detail="500")


def make(rows: dict[bytes, bytes] | None = None, **knobs: object) -> RobotsCache:
    return RobotsCache(RobotsConfig(**knobs), "gossamer", (rows or {}).get)  # type: ignore[arg-type]


def is_allowed(cache: RobotsCache, target: str, now: float) -> bool:
    rules = cache.look_up(PAGE, now)
    assert isinstance(rules, RobotsRules), rules
    return rules.verdict(target).allowed


def test_an_unknown_origin_is_asked_for() -> None:
    ask = make().look_up(url("http://a.test:8080/x?y"), 0.0)
    assert ask == Ask(url("http://a.test:8080/robots.txt"))


def test_rules_hold_for_a_day_and_for_their_origin_only() -> None:
    cache = make()
    cache.answer(PAGE, fetched(), 0.0)
    assert not is_allowed(cache, "/no", DAY - 1)
    assert isinstance(cache.look_up(PAGE, DAY), Ask)
    assert isinstance(cache.look_up(url("http://a.test:8080/"), 1.0), Ask)
    assert isinstance(cache.look_up(url("https://a.test/"), 1.0), Ask)


@pytest.mark.parametrize(
    "kind",
    [
        FailureKind.NOT_FOUND,
        FailureKind.GONE,
        FailureKind.UNAUTHORIZED,
        FailureKind.HTTP_4XX,
        FailureKind.DNS_NO_SUCH_HOST,
        FailureKind.TLS_CERTIFICATE,
    ],
)
def test_no_robots_txt_means_that_everything_is_allowed(kind: FailureKind) -> None:
    cache = make()
    cache.answer(PAGE, Failed(kind=kind), 0.0)
    assert is_allowed(cache, "/no", 1.0)


def test_a_refused_question_lets_the_page_tell_why() -> None:
    cache = make()
    cache.answer(PAGE, Refused(kind=RefusalKind.PRIVATE_ADDRESS), 0.0)
    assert is_allowed(cache, "/no", 1.0)
    assert isinstance(cache.look_up(PAGE, 301.0), Ask)
    assert cache.rows_to_commit() == []


@pytest.mark.parametrize(
    "kind",
    [
        FailureKind.THROTTLED,
        FailureKind.HTTP_5XX,
        FailureKind.DNS_UNREACHABLE,
        FailureKind.CONNECT_TIMEOUT,
        FailureKind.FIRST_BYTE_TIMEOUT,
        FailureKind.TOTAL_TIMEOUT,
        FailureKind.DISCONNECTED,
        FailureKind.BAD_HTTP,
    ],
)
def test_an_unreachable_robots_txt_is_asked_for_again_until_it_answers(kind: FailureKind) -> None:
    cache = make(retry_s=20.0, retries=3)
    now = 0.0
    for wait_s in (20.0, 60.0, 180.0, 540.0, 540.0, 540.0):
        assert isinstance(cache.look_up(PAGE, now), Ask)
        assert cache.answer(PAGE, Failed(kind=kind, detail="why"), now) == f"{kind}: why"
        assert cache.look_up(PAGE, now + 1) == Wait(ROBOTS, now + wait_s)
        now += wait_s
    assert isinstance(cache.look_up(PAGE, now + DAY), Ask)
    assert cache.answer(PAGE, fetched(), now + DAY) == ""
    assert not is_allowed(cache, "/no", now + DAY)


def test_retry_after_lengthens_the_wait() -> None:
    cache = make()
    cache.answer(PAGE, Failed(kind=FailureKind.THROTTLED, retry_after_s=100.0), 0.0)
    assert cache.look_up(PAGE, 1.0) == Wait(ROBOTS, 100.0)


def test_an_old_copy_stands_in_while_the_new_one_is_unreachable() -> None:
    cache = make()
    cache.answer(PAGE, fetched(), 0.0)
    cache.answer(PAGE, UNREACHABLE, DAY)
    assert not is_allowed(cache, "/no", DAY + 1)
    assert isinstance(cache.look_up(PAGE, DAY + 21), Ask)
    late = DAY + 30 * DAY
    cache.answer(PAGE, UNREACHABLE, late)
    assert isinstance(cache.look_up(PAGE, late + 1), Wait)


def test_five_redirects_are_followed_also_to_other_hosts() -> None:
    cache = make()
    here = PAGE
    for hop in range(5):
        target = f"http://h{hop}.test/r"
        cache.answer(PAGE, redirected(target, here), 0.0)
        here = url(target)
        assert cache.look_up(PAGE, 0.0) == Ask(here)
    cache.answer(PAGE, fetched(), 0.0)
    assert not is_allowed(cache, "/no", 1.0)
    assert isinstance(cache.look_up(url("http://h4.test/"), 1.0), Ask)


def test_a_sixth_redirect_means_that_there_is_none() -> None:
    cache = make()
    for hop in range(6):
        cache.answer(PAGE, redirected(f"/r{hop}"), 0.0)
    assert is_allowed(cache, "/no", 1.0)


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://b.test/robots.txt", "http://["])
def test_a_redirect_out_of_the_web_means_that_there_is_none(target: str) -> None:
    cache = make()
    cache.answer(PAGE, redirected(target), 0.0)
    assert is_allowed(cache, "/no", 1.0)


def test_an_incomplete_robots_txt_is_a_server_error() -> None:
    cache = make()
    broken = document(b"\x1f\x8b\x08broken", framing=Framing(codings=("gzip",)))
    cache.answer(PAGE, Fetched(document=broken), 0.0)
    assert isinstance(cache.look_up(PAGE, 1.0), Wait)


def test_a_robots_txt_that_was_cut_is_read_as_far_as_it_came() -> None:
    cache = make(max_bytes=512 * 1024)
    body = RULES + b"#" * 499_000 + b"\nDisallow: /late\n" + b"#" * 100_000
    page = document(body)
    page.truncated = "length"
    cache.answer(PAGE, Fetched(document=page), 0.0)
    assert not is_allowed(cache, "/no", 1.0)
    assert not is_allowed(cache, "/late", 1.0)


def test_hosts_of_our_own_are_not_asked() -> None:
    cache = make(own_hosts=("a.test",))
    assert is_allowed(cache, "/no", 0.0)
    assert isinstance(cache.look_up(url("http://b.a.test/"), 0.0), Ask)


def test_rules_and_failures_survive_a_restart() -> None:
    cache = make()
    cache.answer(PAGE, fetched(b"User-agent: gossamer\nCrawl-delay: 3\nDisallow: /no"), 0.0)
    other = url("http://b.test/")
    cache.answer(other, UNREACHABLE, 0.0)
    rows = {key: value for key, value in cache.rows_to_commit() if value is not None}
    assert set(rows) == {b"rhttp://a.test", b"rhttp://b.test"}
    assert cache.rows_to_commit() == []
    again = make(rows)
    rules = again.look_up(PAGE, 10.0)
    assert isinstance(rules, RobotsRules)
    verdict = rules.verdict("/no")
    assert (verdict.allowed, verdict.line, verdict.number) == (False, "Disallow: /no", 3)
    assert rules.crawl_delay_s == 3.0
    assert again.look_up(other, 10.0) == Wait(url("http://b.test/robots.txt"), 20.0)
    assert isinstance(RobotsCache(RobotsConfig(), "renamed", rows.get).look_up(PAGE, 10.0), Ask)


def test_a_damaged_row_is_asked_for_again() -> None:
    assert isinstance(make({b"rhttp://a.test": b"\xc1rubbish"}).look_up(PAGE, 0.0), Ask)


def test_peeking_changes_nothing() -> None:
    cache = make()
    assert cache.peek(PAGE, 0.0) is None
    cache.answer(PAGE, fetched(), 0.0)
    rules = cache.peek(PAGE, 1.0)
    assert rules is not None
    assert not rules.verdict("/no").allowed


def test_memory_is_bounded_and_the_oldest_goes_first() -> None:
    cache = make(cache=10)
    for number in range(30):
        cache.answer(url(f"http://h{number}.test/"), fetched(), 0.0)
    assert len(cache._entries) == 10
    assert isinstance(cache.look_up(url("http://h0.test/"), 1.0), RobotsRules)


def test_a_copy_from_the_future_is_not_trusted() -> None:
    cache = make()
    cache.answer(PAGE, fetched(), 10 * DAY)
    assert isinstance(cache.look_up(PAGE, 5 * DAY), Ask)
