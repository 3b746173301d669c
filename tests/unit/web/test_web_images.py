"""Images among the results, and what is like something, as a browser or a program has it."""

import http.client
import json
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from gossamer import open_search
from gossamer.config import Config
from gossamer.search import build_index
from gossamer.settings import save_config
from tests.unit.search.build.test_index_images import stored
from tests.unit.search.pages_archive import PagesArchive, page
from tests.unit.web.indexed import HARM
from tests.unit.web.served import Served, serving

pytestmark = pytest.mark.slow  # each test builds and serves an index

A, B = "http://a.test/", "http://b.test/"
FOX, OWL = "http://i.test/fox.png", "http://i.test/owl.svg"
TEXT = "A fox crossed the frozen river at dusk while owls called from the old barn " * 8


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = tmp_path_factory.mktemp("images") / "crawl"
    archive = PagesArchive(root)
    captions = {FOX: f"caption {HARM}"}
    archive.write(
        [
            page(A, TEXT, images=[(FOX, f"fox {HARM}")], title=f"{HARM}", language="en"),
            page(B, TEXT.replace("barn", "mill"), language="en", notes={"captions": captions}),
            page("http://c.test/", "bread and butter", images=[(OWL, "an owl"), (FOX, "fox")]),
            stored(FOX, width=640, height=480, bytes=2048, dct_hash="0f0f0f0f0f0f0f0f"),
            stored("http://i.test/same.png", dct_hash="0f0f0f0f0f0f0f0e"),
        ]
    )
    save_config(root / "crawl.toml", Config(seeds=(A,)))
    build_index(root)
    with serving(root, "--no-build", "--shard") as running:
        yield running


def test_a_broker_on_another_machine_finds_images_and_what_is_alike(server: Served) -> None:
    with open_search(server.address) as index:
        assert [hit.url for hit in index.search("owl type:image").hits] == [OWL]
        assert [hit.url for hit in index.search_like(FOX).hits] == ["http://i.test/same.png"]
        assert {hit.url for hit in index.search_like(TEXT).hits[:2]} == {A, B}
        assert index.search_like(A).hits[0].url == B


def test_images_are_tiles_that_load_nothing_from_the_web(server: Served) -> None:
    body = server.ask("/search", q="fox type:image").text
    assert '<ol class="images">' in body
    assert '<img src="/thumbnail?url=http%3A%2F%2Fi.test%2Ffox.png"' in body
    assert body.count("<img ") == 1
    assert "640 × 480" in body
    assert "2 KiB" in body
    assert "onerror=alert(2)>" not in body
    assert "<script" not in body
    assert "1 image " in body


def test_an_image_that_is_not_stored_is_a_name(server: Served) -> None:
    body = server.ask("/search", q="owl type:image").text
    assert "<img " not in body
    assert '<span class="unstored">owl.svg</span>' in body
    assert "not stored" in body


def test_the_answer_tells_of_images(server: Served) -> None:
    (hit,) = server.ask("/api/search", q="owl type:svg").json["hits"]
    assert hit["image"]["page"] == "http://c.test/"
    assert hit["image"]["is_stored"] is False
    assert hit["image"]["width"] is None


@pytest.mark.parametrize("url", [OWL, "http://c.test/", "javascript:alert(1)", "x"])
def test_there_is_no_thumbnail_of_what_is_not_a_stored_image(url: str, server: Served) -> None:
    answer = server.ask("/thumbnail", url=url)
    assert answer.status in {400, 404, 503}
    assert "<script" not in answer.text


def test_what_is_like_a_url_of_the_index_is_asked_with_it(server: Served) -> None:
    found = server.ask("/api/search", like=A).json
    assert [hit["url"] for hit in found["hits"]][:1] == [B]
    images = server.ask("/api/search", like=FOX).json
    assert [hit["url"] for hit in images["hits"]] == ["http://i.test/same.png"]
    assert images["like"] == {"of": "image", "terms": []}
    assert server.ask("/search", like=FOX).status == 200
    assert "near-copy" in server.ask("/search", like=FOX).text
    assert server.ask("/api/search", like="http://none.test/").status == 400
    assert server.ask("/api/search", like="words").status == 400


def post(server: Served, path: str, body: bytes) -> tuple[int, bytes]:
    place = urlsplit(server.address)
    line = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
    try:
        line.request("POST", path, body)
        answer = line.getresponse()
        return answer.status, answer.read()
    finally:
        line.close()


def test_a_text_is_posted_and_read_as_text_alone(server: Served) -> None:
    status, body = post(server, "/api/search", TEXT.encode())
    assert status == 200
    assert {hit["url"] for hit in json.loads(body)["hits"][:2]} == {A, B}
    status, body = post(server, "/api/search?q=site:b.test", TEXT.encode())
    assert [hit["url"] for hit in json.loads(body)["hits"]] == [B]
    for odd in (
        b"\x89PNG\r\n\x1a\n" + b"\0" * 99,
        b"%PDF-1.7\n%%EOF",
        b"<html>" * 999,
        b"\xff\xfe",
    ):
        assert post(server, "/api/search", odd)[0] == 200
    assert post(server, "/api/search", b" ")[0] == 400
    assert post(server, "/api/search", b"x" * 70_000)[0] in {400, 413}
    assert post(server, "/search", b"x")[0] == 405
    assert post(server, "/api/search/more", b"x")[0] == 405
