"""What an outcome means for the host, for the task, and for what is asked next. Pure."""

import dataclasses

from msgspec.structs import replace

from gossamer.crawl.pipeline import next_tasks
from gossamer.crawl.ports import Stations
from gossamer.fetch import RETRY, RobotsRules
from gossamer.frontier import Answer
from gossamer.model import (
    Failed,
    FailureKind,
    FetchOutcome,
    Link,
    LinkKind,
    Refused,
    Task,
    Turn,
    Url,
)
from gossamer.process import is_gate


def sitemap_tasks(url: Url, rules: RobotsRules, at: Stations) -> list[Task]:
    """Return tasks for the sitemaps that a robots.txt names, through the same tests as any link."""
    robots_url = url.origin + "/robots.txt"
    targets = [at.join(robots_url, text, at.urls) for text in rules.sitemaps]
    links = [Link(target=t, kind=LinkKind.SITEMAP) for t in targets if t is not None]
    source = Task(url=replace(url, text=robots_url), depth=-1)
    return next_tasks(source, links, at).new


def was_asked(outcome: FetchOutcome) -> bool:
    """Return True if a request could be made: the name resolved, and we were willing."""
    return not isinstance(outcome, Refused) and not (
        isinstance(outcome, Failed)
        and outcome.kind in {FailureKind.DNS_NO_SUCH_HOST, FailureKind.DNS_UNREACHABLE}
    )


def with_label(failed: Failed) -> Failed:
    """Return a failure that says so if its page is a gate: a browser would have been let in."""
    document = failed.document
    if document is None or not is_gate(document.status, document.body.decoded()):
        return failed
    return dataclasses.replace(failed, detail=f"{failed.detail} (challenge)".lstrip())


def is_throttled(outcome: FetchOutcome) -> bool:
    """Return True if the server asked us to slow down."""
    return isinstance(outcome, Failed) and outcome.kind is FailureKind.THROTTLED


def answer_of(outcome: FetchOutcome, elapsed_s: float, rules: RobotsRules | None) -> Answer | None:
    """Return what politeness must know of an outcome; None when no request was made."""
    if isinstance(outcome, Refused) or not was_asked(outcome):  # the first half is for mypy
        return None
    return Answer(
        latency_s=elapsed_s if isinstance(outcome, Failed) else outcome.document.latency_s,
        knows_rules=rules is not None,
        crawl_delay_s=rules.crawl_delay_s if rules is not None else None,
        is_throttled=is_throttled(outcome),
        retry_after_s=outcome.retry_after_s if isinstance(outcome, Failed) else None,
    )


def is_host_wide(outcome: FetchOutcome) -> bool:
    """Return True if a failure concerns the whole host, so that the task keeps its place."""
    return isinstance(outcome, Failed) and RETRY[outcome.kind].is_host_wide


def turn_reason(turn: Turn) -> str:
    """Return the name of what a turn's URL waits for."""
    return turn.outcome.kind.value if isinstance(turn.outcome, Failed) else ""
