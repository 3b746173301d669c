"""Rules that make items of pages, and what is said of mistakes in them."""

from pathlib import Path

import pytest
from turbohtml import parse

from gossamer.errors import ConfigError
from gossamer.process import FoundItem, ItemRules, read_item_rules
from gossamer.process.item_values import as_date, as_float, as_int

RULES = """
[product]
url = ["shop.test/item/*", "*.mall.test"]
[product.fields]
name = "h1"
price = { css = ".price", regex = '([\\d.,]+) EUR', type = "float" }
stock = { css = ".stock", type = "int" }
image = { css = "img", attribute = "src", type = "url" }
tags = { xpath = "//a[@rel='tag']", all = true }
hrefs = { xpath = "//a/@href", all = true, type = "url" }
count = { xpath = "count(//a)", type = "int" }
seen = { css = "time", attribute = "datetime", type = "date" }
markup = { css = ".stock", type = "html" }
"""
PAGE = """<h1>Rolling  pin</h1><p class=price>now 1.024,90 EUR</p><p class=stock>about <b>3</b></p>
<img src="../pin.jpg"><a rel=tag href="/wood">wood</a><a rel=tag href="/ash">ash</a>
<time datetime="2026-11-16T10:00:00+02:00">today</time>"""


def rules_of(tmp_path: Path, text: str) -> ItemRules:
    file = tmp_path / "rules.toml"
    file.write_text(text)
    return read_item_rules(file)


def items_of(rules: ItemRules, page: str, url: str = "http://shop.test/item/7") -> list[FoundItem]:
    return [item for rule in rules.rules for item in rule.items(parse(page), url)]


def test_fields_are_found_by_css_and_xpath_and_are_of_their_type(tmp_path: Path) -> None:
    (item,) = items_of(rules_of(tmp_path, RULES), PAGE)
    assert item.rule == "product"
    assert item.unlike == ()
    assert item.fields == {
        "name": "Rolling pin",
        "price": 1024.9,
        "stock": 3,
        "image": "http://shop.test/pin.jpg",
        "tags": ["wood", "ash"],
        "hrefs": ["http://shop.test/wood", "http://shop.test/ash"],
        "count": 2,
        "seen": "2026-11-16T08:00:00Z",
        "markup": '<p class="stock">about <b>3</b></p>',
    }


def test_a_rule_holds_for_the_urls_and_hosts_that_it_names(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, RULES)
    assert rules.for_url("http://shop.test/item/7", "shop.test")
    assert rules.for_url("https://a.mall.test/", "a.mall.test")
    assert not rules.for_url("http://shop.test/about", "shop.test")


def test_a_selector_for_items_makes_one_of_each_part(tmp_path: Path) -> None:
    rules = rules_of(
        tmp_path,
        """[row]
        item = "tr"
        [row.fields]
        name = "td"
        link = { xpath = ".//a/@href" }""",
    )
    page = "<table><tr><th>Name</th></tr><tr><td>a<a href=x>x</a></td></tr><tr><td>b</td></tr>"
    assert [item.fields for item in items_of(rules, page)] == [
        {"name": "ax", "link": "x"},
        {"name": "b", "link": None},
    ]


def test_a_value_that_is_not_of_its_type_is_left_out_and_told(tmp_path: Path) -> None:
    rules = rules_of(
        tmp_path, "[a.fields]\nname = 'h1'\nprice = { css = 'p', type = 'int', all = true }"
    )
    (item,) = items_of(rules, "<h1>x</h1><p>7</p><p>sold out</p>")
    assert item.fields == {"name": "x", "price": [7]}
    assert item.unlike == ("price",)


