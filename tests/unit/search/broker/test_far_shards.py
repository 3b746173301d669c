import contextlib
import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec
import pytest
import uvicorn

from gossamer.errors import CannotGoOn, ConfigError
from gossamer.search.broker import open_reader
from gossamer.search.fields import TEXT_FIELDS, Weights
from gossamer.search.manifest import index_folder
from gossamer.search.messages import Counts, QueryFilters, ShardQuery
from gossamer.search.remote import (
    MOST_REQUEST_BYTES,
    BadMessage,
    RemoteShard,
    SilentShard,
    answer_shard,
)
from gossamer.search.shard import IndexShard, LocalShard
from gossamer.web import make_app
from tests.unit.search.made import bonuses, crawl_with_index, prepared, write_shard

PAGES = [
    prepared(f"http://a.test/{n}", title="red fox", main="red " * n + "hen", at=n, path=f"a x{n}")
    for n in range(1, 21)
]


def stored_page(text: str = "") -> dict[str, object]:
    empty = dict.fromkeys(("url", "title", "language", "media_type"), "")
    return {**empty, "key": 1, "text": text, "at": 1}


RED = ShardQuery(groups=(("red",), ("hen", "cock")), needed=2)


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crawl_with_index(tmp_path_factory.mktemp("crawl"), PAGES, shards=2)


@pytest.fixture(scope="module")
def address(crawl: Path) -> Iterator[str]:
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        make_app(crawl, is_shard=True), lifespan="off", ws="none", log_level="error"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join()


@pytest.fixture(params=["near", "far"])
def shard(request: pytest.FixtureRequest, crawl: Path) -> Iterator[IndexShard]:
    if request.param == "near":
        yield LocalShard(index_folder(crawl) / "00")
    else:
        far = RemoteShard(request.getfixturevalue("address") + "/shard/00")
        yield far
        far.close()


def keys_of(shard: IndexShard) -> list[int]:
    return [one.key for one in shard.top(RED).candidates]


def test_a_shard_finds_shows_and_explains(shard: IndexShard, crawl: Path) -> None:
    near = LocalShard(index_folder(crawl) / "00")
    assert keys_of(shard)
    assert shard.top(RED) == near.top(RED)
    keys = [*keys_of(shard), 5]
    assert shard.stored(keys) == near.stored(keys)
    assert shard.evidence(keys, RED) == near.evidence(keys, RED)
    near_by = shard.near(keys, bonuses(("red", "hen"), ("no", "such")))
    assert near_by == [1.0] * (len(keys) - 1) + [0.0]
    assert shard.counts(["red", "no"]) == near.counts(["red", "no"])
    assert shard.vocabulary("re", 3) == [("red", len(keys) - 1)]
    assert shard.facts() == near.facts()


def test_a_shard_holds_to_filters(shard: IndexShard) -> None:
    ask = ShardQuery(
        groups=(("red",),), needed=1, filters=QueryFilters(after=5, before=8, sites=("a.test",))
    )
    assert {one.at for one in shard.top(ask).candidates} <= {5, 6, 7}


def test_a_shard_takes_few_or_no_candidates(shard: IndexShard) -> None:
    assert shard.top(ShardQuery(groups=(("red",),), needed=1, top=0)).candidates == []
    assert shard.top(ShardQuery(groups=(("zebra",),), needed=1)).total == 0
    assert shard.stored([]) == []
    assert shard.evidence([], RED) == []
    assert shard.near([], []) == []


def test_a_commit_is_noticed(tmp_path: Path, crawl: Path, address: str) -> None:
    del tmp_path
    far, near = RemoteShard(address + "/shard/01"), LocalShard(index_folder(crawl) / "01")
    far.renew()
    assert not far.renew()
    write_shard(index_folder(crawl) / "01", [prepared("http://new.test/", title="blue")])
    assert far.renew()
    assert near.renew()
    assert far.facts() == near.facts()
    assert far.top(ShardQuery(groups=(("blue",),), needed=1)).total == 1
    far.close()


def test_servers_are_one_index_together(crawl: Path, address: str) -> None:
    far, near = open_reader(address), open_reader(crawl)
    assert far.find(RED, is_exact=True) == near.find(RED, is_exact=True)
    found = far.find(RED).candidates
    assert far.stored(found) == near.stored(found)
    assert not far.renew() or not far.renew()
    far.close()


def posted(address: str, path: str, body: bytes) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=30)
    connection.request("POST", path, body)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc1",
        b"\x90" * 5000,
        b"\xff" * 100,
        msgspec.msgpack.encode({"keys": ["x"], "groups": 1}),
        msgspec.msgpack.encode({"keys": [-1], "ask": {}, "terms": [1], "bonuses": 3, "top": "x"}),
        msgspec.msgpack.encode({"keys": [2**64 - 1] * 20_000}),
        b"x" * (MOST_REQUEST_BYTES + 1),
    ],
    ids=["none", "no msgpack", "deep", "negative", "text", "other", "many", "long"],
)
@pytest.mark.parametrize("name", ["counts", "top", "evidence", "near", "stored", "vocabulary"])
def test_bad_bytes_are_a_bad_request(address: str, name: str, body: bytes) -> None:
    status, content = posted(address, f"/shard/00/{name}", body)
    assert status == 400, content
    assert b"Traceback" not in content


