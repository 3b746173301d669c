"""What links say of where they lead: counted, weighed, and found by the URL."""

from pathlib import Path

import pytest

from gossamer.errors import CorruptFile
from gossamer.search.sources import (
    FILE,
    AnchorSpool,
    AnchorTable,
    PageFacts,
    Skip,
    anchor_spool,
    write_anchors,
)

A, B, C, D = (f"http://{name}.test/" for name in "abcd")


def facts(url: str, *links: tuple[str, str], rel: str = "", **more: object) -> PageFacts:
    rows = [(target, "a", text, rel) for target, text in links]
    said: dict[str, object] = {"outcome": "fetched", "links": rows, **more}
    return PageFacts(url=url, **said)  # type: ignore[arg-type]  # fields by name


def table(folder: Path, *pages: PageFacts, skip: Skip | None = None) -> AnchorTable:
    gathered = AnchorSpool(folder, skip)
    for one in pages:
        gathered.add(one)
    write_anchors(gathered, folder, folder)
    return AnchorTable(folder / FILE)


def test_the_most_frequent_texts_come_first(tmp_path: Path) -> None:
    pages = [facts(f"{A}{n}", (B, "striped horses")) for n in range(3)]
    found = table(tmp_path, *pages, facts(f"{A}x", (B, "animals")))
    assert found.of(B) == ("striped horses", "animals")
    assert found.of(C) == ()


def test_links_of_other_hosts_count_more_than_those_of_the_same_one(tmp_path: Path) -> None:
    own = [facts(f"{B}{n}", (f"{B}page", "menu entry")) for n in range(3)]
    found = table(tmp_path, *own, facts(A, (f"{B}page", "a fine page")))
    assert found.of(f"{B}page") == ("a fine page", "menu entry")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "click here",
        "Here",
        "NEXT",
        "»",
        "12",
        "read more",
        "Weiter »",
        "[1]",
        "page.html",
    ],
)
def test_texts_that_say_nothing_do_not_count(text: str, tmp_path: Path) -> None:
    assert table(tmp_path, facts(A, (f"{B}page.html", text))).of(f"{B}page.html") == ()


@pytest.mark.parametrize("rel", ["nofollow", "ugc", "noopener sponsored", "NoFollow"])
def test_links_that_their_page_does_not_stand_for_do_not_count(rel: str, tmp_path: Path) -> None:
    assert table(tmp_path, facts(A, (B, "horses"), rel=rel)).of(B) == ()


def test_links_of_a_page_to_itself_and_of_pages_that_are_gone_do_not_count(tmp_path: Path) -> None:
    own = facts(A, (A, "me"))
    gone = facts(C, (B, "horses"), outcome="gone")
    silent = facts(D, (B, "horses"), robots=("nofollow",))
    found = table(tmp_path, own, gone, silent)
    assert (found.of(A), found.of(B)) == ((), ())


def test_a_redirect_passes_on_what_links_say(tmp_path: Path) -> None:
    found = table(
        tmp_path,
        facts(A, (B, "horses"), (D, "zebras")),
        facts(B, outcome="redirected", detail=C),
        facts(C, outcome="redirected", detail=D),
    )
    assert found.of(D) == ("horses", "zebras")


def test_redirects_in_a_circle_lead_nowhere(tmp_path: Path) -> None:
    ring = [facts(B, outcome="redirected", detail=C), facts(C, outcome="redirected", detail=B)]
    assert table(tmp_path, facts(A, (B, "horses")), *ring).of(B) == ("horses",)


def test_links_can_be_held_out(tmp_path: Path) -> None:
    found = table(
        tmp_path,
        facts(A, (B, "horses"), (B, "animals")),
        skip=lambda source, target, text: (source, target, text) == (A, B, "horses"),
    )
    assert found.of(B) == ("animals",)


def test_texts_are_capped_in_number_and_length(tmp_path: Path) -> None:
    pages = [facts(f"{A}{n}", (B, f"text number {n} " + "x" * n)) for n in range(400)]
    found = table(tmp_path, *pages).of(B)
    assert 0 < len(found) <= 16
    assert sum(map(len, found)) <= 300


def test_counts_of_several_rounds_are_added_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anchor_spool, "MOST_COUNTED", 1)
    pages = [facts(f"{A}{n}", (B, "horses"), (C, f"page {n}")) for n in range(5)]
    found = table(tmp_path, *pages, facts(f"{A}x", (B, "animals")), facts(f"{A}y", (B, "animals")))
    assert found.of(B) == ("horses", "animals")
    assert len(found.of(C)) == 5


@pytest.mark.parametrize("damage", ["cut", "other", "inside"])
def test_a_damaged_table_is_named(damage: str, tmp_path: Path) -> None:
    table(tmp_path, facts(A, (B, "horses")))
    path = tmp_path / FILE
    whole = path.read_bytes()
    broken = {"cut": whole[:-3], "other": b"x" * len(whole), "inside": whole[:-8] + b"\xff" * 8}
    path.write_bytes(broken[damage])
    with pytest.raises(CorruptFile):
        AnchorTable(path).of(B)
