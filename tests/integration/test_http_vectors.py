"""The public table of well- and ill-formed HTTP answers, told to us by a raw server.

Which rows apply to a client that asked one question:

* Rows in the parser's plain "response" mode; the lenient modes are switches of another program.
* A row with several messages answers our one question with the first final one; the rest must
  not become anybody's body. Such rows have their own expectations below.
* RTSP and ICE are not HTTP, and HTTP/0.9 is refused by choice.
"""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from gossamer.model import Failed, FailureKind, Fetched, FetchOutcome
from tests.integration.raw import LOOPBACK, ask_once, fetching, says, serve

VECTORS = Path(__file__).parents[3] / "shared" / "vectors" / "http" / "llhttp_response_cases.json"
needs_vectors = pytest.mark.skipif(
    not VECTORS.exists(), reason="../shared/vectors/http is not here"
)

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
NOT_HTTP_1 = {"sample-056", "sample-057", "sample-072"}
FIRST_OF_SEVERAL = {
    "connection-002": b"",
    "connection-004": b"",
    "connection-014": b"",
    "connection-015": b"",
    "connection-017": b"response content",
    "pipelining-054": b"AAA",
}
BROKEN_OFF = {"content-length-020"}
"""The announced body is cut short by what the parser takes for the next message."""
TOO_LENIENT = {"connection-016"}
"""A blank line between an interim and the final answer: refused, as libcurl does."""


SENT_AFTER_THE_ANSWER = {"connection-005", "connection-007"}
"""Bytes beyond the answer: seen on a new connection, and dropped with any other."""


def is_stale(outcome: FetchOutcome) -> bool:
    return isinstance(outcome, Failed) and outcome.kind is FailureKind.STALE_CONNECTION


def rows(verdict: str) -> list[dict[str, Any]]:
    every = json.loads(VECTORS.read_text())
    return [
        row for row in every if row["parser_mode"] == "response" and row["strict_parser"] == verdict
    ]


async def told(row: dict[str, Any]) -> tuple[Any, bytes | None, tuple[str, ...]]:
    raw = base64.b64decode(row["raw_b64"])
    outcome = await ask_once(says(raw), total_s=5.0, first_byte_s=4.0)
    document = getattr(outcome, "document", None)
    if document is None:
        return outcome, None, ()
    return outcome, document.body.decoded(), document.oddities


@needs_vectors
async def test_the_bodies_of_good_answers_are_what_the_table_says() -> None:
    ran = 0
    for row in rows("ok"):
        if row["id"] in NOT_HTTP_1 | BROKEN_OFF | TOO_LENIENT:
            continue
        expected = FIRST_OF_SEVERAL.get(row["id"], base64.b64decode(row["body_b64"]))
        _, body, _ = await told(row)
        assert body == expected, row["id"]
        ran += 1
    assert ran == 45


@needs_vectors
async def test_whole_good_answers_are_not_called_broken() -> None:
    ran = 0
    for row in rows("ok"):
        if row["messages"] == 1 and row["message_complete"]:
            outcome, _, _ = await told(row)
            is_status = isinstance(outcome, Failed) and outcome.kind is FailureKind.HTTP_5XX
            assert not isinstance(outcome, Failed) or is_status, row["id"]
            ran += 1
    assert ran == 23


@needs_vectors
async def test_every_bad_answer_is_refused_or_marked() -> None:
    refused, marked = 0, 0
    for row in rows("error"):
        outcome, _, oddities = await told(row)
        is_refused = isinstance(outcome, Failed)
        assert is_refused or (isinstance(outcome, Fetched) and oddities), row["id"]
        refused += is_refused
        marked += not is_refused
    print(f"bad answers: {refused} refused, {marked} marked of {refused + marked}")  # noqa: T201 -- the counts are of interest
    assert refused + marked == 26


async def told_second(row: dict[str, Any]) -> list[FetchOutcome]:
    """Return how a page ends that is answered over a connection that brought one before.

    A kept connection that breaks costs the page no try: it is asked for again over a new one.
    """
    raw = base64.b64decode(row["raw_b64"])
    async with (
        serve(says(OK, raw)) as before,
        serve(says(raw)) as anew,
        fetching(total_s=5.0, first_byte_s=4.0) as fetcher,
    ):
        assert isinstance(await fetcher.fetch(before.url(), LOOPBACK), Fetched)
        outcomes = [await fetcher.fetch(before.url("/row"), LOOPBACK)]
        assert before.connections == 1, row["id"]
        if is_stale(outcomes[0]):
            outcomes.append(await fetcher.fetch(anew.url("/row"), LOOPBACK))
        return outcomes


@needs_vectors
async def test_good_answers_are_read_over_a_kept_connection_too() -> None:
    ran = 0
    for row in rows("ok"):
        if row["messages"] == 1 and row["message_complete"]:
            outcome = (await told_second(row))[-1]
            document = getattr(outcome, "document", None)
            assert document is not None, row["id"]
            assert document.body.decoded() == base64.b64decode(row["body_b64"]), row["id"]
            ran += 1
    print(f"good answers over a kept connection: {ran} right of {ran}")  # noqa: T201 -- the counts are of interest
    assert ran == 23


@needs_vectors
async def test_bad_answers_over_a_kept_connection_are_refused_or_marked() -> None:
    ran = 0
    for row in rows("error"):
        outcome = (await told_second(row))[-1]
        is_marked = isinstance(outcome, Fetched) and bool(outcome.document.oddities)
        is_excess = isinstance(outcome, Fetched) and row["id"] in SENT_AFTER_THE_ANSWER
        assert isinstance(outcome, Failed) or is_marked or is_excess, row["id"]
        ran += not is_excess
    print(f"bad answers over a kept connection: {ran} refused or marked of 26")  # noqa: T201 -- the counts are of interest
    assert ran >= 24


@needs_vectors
async def test_what_is_not_http_1_is_refused() -> None:
    for row in rows("ok"):
        if row["id"] in NOT_HTTP_1 | TOO_LENIENT:
            outcome, _, _ = await told(row)
            assert isinstance(outcome, Failed)
            assert outcome.kind is FailureKind.BAD_HTTP
