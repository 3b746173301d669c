"""`gossamer status`, `why`, `show`, `add`, `retry`, `trust`: ask, and give URLs."""

import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.options import Address, FolderOrStore, Json, SteeredFolder, place_given
from gossamer.cli.parameters import argument, option
from gossamer.cli.screen import (
    UNITS_TOLD,
    as_json,
    harmless,
    held_view,
    out,
    print_json,
    shown_moment,
    status_view,
    why_view,
)
from gossamer.cli.start import given_seeds
from gossamer.cli.updating import crawl_folder
from gossamer.errors import ConfigError
from gossamer.log import counted

if TYPE_CHECKING:
    from gossamer import OpenCrawl, Page

NOT_STORED = 1


def status(folder: FolderOrStore, *, json: Json = False) -> None:
    """Pages, queue, hosts and rates; refusals by reason, errors by kind.

    Of a store, as of its newest checkpoint; and who runs the crawl.
    """
    facts = _opened(folder).status()
    if json:
        print_json(as_json(facts))
    else:
        out().print(status_view(facts, folder))


def _opened(place: str) -> "OpenCrawl":
    """Return the crawl in a folder, or in a store."""
    import gossamer

    return gossamer.open(place if "://" in place else crawl_folder(Path(place)))


def why(folder: FolderOrStore, url: Address, *, json: Json = False) -> None:
    """Details of one URL: everything known and decided about it."""
    facts = _opened(folder).why(url)
    if json:
        print_json(as_json(facts))  # `reason` says so if it is no URL
    elif facts.canonical is None:
        raise ConfigError(_not_a_url(facts.url))
    else:
        out().print(why_view(facts))


def _not_a_url(text: str) -> str:
    """Return in one line that what somebody asks about is no URL, and what to give instead."""
    return (
        f"{text!r} is not a valid URL; {_meant(text) or 'expected one such as https://host/path'}"
    )


def _meant(text: str) -> str:
    """Return what somebody may have meant by a text that has no scheme; "" if it has one."""
    if "://" in text:
        return ""
    has_host = "." in text.partition("/")[0].strip(".")
    return f"did you mean https://{text}?" if has_host else "expected one such as https://host/path"


