"""The control socket: whatever is asked gets one line of JSON back, and costs the crawl nothing."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from gossamer.errors import CannotGoOn
from gossamer.report import ControlSocket
from gossamer.report.control import ask_running

Answers = dict[str, object]


async def answering(question: Mapping[str, object]) -> Answers:
    match question.get("ask"):
        case "echo":
            return {"said": question["word"]}
        case "refuse":
            raise CannotGoOn("the disk is full")
        case _:
            raise ValueError("our bug")


async def said(path: Path, line: bytes) -> Answers:
    control = ControlSocket(path, answering)
    await control.open()
    try:
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(line)
        writer.write_eof()
        answer: Answers = json.loads(await reader.readline())
        writer.close()
        await writer.wait_closed()
        return answer
    finally:
        control.close()


async def test_a_question_is_answered(tmp_path: Path) -> None:
    assert await said(tmp_path / "s", b'{"ask": "echo", "word": "hi"}\n') == {"said": "hi"}


NONSENSE = [b"", b"\n", b"nonsense\n", b"[1]\n", b"\xff\xfe\n", b"3\n", b"[" * 200_000 + b"\n"]


@pytest.mark.parametrize("line", NONSENSE, ids=lambda line: repr(line[:10]))
async def test_what_is_no_question_is_told_so(tmp_path: Path, line: bytes) -> None:
    assert "not a question" in str((await said(tmp_path / "s", line))["error"])


async def test_an_error_says_what_is_wrong(tmp_path: Path) -> None:
    assert await said(tmp_path / "s", b'{"ask": "refuse"}\n') == {"error": "the disk is full"}


@pytest.mark.parametrize("line", [b'{"ask": "bug"}\n', b'{"ask": "echo"}\n'])
async def test_a_bug_costs_the_answer_and_is_not_hidden(tmp_path: Path, line: bytes) -> None:
    assert "internal error" in str((await said(tmp_path / "s", line))["error"])


def test_where_nobody_listens_there_is_no_answer(tmp_path: Path) -> None:
    assert ask_running(tmp_path / "s", {"ask": "status"}) is None
    (tmp_path / "s").touch()
    assert ask_running(tmp_path / "s", {"ask": "status"}) is None


async def test_who_goes_before_the_answer_does_no_harm(tmp_path: Path) -> None:
    failures: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    control = ControlSocket(tmp_path / "s", answering)
    await control.open()
    for line in (b"", b"half a line", b'{"ask": "refuse"}\n'):
        _, writer = await asyncio.open_unix_connection(tmp_path / "s")
        writer.write(line)
        writer.transport.abort()
        await asyncio.sleep(0.01)
    control.close()
    assert failures == []


async def test_a_control_socket_on_a_disk_that_is_gone_is_closed_all_the_same(
    tmp_path: Path,
) -> None:
    place = tmp_path / "crawl"
    place.mkdir()
    control = ControlSocket(place / "control.sock", answering)
    await control.open()
    place.rename(tmp_path / "away")
    place.write_bytes(b"no folder any more: to remove a file in it is an error")
    control.close()


LONG = "word " * 400_000


def at_once(question: Mapping[str, object]) -> Answers | None:
    match question.get("ask"):
        case "long":
            return {"said": LONG}
        case "broken":
            raise ValueError("our bug")
        case _:
            return None


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("long", {"said": LONG}),
        ("broken", {"error": "internal error: ValueError('our bug')"}),
        ("echo", {"said": "hi"}),
    ],
)
async def test_what_can_be_answered_at_once_is_and_all_else_as_well(
    tmp_path: Path, asked: str, said: Answers
) -> None:
    control = ControlSocket(tmp_path / "s", answering, at_once)
    await control.open()
    try:
        question = {"ask": asked, "word": "hi"}
        found = await asyncio.gather(
            *(asyncio.to_thread(ask_running, tmp_path / "s", question) for _ in range(4))
        )
        assert found == [said] * 4
    finally:
        control.close()


async def test_a_question_that_comes_in_pieces_is_answered(tmp_path: Path) -> None:
    control = ControlSocket(tmp_path / "s", answering, at_once)
    await control.open()
    try:
        reader, writer = await asyncio.open_unix_connection(tmp_path / "s")
        for piece in (b'{"ask": "ec', b'ho", "word"', b': "hi"}\n'):
            writer.write(piece)
            await asyncio.sleep(0.02)
        assert json.loads(await reader.readline()) == {"said": "hi"}
        writer.close()
    finally:
        control.close()
