"""What a start, a second, a checkpoint and a page cost, from three crawls by one machine.

Two crawls that differ in their pages alone tell what a start costs and what the rest does; one that
ships less often tells what of the rest is a checkpoint's. A part that would be negative is none.
"""

from typing import NamedTuple

from fleets.runs import Run

REQUESTS = ("PUT", "GET", "HEAD", "LIST")
OBJECTS = ("manifest", "files", "archive")


class Share(NamedTuple):
    """What something costs, by what it is for."""

    of_a_start: float
    """Of a shard."""
    of_a_second: float
    """Of a shard that runs."""
    of_a_checkpoint: float

    def of(self, starts: float, seconds: float, checkpoints: float) -> float:
        """Return what a crawl takes; seconds: of all shards together."""
        return (
            self.of_a_start * starts
            + self.of_a_second * seconds
            + self.of_a_checkpoint * checkpoints
        )


class Sent(NamedTuple):
    """Bytes that go to the store."""

    of_a_checkpoint: float
    of_a_page: float

    def of(self, checkpoints: float, pages: float) -> float:
        """Return the bytes of a crawl."""
        return self.of_a_checkpoint * checkpoints + self.of_a_page * pages


class Calibration(NamedTuple):
    """The costs of a crawl by a cluster, in the minutes in which they were measured."""

    interval_s: float
    """From one checkpoint of a shard to the next, with `ship_s` of 5 s."""
    manifests_of_a_start: float
    up_cpu_s: float
    """Of a machine without work."""
    start_cpu_s: float
    """Of a shard."""
    page_cpu_s: float
    first_part_s: float
    requests: dict[str, Share]
    objects: dict[str, Share]
    state: Sent
    archive: Sent

    def checkpoints(self, run: Run) -> float:
        """Return how many manifests of a crawl were checkpoints."""
        return _checkpoints(run, self.manifests_of_a_start)


def calibrated(few: Run, many: Run, seldom: Run) -> Calibration:
    """Return the costs: `many` has more pages than `few`, `seldom` as many and ships less often."""
    of_a_start, rate = _start_and_rate(few, many, "manifest")
    page_cpu_s = max(many.cpu_s - few.cpu_s, 0.0) / (many.pages - few.pages)
    rest_s = many.cpu_s - many.up_cpu_s - page_cpu_s * many.pages
    return Calibration(
        interval_s=round(1.0 / rate, 2),
        manifests_of_a_start=round(of_a_start, 2),
        up_cpu_s=round(many.up_cpu_s / many.machines, 2),
        start_cpu_s=round(max(rest_s, 0.0) / many.starts, 2),
        page_cpu_s=round(page_cpu_s, 5),
        first_part_s=many.first_part_s,
        requests={name: _share(few, many, seldom, name) for name in REQUESTS},
        objects={name: _share(few, many, seldom, name) for name in OBJECTS},
        state=_sent(many, seldom, many.state_bytes, seldom.state_bytes, of_a_start),
        archive=_sent(many, seldom, many.bytes["archive"], seldom.bytes["archive"], of_a_start),
    )


def _count(run: Run, name: str) -> int:
    return run.requests[name] if name in REQUESTS else run.objects[name]


def _start_and_rate(few: Run, many: Run, name: str) -> tuple[float, float]:
    """Return what a start brings, and a second of a shard, with the checkpoints in it."""
    more = many.shards * many.seconds - few.shards * few.seconds
    rate = max(_count(many, name) - _count(few, name), 0) / more
    start = (_count(many, name) - rate * many.shards * many.seconds) / many.starts
    if start < 0:
        return 0.0, _count(many, name) / (many.shards * many.seconds)
    return start, rate


def _checkpoints(run: Run, of_a_start: float) -> float:
    return max(run.objects["manifest"] - of_a_start * run.starts, 1.0)


def _share(few: Run, many: Run, seldom: Run, name: str) -> Share:
    claims, _ = _start_and_rate(few, many, "manifest")
    start, rate = _start_and_rate(few, many, name)
    rate_seldom = (_count(seldom, name) - start * seldom.starts) / (seldom.shards * seldom.seconds)
    often = _checkpoints(many, claims) / (many.shards * many.seconds)
    rarely = _checkpoints(seldom, claims) / (seldom.shards * seldom.seconds)
    checkpoint = min(max((rate - rate_seldom) / (often - rarely), 0.0), rate / often)
    return Share(round(start, 2), round(rate - checkpoint * often, 3), round(checkpoint, 3))


def _sent(many: Run, seldom: Run, often: int, rarely: int, claims: float) -> Sent:
    more = _checkpoints(many, claims) - _checkpoints(seldom, claims)
    checkpoint = max((often - rarely) / more, 0.0)
    page = (often - checkpoint * _checkpoints(many, claims)) / many.pages
    return Sent(round(checkpoint), round(page, 1))
