from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest

from gossamer.config import FilterConfig, ProcessConfig, UrlConfig
from gossamer.crawl.pipeline import Reading, followed_links, next_tasks, take_turn
from gossamer.crawl.ports import Stations
from gossamer.dedupe import ContentSeen
from gossamer.filter import build_chain, sitemap_may_name
from gossamer.frontier import LinkRanker
from gossamer.model import (
    CopyOf,
    Document,
    Extraction,
    Failed,
    FailureKind,
    Fetched,
    Link,
    LinkKind,
    Redirected,
    RefusalKind,
    Refused,
    Task,
    Url,
)
from gossamer.urls import join, parse


class SetSeen:
    """The seen set as a plain set: the contract is the same."""

    def __init__(self) -> None:
        self.keys: set[int] = set()

    def new_among(self, keys: Collection[int]) -> list[int]:
        return [key for key in keys if key not in self.keys]

    def add(self, keys: Sequence[int]) -> None:
        self.keys.update(keys)


class NoBody:
    sent_bytes = 0
    is_spooled = False

    def close(self) -> None:
        return


def url(text: str) -> Url:
    found = parse(text, UrlConfig())
    assert found is not None
    return found


def link(text: str, kind: LinkKind = LinkKind.ANCHOR, rel: str = "") -> Link:
    return Link(target=url(text), kind=kind, rel=rel)


@pytest.fixture
def at() -> Stations:
    return Stations(
        content_seen=ContentSeen(lambda _key: None),
        url_seen=SetSeen(),
        filters=build_chain(
            FilterConfig(scope="any", max_depth=3), [], lambda _host: 0, follow_embeds=False
        ),
        ranking=LinkRanker(),
        ascends=False,
        urls=UrlConfig(),
        process=ProcessConfig(),
        max_redirects=2,
        retry_at=lambda failed, _attempt, now: (
            now + 5 if failed.kind is FailureKind.DISCONNECTED else None
        ),
        join=join,
    )


def document(text: str) -> Document:
    return Document(
        url=url(text),
        status=200,
        head=b"",
        headers=(),
        body=NoBody(),
        request=b"",  # type: ignore[arg-type]  # never read here
        address="",
        fetched_at=0.0,
        latency_s=0.0,
    )


PAGE = Task(url=url("http://a.test/dir/page"), depth=1)


def read(*links: Link, **facts: object) -> Reading:
    return Reading(found=Extraction(links=list(links), **facts))  # type: ignore[arg-type]  # test helper


def test_each_new_link_becomes_one_task_a_step_deeper(at: Stations) -> None:
    reading = read(link("http://a.test/1"), link("http://a.test/1"), link("http://b.test/2"))
    turn = take_turn(PAGE, Fetched(document=document("http://a.test/dir/page")), reading, at, 0.0)
    assert [(t.url.text, t.depth, t.via) for t in turn.new_tasks] == [
        ("http://a.test/1", 2, "http://a.test/dir/page"),
        ("http://b.test/2", 2, "http://a.test/dir/page"),
    ]
    again = take_turn(PAGE, Fetched(document=document("http://a.test/dir/page")), reading, at, 0.0)
    assert again.new_tasks == []


def test_refused_links_are_counted_by_reason_and_stay_unknown(at: Stations) -> None:
    deep = replace_depth(PAGE, 3)
    links = [link("http://a.test/1"), link("mailto:x@a.test")]
    for _ in range(2):
        tasks, _, refused, _ = next_tasks(deep, links, at)
        assert tasks == []
        assert refused == {"too_deep": 1, "scheme": 1}


def replace_depth(task: Task, depth: int) -> Task:
    return Task(url=task.url, depth=depth)


def test_a_page_that_asks_not_to_be_followed_is_not(at: Stations) -> None:
    assert followed_links(PAGE, read(link("http://a.test/1"), robots=("nofollow",)), at) == []


def test_images_are_followed_only_on_request(at: Stations) -> None:
    reading = read(link("http://a.test/x.png", LinkKind.IMAGE))
    assert followed_links(PAGE, reading, at) == []
    wanting = replace(at, process=ProcessConfig(embeds=True))
    assert len(followed_links(PAGE, reading, wanting)) == 1


def test_form_actions_are_never_followed(at: Stations) -> None:
    wanting = replace(at, process=ProcessConfig(embeds=True))
    assert followed_links(PAGE, read(link("http://a.test/f", LinkKind.FORM)), wanting) == []


def test_a_copy_in_the_same_folder_is_not_followed_but_one_elsewhere_is(at: Stations) -> None:
    found = Extraction(links=[link("http://a.test/1")])
    here = CopyOf("http://a.test/dir/other", "", "", 0.0)
    there = CopyOf("http://a.test/elsewhere/other", "", "", 0.0)
    assert followed_links(PAGE, Reading(found=found, copy_of=here), at) == []
    assert len(followed_links(PAGE, Reading(found=found, copy_of=there), at)) == 1