def test_unknown_shards_and_questions_are_bad_requests(address: str) -> None:
    assert posted(address, "/shard/77/facts", b"\x80")[0] == 400
    assert posted(address, "/shard/..%2f..%2fetc/facts", b"\x80")[0] in (400, 404)
    assert posted(address, "/shard/00/pickle", b"\x80")[0] == 400
    assert posted(address, "/api/links", b"\x80")[0] == 405


def test_a_server_without_the_flag_offers_no_shards(crawl: Path) -> None:
    app = make_app(crawl)
    sent: list[dict[str, object]] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"\x80"}

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/shard/00/facts",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
    }
    coroutine = app(scope, receive, send)  # type: ignore[arg-type]  # enough of both
    with pytest.raises(StopIteration):
        coroutine.send(None)  # type: ignore[attr-defined]  # it waits for nothing
    assert sent[0]["status"] == 405


def test_too_much_to_ask_is_a_bad_message(crawl: Path) -> None:
    shard = LocalShard(index_folder(crawl) / "00")
    for ask in (ShardQuery(top=10**9), ShardQuery(top=-1), ShardQuery(groups=(("a",) * 3000,))):
        with pytest.raises(BadMessage):
            answer_shard(shard, "top", msgspec.msgpack.encode(ask))


class Answering:
    """A server that says what it is told to, one answer for each connection."""

    def __init__(self, *answers: bytes) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(30)  # a test that does not ask fails, it does not hang
        self._answers = answers
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/shard/00"
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        for answer in self._answers:
            connection, _ = self._listening.accept()
            with connection, connection.makefile("rb") as request:
                read_request(request)
                connection.sendall(answer)
        self._listening.close()


def read_request(request: BinaryIO) -> None:
    """Read a request to its end: closing a socket with bytes unread resets the connection."""
    length = 0
    while (line := request.readline()).strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    request.read(length)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\nno",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nno",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\x80",
    ],
)
def test_a_shard_that_answers_nonsense_is_silent(answer: bytes) -> None:
    server = Answering(answer)
    with pytest.raises(SilentShard):
        RemoteShard(server.url, timeout_s=10).facts()
    server.join()


def test_a_server_that_offers_no_shards_says_how_it_would() -> None:
    server = Answering(b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n")
    with pytest.raises(SilentShard, match="serve DIR --shard"):
        RemoteShard(server.url, timeout_s=10).offer()
    server.join()


def test_a_shard_that_never_answers_is_given_up() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    far = RemoteShard(f"http://127.0.0.1:{listening.getsockname()[1]}/shard/00", timeout_s=0.05)
    with pytest.raises(SilentShard, match="does not answer"):
        far.facts()
    listening.close()
    with pytest.raises(SilentShard, match="does not answer"):
        far.facts()


class Dripping:
    """A server that says one byte after the other for ever, each in good time."""

    def __init__(self, start: bytes) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._start = start
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/shard/00"
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def join(self) -> None:
        self._thread.join()
        self._listening.close()

    def _run(self) -> None:
        connection, _ = self._listening.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(self._start)
            while True:
                connection.sendall(b"1")
                threading.Event().wait(0.01)


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nX: ",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n",
    ],
)
def test_an_answer_that_drips_in_for_ever_is_given_up(start: bytes) -> None:
    server = Dripping(start)
    with pytest.raises(SilentShard, match="does not answer"):
        RemoteShard(server.url, timeout_s=0.3).facts()
    server.join()


def told(answer: object) -> bytes:
    """Return an answer as a server sends it, which closes then."""
    return b"HTTP/1.1 200 OK\r\n\r\n" + msgspec.msgpack.encode(answer)


