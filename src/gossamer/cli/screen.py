"""Screen: facts in, what a person likes to read out. Strings from the web are made harmless."""

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from gossamer.cli.words import (
    CERTIFICATES,
    ENDINGS,
    HELD_FOR,
    advice_on,
    meaning_of,
)
from gossamer.log import counted, escape, plural, redact

if TYPE_CHECKING:
    from msgspec import Struct

    from gossamer import (
        CopyClusters,
        Edition,
        HostSettings,
        PastVisit,
        RoundTotals,
        Status,
        StoreState,
        UserErrors,
        Why,
    )

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
    "region",
    "region_rule",
)
MIB = 1024 * 1024
_TRAILING_BLANKS = re.compile(r" +$", re.MULTILINE)
UNWRAPPED = 1_000_000
"""Columns of a console that is no terminal; more than any line has."""
UNITS_TOLD = 8
"""So many parts of sites that hold URLs are named."""
LABELS_TOLD = EDITIONS_TOLD = 20
LABELLED = {
    "challenge": "behind a login or challenge page",
    "needs_javascript": "that need JavaScript",
    "soft_not_found": "that say they were not found",
}
"""Labels of pages, in words."""
ALIKE = {"exact": "say exactly the same", "duplicate": "nearly the same", "similar": "are similar"}
"""What the levels of copies mean."""

Facts = Mapping[str, object]


def out(*, is_aside: bool = False) -> Console:
    """Return the console for what was asked for, or (aside) for everything else.

    Lines are wrapped and filled up for a terminal only: what reads a pipe or a file wants each
    line whole, and nothing behind it.
    """
    stream = sys.stderr if is_aside else sys.stdout
    if stream.isatty():
        return Console(stderr=is_aside, highlight=False, soft_wrap=False)
    file: Any = _TrimmedLines(stream)  # it has what rich needs of a file
    return Console(file=file, highlight=False, soft_wrap=False, width=UNWRAPPED)


class _TrimmedLines:
    """A pipe or file to which lines go without the blanks that fill up the columns of a table."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.encoding = stream.encoding

    def write(self, text: str) -> int:
        """Write some lines."""
        return self._stream.write(_TRAILING_BLANKS.sub("", text))

    def flush(self) -> None:
        """Write what waits."""
        self._stream.flush()

    def isatty(self) -> bool:
        """Return False: this is not for terminals."""
        return False


def print_json(facts: Facts) -> None:
    """Write one JSON object as one line of standard output."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def as_json(answer: "Struct") -> dict[str, object]:
    """Return an answer with the keys that --json prints."""
    from gossamer import as_json as plain

    return plain(answer)


def harmless(text: object) -> str:
    """Return text from the web without secrets, and without anything that steers a terminal."""
    return escape(redact(str(text)))


@contextmanager
def progress(
    console: Console, *, is_live: bool = True, line: "Callable[[Status], Text] | None" = None
) -> "Iterator[Callable[[Status], None]]":
    """Give a function that shows a crawl's status: one live line, or a plain line now and then."""
    shown = line or progress_line
    told: set[str] = set()

    def tell_failures(status: "Status") -> None:
        for url, cause in status.seed_failures.items():
            if url not in told:
                told.add(url)
                words = f"cannot fetch {harmless(url)}: {harmless(cause)}"
                console.print(Text(words, "yellow"), soft_wrap=True)

    if console.is_terminal and is_live:
        # No thread that refreshes: shards start as forks, and a fork has none of our threads.
        with Live(Text("starting"), console=console, transient=True, auto_refresh=False) as live:

            def show(status: "Status") -> None:
                tell_failures(status)
                live.update(shown(status), refresh=True)

            yield show
        return
    calls = iter(range(sys.maxsize))

    def tell(status: "Status") -> None:
        tell_failures(status)
        if next(calls) % PLAIN_EVERY == 0:
            console.print(shown(status).plain, soft_wrap=True, markup=False)

    yield tell


