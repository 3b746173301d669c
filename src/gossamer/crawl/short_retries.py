"""Short retries: what becomes of URLs if retries are limited (`fetch.retries`), as in a link check.

Otherwise a URL whose robots.txt cannot be had waits for its host, for as long as that is down, and
a host whose pages fail is parked.
"""

from msgspec.structs import replace

from gossamer.crawl.core import Core
from gossamer.crawl.ledger import Ledger
from gossamer.crawl.pipeline import DETAIL_CHARS, end_of
from gossamer.frontier import HostAnswer, HostFailure
from gossamer.model import Task, Turn

RETRY_S = 5.0
ENDED_AT_ONCE = 1000
"""URLs of a host that end with one of them."""


def retry_robots(
    task: Task,
    failure: HostFailure,
    said: str,
    core: Core,
    ledger: Ledger,
    *,
    most: int,
    now: float,
) -> None:
    """Let a task whose robots.txt cannot be had be tried again soon, or end.

    What is queued of a host that has never answered ends with it.
    """
    frontier = core.frontier
    if task.attempt < most:
        frontier.delay(replace(task, attempt=task.attempt + 1), now + RETRY_S)
        return
    detail = said.partition(": ")[2][:DETAIL_CHARS]
    turn = Turn(task=task, outcome=end_of(failure.reason, detail), at=now)
    ledger.record(core.traps.observe(turn), now)
    frontier.conclude(task)
    if not frontier.hosts.row(task.url.host).answered_at:
        frontier.parking.end_queued(task.url.host, failure.reason, detail, ENDED_AT_ONCE)


def without_soft_failure(answer: HostAnswer | None) -> HostAnswer | None:
    """Return what a host is told of an answer so that its other URLs are asked for all the same.

    A server error is an answer. A connection that breaks is none, but costs no time, so it does not
    keep anybody from asking for the next URL. Only hosts that cannot be reached or keep us waiting
    are parked.
    """
    failure = None if answer is None else answer.failure
    if answer is None or failure is None:
        return answer
    if failure.is_server_error:
        return replace(answer, failure=None)
    if failure.is_reset:
        return replace(answer, failure=None, is_page=False, is_whole=False)
    return answer
