"""Images that pages show are documents of their own, kept up to date as pages are."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.search import open_searcher
from gossamer.search.build import IndexOptions, build_index
from gossamer.search.sources import images as image_sources
from gossamer.store import LinksRecord
from tests.unit.search.pages_archive import PagesArchive, Turn, images_in, index_urls, page

A, B, C, D = (f"http://{name}.test/" for name in "abcd")
FOX, OWL, BEE = (f"http://i.test/{name}.png" for name in ("red-fox", "owl", "bee"))
KEPT = IndexOptions(news_share=1e9)


@pytest.fixture
def archive(tmp_path: Path) -> PagesArchive:
    return PagesArchive(tmp_path / "crawl")


def stored(url: str, *, at: float = 1.0, **notes: object) -> Turn:
    """Return a stored image."""
    record = LinksRecord(url=url, outcome="fetched", at=at, fp=1, media_type="image/png")
    return Turn(replace(record, notes=notes), None)


def found(archive: PagesArchive, query: str) -> list[str]:
    return [hit.url for hit in open_searcher(archive.root).search(query).hits]


def test_an_image_is_found_by_its_alt_its_caption_and_its_name(archive: PagesArchive) -> None:
    captions = {OWL: "Seen near the barn"}
    archive.write(
        [
            page(A, "animals", images=[(FOX, "fox in snow"), (OWL, "")], title="Animals"),
            page(B, "barn", images=[(OWL, "an owl")], notes={"captions": captions}),
        ]
    )
    build_index(archive.root)
    assert found(archive, "snow type:image") == [FOX]
    assert found(archive, "red type:png") == [FOX]
    assert found(archive, "barn type:image/png") == [OWL]
    assert found(archive, "type:image site:b.test") == [OWL]
    assert found(archive, "snow") == []
    hit = open_searcher(archive.root).search("owl type:image").hits[0]
    assert hit.title == "an owl"
    assert hit.image is not None
    assert (hit.image.page, hit.image.caption, hit.image.pages) == (B, "Seen near the barn", 2)
    assert (hit.image.file_name, hit.image.is_stored, hit.image.width) == ("owl.png", False, None)


def test_an_image_of_many_pages_is_one_with_the_alt_of_most(archive: PagesArchive) -> None:
    archive.write(
        [page(f"http://{n}.test/", "x", images=[(FOX, "logo of foxes")]) for n in range(5)]
        + [page(A, "x", images=[(FOX, "something else"), (FOX, "again")])]
    )
    build_index(archive.root)
    ((url, facts),) = images_in(archive.root)
    assert (url, facts.alt, facts.other_alts) == (FOX, "logo of foxes", ("something else",))
    assert (facts.pages, facts.page) == (6, "http://0.test/")


def test_a_stored_image_has_its_size_and_is_no_page(archive: PagesArchive) -> None:
    notes = {"width": 640, "height": 480, "bytes": 999, "dct_hash": "00ff00ff00ff00ff"}
    archive.write([page(A, "x", images=[(FOX, "a fox")]), stored(FOX, **notes), stored(OWL)])
    facts = build_index(archive.root)
    assert facts.pages == 1
    assert index_urls(archive.root) == [A, OWL, FOX]
    image = dict(images_in(archive.root))[FOX]
    assert (image.width, image.height, image.bytes) == (640, 480, 999)
    assert (image.hash, image.alt, image.is_stored) == (0x00FF00FF00FF00FF, "a fox", True)
    assert found(archive, "type:image owl") == [OWL]


@pytest.mark.parametrize(
    "notes",
    [
        {"width": "640", "height": -1, "bytes": 1e9, "dct_hash": "xyz", "captions": [1]},
        {"width": True, "height": 1 << 60, "bytes": None, "dct_hash": 7, "captions": {OWL: 7}},
    ],
)
def test_odd_notes_of_a_processor_count_for_nothing(
    notes: dict[str, object], archive: PagesArchive
) -> None:
    archive.write([page(A, "x", images=[(OWL, "owl")], notes=notes), stored(FOX, **notes)])
    build_index(archive.root)
    image = dict(images_in(archive.root))[FOX]
    assert (image.width, image.height, image.bytes, image.hash) == (0, 0, 0, 0)


def test_pages_that_ask_for_it_have_no_images_in_the_index(archive: PagesArchive) -> None:
    archive.write([page(A, "x", images=[(FOX, "fox")], robots=("noimageindex",))])
    archive.write([page(B, "x", images=[(OWL, "owl")], robots=("noindex",)), page(C, "x")])
    build_index(archive.root)
    assert images_in(archive.root) == []
    assert found(archive, "type:image fox") == []


@pytest.mark.parametrize("is_full", [True, False])
def test_a_stored_image_that_asks_to_be_left_out_is_whoever_shows_it(
    archive: PagesArchive, *, is_full: bool
) -> None:
    archive.write([page(A, "x", images=[(FOX, "fox"), (OWL, "owl")])])
    build_index(archive.root, KEPT)
    asking = stored(FOX, at=2)
    archive.write([Turn(replace(asking.record, robots=("noindex",)), None)])
    archive.write([page(B, "x", at=3, images=[(FOX, "fox")])])
    build_index(archive.root, replace(KEPT, is_full=is_full))
    assert [url for url, _ in images_in(archive.root)] == [OWL]


def test_icons_sizes_of_a_set_and_odd_addresses_are_left_out(archive: PagesArchive) -> None:
    small = [(f"http://i.test/fox-{size}.jpg", "fox") for size in (100, 200, 300)]
    turn = page(A, "x", images=[*small, ("data:image/png;base64,xx", "no"), (OWL, "")])
    icon = ("http://i.test/favicon.ico", "image", "", "shortcut icon")
    archive.write([replace_links(turn, [*turn.record.links, icon])])
    build_index(archive.root)
    assert [url for url, _ in images_in(archive.root)] == [small[0][0], OWL]


def replace_links(turn: Turn, links: list[tuple[str, str, str, str]]) -> Turn:
    return Turn(replace(turn.record, links=links), turn.text)


def news_of_images(archive: PagesArchive) -> None:
    """Write pages and images, and later news of each sort."""
    archive.write(
        [
            page(A, "x", images=[(FOX, "a fox"), (BEE, "a bee")]),
            page(B, "x", images=[(OWL, "an owl")]),
            stored(BEE, width=9),
        ]
    )
    build_index(archive.root, KEPT)
    archive.write(
        [
            page(A, "x", at=2, images=[(FOX, "a red fox")]),
            page(B, None, at=2, outcome="gone"),
            page(C, "x", at=2, images=[(FOX, "a red fox"), ("http://i.test/new.gif", "new")]),
            stored(FOX, at=2, width=7),
        ]
    )


def test_news_of_images_come_to_what_a_full_build_comes_to(archive: PagesArchive) -> None:
    news_of_images(archive)
    assert build_index(archive.root, KEPT).did == "news"
    live = images_in(archive.root)
    build_index(archive.root, replace(KEPT, is_full=True))
    full = images_in(archive.root)
    assert [url for url, _ in live] == [url for url, _ in full]
    assert live[1:] == full[1:]  # of the first a full build knows what links to it once said
    assert [url for url, _ in live] == [BEE, "http://i.test/new.gif", FOX]
    assert (dict(live)[FOX].alt, dict(live)[FOX].width) == ("a red fox", 7)
    assert (dict(live)[BEE].page, dict(live)[BEE].is_stored) == ("", True)


def test_a_round_that_is_repeated_changes_nothing(archive: PagesArchive) -> None:
    news_of_images(archive)
    build_index(archive.root, KEPT)
    once = images_in(archive.root)
    archive.write([page(C, "x", at=2, images=[(FOX, "a red fox"), (OWL, "owl")])])
    build_index(archive.root, KEPT)
    twice = images_in(archive.root)
    archive.write([page(C, "x", at=2, images=[(FOX, "a red fox"), (OWL, "owl")])])
    build_index(archive.root, KEPT)
    assert images_in(archive.root) == twice
    assert [url for url, _ in once] == [BEE, "http://i.test/new.gif", FOX]
    assert [url for url, _ in twice] == [BEE, OWL, FOX]


def test_what_does_not_fit_into_memory_gives_the_same_images(
    archive: PagesArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = [
        page(f"http://{n}.test/", "x", images=[(f"http://i.test/{n % 7}.png", f"alt {n % 3}")])
        for n in range(30)
    ]
    archive.write(pages)
    build_index(archive.root)
    before = images_in(archive.root)
    monkeypatch.setattr(image_sources, "MOST_GATHERED", 3)
    build_index(archive.root, replace(KEPT, is_full=True))
    assert images_in(archive.root) == before
    assert len(before) == 7


@pytest.mark.parametrize("organisation", ["documents", "terms"])
@pytest.mark.parametrize("shards", [1, 4, 16])
def test_images_are_the_same_however_the_index_is_split(
    shards: int, organisation: str, archive: PagesArchive
) -> None:
    pages = [
        page(
            f"http://{n % 5}.test/{n}",
            "x",
            images=[
                (f"http://i.test/{m}.png", f"{'red ' * (m % 3)}fox {m}") for m in range(n, 2 * n)
            ],
        )
        for n in range(1, 20)
    ]
    archive.write(pages)
    build_index(archive.root, replace(KEPT, shards=shards, organisation=organisation))
    answer = open_searcher(archive.root).search("red fox type:image")
    assert answer.total == 37
    numbers = [int(hit.url.rpartition("/")[2].partition(".")[0]) for hit in answer.hits]
    assert sorted(n % 3 for n in numbers) == [2] * 10
    assert open_searcher(archive.root).search("fox").hits == []
