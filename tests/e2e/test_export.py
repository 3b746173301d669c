"""Tables of real crawls: as files that other programs open, after kills, and of watched pages."""

import csv
import json
import shutil
import signal
import sqlite3
import subprocess
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow.parquet
import pytest

import gossamer
from gossamer.graph.build import GraphOptions, build_graph
from gossamer.graph.kinds import Kind, kind_of
from gossamer.tables import PAGES, TABLES
from gossamer.testing import FakeWeb, serve_in_process
from tests.e2e.crawler import GOSSAMER, Crawler, finish, flags_for, say, spawn, wait_until
from tests.unit.graph.links_archive import assert_says
from tests.unit.tables.test_parts import assert_parts_say_the_same

FOLD = GraphOptions(delta_share=0)
AT_BARE = "select kind from changes order by at"


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of three shards, stopped by kills and gone on with."""
    place = tmp_path_factory.mktemp("export")
    web = FakeWeb(seed=1701, hosts=8, pages_per_host=15)
    with serve_in_process(web, place / "log.tsv") as server:
        flags = flags_for(server.resolve, "--delay", "0", "--shards", "3")
        crawler = Crawler(place / "crawl", server.web.seeds, flags)
        for kill_after in (20, 45, 70):
            with crawler.running() as process:
                wait_until(lambda n=kill_after: len(server.requests()) >= n, process)
                process.send_signal(signal.SIGKILL)
                finish(process)
        crawler.run().expect(0)
    return crawler.folder


def export(folder: Path, *words: str) -> None:
    say("export", str(folder), *words).expect(0)


def json_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_pages_has_every_stored_page_once(crawled: Path, tmp_path: Path) -> None:
    export(crawled, "pages", "--to", str(tmp_path), "--format", "jsonl")
    rows = json_rows(tmp_path / "pages.jsonl")
    urls = [row["url"] for row in rows]
    status = gossamer.open(crawled).status()
    seeds = {one.url for one in gossamer.open(crawled).records() if one.outcome == "seed"}
    assert len(urls) == len(set(urls)) == status.pages > 60
    stored = {page.url: page for page in gossamer.open(crawled).pages()}
    assert set(urls) == stored.keys()
    assert tuple(rows[0]) == PAGES.names
    for row in rows:
        page = stored[row["url"]]
        if page.is_revisit:
            continue  # its body is looked for, which takes long
        assert (row["warc_file"], row["warc_offset"]) == (page.location.file, page.location.offset)
        assert (row["status"], row["title"]) == (page.status, page.title)
        assert row["bytes"] == len(page.raw())
        assert row["words"] == len(page.text().split())
    assert {row["seed"] for row in rows} <= {*seeds, ""}
    assert {row["seed"] for row in rows if not row["via"]} <= seeds


def test_links_are_the_arcs_of_the_graph_by_kind(crawled: Path) -> None:
    build_graph(crawled, FOLD)
    found: dict[str, dict[str, Kind]] = {}
    for record in gossamer.open(crawled).records():
        if record.outcome in {"fetched", "redirected"}:
            found[record.url] = {}
    for row in gossamer.open(crawled).table("links").rows():
        kind = kind_of(row.kind, is_nofollow="nofollow" in row.rel.split())
        targets = found[row.source]
        targets[row.target] = targets.get(row.target, Kind(0)) | kind
    assert sum(map(len, found.values())) > 100
    assert_says(crawled, found)


def test_pandas_polars_duckdb_and_sqlite_open_the_files(crawled: Path, tmp_path: Path) -> None:
    pages = gossamer.open(crawled).status().pages
    export(crawled, "pages", "links", "--to", str(tmp_path))
    export(crawled, "pages", "links", "--to", str(tmp_path), "--format", "sqlite")
    export(crawled, "pages", "links", "--to", str(tmp_path), "--format", "csv")
    parquet = str(tmp_path / "pages.parquet")
    frame = pd.read_parquet(parquet)
    assert len(frame) == pages
    assert str(frame["fetched_at"].dtype).startswith("datetime64")
    assert pl.read_parquet(parquet).height == pages
    assert pl.read_csv(tmp_path / "links.csv", infer_schema_length=None).width == 9
    assert len(pd.read_csv(tmp_path / "pages.csv")) == pages
    query = f"select count(distinct url) from '{parquet}' where fetched_at > '2020-01-01'"
    assert duckdb.sql(query).fetchall() == [(pages,)]
    with sqlite3.connect(tmp_path / "crawl.sqlite") as database:
        (count,) = database.execute("select count(distinct source) from links").fetchone()
    links = pyarrow.parquet.read_table(tmp_path / "links.parquet")
    assert count == len(set(links["source"].to_pylist()))
    assert links.schema.metadata[b"gossamer.table"] == b"links"
    arrow = gossamer.open(crawled).table("links").to_arrow()
    assert arrow.equals(links)
    with (tmp_path / "pages.csv").open(newline="") as file:
        assert next(csv.reader(file)) == list(PAGES.names)


def test_a_killed_export_leaves_no_half_files_and_can_be_run_again(
    crawled: Path, tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    export(crawled, "pages", "links", "--to", str(whole), "--format", "jsonl")
    words = ["export", str(crawled), "pages", "links", "--to", str(tmp_path / "killed")]
    for kill_after_s in (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5):
        process = spawn([GOSSAMER, *words, "--format", "jsonl"])
        with suppress(subprocess.TimeoutExpired):
            process.wait(kill_after_s + 0.2)
        process.kill()
        finish(process)
        for path in (tmp_path / "killed").glob("*.jsonl"):
            assert path.read_bytes() == (whole / path.name).read_bytes()
    export(*map(Path, words[1:2]), *words[2:], "--format", "jsonl")
    for name in ("pages.jsonl", "links.jsonl"):
        assert (tmp_path / "killed" / name).read_bytes() == (whole / name).read_bytes()
    assert sorted(path.name for path in (tmp_path / "killed").iterdir()) == [
        "links.jsonl",
        "pages.jsonl",
    ]


def test_filters_and_texts_hold_in_every_format(crawled: Path, tmp_path: Path) -> None:
    every = list(gossamer.open(crawled).pages(text="markdown"))
    where = "words >= 20 and depth <= 2 and not starts_with(title, 'x')"
    wanted = {row.url for row in every if (row.words or 0) >= 20 and row.depth <= 2}
    for form in ("jsonl", "csv", "parquet"):
        export(crawled, "pages", "--to", str(tmp_path), "--format", form, "--where", where)
    assert {row["url"] for row in json_rows(tmp_path / "pages.jsonl")} == wanted
    assert set(pd.read_csv(tmp_path / "pages.csv")["url"]) == wanted
    assert set(pd.read_parquet(tmp_path / "pages.parquet")["url"]) == wanted
    languages = Counter(row.language for row in every)
    some = languages.most_common(1)[0][0]
    export(crawled, "--to", str(tmp_path / "md"), "--format", "markdown", "--lang", some)
    files = list((tmp_path / "md" / "pages").rglob("*.md"))
    assert len(files) == languages[some]
    first = files[0].read_text()
    assert first.startswith("---\nurl: ")
    told = say("export", str(crawled), "pages", "--to", "-", "--format", "jsonl", "--text", "plain")
    stored = {page.url: page for page in gossamer.open(crawled).pages()}
    rows = {row["url"]: row for row in map(json.loads, told.expect(0).out.splitlines())}
    assert rows.keys() == stored.keys()
    assert all(
        rows[url]["text"] == page.stored_text for url, page in stored.items() if not page.is_revisit
    )
    copies = [page for page in stored.values() if page.is_revisit]
    assert all(rows[page.url]["text"] == page.text() for page in copies[:3])


def test_what_is_wrong_is_told_in_one_line(crawled: Path, tmp_path: Path) -> None:
    place = str(tmp_path / "x")
    wrong = [
        ("pages", "--where", "nonsense(", "--where nonsense(: "),
        ("pages", "--where", "length(url)); drop table batch; --", "--where"),
        ("pages", "--where", "url in (select * from read_text('/etc/passwd'))", "--where"),
        ("nopages", "--min-words", "0", "there is no table 'nopages': pages"),
        ("pages", "--format", "xls", "--format: expected parquet, jsonl"),
        ("links", "--text", "plain", "--text is for pages"),
        ("links", "--format", "markdown", "--format markdown is for pages"),
        ("pages", "--since", "soon", "expected"),
    ]
    for *words, expected in wrong:
        ended = say("export", str(crawled), *words, "--to", place)
        assert ended.code == 2, ended
        assert ended.err.count("\n") == 1
        assert expected in ended.err
    ended = say("export", str(crawled), "pages", "links", "--to", "-", "--format", "csv")
    assert "name one table" in ended.err
    assert not (tmp_path / "x").exists() or not list((tmp_path / "x").iterdir())


def test_a_place_that_ends_like_a_file_of_the_format_is_that_file(
    crawled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    export(crawled, "pages", "--to", "all", "--format", "csv")
    told = say("export", str(crawled), "pages", "--to", "sub/pages.csv", "--format", "csv")
    assert told.expect(0).out.endswith(" in sub/pages.csv\n")
    assert Path("sub/pages.csv").read_bytes() == Path("all/pages.csv").read_bytes()
    export(crawled, "pages", "hosts", "--to", "crawl.db", "--format", "sqlite")
    tables = sqlite3.connect("crawl.db").execute("select name from sqlite_master").fetchall()
    assert {name for (name,) in tables} == {"pages", "hosts"}
    export(crawled, "--to", "pages.md", "--format", "markdown")
    assert Path("pages.md").read_text().startswith("---\nurl: ")
    export(crawled, "links", "--to", f"file://{tmp_path}/store/l.parquet")
    assert pl.read_parquet("store/l.parquet").columns == list(TABLES["links"].names)
    Path("old.csv").mkdir()
    export(crawled, "hosts", "--to", "old.csv", "--format", "csv")
    assert Path("old.csv/hosts.csv").is_file()
    for words, expected in (
        (("pages", "links", "--format", "csv"), "a file takes one table; found pages, links"),
        (("pages", "--format", "parquet"), "did you mean --format csv?"),
    ):
        ended = say("export", str(crawled), *words, "--to", "no.csv")
        assert (ended.code, ended.err.count("\n")) == (2, 1)
        assert expected in ended.err
    assert not Path("no.csv").exists()


def test_a_file_store_takes_the_same_files(crawled: Path, tmp_path: Path) -> None:
    export(crawled, "pages", "--to", f"file://{tmp_path}/store", "--format", "jsonl")
    export(crawled, "pages", "--to", str(tmp_path / "plain"), "--format", "jsonl")
    there = (tmp_path / "store" / "pages.jsonl").read_bytes()
    assert there == (tmp_path / "plain" / "pages.jsonl").read_bytes()


def test_every_table_has_the_columns_of_its_schema(crawled: Path) -> None:
    crawl = gossamer.open(crawled)
    for name in ("pages", "links"):
        row = next(crawl.table(name).rows())
        fields = tuple(field for field in row.__struct_fields__ if field != "text")
        assert fields == TABLES[name].names == crawl.table(name).columns


def test_parts_that_are_built_beside_a_crawl_while_both_are_killed_say_what_the_archive_says(
    tmp_path: Path,
) -> None:
    web = FakeWeb(seed=1702, hosts=8, pages_per_host=15)
    with serve_in_process(web, tmp_path / "log.tsv") as server:
        flags = flags_for(server.resolve, "--delay", "0", "--shards", "1", "--concurrency", "8")
        crawler = Crawler(tmp_path / "crawl", server.web.seeds, flags)
        for kill_after in (15, 35, 55, 75, 95):
            with crawler.running() as process:
                wait_until(lambda n=kill_after: len(server.requests()) >= n, process)
                builder = spawn([GOSSAMER, "build", str(crawler.folder), "tables"])
                with suppress(subprocess.TimeoutExpired):
                    builder.wait(0.4 + kill_after / 200)
                process.send_signal(signal.SIGKILL)
                finish(process)
            builder.kill()
            finish(builder)
        crawler.run().expect(0)
    crawler.say("build", "tables").expect(0)
    count = "select count(*) n, count(distinct url) u from pages"
    told = crawler.say("sql", count, "--format", "jsonl")
    pages = crawler.status()["pages"]
    assert json.loads(told.expect(0).out) == {"n": pages, "u": pages}
    assert_parts_say_the_same(crawler.folder)
    leftover = {path.name.partition("-")[0] for path in (crawler.folder / "tables").iterdir()}
    assert leftover == {"manifest.json", "pages", "links", "editions", "contents", "facts"}


def test_sql_answers_as_text_csv_and_json(crawled: Path, tmp_path: Path) -> None:
    copy = tmp_path / "crawl"
    shutil.copytree(crawled, copy, ignore=shutil.ignore_patterns("control.sock"))
    query = "select kind, count(*) n, min(source) s from links group by kind order by kind"
    rows = [json.loads(line) for line in asked(copy, query, "jsonl").splitlines()]
    assert json.loads(asked(copy, query, "json")) == rows
    assert [row["n"] for row in csv.DictReader(asked(copy, query, "csv").splitlines())] == [
        str(row["n"]) for row in rows
    ]
    lines = asked(copy, query, "text").splitlines()
    assert lines[0].split() == ["kind", "n", "s"]
    assert len(lines) == len(rows) + 1
    assert asked(copy, "select 1 as x where false", "json") == "[]\n"
    joined = asked(copy, "select target_state s, count(*) n from links group by 1", "jsonl")
    assert {json.loads(line)["s"] for line in joined.splitlines()} >= {"archived"}
    states = asked(copy, "select state, count(*) n from urls group by 1", "jsonl")
    found = {row["state"]: row["n"] for row in map(json.loads, states.splitlines())}
    assert found["archived"] >= gossamer.open(copy).status().pages
    assert "Tables are pages, urls, links" in say("sql", str(copy), "select * from page").err
    assert say("sql", str(copy), "select 1", "--format", "xml").code == 2
    assert set(asked(copy, "show tables", "csv").split()[1:]) == set(TABLES)
    assert asked(copy, 'select kind from changes order by "at"', "csv").startswith("kind")
    assert 'quotes, for AT is a word of SQL: "at"' in say("sql", str(copy), AT_BARE).err


def test_a_query_that_never_ends_is_ended_by_a_signal(crawled: Path) -> None:
    endless = (
        "with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) from t"
    )
    process = spawn([GOSSAMER, "sql", str(crawled), endless])
    for _ in range(60):  # the first may come before it has begun
        with suppress(subprocess.TimeoutExpired):
            process.wait(2)
            break
        process.send_signal(signal.SIGINT)
    assert finish(process).code == 3


def asked(folder: Path, query: str, form: str) -> str:
    return say("sql", str(folder), query, "--format", form).expect(0).out


def test_an_export_that_follows_gives_every_row_once(crawled: Path, tmp_path: Path) -> None:
    words = ("pages", "--format", "jsonl", "--follow")
    told = say("export", str(crawled), *words, "--to", "-").expect(0)
    export(crawled, *words, "--to", str(tmp_path))
    rows = json_rows(tmp_path / "pages.jsonl")
    followed = [json.loads(line) for line in told.out.splitlines()]
    assert sorted(row["url"] for row in followed) == sorted(row["url"] for row in rows)
