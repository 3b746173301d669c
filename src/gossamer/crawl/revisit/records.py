"""What a revisit leaves in the URL record of a page. Pure."""

from msgspec.structs import replace

from gossamer.model import (
    Counters,
    Document,
    Failed,
    Fetched,
    FetchOutcome,
    Redirected,
    Refused,
    RevisitResult,
    Turn,
    UrlRecord,
    UrlState,
    Visit,
)

CONCLUSIVE = frozenset({RevisitResult.CHANGED, RevisitResult.UNCHANGED, RevisitResult.SAME_WORDS})
"""Results that say whether the page has changed."""
STORED = frozenset({RevisitResult.CHANGED, RevisitResult.UNCHANGED, RevisitResult.GONE})
"""Results that leave something in the archive."""


def next_record(
    old: UrlRecord, turn: Turn, document: Document | None, *, is_stored: bool
) -> UrlRecord:
    """Return the record of a page after a revisit; `is_stored` if its content lies there now."""
    result = turn.revisit or RevisitResult.NO_ANSWER
    reason = reason_of(turn.outcome)
    status = document.status if document is not None else 0
    is_conclusive = result in CONCLUSIVE
    record = replace(
        old,
        retry_at=turn.retry_at,
        visits=[*old.visits, Visit(turn.at, result.value, reason, status)],
        page=None if is_stored else old.stored,
        looks=old.looks + is_conclusive,
        changes=old.changes + (result is RevisitResult.CHANGED),
        misses=0 if is_conclusive else old.misses + 1,
        belief=turn.belief or old.belief,
        importance=max(old.importance, turn.importance),
        labels=turn.task.labels,
    )
    match turn.outcome:
        case Fetched(document=answer):
            return _found(record, turn, answer, is_stored=is_stored)
        case Redirected():
            target = turn.found.links[0].target.text if turn.found and turn.found.links else ""
            return replace(
                record,
                state=UrlState.REDIRECTED,
                reason="redirect",
                target=target,
                fingerprint=None,
                words=None,
            )
        case Failed(reason=why, detail=detail) if result is RevisitResult.GONE:
            return replace(
                record,
                state=UrlState.GONE,
                reason=why,
                detail=detail,
                fingerprint=None,
                words=None,
            )
        case _:
            return record


def reason_of(outcome: FetchOutcome) -> str:
    """Return the name of a failure or refusal; "" for an answer."""
    match outcome:
        case Failed():
            return outcome.reason
        case Refused():
            return outcome.kind.value
        case _:
            return ""


def _found(record: UrlRecord, turn: Turn, answer: Document, *, is_stored: bool) -> UrlRecord:
    """Return the record of a page that was there, with what it is like now."""
    is_read = turn.found is not None
    is_changed = turn.revisit is RevisitResult.CHANGED
    copy_of = record.copy_of
    if is_stored:
        is_copy = turn.copy_of is not None and turn.copy_of.url != record.url
        copy_of = turn.copy_of.url if turn.copy_of is not None and is_copy else ""
    return replace(
        record,
        state=UrlState.ARCHIVED,
        reason="",
        target="",
        etag=answer.header("etag") or ("" if is_read else record.etag),
        modified=answer.header("last-modified") or ("" if is_read else record.modified),
        fingerprint=turn.fingerprint if is_changed else record.fingerprint,
        words=turn.words if is_changed or record.words is None else record.words,
        detail="" if is_changed else record.detail,
        copy_of=copy_of,
    )


def outdated(old: UrlRecord, turn: Turn) -> int | None:
    """Return the content fingerprint that no longer stands for the page, if there is one."""
    is_other = turn.revisit is RevisitResult.CHANGED and turn.fingerprint != old.fingerprint
    return old.fingerprint if is_other or turn.revisit is RevisitResult.GONE else None


def count_revisit(counters: Counters, old: UrlRecord, turn: Turn) -> None:
    """Add a revisit to the totals. It is no page more: `pages` and `failed` stay."""
    is_back = old.state is UrlState.GONE and not isinstance(turn.outcome, Failed)
    counters.count_revisit(
        is_changed=turn.revisit is RevisitResult.CHANGED,
        is_unchanged=turn.revisit in {RevisitResult.UNCHANGED, RevisitResult.SAME_WORDS},
        gone=(turn.revisit is RevisitResult.GONE) - (is_back and turn.revisit in CONCLUSIVE),
    )
    counters.count_refused(turn.refused)
