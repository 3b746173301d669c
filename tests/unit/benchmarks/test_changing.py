"""A web that changes at known rates, and the truth about copies of it."""

import urllib.error
import urllib.request
from pathlib import Path

import pytest
from laboratory.changing import (
    ChangingWeb,
    changes_between,
    serve_changing,
    true_freshness,
)

from gossamer.clock import SystemClock
from gossamer.testing import LoggedRequest, Request

WEB = {"seed": 5, "hosts": 3, "pages_per_host": 9, "median_s": 4.0, "gone_every": 6}


class Moved(SystemClock):
    """A wall clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.at = 1_700_000_000.0

    def wall(self) -> float:
        return self.at


def web(clock: SystemClock | None = None) -> ChangingWeb:
    return ChangingWeb(**WEB, clock=clock or SystemClock())  # type: ignore[arg-type]  # mixed values


def visit(host: int, number: int, at: float, status: int = 200) -> LoggedRequest:
    return LoggedRequest(
        at=at,
        host=f"w{host}.test",
        method="GET",
        target=f"/{number or ''}",
        status=status,
        user_agent="",
        connection_id=1,
        open_connections_of_host=1,
    )


def test_nothing_changes_before_it_begins_and_all_as_foretold_after() -> None:
    clock = Moved()
    served = web(clock)
    asked = Request("GET", "/2", "w1.test", b"")
    first = served.respond(asked).body
    clock.at += 500.0
    assert b"Edition 0." in first
    assert b"Edition 0." in served.respond(asked).body
    served.respond(Request("GET", "/.begin", "w0.test", b""))
    page = served.fates[1, 2]
    assert page.changes
    clock.at += page.changes[0] - 0.001
    assert b"Edition 0." in served.respond(asked).body
    clock.at += 0.002
    assert b"Edition 1." in served.respond(asked).body


def test_pages_go_with_404_or_410_and_stay_away() -> None:
    clock = Moved()
    served = web(clock)
    served.respond(Request("GET", "/.begin", "w0.test", b""))
    gone = [(place, page) for place, page in served.fates.items() if page.gone_at is not None]
    assert {page.gone_status for _, page in gone} == {404, 410}
    assert all(number for (_, number), _ in gone)
    clock.at += 100.0
    for (host, number), page in gone:
        answer = served.respond(Request("GET", f"/{number}", f"w{host}.test", b""))
        assert answer.status == page.gone_status


def test_rates_are_what_the_pages_really_do() -> None:
    many = ChangingWeb(seed=2, hosts=10, pages_per_host=50, horizon_s=400.0)
    expected = sum(page.rate_per_s for page in many.fates.values()) * 400.0
    assert changes_between(many, 0.0, 400.0) == pytest.approx(expected, rel=0.05)


def test_the_truth_is_what_stepping_through_time_finds() -> None:
    served = web()
    served.began_at = 1000.0
    visits = [
        visit(host, number, 1000.0 + at, status)
        for host, number, at, status in [
            (0, 0, 1.5, 200),
            (0, 0, 6.0, 304),
            (1, 3, 0.2, 200),
            (1, 3, 8.0, 500),
            (2, 7, 9.5, 200),
            (0, 1, -5.0, 200),
        ]
    ]
    steps, fresh, total = 4000, 0.0, 0.0
    for (host, number), page in served.fates.items():
        if page.gone_at is not None:
            continue
        seen = [
            at
            for at, v in ((v.at - 1000.0, v) for v in visits)
            if v.host == f"w{host}.test" and v.target == f"/{number or ''}" and v.status != 500
        ]
        for step in range(steps):
            now = 2.0 + 8.0 * (step + 0.5) / steps
            last = max((at for at in seen if 0.0 <= at <= now), default=0.0)
            fresh += page.version(last) == page.version(now)
            total += 1
    assert true_freshness(served, visits, 2.0, 10.0) == pytest.approx(fresh / total, abs=0.002)


def test_a_changing_web_in_a_process_begins_when_it_is_told(tmp_path: Path) -> None:
    with serve_changing(web(), tmp_path / "log.tsv") as served:
        began_at = served.begin()
        assert served.web.began_at == began_at
        address = served.web.addresses["w1.test"]
        request = urllib.request.Request(
            f"http://{address}:{served.web.port}/1", headers={"Host": "w1.test"}
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                assert b"Edition" in answer.read()
        except urllib.error.HTTPError as gone:
            gone.close()
        assert [v.target for v in served.requests()] == ["/.begin", "/1"]
