"""`gossamer changes`: pages that are new, changed, gone or back; as text, rows or a feed."""

import csv
import json as jsons
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from rich.text import Text

from gossamer.cli.options import Folder, Json
from gossamer.cli.parameters import option
from gossamer.cli.screen import as_json, harmless, iso_moment, out, print_json, shown_moment
from gossamer.cli.updating import crawl_folder
from gossamer.clock import SystemClock
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.log import plural

if TYPE_CHECKING:
    from gossamer import PageChange

Format: TypeAlias = Literal["text", "jsonl", "csv"]
KINDS = ("new", "changed", "gone", "back")
MARKS = {
    "new": ("+", "green"),
    "changed": ("~", "yellow"),
    "gone": ("-", "red"),
    "back": ("^", "cyan"),
}
COLUMNS = ("url", "at", "kind", "similarity", "added", "removed")
"""Those of the table `changes`."""
SHOWN_CHARS = 500
"""Of a line that differs, for people."""
STANDARD_ERROR = 2
SOMETHING = 1
"""The exit code that `--exit-code` asks for if there are changes."""


Since = Annotated[
    str | None,
    option(
        "--since",
        metavar="TIME",
        help='Only what was noticed since then: 2026-11-01, yesterday, "2 days ago"; or last: '
        "since this was last asked so (last:NAME for several who ask).",
    ),
]
Selector = Annotated[
    str,
    option(
        "--selector",
        metavar="CSS",
        help="Only changes inside elements that match, of pages that have such elements.",
    ),
]
Lines = Annotated[
    int, option("--lines", min=0, help="Lines before and after that are shown of a page.")
]
Feed = Annotated[
    Path | None,
    option("--feed", metavar="FILE", help="Add them to an Atom feed, or make one."),
]
FeedMax = Annotated[
    int, option("--feed-max", min=1, help="Entries that the feed keeps, newest first.")
]
Notify = Annotated[
    str,
    option(
        "--notify",
        metavar="CMD",
        help="Run this with the shell if there are changes: JSON on its standard input, "
        "$GOSSAMER_CHANGES has their number.",
    ),
]
NotifyTimeout = Annotated[
    float, option("--notify-timeout", metavar="S", help="End it after so many seconds.")
]
ExitCode = Annotated[bool, option("--exit-code", help="Exit with 1 if there are changes.")]
FormatOption = Annotated[Format, option("--format", help="text, jsonl (one object a line) or csv.")]


def changes(
    folder: Folder,
    *,
    since: Since = None,
    selector: Selector = "",
    lines: Lines = 20,
    feed: Feed = None,
    feed_max: FeedMax = 200,
    notify: Notify = "",
    notify_timeout: NotifyTimeout = 60.0,
    exit_code: ExitCode = False,
    format_: FormatOption = "text",
    json: Json = False,
) -> int:
    """Which pages are new, changed, gone or back, from the visits of `crawl` and `watch`.

    Nothing is written if nothing has changed, so that cron sends no mail. With --since last, what
    was told counts as told only when feed and command have it, too.
    """
    from gossamer import OpenCrawl

    try:
        asked = OpenCrawl(crawl_folder(folder)).changes(since, selector=selector)
    except ConfigError as error:
        flag = "--selector" if "selector" in str(error) else "--since"
        raise ConfigError(f"{flag}: {error}") from None
    found = sorted(asked, key=lambda one: (one.at, one.url))
    facts: dict[str, object] = {
        "folder": str(folder.absolute()),
        "since": asked.since_at,
        "counts": _counts(found),
        "changes": [as_json(one) for one in found],
    }
    if json:
        print_json(facts)
    elif format_ == "jsonl":
        for one in found:
            print_json(_row(one))
    elif format_ == "csv":
        _write_csv(found)
    else:
        _show(found, lines, asked.since_at)
    if feed is not None:
        _write_feed(folder, feed, found, feed_max)
    if notify and found:
        _notify(notify, facts, found, notify_timeout)
    if asked.mark:
        asked.remember()
    return SOMETHING if exit_code and found else 0


def _counts(found: "Sequence[PageChange]") -> dict[str, int]:
    counts: Counter[str] = Counter(one.kind for one in found)
    return {kind: counts[kind] for kind in KINDS}


def _show(found: "Sequence[PageChange]", lines: int, since_at: float | None) -> None:
    """Print the changes for people, by kind; the lines before and after below each page."""
    console = out()
    if not found and console.is_terminal:
        then = f" since {shown_moment(since_at)}" if since_at is not None else ""
        console.print(f"Nothing has changed{then}.")
    for kind, count in _counts(found).items():
        mark, style = MARKS[kind]
        if count:
            console.print(Text(f"{count:,} {kind}", "bold"))
        for one in found:
            if one.kind == kind:
                line = Text(f"{mark} {harmless(one.url)}", style)
                console.print(line.append(_aside(one), "dim"), soft_wrap=True)
                _show_lines(one, lines)


def _aside(one: "PageChange") -> str:
    """Return what follows the URL: when, how much, and what it is."""
    parts = [shown_moment(one.at)]
    if one.similarity is not None:
        parts.append(f"+{one.added} -{one.removed} lines, {one.similarity:.0%} the same")
    parts += [harmless(part) for part in (one.detail, one.title) if part]
    return "  " + " · ".join(parts)


def _show_lines(one: "PageChange", most: int) -> None:
    console = out()
    for line in one.lines[:most]:
        style = "green" if line.startswith("+") else "red"
        console.print(
            Text(f"    {line[:1]} {harmless(line[1:SHOWN_CHARS])}", style), soft_wrap=True
        )
    if (left := len(one.lines) - most) > 0 and most:
        console.print(Text(f"    ({left:,} more {plural(left, 'line')})", "dim"))


def _row(one: "PageChange") -> dict[str, object]:
    """Return a change as a row: moments are text, as in the table."""
    return {**as_json(one), "at": iso_moment(one.at), "before_at": iso_moment(one.before_at)}


def _write_csv(found: "Sequence[PageChange]") -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in found:
        facts = _row(one)
        writer.writerow(["" if facts[name] is None else facts[name] for name in COLUMNS])
    sys.stdout.flush()


def _write_feed(folder: Path, path: Path, found: "Sequence[PageChange]", most: int) -> None:
    from gossamer import write_feed

    title = f"Changes in {folder.absolute().name}"
    try:
        write_feed(path, found, title=title, now=SystemClock().wall(), most=most)
    except ConfigError as error:
        raise ConfigError(f"--feed: {error}") from None


def _notify(
    command: str, facts: dict[str, object], found: "Sequence[PageChange]", timeout_s: float
) -> None:
    """Run a command of the user's own once. What pages say reaches it by its standard input only.

    What it prints goes to our standard error.
    """
    counts = {f"GOSSAMER_{kind.upper()}": str(n) for kind, n in _counts(found).items()}
    told = {"GOSSAMER_CHANGES": str(len(found)), "GOSSAMER_FOLDER": str(facts["folder"])}
    process = subprocess.Popen(  # noqa: S603 - the user's own words, and nothing else
        ["/bin/sh", "-c", command],
        stdin=subprocess.PIPE,
        stdout=STANDARD_ERROR,
        env={**os.environ, **counts, **told},
        start_new_session=True,
    )
    try:
        process.communicate(jsons.dumps(facts).encode(), timeout=timeout_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise CannotGoOn(
            f"--notify: the command took longer than {timeout_s:g} s and was ended; "
            "with --since last the changes are told again"
        ) from None
    code = process.returncode
    if code:
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        again = "with --since last the changes are told again"
        raise CannotGoOn(f"--notify: the command {how}; {again}")
