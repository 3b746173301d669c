"""Items by rules, and a page in hand: of a stored crawl, and of one page that is fetched."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import gossamer
from gossamer.cli.main import exit_code
from gossamer.testing import ScriptedWeb, serve_in_thread
from tests.e2e.crawler import Crawler, flags_for

PIN = """<title>Pin</title><h1>Rolling pin</h1><p class=price>24,90 EUR</p>
<img src="/pin.jpg"><a rel=tag href=/wood>wood</a><a rel=tag href=/ash>ash</a>
<script type="application/ld+json">{"@type": "Product"}</script>"""
TRAY = "<title>Tray</title><h1>=HYPERLINK(1)</h1><p class=price>on request</p>"
RULES = """
[product]
url = "*/item/*"
[product.fields]
name = "h1"
price = { css = ".price", type = "float" }
tags = { xpath = "//a[@rel='tag']", all = true }
image = { css = "img", attribute = "src", type = "url" }
"""
LOOPBACK = ["--allow-net", "127.0.0.0/8"]


class Site:
    """A crawled site, still served."""

    def __init__(self, folder: Path, url: str, rules: Path, address: str) -> None:
        self.folder, self.url, self.rules, self.address = folder, url, rules, address


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    place = tmp_path_factory.mktemp("items")
    (place / "rules.toml").write_text(RULES)
    with serve_in_thread(ScriptedWeb()) as server:
        shop = server.web.host("shop.test")
        shop.on("/", "<a href=/item/1>1</a><a href=/item/2>2</a><a href=/about>about</a>")
        shop.on("/item/1", PIN).on("/item/2", TRAY).on("/about", "<h1>About us</h1>")
        bare = server.web.host("127.0.0.1")
        bare.on("/page", PIN).redirect("/moved", to="/page")
        bare.robots("User-agent: *\nDisallow: /private\n").on("/private", PIN)
        words = flags_for(server.resolve, "--delay", "0", "--shards", "1")
        crawler = Crawler(place / "crawl", (shop.url(),), words)
        crawler.run().expect(0)
        yield Site(place / "crawl", shop.url(), place / "rules.toml", bare.url().rstrip("/"))


def extract(site: Site, *words: str) -> list[str]:
    return ["extract", str(site.folder), "--rules", str(site.rules), *words]


def test_items_are_json_lines_and_what_matched_nothing_is_told(
    site: Site, capfd: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(extract(site)) == 0
    out, err = capfd.readouterr()
    assert [json.loads(line) for line in out.splitlines()] == [
        {
            "rule": "product",
            "url": f"{site.url}item/1",
            "name": "Rolling pin",
            "price": 24.9,
            "tags": ["wood", "ash"],
            "image": f"{site.url}pin.jpg",
        },
        {
            "rule": "product",
            "url": f"{site.url}item/2",
            "name": "=HYPERLINK(1)",
            "price": None,
            "tags": [],
            "image": None,
        },
    ]
    assert "2 items from 4 pages" in err
    assert "2 pages that no rule is for" in err
    assert "product.tags matched nothing in 1 item" in err
    assert "product.price was not of its type in 1 item" in err


def test_csv_has_a_column_per_field_and_no_formulas(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "items.csv"
    assert exit_code(extract(site, "--format", "csv", "--to", str(file))) == 0
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    assert [row["name"] for row in rows] == ["Rolling pin", "'=HYPERLINK(1)"]
    assert json.loads(rows[0]["tags"]) == ["wood", "ash"]
    assert rows[1]["price"] == ""
    assert list(tmp_path.iterdir()) == [file]


def test_only_some_pages_and_only_some_items(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    assert exit_code(extract(site, "--url", "*/item/2")) == 0
    out, err = capfd.readouterr()
    assert [json.loads(line)["name"] for line in out.splitlines()] == ["=HYPERLINK(1)"]
    assert "1 item from 1 page\n" in err
    assert exit_code(extract(site, "--limit", "1")) == 0
    assert len(capfd.readouterr().out.splitlines()) == 1


def test_totals_as_json(site: Site, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert exit_code(extract(site, "--to", str(tmp_path / "x"), "--json")) == 0
    totals = json.loads(capfd.readouterr().out)
    assert (totals["pages"], totals["items"]) == (4, 2)
    assert exit_code(extract(site, "--json")) == 2


def test_a_mistake_in_the_rules_is_one_line(
    site: Site, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("[a.fields]\nx = 'p['")
    assert exit_code(["extract", str(site.folder), "--rules", str(wrong)]) == 2
    err = capfd.readouterr().err
    assert err.startswith(f'gossamer: {wrong}: [a.fields.x] css: invalid CSS selector "p["')
    assert err.count("\n") == 1
    assert exit_code(["extract", str(site.folder), "--rules", str(tmp_path / "none")]) != 0


def test_python_gets_items_as_an_iterator_that_counts(site: Site) -> None:
    found = gossamer.extract_items(site.folder, site.rules, url="*/item/1")
    assert [item.fields["price"] for item in found] == [24.9]
    assert found.totals.items == 1


def test_a_stored_page_is_in_hand(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    shell = ["shell", str(site.folder), f"{site.url}item/1", "-c"]
    assert exit_code([*shell, "css('h1')[0].text"]) == 0
    assert capfd.readouterr().out == "Rolling pin\n"
    assert exit_code([*shell, "xpath('//a/@href')"]) == 0
    assert capfd.readouterr().out == "/wood\n/ash\n"
    code = "print(page.status, len(links), tree.select_one('title').text, 'EUR' in text)"
    assert exit_code([*shell, code]) == 0
    assert capfd.readouterr().out == "200 3 Pin True\n"
    assert exit_code([*shell, "css('h1')"]) == 0
    assert capfd.readouterr().out == "<h1>Rolling pin</h1>\n"
    assert exit_code([*shell, "nothing"]) == 1
    assert "NameError" in capfd.readouterr().err
    assert exit_code(["shell", str(site.folder), f"{site.url}none", "-c", "1"]) == 1
    assert "is not stored" in capfd.readouterr().err


def test_a_page_is_fetched_once_with_the_guards_of_a_crawl(
    site: Site, capfd: pytest.CaptureFixture[str]
) -> None:
    code = ["-c", "page.url, css('h1')[0].text"]
    assert exit_code(["shell", f"{site.address}/moved", *code, *LOOPBACK]) == 0
    assert capfd.readouterr().out == f"('{site.address}/page', 'Rolling pin')\n"
    assert exit_code(["shell", f"{site.address}/page", *code]) == 1
    assert "private_address" in capfd.readouterr().err
    assert exit_code(["shell", f"{site.address}/private", *code, *LOOPBACK]) == 1
    assert "robots" in capfd.readouterr().err
    assert exit_code(["shell", f"{site.address}/missing", *code, *LOOPBACK]) == 1
    assert "not_found" in capfd.readouterr().err
    assert exit_code(["shell", "nothing"]) == 2


def test_structured_data_is_a_column_of_pages_on_request(
    site: Site, capfd: pytest.CaptureFixture[str]
) -> None:
    export = ["export", str(site.folder), "pages", "--to", "-", "--format", "jsonl"]
    assert exit_code([*export, "--structured", "--text", "plain"]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    found = {row["url"].removeprefix(site.url): row["structured"] for row in rows}
    assert found["item/1"] == {"json_ld": [{"@type": "Product"}]}
    assert found["about"] is None
    assert all(list(row)[-2:] == ["text", "structured"] for row in rows)
    assert exit_code(export) == 0
    assert "structured" not in json.loads(capfd.readouterr().out.splitlines()[0])
    links = ["export", str(site.folder), "links", "--to", "-", "--format", "jsonl"]
    assert exit_code([*links, "--structured"]) == 2
