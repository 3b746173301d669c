"""What has been done so far, in numbers."""

from msgspec import Struct

from gossamer.model import Counters


class Standing(Struct, kw_only=True, frozen=True):
    """What the counters do not hold: the state of queue and process at this moment."""

    queued: int
    in_flight: int = 0
    hosts: int
    known_urls: int
    active_hosts: int = 0
    is_running: bool = False
    paused: str = ""
    stop_reason: str = ""


def status_of(counters: Counters, standing: Standing) -> dict[str, object]:
    """Return the status that `gossamer status --json` prints ."""
    seconds = counters.seconds
    return {
        "pages": counters.pages,
        "html_pages": counters.html_pages,
        "queued": standing.queued,
        "in_flight": standing.in_flight,
        "hosts": standing.hosts,
        "known_urls": standing.known_urls,
        "refused": dict(sorted(counters.refused.items())),
        "failed": dict(sorted(counters.failed.items())),
        "finished": not standing.queued and not standing.in_flight and counters.seeds > 0,
        "running": standing.is_running,
        "active_hosts": standing.active_hosts,
        "requests": counters.requests,
        "redirects": counters.redirects,
        "revisits": counters.revisits,
        "retries": dict(sorted(counters.retries.items())),
        "archive_bytes": counters.archive_bytes,
        "seconds": round(seconds, 3),
        "pages_per_s": round(counters.pages / seconds, 2) if seconds else 0.0,
        "paused": standing.paused,
        "stop_reason": standing.stop_reason,
    }
