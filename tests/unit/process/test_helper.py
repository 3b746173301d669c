"""The helper process: what it reads comes back, and it starts without the engine."""

import os
import subprocess
import sys
from collections.abc import Callable

import msgspec
import pytest

from gossamer.config import ProcessConfig, UrlConfig
from gossamer.model import Document, Extraction
from gossamer.process import HELPER_COMMAND, HelperSetup, Tools, helper_request

pytestmark = pytest.mark.slow  # helper processes are started

MakeDocument = Callable[..., Document]


def told(message: bytes) -> bytes:
    return len(message).to_bytes(4, "big") + message


def test_a_request_comes_back_as_what_was_found(document: MakeDocument) -> None:
    tools = Tools(urls=UrlConfig(), process=ProcessConfig(), robots_agent="gossamer")
    request = helper_request(document(b"<title>A</title><p><a href=b>c</a>"), "text/html")
    sent = told(msgspec.msgpack.encode(HelperSetup(tools=tools))) + told(
        msgspec.msgpack.encode(request)
    )
    done = subprocess.run(HELPER_COMMAND, input=sent, capture_output=True, check=True)
    ready = told(msgspec.msgpack.encode(0))
    assert done.stdout.startswith(ready)
    answer = done.stdout[len(ready) :]
    assert int.from_bytes(answer[:4], "big") == len(answer) - 4
    found = msgspec.msgpack.decode(answer[4:], type=Extraction)
    assert (found.title, found.media_type, len(found.links)) == ("A", "text/html", 1)


@pytest.mark.parametrize("written", [0, 2, 20])
def test_a_helper_whose_parent_was_killed_before_it_wrote_all_ends_without_a_word(
    written: int,
) -> None:
    tools = Tools(urls=UrlConfig(), process=ProcessConfig(), robots_agent="gossamer")
    sent = told(msgspec.msgpack.encode(HelperSetup(tools=tools)))[:written]
    done = subprocess.run(HELPER_COMMAND, input=sent, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_a_helper_whose_parent_was_killed_before_it_read_an_answer_ends_without_a_word() -> None:
    tools = Tools(urls=UrlConfig(), process=ProcessConfig(), robots_agent="gossamer")
    read_end, write_end = os.pipe()
    os.close(read_end)
    helper = subprocess.Popen(
        HELPER_COMMAND, stdin=subprocess.PIPE, stdout=write_end, stderr=subprocess.PIPE
    )
    os.close(write_end)
    _, said = helper.communicate(told(msgspec.msgpack.encode(HelperSetup(tools=tools))))
    assert (helper.returncode, said) == (0, b"")


def test_the_helper_starts_without_the_engine() -> None:
    heavy = {"numpy", "pycurl", "rocksdict", "asyncio", "gossamer.crawl", "gossamer.store"}
    script = f"import sys, gossamer.process.helper; print({heavy} & set(sys.modules))"
    found = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert found.stdout.strip() == "set()"
