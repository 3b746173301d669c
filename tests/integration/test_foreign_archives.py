"""WARC files of other crawlers, put into `archive/`: `build state` reads them, a crawl goes on."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import pytest

from gossamer.testing import FakeServer, ScriptedWeb, serve_in_thread
from tests.e2e.archive import read_archive
from tests.e2e.crawler import Crawler, flags_for, only_json

START = '<title>Start</title><a href="/stored">s</a><a href="/moved">m</a><a href="/new">n</a>'
STORED = '<title>Stored</title><a href="/newer">n</a><a href="/gone">g</a>'


@pytest.fixture
def web() -> Iterator[FakeServer[ScriptedWeb]]:
    with serve_in_thread(ScriptedWeb()) as server:
        host = server.web.host("a.test").on("/", START).on("/stored", STORED)
        host.page("/new").page("/newer").page("/target").redirect("/moved", to="/target")
        yield server


def record(kind: str, url: str, block: bytes, *more: str) -> bytes:
    """Return a WARC record as other crawlers write it."""
    lines = [
        *("WARC/1.0", f"WARC-Type: {kind}", f"WARC-Target-URI: <{url}>"),
        *(f"WARC-Record-ID: <urn:uuid:{uuid5(NAMESPACE_URL, kind + url)}>", *more),
        *("WARC-Date: 2026-01-02T03:04:05Z", f"Content-Length: {len(block)}"),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


def answer(status: str, body: bytes, *more: str) -> bytes:
    head = [f"HTTP/1.1 {status}", "Content-Type: text/html; charset=utf-8", *more]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def foreign(path: Path, host: str) -> Path:
    """Write what another crawler stored: two pages, a redirect, errors, its robots.txt."""
    packed = gzip.compress(STORED.encode())
    answers = {
        "/robots.txt": answer("404 Not Found", b""),
        "/": answer("200 OK", START.encode()),
        "/stored": answer("200 OK", packed, "Content-Encoding: gzip"),
        "/moved": answer("302 Found", b"", "Location: /target"),
        "/gone": answer("404 Not Found", b"no"),
        "/unlinked": answer("503 Busy", b"later"),
    }
    records = [record("warcinfo", "", b"software: other\r\n")]
    for target, block in answers.items():
        records.append(record("request", host + target, b"GET / HTTP/1.1\r\n\r\n"))
        records.append(record("response", host + target, block))
    is_packed = path.suffix == ".gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(gzip.compress(one) if is_packed else one for one in records))
    return path


def crawler(web: FakeServer[ScriptedWeb], folder: Path) -> Crawler:
    words = flags_for(web.resolve, "--delay", "0", "--shards", "1", "--no-sitemaps")
    return Crawler(folder / "crawl", (), words)


def origin(web: FakeServer[ScriptedWeb]) -> str:
    return web.web.host("a.test").url("/").rstrip("/")


@pytest.mark.parametrize("name", ["other.warc.gz", "rec-20260101-0.warc"])
def test_a_crawl_goes_on_from_the_archive_of_another_crawler(
    web: FakeServer[ScriptedWeb], tmp_path: Path, name: str
) -> None:
    crawl, host = crawler(web, tmp_path), origin(web)
    path = foreign(crawl.folder / "archive" / name, host)
    before = path.read_bytes()
    told = only_json(crawl.say("build", "state", "--json").expect(0))
    assert (told["imported"], told["pages"]) == (2, 2)
    crawl.run().expect(0)
    asked = {visit.target for visit in web.requests_to("a.test")}
    assert asked == {"/new", "/newer", "/target"}
    assert path.read_bytes() == before
    path.unlink()  # it is not needed any more
    pages = read_archive(crawl.folder).page_urls
    assert {url.removeprefix(host) for url in pages} >= {
        "/",
        "/stored",
        "/new",
        "/newer",
        "/target",
    }
    why = crawl.why(f"{host}/stored")
    assert (why["state"], why["kind"]) == ("archived", "a")
    assert crawl.why(f"{host}/")["kind"] == "seed"
    assert crawl.why(f"{host}/gone")["reason"] == "not_found"
    assert crawl.why(f"{host}/newer")["via"] == f"{host}/stored"
    assert b"Stored" in crawl.say("show", f"{host}/stored").expect(0).out.encode()
    crawl.say("check").expect(0)


def test_a_file_is_read_once(web: FakeServer[ScriptedWeb], tmp_path: Path) -> None:
    crawl, host = crawler(web, tmp_path), origin(web)
    foreign(crawl.folder / "archive" / "other.warc.gz", host)
    crawl.say("build", "state").expect(0)
    files = sorted(path.name for path in (crawl.folder / "archive").iterdir())
    told = only_json(crawl.say("build", "state", "--json").expect(0))
    assert (told["imported"], told["pages"]) == (0, 2)
    assert sorted(path.name for path in (crawl.folder / "archive").iterdir()) == files
    foreign(crawl.folder / "archive" / "second.warc.gz", f"{host}/again")
    assert only_json(crawl.say("build", "state", "--json").expect(0))["imported"] == 2


def test_an_import_that_was_killed_is_finished_or_begun_anew(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    crawl, host = crawler(web, tmp_path), origin(web)
    archive = crawl.folder / "archive"
    foreign(archive / "other.warc.gz", host)
    (archive / "import.new").mkdir()
    (archive / "import.new" / "pages-00-0001-00000.warc.gz").write_bytes(b"begun")
    assert only_json(crawl.say("build", "state", "--json").expect(0))["pages"] == 2
    ours = sorted(path.name for path in archive.glob("*-00-*.gz"))
    (archive / "import.new").mkdir()
    for name in ours[1:]:  # killed after the first was moved
        (archive / name).rename(archive / "import.new" / name)
    (archive / "imported.json").rename(archive / "import.new" / "imported.json")
    assert only_json(crawl.say("build", "state", "--json").expect(0))["pages"] == 2
    assert not (archive / "import.new").exists()
    assert set(json.loads((archive / "imported.json").read_bytes())["files"]) == {"other.warc.gz"}


def test_files_without_a_header_are_pages_and_repetitions_name_an_address(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    crawl, host = crawler(web, tmp_path), origin(web)
    page, repeats = STORED.encode(), answer("200 OK", b"")
    profile = "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/identical-payload-digest"
    first = f"WARC-Refers-To-Target-URI: <{host}/first>"
    digest = f"WARC-Payload-Digest: sha1:{'A' * 32}"
    records = [
        record("resource", f"{host}/file.html", page, "Content-Type: text/html"),
        record("resource", "urn:pageinfo:1", b"{}", "Content-Type: application/json"),
        record("conversion", f"{host}/file.html", b"words", "Content-Type: text/plain"),
        record("response", f"{host}/first", answer("200 OK", START.encode())),
        record("revisit", f"{host}/again", repeats, profile, first, digest),
    ]
    path = crawl.folder / "archive" / "other.warc"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(records))
    told = only_json(crawl.say("build", "state", "--json").expect(0))
    assert (told["imported"], told["pages"]) == (3, 3)
    assert crawl.say("show", f"{host}/file.html").expect(0).out.encode() == page
    assert b"Start" in crawl.say("show", f"{host}/again").expect(0).out.encode()
    assert crawl.why(f"{host}/newer")["via"] == f"{host}/file.html"
    crawl.say("check").expect(0)


def test_what_is_damaged_or_refers_to_nothing_is_passed_over(
    web: FakeServer[ScriptedWeb], tmp_path: Path
) -> None:
    crawl, host = crawler(web, tmp_path), origin(web)
    path = foreign(crawl.folder / "archive" / "other.warc.gz", host)
    digest = f"WARC-Payload-Digest: sha1:{'A' * 32}"
    lost = gzip.compress(record("revisit", f"{host}/x", answer("200 OK", b""), digest))
    path.write_bytes(path.read_bytes() + b"\x1f\x8bdamaged" + lost)
    ended = crawl.say("build", "state", "--json").expect(0)
    assert only_json(ended)["imported"] == 2
