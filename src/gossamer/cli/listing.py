"""`gossamer list`: URLs, pages, hosts and links of a crawl, one per line."""

import os
import sys
from typing import Annotated, Any

from gossamer.cli.options import REQUIRED, Folder, declare
from gossamer.cli.parameters import argument, option
from gossamer.cli.updating import crawl_folder
from gossamer.errors import ConfigError

TABLES = ("urls", "pages", "hosts", "links")
BY_FLAG = {
    "failed": ("failed",),
    "refused": ("refused",),
    "queued": ("queued", "parked"),
    "held": ("held",),
}
"""The states that a flag means; what is parked is queued, too."""


def list_rows(**given: Any) -> None:  # noqa: ANN401 - the parser hands over what is declared below
    """List the URLs, pages, hosts or links of a crawl, one per line.

    Columns are separated by tabs; the URL, or the host, comes first.

    urls: url, state, reason, status, via, detail

    pages: url, status, media_type, language, bytes, title

    hosts: host, pages, failed, refused, queued, bytes, robots, gap_s, median_ms

    links: source, target, kind, target_state, target_status, anchor

    jsonl and csv have all columns; docs/TABLES.md says what they mean.
    """
    from gossamer import OpenCrawl

    table, format_name = _table(given["table"]), given["format"]
    if given["json"]:
        if format_name not in {None, "jsonl"}:
            raise ConfigError(f"--json is --format jsonl: leave out --format {format_name}")
        format_name = "jsonl"
    flags = [name for name in BY_FLAG if given[name]]
    if flags and table == "pages":
        raise ConfigError(
            f"--{flags[0]}: pages are all archived; `gossamer list DIR urls --{flags[0]}` lists "
            "what is not"
        )
    states = {state for name in flags for state in BY_FLAG[name]} | {*(given["state"] or ())}
    file = sys.stdout.buffer
    try:
        OpenCrawl(crawl_folder(given["folder"])).table(table).write_list(
            file,
            format=format_name or "text",
            states=states,
            reasons=given["reason"] or (),
            host=given["host"] or "",
            limit=given["limit"],
            header=sys.stdout.isatty(),
        )
    except BrokenPipeError:  # the reader has seen enough; Python would say so once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _table(name: str) -> Any:  # noqa: ANN401 - one of the names that the API has as literals
    if name not in TABLES:
        raise ConfigError(f"there is no list of {name!r}; expected {', '.join(TABLES)}")
    return name


def _flag(name: str, help_text: str) -> tuple[str, object, object]:
    return name, Annotated[bool, option(f"--{name}", help=help_text)], False


declare(
    list_rows,
    ("folder", Folder, REQUIRED),
    (
        "table",
        Annotated[str, argument(metavar="|".join(TABLES), help="What is listed.")],
        REQUIRED,
    ),
    _flag("failed", "URLs that were given up; links to them; hosts that have some."),
    _flag("refused", "URLs and links that filters or robots.txt refused."),
    _flag("queued", "URLs that wait, those of hosts that are down included."),
    _flag("held", "URLs that suspected traps hold."),
    (
        "state",
        Annotated[
            list[str] | None,
            option(
                "--state", metavar="S", help="archived, redirected, gone, parked, ... Repeatable."
            ),
        ],
        None,
    ),
    (
        "reason",
        Annotated[
            list[str] | None,
            option(
                "--reason", metavar="R", help="URLs that failed or were refused for it. Repeatable."
            ),
        ],
        None,
    ),
    (
        "host",
        Annotated[
            str | None,
            option("--host", metavar="H", help="Only of this host; of links, their source."),
        ],
        None,
    ),
    (
        "limit",
        Annotated[int | None, option("--limit", metavar="N", min=0, help="At most so many.")],
        None,
    ),
    (
        "format",
        Annotated[
            str | None,
            option("--format", metavar="text|jsonl|csv", help="text unless told otherwise."),
        ],
        None,
    ),
    ("json", Annotated[bool, option("--json", help="The same as --format jsonl.")], False),
)