def progress_line(status: "Status", place: str = "DIR") -> Text:
    """Return the crawl in one line: pages, rate, queue, active hosts, errors.

    `place` is what commands name it by.
    """
    from gossamer import waiting_words

    line = Text()
    line.append(f"{status.pages:,}", "bold green")
    line.append(f" {plural(status.pages, 'page')} · {status.pages_per_s}/s · ")
    line.append(f"{status.queued:,}", "bold")
    line.append(f" queued · {counted(status.active_hosts, 'active host')} · ")
    errors = sum(status.failed.values())
    line.append(counted(errors, "error"), "red" if errors else "")
    if status.held:
        line.append(f" · {status.held:,} held", "yellow")
    if status.parked_hosts:
        line.append(f" · {counted(status.parked_hosts, 'host')} down", "yellow")
    if waits := waiting_words(status, place):
        line.append(f" · {harmless(waits)}", "yellow")
    if status.stop_reason:
        line.append(" · stopping (Ctrl-C again stops at once)", "yellow")
    return line


def watch_line(status: "Status") -> Text:
    """Return a watch in one line: freshness, revisits and what they found, the queue."""
    from gossamer import waiting_words

    watch = status.watch
    line = Text()
    fresh = watch.expected_freshness
    line.append("fresh " + (f"{fresh:.1%}" if fresh is not None else "?"), "bold green")
    line.append(f" of {counted(watch.watched, 'page')} · {counted(watch.visits, 'revisit')}: ")
    line.append(f"{watch.changed:,} changed", "bold")
    line.append(f", {watch.unchanged:,} unchanged, {watch.gone:,} gone · ")
    line.append(f"{counted(status.pages, 'page')} stored · {status.queued:,} queued")
    if watch.due is not None and status.running:
        line.append(f" · {watch.due:,} due")
    if status.paused:
        line.append(f" · {harmless(waiting_words(status))}", "yellow")
    if status.stop_reason and status.running:
        line.append(" · stopping (Ctrl-C again stops at once)", "yellow")
    return line


def round_line(done: "RoundTotals") -> Text:
    """Return what a single round of revisits has done, in one line."""
    return Text(
        f"\nthis round: {counted(done.visits, 'revisit')}, {done.changed:,} changed, "
        f"{done.unchanged:,} unchanged, {done.gone:,} gone · {counted(done.new_pages, 'new page')}"
    )


def summary(
    ending: str, status: "Status", folder: Path | str, failed_seeds: "FailedSeeds | None" = None
) -> RenderableType:
    """Return the end of a run: what was stored and where, what was not, what to do next."""
    has_failed = bool(failed_seeds and failed_seeds.first) and not ending.startswith("no_seed")
    parts: list[RenderableType] = [
        Text(_ending_words(ending, status), "bold"),
        *([Text("Seeds that could not be fetched:")] if has_failed else []),
        *(
            _seed_lines(failed_seeds, folder, status.seed_failures)
            if failed_seeds and failed_seeds.first
            else ()
        ),
        _numbers(status, folder),
        *_reasons(status),
        *held_view(status, folder),
        *_retry_line(status, folder),
        _next_steps(ending, folder),
    ]
    return Group(*parts)


def _ending_words(ending: str, status: "Status") -> str:
    if ending == "finished" and status.held:
        held = counted(status.held, "URL that is held", "URLs that are held")
        return f"Finished: nothing is left to fetch but {held}."
    return ENDINGS.get(ending, f"Stopped: {harmless(ending)}.")


class FailedSeeds(NamedTuple):
    """Seeds that could not be fetched: what is known of the first, and how many there are."""

    first: "Sequence[FailedSeed]"
    total: int


class FailedSeed(NamedTuple):
    """A seed, and what is known of where it leads: itself, or what it redirects to in the end."""

    url: str
    why: "Why"