def test_a_page_on_which_nothing_matches_has_no_item(tmp_path: Path) -> None:
    assert items_of(rules_of(tmp_path, "[a.fields]\nname = 'h1'"), "<p>words</p>") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no rules: write a table such as [product] with fields"),
        ("[a", "not TOML: "),
        ("a = 1", "[a] expected a table with fields, found 1"),
        ("[a]", "[a] fields: expected a table of fields, such as fields.title = 'h1'"),
        ("[a]\nlimit = 3", "[a] limit: there is no such key; known are url, item, fields"),
        ("[a]\nurl = 3\n[a.fields]\nx = 'p'", "[a] url: expected a pattern or a list of patterns"),
        ("[a]\nurl = 'a b'\n[a.fields]\nx = 'p'", "[a] url: expected a pattern without blanks"),
        ("[a]\nitem = 'p['\n[a.fields]\nx = 'p'", '[a] item: invalid CSS selector "p["'),
        ("[a.fields]\nx = 3", "[a.fields] x: expected a CSS selector or a table, found 3"),
        ("[a.fields]\nurl = 'p'", "[a.fields] url: every item has that already"),
        ("[a.fields]\nx = 'p['", '[a.fields.x] css: invalid CSS selector "p["'),
        ("[a.fields]\nx = {}", "[a.fields.x] expected either css or xpath"),
        ("[a.fields.x]\ncss = 'p'\nxpath = '//p'", "[a.fields.x] expected either css or xpath"),
        ("[a.fields.x]\nxpath = '//['", "[a.fields.x] xpath: expected a node test"),
        ("[a.fields.x]\ncss = 'p'\nregex = '('", "[a.fields.x] regex: missing )"),
        ("[a.fields.x]\ncss = 'p'\ntype = 'money'", "[a.fields.x] type: expected one of text, "),
        ("[a.fields.x]\ncss = 'p'\nall = 1", "[a.fields.x] all: expected true or false, found 1"),
        ("[a.fields.x]\ncss = ''", "[a.fields.x] css: expected text, found ''"),
        ("[a.fields.x]\ncss = 'p'\nattr = 'src'", "[a.fields.x] attr: there is no such key"),
    ],
)
def test_a_mistake_is_told_in_one_line_with_file_table_and_key(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(ConfigError) as error:
        rules_of(tmp_path, text)
    assert str(error.value).startswith(f"{tmp_path / 'rules.toml'}: {said}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("24.90", 24.9), ("EUR 1,234.50 a piece", 1234.5), ("1.234,50", 1234.5), ("3,5", 3.5)),
        *(("1,234", 1234.0), ("12 000 000", 12e6), ("1'024", 1024.0), ("-7", -7.0)),
        *(("1.234.567", 1234567.0), ("none", None), ("9" * 60, None), ("", None)),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, number: float | None) -> None:
    assert as_float(text) == number


def test_a_whole_number_has_no_fraction() -> None:
    assert as_int("12,000 pages") == 12_000
    assert as_int("2.5") is None


@pytest.mark.parametrize(
    ("text", "date"),
    [
        *(("2026-11-16", "2026-11-16"), ("16.11.2026", "2026-11-16")),
        *(("November 16, 2026", "2026-11-16"), ("4 Jun 2026", "2026-06-04")),
        ("Mon, 16 Nov 2026 10:00:00 GMT", "2026-11-16T10:00:00Z"),
        ("2026-11-16T10:00:00Z", "2026-11-16T10:00:00Z"),
        ("2026-11-16 10:00", "2026-11-16T10:00:00"),
        *(("yesterday", None), ("03/04/2026", None), ("", None)),
    ],
)
def test_dates_are_read_in_usual_forms_and_written_as_iso(text: str, date: str | None) -> None:
    assert as_date(text) == date


def test_a_field_of_one_value_takes_the_first_that_is_of_its_type(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, "[a.fields]\nprice = { css = 'p', type = 'int' }")
    (item,) = items_of(rules, "<p>sold out</p><p>7</p><p>8</p>")
    assert (item.fields, item.unlike) == ({"price": 7}, ())


def test_nested_elements_without_end_are_read_up_to_a_limit(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, "[a.fields]\nall = { css = 'div', all = true }")
    (item,) = items_of(rules, "<div>word" * 20_000)
    found = item.fields["all"]
    assert isinstance(found, list)
    assert sum(len(str(one)) for one in found) <= 8_000_000
