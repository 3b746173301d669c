"""Several processors, strangers among them."""

import logging
from collections.abc import Callable
from importlib.metadata import EntryPoint

import pytest

from gossamer.model import Document, Extraction, LinkKind
from gossamer.process import Processor, Registry, Tools, processor
from gossamer.process import registry as registry_module

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


@pytest.mark.parametrize(
    "value", ["no_such_module:X", "gossamer.process.markup.html:read", "gossamer:NO"]
)
def test_a_bad_plug_in_is_told_in_one_line_and_skipped(
    tools: Tools, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, value: str
) -> None:
    point = EntryPoint("bad", value, registry_module.GROUP)
    monkeypatch.setattr(registry_module, "entry_points", lambda **_: [point])
    monkeypatch.setattr(logging.getLogger("gossamer"), "propagate", True)
    registry = Registry.load(tools)
    assert registry.processors == ()
    assert len(registry.problems) == 1
    assert registry.problems[0].startswith("bad (")
    assert "processor.skipped bad" in caplog.text


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
