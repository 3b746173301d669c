"""Screen: facts in, what a person likes to read out. Strings from the web are made harmless."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from gossamer.cli.words import ENDINGS, meaning_of
from gossamer.log import escape, redact

PLAIN_EVERY = 5
"""Without a terminal, a line of progress is written at every fifth call (about five seconds)."""
_PLAIN_ROWS = (
    "state",
    "reason",
    "detail",
    "depth",
    "grade",
    "kind",
    "via",
    "target",
    "copy_of",
    "attempts",
)
_MIB = 1024 * 1024
UNWRAPPED = 1_000_000
"""Columns of a console that is no terminal; more than any line has."""
ALIKE = {"exact": "say exactly the same", "duplicate": "nearly the same", "similar": "are similar"}
"""What the levels of copies mean."""

Facts = Mapping[str, object]


def out(*, is_aside: bool = False) -> Console:
    """Return the console for what was asked for, or (aside) for everything else.

    Lines are wrapped for a terminal only: what reads a pipe or a file wants each line whole.
    """
    is_terminal = (sys.stderr if is_aside else sys.stdout).isatty()
    width = None if is_terminal else UNWRAPPED
    return Console(stderr=is_aside, highlight=False, soft_wrap=False, width=width)


def print_json(facts: Facts) -> None:
    """Write one JSON object as one line of standard output."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def harmless(text: object) -> str:
    """Return text from the web without secrets, and without anything that steers a terminal."""
    return escape(redact(str(text)))


@contextmanager
def progress(
    console: Console, *, is_live: bool = True, line: Callable[[Facts], Text] | None = None
) -> Iterator[Callable[[dict[str, object]], None]]:
    """Give a function that shows a crawl's status: one live line, or a plain line now and then."""
    shown = line or progress_line
    if console.is_terminal and is_live:
        # No thread that refreshes: shards start as forks, and a fork has none of our threads.
        with Live(Text("starting"), console=console, transient=True, auto_refresh=False) as live:
            yield lambda facts: live.update(shown(facts), refresh=True)
        return
    calls = iter(range(sys.maxsize))

    def tell(facts: dict[str, object]) -> None:
        if next(calls) % PLAIN_EVERY == 0:
            console.print(shown(facts).plain, soft_wrap=True)

    yield tell


def progress_line(facts: Facts) -> Text:
    """Return the crawl in one line: pages, rate, queue, active hosts, errors."""
    line = Text()
    line.append(f"{_int(facts, 'pages'):,}", "bold green")
    line.append(f" pages · {facts.get('pages_per_s', 0)}/s · ")
    line.append(f"{_int(facts, 'queued'):,}", "bold")
    line.append(f" queued · {_int(facts, 'active_hosts'):,} active hosts · ")
    errors = sum(_counts(facts, "failed").values())
    line.append(f"{errors:,} errors", "red" if errors else "")
    if paused := facts.get("paused"):
        line.append(f" · paused: {harmless(paused)}", "yellow")
    if facts.get("stop_reason"):
        line.append(" · stopping (Ctrl-C again stops at once)", "yellow")
    return line


def summary(ending: str, facts: Facts, folder: Path) -> RenderableType:
    """Return the end of a run: what was had, where it lies, what was not had, what to do next."""
    parts: list[RenderableType] = [
        Text(ENDINGS.get(ending, f"Stopped: {harmless(ending)}."), "bold"),
        _numbers(facts, folder),
        *_reasons(facts),
        _next_steps(ending, folder),
    ]
    return Group(*parts)


def status_view(facts: Facts, folder: Path) -> RenderableType:
    """Return the standing of a crawl."""
    if facts.get("running"):
        head = progress_line(facts)
    elif facts.get("finished"):
        head = Text("Finished: nothing is left to fetch.", "bold")
    else:
        head = Text("Not running; `gossamer crawl --into` this folder goes on.", "bold")
    return Group(head, _numbers(facts, folder), *_reasons(facts))


