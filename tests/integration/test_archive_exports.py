"""Archives that others replay: WACZ and WARC, whole or of some pages, read by other readers."""

import gzip
import io
import json
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from gossamer.model import BuildStep
from gossamer.store import CrawlFolder, counted_lengths
from gossamer.tables import table_stream
from gossamer.tables.wacz import BLOCK_LINES, PageList, SortedLines, write_wacz
from gossamer.tables.warcs import PageSet, WarcCopy
from gossamer.testing import FakeServer, ScriptedWeb, serve_in_thread
from tests.e2e.crawler import Crawler, flags_for


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawler]:
    with serve_in_thread(ScriptedWeb()) as server:
        yield crawled(server, tmp_path_factory.mktemp("archives"))


def crawled(server: FakeServer[ScriptedWeb], folder: Path) -> Crawler:
    site, cdn = server.web.host("site.test"), server.web.host("cdn.test")
    links = "".join(
        f'<a href="{path}">{path}</a>' for path in ("/first", "/z/copy", "/moved", "/no")
    )
    picture = f'<title>Start</title><img src="{cdn.url("/p.png")}">{links}'
    site.on("/", picture).redirect("/moved", to="/first")
    same = "<title>Same</title><p>one content of two pages</p>"
    site.on("/first", same).on("/z/copy", same)
    cdn.file("/p.png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8, "image/png")
    words = flags_for(server.resolve, "--delay", "0", "--requisites", "--shards", "1")
    crawler = Crawler(folder / "crawl", (site.url(),), words)
    crawler.run().expect(0)
    return crawler


def quiet(_step: BuildStep) -> None:
    """Say nothing."""


def copy_of(crawl: Crawler, kept: PageSet | None = None) -> WarcCopy:
    folder = CrawlFolder(crawl.folder)
    return WarcCopy(folder, counted_lengths(folder, "pages"), kept)


def some_pages(crawl: Crawler, *paths: str) -> PageSet:
    kept = PageSet()
    for _, batch in table_stream(CrawlFolder(crawl.folder), ["pages"]):
        kept.add(batch.kept([url.endswith(paths) for url in batch.columns["url"]]))
    return kept


def wacz_of(crawl: Crawler, path: Path, kept: PageSet | None = None) -> zipfile.ZipFile:
    pages = PageList(path.with_suffix(".jsonl"), has_text=False)
    for _, batch in table_stream(CrawlFolder(crawl.folder), ["pages"]):
        pages.add(batch)
    write_wacz(path, copy_of(crawl, kept), pages, software="gossamer", at=1.8e9, tell=quiet)
    return zipfile.ZipFile(path)


def records_in(data: bytes) -> list[tuple[str, str, bytes]]:
    with io.BytesIO(data) as file:
        found = ArchiveIterator(file, check_digests="raise")
        return [
            (one.rec_type, one.rec_headers["WARC-Target-URI"] or "", one.content_stream().read())
            for one in found
        ]


def bytes_of(copy: WarcCopy) -> bytes:
    return b"".join(part for one in copy.records(quiet) for part in (one.member, *one.more))


def index_lines(wacz: zipfile.ZipFile) -> list[tuple[str, dict[str, Any]]]:
    lines = gzip.decompress(wacz.read("indexes/index.cdx.gz")).decode().splitlines()
    assert lines == sorted(lines)
    return [(line.partition(" {")[0], json.loads(line[line.index("{") :])) for line in lines]


def test_every_file_of_a_wacz_has_its_hash_and_warcs_are_stored(
    crawl: Crawler, tmp_path: Path
) -> None:
    wacz = wacz_of(crawl, tmp_path / "a.wacz")
    package = json.loads(wacz.read("datapackage.json"))
    digest = json.loads(wacz.read("datapackage-digest.json"))
    assert digest["hash"] == f"sha256:{sha256(wacz.read('datapackage.json')).hexdigest()}"
    listed = {one["path"]: one for one in package["resources"]}
    assert set(wacz.namelist()) == {*listed, "datapackage.json", "datapackage-digest.json"}
    for path, one in listed.items():
        data = wacz.read(path)
        assert one["hash"] == f"sha256:{sha256(data).hexdigest()}"
        assert one["bytes"] == len(data)
        if path.startswith("archive/"):
            assert wacz.getinfo(path).compress_type == zipfile.ZIP_STORED
    assert (package["profile"], package["wacz_version"]) == ("data-package", "1.1.1")
    assert package["mainPageUrl"] == crawl.seeds[0]


def test_index_lines_of_a_wacz_point_to_their_records(crawl: Crawler, tmp_path: Path) -> None:
    wacz = wacz_of(crawl, tmp_path / "a.wacz")
    lines = index_lines(wacz)
    paths = {"/".join(facts["url"].split("/")[3:]) for _, facts in lines}
    assert paths == {"", "first", "moved", "z/copy", "no", "p.png"}
    for key, facts in lines:
        data, start = wacz.read(f"archive/{facts['filename']}"), int(facts["offset"])
        [(kind, url, _)] = records_in(data[start : start + int(facts["length"])])
        assert url == facts["url"]
        assert (kind == "revisit") == (facts["mime"] == "warc/revisit")
        assert key.split()[1].isdigit()


def test_the_pages_of_a_wacz_are_its_documents_with_titles(crawl: Crawler, tmp_path: Path) -> None:
    wacz = wacz_of(crawl, tmp_path / "a.wacz")
    head, *pages = map(json.loads, wacz.read("pages/pages.jsonl").splitlines())
    assert (head["format"], head["id"], head["hasText"]) == ("json-pages-1.0", "pages", False)
    assert [page["title"] for page in pages if page["url"] == crawl.seeds[0]] == ["Start"]
    assert not [page for page in pages if page["url"].endswith((".png", "/no", "/moved"))]
    assert len({page["id"] for page in pages}) == len(pages) == 3


def test_all_records_of_an_archive_are_copied_as_they_are(crawl: Crawler) -> None:
    whole = b"".join(path.read_bytes() for path in sorted(crawl.folder.glob("archive/pages-*.gz")))
    assert bytes_of(copy_of(crawl)) == whole


def test_a_page_brings_its_request_and_a_copy_the_content_that_is_left_out(crawl: Crawler) -> None:
    everything = records_in(bytes_of(copy_of(crawl)))
    [copied] = [url for kind, url, _ in everything if kind == "revisit"]
    [content] = [
        data for kind, url, data in everything if kind == "response" and b"one content" in data
    ]
    found = records_in(bytes_of(copy_of(crawl, some_pages(crawl, copied))))
    assert [(kind, url) for kind, url, _ in found[1:]] == [
        ("request", copied),
        ("response", copied),
    ]
    assert found[0][0] == "warcinfo"
    assert found[2][2] == content


def test_a_copy_stays_one_beside_its_original(crawl: Crawler) -> None:
    found = records_in(bytes_of(copy_of(crawl, some_pages(crawl, "/first", "/copy"))))
    assert sorted(kind for kind, _, _ in found) == [
        *("request", "request", "response", "revisit", "warcinfo"),
    ]


def test_lines_are_in_order_however_many_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.tables.wacz.SORTED_BYTES", 100)
    lines = SortedLines(tmp_path)
    given = [f"{number * 7919 % 1000:04d}".encode() for number in range(BLOCK_LINES)]
    for line in given:
        lines.add(line)
    assert list(lines) == [line + b"\n" for line in sorted(given)]


def test_the_command_writes_a_wacz_and_filtered_records(crawl: Crawler, tmp_path: Path) -> None:
    wacz = tmp_path / "new" / "site.wacz"
    told = crawl.say("export", "--format", "wacz", "--to", str(wacz), "--json").expect(0)
    assert told.last_json["files"] == [str(wacz)]
    assert told.last_json["rows"]["records"] == len(index_lines(zipfile.ZipFile(wacz)))
    assert [path.name for path in wacz.parent.iterdir()] == ["site.wacz"]
    crawl.say("export", "--format", "warc", "--to", str(tmp_path / "all")).expect(0)
    [copied] = (tmp_path / "all").iterdir()
    assert copied.read_bytes() == (crawl.folder / "archive" / copied.name).read_bytes()
    some = tmp_path / "some.warc.gz"
    words = ("--format", "warc", "--to", str(some), "--no-copies", "--min-words", "1")
    crawl.say("export", *words, "--where", "title = 'Same'").expect(0)
    kinds = [kind for kind, _, _ in records_in(some.read_bytes())]
    assert kinds == ["warcinfo", "request", "response"]
    words = ("--format", "warc", "--to", str(some), "--host", "cdn.test")
    crawl.say("export", *words).expect(0)
    [picture] = [url for kind, url, _ in records_in(some.read_bytes()) if kind == "response"]
    assert picture.endswith("/p.png")


def test_whole_pages_take_no_tables_and_a_wacz_no_stream(crawl: Crawler, tmp_path: Path) -> None:
    refused = crawl.say("export", "links", "--format", "wacz", "--to", str(tmp_path)).expect(2)
    assert "takes whole pages, not tables: leave out links" in refused.err
    crawl.say("export", "--format", "wacz", "--to", "-").expect(2)
    crawl.say("export", "--format", "mirror", "--to", "-").expect(2)
    assert not list(tmp_path.iterdir())
    named = crawl.say("export", "pages", "--format", "warc", "--to", str(tmp_path / "warcs"))
    assert "records in" in named.expect(0).out  # pages are what it takes
