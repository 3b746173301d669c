"""`gossamer pause`, `resume`, `stop`, `drop`: steer a crawl from another terminal."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.options import (
    Json,
    OwnFolder,
    SteeredFolder,
    folder_to_change,
    place_given,
    steered_crawl,
)
from gossamer.cli.parameters import argument, option
from gossamer.cli.screen import MIB, as_json, harmless, out, print_json
from gossamer.cli.updating import crawl_folder, telling
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.log import counted

if TYPE_CHECKING:
    from gossamer import Dropped, Purged


def pause(folder: SteeredFolder, *, json: Json = False) -> None:
    """Begin no request any more, in a crawl that runs or not, until `gossamer resume`.

    A pause survives kills and restarts. Requests that are under way come to their end.
    """
    from gossamer import OpenCrawl

    facts = OpenCrawl(crawl_folder(folder)).pause()
    if json:
        print_json(as_json(facts))
        return
    told = "it was paused already" if facts.was_paused else "paused"
    goes_on = f"`gossamer resume {_named(folder)}` ends the pause"
    also = "" if facts.running else "; no crawl is running, and the next start is paused"
    out().print(harmless(f"{told}; {goes_on}{also}"), markup=False)


def resume(folder: SteeredFolder, *, json: Json = False) -> None:
    """End a pause; a crawl that does not run is not started."""
    from gossamer import OpenCrawl

    facts = OpenCrawl(crawl_folder(folder)).resume()
    if json:
        print_json(as_json(facts))
        return
    told = "the pause is over" if facts.was_paused else "it was not paused"
    start = f"no crawl is running: `gossamer crawl --into {_named(folder)}` goes on with it"
    also = "the crawl goes on" if facts.running else start
    out().print(harmless(f"{told}; {also}"), markup=False)


def stop(folder: SteeredFolder, *, json: Json = False) -> None:
    """End a running crawl cleanly, as Ctrl-C does, and wait until it has ended."""
    from gossamer import OpenCrawl

    facts = OpenCrawl(crawl_folder(folder)).stop()
    if json:
        print_json(as_json(facts))
        if not facts.unshipped_to:
            return
    flag = "--cluster auto --store" if "://" in place_given(folder) else "--into"
    go_on = f"`gossamer crawl {flag} {_named(folder)}` goes on with it"
    if facts.unshipped_to:
        raise CannotGoOn(
            f"stopped, but {facts.unshipped_to} could not be reached: what was crawled last is in "
            f"{place_given(folder)} only. Once the store is back, {go_on} and ships it"
        )
    told = "stopped" if facts.was_running else "no crawl is running"
    out().print(harmless(f"{told}; {go_on}"), markup=False)


def drop(
    folder: SteeredFolder,
    pattern: Annotated[
        list[str] | None,
        argument(
            metavar="PATTERN...",
            help="A host, a host glob (*.example.org) or a URL pattern (example.org/private/*).",
        ),
    ] = None,
    *,
    undo: Annotated[
        list[str] | None,
        option("--undo", metavar="PATTERN", help="Drop this no longer. Repeatable."),
    ] = None,
    dry_run: Annotated[
        bool, option("--dry-run", help="Only count what the patterns name.")
    ] = False,
    purge: Annotated[
        bool,
        option(
            "--purge",
            help="Remove it from the archive, too, for good: the patterns given, or all that is "
            "dropped. The crawl must not run.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Leave what patterns name out of queue, index, graph and tables, and never fetch it again.

    In a crawl that runs or not. The patterns are kept in `[filter] drop` in crawl.toml, and on
    record in the archive: links do not bring back what they name, nor does a rebuild. What is
    stored stays in the archive, unless `--purge` removes it.
    """
    from gossamer import OpenCrawl
    from gossamer import purge as purge_crawl

    if purge and not dry_run:
        if undo:
            raise ConfigError("--purge and --undo: give one of them")
        with telling("purge") as tell:
            own = crawl_folder(folder_to_change(place_given(folder)))
            _tell_purged(purge_crawl(own, pattern or (), tell), is_json=json)
        return
    crawl = steered_crawl(folder) or OpenCrawl(crawl_folder(folder))
    facts = crawl.drop(pattern or (), undo=undo or (), dry_run=dry_run)
    if json:
        print_json(as_json(facts))
        return
    for line in _drop_lines(facts, _named(folder)):
        out().print(harmless(line), markup=False)


