"""`gossamer status`, `why`, `show`, `copies`, `add`: look at a crawl, running or not."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.cli.graph.building import crawl_folder
from gossamer.cli.graph.options import Address, Folder, Json
from gossamer.cli.screen import copies_view, harmless, out, print_json, status_view, why_view
from gossamer.errors import CannotGoOn, ConfigError

if TYPE_CHECKING:
    from gossamer.store import StoredPage

NOT_STORED = 1


def status(folder: Folder, *, json: Json = False) -> None:
    """Pages, queue, hosts and rates; refusals by reason, errors by kind."""
    place = crawl_folder(folder)
    from gossamer.report import as_json  # noqa: PLC0415 - keeps --help fast
    from gossamer.report import status as status_of  # noqa: PLC0415 - keeps --help fast

    facts = status_of(place)
    if json:
        print_json(as_json(facts))
    else:
        out().print(status_view(facts, folder))


def why(folder: Folder, url: Address, *, json: Json = False) -> None:
    """Everything known and decided about one URL."""
    place = crawl_folder(folder)
    from gossamer.report import as_json  # noqa: PLC0415 - keeps --help fast
    from gossamer.report import why as why_of  # noqa: PLC0415 - keeps --help fast

    facts = why_of(place, url)
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
    """Pages that say the same: originals, and their exact, near and similar copies."""
    place = crawl_folder(folder)
    from gossamer.report import as_json  # noqa: PLC0415 - keeps --help fast
    from gossamer.report import copies as copies_of  # noqa: PLC0415 - keeps --help fast

    facts = copies_of(place, url)
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
    place = crawl_folder(folder)
    from gossamer.report import show as show_of  # noqa: PLC0415 - keeps --help fast

    page = show_of(place, url)
    if page is None:
        sys.stderr.write(
            f"gossamer: {harmless(url)} is not in the archive; `gossamer why` says more\n"
        )
        return NOT_STORED
    if headers:
        _write(page.head)
    elif raw:
        _write(page.head + page.payload)
    elif text:
        _write(_stored_text(folder, page).encode())
    else:
        _write(page.decoded())
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
    place = crawl_folder(folder)
    from gossamer.crawl import Crawl, Seed, read_seeds  # noqa: PLC0415 - keeps --help fast
    from gossamer.report import add as add_to  # noqa: PLC0415 - keeps --help fast
    from gossamer.report import as_json  # noqa: PLC0415 - keeps --help fast

    given = [Seed(url=url) for url in seed or ()] + (read_seeds(seeds) if seeds else [])
    facts = add_to(place, [(one.url, one.label) for one in given]) or Crawl(place, given).add()
    if json:
        print_json(as_json(facts))
    else:
        out().print(f"added: {facts.added}")
        for url, reason in facts.refused.items():
            out().print(f"refused: {harmless(url)} ({harmless(reason)})", markup=False)


def _stored_text(folder: Path, page: "StoredPage") -> str:
    """Return the text that was extracted from a page when it was stored."""
    from gossamer.store import ArchiveName, CrawlFolder, Records  # noqa: PLC0415 - keeps --help fast

    place = page.original or page.ref
    name = ArchiveName.parse(place.file)
    if name is None:
        raise CannotGoOn(f"{place.file} is not the name of an archive file")
    path = CrawlFolder(folder).archive / name.sibling("text").file_name
    wanted = page.warc_headers.get("warc-refers-to" if page.original else "warc-record-id", "")
    for record in Records(path) if path.exists() else ():
        if record.headers.get("warc-refers-to") == wanted:
            return record.block.decode("utf-8", "replace")
    return ""


def _write(content: bytes) -> None:
    """Write bytes as they are to a file or pipe; on a terminal, as text that cannot steer it."""
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    for line in content.decode("utf-8", "replace").splitlines():
        out().print(harmless(line.replace("\t", "    ")), markup=False, soft_wrap=True)
