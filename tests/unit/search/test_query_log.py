"""The log of queries: bounded, without anybody's address, and readable whatever happened to it."""

import json
import multiprocessing
import stat
from pathlib import Path

import pytest

from gossamer.search import query_log
from gossamer.search.answer import Answer
from gossamer.search.query_log import FILE, LoggedQuery, QueryLog, logged_query


def entry(query: str, total: int = 1, took_ms: float = 1.0, **more: float) -> LoggedQuery:
    at, page = more.get("at", 1.8e9), int(more.get("page", 1))
    return LoggedQuery(at=at, query=query, total=total, took_ms=took_ms, page=page)


def answer(query: str, *, total: int = 3, corrected: str = "") -> Answer:
    return Answer(
        query=query,
        total=total,
        page=1,
        per_page=10,
        has_more=False,
        hits=[],
        suggestion="",
        hints=[],
        is_partial=False,
        took_ms=2.5,
        corrected=corrected,
    )


def test_a_line_says_what_was_asked_and_nothing_of_who_asked(tmp_path: Path) -> None:
    log = QueryLog(tmp_path)
    log.append(logged_query(answer("red fox"), 1.8e9))
    line = json.loads(log.path.read_text())
    assert line == {"at": 1.8e9, "query": "red fox", "total": 3, "took_ms": 2.5}
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600


def test_a_query_that_was_corrected_had_no_results_of_its_own() -> None:
    found = logged_query(answer("gosamer", corrected="gossamer"), 5)
    assert (found.total, found.corrected) == (0, "gossamer")


def test_secrets_in_urls_and_what_is_too_long_are_left_out() -> None:
    found = logged_query(answer(f"http://me:SECRET@a.test/?token=SECRET {'x' * 9999}"), 5)
    assert "SECRET" not in found.query
    assert len(found.query) < 2100


def test_a_query_of_several_lines_is_one_line(tmp_path: Path) -> None:
    log = QueryLog(tmp_path)
    log.append(entry('one\n{"at":1}\u2028two\x1b[31m'))
    assert len(log.path.read_bytes().splitlines()) == 1
    assert log.report().frequent[0].query == 'one\n{"at":1}\u2028two\x1b[31m'


def test_the_report_lists_queries_without_result_the_frequent_and_the_slow(tmp_path: Path) -> None:
    log = QueryLog(tmp_path)
    for number in range(10):
        log.append(entry("Red  fox" if number % 2 else "red fox", 7, at=1e9 + number))
    log.append(entry("hen", 0, at=2e9))
    log.append(entry("hen", 0, at=2e9 + 1))
    log.append(entry("elk", 0, 900.0))
    log.append(entry("red fox", 7, page=2))
    report = log.report()
    assert (report.queries, report.distinct, report.without_results) == (13, 3, 3)
    assert [(one.query, one.count) for one in report.empty] == [("hen", 2), ("elk", 1)]
    assert (report.frequent[0].query, report.frequent[0].count) == ("Red  fox", 10)
    assert (report.slow[0].query, report.slow[0].slowest_ms) == ("elk", 900.0)
    assert (report.first_at, report.last_at) == (1e9, 2e9 + 1)
    assert (report.median_ms, report.p99_ms) == (1.0, 900.0)
    assert len(log.report(1).frequent) == 1


def test_a_query_that_has_results_by_now_is_no_longer_listed_as_without(tmp_path: Path) -> None:
    log = QueryLog(tmp_path)
    log.append(entry("hen", 0, at=1e9))
    log.append(entry("hen", 4, at=2e9))
    assert log.report().empty == []


def test_damaged_lines_are_left_out_and_counted(tmp_path: Path) -> None:
    log = QueryLog(tmp_path)
    log.append(entry("one"))
    with log.path.open("ab") as file:
        file.write(
            b'{"at": "x"}\n\n\xff\xfe\n[1]\n{"at":1,"query":"q","total":-1,"took_ms":1}\n{"at"'
        )
    log.append(entry("two"))
    report = log.report()
    assert (report.queries, report.damaged) == (2, 5)


def test_without_a_log_there_is_nothing_to_report(tmp_path: Path) -> None:
    report = QueryLog(tmp_path).report()
    assert (report.queries, report.last_at, report.frequent) == (0, None, [])


def test_it_never_grows_beyond_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_log, "MOST_BYTES", 2_000)
    log = QueryLog(tmp_path)
    for number in range(300):
        log.append(entry(f"query number {number}"))
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == [FILE, *(f"{FILE}.{n}" for n in (1, 2, 3))]
    assert all(path.stat().st_size <= 2_000 for path in tmp_path.iterdir())
    told = [one.query for one in log.report(1000).frequent]
    assert "query number 299" in told
    assert "query number 0" not in told


def _append(folder: Path, name: str) -> None:
    log = QueryLog(folder)
    for number in range(200):
        log.append(entry(f"{name} {number}"))


def test_several_processes_may_write_it_at_a_time(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_append, args=(tmp_path, name)) for name in ("a", "b", "c")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    report = QueryLog(tmp_path).report()
    assert (report.queries, report.distinct, report.damaged) == (600, 600, 0)


def test_what_cannot_be_written_is_an_error_for_the_caller(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(OSError, match="queries"):
        QueryLog(tmp_path).append(entry("one"))
