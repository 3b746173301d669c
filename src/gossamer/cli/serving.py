"""`gossamer serve`: the answers of a crawl in a browser, and for programs."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.options import Build, Folder, Json
from gossamer.cli.screen import harmless, out, print_json
from gossamer.cli.updating import bring_all_up_to_date, crawl_folder

LOCAL = ("127.0.0.1", "localhost", "::1")


def serve(
    folder: Folder,
    *,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="0: any that is free.")
    ] = 8080,
    host: Annotated[
        str,
        typer.Option("--host", help="Address to listen on; others can ask if it is not loopback."),
    ] = "127.0.0.1",
    shard: Annotated[
        bool, typer.Option("--shard", help="Let `search http://HOST:PORT` elsewhere ask its index.")
    ] = False,
    build: Build = True,
    json: Json = False,
) -> int:
    """Serve a search page, a link explorer and a JSON API, on this machine unless told otherwise.

    What is built meanwhile is taken up at once. Ctrl-C ends it.
    """
    _served(folder)
    if build:
        bring_all_up_to_date(folder)
    from gossamer import serve as serve_folder

    def ready(address: str) -> None:
        if json:
            print_json({"address": address})
        else:
            out().print(f"Serving {harmless(folder)} at {address} (Ctrl-C ends it)", markup=False)
        if host not in LOCAL:
            out(is_aside=True).print(
                "Anybody who can reach this machine can use it: there is no password."
            )

    with suppress(KeyboardInterrupt):  # how a server ends
        serve_folder(folder, host, port, ready, is_shard=shard)
    return 0


def _served(folder: Path) -> None:
    """Refuse a folder with neither a crawl nor an index in it."""
    from gossamer import OpenCrawl

    if not OpenCrawl(folder).has_index():
        crawl_folder(folder)
