"""What has been done so far, in numbers."""

from collections.abc import Sequence

from msgspec import structs

from gossamer.model import Counters, Standing


def merge_standings(parts: Sequence[Standing]) -> Standing:
    """Return how all shards together stand."""
    return Standing(
        queued=sum(part.queued for part in parts),
        in_flight=sum(part.in_flight for part in parts),
        hosts=sum(part.hosts for part in parts),
        known_urls=sum(part.known_urls for part in parts),
        active_hosts=sum(part.active_hosts for part in parts),
        is_running=any(part.is_running for part in parts),
        paused=next((part.paused for part in parts if part.paused), ""),
        stop_reason=next((part.stop_reason for part in parts if part.stop_reason), ""),
        outbox=sum(part.outbox for part in parts),
        shards=len(parts),
        watched=sum(part.watched for part in parts),
        freshness=_freshness(parts),
        traps=tuple(note for part in parts for note in part.traps),
    )


def _freshness(parts: Sequence[Standing]) -> float | None:
    """Return the mean of what is expected of each shard's pages, by their number."""
    known = [(part.watched, part.freshness) for part in parts if part.freshness is not None]
    total = sum(watched for watched, _ in known)
    return sum(watched * fresh for watched, fresh in known) / total if total else None


def status_of(counters: Counters, standing: Standing) -> dict[str, object]:
    """Return the status that `gossamer status --json` prints ."""
    seconds = counters.seconds
    to_do = standing.queued + standing.in_flight + standing.outbox
    return {
        "pages": counters.pages,
        "html_pages": counters.html_pages,
        "queued": standing.queued,
        "in_flight": standing.in_flight,
        "hosts": standing.hosts,
        "known_urls": standing.known_urls,
        "refused": dict(sorted(counters.refused.items())),
        "labels": dict(sorted(counters.labels.items())),
        "failed": dict(sorted(counters.failed.items())),
        "finished": not to_do and counters.seeds > 0,
        "running": standing.is_running,
        "active_hosts": standing.active_hosts,
        "requests": counters.requests,
        "redirects": counters.redirects,
        "revisits": counters.revisits,
        "copies": dict(sorted(counters.copies.items())),
        "retries": dict(sorted(counters.retries.items())),
        "archive_bytes": counters.archive_bytes,
        "lost_found": counters.lost_found,
        "seconds": round(seconds, 3),
        "pages_per_s": round(counters.pages / seconds, 2) if seconds else 0.0,
        "paused": standing.paused,
        "stop_reason": standing.stop_reason,
        "outbox": standing.outbox,
        "shards": standing.shards,
        "watch": {
            "watched": standing.watched if standing.is_running else counters.watched,
            "visits": counters.looks,
            "changed": counters.changed,
            "unchanged": counters.unchanged,
            "gone": counters.gone,
            "expected_freshness": standing.freshness,
        },
        "user_errors": {
            name: structs.asdict(told) for name, told in sorted(counters.user_errors.items())
        },
        "traps": [structs.asdict(note) for note in standing.traps],
    }
