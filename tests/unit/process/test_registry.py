"""Several processors, strangers among them."""

import logging
from asyncio import CancelledError
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.model import Document, Extraction, LinkKind
from gossamer.process import Processor, Registry, Tools, processor
from gossamer.process import html as html_module
from gossamer.process import registry as registry_module
from gossamer.process.onepass.loading import natives
from gossamer.store import LinksRecord, decode_links
from gossamer.store.entry import encode_links

MakeDocument = Callable[..., Document]


def test_all_our_processors_are_installed(registry: Registry) -> None:
    names = {known.name for known in registry.processors}
    assert names >= {"html", "text", "feed", "sitemap", "pdf", "image"}


@processor("text/*", name="counter")
def counter(document: Document, tools: Tools) -> Extraction:
    found = [("/counted", LinkKind.DATA, "", ""), ("x", LinkKind.ANCHOR, "later", "")]
    links = tools.links(document.url.text, found)
    return Extraction(title="never seen", links=links, notes={"bytes": 1})


@processor("text/html", name="broken")
def broken(_document: Document, _tools: Tools) -> Extraction:
    raise ZeroDivisionError("oh \ud800")


def test_every_processor_of_a_type_is_heard_and_a_crash_is_an_error(
    document: MakeDocument, tools: Tools
) -> None:
    registry = Registry.load(tools, extra=[broken, counter])
    page = document("<title>Mine</title><a href=x>first</a>")
    found = registry.read(page, "text/html")
    assert found.title == "Mine"
    assert [(link.target.text, link.text) for link in found.links] == [
        ("http://h.test/dir/x", "first"),
        ("http://h.test/counted", ""),
    ]
    assert found.notes == {"bytes": 1}
    assert found.errors == ("broken: ZeroDivisionError: oh \ufffd",)


class Odd:
    """What no JSON file can hold."""


HOLDS_ITSELF: list[object] = []
HOLDS_ITSELF.append(HOLDS_ITSELF)


def noting(notes: object) -> Processor:
    """Return a processor that finds a title and a link, and notes something."""

    def read(document: Document, tools: Tools) -> Extraction:
        links = tools.links(document.url.text, [("/noted", LinkKind.DATA, "", "")])
        return Extraction(title="Noted", links=links, notes=notes)  # type: ignore[arg-type]

    return processor("text/csv", name="noting")(read)


@pytest.mark.parametrize(
    "value",
    [
        "text",
        7,
        -(2**63),
        2**64 - 1,
        0.5,
        True,
        None,
        [1, "two", [None]],
        {"a": {"b": [1]}},
        [],
        {},
    ],
)
def test_a_note_may_be_any_json_value(value: object, document: MakeDocument, tools: Tools) -> None:
    registry = Registry([noting({"x": value})], tools)
    found = registry.read(document("a,b", media_type="text/csv"), "text/csv")
    assert found.errors == ()
    assert found.notes == {"x": value}
    assert type(found.notes["x"]) is type(value)
    record = LinksRecord(url="http://h.test/", outcome="fetched", notes=found.notes)
    assert decode_links(encode_links(record)) == record


@pytest.mark.parametrize(
    ("value", "kept"),
    [((1, (2,)), [1, [2]]), (LinkKind.DATA, "data")],
)
def test_a_note_that_is_nearly_json_becomes_that(
    value: object, kept: object, document: MakeDocument, tools: Tools
) -> None:
    registry = Registry([noting({"x": value})], tools)
    found = registry.read(document("a,b", media_type="text/csv"), "text/csv")
    assert (found.notes, found.errors) == ({"x": kept}, ())


@pytest.mark.parametrize(
    ("notes", "said"),
    [
        ({"x": {1, 2}}, "notes['x']: expected a value that JSON has, found a value of type set"),
        ({"x": [0, b"y"]}, "notes['x'][1]: expected a value that JSON has, found a value of type"),
        ({"x": {"y": Odd()}}, "notes['x']['y']: expected a value that JSON has, found a value"),
        (
            {"x": {7: "seven"}},
            "notes['x']: expected names that are text, found a value of type int",
        ),
        ({7: "seven"}, "notes: expected names that are text, found a value of type int"),
        ({"x": 2**64}, "notes['x']: expected a whole number of at most 64 bits"),
        ({"x": float("nan")}, "notes['x']: expected a finite number, found nan"),
        ({"x": [float("-inf")]}, "notes['x'][0]: expected a finite number, found -inf"),
        ({"x": "a\ud800"}, "notes['x']: expected text that UTF-8 can hold, found a lone surrogate"),
        ({"\ud800": 1}, "notes: expected text that UTF-8 can hold, found a lone surrogate"),
        ({"x": HOLDS_ITSELF}, "expected at most 32 levels"),
        (["x"], "notes: expected a dict, found a value of type list"),
        (None, "notes: expected a dict, found a value of type NoneType"),
    ],
)
def test_a_note_that_is_no_json_costs_the_notes_and_is_told_with_the_processors_name(
    notes: object, said: str, document: MakeDocument, tools: Tools
) -> None:
    registry = Registry([noting(notes), noting({"good": 1})], tools)
    found = registry.read(document("a,b", media_type="text/csv"), "text/csv")
    assert found.notes == {"good": 1}
    assert (found.title, len(found.links)) == ("Noted", 1)
    assert len(found.errors) == 1
    assert found.errors[0].startswith("noting: notes")
    assert said in found.errors[0]
    assert found.user_errors == {"noting": found.errors[0].removeprefix("noting: ")}


