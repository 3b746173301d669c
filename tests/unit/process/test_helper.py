"""The helper process: what it reads comes back, and it starts without the engine."""

import subprocess
import sys
from collections.abc import Callable

import msgspec

from gossamer.config import ProcessConfig, UrlConfig
from gossamer.model import Document, Extraction
from gossamer.process import HELPER_COMMAND, Tools, helper_request

MakeDocument = Callable[..., Document]


def told(message: bytes) -> bytes:
    return len(message).to_bytes(4, "big") + message


def test_a_request_comes_back_as_what_was_found(document: MakeDocument) -> None:
    tools = Tools(urls=UrlConfig(), process=ProcessConfig(), robots_agent="gossamer")
    request = helper_request(document(b"<title>A</title><p><a href=b>c</a>"), "text/html")
    sent = told(msgspec.msgpack.encode(tools)) + told(msgspec.msgpack.encode(request))
    done = subprocess.run(HELPER_COMMAND, input=sent, capture_output=True, check=True)
    ready = told(b"ready")
    assert done.stdout.startswith(ready)
    answer = done.stdout[len(ready) :]
    assert int.from_bytes(answer[:4], "big") == len(answer) - 4
    found = msgspec.msgpack.decode(answer[4:], type=Extraction)
    assert (found.title, found.media_type, len(found.links)) == ("A", "text/html", 1)


def test_the_helper_starts_without_the_engine() -> None:
    heavy = {"numpy", "pycurl", "rocksdict", "asyncio", "gossamer.crawl", "gossamer.store"}
    script = f"import sys, gossamer.process.helper; print({heavy} & set(sys.modules))"
    found = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert found.stdout.strip() == "set()"
