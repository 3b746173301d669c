"""Files of rows: cells that spreadsheets open, names of files, front matter."""

import csv
import io
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from gossamer.tables.arrow import arrow_batch, arrow_schema
from gossamer.tables.rows import Batch, host_and_domain, word_count
from gossamer.tables.schema import PAGES, Column, ColumnType
from gossamer.tables.writers import (
    CsvRows,
    JsonLines,
    MarkdownPages,
    moment,
    page_file,
    plain_cell,
    plain_json,
)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-2", "@x", "\tx", "\rx", "=HYPERLINK(A1)"])
def test_a_cell_that_begins_like_a_formula_gets_an_apostrophe(text: str) -> None:
    assert plain_cell(text) == f"'{text}"


def test_control_characters_are_left_out_and_line_breaks_kept() -> None:
    assert plain_cell("a\x00b\x1b[31mc\nd\te\x9b") == "ab[31mc\nd\te"
    assert plain_cell("\x00=1+1") == "'=1+1"


def test_csv_leaves_numbers_alone_and_quotes_what_it_must() -> None:
    file = io.BytesIO()
    columns = (
        Column("a", "string", ""),
        Column("n", "integer", ""),
        Column("h", "strings", ""),
        Column("at", "timestamp", ""),
    )
    writer = CsvRows(file, columns, is_closed=False)
    writer.write(
        Batch({"a": ['x,"y"\nz', "=1"], "n": [-5, None], "h": [["a"], None], "at": [0.25, None]})
    )
    writer.close()
    rows = list(csv.reader(io.StringIO(file.getvalue().decode(), newline="")))
    assert rows == [
        ["a", "n", "h", "at"],
        ['x,"y"\nz', "-5", '["a"]', "1970-01-01T00:00:00.250Z"],
        ["'=1", "", "", ""],
    ]


def test_json_lines_have_notes_as_json_and_what_is_not_known_as_null() -> None:
    file = io.BytesIO()
    columns = (Column("notes", "json", ""), Column("at", "timestamp", ""))
    JsonLines(file, columns, is_closed=False).write(
        Batch({"notes": ['{"a":1}', None], "at": [None, 1.0]})
    )
    assert file.getvalue().decode().splitlines() == [
        '{"notes":{"a":1},"at":null}',
        '{"notes":null,"at":"1970-01-01T00:00:01.000Z"}',
    ]


def test_front_matter_is_not_broken_by_titles() -> None:
    found: list[tuple[str, str]] = []
    columns = [Column(name, "string", "") for name in ("url", "title", "text")]
    pages = MarkdownPages(lambda url, text: found.append((url, text)), columns)
    title = 'a "b"\n---\nc: d'
    pages.write(Batch({"url": ["http://a.test/"], "title": [title], "text": ["# x\n"]}))
    url, text = found[0]
    assert url == "http://a.test/"
    assert text == '---\nurl: "http://a.test/"\ntitle: "a \\"b\\"\\n---\\nc: d"\n---\n\n# x\n'


def test_no_two_urls_share_a_file_and_no_name_leaves_its_folder() -> None:
    urls = [
        "http://a.test/x",
        "http://a.test/X",
        "http://a.test/x/",
        "http://a.test/x?y=1",
        "http://a.test/../../etc/passwd",
        "http://a.test/" + "y" * 500,
        "http://a.test:80/..%2f",
        "http://../x",
    ]
    names = [page_file(url) for url in urls]
    assert len({name.lower() for name in names}) == len(urls)
    for name in names:
        folder, _, file = name.partition("/")
        assert folder.strip(".")
        assert "/" not in file
        assert len(file) < 120


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        ("", "en", 0),
        ("  one two\tthree\nfour ", "en", 4),
        ("one", "", 1),
        ("日本語 です and", "ja", 6),
        ("日本語 です", "en", 2),
    ],
)
def test_words_stand_between_blanks_and_letters_count_where_there_are_none(
    text: str, language: str, words: int
) -> None:
    assert word_count(text.encode(), language) == words


def test_neither_a_host_nor_a_domain_has_a_port() -> None:
    assert host_and_domain("http://www.a.co.uk:8100/x") == ("www.a.co.uk", "a.co.uk")
    assert host_and_domain("http://[::1]:80/") == ("[::1]", "[::1]")
    assert host_and_domain("mailto:a@b.test") == ("", "")


def test_a_moment_that_no_calendar_has_is_not_known() -> None:
    assert moment(1e20) is None
    assert moment(0.0) == "1970-01-01T00:00:00.000Z"


def test_json_for_a_terminal_has_no_control_characters() -> None:
    data = msgspec.json.encode("\x1b[2J \x9b2J \x7f \xa7")
    assert plain_json(data) == b'"\\u001b[2J \\u009b2J \\u007f \xc2\xa7"'
    assert msgspec.json.decode(plain_json(data)) == "\x1b[2J \x9b2J \x7f \xa7"


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("string", ("a", None, "", "\u65e5\u672c"), ["a", None, "", "\u65e5\u672c"]),
        ("integer", [None, -1, 2**62], [None, -1, 2**62]),
        ("double", [0.5, None, 2.0], [0.5, None, 2.0]),
        ("strings", [["a", "b"], None, [], ["c"]], [["a", "b"], None, [], ["c"]]),
        ("timestamp", [1.5, None], [datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC), None]),
        ("json", ['{"a":1}'] * 9, ['{"a":1}'] * 9),
    ],
)
def test_arrow_has_the_values_of_every_type(
    kind: ColumnType, values: Sequence[object], expected: list[object]
) -> None:
    columns = (Column("one", kind, ""),)
    schema = arrow_schema(columns, PAGES)
    found = arrow_batch(Batch({"one": values}), columns, schema)
    found.validate(full=True)
    assert found.column("one").to_pylist() == expected
    assert len(arrow_batch(Batch({"one": []}), columns, schema)) == 0


def test_parquet_is_written_without_pandas(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from gossamer.tables.arrow import ParquetRows;"
        "from gossamer.tables import LINKS; from gossamer.tables.rows import Batch;"
        f"rows = ParquetRows(Path({str(tmp_path / 'x.parquet')!r}), LINKS, LINKS.columns[:1]);"
        "rows.write(Batch({'source': ['a']})); rows.close(); sys.exit('pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