def why_view(facts: Facts) -> RenderableType:
    """Return everything known about one URL: the sentence first, then the facts."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _why_rows(facts):
        table.add_row(name, Text(harmless(value)))
    meaning = meaning_of(str(facts.get("reason") or ""))
    sentence = Text(harmless(facts.get("explanation", "")), "bold")
    if meaning:
        sentence.append(f" ({facts['reason']}: {meaning}.)", "not bold")
    return Group(sentence, Text(), table)


def copies_view(facts: Facts) -> RenderableType:
    """Return the clusters of pages that say the same: the original first, then the others."""
    parts: list[RenderableType] = []
    for cluster in _list(facts, "clusters"):
        if isinstance(cluster, Mapping):
            parts.append(Text(harmless(cluster["original"]), "bold"))
            parts += [
                Text(f"  {one['level']:9} {one['bins']:2}/64  {harmless(one['url'])}")
                for one in _list(cluster, "members")
                if isinstance(one, Mapping)
            ]
    counts = _counts(facts, "pages")
    told = ", ".join(f"{counts.get(level, 0):,} {words}" for level, words in ALIKE.items())
    return Group(*parts, Text(f"{(len(parts) and told) or 'No page says what another one says.'}"))


def _why_rows(facts: Facts) -> Iterator[tuple[str, object]]:
    yield "url", facts.get("url")
    if facts.get("canonical") != facts.get("url"):
        yield "canonical", facts.get("canonical")
    for step in _list(facts, "steps"):
        yield "", step
    for name in _PLAIN_ROWS:
        if facts.get(name) not in (None, "") and (name, facts[name]) != ("attempts", 0):
            yield name.replace("_", " "), facts[name]
    if isinstance(rank := facts.get("rank"), float):
        yield "rank", f"{rank:.3g} times the mean"
    near = facts.get("near")
    if isinstance(near, Mapping):
        yield (
            "near",
            f"{near['level']}: {near['original'] or near['key']}, {near['bins']} of 64 bins",
        )
    yield from _verdict_rows(facts)
    if facts.get("fingerprint"):
        yield "key", f"{facts['fingerprint']} ring {facts.get('ring')} shard {facts.get('shard')}"
    yield from _time_rows(facts)


def _time_rows(facts: Facts) -> Iterator[tuple[str, object]]:
    looks = facts.get("watch")
    if isinstance(looks, Mapping) and looks.get("next_look_at") is not None:
        yield "next look", _moment(looks["next_look_at"])
    if facts.get("next_at") is not None:
        yield "next", f"{_moment(facts['next_at'])} {facts.get('next_reason') or ''}".rstrip()
    for visit in _list(facts, "visits"):
        if isinstance(visit, Mapping):
            yield "visit", _visit(visit)


def _verdict_rows(facts: Facts) -> Iterator[tuple[str, object]]:
    robots = facts.get("robots")
    if isinstance(robots, Mapping):
        verdict = "allowed" if robots.get("allowed") else "forbidden"
        line = f" by line {robots['number']}: {robots['line']}" if robots.get("line") else ""
        delay = robots.get("crawl_delay_s")
        yield "robots", verdict + line + (f", crawl-delay {delay} s" if delay else "")
    refusal = facts.get("filter")
    if isinstance(refusal, Mapping):
        yield "filter", f"{refusal.get('reason')}: {refusal.get('detail')}".rstrip(": ")


def _visit(visit: Facts) -> str:
    words = [_moment(visit.get("at")), str(visit.get("status") or ""), str(visit.get("state"))]
    if visit.get("reason"):
        words.append(str(visit["reason"]))
    if visit.get("file"):
        words.append(f"{visit['file']} at {visit['offset']}, {visit['length']} bytes")
    return "  ".join(word for word in words if word)


def _numbers(facts: Facts, folder: Path) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    pages, seconds = _int(facts, "pages"), facts.get("seconds", 0)
    copies, redirects = _int(facts, "revisits"), _int(facts, "redirects")
    table.add_row(
        "pages", f"{pages:,} stored, {_int(facts, 'html_pages'):,} of them HTML, {copies:,} copies"
    )
    if alike := _counts(facts, "copies"):
        told = (f"{alike.get(level, 0):,} {words}" for level, words in ALIKE.items())
        table.add_row("alike", ", ".join(told))
    if (looks := _counts(facts, "watch")).get("visits"):
        told = (f"{looks.get(name, 0):,} {name}" for name in ("changed", "unchanged", "gone"))
        table.add_row("watched", f"{looks['visits']:,} looks: {', '.join(told)}")
    table.add_row(
        "asked",
        f"{_int(facts, 'requests'):,} requests in {seconds:.1f} s, {redirects:,} redirects"
        if isinstance(seconds, float | int)
        else "",
    )
    queue = f"{_int(facts, 'queued'):,} queued, {_int(facts, 'in_flight'):,} in flight"
    known = f"{_int(facts, 'known_urls'):,} URLs known on {_int(facts, 'hosts'):,} hosts"
    table.add_row("known", f"{known}; {queue}")
    size = f"{_int(facts, 'archive_bytes') / _MIB:.1f} MiB of WARC"
    table.add_row("archive", Text(f"{escape(str(folder / 'archive'))} ({size})"))
    if lost := _int(facts, "lost_found"):
        files = "1 file that was" if lost == 1 else f"{lost:,} files that were"
        table.add_row("", f"{files} never committed moved to lost+found there")
    return table


def _reasons(facts: Facts) -> Iterator[RenderableType]:
    for name in ("refused", "failed"):
        counts = _counts(facts, name)
        if counts:
            table = Table(box=None, show_header=False, pad_edge=False, title_justify="left")
            table.title = Text(f"\n{name}", "dim")
            table.add_column(justify="right")
            table.add_column(no_wrap=True, style="yellow" if name == "refused" else "red")
            table.add_column(style="dim", overflow="fold")
            for reason, count in sorted(counts.items(), key=lambda pair: -pair[1]):
                table.add_row(f"{count:,}", Text(escape(reason)), meaning_of(reason))
            yield table
    if isinstance(told := facts.get("user_errors"), Mapping) and told:
        yield _user_errors(told)


def _user_errors(told: Facts) -> Table:
    """Return how often each function of the user's own raised, and what it raised last."""
    table = Table(box=None, show_header=False, pad_edge=False, title_justify="left")
    table.title = Text("\nyour own functions failed", "dim")
    table.add_column(justify="right")
    table.add_column(no_wrap=True, style="red")
    table.add_column(style="dim", overflow="fold")
    for name, errors in told.items():
        if isinstance(errors, Mapping):
            last = Text(f"last: {harmless(errors.get('error', ''))}")
            table.add_row(f"{_int(errors, 'count'):,}", Text(harmless(name)), last)
    return table


def _next_steps(ending: str, folder: Path) -> Text:
    where = escape(str(folder))
    steps = [f"gossamer status {where}", f"gossamer why {where} URL", f"gossamer show {where} URL"]
    steps += [f"gossamer search {where} WORDS", f"gossamer serve {where}   (in a browser)"]
    if ending == "watched":
        steps.insert(0, f"gossamer watch {where}   (goes on)")
    elif ending not in {"finished", "no_seed"}:
        steps.insert(0, f"gossamer crawl --into {where}   (goes on)")
    return Text("\nnext:  " + "\n       ".join(steps), "dim")


def _moment(at: object) -> str:
    if not isinstance(at, float | int):
        return ""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _int(facts: Facts, name: str) -> int:
    value = facts.get(name, 0)
    return value if isinstance(value, int) else 0


def _counts(facts: Facts, name: str) -> dict[str, int]:
    value = facts.get(name)
    items = value.items() if isinstance(value, Mapping) else ()
    return {str(name): count for name, count in items if isinstance(count, int)}


def _list(facts: Facts, name: str) -> list[object]:
    value = facts.get(name)
    return list(value) if isinstance(value, list | tuple) else []