def _seed_lines(
    seeds: FailedSeeds, folder: Path | str, failures: Mapping[str, str]
) -> Iterator[Text]:
    for url, why in seeds.first:
        led = f"redirects to {harmless(why.url)}. " if why.url != url else ""
        told = Text.assemble(f"  {harmless(url)}  {led}", _explained(why))
        if not why.reason and (cause := failures.get(why.url, "")):
            reason, _, detail = cause.removeprefix("robots.txt: ").partition(": ")
            advice = advice_on(reason, detail)
            told.append(f" It failed: {harmless(cause)}.")
            told.append(f" What to do: {harmless(advice)}." if advice else "")
        yield told
    if more := seeds.total - len(seeds.first):
        yield Text(f"  and {more:,} more")
    command = f"gossamer why {shlex.quote(str(folder))} {shlex.quote(seeds.first[0].why.url)}"
    yield Text(f"`{harmless(command)}` says more.\n")


def status_view(status: "Status", folder: Path | str) -> RenderableType:
    """Return the status of a crawl."""
    from gossamer import waiting_words

    steered = status.store.url if status.store is not None and status.store.coordinator else "DIR"
    if status.running:
        head = progress_line(status, steered)
    elif status.finished:
        head = Text(_ending_words("finished", status), "bold")
    else:
        named = harmless(shlex.quote(str(folder)))
        how = f"--into {named}" if status.store is None else f"--into DIR --store {named}"
        if status.store is not None and status.store.coordinator:
            how = f"--cluster auto --store {named}"
        head = Text(f"Not running; `gossamer crawl {how}` goes on with it.", "bold")
        if status.taken_over:
            head = Text(f"Not running here: {harmless(status.taken_over)}.", "bold")
        if status.paused:
            head.append(f"\nIt is {harmless(waiting_words(status, steered))}.", "yellow")
    if status.store is not None:
        head.append(f"\n{store_words(status.store)}", "dim")
        for name, shards in status.store.nodes.items():
            numbers = ", ".join(map(str, shards))
            head.append(f"\n{harmless(name or 'one machine')}: shards {numbers}", "dim")
    return Group(head, _numbers(status, folder), *_reasons(status), *held_view(status, folder))


def store_words(store: "StoreState") -> str:
    """Return who runs a crawl that is kept in a store, and how new what is there is."""
    at = f"shipped {shown_moment(store.shipped_at)}, {store.age_s:,.0f} s ago"
    by = harmless(store.owner)
    if store.is_running:
        return f"Run by {by}; {at}."
    end = "ended" if store.has_ended else "shows no sign of life"
    return f"Last run by {by}, which {end}; {at}."


def held_view(status: "Status", folder: Path | str) -> Iterator[RenderableType]:
    """Return what is held, of which parts of sites and why, and what to do; nothing if none is."""
    if not status.held:
        return
    notes = sorted((note for note in status.traps if note.held), key=lambda note: -note.held)
    named = sum(note.held for note in notes[:UNITS_TOLD])
    table = Table(box=None, show_header=False, pad_edge=False, title_justify="left")
    table.title = Text(f"\n{held_words(status)}", "dim")
    table.add_column(justify="right")
    table.add_column(overflow="fold", style="yellow")
    table.add_column(style="dim", overflow="fold")
    for note in notes[:UNITS_TOLD]:
        why = f"{harmless(note.suspicion)}; {HELD_FOR.get(note.waits_for, note.waits_for)}"
        table.add_row(f"{note.held:,}", Text(harmless(note.unit)), Text(why))
    if more := status.held - named:
        parts = counted(len(notes) - UNITS_TOLD, "more part", "more parts")
        table.add_row(f"{more:,}", f"of {parts}" if len(notes) > UNITS_TOLD else "of others", "")
    yield table
    if notes:
        which = "it" if len(notes) == 1 else "the first"
        is_read_only = status.store is not None and not status.store.coordinator
        command = harmless(trust_command("DIR" if is_read_only else folder, notes[0].pattern))
        yield Text(f"If {which} is honest, `{command}` lets it go on.")


