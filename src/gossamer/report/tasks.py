"""The task table: every known URL with its state, its priority and the moment it waits for."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from gossamer.config import UrlConfig
from gossamer.frontier import WaitingUrl, waiting_urls
from gossamer.model import Task, UrlRecord, UrlState, add_labels
from gossamer.report.inquiry import folder_of
from gossamer.report.records import URL, decode_record, late_labels_key, url_row_key
from gossamer.report.states import each_state
from gossamer.store import State
from gossamer.traps import held_tasks
from gossamer.urls import parse


class TaskRow(Struct, frozen=True, kw_only=True):
    """One known URL. The columns of a task table, as a database server would have them."""

    url: str
    host: str
    state: str
    """archived, redirected, failed, refused, gone, waiting, queued, leased or held."""
    reason: str
    """Of a failure or refusal; of a URL that waits, the rule that makes its host wait."""
    priority: int | None
    """Its class, from 1 (low) to 16; None if it is not queued."""
    available_at: float | None
    """From when it may be fetched, in seconds since 1970; None if it is not to be fetched."""
    attempts: int
    depth: int
    via: str
    """The page that linked it first; "" for a seed."""
    kind: str
    labels: str
    """Of the seeds that led to it, separated by commas."""
    fetched_at: float | None
    """When it was last asked for."""
    status: int
    """The HTTP status of that; 0 without a response."""


def task_table(folder: Path | str) -> Iterator[TaskRow]:
    """Yield every known URL once, shard by shard; what a running crawl changes may be missing.

    A URL that had its turn comes from its record, any other from the queue of its host.
    """
    for state in each_state(folder_of(folder)):
        for _, value in state.scan(URL):
            record = decode_record(value)
            if record.state is not UrlState.QUEUED:
                yield _settled(record, state)
        for waiting in waiting_urls(state):
            if _has_no_turn(waiting.task, state):
                yield _waiting(waiting, state)
        for task in held_tasks(state.scan):
            if _has_no_turn(task, state):
                yield _row(task, state, "held", "trial", None)


def _has_no_turn(task: Task, state: State) -> bool:
    value = state.get(url_row_key(task.url.key))
    return value is None or decode_record(value).state is UrlState.QUEUED


def _settled(record: UrlRecord, state: State) -> TaskRow:
    url, last = parse(record.url, UrlConfig()), record.visits[-1] if record.visits else None
    return TaskRow(
        url=record.url,
        host=url.host if url is not None else "",
        state=record.state.value,
        reason=record.reason,
        priority=None,
        available_at=record.retry_at,
        attempts=record.attempts,
        depth=record.depth,
        via=record.via,
        kind=record.kind,
        labels=_labels(record.labels, url.key, state) if url is not None else record.labels,
        fetched_at=last.at if last is not None else None,
        status=last.status if last is not None else 0,
    )


def _waiting(waiting: WaitingUrl, state: State) -> TaskRow:
    return _row(waiting.task, state, waiting.state, waiting.reason, waiting.next_at)


def _row(
    task: Task, state: State, standing: str, reason: str, available_at: float | None
) -> TaskRow:
    return TaskRow(
        url=task.url.text,
        host=task.url.host,
        state=standing,
        reason=reason,
        priority=task.grade or None,
        available_at=available_at,
        attempts=task.attempt,
        depth=task.depth,
        via=task.via,
        kind=task.kind.value,
        labels=_labels(task.labels, task.url.key, state),
        fetched_at=None,
        status=0,
    )


def _labels(labels: str, key: int, state: State) -> str:
    late = state.get(late_labels_key(key))
    return labels if late is None else add_labels(labels, late.decode())