KEY = 1 << 63
NAN = float("nan")
LIES: dict[str, list[object]] = {
    "facts": [
        {"pages": -1, "generation": 1, "languages": {}},
        {"pages": 1 << 63, "generation": 1, "languages": {}},
        {"pages": 1, "generation": 1, "languages": {"en": -5}},
    ],
    "counts": [
        {"pages": -1, "tokens": [0] * len(TEXT_FIELDS), "having": {}},
        {"pages": 0, "tokens": [1] * len(TEXT_FIELDS), "having": {}},
        {"pages": 1, "tokens": [0] * 5, "having": {}},
        {"pages": 1, "tokens": [0] * len(TEXT_FIELDS), "having": {"red": [1]}},
        {"pages": 1, "tokens": [0] * len(TEXT_FIELDS), "having": {"red": [-1] * len(TEXT_FIELDS)}},
    ],
    "top": [
        {"total": 5, "candidates": []},
        {"total": -1, "candidates": []},
        {"total": 0, "candidates": [[1.0, KEY, 1, 1, 1]]},
        {"total": 2, "candidates": [[NAN, KEY, 1, 1, 1]]},
        {"total": 2, "candidates": [[1.0, -1, 1, 1, 1]]},
        {"total": 2, "candidates": [[1.0, KEY, 1, 1, KEY]]},
        {"total": 9, "candidates": [[1.0, n, 1, 1, 1] for n in range(4)]},
    ],
    "evidence": [
        [[[2, 0, 1.0, 1.0]]],
        [[[0, len(TEXT_FIELDS), 1.0, 1.0]]],
        [[[0, -1, 1.0, 1.0]]],
        [[[0, 0, NAN, 1.0]]],
        [[], []],
    ],
    "near": [[NAN], [-1.0], [], [1.0, 1.0]],
    "stored": [[stored_page(text="x" * 200_000)], [stored_page(), stored_page()]],
    "vocabulary": [[["red", 1], ["read", 1]], [["red", -1]], [["", 1]]],
}
QUESTIONS: dict[str, Callable[[RemoteShard], object]] = {
    "facts": lambda shard: shard.facts(),
    "counts": lambda shard: shard.counts(["red"]),
    "top": lambda shard: shard.top(ShardQuery(groups=(("red",),), needed=1, top=3)),
    "evidence": lambda shard: shard.evidence([1], RED),
    "near": lambda shard: shard.near([1], bonuses(("red", "fox"))),
    "stored": lambda shard: shard.stored([1]),
    "vocabulary": lambda shard: shard.vocabulary("re", 1),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_shard_that_says_what_cannot_be_is_silent(name: str) -> None:
    server = Answering(*map(told, LIES[name]))
    for _ in LIES[name]:
        with pytest.raises(SilentShard):
            QUESTIONS[name](RemoteShard(server.url, timeout_s=10))
    server.join()


@pytest.mark.parametrize(
    "options",
    [
        ShardQuery(groups=RED.groups, needed=-1),
        ShardQuery(groups=RED.groups, weights=Weights(main=NAN)),
        ShardQuery(groups=RED.groups, weights=Weights(main=-1.0)),
        ShardQuery(
            groups=RED.groups, counts=Counts(pages=0, tokens=(1,) * len(TEXT_FIELDS), having={})
        ),
        ShardQuery(groups=RED.groups, counts=Counts(pages=9, tokens=(1,), having={})),
        ShardQuery(
            groups=RED.groups,
            counts=Counts(
                pages=9, tokens=(1,) * len(TEXT_FIELDS), having={"red": (-1,) * len(TEXT_FIELDS)}
            ),
        ),
    ],
)
def test_a_question_with_numbers_that_cannot_be_is_a_bad_request(
    address: str, options: ShardQuery
) -> None:
    with pytest.raises(SilentShard, match="said 400"):
        RemoteShard(address + "/shard/00").top(options)


def test_pages_that_are_gone_have_no_evidence(shard: IndexShard) -> None:
    assert shard.evidence([1, 2, 3], RED) == [[], [], []]


def test_a_connection_that_was_closed_meanwhile_is_made_anew() -> None:
    body = msgspec.msgpack.encode({"pages": 1, "generation": 2, "languages": {}})
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    server = Answering(answer, answer)
    far = RemoteShard(server.url, timeout_s=10)
    assert far.facts().pages == 1
    assert far.facts().pages == 1
    server.join()
    far.close()


def test_only_web_addresses_are_far_shards() -> None:
    with pytest.raises(ConfigError, match="http://HOST:PORT"):
        RemoteShard("ftp://a.test/")
    with pytest.raises(ConfigError, match="Port"):
        RemoteShard("http://a.test:b/")


def test_what_another_machine_says_stays_on_one_line_and_steers_no_terminal() -> None:
    body = b"\x1b[31m\r\ngossamer: all is well \x9b\xe2\x80\xae" + b"x" * 10_000
    head = b"HTTP/1.1 503 No\r\nContent-Length: %d\r\n\r\n" % len(body)
    server = Answering(head + body)
    with pytest.raises(SilentShard) as raised:
        RemoteShard(server.url, timeout_s=10).facts()
    server.join()
    said = raised.value.reason
    assert said.isprintable()
    assert said.startswith("does not answer: it said 503 to facts:")
    assert len(said) <= 300


@pytest.mark.parametrize(
    "offer",
    [
        {"high": ["../../etc"]},
        {"high": ["00/../.."]},
        {"high": ["00"] * 1001},
        {"high": "00"},
        {"high": ["00"], "low": [7]},
        {"high": ["00"], "born": "x"},
        [],
        None,
    ],
)
def test_an_offer_that_cannot_be_makes_a_machine_missing(offer: object) -> None:
    server = Answering(told(offer))
    with pytest.raises(CannotGoOn, match="not what was expected"):
        open_reader(server.url.removesuffix("/shard/00"))
    server.join()
