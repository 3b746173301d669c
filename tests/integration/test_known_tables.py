"""What the state knows, in tables: target_state, copy_of, rank, and the rows of images."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import gossamer
from gossamer.store import CrawlFolder
from gossamer.tables import TableName, table_stream
from gossamer.testing import ScriptedHost, ScriptedWeb
from tests.integration.threats import serving, settings

ESSAY = " ".join(f"word{number} of a long essay about gossamer threads" for number in range(60))


def picture(width: int, height: int) -> bytes:
    image = Image.linear_gradient("L").resize((width, height)).rotate(90)
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def rows_of(folder: Path, name: TableName) -> list[dict[str, Any]]:
    found = []
    for table, batch in table_stream(CrawlFolder(folder), [name]):
        assert table == name
        found += [dict(zip(batch.columns, row, strict=True)) for row in batch.rows()]
    return found


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, ScriptedHost]]:
    """A crawl of pages with links that lead everywhere, copies and pictures."""
    folder, web = tmp_path_factory.mktemp("known") / "c", ScriptedWeb()
    host = web.host("a.test")
    with serving(web) as server:
        links = ("/one", "/moved", "/missing", "/file.zip", "/secret", "/copy", "/near")
        anchors = "".join(f'<a href="{link}">to {link}</a>' for link in links)
        images = (
            '<img src="/big.png" alt="A big\n one"><img src="/big.png">'
            '<img src="/same.png" alt="S">'
            '<img src="http://far.example/x.png" alt="Far"><img src="/broken.png" alt="B">'
        )
        host.on("/", f"<title>Home</title>{anchors}{images}<form action='/search'></form>")
        host.page("/one", text="One.", links=["/", "/old"]).redirect("/moved", to="/one")
        host.page("/copy", text=ESSAY, title="Essay").page("/again", text=ESSAY, title="Essay")
        host.page("/near", text=f"{ESSAY} The end.", title="Essay", links=["/again"])
        host.file("/old", b"<meta charset=windows-1252><p>caf\xe9", "text/html")
        host.robots("User-agent: *\nDisallow: /secret\n")
        host.file("/big.png", picture(64, 48), "image/png")
        host.file("/same.png", picture(32, 24), "image/png")
        host.file("/broken.png", b"\x89PNG\r\n\x1a\nno more", "image/png")
        knobs = {"process": {"embeds": True, "sitemaps": False}, "filter": {"scope": "host"}}
        gossamer.Crawl(folder, [host.url()], settings(server, knobs)).run()
        yield folder, host


def test_links_say_where_their_targets_stand(crawled: tuple[Path, ScriptedHost]) -> None:
    folder, host = crawled
    links = {row["target"]: row for row in rows_of(folder, "links") if row["source"] == host.url()}
    states = {row.url: (row.state, row.status or None) for row in gossamer.open(folder).urls()}
    for target, row in links.items():
        told = (row["target_state"], row["target_status"])
        assert told == states.get(target, ("", None)), target
    assert {state for state, _ in states.values()} == {
        "archived",
        "redirected",
        "failed",
        "refused",
    }
    assert links[host.url("/search")]["target_state"] == "", "forms are not followed"


def test_pages_name_their_originals_and_their_ranks(crawled: tuple[Path, ScriptedHost]) -> None:
    folder, host = crawled
    assert {row["rank"] for row in rows_of(folder, "pages")} == {None}
    gossamer.open(folder).graph().rank(save=True)
    pages = {row["url"]: row for row in rows_of(folder, "pages")}
    essays = {host.url(path) for path in ("/copy", "/again", "/near")}
    originals = {pages[url]["copy_of"] for url in essays} - {""}
    assert len(originals) == 1
    assert originals <= essays
    assert {url for url in pages if pages[url]["copy_of"]} == essays - originals
    assert all(row["rank"] > 0 for row in pages.values() if row["media_type"] == "text/html")


def test_images_are_listed_once_for_each_page_that_shows_them(
    crawled: tuple[Path, ScriptedHost],
) -> None:
    folder, host = crawled
    images = rows_of(folder, "images")
    assert {row["page"] for row in images} == {host.url()}
    told = {row["url"]: (row["alt"], row["width"], row["height"]) for row in images}
    assert len(told) == len(images)
    assert told == {
        host.url("/big.png"): ("A big one", 64, 48),
        host.url("/same.png"): ("S", 32, 24),
        host.url("/broken.png"): ("B", None, None),
        "http://far.example/x.png": ("Far", None, None),
    }
    by_url = {row["url"]: row for row in images}
    big, small = by_url[host.url("/big.png")], by_url[host.url("/same.png")]
    assert big["bytes"] == len(picture(64, 48))
    differing = int(big["phash"], 16) ^ int(small["phash"], 16)
    assert differing.bit_count() <= 6, "the same picture in another size"
    assert by_url["http://far.example/x.png"]["bytes"] is None
    assert by_url[host.url("/broken.png")]["phash"] == ""


def test_tables_of_urls_and_hosts_are_those_of_the_api(crawled: tuple[Path, ScriptedHost]) -> None:
    folder, _ = crawled
    crawl = gossamer.open(folder)
    assert [row["url"] for row in rows_of(folder, "urls")] == [row.url for row in crawl.urls()]
    assert [row["host"] for row in rows_of(folder, "hosts")] == ["a.test"]
    pages, hosts = rows_of(folder, "pages"), rows_of(folder, "hosts")
    assert {row["host"] for row in pages} == {"a.test"}, "joins by host find both"
    assert len(pages) >= hosts[0]["pages"]


def test_what_is_not_known_is_null_and_not_zero(crawled: tuple[Path, ScriptedHost]) -> None:
    folder, _ = crawled
    numbers = {
        "pages": ("status",),
        "urls": ("status", "priority"),
        "links": ("line", "target_status"),
        "images": ("width", "height", "bytes"),
    }
    for name, columns in numbers.items():
        rows = rows_of(folder, name)
        assert rows
        assert [row for row in rows if 0 in [row[column] for column in columns]] == []
    refused = [row for row in rows_of(folder, "urls") if row["state"] == "refused"]
    assert {row["status"] for row in refused} == {None}
    assert {row["line"] for row in rows_of(folder, "links")} > {None}


def test_a_charset_is_what_the_page_was_read_as(crawled: tuple[Path, ScriptedHost]) -> None:
    folder, host = crawled
    charsets = {row["url"]: row["charset"] for row in rows_of(folder, "pages")}
    assert charsets[host.url("/old")] == "windows-1252", "no header says so"
    assert charsets[host.url("/one")] == "utf-8"
    assert charsets[host.url("/big.png")] == ""