def test_a_sitemap_speaks_for_its_own_host_or_the_one_that_named_it() -> None:
    task = Task(
        url=url("http://cdn.test/sitemap.xml"),
        via="http://a.test:81/robots.txt",
        kind=LinkKind.SITEMAP,
    )
    assert sitemap_may_name(task, link("http://cdn.test/x"))
    assert sitemap_may_name(task, link("http://a.test/x"))
    assert not sitemap_may_name(task, link("http://victim.test/x"))
    given = Task(url=url("http://cdn.test/sitemap.xml"), kind=LinkKind.SEED)
    assert sitemap_may_name(given, link("http://anyone.test/x"))


def test_a_redirect_is_a_link_at_the_same_depth(at: Stations) -> None:
    moved = Redirected(document=document("http://a.test/dir/page"), target="../new")
    turn = take_turn(PAGE, moved, None, at, 0.0)
    assert [(t.url.text, t.depth, t.hops) for t in turn.new_tasks] == [("http://a.test/new", 1, 1)]


def test_a_redirect_to_itself_and_one_too_many_are_failures(at: Stations) -> None:
    itself = Redirected(document=document("http://a.test/dir/page"), target="page#x")
    turn = take_turn(PAGE, itself, None, at, 0.0)
    assert isinstance(turn.outcome, Failed)
    assert turn.outcome.kind is FailureKind.BAD_REDIRECT
    far = Task(url=PAGE.url, hops=2)
    moved = Redirected(document=document("http://a.test/dir/page"), target="/next")
    turn = take_turn(far, moved, None, at, 0.0)
    assert isinstance(turn.outcome, Failed)
    assert turn.outcome.kind is FailureKind.TOO_MANY_REDIRECTS


def test_a_redirect_that_closes_a_loop_is_a_failure_that_names_it(at: Stations) -> None:
    hops = {url("http://a.test/1").key: "http://a.test/2"}
    at = replace(at, redirect_of=lambda key: hops.get(key, ""))
    at.url_seen.add([url("http://a.test/1").key])
    closing = Redirected(document=document("http://a.test/2"), target="/1")
    turn = take_turn(Task(url=url("http://a.test/2")), closing, None, at, 0.0)
    assert isinstance(turn.outcome, Failed)
    assert turn.outcome.kind is FailureKind.TOO_MANY_REDIRECTS
    assert turn.outcome.detail == (
        "a redirect loop: http://a.test/2 -> http://a.test/1 -> http://a.test/2"
    )


def test_a_redirect_back_to_where_it_came_from_is_a_loop_whoever_knows_the_other(
    at: Stations,
) -> None:
    at.url_seen.add([url("http://b.test/").key])
    back = Task(url=PAGE.url, via="http://b.test/", kind=LinkKind.REDIRECT, hops=1)
    moved = Redirected(document=document(PAGE.url.text), target="http://b.test/")
    turn = take_turn(back, moved, None, at, 0.0)
    assert isinstance(turn.outcome, Failed)
    assert turn.outcome.detail.startswith("a redirect loop: ")


def test_a_redirect_to_a_known_page_is_no_loop(at: Stations) -> None:
    at.url_seen.add([url("http://a.test/1").key])
    moved = Redirected(document=document("http://a.test/2"), target="/1")
    turn = take_turn(Task(url=url("http://a.test/2")), moved, None, at, 0.0)
    assert isinstance(turn.outcome, Redirected)


def test_a_redirect_to_a_file_is_refused_by_its_scheme(at: Stations) -> None:
    moved = Redirected(document=document("http://a.test/dir/page"), target="file:///etc/passwd")
    turn = take_turn(PAGE, moved, None, at, 0.0)
    assert turn.new_tasks == []
    assert turn.refused == {"scheme": 1}


def test_only_failures_that_may_pass_are_tried_again(at: Stations) -> None:
    lost = take_turn(PAGE, Failed(kind=FailureKind.DISCONNECTED), None, at, 100.0)
    gone = take_turn(PAGE, Failed(kind=FailureKind.GONE), None, at, 100.0)
    barred = take_turn(PAGE, Refused(kind=RefusalKind.BAD_PORT), None, at, 100.0)
    assert (lost.retry_at, gone.retry_at, barred.retry_at) == (105.0, None, None)


def test_ascending_tries_every_parent_path_of_a_found_url_once(at: Stations) -> None:
    ascending = replace(at, ascends=True)
    links = [link("http://b.test/a/b/p.html?q=1"), link("http://b.test/a/c/"), link(PAGE.url.text)]
    tasks, *_ = next_tasks(PAGE, links, ascending)
    parents = {task.url.text for task in tasks if task.kind is LinkKind.PARENT}
    assert parents >= {"http://b.test/", "http://b.test/a/", "http://b.test/a/b/"}
    assert len(tasks) == len({task.url.key for task in tasks})
    assert {task.depth for task in tasks} == {PAGE.depth + 1}
    assert next_tasks(PAGE, links, ascending).new == []


def test_without_ascending_no_parent_is_tried(at: Stations) -> None:
    tasks, *_ = next_tasks(PAGE, [link("http://b.test/a/b/p.html")], at)
    assert [task.url.text for task in tasks] == ["http://b.test/a/b/p.html"]