def held_words(status: "Status") -> str:
    """Return how many URLs are held, of how many parts of sites."""
    parts = sum(note.held > 0 for note in status.traps)
    of_parts = f" of {counted(parts, 'part of a site', 'parts of sites')}" if parts else ""
    return f"held: {counted(status.held, 'URL')}{of_parts}"


def trust_command(folder: Path | str, pattern: str) -> str:
    """Return the command that lets go what a pattern names."""
    return f"gossamer trust {shlex.quote(str(folder))} {shlex.quote(pattern)}"


def why_view(why: "Why") -> RenderableType:
    """Return everything known about one URL: the sentence first, then the details."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _why_rows(why):
        table.add_row(name, Text(harmless(value)))
    return Group(_explained(why, "bold"), Text(), table)


def _explained(why: "Why", style: str = "") -> Text:
    """Return the sentence about a URL, and what the reason in it means."""
    told = Text(harmless(why.explanation), style)
    if meaning := meaning_of(why.reason):
        told.append(f" ({why.reason}: {meaning}.)", "not bold")
    if why.state in {"failed", "refused"} and (advice := advice_on(why.reason, why.detail)):
        told.append(f" What to do: {harmless(advice)}.", "not bold")
    return told


def copies_view(copies: "CopyClusters") -> RenderableType:
    """Return the clusters of near-duplicates: the original first, then the others."""
    parts: list[RenderableType] = []
    for cluster in copies.clusters:
        parts.append(Text(harmless(cluster.original), "bold"))
        parts += [
            Text(f"  {one.level:9} {one.bins:2}/64  {harmless(one.url)}") for one in cluster.members
        ]
    told = ", ".join(f"{copies.pages.get(level, 0):,} {words}" for level, words in ALIKE.items())
    return Group(*parts, Text(told if parts else "No page says what another one says."))


def _why_rows(why: "Why") -> Iterator[tuple[str, object]]:
    yield "url", why.url
    if why.canonical != why.url:
        yield "canonical", why.canonical
    for step in why.steps:
        yield "", step
    for name in _PLAIN_ROWS:
        value = getattr(why, name)
        if value not in (None, "") and (name, value) != ("attempts", 0):
            yield name.replace("_", " "), value
    if why.labels:
        yield "labels", ", ".join(why.labels)
    if why.rank is not None:
        yield "rank", f"{why.rank:.3g} times the mean"
    if why.score is not None:
        score = why.score
        yield "score", f"{score.value:g} ({score.by}), {score.of_mean:.3g} times the mean"
    if why.near is not None:
        near = why.near
        yield "near", f"{near.level}: {near.original or near.key}, {near.bins} of 64 bins"
    yield from _verdict_rows(why)
    if why.fingerprint:
        yield "key", f"{why.fingerprint} ring {why.ring} shard {why.shard}"
    yield from _time_rows(why)


def _time_rows(why: "Why") -> Iterator[tuple[str, object]]:
    if why.watch is not None and why.watch.next_look_at is not None:
        yield "next visit", shown_moment(why.watch.next_look_at)
    if why.next_at is not None:
        yield "next", f"{shown_moment(why.next_at)} {why.next_reason}".rstrip()
    for visit in why.visits:
        yield "visit", _visit(visit)
    hidden = why.editions_total - len(why.editions[-EDITIONS_TOLD:])
    if hidden > 0:
        yield "edition", f"{hidden:,} before these"
    for edition in why.editions[-EDITIONS_TOLD:]:
        yield "edition", _edition(edition)


def _verdict_rows(why: "Why") -> Iterator[tuple[str, object]]:
    if why.robots is not None:
        robots = why.robots
        verdict = "allowed" if robots.allowed else "forbidden"
        line = f" by line {robots.number}: {robots.line}" if robots.line else ""
        delay = f", crawl-delay {robots.crawl_delay_s} s" if robots.crawl_delay_s else ""
        yield "robots", verdict + line + delay
    if why.settings is not None:
        yield "host", _settings(why.settings)
    if why.filter is not None:
        yield "filter", f"{why.filter.reason}: {why.filter.detail}".rstrip(": ")


def _settings(found: "HostSettings") -> str:
    """Return what crawl.toml says about a host."""
    words = [
        f"delay {found.delay_s:g} s" if found.delay_s is not None else "",
        f"scope {found.scope}" if found.scope is not None else "",
        {None: "", True: "any certificate", False: "valid certificate"}[found.insecure],
        f"sends {', '.join(found.headers)}" if found.headers else "",
    ]
    return "; ".join(word for word in words if word)


def _visit(visit: "PastVisit") -> str:
    words = [shown_moment(visit.at), str(visit.status or ""), visit.state, visit.reason]
    if visit.file:
        words.append(f"{visit.file} at {visit.offset}, {visit.length} bytes")
    return "  ".join(word for word in words if word)


def _edition(edition: "Edition") -> str:
    more = counted(edition.answers - 1, "more answer") + f" until {shown_moment(edition.last_at)}"
    what = f"and {more}" if edition.answers > 1 else ""
    size = f"{edition.location.length:,} bytes packed"
    words = [f"{edition.number}", shown_moment(edition.at), str(edition.status or ""), what, size]
    return "  ".join(word for word in (*words, f"sha1:{edition.digest}") if word)


def _numbers(status: "Status", folder: Path | str) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(
        "pages",
        f"{status.pages:,} stored, {status.html_pages:,} of them HTML, "
        f"{counted(status.revisits, 'copy', 'copies')}"
        + (f"; {counted(status.sitemaps, 'sitemap')}" if status.sitemaps else ""),
    )
    if status.labels:
        told = (f"{count:,} {LABELLED.get(label, label)}" for label, count in status.labels.items())
        table.add_row("labelled", ", ".join(told))
    if status.seed_labels:
        by_label = list(status.seed_labels.items())
        told = (f"{count:,} {harmless(label)}" for label, count in by_label[:LABELS_TOLD])
        more = f" and {len(by_label) - LABELS_TOLD} more" if by_label[LABELS_TOLD:] else ""
        table.add_row("by label", Text(", ".join(told) + more))
    if status.copies:
        told = (f"{status.copies.get(level, 0):,} {words}" for level, words in ALIKE.items())
        table.add_row("alike", ", ".join(told))
    if status.watch.visits:
        watch = status.watch
        told_watch = (
            f"{watch.changed:,} changed, {watch.unchanged:,} unchanged, {watch.gone:,} gone"
        )
        table.add_row("watched", f"{counted(watch.visits, 'revisit')}: {told_watch}")
    requests = f"{counted(status.requests, 'request')} in {status.seconds:.1f} s"
    table.add_row("asked", f"{requests}, {counted(status.redirects, 'redirect')}")
    queue = f"{status.queued:,} queued, {status.in_flight:,} in flight"
    if status.parked_hosts:
        down = counted(status.parked_hosts, "host that is", "hosts that are")
        queue += f"; {status.parked:,} of these wait for {down} down"
    if status.address_waits:
        from gossamer import address_words

        table.add_row("waiting", Text(harmless(address_words(status.address_waits))))
    known = f"{counted(status.known_urls, 'URL')} known on {counted(status.hosts, 'host')}"
    table.add_row("known", f"{known}; {queue}")
    if status.suspects:
        pages = f"{counted(status.suspects, 'page')} being read when the crawl died"
        table.add_row("suspects", f"{pages}; read alone in a helper process")
    size = f"{status.archive_bytes / MIB:.1f} MiB of WARC"
    table.add_row("archive", Text(f"{escape(f'{folder}/archive')} ({size})"))
    if lost := status.lost_found:
        files = "1 file that was" if lost == 1 else f"{lost:,} files that were"
        table.add_row("", f"{files} never committed moved to lost+found there")
    return table


def _reasons(status: "Status") -> Iterator[RenderableType]:
    for name, counts in (("refused", status.refused), ("failed", status.failed)):
        if counts:
            table = Table(box=None, show_header=False, pad_edge=False, title_justify="left")
            table.title = Text(f"\n{name}", "dim")
            table.add_column(justify="right")
            table.add_column(no_wrap=True, style="yellow" if name == "refused" else "red")
            table.add_column(style="dim", overflow="fold")
            for reason, count, meaning in _reason_rows(counts, status.certificates):
                table.add_row(f"{count:,}", Text(escape(reason)), meaning)
            yield table
    if status.user_errors:
        yield _user_errors(status.user_errors)


def _reason_rows(
    counts: Mapping[str, int], certificates: Mapping[str, int]
) -> Iterator[tuple[str, int, str]]:
    """Give reason, count and meaning, the most frequent first; one row per kind of certificate."""
    for reason, count in sorted(counts.items(), key=lambda pair: -pair[1]):
        left = count
        if reason == "tls_certificate":
            for problem, words in CERTIFICATES.items():
                if found := certificates.get(problem, 0):
                    left -= found
                    yield reason, found, words
        if left > 0:
            yield reason, left, meaning_of(reason)


def _user_errors(told: "Mapping[str, UserErrors]") -> Table:
    """Return how often each function of the user's own raised, and what it raised last."""
    table = Table(box=None, show_header=False, pad_edge=False, title_justify="left")
    table.title = Text("\nyour own functions failed", "dim")
    table.add_column(justify="right")
    table.add_column(no_wrap=True, style="red")
    table.add_column(style="dim", overflow="fold")
    for name, errors in told.items():
        last = Text(f"last: {harmless(errors.error)}")
        table.add_row(f"{errors.count:,}", Text(harmless(name)), last)
    return table


