"""Drop what patterns name: `gossamer drop`. It leaves the queue, and is never fetched any more.

crawl.toml has the patterns first. A shard compares them with those that its part of the archive has
on record, when it starts and when it is told: what is new leaves its queue, and then the archive
says so. Killed in between, the next start does it. What is stored stays in the archive; graph,
index and tables are made without it (`report.dropped_of`).
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, convert
from msgspec.structs import replace

from gossamer.config import Config
from gossamer.crawl.assembly import Shard
from gossamer.crawl.opening import DROPS_ON_RECORD, drops_on_record, lacks_drops
from gossamer.errors import ConfigError
from gossamer.model import RefusalKind, Refused, Row, Task, Turn, UrlState
from gossamer.report import URL, decode_record, near_copy
from gossamer.settings import load_crawl_config, save_crawl_config
from gossamer.store import ArchiveEntry, RulesRecord, encode_rules
from gossamer.urls import Patterns

ROWS_AT_ONCE = 1_000
"""Of URLs, between two commits: some milliseconds."""


class DropRequest(Struct, frozen=True, kw_only=True):
    """Patterns that are to be dropped from now on, and those that are no longer."""

    patterns: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()


def drop_in(question: Mapping[str, object]) -> DropRequest:
    """Return what a question wants to be dropped; refuse what is no pattern."""
    given = {name: question.get(name, []) for name in ("patterns", "undo")}
    request = convert(given, DropRequest)
    Patterns(request.patterns)
    return request


def with_dropped(config: Config, request: DropRequest) -> Config:
    """Return a configuration with other patterns in `[filter] drop`, each once."""
    now = config.filter.drop
    if missing := [one for one in request.undo if one not in now]:
        kept = ", ".join(now) or "nothing"
        raise ConfigError(f"{missing[0]!r} is not dropped; dropped: {kept}")
    left = [one for one in now if one not in request.undo]
    drop = tuple(dict.fromkeys((*left, *request.patterns)))
    return replace(config, filter=replace(config.filter, drop=drop))


def save_dropped(folder: Path, request: DropRequest) -> Config:
    """Let the crawl.toml of a folder say what is dropped; return what it says then."""
    config = with_dropped(load_crawl_config(folder), request)
    save_crawl_config(folder, config)
    return config


async def drop_running(shard: Shard, request: DropRequest) -> int:
    """Let a running shard drop what patterns name; return how many URLs left its queue."""
    engine = shard.engine
    config = engine.config
    known = replace(request, undo=tuple(one for one in request.undo if one in config.filter.drop))
    config = with_dropped(config, known)
    shard.core.change_filters(config)
    engine.reconfigure(config)
    count = await settle_dropped(shard)
    engine.run_state.wake()
    return count


async def settle_dropped(shard: Shard) -> int:
    """Let queue and archive of a shard follow what is dropped; return how many URLs left."""
    state, dropped = shard.core.state, shard.engine.config.filter.drop
    count = await _leave_queue(shard) if lacks_drops(state, dropped) else 0
    await settle_totals(shard, dropped)
    return count


async def _leave_queue(shard: Shard) -> int:
    """Let the queue follow, and the archive say so; return how many URLs left."""
    state, dropped = shard.core.state, shard.engine.config.filter.drop
    before = drops_on_record(state)
    added = [one for one in dropped if one not in before]
    count = await _sweep(shard, Patterns(added)) if added else 0
    undone = [one for one in before if one not in dropped]
    rules = RulesRecord(at=shard.engine.time.now(), dropped=added, undone=undone)
    record = shard.ledger.writer.of_no_url(encode_rules(rules), rules.at)
    shard.ledger.add_entry(ArchiveEntry(links=record))
    shard.ledger.add_rows(on_record_rows(dropped))
    shard.ledger.commit()
    return count


async def settle_totals(shard: Shard, dropped: Sequence[str]) -> None:
    """Let the totals of a shard follow what is dropped; others have their turn in between."""
    ledger, state = shard.ledger, shard.core.state
    while (start := ledger.uncounted.next_row(dropped)) is not None:
        ledger.commit()  # what is read below is what is so
        rows = [*state.scan(URL, start, ROWS_AT_ONCE)]
        for key, value in rows:
            record = decode_record(value)
            if change := ledger.uncounted.change(record.url):
                is_page = record.state is UrlState.ARCHIVED
                near = near_copy(state.get, int.from_bytes(key[-8:], "big")) if is_page else None
                ledger.counters.recount(record, change, near.level if near is not None else "")
        is_last = len(rows) < ROWS_AT_ONCE
        ledger.add_rows([ledger.uncounted.moved(b"" if is_last else rows[-1][0] + b"\0")])
        ledger.commit()
        await shard.engine.time.clock.sleep(0.0)


def on_record_rows(dropped: Sequence[str]) -> list[Row]:
    """Return the row that says which patterns the archive has on record."""
    return [(DROPS_ON_RECORD, msgspec.msgpack.encode(tuple(dropped)) if dropped else None)]


def dropped_in(rules: Iterable[RulesRecord]) -> list[str]:
    """Return what records of an archive say is dropped, by the last word on each pattern."""
    found: dict[str, bool] = {}
    for one in sorted(rules, key=lambda rule: rule.at):
        found |= dict.fromkeys(one.dropped, True) | dict.fromkeys(one.undone, False)
    return [pattern for pattern, is_dropped in found.items() if is_dropped]


async def _sweep(shard: Shard, patterns: Patterns) -> int:
    """Take what patterns name out of the queue of a shard; others have their turn in between."""

    def is_dropped(task: Task) -> bool:
        return bool(patterns.match_host(task.url.host) or patterns.match_url(task.url.text))

    sweep, ledger = shard.core.frontier.sweep, shard.ledger
    count = 0
    for places in sweep.queued(is_dropped):
        if places:
            ledger.commit()  # what is taken out is what is so
            count += _refuse(shard, sweep.take(places, is_dropped), patterns)
        await shard.engine.time.clock.sleep(0.0)
    ledger.commit()
    return count + _refuse(shard, sweep.take_waiting(is_dropped), patterns)


def _refuse(shard: Shard, tasks: Sequence[Task], patterns: Patterns) -> int:
    """Record that tasks are refused, in one commit with their leaving the queue."""
    now = shard.engine.time.now()
    for task in tasks:
        found = patterns.match_host(task.url.host) or patterns.match_url(task.url.text)
        refused = Refused(kind=RefusalKind.DROPPED, detail=found)
        turn = shard.core.traps.observe(Turn(task=task, outcome=refused, at=now))
        shard.ledger.record(turn, now)
    shard.core.release_held()
    shard.ledger.commit()
    return len(tasks)
