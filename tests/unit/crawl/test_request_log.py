"""The log of requests: what each commit archives of them, and what the records say again."""

import json
import random

import pytest
from tests.unit.crawl.harness import document

from gossamer.config import UrlConfig
from gossamer.crawl.ledger import HEAD, NOT_SENT, RequestLog
from gossamer.model import Failed, FailureKind, Fetched, Redirected, RefusalKind, Refused, Url
from gossamer.store import REQUESTS_TYPE, Record, TurnWriter, readable_records
from gossamer.urls import parse


def url(text: str) -> Url:
    found = parse(text, UrlConfig())
    assert found is not None
    return found


def rows(log: RequestLog) -> dict[str, list[list[object]]]:
    found: dict[str, list[list[object]]] = json.loads(log.record()[1])["asked"]
    return found


def test_a_request_is_a_row_without_what_is_empty() -> None:
    log = RequestLog()
    assert not log.has_rows
    failed = Failed(kind=FailureKind.CONNECT_FAILED)
    log.note(url("http://a.test/x?y=1"), None, allowed_by="line 1: Allow: /", at=100.0, took_s=0.5)
    log.note(
        url("http://a.test/"), failed, allowed_by="", at=99.75, took_s=0.0, marks=HEAD + NOT_SENT
    )
    assert log.has_rows
    assert rows(log) == {
        "http://a.test": [
            [0, "/x?y=1", 0, 500, 0, "cut_off"],
            [-250, "/", 0, 0, 1, "connect_failed", "hn"],
        ]
    }
    assert json.loads(log.record()[1])["robots"] == ["line 1: Allow: /", ""]
    log.committed()
    assert not log.has_rows


def test_a_row_has_the_status_of_the_answer_and_how_long_it_took() -> None:
    log = RequestLog()
    found, moved = document("http://a.test/"), document("http://a.test/", b"", 301)
    failed = Failed(kind=FailureKind.HTTP_5XX, document=document("http://a.test/", status=503))
    for outcome in (Fetched(document=found), Redirected(document=moved, target="x"), failed):
        log.note(url("http://a.test/"), outcome, allowed_by="", at=1.0, took_s=2.0)
    log.note_interrupted(url("http://a.test/"), 1.0)
    assert [row[2:4] for row in rows(log)["http://a.test"]] == [
        [200, 2000],
        [301, 2000],
        [503, 2000],
        [0, 0],
    ]


def test_what_no_host_has_seen_is_no_request() -> None:
    log = RequestLog()
    refused = Refused(kind=RefusalKind.PRIVATE_ADDRESS, detail="10.0.0.1")
    log.note(url("http://a.test/"), refused, allowed_by="", at=1.0, took_s=0.0, marks=NOT_SENT)
    assert not log.has_rows


def test_its_record_is_one_that_readers_of_links_pass_over(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    log = RequestLog()
    log.note_interrupted(url("http://a.test/"), 5.0)
    path = tmp_path_factory.mktemp("log") / "links-00-0001-00000.warc.gz"
    path.write_bytes(TurnWriter(software="test", rng=random.Random(1)).requests(*log.record()))
    (record,) = readable_records(path)
    assert isinstance(record, Record)
    assert record.headers["warc-type"] == "warcinfo"
    assert record.headers["content-type"] == REQUESTS_TYPE
    assert json.loads(record.block)["asked"]["http://a.test"][0][5:] == ["interrupted", "u"]