def prune(
    folder: OwnFolder,
    *,
    keep: Annotated[
        int, option("--keep", metavar="N", help="Keep the N newest editions of each URL.")
    ] = 1,
    before: Annotated[
        str,
        option(
            "--before",
            metavar="TIME",
            help='Remove only editions that were last there before it: 2026-01-31, "90 days ago".',
            show_default=False,
        ),
    ] = "",
    json: Json = False,
) -> None:
    """Remove old editions of pages from the archive for good; the newest always stay.

    The crawl must not run. Graph, index and tables are built again, and the state is made anew
    from the archive. What is stopped in the middle is finished by the next start.
    """
    from gossamer import prune as prune_crawl

    with telling("prune") as tell:
        facts = prune_crawl(
            crawl_folder(folder), keep=keep, before=before or None, on_progress=tell
        )
    _tell_purged(facts, is_json=json)


def _tell_purged(facts: "Purged", *, is_json: bool) -> None:
    if is_json:
        print_json(as_json(facts))
        return
    if facts.queries:
        out().print(f"{counted(facts.queries, 'query', 'queries')} left the query log")
    if "linkcheck" in facts.removed:
        out().print("the answers of the last check of links were removed")
    for path in facts.set_aside:
        out().print(
            harmless(
                f"{path} was set aside once, and was not searched: it may have what is to go; "
                f"`rm -r {shlex.quote(path)}` deletes it"
            ),
            markup=False,
        )
    if not facts.files and not facts.store:
        out().print("nothing was stored that would have to go")
        return
    if facts.files:
        out().print(
            f"removed: {counted(facts.pages, 'stored answer')}; "
            f"{counted(len(facts.files), 'file')} written anew, "
            f"{facts.freed_bytes / MIB:,.1f} MiB freed"
        )
    if facts.heirs:
        out().print(f"{counted(facts.heirs, 'copy', 'copies')} got the content that was removed")
    if facts.store:
        past = f"; {counted(facts.checkpoints, 'checkpoint')} of the past had it, too"
        out().print(
            f"gone from {facts.store}: {counted(facts.objects, 'object')} deleted"
            f"{past if facts.checkpoints else ''}"
        )


def _drop_lines(facts: "Dropped", folder: str) -> list[str]:
    """Return what was dropped, in words."""
    nothing = [f"no known URL matches {one}" for one in facts.unmatched]
    stored = facts.urls.get("archived", 0)
    waiting = sum(facts.urls.get(state, 0) for state in ("queued", "parked", "held"))
    if facts.dry_run:
        others = sum(facts.urls.values()) - stored - waiting
        found = f"{counted(stored, 'stored page')}, {counted(waiting, 'queued URL')}"
        more = f"{counted(others, 'URL')} that failed, redirect or were refused"
        return [f"would be dropped: {found} and {more}; nothing was changed", *nothing]
    lines = [f"no longer dropped: {one}" for one in facts.undone]
    if facts.undone:
        lines.append(f"`gossamer retry {folder} --reason dropped` queues what was refused")
    lines += [f"dropped: {one}" for one in facts.added]
    if facts.urls:
        lines.append(
            f"{counted(facts.unqueued, 'URL')} left the queue; {counted(stored, 'stored page')} "
            "will be left out of index, graph and tables when they are next built"
        )
    if not facts.added and not facts.undone:
        lines.append("it was dropped before")
    lines += [
        f"{words}: it is kept for URLs that come later; if it is misspelt, "
        f"`gossamer drop {folder} --undo {shlex.quote(one)}` takes it back"
        for one, words in zip(facts.unmatched, nothing, strict=True)
    ]
    return lines


def _named(folder: Path) -> str:
    return shlex.quote(place_given(folder))