def test_a_processor_that_returns_no_extraction_is_an_error(
    document: MakeDocument, tools: Tools
) -> None:
    nothing = processor("text/csv", name="nothing")(lambda _document, _tools: None)  # type: ignore[arg-type,return-value]
    found = Registry([nothing], tools).read(document("", media_type="text/csv"), "text/csv")
    assert found.errors == ("nothing: TypeError: expected an Extraction, found NoneType",)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("title", 5, "Expected `str`, got `int` - at `$.title`"),
        ("text", b"x", "Expected `str`, got `bytes` - at `$.text`"),
        ("language", 5, "Expected `str`, got `int` - at `$.language`"),
        ("links", None, "Expected `array`, got `null` - at `$.links`"),
        ("links", ["http://h.test/"], "Expected `object`, got `str` - at `$.links[0]`"),
        ("robots", None, "Expected `array`, got `null` - at `$.robots`"),
        ("errors", None, "Expected `array`, got `null` - at `$.errors`"),
    ],
)
def test_a_field_of_the_wrong_type_is_told_with_the_processors_name_and_costs_no_page(
    field: str, value: object, said: str, document: MakeDocument, tools: Tools
) -> None:
    @processor("text/html", name="mine")
    def mine(_document: Document, _tools: Tools) -> Extraction:
        return replace(Extraction(), **{field: value})

    registry = Registry.load(tools, extra=[mine])
    found = registry.read(document("<title>Mine</title><a href=x>first</a>"), "text/html")
    assert (found.title, len(found.links)) == ("Mine", 1)
    assert found.user_errors == {"mine": f"ValidationError: {said}"}


class Stop(BaseException):
    """What is no Exception, and cannot be printed."""

    def __str__(self) -> str:
        raise SystemExit


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (SystemExit(7), "SystemExit: 7"),
        (CancelledError(), "CancelledError"),
        (Stop(), "Stop: (its message cannot be read: SystemExit)"),
    ],
)
def test_a_processor_that_wants_to_end_the_program_costs_what_it_would_have_found(
    error: BaseException, told: str, document: MakeDocument, tools: Tools
) -> None:
    @processor("text/csv", name="leaving")
    def leaving(_document: Document, _tools: Tools) -> Extraction:
        raise error

    registry = Registry([leaving, noting({"good": 1})], tools)
    found = registry.read(document("", media_type="text/csv"), "text/csv")
    assert (found.notes, found.user_errors) == ({"good": 1}, {"leaving": told})


def test_ctrl_c_in_a_processor_is_not_the_processors_error(
    document: MakeDocument, tools: Tools
) -> None:
    @processor("text/csv")
    def interrupted(_document: Document, _tools: Tools) -> Extraction:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Registry([interrupted], tools).read(document("", media_type="text/csv"), "text/csv")


def test_errors_of_our_own_processors_are_not_the_users(
    document: MakeDocument, registry: Registry
) -> None:
    found = registry.read(document(b"%PDF-broken", media_type="application/pdf"), "application/pdf")
    assert found.errors
    assert found.user_errors == {}


def test_a_type_that_nobody_reads_still_has_its_header(
    document: MakeDocument, registry: Registry
) -> None:
    page = document(b"\x00", media_type="x/y", headers=(("link", "</n>; rel=next"),))
    found = registry.read(page, "x/y")
    assert [link.kind for link in found.links] == [LinkKind.HEADER]
    assert found.media_type == "x/y"
    assert not registry.needs_helper(page, "x/y")


def test_slow_and_huge_documents_go_to_the_helper(
    document: MakeDocument, registry: Registry
) -> None:
    assert registry.needs_helper(document(b"%PDF-"), "application/pdf")
    assert not registry.needs_helper(document(b"<p>"), "text/html")
    assert registry.needs_helper(document(b" " * (8 * 1024 * 1024 + 1)), "text/html")


