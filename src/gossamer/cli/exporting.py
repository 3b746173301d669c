"""`gossamer export`: the tables of a crawl as files that other programs open."""

from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import REQUIRED, Folder, Json, declare
from gossamer.cli.parameters import argument, option
from gossamer.cli.parsing import wrong_usage
from gossamer.cli.screen import as_json, harmless, out, print_json
from gossamer.cli.updating import crawl_folder, telling
from gossamer.errors import ConfigError
from gossamer.log import counted

if TYPE_CHECKING:
    from gossamer import Exported, ExportOptions

STDOUT = "-"
TEXTS = ("none", "plain", "markdown", "main", "html")


def export(**given: Any) -> None:  # noqa: ANN401 - the parser hands over what is declared below
    """Write tables of a crawl as Parquet, JSON Lines, CSV, SQLite or Markdown, or its pages.

    Tables are pages, urls, links, hosts, changes and images; without names, all
    of them. --format warc, wacz (--to FILE.wacz) and mirror (a folder that opens in
    a browser) take whole pages instead, with the same filters. Each file appears
    under its name when it is whole. Parquet and --where need
    `pip install 'gossamer[tables]'`. docs/TABLES.md lists the columns.
    """
    from gossamer import OpenCrawl
    from gossamer.linux import keep_freed_memory

    crawl = OpenCrawl(crawl_folder(given["folder"]))
    tables = given["tables"] or []
    for name in tables:
        crawl.table(name)  # it says which there are
    if not given["to"]:
        raise wrong_usage("Missing option '--to'", "gossamer export")
    options, to = _options(given), given["to"]
    keep_freed_memory()
    if given["follow"]:
        exported: Exported | None = None
        for exported in crawl.tables().follow_export(to, tables, options):
            out(is_aside=True).print(_told(exported))
    else:
        with telling("tables") as tell:
            exported = crawl.export(to, tables, options, tell)
    if exported is not None and to != STDOUT:
        if given["json"]:
            print_json(as_json(exported))
        else:
            out().print(_told(exported), markup=False, soft_wrap=True)


def _options(given: dict[str, Any]) -> "ExportOptions":
    from gossamer import ExportOptions, RowFilters, moment_since

    if given["text"] not in TEXTS:
        raise ConfigError(f"--text: expected {', '.join(TEXTS)}, found {given['text']!r}")
    filters = RowFilters(
        where=given["where"],
        since=moment_since(given["since"]) if given["since"] else None,
        languages=tuple(given["lang"] or ()),
        min_words=given["min_words"],
        no_copies=given["no_copies"],
        hosts=tuple(given["host"] or ()),
    )
    return ExportOptions(
        format=given["format"],
        text=given["text"],
        structured=given["structured"],
        filters=filters,
    )


_WHOLE = {"records": "record", "files": "file"}


def _told(exported: "Exported") -> str:
    rows = ", ".join(
        counted(count, _WHOLE[name]) if name in _WHOLE else f"{counted(count, 'row')} of {name}"
        for name, count in exported.rows.items()
    )
    files = f" in {', '.join(map(harmless, exported.files))}" if exported.files else ""
    return f"{rows}{files}"


declare(
    export,
    ("folder", Folder, REQUIRED),
    (
        "tables",
        Annotated[
            list[str] | None,
            argument(metavar="[TABLE]...", help="pages, urls, links, hosts and so on."),
        ],
        None,
    ),
    (
        "to",
        Annotated[
            str,
            option(
                "--to",
                metavar="PLACE",
                help="A folder, a file for one table (pages.csv), - for standard output, or an "
                "object store (s3://BUCKET/PREFIX). [required]",
            ),
        ],
        "",
    ),
    (
        "format",
        Annotated[
            str,
            option(
                "--format",
                metavar="FORMAT",
                help="parquet, jsonl, csv, sqlite, markdown; warc, wacz, mirror.",
            ),
        ],
        "parquet",
    ),
    (
        "text",
        Annotated[
            str,
            option("--text", metavar="|".join(TEXTS), help="Add the text of pages."),
        ],
        "none",
    ),
    (
        "structured",
        Annotated[
            bool,
            option("--structured", help="Add JSON-LD, microdata and OpenGraph of pages, as JSON."),
        ],
        False,
    ),
    (
        "where",
        Annotated[
            str,
            option("--where", metavar="SQL", help="Only rows for which a condition holds."),
        ],
        "",
    ),
    (
        "since",
        Annotated[
            str,
            option("--since", metavar="T", help="Only what is newer: 2026-11-01, or '2 days ago'."),
        ],
        "",
    ),
    (
        "lang",
        Annotated[
            list[str] | None,
            option("--lang", metavar="L", help="Only pages in a language. Repeatable."),
        ],
        None,
    ),
    (
        "host",
        Annotated[
            list[str] | None,
            option("--host", metavar="H", help="Only one host. Repeatable."),
        ],
        None,
    ),
    (
        "min_words",
        Annotated[int, option("--min-words", min=0, metavar="N", help="Only pages of N words.")],
        0,
    ),
    (
        "no_copies",
        Annotated[bool, option("--no-copies", help="Leave out copies of other pages.")],
        False,
    ),
    (
        "follow",
        Annotated[bool, option("--follow", help="Go on while the crawl runs.")],
        False,
    ),
    ("json", Json, False),
)
