"""`gossamer status`, `why`, `show`, `copies`, `add`, `retry`: ask a crawl, and give it URLs."""

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.options import Address, Folder, Json
from gossamer.cli.screen import (
    as_json,
    copies_view,
    harmless,
    out,
    print_json,
    status_view,
    why_view,
)
from gossamer.cli.updating import crawl_folder
from gossamer.errors import ConfigError
from gossamer.log import counted

NOT_STORED = 1


def status(folder: Folder, *, json: Json = False) -> None:
    """Pages, queue, hosts and rates; refusals by reason, errors by kind."""
    from gossamer import OpenCrawl

    facts = OpenCrawl(crawl_folder(folder)).status()
    if json:
        print_json(as_json(facts))
    else:
        out().print(status_view(facts, folder))


def why(folder: Folder, url: Address, *, json: Json = False) -> None:
    """Details of one URL: everything known and decided about it."""
    from gossamer import OpenCrawl

    facts = OpenCrawl(crawl_folder(folder)).why(url)
    if json:
        print_json(as_json(facts))
    else:
        out().print(why_view(facts))


def copies(
    folder: Folder,
    url: Annotated[str, typer.Argument(metavar="[URL]", help="Only the pages like this one.")] = "",
    *,
    json: Json = False,
) -> None:
    """Near-duplicates: originals, and their exact, near and similar copies."""
    from gossamer import OpenCrawl

    facts = OpenCrawl(crawl_folder(folder)).copies(url)
    if json:
        print_json(as_json(facts))
    else:
        out().print(copies_view(facts))


def show(
    folder: Folder,
    url: Address,
    *,
    headers: Annotated[bool, typer.Option("--headers", help="The server's header.")] = False,
    text: Annotated[bool, typer.Option("--text", help="The text that was extracted.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Header and body, bytes as sent.")] = False,
) -> int:
    """Give the stored page back: its content as the author wrote it, unless told otherwise."""
    if headers + text + raw > 1:
        raise ConfigError("--headers, --text and --raw: give one of them")
    from gossamer import OpenCrawl

    page = OpenCrawl(crawl_folder(folder)).page(url)
    if page is None:
        sys.stderr.write(
            f"gossamer: {harmless(url)} is not in the archive; `gossamer why` says more\n"
        )
        return NOT_STORED
    if headers:
        _write(page.head)
    elif raw:
        _write(page.head + page.raw())
    elif text:
        _write(page.text().encode())
    else:
        _write(page.body())
    return 0


def add(
    folder: Folder,
    seed: Annotated[list[str] | None, typer.Argument(metavar="SEED...", help="URLs.")] = None,
    *,
    seeds: Annotated[
        Path | None,
        typer.Option("--seeds", metavar="FILE", help="A URL and maybe a label per line."),
    ] = None,
    json: Json = False,
) -> None:
    """Give more seeds to a crawl, running or stopped."""
    if not seed and not seeds:
        raise ConfigError("nothing to add: give a SEED, or --seeds FILE")
    from gossamer import OpenCrawl, Seed, read_seeds

    given = [Seed(url=url) for url in seed or ()] + (read_seeds(seeds) if seeds else [])
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
    folder: Folder,
    *,
    reason: Annotated[
        list[str] | None,
        typer.Option("--reason", metavar="R", help="Only failures of this reason. Repeatable."),
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option("--host", metavar="H", help="Only URLs of this host. Repeatable."),
    ] = None,
    url: Annotated[
        list[str] | None, typer.Option("--url", metavar="U", help="Only this URL. Repeatable.")
    ] = None,
    json: Json = False,
) -> None:
    """Queue failed URLs again, in a crawl that runs or not; refused ones if they are named."""
    from gossamer import OpenCrawl

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


def _write(content: bytes) -> None:
    """Write bytes as they are to a file or pipe; on a terminal, as text that cannot steer it."""
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    for line in content.decode("utf-8", "replace").splitlines():
        out().print(harmless(line.replace("\t", "    ")), markup=False, soft_wrap=True)
