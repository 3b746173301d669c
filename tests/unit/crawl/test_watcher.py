"""The watcher: what is out in the frontier, and what is put off."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.unit.crawl.harness import OWN, Engine, open_engine, url

from gossamer.config import WatchConfig
from gossamer.crawl.revisit.budget import RequestBudget
from gossamer.crawl.revisit.watched import WatchedPages
from gossamer.crawl.revisit.watcher import Watcher
from gossamer.model import NO_CLAIM

PAGE = "http://a.test/p"
KEY = url(PAGE).key
RULES = WatchConfig(rate_per_s=10.0, prior_s=100.0)


async def watcher_of(engine: Engine, until: dict[int, float], *, is_once: bool = False) -> Watcher:
    """Return a watcher of one page that is stored, and due in the next plan."""
    engine.web.page(PAGE)
    await engine.ask(PAGE)
    engine.ledger.commit()
    engine.clock.advance(10_000.0)
    now = engine.time.now()
    pages = WatchedPages(RULES, lambda _key: NO_CLAIM)
    pages.load([(KEY, engine.of(PAGE))], now)
    config: Any = SimpleNamespace(
        watch=RULES, concurrency=4, politeness=OWN.politeness, urls=OWN.urls
    )
    return Watcher(
        config=config,
        frontier=engine.core.frontier,
        counters=engine.core.counters,
        pages=pages,
        budget=RequestBudget(10.0, 0.0, now, engine.core.counters.requests),
        record_of=engine.core.record_of,
        postponed_until=lambda key: until.get(key, 0.0),
        in_flight=(),
        has_room=lambda _new: True,
        is_once=is_once,
    )


def is_out(engine: Engine, watcher: Watcher) -> bool:
    """Let what is due be leased; return True if that was the page."""
    engine.clock.advance(1.0)
    watcher.feed(engine.time.now())
    return engine.core.frontier.queued > 0


async def test_a_suspect_is_not_revisited_before_its_moment(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, OWN)
    until: dict[int, float] = {}
    watcher = await watcher_of(engine, until)
    until[KEY] = engine.time.now() + 60.0
    assert not is_out(engine, watcher)
    assert watcher.next_revisit_at(KEY) == until[KEY]
    engine.clock.advance(60.0)
    assert is_out(engine, watcher)


async def test_a_single_round_asks_for_a_suspect_too(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, OWN)
    until: dict[int, float] = {}
    watcher = await watcher_of(engine, until, is_once=True)
    until[KEY] = engine.time.now() + 60.0
    assert is_out(engine, watcher)
    assert not watcher.is_over
    watcher.let_go(KEY, until[KEY])
    watcher.feed(engine.time.now())
    assert watcher.is_over


async def test_a_revisit_that_is_let_go_leaves_its_place_and_is_due_later(tmp_path: Path) -> None:
    engine = open_engine(tmp_path, OWN)
    watcher = await watcher_of(engine, {})
    room = watcher._room
    assert is_out(engine, watcher)
    assert watcher._room == room - 1
    later = engine.time.now() + 500.0
    watcher.let_go(KEY, later)
    assert watcher._room == room
    assert watcher.next_revisit_at(KEY) == later