def test_a_page_that_is_only_large_needs_no_helper(
    document: MakeDocument, registry: Registry
) -> None:
    natives()
    page = document(b"<title>t</title>" + b"<p>some words <a href=/1>one</a>\n" * 80_000)
    assert registry.needs_helper(page, "text/html")
    assert registry.read_large(page, "text/html") == registry.read(page, "text/html")


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (b"<b><i>" * 500_000, "text/html"),
        (b"<script src=/app.js></script><p>" + b" " * 3_000_000, "text/html"),
        (b"<p>text\n" * 1_200_000, "text/html"),
        (b"words " * 500_000, "text/plain"),
        (b"%PDF-" + b" " * 3_000_000, "application/pdf"),
    ],
)
def test_of_a_large_document_only_what_rows_tell_is_read_without_a_helper(
    document: MakeDocument, registry: Registry, body: bytes, media_type: str
) -> None:
    natives()
    assert registry.read_large(document(body), media_type) is None


def test_a_large_page_that_plug_ins_read_goes_to_the_helper(
    document: MakeDocument, registry: Registry, tools: Tools
) -> None:
    natives()
    page = document(b"<p>some words\n" * 200_000)
    assert registry.read_large(page, "text/html") is not None
    assert Registry([*registry.processors, counter], tools).read_large(page, "text/html") is None


@pytest.mark.parametrize("value", ["no_such_module:X", "gossamer.process.html:read", "gossamer:NO"])
def test_a_bad_plug_in_is_told_in_one_line_and_skipped(
    tools: Tools, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, value: str
) -> None:
    point = EntryPoint("bad", value, registry_module.GROUP)
    monkeypatch.setattr(registry_module, "installed_points", lambda _: [point])
    monkeypatch.setattr(logging.getLogger("gossamer"), "propagate", True)
    registry = Registry.load(tools)
    assert registry.processors == ()
    assert len(registry.problems) == 1
    assert registry.problems[0].startswith("bad (")
    assert "processor.skipped bad" in caplog.text


def test_a_plug_in_that_leaves_when_it_is_imported_is_skipped(
    tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "leaves_at_import.py").write_text("import sys\nsys.exit(7)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    point = EntryPoint("bad", "leaves_at_import:X", registry_module.GROUP)
    monkeypatch.setattr(registry_module, "installed_points", lambda _: [point])
    told = "bad (leaves_at_import:X) cannot be loaded: SystemExit: 7"
    assert Registry.load(tools).problems == (told,)


def test_a_function_becomes_a_processor_under_its_own_name() -> None:
    assert isinstance(counter, Processor)
    assert counter.reads("text/anything")
    assert not counter.reads("image/png")


def test_no_string_that_leaves_holds_a_lone_surrogate(document: MakeDocument, tools: Tools) -> None:
    @processor("x/y")
    def rude(page: Document, tools: Tools) -> Extraction:
        links = tools.links(page.url.text, [("a", LinkKind.DATA, "\ud800", "")])
        return Extraction(title="\udfff", text="a\ud800", links=links)

    found = Registry([rude], tools).read(document("", media_type="x/y"), "x/y")
    assert (found.title, found.text, found.links[0].text) == ("\ufffd", "a\ufffd", "\ufffd")


PRICE = '<title>Pin</title><div class="price">24.90</div><template><b>no</b></template>'


@processor("text/html", name="price")
def price(document: Document, _tools: Tools) -> Extraction:
    found = document.tree.select_one(".price")
    by_path = document.tree.xpath("//title")
    return Extraction(notes={"price": found.text if found else "", "titles": len(by_path)})


@processor("text/html", name="same")
def same(document: Document, _tools: Tools) -> Extraction:
    return Extraction(
        notes={
            "same": document.tree is document.tree,
            "templates": len(document.tree.select("template")),
        }
    )


def test_processors_share_one_tree_with_css_and_xpath(document: MakeDocument, tools: Tools) -> None:
    registry = Registry.load(tools, extra=[price, same])
    found = registry.read(document(PRICE), "text/html")
    assert found.title == "Pin"
    assert found.errors == ()
    # Our own processor has taken the template out of the tree: it is the same one.
    assert found.notes == {"price": "24.90", "titles": 1, "same": True, "templates": 0}


def test_a_tree_is_made_only_while_processors_read(document: MakeDocument, tools: Tools) -> None:
    page = document(PRICE)
    Registry.load(tools).read(page, "text/html")
    with pytest.raises(TypeError, match="only while processors read it"):
        _ = page.tree
    page.parse_with(lambda one: html_module.parsed(one.body.decoded(), one.charset))
    assert page.tree.select_one("title") is not None


def test_a_large_page_shares_the_tree_of_its_start_and_keeps_all_links(
    document: MakeDocument, tools: Tools
) -> None:
    body = "<a href=/first>a</a>" + "<p>x" * 600_000 + "<a href=/last>b</a>"
    registry = Registry.load(tools, extra=[same])
    found = registry.read(document(body), "text/html")
    assert [link.target.text for link in found.links] == [
        "http://h.test/first",
        "http://h.test/last",
    ]
    assert found.notes == {"same": True, "templates": 0}
