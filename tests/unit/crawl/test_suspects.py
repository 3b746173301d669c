"""Suspects: what was being read when the crawl died is read alone, and cleared or given up."""

import asyncio
import os
import signal
from pathlib import Path

import pytest
from tests.unit.crawl.harness import OWN, Body, Engine, document, open_engine, rounds, task_of, url

from gossamer.crawl.core import POSTPONED_S, Suspects
from gossamer.model import (
    Document,
    Extraction,
    Failed,
    FailureKind,
    Fetched,
    FetchOutcome,
    Link,
    LinkKind,
    Redirected,
    UrlState,
)
from gossamer.process import Processor, Tools, importable, processor
from gossamer.report import Suspect, encode_suspect, suspect_row_key

pytestmark = pytest.mark.slow  # helper processes are started

PAGE, OTHER = "http://a.test/p", "http://a.test/q"
KEY = url(PAGE).key
HTML = b"<html><head><title>One</title></head><body><p>Words</p><a href='/q'>q</a></body></html>"
DEADLY = b"DEADLY"


@processor("text/html", name="kills")
def kills(document: Document, tools: Tools) -> Extraction:  # noqa: ARG001 -- the protocol's
    """Kill whatever process reads a page with a mark on it."""
    if DEADLY in document.body.decoded():
        os.kill(os.getpid(), signal.SIGKILL)
    return Extraction()


@pytest.fixture
def own(tmp_path: Path) -> Engine:
    return open_engine(tmp_path, OWN)


def suspect(engine: Engine, text: str = PAGE) -> None:
    engine.core.suspects.add(url(text).key, 1e9, engine.time.now())
    engine.ledger.commit()


# Who is marked


async def test_a_page_is_marked_while_it_is_read_and_not_while_it_is_waited_for(
    tmp_path: Path,
) -> None:
    seen: list[int] = []

    def look(_document: Document, _tools: Tools) -> Extraction:
        seen.append(engine.marked())
        return Extraction()

    engine = open_engine(tmp_path, OWN, processors=[processor("text/html", name="look")(look)])
    engine.web.page(PAGE)
    engine.web.hold(PAGE)
    asking = asyncio.ensure_future(engine.ask(PAGE))
    await rounds()
    assert (engine.web.asked, engine.marked()) == ([PAGE], 0)
    engine.web.let_go(PAGE)
    await asking
    assert seen == [KEY]
    assert engine.marked() == 0


@pytest.mark.parametrize(
    ("outcome", "mark"),
    [
        (Fetched(document=document(PAGE, HTML)), KEY),
        (Failed(kind=FailureKind.HTTP_4XX, document=document(PAGE, b"no", status=403)), KEY),
        (Failed(kind=FailureKind.TLS_CERTIFICATE), 0),
    ],
    ids=["page", "error page", "no answer"],
)
async def test_an_answer_is_marked_until_its_turn_is_recorded(
    outcome: FetchOutcome, mark: int, own: Engine
) -> None:
    own.web.say(PAGE, outcome)
    marks: list[int] = []
    own.writer.on_entry = lambda _turn: marks.append(own.marked())
    await own.ask(PAGE)
    assert marks == [mark]
    assert own.marked() == 0


async def test_the_mark_is_lifted_by_an_error(own: Engine) -> None:
    own.web.page(PAGE)
    own.writer.bug_at = PAGE
    with pytest.raises(ValueError, match="no record"):
        await own.ask(PAGE)
    assert own.marked() == 0


async def test_the_mark_is_lifted_while_a_helper_reads(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, OWN)
    engine.web.say(
        PAGE,
        Fetched(document=document(PAGE, b"%PDF-1.4", fields={"content-type": "application/pdf"})),
    )
    marks: list[int] = []
    engine.writer.on_entry = lambda _turn: marks.append(engine.marked())
    asking = asyncio.ensure_future(engine.ask(PAGE))
    await rounds()
    assert (engine.web.asked, engine.marked()) == ([PAGE], 0)
    await asking
    assert marks == [KEY]
    await engine.worker.reader.close()


# What becomes of a suspect


async def test_a_suspect_is_read_alone_as_it_would_have_been_here_and_cleared(
    tmp_path: Path,
) -> None:
    plain, own = open_engine(tmp_path / "plain", OWN), open_engine(tmp_path / "own", OWN)
    for engine in (plain, own):
        engine.web.say(PAGE, Fetched(document=document(PAGE, HTML)))
    suspect(own)
    assert KEY in own.core.suspects
    await plain.ask(PAGE)
    await own.ask(PAGE)
    assert own.of(PAGE) == plain.of(PAGE)
    assert own.of(PAGE).state is UrlState.ARCHIVED
    assert own.core.frontier.queued == plain.core.frontier.queued == 1
    assert KEY not in own.core.suspects
    assert suspect_row_key(KEY) not in own.state.rows
    assert own.marked() == 0


async def test_an_error_of_a_suspect_is_looked_at_alone(own: Engine) -> None:
    body = b"<title>Just a moment...</title>"
    answer = document(PAGE, body, status=403)
    own.web.say(PAGE, Failed(kind=FailureKind.HTTP_4XX, document=answer))
    suspect(own)
    await own.ask(PAGE)
    assert own.of(PAGE).detail == "(challenge)"
    assert len(own.core.suspects) == 0


async def test_a_suspect_that_was_not_answered_stays_one(own: Engine) -> None:
    own.web.say(PAGE, Failed(kind=FailureKind.TLS_CERTIFICATE))
    suspect(own)
    await own.ask(PAGE)
    assert own.of(PAGE).state is UrlState.FAILED
    assert KEY in own.core.suspects


