"""`gossamer restore` and `checkpoint`: a crawl out of its object store, or into one, by hand."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.options import Json, OwnFolder
from gossamer.cli.parameters import argument, option
from gossamer.cli.screen import MIB, as_json, harmless, out, print_json, shown_moment
from gossamer.cli.updating import crawl_folder
from gossamer.log import counted

if TYPE_CHECKING:
    from gossamer import RestoredCrawl

StoreUrl = Annotated[
    str,
    argument(metavar="URL", help="The store: s3://BUCKET/PREFIX, gs://, az://, file:///DIR."),
]


def restore(
    url: StoreUrl,
    into: Annotated[Path, option("--into", metavar="DIR", help="A new folder.")],
    *,
    at: Annotated[
        str | None,
        option("--at", metavar="TIME", help="As it was then, such as 2026-05-01 12:00."),
    ] = None,
    shards: Annotated[
        int | None, option("--shards", metavar="N", min=1, help="Split into so many.")
    ] = None,
    json: Json = False,
) -> None:
    """Bring a crawl back from its store as a folder; one that runs goes on undisturbed."""
    import gossamer

    found = gossamer.restore(url, into, at=at, shards=shards)
    if json:
        print_json(as_json(found))
        return
    out().print(harmless(_restored_line(found)), markup=False)
    if found.is_own:
        line = "It is a crawl of its own from here on; give it another store than the one above."
        out().print(line, markup=False)
    out().print(f"next:  gossamer crawl --into {harmless(found.folder)}", markup=False)


def _restored_line(found: "RestoredCrawl") -> str:
    return (
        f"{found.folder}: {counted(found.pages, 'page')} in {counted(found.shards, 'shard')}, "
        f"{counted(found.files, 'file')}, {found.bytes / MIB:.1f} MiB, "
        f"as of {shown_moment(found.at)}"
    )


def checkpoint(
    folder: OwnFolder,
    to: Annotated[str, option("--to", metavar="URL", help="The store, as for --store.")],
    *,
    take_over: Annotated[
        bool, option("--take-over", help="Though the crawl runs elsewhere; that ends.")
    ] = False,
    json: Json = False,
) -> None:
    """Bring a crawl that does not run into an object store; `crawl --store` keeps it there."""
    import gossamer

    aside = out(is_aside=True)
    done = gossamer.checkpoint(
        crawl_folder(folder),
        to,
        take_over=take_over,
        say=lambda line: aside.print(harmless(line), markup=False),
    )
    if json:
        print_json(as_json(done))
        return
    line = f"{done.url} has all of it: {counted(done.pages, 'page')} in"
    out().print(harmless(f"{line} {counted(done.shards, 'shard')}"), markup=False)
