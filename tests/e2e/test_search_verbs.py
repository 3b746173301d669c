"""From a crawl, or files of others, to an answer: as a user has it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.cli.main import exit_code
from gossamer.testing import FakeWeb, ServerProcess, serve_in_process
from tests.e2e.test_command_line import crawl_words, said
from tests.unit.web.served import serving

QUICK = ("--delay", "0", "--shards", "1")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    log = tmp_path_factory.mktemp("web") / "visits.log"
    with serve_in_process(FakeWeb(seed=7, hosts=2, pages_per_host=12), log) as running:
        yield running


def test_a_crawl_is_searched_without_being_told_to_build(
    server: ServerProcess, tmp_path: Path
) -> None:
    folder = tmp_path / "crawl"
    said(*crawl_words(server, folder, *QUICK, "--max-pages", "8"))
    ended = said("search", folder, "printing", "--json")
    assert "is built first" in ended.stderr
    first = json.loads(ended.stdout)
    assert first["total"] > 0
    assert all("printing" in hit["snippet"].lower() for hit in first["hits"])
    said(*crawl_words(server, folder, *QUICK, "--max-pages", "20"))
    behind = json.loads(said("search", folder, "printing", "--no-build", "--json").stdout)
    assert behind["total"] == first["total"]
    ended = said("search", folder, "printing", "--json")
    assert "is built first" not in ended.stderr
    assert json.loads(ended.stdout)["total"] > first["total"]


def test_images_of_a_crawl_are_found_shown_and_compared(
    server: ServerProcess, tmp_path: Path
) -> None:
    folder, photo = tmp_path / "crawl", tmp_path / "photo.png"
    said(*crawl_words(server, folder, *QUICK, "--embeds", "--max-pages", "40"))
    hits = json.loads(said("search", folder, "type:image", "--json").stdout)["hits"]
    images = [hit for hit in hits if hit["image"]["is_stored"] and hit["type"] == "image/png"]
    assert images
    assert all(hit["image"]["width"] and hit["image"]["bytes"] for hit in images)
    with serving(folder, "--no-build") as running:
        answer = running.ask("/thumbnail", url=images[0]["url"])
        assert (answer.status, answer.headers["content-type"]) == (200, "image/png")
        assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        assert len(answer.body) == images[0]["image"]["bytes"]
        photo.write_bytes(answer.body)
    if images[0]["image"]["hash"]:
        like = json.loads(said("search", folder, "--like", photo, "--json").stdout)["hits"]
        assert like[0]["is_near_copy"]


def test_files_of_others_are_indexed_searched_and_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, folder = tmp_path / "pages.jsonl", tmp_path / "others"
    pages = [
        {"url": f"http://example.org/{n}", "title": f"Moth {n}", "text": f"A moth, number {n}."}
        for n in range(5)
    ]
    file.write_text("".join(f"{json.dumps(page)}\n" for page in pages))
    assert exit_code(["index", str(file), "--into", str(folder), "--json"]) == 0
    capsys.readouterr()
    assert exit_code(["search", str(folder), "moth", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"] == 5
    with serving(folder, "--shard") as running:
        assert running.ask("/api/search", q="moth").json["total"] == 5
        assert running.get("/").status == 200
        assert exit_code(["search", running.address, "moth", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["total"] == 5