async def test_a_suspect_that_redirects_is_cleared(own: Engine) -> None:
    answer = document(PAGE, b"", status=301)
    own.web.say(PAGE, Redirected(document=answer, target="/q"))
    suspect(own)
    await own.ask(PAGE)
    assert own.of(PAGE).state is UrlState.REDIRECTED
    assert len(own.core.suspects) == 0


async def test_a_suspect_that_kills_its_helper_is_tried_once_more_then_given_up(
    tmp_path: Path,
) -> None:
    engine = open_engine(tmp_path, OWN, processors=[kills])
    page = document(PAGE, HTML + DEADLY), document(PAGE, HTML + DEADLY)
    engine.web.say(PAGE, *(Fetched(document=one) for one in page))
    suspect(engine)
    await engine.ask(PAGE)
    record = engine.of(PAGE)
    assert (record.state, record.reason) == (UrlState.WAITING, "killed_us")
    assert record.retry_at == engine.time.now() + POSTPONED_S
    assert engine.core.counters.failed == {}
    engine.clock.advance(POSTPONED_S)
    assert await engine.ask_next() == PAGE
    record = engine.of(PAGE)
    assert (record.state, record.reason) == (UrlState.FAILED, "killed_us")
    assert record.detail == (
        "the helper process that read it alone ended before it answered (SIGKILL), 2 times"
    )
    assert engine.core.counters.failed == {"killed_us": 1}
    assert engine.core.counters.retries == {"killed_us": 1}
    assert len(engine.core.suspects) == 0
    assert all(isinstance(one.body, Body) and one.body.is_closed for one in page)


async def test_processors_that_no_helper_can_import_read_a_suspect_here_and_last(
    tmp_path: Path,
) -> None:
    engine = open_engine(tmp_path / "one", OWN, processors=given(marks := []))
    plain = open_engine(tmp_path / "two", OWN, processors=given([]))
    for one in (engine, plain):
        one.web.say(PAGE, Fetched(document=document(PAGE, HTML)))
    suspect(engine)
    mark = engine.marked
    await engine.ask(PAGE)
    await plain.ask(PAGE)
    assert engine.of(PAGE) == plain.of(PAGE)
    assert len(marks) == 1
    assert mark() == 0


def given(marks: list[str]) -> list[Processor]:
    """Return a processor that can be imported, and one that cannot."""

    def here(document: Document, _tools: Tools) -> Extraction:
        marks.append(document.url.text)
        return Extraction(links=[Link(target=url(OTHER), kind=LinkKind.ANCHOR)])

    return [kills, processor("text/html", name="here")(here)]


# Who may be loaded elsewhere


def test_what_can_be_imported_is_named_up_to_the_first_that_cannot() -> None:
    here = given([])[1]
    assert [one.attribute for one in importable([kills, here, kills])] == ["kills"]
    assert importable([here, kills]) == ()
    (found,) = importable([kills])
    assert found.load() == kills


# The table


def test_rows_of_older_versions_are_ignored_and_removed() -> None:
    old, new = suspect_row_key(5), suspect_row_key(6)
    rows = {old: b"\x00\x24", new: encode_suspect(Suspect(1e9, 2e9))}
    suspects = Suspects(lambda _prefix: iter(rows.items()))
    assert (5 in suspects, 6 in suspects, len(suspects)) == (False, True, 1)
    assert suspects.rows_to_commit() == [(old, None)]
    assert suspects.rows_to_commit() == []


def test_deaths_are_counted_and_what_helpers_did_before_is_forgotten() -> None:
    suspects = Suspects(lambda _prefix: iter(()))
    assert suspects.add(5, 0.0, 100.0) == Suspect(100.0, 100.0 + POSTPONED_S, 1, 0)
    assert suspects.helper_died(5, 200.0) == Suspect(100.0, 200.0 + POSTPONED_S, 1, 1)
    assert suspects.add(5, 300.0, 310.0) == Suspect(300.0, 310.0 + POSTPONED_S, 2, 0)
    assert suspects.until(5) == 310.0 + POSTPONED_S
    assert suspects.until(6) == 0.0
    assert suspects.take_postponed() == {5}
    assert suspects.take_postponed() == set()
    suspects.rows_to_commit()
    suspects.clear(5)
    suspects.clear(6)
    assert suspects.rows_to_commit() == [(suspect_row_key(5), None)]


# The loop


async def test_a_suspect_waits_for_others_and_no_longer(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, OWN)
    engine.web.page(OTHER)
    engine.web.say(PAGE, Fetched(document=document(PAGE, HTML)))
    suspect(engine)
    engine.queue(OTHER)
    engine.core.url_seen.add([KEY])
    engine.core.frontier.delay(task_of(PAGE, attempt=1), engine.time.now() + POSTPONED_S)
    began_at = engine.time.now()
    running = asyncio.ensure_future(engine.loop.run())
    async with asyncio.timeout(120.0):  # a process is started: that takes no time on our clock
        while not running.done():
            await engine.pass_time(0.001 if PAGE in engine.web.asked else 0.5)
            await asyncio.sleep(0.01)
    assert engine.web.asked[:2] == [OTHER, PAGE]
    assert engine.time.now() - began_at < POSTPONED_S
    assert engine.stored() == [PAGE, OTHER]


def test_what_was_in_hand_of_three_machines_is_not_asked_for_any_more() -> None:
    suspects = Suspects(lambda _prefix: iter(()))
    for machines, is_guilty in ((1, False), (2, False), (3, True)):
        suspects.add_in_hand(KEY, machines, 5.0)
        assert KEY in suspects
        assert bool(suspects.guilt(KEY)) is is_guilty
    assert suspects.guilt(KEY) == "3 machines went while its page was read"
    assert suspects.guilt(KEY + 1) == ""
    assert not suspects.postponed
    assert len(suspects.rows_to_commit()) == 1
