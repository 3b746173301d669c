"""Parts of tables: what is new is added, what is replaced is left out, damage is built anew."""

import random
from pathlib import Path

import pytest

import gossamer
from gossamer.errors import ConfigError
from gossamer.store import CrawlFolder
from gossamer.tables import ask_sql, build_tables, check_tables, table_stream
from gossamer.tables.parts import MANIFEST, read_tables_manifest, tables_place
from tests.unit.search.pages_archive import PagesArchive, page

EVERYTHING = ("select * from pages order by all", "from links order by all")


def asked(root: Path, query: str) -> list[tuple[object, ...]]:
    with ask_sql(root, query) as answer:
        return list(answer)


def streamed(root: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of pages and links, as a plain reading of the archive gives them."""
    found: dict[str, list[tuple[object, ...]]] = {"pages": [], "links": []}
    for name, batch in table_stream(CrawlFolder(root), ("pages", "links")):
        found[name] += list(batch.rows())
    return found


def assert_parts_say_the_same(root: Path) -> None:
    stream = streamed(root)
    columns = "url, title, seed, seed_label, words, via, media_type"
    names = [name.strip() for name in columns.split(",")]
    crawl = gossamer.open(root)
    wanted = sorted(
        tuple(getattr(row, name) for name in names) for row in crawl.table("pages").rows()
    )
    assert sorted(asked(root, f"select {columns} from pages")) == wanted
    links = "source, target, kind, anchor, rel"
    assert sorted(asked(root, f"select {links} from links")) == sorted(
        row[:5] for row in stream["links"]
    )
    assert asked(root, "select count(*), count(distinct url) from pages") == [
        (len(stream["pages"]), len({row[0] for row in stream["pages"]}))
    ]


def test_news_become_a_part_and_of_a_url_the_newest_page_holds(tmp_path: Path) -> None:
    archive = PagesArchive(tmp_path)
    a, b, c = (f"http://a.test/{name}" for name in "abc")
    archive.write([page(a, "one two", (b, "to b"), at=1.0, title="A1")])
    assert build_tables(tmp_path).did == "full"
    archive.write(
        [page(b, "three", (c, "to c"), at=2.0, via=a), page(a, "x", (c, "c"), at=3.0, title="A2")]
    )
    facts = build_tables(tmp_path)
    assert (facts.did, facts.pages, facts.parts, facts.records) == ("news", 2, 2, 2)
    assert build_tables(tmp_path).did == "nothing"
    assert asked(tmp_path, "select url, title from pages order by 1") == [(a, "A2"), (b, "")]
    assert sorted(asked(tmp_path, "select source, target from links")) == [(a, c), (b, c)]
    assert asked(tmp_path, "select seed from pages where url = '" + b + "'") == [(a,)]
    assert_parts_say_the_same(tmp_path)
    archive.write([page(a, None, at=4.0, outcome="gone")])
    build_tables(tmp_path)
    assert asked(tmp_path, "select count(*) from pages") == [(2,)]
    assert asked(tmp_path, "select source from links") == [(b,)]
    assert_parts_say_the_same(tmp_path)


def test_a_page_that_shares_a_content_gets_its_words_when_that_is_read(tmp_path: Path) -> None:
    archive = PagesArchive(tmp_path)
    archive.write([page("http://a.test/copy", None, content="same", at=1.0)])
    build_tables(tmp_path)
    assert asked(tmp_path, "select words from pages") == [(None,)]
    archive.write([page("http://a.test/own", "four words are here", content="same", at=2.0)])
    build_tables(tmp_path)
    assert_parts_say_the_same(tmp_path)


@pytest.mark.slow
def test_any_sequence_of_news_gives_what_a_full_build_gives(tmp_path: Path) -> None:
    rng = random.Random(17)
    archive = PagesArchive(tmp_path)
    for round_number in range(25):
        turns = [
            page(
                f"http://a.test/{rng.randrange(12)}",
                rng.choice([None, "some words", "other words here"]),
                (f"http://b.test/{rng.randrange(5)}", "x"),
                at=rng.random(),
                outcome=rng.choice(
                    ["fetched", "fetched", "fetched", "gone", "redirected", "failed"]
                ),
                content=rng.choice(["", "", "shared"]),
                via=rng.choice(["", f"http://a.test/{rng.randrange(12)}"]),
                title=f"{round_number}",
            )
            for _ in range(rng.randrange(1, 5))
        ]
        if rng.random() < 0.3:
            turns.append(page("http://a.test/3", None, at=1.0, outcome="labelled", label="blue"))
        archive.write(turns, shard=rng.randrange(2))
        build_tables(tmp_path)
    manifest = read_tables_manifest(tables_place(tmp_path).folder)
    assert manifest is not None
    assert len(manifest.parts) < 20, "small parts are merged"
    before = [asked(tmp_path, query) for query in EVERYTHING]
    assert_parts_say_the_same(tmp_path)
    assert build_tables(tmp_path, is_full=True).did == "full"
    assert [asked(tmp_path, query) for query in EVERYTHING] == before


def test_damaged_parts_are_told_and_built_anew(tmp_path: Path) -> None:
    archive = PagesArchive(tmp_path)
    archive.write([page(f"http://a.test/{n}", "words", at=1.0) for n in range(9)])
    build_tables(tmp_path)
    folder = tables_place(tmp_path).folder
    for path in sorted(folder.iterdir()):
        whole = bytearray(path.read_bytes())
        whole[len(whole) // 2] ^= 0x15
        path.write_bytes(whole)
        assert [one.remedy for one in check_tables(tmp_path)] == ["tables"]
        notes: list[str] = []
        archive.write([page(f"http://a.test/{path.name}", "words", at=1.0)])
        facts = build_tables(tmp_path, tell=lambda step, notes=notes: notes.append(step.note))
        assert facts.did == "full"
        assert path.name == MANIFEST or any("built again" in note for note in notes)
        assert list(check_tables(tmp_path)) == []
    assert_parts_say_the_same(tmp_path)


def test_what_a_killed_build_left_is_deleted_and_read_again(tmp_path: Path) -> None:
    archive = PagesArchive(tmp_path)
    archive.write([page(f"http://a.test/{n}", "words", at=1.0) for n in range(3)])
    build_tables(tmp_path)
    folder = tables_place(tmp_path).folder
    manifest = (folder / MANIFEST).read_bytes()
    archive.write([page("http://a.test/new", "words", at=2.0)])
    build_tables(tmp_path)
    (folder / MANIFEST).write_bytes(manifest)  # as if killed before it was replaced
    (folder / "pages-00007.parquet").write_bytes(b"half")
    assert build_tables(tmp_path).did == "news"
    assert_parts_say_the_same(tmp_path)
    known = read_tables_manifest(folder)
    assert known is not None
    names = {name for part in known.parts for name in part.files} | {MANIFEST}
    assert {path.name for path in folder.iterdir()} == names


@pytest.mark.parametrize(
    "query",
    [
        "copy pages to '/tmp/x.csv'",
        "create table x as select 1",
        "insert into pages select * from pages",
        "attach '/tmp/x.db'",
        "set threads = 1",
        "select 1; select 2",
        "select * from read_text('/etc/passwd')",
        "select * from read_csv('http://127.0.0.1:9/x')",
        "select * from '/etc/passwd'",
        "select * from glob('/*')",
        "select * from nothing_known",
        "select ( from pages",
        "pragma database_list",
        "install httpfs",
        "",
    ],
)
def test_a_query_reads_tables_and_nothing_else(query: str, tmp_path: Path) -> None:
    PagesArchive(tmp_path).write([page("http://a.test/", "words")])
    with pytest.raises(ConfigError) as raised:
        asked(tmp_path, query)
    assert "\n" not in str(raised.value)


def test_a_reader_keeps_its_files_while_parts_are_replaced(tmp_path: Path) -> None:
    archive = PagesArchive(tmp_path)
    archive.write([page(f"http://a.test/{n}", "words", at=1.0) for n in range(2000)])
    with ask_sql(tmp_path, "select url from pages") as answer:
        build_tables(tmp_path, is_full=True)
        assert len(list(answer)) == 2000


def test_a_folder_without_an_archive_has_no_tables(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="it has no archive"):
        build_tables(tmp_path)