def show(
    folder: FolderOrStore,
    url: Address,
    *,
    headers: Annotated[bool, option("--headers", help="The server's header.")] = False,
    text: Annotated[bool, option("--text", help="The text that was extracted.")] = False,
    raw: Annotated[bool, option("--raw", help="Header and body, bytes as sent.")] = False,
    at: Annotated[
        str | None,
        option(
            "--at",
            metavar="TIME",
            help="As it was stored at that time, UTC: 2026-11-01 (the end of that day), "
            '2026-11-01T12:30:00, "2 days ago".',
        ),
    ] = None,
    edition: Annotated[
        int | None,
        option("--edition", metavar="N", help="The Nth of its editions; `why` lists them."),
    ] = None,
    diff: Annotated[
        tuple[int, int] | None,
        option(
            "--diff",
            metavar="N M",
            help="What has changed in its extracted text between two editions; with --raw, in its "
            "source.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Give the stored page back: its content as the author wrote it, unless told otherwise."""
    if headers + text + raw > 1:
        raise ConfigError("--headers, --text and --raw: give one of them")
    if (at is not None) + (edition is not None) + (diff is not None) > 1:
        raise ConfigError("--at, --edition and --diff: give one of them")
    crawl = _opened(folder)
    if diff is not None:
        return _show_diff(crawl, url, diff, is_source=raw, is_json=json)
    try:
        is_brief = not (json or text) and edition is None and at is None
        page = crawl.brief_page(url) if is_brief else crawl.page(url, edition=edition, at=at)
    except ConfigError as error:
        raise _named(error, at, edition) from None
    if page is None:
        sys.stderr.write(f"gossamer: {harmless(_not_stored(crawl, url, at))}\n")
        return NOT_STORED
    if json:
        print_json(_page_facts(crawl, url, page))
    elif headers:
        _write(page.head)
    elif raw:
        _write(page.head + page.raw())
    elif text:
        _write(page.text().encode())
    else:
        _write(page.body())
    return 0


def _named(error: ConfigError, at: str | None, edition: int | None) -> ConfigError:
    """Return an error with the flag that it is about."""
    flag = "--at: " if at is not None else "--edition: " if edition is not None else ""
    return ConfigError(f"{flag}{error}")


def _not_stored(crawl: "OpenCrawl", url: str, at: str | None) -> str:
    """Return in one line that a page is not in the archive, or was not at that time."""
    if at is not None and (stored := crawl.editions(url)):
        first = shown_moment(stored[0].at)
        return f"{url} was first stored at {first}: nothing is stored of before that"
    return f"{url} is not in the archive; {_meant(url) or '`gossamer why` says more'}"


def _page_facts(crawl: "OpenCrawl", url: str, page: "Page") -> dict[str, object]:
    """Return a page as --json gives it."""
    shown = crawl.edition(url, at=page.fetched_at)
    return {
        "url": page.url,
        "edition": shown.number if shown is not None else None,
        "editions": len(crawl.editions(url)),
        "fetched_at": page.fetched_at,
        "status": page.status,
        "media_type": page.media_type,
        "title": page.title,
        "language": page.language,
        "revisit": page.is_revisit,
        "headers": [list(pair) for pair in page.headers],
        "text": page.text(),
    }


def _show_diff(
    crawl: "OpenCrawl", url: str, numbers: tuple[int, int], *, is_source: bool, is_json: bool
) -> int:
    """Print what has changed between two editions, as a unified diff."""
    if not crawl.editions(url):
        sys.stderr.write(f"gossamer: {harmless(_not_stored(crawl, url, None))}\n")
        return NOT_STORED
    try:
        found = crawl.diff(url, *numbers, source=is_source)
    except ConfigError as error:
        raise ConfigError(f"--diff: {error}") from None
    if is_json:
        print_json(as_json(found))
    elif not found.lines:
        sys.stderr.write(f"gossamer: the {found.of} of both editions is the same\n")
    else:
        _write("".join(f"{line}\n" for line in found.lines).encode())
    return 0


def add(
    folder: SteeredFolder,
    seed: Annotated[list[str] | None, argument(metavar="SEED...", help="URLs.")] = None,
    *,
    seeds: Annotated[
        Path | None,
        option("--seeds", metavar="FILE", help="A URL and maybe labels per line."),
    ] = None,
    label: Annotated[
        list[str] | None,
        option("--label", metavar="L", help="A label (topic, region) of these seeds. Repeatable."),
    ] = None,
    json: Json = False,
) -> None:
    """Give more seeds to a crawl, running or stopped."""
    if not seed and not seeds:
        raise ConfigError("nothing to add: give a SEED, or --seeds FILE")
    from gossamer import OpenCrawl

    given = given_seeds(seed, seeds, label)
    facts = OpenCrawl(crawl_folder(folder)).add(given)
    if json:
        print_json(as_json(facts))
    else:
        out().print(f"added: {facts.added}")
        for became, count in Counter(facts.queued_again.values()).items():
            state, _, reason = became.partition(": ")
            had = "had failed" if state == "failed" else f"had been {state}"
            out().print(f"queued again: {count} ({had}: {harmless(reason)})", markup=False)
        for url in facts.already_stored:
            out().print(f"already stored: {harmless(url)}", markup=False)
        for url in facts.already_queued:
            out().print(f"already queued: {harmless(url)}", markup=False)
        for url, reason in facts.refused.items():
            out().print(f"refused: {harmless(url)} ({harmless(reason)})", markup=False)


def retry(
    folder: SteeredFolder,
    *,
    reason: Annotated[
        list[str] | None,
        option("--reason", metavar="R", help="Only failures of this reason. Repeatable."),
    ] = None,
    host: Annotated[
        list[str] | None,
        option("--host", metavar="H", help="Only URLs of this host. Repeatable."),
    ] = None,
    url: Annotated[
        list[str] | None, option("--url", metavar="U", help="Only this URL. Repeatable.")
    ] = None,
    json: Json = False,
) -> None:
    """Queue failed URLs again, in a crawl that runs or not; refused ones if they are named."""
    from gossamer import OpenCrawl

    for text in url or ():
        if "://" not in text:
            raise ConfigError(f"--url: {_not_a_url(text)}")
    crawl = OpenCrawl(crawl_folder(folder))
    facts = crawl.retry(reasons=reason or (), hosts=host or (), urls=url or ())
    if json:
        print_json(as_json(facts))
    elif not facts.queued:
        out().print("nothing to retry")
    else:
        out().print(f"queued again: {counted(facts.queued, 'URL')}")
        for name, count in facts.reasons.items():
            out().print(f"  {count:,} {name}")


def trust(
    folder: SteeredFolder,
    pattern: Annotated[
        list[str],
        argument(
            metavar="PATTERN...",
            help="A host, a host glob (*.example.org), a URL pattern (example.org/archive/*), or "
            "a part of a site as `status` names it.",
        ),
    ],
    *,
    json: Json = False,
) -> None:
    """Fetch what is held after all, in a crawl that runs or not, and never hold it again.

    What is held belongs to parts of sites that seem to have no end; `gossamer status` lists them.
    The patterns are added to `[traps] trust` in crawl.toml.
    """
    from gossamer import OpenCrawl

    crawl = OpenCrawl(crawl_folder(folder))
    facts = crawl.trust(pattern)
    if json:
        print_json(as_json(facts))
    elif not facts.released:
        _tell_nothing_trusted(crawl, folder, facts.patterns)
    else:
        parts = counted(len(facts.units), "part of a site", "parts of sites")
        out().print(f"let go: {counted(facts.released, 'URL')} of {parts}")
        for unit, count in list(facts.units.items())[:UNITS_TOLD]:
            out().print(f"  {count:,} {harmless(unit)}", markup=False)
        if len(facts.units) > UNITS_TOLD:
            out().print(f"  and {len(facts.units) - UNITS_TOLD:,} more")
        go_on = f"`gossamer crawl --into {shlex.quote(str(folder))}` fetches them"
        told = "the crawl is running, and fetches them" if facts.running else go_on
        out().print(harmless(told), markup=False)


def _tell_nothing_trusted(crawl: "OpenCrawl", folder: Path, patterns: Sequence[str]) -> None:
    """Say that nothing is held that patterns name, and what is."""
    names = ", ".join(patterns)
    kept = f"nothing that is held matches {names}; it is kept in [traps] trust for later"
    out().print(harmless(kept), markup=False)
    for part in held_view(crawl.status(), place_given(folder)):
        out().print(part)


def _write(content: bytes) -> None:
    """Write bytes as they are to a file or pipe; on a terminal, as text that cannot steer it."""
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    for line in content.decode("utf-8", "replace").splitlines():
        out().print(harmless(line.replace("\t", "    ")), markup=False, soft_wrap=True)
