"""Write docs/TABLES.md from the schema of the tables. `make docs` runs it."""

from collections.abc import Iterator
from pathlib import Path

from gossamer.tables import SCHEMA_VERSION, STRUCTURED, TABLES, TEXT, Column, TableSchema

PATH = Path(__file__).parents[2] / "docs" / "TABLES.md"

_TYPES = {
    "string": "string",
    "integer": "int64",
    "double": "double",
    "timestamp": "timestamp[ms, UTC]",
    "strings": "list<string>",
    "json": "string (JSON)",
}

_OPENING = f"""# The tables of a crawl

Everything that a crawl knows, as tables (`gossamer.tables`, schema version {SCHEMA_VERSION}).
This page is generated from `src/gossamer/tables/schema.py`.

Types are those of Parquet and Arrow. In CSV, JSON Lines and SQLite a timestamp is text in ISO 8601
(`2026-11-16T18:08:03.250Z`); a list is an array in JSON Lines, and the text of a JSON array in CSV
and SQLite. What is not known is empty: a text without characters (`copy_of = ''`), for other types
null in Parquet, SQLite and JSON Lines; nothing in CSV.

*joined*: the value changes while a crawl goes on, so it is not kept in the parts of a table but
added from the state, the graph and the ranks of one moment when the table is read.
"""


def generated() -> str:
    """Return the page as it should be."""
    return "\n".join([_OPENING, *(line for table in TABLES.values() for line in _table(table))])


def _table(table: TableSchema) -> Iterator[str]:
    yield f"## `{table.name}`"
    yield ""
    yield table.doc
    yield ""
    yield "| column | type | |"
    yield "|---|---|---|"
    more = (TEXT, STRUCTURED) if table.name == "pages" else ()
    yield from (_column(column) for column in (*table.columns, *more))
    yield ""


def _column(column: Column) -> str:
    doc = f"{column.doc} *joined*" if column.is_joined else column.doc
    return f"| `{column.name}` | {_TYPES[column.type]} | {doc} |"


if __name__ == "__main__":
    PATH.write_text(generated(), encoding="utf-8")