def _retry_line(status: "Status", folder: Path | str) -> Iterator[Text]:
    if failed := sum(status.failed.values()) + status.refused.get("robots_unreachable", 0):
        place = shlex.quote(str(folder))
        told = f"`gossamer retry {place}` queues {plural(failed, 'it', 'them')} again"
        if "://" in place:  # of a cluster, which has ended it: only one that runs can be told
            told = f"`gossamer list {place} urls --failed` names {plural(failed, 'it', 'them')}"
        yield Text(f"\n{counted(failed, 'URL')} failed; {harmless(told)}")


def _next_steps(ending: str, folder: Path | str) -> Text:
    where = escape(str(folder))
    go_on = f"gossamer crawl --into {where}"
    if "://" in where:
        go_on = f"gossamer crawl --cluster auto --store {where}"
    steps = [f"gossamer status {where}", f"gossamer why {where} URL", f"gossamer show {where} URL"]
    steps += [f"gossamer search {where} WORDS", f"gossamer serve {where}   (in a browser)"]
    if ending == "watched":
        steps.insert(0, f"gossamer watch {where}   (goes on)")
    elif ending in {"max_pages", "max_bytes"}:
        more = "--max-pages N" if ending == "max_pages" else "--max-bytes SIZE"
        steps.insert(0, f"{go_on} {more}   (goes on)")
    elif ending == "revisited":
        steps.insert(0, f"gossamer changes {where} --since last")
    elif ending not in {"finished", "no_seed"}:
        steps.insert(0, f"{go_on}   (goes on)")
    if ending.startswith("no_seed"):
        steps = [step for step in steps if "crawl" in step or "status" in step or "why" in step]
    return Text("\nnext:  " + "\n       ".join(steps), "dim")


def shown_moment(at: float) -> str:
    """Return a moment as people read it, in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def iso_moment(at: float | None) -> str | None:
    """Return a moment as ISO 8601 in UTC, as the tables have it."""
    if at is None:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
